#include "io/syscall_queue.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/posix_error.hpp"

namespace cordwood {

namespace {

constexpr std::size_t kBounceBytes = 256_KiB;
/// One system call; below the kernel's own limit of 2 GiB less a page.
constexpr std::size_t kCallBytesMax = 64_MiB;

}  // namespace

Result<void> SyscallQueue::run(std::span<const IoRequest> requests) {
  Result<void> result;
  for (const IoRequest& request : requests) {
    const Result<void> one =
        needs_bounce(target_, request) ? run_bounced(request) : transfer(request);
    // The place is the request's, wherever inside it the failure was.
    if (!one && result) {
      const Error error = one.error();
      result = make_error(error.code, Place::kByte, request.offset, error.what);
    }
  }
  return result;
}

Result<void> SyscallQueue::run_bounced(const IoRequest& request) {
  if (bounce_.empty()) bounce_ = AlignedBuffer(kBounceBytes);
  if (bounce_.empty()) return io_error(ENOMEM, request.offset);
  for (std::size_t done = 0; done < request.bytes;) {
    IoRequest piece = request;
    piece.offset += done;
    piece.data = bounce_.bytes().data();
    piece.bytes = std::min(request.bytes - done, kBounceBytes);
    std::byte* const at = request.data + done;
    if (request.kind == IoRequest::Kind::kWrite) std::memcpy(piece.data, at, piece.bytes);
    TRY(transfer(piece));
    if (request.kind == IoRequest::Kind::kRead) std::memcpy(at, piece.data, piece.bytes);
    done += piece.bytes;
  }
  return {};
}

Result<void> SyscallQueue::transfer(const IoRequest& request) {
  const bool is_read = request.kind == IoRequest::Kind::kRead;
  for (std::size_t done = 0; done < request.bytes;) {
    const std::uint64_t offset = request.offset + done;
    const iovec part = {request.data + done, std::min(request.bytes - done, kCallBytesMax)};
    const ssize_t moved = is_read ? ::preadv2(target_.fd, &part, 1, static_cast<off_t>(offset), 0)
                                  : ::pwritev2(target_.fd, &part, 1, static_cast<off_t>(offset),
                                               request.fua ? RWF_DSYNC : 0);
    if (moved < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return io_error(errno, offset);
    }
    // A direct transfer can only go on at a sector edge; what is beyond it is moved again.
    const std::size_t whole =
        static_cast<std::size_t>(moved) / target_.sector_bytes * target_.sector_bytes;
    if (whole == 0) return short_transfer_error(request, offset);
    done += whole;
  }
  return {};
}

}  // namespace cordwood
