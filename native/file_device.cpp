#include "file_device.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/thread_slot.hpp"
#include "device/request_check.hpp"
#include "io/posix_error.hpp"
#include "io/syscall_queue.hpp"
#include "io/uring_queue.hpp"

namespace cordwood {

namespace {

bool environment_asks_for_system_calls() {
  const char* const value = std::getenv("CORDWOOD_IO_PATH");
  return value != nullptr && std::string_view(value) == "syscalls";
}

}  // namespace

Result<std::unique_ptr<FileDevice>> FileDevice::open(const std::string& path, FileOpenMode mode,
                                                     const FileOptions& options) {
  OpenedFile file = TRY(open_file(path.c_str(), mode, options.caching, options.sector_bytes_max));
  std::unique_ptr<FileDevice> device(new FileDevice(path, mode, std::move(file)));
  TRY(device->choose_io_path(options.io_path));
  return device;
}

Result<std::unique_ptr<FileDevice>> FileDevice::create(const std::string& path, std::uint64_t bytes,
                                                       Content content,
                                                       const FileOptions& options) {
  TRY(create_file(path.c_str(), bytes, content == Content::kDiscard));
  return open(path, FileOpenMode::kReadWrite, options);
}

FileDevice::FileDevice(std::string path, FileOpenMode mode, OpenedFile file)
    : path_(std::move(path)),
      read_only_(mode == FileOpenMode::kReadOnly),
      file_(std::move(file)),
      target_{file_.fd.get(), file_.geometry.sector_bytes, file_.memory_alignment, file_.direct},
      discards_(file_.geometry.discard) {}

DeviceGeometry FileDevice::geometry() const {
  DeviceGeometry geometry = file_.geometry;
  geometry.discard = discards_.load(std::memory_order_relaxed);
  return geometry;
}

std::string FileDevice::description() const {
  std::string text = path_ + ", " + std::to_string(file_.geometry.bytes) + " bytes";
  text += uses_uring_ ? ", io_uring" : ", pread/pwrite";
  text += file_.direct ? ", O_DIRECT" : ", buffered";
  return read_only_ ? text + ", read-only" : text;
}

Result<void> FileDevice::submit(std::span<const IoRequest> requests) {
  TRY(check_requests(file_.geometry, requests));
  TRY(check_writable(requests));
  const bool fua = std::any_of(requests.begin(), requests.end(), [](const IoRequest& request) {
    return request.kind == IoRequest::Kind::kWrite && request.fua;
  });
  if (fua) TRY(check_sound());
  Lane* lane = nullptr;
  const std::unique_lock lock = take_lane(lane);
  const Result<void> result = lane->queue->run(requests);
  if (!result && fua) flush_failed_.store(true, std::memory_order_relaxed);
  return result;
}

Result<void> FileDevice::flush() {
  if (read_only_) return {};
  TRY(check_sound());
  if (!file_.geometry.volatile_cache) return {};
  // Not through the ring, which would hand it to a worker thread and wait for that.
  while (::fdatasync(file_.fd.get()) != 0) {
    if (errno == EINTR) continue;
    flush_failed_.store(true, std::memory_order_relaxed);
    return io_error(errno, 0);
  }
  return {};
}

Result<void> FileDevice::discard(std::uint64_t offset, std::uint64_t bytes) {
  TRY(check_range(file_.geometry, offset, bytes));
  if (bytes == 0 || !discards_.load(std::memory_order_relaxed)) return {};
  int failed = 0;
  if (file_.block_device) {
    std::uint64_t range[2] = {offset, bytes};
    failed = ::ioctl(file_.fd.get(), BLKDISCARD, range);
  } else {
    failed = ::fallocate(file_.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
  // Advice: what cannot be taken is not asked for again, and nothing is lost.
  if (failed != 0 && errno != EINTR) discards_.store(false, std::memory_order_relaxed);
  return {};
}

Result<void> FileDevice::choose_io_path(FileOptions::IoPath wanted) {
  using IoPath = FileOptions::IoPath;
  if (wanted == IoPath::kSyscalls) return {};
  // Where each read would need a worker thread (tmpfs), a ring is several times slower than calls.
  const bool slow = !file_.reads_without_waiting || environment_asks_for_system_calls();
  if (wanted == IoPath::kAuto && slow) return {};
  Result<std::unique_ptr<UringQueue>> queue = UringQueue::create(target_);
  if (!queue) {
    if (wanted == IoPath::kUring) return queue.error();
    return {};
  }
  uses_uring_ = true;
  lanes_[thread_slot() % kQueues].queue = std::move(*queue);
  return {};
}

/// Locks a lane: this thread's own if it is free, else any that is, else its own when it gets free.
std::unique_lock<std::mutex> FileDevice::take_lane(Lane*& lane) {
  const std::size_t own = thread_slot() % kQueues;
  std::unique_lock<std::mutex> lock;
  for (std::size_t i = 0; i < kQueues && !lock; ++i) {
    lane = &lanes_[(own + i) % kQueues];
    lock = std::unique_lock(lane->mutex, std::try_to_lock);
  }
  if (!lock) {
    lane = &lanes_[own];
    lock = std::unique_lock(lane->mutex);
  }
  if (lane->queue == nullptr) lane->queue = make_queue();
  return lock;
}

std::unique_ptr<IoQueue> FileDevice::make_queue() const {
  if (uses_uring_) {
    // A limit on locked memory may allow one ring and not the next.
    Result<std::unique_ptr<UringQueue>> queue = UringQueue::create(target_);
    if (queue) return std::move(*queue);
  }
  return std::make_unique<SyscallQueue>(target_);
}

Result<void> FileDevice::check_writable(std::span<const IoRequest> requests) const {
  if (!read_only_) return {};
  for (const IoRequest& request : requests) {
    if (request.kind == IoRequest::Kind::kWrite) {
      return make_error(Errc::kReadOnly, Place::kByte, request.offset, "opened read-only");
    }
  }
  return {};
}

Result<void> FileDevice::check_sound() const {
  if (!flush_failed_.load(std::memory_order_relaxed)) return {};
  return make_error(Errc::kIo, "an earlier flush failed: close the device and open it again");
}

}  // namespace cordwood
