#include "device/memory_device.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "device/request_check.hpp"

namespace cordwood {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// Calls act(offset on the device, offset in the request, bytes) for each image page of a request.
template <class Act>
void for_each_page(const IoRequest& request, Act act) {
  constexpr std::uint64_t kPageBytes = SparseImage::kPageBytes;
  std::size_t done = 0;
  while (done < request.bytes) {
    const std::uint64_t at = request.offset + done;
    const std::size_t piece =
        std::min<std::uint64_t>(request.bytes - done, kPageBytes - at % kPageBytes);
    act(at, done, piece);
    done += piece;
  }
}

}  // namespace

MemoryDevice::MemoryDevice(std::uint64_t bytes, MemoryDeviceOptions options)
    : MemoryDevice(SparseImage(bytes), options) {}

MemoryDevice::MemoryDevice(const SparseImage& image, MemoryDeviceOptions options)
    : options_(options), bytes_(image.bytes()), image_(image) {
  CW_CHECK(options.sector_bytes != 0 && (options.sector_bytes & (options.sector_bytes - 1)) == 0);
  CW_CHECK(image.bytes() % options.sector_bytes == 0);
}

DeviceGeometry MemoryDevice::geometry() const {
  return {bytes_, options_.sector_bytes, options_.volatile_cache, options_.fua, options_.discard};
}

std::string MemoryDevice::description() const {
  return "memory, " + std::to_string(bytes_) + " bytes";
}

Result<void> MemoryDevice::submit(std::span<const IoRequest> requests) {
  TRY(check_requests(geometry(), requests));
  for (const IoRequest& request : requests) {
    if (request.kind == IoRequest::Kind::kRead) {
      for_each_page(request, [&](std::uint64_t at, std::size_t done, std::size_t bytes) {
        read_piece(at, {request.data + done, bytes});
      });
      reads_.fetch_add(1, kRelaxed);
      bytes_read_.fetch_add(request.bytes, kRelaxed);
    } else {
      for_each_page(request, [&](std::uint64_t at, std::size_t done, std::size_t bytes) {
        write_piece(at, {request.data + done, bytes});
      });
      writes_.fetch_add(1, kRelaxed);
      bytes_written_.fetch_add(request.bytes, kRelaxed);
      if (request.fua) fua_writes_.fetch_add(1, kRelaxed);
    }
  }
  return {};
}

Result<void> MemoryDevice::flush() {
  flushes_.fetch_add(1, kRelaxed);
  return {};
}

Result<void> MemoryDevice::discard(std::uint64_t offset, std::uint64_t bytes) {
  TRY(check_range(geometry(), offset, bytes));
  bytes_discarded_.fetch_add(bytes, kRelaxed);
  if (!options_.discard) return {};
  const std::unique_lock shape(shape_);
  image_.fill(offset, bytes, std::byte{0});
  return {};
}

SparseImage MemoryDevice::snapshot() const {
  // Exclusive, because copying makes every page of the image copy-on-write.
  const std::unique_lock shape(shape_);
  return image_;
}

void MemoryDevice::restore(const SparseImage& image) {
  const std::unique_lock shape(shape_);
  CW_CHECK(image.bytes() == bytes_);
  image_ = image;
}

std::unique_ptr<MemoryDevice> MemoryDevice::clone() const {
  return std::make_unique<MemoryDevice>(snapshot(), options_);
}

DeviceCounters MemoryDevice::counters() const {
  return {reads_.load(kRelaxed),          bytes_read_.load(kRelaxed), writes_.load(kRelaxed),
          bytes_written_.load(kRelaxed),  fua_writes_.load(kRelaxed), flushes_.load(kRelaxed),
          bytes_discarded_.load(kRelaxed)};
}

void MemoryDevice::read_piece(std::uint64_t offset, Bytes into) {
  const std::shared_lock shape(shape_);
  const std::lock_guard stripe(stripe_of(offset));
  image_.read(offset, into);
}

void MemoryDevice::write_piece(std::uint64_t offset, ConstBytes from) {
  {
    const std::shared_lock shape(shape_);
    if (image_.writes_in_place(offset, from.size())) {
      const std::lock_guard stripe(stripe_of(offset));
      image_.write(offset, from);
      return;
    }
  }
  const std::unique_lock shape(shape_);
  image_.write(offset, from);
}

std::mutex& MemoryDevice::stripe_of(std::uint64_t offset) {
  return stripes_[offset / SparseImage::kPageBytes % kStripes];
}

}  // namespace cordwood
