#pragma once

#include <span>

#include "base/result.hpp"
#include "device/block_device.hpp"

namespace cordwood {

/// Says whether a device may run a range: inside the device, in whole sectors.
/// @errors kInvalid with Place::kByte. A value and not a CW_CHECK, because an offset may come from a
///         damaged volume.
[[nodiscard]] Result<void> check_range(const DeviceGeometry& geometry, std::uint64_t offset,
                                       std::uint64_t bytes);

/// The same for each request of a batch; devices call it before they start any of them.
[[nodiscard]] Result<void> check_requests(const DeviceGeometry& geometry,
                                          std::span<const IoRequest> requests);

}  // namespace cordwood
