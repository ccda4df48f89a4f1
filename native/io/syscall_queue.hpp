#pragma once

#include "io/aligned_buffer.hpp"
#include "io/io_queue.hpp"

namespace cordwood {

/// Requests one after another through preadv2 and pwritev2, for kernels that refuse io_uring.
class SyscallQueue final : public IoQueue {
 public:
  explicit SyscallQueue(const IoTarget& target) : target_(target) {}

  [[nodiscard]] Result<void> run(std::span<const IoRequest> requests) override;

 private:
  [[nodiscard]] Result<void> run_bounced(const IoRequest& request);
  [[nodiscard]] Result<void> transfer(const IoRequest& request);

  IoTarget target_;
  AlignedBuffer bounce_;
};

}  // namespace cordwood
