#pragma once

#include <atomic>

namespace cordwood {

/// Knows whether completed writes wait for a flush. Whoever writes without FUA notes it when the write
/// has completed and before anything names what was written; whoever wants durability takes the note,
/// and flushes if there was one.
/// @threads any.
class FlushTracker {
 public:
  void note_write() {
    if (!waiting_.load(std::memory_order_relaxed)) waiting_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool take() { return waiting_.exchange(false, std::memory_order_acq_rel); }

 private:
  std::atomic<bool> waiting_{false};
};

}  // namespace cordwood
