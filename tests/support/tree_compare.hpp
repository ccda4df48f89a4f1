#pragma once

#include <string>

#include "volume/volume.hpp"

namespace cordwood::test {

/// Compares the trees of two volumes item by item, and their counters. Returns what differs, in words;
/// nothing when all is equal. Directories whose inodes are newer in memory must have been written to the
/// tree, which every fsync does.
[[nodiscard]] std::string compare_trees(Volume& expected, Volume& actual);

}  // namespace cordwood::test
