#include "io/uring_queue.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "io/posix_error.hpp"

namespace cordwood {

namespace {

constexpr unsigned kDepth = 64;
/// Large requests are cut, so that their parts run in parallel; devices cut them further.
constexpr std::size_t kPieceBytesMax = 1_MiB;
constexpr std::size_t kBounceSlots = 8;
constexpr std::size_t kBounceSlotBytes = 128_KiB;
constexpr std::size_t kNoBounce = SIZE_MAX;

int set_up(io_uring& ring) {
  // No interrupt is needed to run completions: the submitting thread waits for them itself.
  const int result = io_uring_queue_init(kDepth, &ring, IORING_SETUP_COOP_TASKRUN);
  if (result != -EINVAL) return result;
  return io_uring_queue_init(kDepth, &ring, 0);  // before Linux 5.19
}

}  // namespace

Result<std::unique_ptr<UringQueue>> UringQueue::create(const IoTarget& target) {
  std::unique_ptr<UringQueue> queue(new UringQueue(target));
  if (set_up(queue->ring_) < 0) {
    return make_error(Errc::kNotSupported, "the kernel refuses io_uring");
  }
  queue->ring_exists_ = true;
  // The file is not registered: the kernel takes rings apart in the background, and a registered file
  // would stay open, and locked, until then.
  queue->pieces_.resize(kDepth);
  for (std::uint32_t slot = 0; slot < kDepth; ++slot) queue->free_slots_.push_back(slot);
  return queue;
}

UringQueue::~UringQueue() {
  if (ring_exists_) io_uring_queue_exit(&ring_);
}

Result<void> UringQueue::run(std::span<const IoRequest> requests) {
  if (requests.size() == 1 && requests.front().bytes <= kPieceBytesMax) {
    return system_calls_.run(requests);
  }
  requests_ = requests;
  next_request_ = 0;
  next_byte_ = 0;
  failed_request_ = requests.size();
  result_ = {};
  prepare_bounce();
  if (!target_.direct) run_others();
  while (true) {
    const bool all_submitted = submit_some();
    const auto in_flight = static_cast<unsigned>(kDepth - free_slots_.size());
    if (in_flight == 0) break;
    // With more to come, half a ring of completions makes room for it.
    wait(all_submitted ? in_flight : std::min(in_flight, kDepth / 2));
  }
  return result_;
}

bool UringQueue::goes_through_ring(const IoRequest& request) const {
  return target_.direct || request.kind == IoRequest::Kind::kRead;
}

void UringQueue::run_others() {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (goes_through_ring(requests_[i])) continue;
    const Result<void> one = system_calls_.run(requests_.subspan(i, 1));
    if (!one) fail(i, one.error());
  }
}

void UringQueue::prepare_bounce() {
  const auto bounced = [this](const IoRequest& request) { return needs_bounce(target_, request); };
  if (!bounce_.empty() || std::none_of(requests_.begin(), requests_.end(), bounced)) return;
  bounce_ = AlignedBuffer(kBounceSlots * kBounceSlotBytes);
  if (bounce_.empty()) return;
  // Registering spares the kernel a look-up of the pages at each transfer; it may be refused, for
  // example by a limit on locked memory.
  const iovec whole = {bounce_.bytes().data(), bounce_.bytes().size()};
  bounce_registered_ = io_uring_register_buffers(&ring_, &whole, 1) == 0;
  for (std::size_t slot = 0; slot < kBounceSlots; ++slot) free_bounces_.push_back(slot);
}

/// Cuts the next piece off the batch. False at its end, or while all bounce slots are in flight.
bool UringQueue::next_piece(Piece& piece) {
  while (next_request_ < requests_.size()) {
    const IoRequest& request = requests_[next_request_];
    const bool bounced = needs_bounce(target_, request);
    const bool mine = goes_through_ring(request);
    if (mine && bounced && bounce_.empty()) {
      fail(next_request_, io_error(ENOMEM, request.offset));
    } else if (mine && next_byte_ < request.bytes) {
      if (bounced && free_bounces_.empty()) return false;
      const std::size_t bytes =
          std::min(request.bytes - next_byte_, bounced ? kBounceSlotBytes : kPieceBytesMax);
      piece = {next_request_, request.offset + next_byte_, request.data + next_byte_, bytes,
               kNoBounce};
      if (bounced) {
        piece.bounce = free_bounces_.back();
        free_bounces_.pop_back();
        if (request.kind == IoRequest::Kind::kWrite) {
          std::memcpy(bounce_of(piece).data(), piece.data, piece.bytes);
        }
      }
      next_byte_ += bytes;
      return true;
    }
    ++next_request_;
    next_byte_ = 0;
  }
  return false;
}

/// Puts pieces into the ring until it is full or the batch is at its end; says which.
bool UringQueue::submit_some() {
  while (!free_slots_.empty()) {
    const std::uint32_t slot = free_slots_.back();
    if (!next_piece(pieces_[slot])) return next_request_ == requests_.size();
    free_slots_.pop_back();
    submit(slot);
  }
  return next_request_ == requests_.size();
}

void UringQueue::submit(std::uint32_t slot) {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  CW_CHECK(entry != nullptr);  // there are as many slots as entries
  const Piece& piece = pieces_[slot];
  const IoRequest& request = requests_[piece.request];
  const bool bounced = piece.bounce != kNoBounce;
  std::byte* const memory = bounced ? bounce_of(piece).data() : piece.data;
  const auto bytes = static_cast<unsigned>(piece.bytes);
  const bool fixed = bounced && bounce_registered_;
  if (request.kind == IoRequest::Kind::kRead) {
    fixed ? io_uring_prep_read_fixed(entry, target_.fd, memory, bytes, piece.offset, 0)
          : io_uring_prep_read(entry, target_.fd, memory, bytes, piece.offset);
  } else {
    fixed ? io_uring_prep_write_fixed(entry, target_.fd, memory, bytes, piece.offset, 0)
          : io_uring_prep_write(entry, target_.fd, memory, bytes, piece.offset);
    if (request.fua) entry->rw_flags = RWF_DSYNC;
  }
  entry->user_data = slot;
}

/// Hands new entries to the kernel and takes what has completed.
void UringQueue::wait(unsigned at_least) {
  const int submitted = io_uring_submit_and_wait(&ring_, at_least);
  // Nothing may return while the kernel still writes to the caller's memory, so a failure that does
  // not pass must not happen; the kernel documents none for correct use.
  CW_CHECK(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY ||
           submitted == -ENOMEM);
  io_uring_cqe* done[kDepth];
  const unsigned count = io_uring_peek_batch_cqe(&ring_, done, kDepth);
  struct Completion {
    std::uint32_t slot;
    int result;
  } completions[kDepth];
  for (unsigned i = 0; i < count; ++i) {
    completions[i] = {static_cast<std::uint32_t>(done[i]->user_data), done[i]->res};
  }
  // Given back first, as going on with a piece takes an entry again.
  io_uring_cq_advance(&ring_, count);
  for (unsigned i = 0; i < count; ++i) complete(completions[i].slot, completions[i].result);
}

void UringQueue::complete(std::uint32_t slot, int result) {
  Piece& piece = pieces_[slot];
  if (result == -EINTR || result == -EAGAIN) return submit(slot);
  if (result < 0) {
    fail(piece.request, io_error(-result, piece.offset));
  } else if (go_on(piece, static_cast<std::size_t>(result))) {
    return submit(slot);
  }
  if (piece.bounce != kNoBounce) free_bounces_.push_back(piece.bounce);
  free_slots_.push_back(slot);
}

/// Takes note of bytes moved. True if there is a rest to submit.
bool UringQueue::go_on(Piece& piece, std::size_t moved) {
  const IoRequest& request = requests_[piece.request];
  const bool bounced = piece.bounce != kNoBounce;
  // A direct transfer can only go on at a sector edge; what is beyond it is moved again.
  if (moved < piece.bytes) moved = moved / target_.sector_bytes * target_.sector_bytes;
  if (moved == 0) {
    fail(piece.request, short_transfer_error(request, piece.offset));
    return false;
  }
  Bytes bounce = bounced ? bounce_of(piece) : Bytes{};
  if (bounced && request.kind == IoRequest::Kind::kRead) {
    std::memcpy(piece.data, bounce.data(), moved);
  }
  piece.offset += moved;
  piece.data += moved;
  piece.bytes -= moved;
  if (piece.bytes == 0) return false;
  if (bounced && request.kind == IoRequest::Kind::kWrite) {
    std::memcpy(bounce.data(), piece.data, piece.bytes);
  }
  return true;
}

/// Of several failures in a batch the first request's is reported, whichever completes first.
void UringQueue::fail(std::size_t request, const Error& error) {
  if (request >= failed_request_) return;
  failed_request_ = request;
  result_ = make_error(error.code, Place::kByte, requests_[request].offset, error.what);
}

Bytes UringQueue::bounce_of(const Piece& piece) const {
  return bounce_.bytes().subspan(piece.bounce * kBounceSlotBytes, kBounceSlotBytes);
}

}  // namespace cordwood
