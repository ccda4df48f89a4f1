#pragma once

#include <string>

#include "base/result.hpp"
#include "device/block_device.hpp"

namespace cordwood {

/// What a device or image file seems to hold, found by magic numbers: "ext4", "XFS", "zip archive",
/// "GPT partition table", "Cordwood" and the like. Empty when nothing is recognised, which does not
/// mean that nothing is there.
/// @errors I/O: then nobody may conclude that the device is free to be overwritten.
/// @cost   at most five reads, 300 KiB in all.
[[nodiscard]] Result<std::string> identify_content(BlockDevice& device);

}  // namespace cordwood
