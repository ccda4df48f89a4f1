#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>

#include "device/block_device.hpp"
#include "device/sparse_image.hpp"

namespace cordwood {

/// What a memory device pretends to be.
struct MemoryDeviceOptions {
  std::uint32_t sector_bytes = 512;  ///< a power of two
  bool volatile_cache = false;       ///< only what geometry() says: nothing is ever lost here
  bool fua = true;                   ///< likewise
  bool discard = true;               ///< discarded pages are freed and read as zero
};

/// What a device was asked to do since it was made.
struct DeviceCounters {
  std::uint64_t reads = 0;  ///< requests, not batches
  std::uint64_t bytes_read = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t fua_writes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t bytes_discarded = 0;
};

/// A device in memory that costs what was written to it; untouched bytes read as zero.
/// @threads any. Requests to different pages run in parallel; two to one page take turns.
class MemoryDevice final : public BlockDevice {
 public:
  /// @param bytes  a multiple of options.sector_bytes.
  explicit MemoryDevice(std::uint64_t bytes, MemoryDeviceOptions options = {});
  /// Starts with the content of an image, for example a crash state.
  explicit MemoryDevice(const SparseImage& image, MemoryDeviceOptions options = {});

  [[nodiscard]] DeviceGeometry geometry() const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override;
  [[nodiscard]] Result<void> flush() override;
  [[nodiscard]] Result<void> discard(std::uint64_t offset, std::uint64_t bytes) override;

  /// The content now. @cost one pointer; later writes copy the pages they change.
  [[nodiscard]] SparseImage snapshot() const;
  /// Goes back to a content of the same size.
  void restore(const SparseImage& image);
  /// A second device with the same content and options, and counters at zero.
  [[nodiscard]] std::unique_ptr<MemoryDevice> clone() const;

  [[nodiscard]] DeviceCounters counters() const;

 private:
  static constexpr std::size_t kStripes = 64;

  void read_piece(std::uint64_t offset, Bytes into);
  void write_piece(std::uint64_t offset, ConstBytes from);
  std::mutex& stripe_of(std::uint64_t offset);

  const MemoryDeviceOptions options_;
  const std::uint64_t bytes_;
  /// Shared: bytes of pages may change. Exclusive: pages may come, go or be copied.
  mutable std::shared_mutex shape_;
  /// Each guards the bytes of the pages that fall to it, under a shared hold of shape_.
  std::array<std::mutex, kStripes> stripes_;
  SparseImage image_;

  std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> bytes_read_{0};
  std::atomic<std::uint64_t> writes_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> fua_writes_{0};
  std::atomic<std::uint64_t> flushes_{0};
  std::atomic<std::uint64_t> bytes_discarded_{0};
};

}  // namespace cordwood
