#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "device/block_device.hpp"

namespace cordwood::test {

/// Passes everything on, remembers which bytes were read, and counts the reads.
class TrackingDevice final : public BlockDevice {
 public:
  explicit TrackingDevice(BlockDevice& below) : below_(below) {}

  [[nodiscard]] DeviceGeometry geometry() const override { return below_.geometry(); }
  [[nodiscard]] std::string description() const override { return below_.description(); }
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override {
    {
      const std::lock_guard lock(mutex_);
      for (const IoRequest& request : requests) {
        if (request.kind == IoRequest::Kind::kRead) add(request.offset, request.bytes);
      }
    }
    return below_.submit(requests);
  }
  [[nodiscard]] Result<void> flush() override { return below_.flush(); }
  [[nodiscard]] Result<void> discard(std::uint64_t offset, std::uint64_t bytes) override {
    return below_.discard(offset, bytes);
  }

  /// Begin and end of each range that was read, merged.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& ranges_read() const {
    return ranges_;
  }

 private:
  void add(std::uint64_t begin, std::uint64_t bytes) {
    std::uint64_t end = begin + bytes;
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second >= begin) --at;
    while (at != ranges_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ranges_.erase(at);
    }
    ranges_.emplace(begin, end);
  }

  BlockDevice& below_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace cordwood::test
