#include "host_xattr.hpp"

#include <sys/xattr.h>

#include <cerrno>

namespace cordwood {

namespace {

/// Names of a directory's entries reach it through its descriptor, so that neither the length of
/// the path nor a directory that is moved meanwhile matters.
std::string proc_path(const XattrTarget& target) {
  return "/proc/self/fd/" + std::to_string(target.fd) + "/" + target.name;
}

ssize_t list(const XattrTarget& target, char* into, std::size_t bytes) {
  if (target.name == nullptr) return ::flistxattr(target.fd, into, bytes);
  return ::llistxattr(proc_path(target).c_str(), into, bytes);
}

ssize_t get(const XattrTarget& target, const char* name, void* into, std::size_t bytes) {
  if (target.name == nullptr) return ::fgetxattr(target.fd, name, into, bytes);
  return ::lgetxattr(proc_path(target).c_str(), name, into, bytes);
}

constexpr std::size_t kFirstGuess = 1024;
constexpr std::size_t kMostBytes = 65536;  // XATTR_LIST_MAX and XATTR_SIZE_MAX of Linux

/// Calls `call(into, bytes)` with a small buffer, and with the largest when that was too small.
template <class Buffer, class Call>
Outcome<Buffer> read_with(const char* action, const Call& call) {
  Buffer buffer;
  buffer.resize(kFirstGuess);
  ssize_t bytes = call(buffer.data(), buffer.size());
  if (bytes < 0 && errno == ERANGE) {
    buffer.resize(kMostBytes);
    bytes = call(buffer.data(), buffer.size());
  }
  if (bytes < 0) return host_failure(errno, action);
  buffer.resize(static_cast<std::size_t>(bytes));
  return buffer;
}

}  // namespace

Outcome<std::vector<std::string>> list_host_xattrs(const XattrTarget& target) {
  const auto packed = read_with<std::string>("list xattrs", [&](char* into, std::size_t bytes) {
    const ssize_t count = list(target, into, bytes);
    return count < 0 && errno == ENOTSUP ? 0 : count;
  });
  if (!packed) return packed.error();
  std::vector<std::string> names;
  for (std::size_t start = 0; start < packed->size();) {
    names.emplace_back(packed->c_str() + start);
    start += names.back().size() + 1;
  }
  return names;
}

Outcome<std::vector<std::byte>> host_xattr(const XattrTarget& target, const std::string& name) {
  return read_with<std::vector<std::byte>>("read xattr", [&](std::byte* into, std::size_t bytes) {
    return get(target, name.c_str(), into, bytes);
  });
}

Outcome<void> set_host_xattr(const XattrTarget& target, const std::string& name, ConstBytes value) {
  const int result =
      target.name == nullptr
          ? ::fsetxattr(target.fd, name.c_str(), value.data(), value.size(), 0)
          : ::lsetxattr(proc_path(target).c_str(), name.c_str(), value.data(), value.size(), 0);
  if (result == 0) return {};
  Failure failure = host_failure(errno, "set xattr " + name);
  // "No space" means here that one inode holds no more xattrs, and says nothing about the next one.
  failure.fatal = false;
  return failure;
}

}  // namespace cordwood
