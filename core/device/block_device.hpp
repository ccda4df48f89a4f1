#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace cordwood {

/// What a device is and what it promises.
struct DeviceGeometry {
  std::uint64_t bytes = 0;           ///< capacity
  std::uint32_t sector_bytes = 512;  ///< smallest unit it reads and writes whole; a power of two
  bool volatile_cache = true;  ///< completed writes may be lost until flush; else flush is free
  bool fua = false;            ///< honours IoRequest::fua; else a flush must follow
  bool discard = false;        ///< discard does something
};

/// One read or write. `offset` and `data.size()` are multiples of sector_bytes; any memory address
/// is allowed, multiples of 4096 are fastest.
struct IoRequest {
  enum class Kind : std::uint8_t { kRead, kWrite };
  Kind kind = Kind::kRead;
  bool fua = false;           ///< write only: durable when it completes
  std::uint64_t offset = 0;   ///< bytes from the start of the device
  std::byte* data = nullptr;  ///< read into, or written from
  std::size_t bytes = 0;

  static IoRequest read(std::uint64_t offset, Bytes into) {
    return {Kind::kRead, false, offset, into.data(), into.size()};
  }
  static IoRequest write(std::uint64_t offset, ConstBytes from, bool fua = false) {
    return {Kind::kWrite, fua, offset, const_cast<std::byte*>(from.data()), from.size()};
  }
};

/// A device made of blocks: image file, block device, NVMe namespace, OPFS file, memory.
/// Between two flushes it may make writes durable in any order, or tear them at sector edges.
/// @threads every call may come from any thread at any time.
class BlockDevice {
 public:
  virtual ~BlockDevice() = default;

  [[nodiscard]] virtual DeviceGeometry geometry() const = 0;
  /// A name for people: path, size, which I/O path is in use.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Runs all requests, in any order and in parallel, and returns when all have completed. Requests
  /// of one batch that overlap, one of them a write, leave either outcome.
  /// @errors the first failure, with Place::kByte of its request; the others have still run. kIo;
  ///         kNoSpace when a sparse image cannot grow; kReadOnly; kInvalid, before any has run, for
  ///         a request beyond the end or not in whole sectors.
  [[nodiscard]] virtual Result<void> submit(std::span<const IoRequest> requests) = 0;

  /// Makes all completed writes durable.
  /// @errors kIo; afterwards nothing may be assumed about any write since the last good flush.
  [[nodiscard]] virtual Result<void> flush() = 0;

  /// Says that the content of a range is no longer needed. Advice; reads return anything after it.
  [[nodiscard]] virtual Result<void> discard(std::uint64_t offset, std::uint64_t bytes) = 0;

  [[nodiscard]] Result<void> read(std::uint64_t offset, Bytes into) {
    const IoRequest request = IoRequest::read(offset, into);
    return submit({&request, 1});
  }
  [[nodiscard]] Result<void> write(std::uint64_t offset, ConstBytes from, bool fua = false) {
    const IoRequest request = IoRequest::write(offset, from, fua);
    return submit({&request, 1});
  }
};

}  // namespace cordwood
