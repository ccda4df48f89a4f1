#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "failure.hpp"
#include "io/unique_fd.hpp"

namespace cordwood {

/// Opens without following a last symlink, without blocking on a fifo, closed on exec.
/// @param directory  what a relative name starts from; AT_FDCWD for the working directory.
/// @param flags      O_RDONLY, O_DIRECTORY ... on top.
[[nodiscard]] Outcome<UniqueFd> open_no_follow(int directory, const char* name, int flags,
                                               mode_t mode = 0);

/// Opens for reading without touching the access time where that is allowed.
[[nodiscard]] Outcome<UniqueFd> open_to_read(int directory, const char* name, int flags = 0);

[[nodiscard]] Outcome<struct stat> stat_of(int fd);
/// Of the name itself when it is a symlink.
[[nodiscard]] Outcome<struct stat> stat_no_follow(int directory, const char* name);

[[nodiscard]] Outcome<std::string> read_host_symlink(int directory, const char* name);

/// Writes all bytes at an offset.
[[nodiscard]] Outcome<void> write_all_at(int fd, const std::byte* from, std::size_t bytes,
                                         std::uint64_t offset);
/// Writes all bytes to a stream (a pipe, a terminal).
[[nodiscard]] Outcome<void> write_all(int fd, const std::byte* from, std::size_t bytes);

/// Names in a directory but "." and "..", in byte order, held in one piece of memory: a directory of
/// a million names costs little more than their bytes.
class NameList {
 public:
  /// @param directory  stays open; is read from its start.
  [[nodiscard]] static Outcome<NameList> read(int directory);

  [[nodiscard]] std::size_t size() const { return starts_.size(); }
  /// Ends in NUL.
  [[nodiscard]] const char* operator[](std::size_t index) const {
    return bytes_.data() + starts_[index];
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> starts_;
};

[[nodiscard]] Timestamp timestamp_of(const struct timespec& time);
[[nodiscard]] struct timespec timespec_of(Timestamp time);

/// Device numbers as Linux puts them into 32 bits, which is what an inode stores.
[[nodiscard]] std::uint32_t encode_device(dev_t device);
[[nodiscard]] dev_t decode_device(std::uint32_t encoded);

/// A path split the way import, export, put and get need it.
struct SplitPath {
  std::string parent;  ///< "." or "/" where the text has none
  std::string name;    ///< empty when the path means the content: "/", "dir/", "dir/.", ".."
};
[[nodiscard]] SplitPath split_path(std::string_view path);

}  // namespace cordwood
