#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "device/block_device.hpp"
#include "device/flush_tracker.hpp"
#include "format/layout.hpp"
#include "format/superblock.hpp"
#include "frame/node_cache.hpp"
#include "log/batch.hpp"
#include "log/policy.hpp"
#include "log/ring.hpp"
#include "trace/counters.hpp"
#include "trace/trace.hpp"

namespace cordwood {

/// The log of a volume: turns what a cut found changed into records, and writes them to the ring.
///
/// The records are one chain across checkpoints. Replayed from the position that a superblock names,
/// they lead from its state to that of the last record. The chain breaks when an epoch ends without being
/// captured: then nothing can be appended before a checkpoint is durable that includes it.
///
/// Everything but durable_epoch() and wants_checkpoint() needs mutex(): it is held through a cut, its
/// capture and its writing, and by a freeze, so that epochs reach the ring in order.
class Log {
 public:
  struct Parts {
    BlockDevice& device;
    const Layout& layout;
    NodeCache& cache;
    FlushTracker& flushes;
    Clock& clock;
    Counters& counters;
  };
  /// @param volume  any superblock of the volume.
  /// @param start   where the next record goes; the ring is empty.
  Log(const Parts& parts, const Superblock& volume, LogPosition start, const LogPolicy& policy,
      Tracer tracer);

  [[nodiscard]] std::mutex& mutex() { return mutex_; }

  /// What a cut found. Made with the gate closed.
  struct Cut {
    Epoch epoch;  ///< that it ended
    std::vector<NodeCache::ChangedLeaf> leaves;
    std::uint64_t next_inode = 0;
    std::uint64_t inode_count = 0;
  };
  enum class Durability : std::uint8_t {
    kNow,    ///< durable when append() returns
    kLater,  ///< with the next flush
  };
  enum class Outcome : std::uint8_t { kAppended, kTooLarge };
  /// Captures a cut's changes and writes them. Nothing is written for a cut without changes.
  /// kTooLarge: the ring, or `bytes_max`, has no room for them; the chain is broken.
  /// @param base_generation  of the last durable checkpoint.
  /// @errors I/O: nobody knows what the ring holds.
  Result<Outcome> append(const Cut& cut, Generation base_generation, Durability durability,
                         std::uint64_t bytes_max = UINT64_MAX);

  [[nodiscard]] bool chain_is_whole() const { return missing_epoch_.value == 0; }
  /// An epoch ended that the log lacks.
  void break_chain(Epoch epoch) { missing_epoch_ = epoch; }
  /// Where the next record will be, as a superblock stores it.
  [[nodiscard]] LogPosition position() const { return ring_.wrapped(ring_.head()); }
  /// The same, to be given to on_checkpoint().
  [[nodiscard]] LogPosition head() const { return ring_.head(); }
  /// Whether something was appended since the freeze of the last checkpoint.
  [[nodiscard]] bool in_use() const { return ring_.used_bytes() != 0; }
  /// A checkpoint is durable that includes all changes up to `epoch` and all records before `tail`.
  void on_checkpoint(Epoch epoch, LogPosition tail);

  /// Changes of this epoch and of those before it are durable. @threads any
  [[nodiscard]] Epoch durable_epoch() const {
    return {durable_epoch_.load(std::memory_order_acquire)};
  }
  /// Whether the ring is so full that a checkpoint should empty it. @threads any
  [[nodiscard]] bool wants_checkpoint() const {
    return used_bytes_.load(std::memory_order_relaxed) > capacity_bytes() / 2;
  }
  [[nodiscard]] std::uint64_t used_bytes() const {
    return used_bytes_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t capacity_bytes() const {
    return layout_.log.count * layout_.block_bytes;
  }

 private:
  LogBatch capture(const Cut& cut, std::uint64_t bytes_max);
  Result<void> write(LogBatch& batch, const Cut& cut, Generation base_generation, bool fua);
  Result<void> flush();
  void count(const LogBatch& batch);
  void raise_durable(Epoch epoch);

  BlockDevice& device_;
  const Layout& layout_;
  NodeCache& cache_;
  FlushTracker& flushes_;
  Clock& clock_;
  Counters& counters_;
  Tracer trace_;
  LogPolicy policy_;
  std::uint64_t volume_id_;
  std::uint64_t volume_seed_;

  std::mutex mutex_;
  LogRing ring_;
  LogBuffers buffers_;
  Epoch missing_epoch_;  ///< the last one that the log lacks; 0: none
  bool unflushed_records_ = false;
  std::uint64_t durable_sequence_;  ///< records before it are durable
  std::atomic<std::uint64_t> durable_epoch_{0};
  std::atomic<std::uint64_t> used_bytes_{0};
};

}  // namespace cordwood
