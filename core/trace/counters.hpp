#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_slot.hpp"

namespace cordwood {

/// What the engine counts. Names for people and JSON are in counter_name().
enum class Counter : std::uint8_t {
  kOperations,       ///< changing operations through the gate
  kDescents,         ///< tree searches from the root
  kDescentRestarts,  ///< ... that met a concurrent change and began again
  kHintHits,         ///< searches answered by a remembered leaf
  kHintMisses,       ///< hints that no longer served
  kInserts,
  kUpdates,
  kErases,
  kCompactions,   ///< leaf heaps rewritten to join their free space
  kSplits,        ///< leaf splits, by bytes
  kAppendSplits,  ///< empty right neighbours opened for an append
  kInnerSplits,
  kPushes,  ///< runs of items moved to a sibling instead of a split
  kPushedBytes,
  kMerges,  ///< leaves joined with a neighbour
  kInnerMerges,
  kRepacks,    ///< thin neighbours joined before a checkpoint
  kNodeLoads,  ///< nodes read from the device
  kNodeEvictions,
  kFrozenCopies,  ///< nodes copied because a checkpoint had not written them yet
  kCheckpoints,
  kNodesWritten,
  kFragmentedNodes,  ///< ... on blocks that are not contiguous
  kDeviceReads,      ///< requests
  kDeviceWrites,
  kDeviceFlushes,
  kBytesRead,
  kNodeBytesWritten,
  kTableBytesWritten,  ///< node table pages and fragment lists
  kSpaceBytesWritten,  ///< bitmaps and group pages
  kSuperblockBytesWritten,
  kDataBytesWritten,
  kGateClosedNs,         ///< time for which a cut or a freeze kept changes out
  kFsyncs,               ///< calls that asked for durability
  kFsyncsIdle,           ///< ... and found it there
  kCommits,              ///< groups of such calls that were served together
  kCommitsByCheckpoint,  ///< ... by a checkpoint, because the log could not
  kCaptures,
  kCaptureNs,
  kLogBatches,
  kLogRecords,
  kLogBytesWritten,
  kLogItems,
  kLogRuns,         ///< of neighbouring changed items that were copied together
  kLogWholeLeaves,  ///< leaves taken whole
  kLogTombstones,
  kLogDeviceCommands,  ///< writes and flushes that commits took
  kCount,
};

inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::kCount);

/// snake_case name, for example "hint_hits".
[[nodiscard]] const char* counter_name(Counter counter);

/// A value of every counter at one moment.
using CounterValues = std::array<std::uint64_t, kCounterCount>;

/// Counters sharded by thread, so that counting costs no shared cache line.
class Counters {
 public:
  void add(Counter counter, std::uint64_t amount = 1) {
    const std::size_t slot = thread_slot();
    auto& cell = shards_[slot].cells[static_cast<std::size_t>(counter)];
    if (slot == kSharedThreadSlot) {
      cell.fetch_add(amount, std::memory_order_relaxed);
    } else {
      cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::uint64_t value(Counter counter) const;
  [[nodiscard]] CounterValues values() const;

 private:
  struct alignas(64) Shard {
    std::array<std::atomic<std::uint64_t>, kCounterCount> cells{};
  };
  std::array<Shard, kThreadSlots> shards_;
};

}  // namespace cordwood
