#pragma once

#include <vector>

#include "base/random.hpp"
#include "device/cache_model.hpp"
#include "device/crash_states.hpp"
#include "device/write_fate.hpp"

namespace cordwood {

/// The states that a policy wants at one cut, each once.
/// @param only_newest  leave out those that lose the youngest write: they were made at an earlier
///                     cut.
[[nodiscard]] std::vector<CrashChoice> crash_choices(const CacheModel& model,
                                                     const CrashPolicy& policy, Random& random,
                                                     bool only_newest);

}  // namespace cordwood
