#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "io/file_open.hpp"

namespace cordwood {

/// Asks the kernel about an open file: type, sector, alignment, cache; chooses O_DIRECT or not.
/// Fills everything in `file` but the descriptor and the size.
[[nodiscard]] Result<void> find_facts(OpenedFile& file, FileCaching caching,
                                      std::uint32_t sector_bytes_max);

/// Fills in the size, in whole sectors.
/// @errors kInvalid if there is not one.
[[nodiscard]] Result<void> find_size(OpenedFile& file);

}  // namespace cordwood
