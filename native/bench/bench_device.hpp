#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "device/block_device.hpp"

namespace cordwood::bench {

/// What a benchmark runs on.
struct DeviceChoice {
  std::string image;  ///< a file, made anew; empty: memory
  std::uint64_t bytes = 4_GiB;
  std::string cache = "none";  ///< memory only: none, volatile or fua (volatile, and honours FUA)
  std::uint64_t flush_us = 0;  ///< how long a flush or FUA write sleeps
};

/// A device that counts what it is asked for, and may take its time to flush, as disks do.
class BenchDevice final : public BlockDevice {
 public:
  /// @errors of the file; kInvalid for an unknown cache
  static Result<std::unique_ptr<BenchDevice>> open(const DeviceChoice& choice);

  [[nodiscard]] DeviceGeometry geometry() const override { return device_->geometry(); }
  [[nodiscard]] std::string description() const override { return device_->description(); }
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override;
  [[nodiscard]] Result<void> flush() override;
  [[nodiscard]] Result<void> discard(std::uint64_t offset, std::uint64_t bytes) override {
    return device_->discard(offset, bytes);
  }

  /// Writes and flushes so far.
  [[nodiscard]] std::uint64_t commands() const { return commands_.load(); }
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_.load(); }

 private:
  BenchDevice(std::unique_ptr<BlockDevice> device, std::uint64_t flush_us)
      : device_(std::move(device)), flush_us_(flush_us) {}
  void take_time() const;

  std::unique_ptr<BlockDevice> device_;
  std::uint64_t flush_us_;
  std::atomic<std::uint64_t> commands_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
};

}  // namespace cordwood::bench
