#include "checkpoint/committer.hpp"

#include <utility>

namespace cordwood {

Result<void> Committer::make_durable(Epoch epoch) {
  counters_.add(Counter::kFsyncs);
  if (auto failed = checkpointer_.failure()) return *failed;
  if (log_.durable_epoch() >= epoch) {
    counters_.add(Counter::kFsyncsIdle);
    return {};
  }
  if (checkpointer_.read_only()) return {};
  std::unique_lock lock(mutex_);
  ++waiting_;
  while (log_.durable_epoch() < epoch) {
    if (auto failed = checkpointer_.failure()) return *failed;
    if (leading_) {
      led_.wait(lock);
      continue;
    }
    leading_ = true;
    lock.unlock();
    const Result<void> led = lead();
    lock.lock();
    leading_ = false;
    led_.notify_all();
    if (!led) return led;
  }
  return {};
}

Result<void> Committer::lead() {
  {
    const std::lock_guard lock(log_.mutex());
    if (checkpointer_.can_append()) {
      Result<void> committed = commit();
      if (!committed || log_.chain_is_whole()) return committed;
    }
  }
  counters_.add(Counter::kCommitsByCheckpoint);
  return checkpointer_.mend_log();
}

/// One cut, one write, one flush. Leaves the chain broken if the log has no room. @pre Log::mutex() held
Result<void> Committer::commit() {
  const Log::Cut cut = TRY(checkpointer_.cut());
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ != 0) group_sizes_.add(std::exchange(waiting_, 0));
  }
  counters_.add(Counter::kCommits);
  const auto outcome =
      log_.append(cut, checkpointer_.durable_generation(), Log::Durability::kNow);
  if (outcome) return {};
  // After a failed write nobody knows what the device holds: no retry that then "succeeds".
  checkpointer_.fail(outcome.error());
  return outcome.error();
}

}  // namespace cordwood
