#include "io/file_open.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "io/file_facts.hpp"
#include "io/posix_error.hpp"

namespace cordwood {

namespace {

constexpr mode_t kNewFileMode = 0666;  // less the umask

/// Refuses everything that is no regular file or block device.
Result<void> check_type(mode_t mode) {
  if (S_ISREG(mode) || S_ISBLK(mode)) return {};
  if (S_ISDIR(mode)) return open_error(EISDIR, false);
  if (S_ISCHR(mode)) {
    return make_error(Errc::kNotSupported,
                      "a character device: name an image file or a block device instead");
  }
  if (S_ISFIFO(mode)) {
    return make_error(Errc::kNotSupported,
                      "a pipe (FIFO): name an image file or a block device instead");
  }
  return make_error(Errc::kNotSupported, "a socket: name an image file or a block device instead");
}

/// Opens without side effects on what is of the wrong type.
Result<UniqueFd> open_checked(const char* path, int flags, bool for_writing) {
  struct stat before {};
  if (::stat(path, &before) != 0) return open_error(errno, for_writing);
  TRY(check_type(before.st_mode));
  // O_EXCL without O_CREAT: a block device that is mounted, or held by someone who also asked for
  // it, is refused.
  if (S_ISBLK(before.st_mode) && for_writing) flags |= O_EXCL;
  // O_NONBLOCK, in case a FIFO has taken the name since.
  UniqueFd fd(::open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) return open_error(errno, for_writing);
  struct stat now {};
  if (::fstat(fd.get(), &now) != 0) return open_error(errno, for_writing);
  TRY(check_type(now.st_mode));
  // Left on, it would make the ring give up where it should wait.
  if (::fcntl(fd.get(), F_SETFL, 0) != 0) return open_error(errno, for_writing);
  return fd;
}

Result<void> lock_file(int fd, bool exclusive, bool block_device) {
  // The device manager locks a block device for moments after each change. Files: no patience.
  int tries = block_device ? 50 : 1;
  while (true) {
    if (::flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return {};
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      return make_error(Errc::kNotSupported, "the file system that holds it cannot lock files");
    }
    if (--tries == 0) return in_use_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Makes the name of a new file durable: a volume that survives in a file without a name is lost.
Result<void> flush_parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const UniqueFd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return {};  // a directory that may be searched but not read
  // Some file systems cannot flush a directory, and say so.
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) return io_error(errno, 0);
  return {};
}

Result<void> resize(int fd, std::uint64_t bytes, bool discard_content) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return open_error(errno, true);
  const auto bytes_now = static_cast<std::uint64_t>(status.st_size);
  if (bytes_now > bytes && !discard_content) {
    return make_error(Errc::kExists, "exists and is longer: say that its content may be lost");
  }
  if (discard_content && bytes_now > 0 && ::ftruncate(fd, 0) != 0) return open_error(errno, true);
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return open_error(errno, true);
  if (::fsync(fd) != 0) return io_error(errno, 0);
  return {};
}

}  // namespace

Result<OpenedFile> open_file(const char* path, FileOpenMode mode, FileCaching caching,
                             std::uint32_t sector_bytes_max) {
  const bool for_writing = mode == FileOpenMode::kReadWrite;
  OpenedFile file;
  file.fd = TRY(open_checked(path, for_writing ? O_RDWR : O_RDONLY, for_writing));
  TRY(find_facts(file, caching, sector_bytes_max));
  TRY(lock_file(file.fd.get(), for_writing, file.block_device));
  // Again under the lock: who held it may have changed the size.
  TRY(find_size(file));
  if (!for_writing) file.geometry.discard = false;
  return file;
}

Result<void> create_file(const char* path, std::uint64_t bytes, bool discard_content) {
  if (bytes == 0 || bytes % 512 != 0) {
    return make_error(Errc::kInvalid, "the size of an image is a multiple of 512 bytes");
  }
  if (bytes > static_cast<std::uint64_t>(INT64_MAX)) return open_error(EFBIG, true);
  UniqueFd fd(::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, kNewFileMode));
  const bool is_new = fd.valid();
  if (!is_new) {
    if (errno != EEXIST) return open_error(errno, true);
    fd = TRY(open_checked(path, O_RDWR, true));
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return open_error(errno, true);
    if (S_ISBLK(status.st_mode)) {
      return make_error(Errc::kInvalid, "a block device: its size cannot be chosen");
    }
  }
  Result<void> result = lock_file(fd.get(), true, false);
  if (result) result = resize(fd.get(), bytes, discard_content);
  if (result && is_new) result = flush_parent(path);
  if (!result && is_new) ::unlink(path);
  return result;
}

}  // namespace cordwood
