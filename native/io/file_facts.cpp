#include "io/file_facts.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#include "io/aligned_buffer.hpp"
#include "io/posix_error.hpp"

namespace cordwood {

namespace {

constexpr std::uint32_t kSectorBytesDefault = 512;
constexpr std::uint32_t kSectorBytesMax = 4096;

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// What direct transfers of a file have to be aligned to.
struct DirectAlignment {
  std::uint32_t offset = 0;  ///< also of the length
  std::uint32_t memory = 0;
};

bool set_direct(int fd, bool direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && ::fcntl(fd, F_SETFL, wanted) == 0;
}

/// What the kernel says by itself; nothing if it is older than 6.1 or the file system does not tell.
bool ask_alignment([[maybe_unused]] int fd, [[maybe_unused]] DirectAlignment& alignment) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return false;
  if ((status.stx_mask & STATX_DIOALIGN) == 0) return false;
  alignment = {status.stx_dio_offset_align, status.stx_dio_mem_align};
  return is_power_of_two(alignment.offset) && is_power_of_two(alignment.memory);
#else
  return false;
#endif
}

/// Finds the smallest sector that a direct read takes by trying.
bool try_alignment(int fd, DirectAlignment& alignment) {
  const AlignedBuffer buffer(AlignedBuffer::kAlignment);
  if (buffer.empty()) return false;
  for (std::uint32_t sector = kSectorBytesDefault; sector <= kSectorBytesMax; sector *= 2) {
    if (::pread(fd, buffer.bytes().data(), sector, 0) < 0) continue;
    alignment = {sector, sector};
    return true;
  }
  return false;
}

bool reads_without_waiting(int fd) {
  const AlignedBuffer buffer(AlignedBuffer::kAlignment);
  if (buffer.empty()) return false;
  const iovec part = {buffer.bytes().data(), buffer.bytes().size()};
  return ::preadv2(fd, &part, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN;
}

/// Turns O_DIRECT on for a file if it takes it with sectors of an acceptable size.
bool turn_direct_on(OpenedFile& file, std::uint32_t sector_bytes_max) {
  const int fd = file.fd.get();
  if (!set_direct(fd, true)) return false;
  DirectAlignment alignment;
  if (ask_alignment(fd, alignment) || try_alignment(fd, alignment)) {
    const std::uint32_t sector = std::max(alignment.offset, file.geometry.sector_bytes);
    const std::uint32_t limit = sector_bytes_max != 0 ? sector_bytes_max : kSectorBytesMax;
    if (sector <= limit || file.block_device) {
      file.direct = true;
      file.geometry.sector_bytes = sector;
      file.memory_alignment = alignment.memory;
      return true;
    }
  }
  set_direct(fd, false);
  return false;
}

/// A line of a block device's queue in sysfs; a partition has none of its own.
std::string queue_attribute(dev_t device, const char* name) {
  const std::string folder =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (const char* queue : {"/queue/", "/../queue/"}) {
    std::ifstream file(folder + queue + name);
    std::string line;
    if (std::getline(file, line)) return line;
  }
  return {};
}

Result<void> find_block_device_facts(OpenedFile& file, dev_t device) {
  int sector = 0;
  if (::ioctl(file.fd.get(), BLKSSZGET, &sector) != 0) return open_error(errno, false);
  if (sector < 512 || !is_power_of_two(static_cast<std::uint64_t>(sector))) {
    return make_error(Errc::kNotSupported, "the device has sectors of an unusual size");
  }
  file.geometry.sector_bytes = static_cast<std::uint32_t>(sector);
  const std::string discard_bytes = queue_attribute(device, "discard_max_bytes");
  file.geometry.discard = !discard_bytes.empty() && discard_bytes != "0";
  return {};
}

}  // namespace

Result<void> find_facts(OpenedFile& file, FileCaching caching, std::uint32_t sector_bytes_max) {
  struct stat status {};
  if (::fstat(file.fd.get(), &status) != 0) return open_error(errno, false);
  file.block_device = S_ISBLK(status.st_mode);
  file.geometry.sector_bytes = kSectorBytesDefault;
  file.geometry.volatile_cache = true;
  file.geometry.fua = true;
  file.geometry.discard = true;
  if (file.block_device) TRY(find_block_device_facts(file, status.st_rdev));
  const bool direct = caching == FileCaching::kDirect && turn_direct_on(file, sector_bytes_max);
  // Without O_DIRECT the host's page cache stands before the device, whatever that has itself.
  if (file.block_device && direct &&
      queue_attribute(status.st_rdev, "write_cache") == "write through") {
    file.geometry.volatile_cache = false;
  }
  file.reads_without_waiting = reads_without_waiting(file.fd.get());
  return {};
}

Result<void> find_size(OpenedFile& file) {
  std::uint64_t bytes = 0;
  if (file.block_device) {
    if (::ioctl(file.fd.get(), BLKGETSIZE64, &bytes) != 0) return open_error(errno, false);
  } else {
    struct stat status {};
    if (::fstat(file.fd.get(), &status) != 0) return open_error(errno, false);
    bytes = static_cast<std::uint64_t>(status.st_size);
  }
  file.geometry.bytes = bytes / file.geometry.sector_bytes * file.geometry.sector_bytes;
  if (file.geometry.bytes != 0) return {};
  if (file.block_device) return make_error(Errc::kInvalid, "the device has a size of zero");
  return make_error(Errc::kInvalid, bytes == 0 ? "an empty file: make a volume in it first"
                                               : "shorter than one sector");
}

}  // namespace cordwood
