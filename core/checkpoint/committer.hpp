#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/result.hpp"
#include "checkpoint/checkpointer.hpp"
#include "log/log.hpp"
#include "trace/counters.hpp"
#include "trace/histogram.hpp"

namespace cordwood {

/// Makes changes durable for any number of callers at a time: one of them leads, makes a cut, and writes
/// it to the log; those who came before the cut share the result, those who come later wait for the
/// next leader. Nobody waits for a timer: a group grows while the one before it is written.
/// @threads any; not inside the gate.
class Committer {
 public:
  Committer(Checkpointer& checkpointer, Log& log, Counters& counters)
      : checkpointer_(checkpointer), log_(log), counters_(counters) {}

  /// Returns when the changes of this epoch and those before it are durable. No I/O if they are.
  /// @errors kFailed after a failure; I/O: the volume takes no more changes then.
  Result<void> make_durable(Epoch epoch);

  /// Sizes of the groups so far.
  [[nodiscard]] HistogramSummary group_sizes() const { return group_sizes_.summary(); }

 private:
  Result<void> lead();
  Result<void> commit();

  Checkpointer& checkpointer_;
  Log& log_;
  Counters& counters_;
  Histogram group_sizes_;
  std::mutex mutex_;
  std::condition_variable led_;
  bool leading_ = false;
  std::uint64_t waiting_ = 0;  ///< callers since the last cut
};

}  // namespace cordwood
