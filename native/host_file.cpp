#include "host_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace cordwood {

namespace {

constexpr int kCarefulFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

Outcome<UniqueFd> opened(int fd) {
  if (fd < 0) return host_failure(errno, "open");
  return UniqueFd(fd);
}

}  // namespace

Outcome<UniqueFd> open_no_follow(int directory, const char* name, int flags, mode_t mode) {
  return opened(::openat(directory, name, flags | kCarefulFlags, mode));
}

Outcome<UniqueFd> open_to_read(int directory, const char* name, int flags) {
  const int fd = ::openat(directory, name, O_RDONLY | O_NOATIME | flags | kCarefulFlags);
  // Only the owner and root may leave the access time alone.
  if (fd < 0 && errno == EPERM) {
    return opened(::openat(directory, name, O_RDONLY | flags | kCarefulFlags));
  }
  return opened(fd);
}

Outcome<struct stat> stat_of(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return host_failure(errno, "stat");
  return found;
}

Outcome<struct stat> stat_no_follow(int directory, const char* name) {
  struct stat found {};
  if (::fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return host_failure(errno, "stat");
  }
  return found;
}

Outcome<std::string> read_host_symlink(int directory, const char* name) {
  std::string target(4096, '\0');
  const ssize_t bytes = ::readlinkat(directory, name, target.data(), target.size());
  if (bytes < 0) return host_failure(errno, "read symlink");
  target.resize(static_cast<std::size_t>(bytes));
  return target;
}

Outcome<void> write_all_at(int fd, const std::byte* from, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t written = ::pwrite(fd, from, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return host_failure(errno, "write");
    from += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

Outcome<void> write_all(int fd, const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(fd, from, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return host_failure(errno, "write");
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

Outcome<NameList> NameList::read(int directory) {
  // The stream takes its descriptor over, and the caller needs its own.
  const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return host_failure(errno, "open directory");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), &::closedir);
  if (!stream) {
    const int code = errno;
    ::close(copy);
    return host_failure(code, "open directory");
  }
  ::rewinddir(stream.get());
  NameList list;
  while (true) {
    errno = 0;
    const struct dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    list.starts_.push_back(list.bytes_.size());
    list.bytes_.append(entry->d_name, std::strlen(entry->d_name) + 1);
  }
  if (errno != 0) return host_failure(errno, "read directory");
  const char* const base = list.bytes_.data();
  std::sort(list.starts_.begin(), list.starts_.end(),
            [base](std::size_t a, std::size_t b) { return std::strcmp(base + a, base + b) < 0; });
  return list;
}

Timestamp timestamp_of(const struct timespec& time) {
  return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)};
}

struct timespec timespec_of(Timestamp time) {
  return {static_cast<time_t>(time.seconds), static_cast<long>(time.nanoseconds)};
}

std::uint32_t encode_device(dev_t device) {
  const unsigned major_number = major(device);
  const unsigned minor_number = minor(device);
  return (minor_number & 0xff) | (major_number << 8) | ((minor_number & ~0xffU) << 12);
}

dev_t decode_device(std::uint32_t encoded) {
  const unsigned major_number = (encoded & 0xfff00) >> 8;
  const unsigned minor_number = (encoded & 0xff) | ((encoded >> 12) & 0xfff00);
  return makedev(major_number, minor_number);
}

SplitPath split_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return {std::string(path), {}};
  if (slash == std::string_view::npos) return {".", std::string(name)};
  return {slash == 0 ? "/" : std::string(path.substr(0, slash)), std::string(name)};
}

}  // namespace cordwood
