#pragma once

#include <string>

#include "device/block_device.hpp"

namespace cordwood::test {

/// What `check` finds in the last checkpoint on a device, one line each; nothing when it is clean.
[[nodiscard]] std::string findings(BlockDevice& device);

}  // namespace cordwood::test
