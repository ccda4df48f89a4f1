#include "bench/bench_device.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "device/memory_device.hpp"
#include "file_device.hpp"

namespace cordwood::bench {

Result<std::unique_ptr<BenchDevice>> BenchDevice::open(const DeviceChoice& choice) {
  std::unique_ptr<BlockDevice> device;
  if (!choice.image.empty()) {
    FileOptions options;
    options.sector_bytes_max = 512;
    device =
        TRY(FileDevice::create(choice.image, choice.bytes, FileDevice::Content::kDiscard, options));
  } else {
    MemoryDeviceOptions options;
    if (choice.cache != "none" && choice.cache != "volatile" && choice.cache != "fua") {
      return make_error(Errc::kInvalid, "cache is one of none, volatile, fua");
    }
    options.volatile_cache = choice.cache != "none";
    options.fua = choice.cache == "fua";
    device = std::make_unique<MemoryDevice>(choice.bytes, options);
  }
  return std::unique_ptr<BenchDevice>(new BenchDevice(std::move(device), choice.flush_us));
}

void BenchDevice::take_time() const {
  if (flush_us_ != 0) std::this_thread::sleep_for(std::chrono::microseconds(flush_us_));
}

Result<void> BenchDevice::submit(std::span<const IoRequest> requests) {
  bool fua = false;
  for (const IoRequest& request : requests) {
    if (request.kind != IoRequest::Kind::kWrite) continue;
    commands_.fetch_add(1, std::memory_order_relaxed);
    bytes_written_.fetch_add(request.bytes, std::memory_order_relaxed);
    fua = fua || request.fua;
  }
  TRY(device_->submit(requests));
  if (fua) take_time();
  return {};
}

Result<void> BenchDevice::flush() {
  commands_.fetch_add(1, std::memory_order_relaxed);
  TRY(device_->flush());
  take_time();
  return {};
}

}  // namespace cordwood::bench
