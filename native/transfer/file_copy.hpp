#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/bytes.hpp"
#include "failure.hpp"
#include "volume/volume.hpp"

namespace cordwood {

/// What a copy of one file moved.
struct CopiedBytes {
  std::uint64_t data = 0;  ///< bytes copied, holes left out
  std::uint64_t size = 0;  ///< of the file when its end was reached
};

/// Copies the content of files between the host and a volume, in pieces of 1 MiB through one buffer,
/// whatever their size. Holes stay holes in both directions.
class FileCopier {
 public:
  static constexpr std::size_t kPieceBytes = 1_MiB;

  /// @param on_piece  told the bytes of each piece that was copied; may be empty.
  explicit FileCopier(Volume& volume, std::function<void(std::uint64_t)> on_piece = {});

  /// @param fd      a regular file of the host, open for reading.
  /// @param target  an empty file.
  Outcome<CopiedBytes> into_volume(int fd, const struct stat& found, InodeNumber target);
  /// Reads a stream (a pipe, a terminal, a file of unknown size) to its end.
  Outcome<CopiedBytes> stream_into_volume(int fd, InodeNumber target);

  /// @param fd  an empty regular file of the host, open for writing.
  Outcome<CopiedBytes> out_of_volume(InodeNumber source, std::uint64_t size, int fd);
  /// Writes the whole content in order; holes are written as zeros.
  Outcome<CopiedBytes> stream_out_of_volume(InodeNumber source, int fd);

 private:
  Outcome<std::uint64_t> copy_range_in(int fd, InodeNumber target, std::uint64_t start,
                                       std::uint64_t end);
  Outcome<void> copy_range_out(InodeNumber source, int fd, std::uint64_t start, std::uint64_t end);
  Outcome<void> write_piece(InodeNumber target, std::uint64_t offset, std::size_t bytes);
  void count(std::uint64_t bytes) {
    if (on_piece_) on_piece_(bytes);
  }

  Volume& volume_;
  std::function<void(std::uint64_t)> on_piece_;
  std::unique_ptr<std::byte, void (*)(void*)> buffer_;
};

}  // namespace cordwood
