#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/aligned_buffer.hpp"
#include "io/io_queue.hpp"
#include "io/syscall_queue.hpp"

namespace cordwood {

/// Requests in parallel through an io_uring of its own.
///
/// A batch is cut into pieces; as many as the ring holds are submitted and awaited in one system
/// call. Memory that the device does not take as it is goes through a registered bounce buffer.
///
/// What a ring makes slower does not go through it: a single piece, which has nothing to run beside,
/// and writes into the host's page cache, which the ring would leave to a worker thread.
class UringQueue final : public IoQueue {
 public:
  /// Sets up the ring.
  /// @errors kNotSupported if the kernel has no io_uring or forbids it.
  [[nodiscard]] static Result<std::unique_ptr<UringQueue>> create(const IoTarget& target);
  ~UringQueue() override;
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  [[nodiscard]] Result<void> run(std::span<const IoRequest> requests) override;

 private:
  /// A part of a request that is one transfer.
  struct Piece {
    std::size_t request = 0;  ///< index in the batch
    std::uint64_t offset = 0;
    std::byte* data = nullptr;  ///< the caller's memory
    std::size_t bytes = 0;
    std::size_t bounce = 0;  ///< index of its bounce slot, or kNoBounce
  };

  explicit UringQueue(const IoTarget& target) : target_(target), system_calls_(target) {}

  [[nodiscard]] bool goes_through_ring(const IoRequest& request) const;
  void run_others();
  void prepare_bounce();
  bool next_piece(Piece& piece);
  bool submit_some();
  void submit(std::uint32_t slot);
  void wait(unsigned at_least);
  void complete(std::uint32_t slot, int result);
  bool go_on(Piece& piece, std::size_t moved);
  void fail(std::size_t request, const Error& error);
  [[nodiscard]] Bytes bounce_of(const Piece& piece) const;

  const IoTarget target_;
  SyscallQueue system_calls_;
  io_uring ring_{};
  bool ring_exists_ = false;
  bool bounce_registered_ = false;
  AlignedBuffer bounce_;

  std::vector<Piece> pieces_;              ///< by slot; what is in flight
  std::vector<std::uint32_t> free_slots_;  ///< slots of pieces_ not in flight
  std::vector<std::size_t> free_bounces_;  ///< parts of bounce_ not in flight

  // The batch under way.
  std::span<const IoRequest> requests_;
  std::size_t next_request_ = 0;
  std::size_t next_byte_ = 0;
  std::size_t failed_request_ = 0;
  Result<void> result_;
};

}  // namespace cordwood
