#pragma once

#include <cstdint>
#include <string>

#include "device/block_device.hpp"

namespace cordwood::test {

/// What `check` finds in the last checkpoint on a device, one line each; nothing when it is clean.
/// @param orphans_max  so many inodes may wait for their deletion; more are a finding.
[[nodiscard]] std::string findings(BlockDevice& device, std::uint64_t orphans_max = 0);

}  // namespace cordwood::test
