#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/thread_slot.hpp"

namespace cordwood {

/// Every changing operation passes the gate shared; a freeze closes it for microseconds, so that no cut
/// ever sees half an operation. Entering costs one atomic add on a cache line of the thread's own.
/// @threads any; close() by one thread at a time. Not recursive: nobody enters twice.
class Gate {
 public:
  void enter();
  void leave();
  /// Keeps newcomers out and waits until everybody inside has left.
  void close();
  void open();

 private:
  struct alignas(64) Shard {
    std::atomic<std::uint32_t> inside{0};
  };
  std::array<Shard, kThreadSlots> shards_;
  std::atomic<bool> closed_{false};
};

}  // namespace cordwood
