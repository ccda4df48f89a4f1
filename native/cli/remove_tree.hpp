#pragma once

#include <string>

#include "failure.hpp"
#include "volume/volume.hpp"

namespace cordwood::cli {

/// Removes a directory with everything below it, without recursion. Ends at the first entry that
/// cannot be removed; what was removed until then stays removed.
/// @param path  of the directory, for messages.
[[nodiscard]] Outcome<void> remove_tree(Volume& volume, InodeNumber parent, const std::string& name,
                                        const std::string& path);

}  // namespace cordwood::cli
