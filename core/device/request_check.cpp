#include "device/request_check.hpp"

namespace cordwood {

Result<void> check_range(const DeviceGeometry& geometry, std::uint64_t offset,
                         std::uint64_t bytes) {
  const std::uint64_t sector_mask = geometry.sector_bytes - 1;
  if (((offset | bytes) & sector_mask) != 0) [[unlikely]] {
    return make_error(Errc::kInvalid, Place::kByte, offset, "not in whole sectors of the device");
  }
  if (bytes > geometry.bytes || offset > geometry.bytes - bytes) [[unlikely]] {
    return make_error(Errc::kInvalid, Place::kByte, offset, "beyond the end of the device");
  }
  return {};
}

Result<void> check_requests(const DeviceGeometry& geometry, std::span<const IoRequest> requests) {
  for (const IoRequest& request : requests) {
    TRY(check_range(geometry, request.offset, request.bytes));
  }
  return {};
}

}  // namespace cordwood
