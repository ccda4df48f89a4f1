#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "device/block_device.hpp"

namespace cordwood {

/// What an I/O queue works on.
struct IoTarget {
  int fd = -1;
  std::uint32_t sector_bytes = 512;
  /// Memory of other alignment goes through a bounce buffer; 1 if any will do.
  std::uint32_t memory_alignment = 1;
  bool direct = false;  ///< opened with O_DIRECT
};

/// One way to run batches of requests on a file descriptor.
/// @threads one at a time.
class IoQueue {
 public:
  virtual ~IoQueue() = default;
  /// @see BlockDevice::submit; the requests have been checked.
  [[nodiscard]] virtual Result<void> run(std::span<const IoRequest> requests) = 0;
};

/// Whether a request's memory cannot be handed to the device as it is.
[[nodiscard]] inline bool needs_bounce(const IoTarget& target, const IoRequest& request) {
  return (reinterpret_cast<std::uintptr_t>(request.data) & (target.memory_alignment - 1)) != 0;
}

/// The error of a transfer that ended early and cannot go on.
[[nodiscard]] inline Error short_transfer_error(const IoRequest& request, std::uint64_t offset) {
  return make_error(Errc::kIo, Place::kByte, offset,
                    request.kind == IoRequest::Kind::kRead
                        ? "the file has become shorter than it was when opened"
                        : "the device took only a part of a write");
}

}  // namespace cordwood
