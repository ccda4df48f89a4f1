#include "transfer/file_copy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "host_file.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

/// A range of a host file that holds data; none when only a hole is left.
struct DataRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

Outcome<DataRange> next_host_data(int fd, std::uint64_t offset) {
  const off_t start = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (start < 0 && errno == ENXIO) return DataRange{};
  // A filesystem without holes to report has data everywhere.
  if (start < 0 && errno == EINVAL) return DataRange{offset, kToTheEnd};
  if (start < 0) return host_failure(errno, "seek data");
  const off_t end = ::lseek(fd, start, SEEK_HOLE);
  if (end < 0) return host_failure(errno, "seek hole");
  return DataRange{static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(end)};
}

/// Bytes up to `end`, ending where the file offset is a multiple of the piece size, so that the
/// volume sees whole extents.
std::size_t piece_bytes(std::uint64_t offset, std::uint64_t end) {
  const std::uint64_t aligned = FileCopier::kPieceBytes - offset % FileCopier::kPieceBytes;
  return static_cast<std::size_t>(std::min(aligned, end - offset));
}

Outcome<std::size_t> read_host(int fd, std::uint64_t offset, std::byte* into, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, into + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return host_failure(errno, "read");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

FileCopier::FileCopier(Volume& volume, std::function<void(std::uint64_t)> on_piece)
    : volume_(volume),
      on_piece_(std::move(on_piece)),
      buffer_(static_cast<std::byte*>(std::aligned_alloc(4096, kPieceBytes)), &std::free) {
  CW_CHECK(buffer_ != nullptr);
}

Outcome<void> FileCopier::write_piece(InodeNumber target, std::uint64_t offset, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ConstBytes rest(buffer_.get() + done, bytes - done);
    const std::size_t written = TRY(about("write", volume_.write(target, offset + done, rest)));
    if (written == 0) return volume_failure(make_error(Errc::kNoSpace, "volume is full"), "write");
    done += written;
  }
  count(bytes);
  return {};
}

/// Returns where the file's end or `end` was met.
Outcome<std::uint64_t> FileCopier::copy_range_in(int fd, InodeNumber target, std::uint64_t start,
                                                 std::uint64_t end) {
  std::uint64_t offset = start;
  while (offset < end) {
    const std::size_t wanted = piece_bytes(offset, end);
    const std::size_t got = TRY(read_host(fd, offset, buffer_.get(), wanted));
    TRY(write_piece(target, offset, got));
    offset += got;
    if (got < wanted) break;
  }
  return offset;
}

Outcome<CopiedBytes> FileCopier::into_volume(int fd, const struct stat& found, InodeNumber target) {
  const auto size = static_cast<std::uint64_t>(found.st_size);
  CopiedBytes copied;
  if (static_cast<std::uint64_t>(found.st_blocks) * 512 >= size) {
    // No room for a hole. Read to the end and not to `size`: files of procfs say 0.
    copied.size = copied.data = TRY(copy_range_in(fd, target, 0, kToTheEnd));
    return copied;
  }
  while (true) {
    const DataRange range = TRY(next_host_data(fd, copied.size));
    if (range.end <= range.start) break;
    copied.size = TRY(copy_range_in(fd, target, range.start, range.end));
    copied.data += copied.size - range.start;
    if (copied.size < range.end) break;
  }
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0) return host_failure(errno, "seek the end");
  if (static_cast<std::uint64_t>(end) > copied.size) {
    copied.size = static_cast<std::uint64_t>(end);
    AttributeChanges longer;
    longer.size = copied.size;
    TRY(about("extend", volume_.set_attributes(target, longer)));
  }
  return copied;
}

Outcome<CopiedBytes> FileCopier::stream_into_volume(int fd, InodeNumber target) {
  CopiedBytes copied;
  while (true) {
    std::size_t filled = 0;
    while (filled < kPieceBytes) {
      const ssize_t got = ::read(fd, buffer_.get() + filled, kPieceBytes - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return host_failure(errno, "read");
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    if (filled == 0) return copied;
    TRY(write_piece(target, copied.size, filled));
    copied.size = copied.data += filled;
  }
}

Outcome<void> FileCopier::copy_range_out(InodeNumber source, int fd, std::uint64_t start,
                                         std::uint64_t end) {
  for (std::uint64_t offset = start; offset < end;) {
    const Bytes piece(buffer_.get(), piece_bytes(offset, end));
    const std::size_t got = TRY(about("read", volume_.read(source, offset, piece)));
    if (got == 0) break;
    TRY(write_all_at(fd, piece.data(), got, offset));
    count(got);
    offset += got;
  }
  return {};
}

Outcome<CopiedBytes> FileCopier::out_of_volume(InodeNumber source, std::uint64_t size, int fd) {
  CopiedBytes copied;
  // First, so that a size which the host cannot hold fails before anything is copied.
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return host_failure(errno, "set the size");
  while (copied.size < size) {
    const auto start = volume_.seek_data(source, copied.size);
    if (!start && start.error().code == Errc::kNoData) break;
    if (!start) return volume_failure(start.error(), "seek data");
    const std::uint64_t end = TRY(about("seek hole", volume_.seek_hole(source, *start)));
    if (end <= *start) break;
    TRY(copy_range_out(source, fd, *start, end));
    copied.data += end - *start;
    copied.size = end;
  }
  copied.size = size;
  return copied;
}

Outcome<CopiedBytes> FileCopier::stream_out_of_volume(InodeNumber source, int fd) {
  CopiedBytes copied;
  while (true) {
    const Bytes piece(buffer_.get(), kPieceBytes);
    const std::size_t got = TRY(about("read", volume_.read(source, copied.size, piece)));
    if (got == 0) return copied;
    TRY(write_all(fd, piece.data(), got));
    count(got);
    copied.size = copied.data += got;
  }
}

}  // namespace cordwood
