#include "trace/counters.hpp"

namespace cordwood {

const char* counter_name(Counter counter) {
  switch (counter) {
    case Counter::kOperations: return "operations";
    case Counter::kDescents: return "descents";
    case Counter::kDescentRestarts: return "descent_restarts";
    case Counter::kHintHits: return "hint_hits";
    case Counter::kHintMisses: return "hint_misses";
    case Counter::kInserts: return "inserts";
    case Counter::kUpdates: return "updates";
    case Counter::kErases: return "erases";
    case Counter::kCompactions: return "compactions";
    case Counter::kSplits: return "splits";
    case Counter::kAppendSplits: return "append_splits";
    case Counter::kInnerSplits: return "inner_splits";
    case Counter::kPushes: return "pushes";
    case Counter::kPushedBytes: return "pushed_bytes";
    case Counter::kMerges: return "merges";
    case Counter::kInnerMerges: return "inner_merges";
    case Counter::kRepacks: return "repacks";
    case Counter::kNodeLoads: return "node_loads";
    case Counter::kNodeEvictions: return "node_evictions";
    case Counter::kFrozenCopies: return "frozen_copies";
    case Counter::kCheckpoints: return "checkpoints";
    case Counter::kNodesWritten: return "nodes_written";
    case Counter::kFragmentedNodes: return "fragmented_nodes";
    case Counter::kDeviceReads: return "device_reads";
    case Counter::kDeviceWrites: return "device_writes";
    case Counter::kDeviceFlushes: return "device_flushes";
    case Counter::kBytesRead: return "bytes_read";
    case Counter::kNodeBytesWritten: return "node_bytes_written";
    case Counter::kTableBytesWritten: return "table_bytes_written";
    case Counter::kSpaceBytesWritten: return "space_bytes_written";
    case Counter::kSuperblockBytesWritten: return "superblock_bytes_written";
    case Counter::kDataBytesWritten: return "data_bytes_written";
    case Counter::kGateClosedNs: return "gate_closed_ns";
    case Counter::kFsyncs: return "fsyncs";
    case Counter::kFsyncsIdle: return "fsyncs_idle";
    case Counter::kCommits: return "commits";
    case Counter::kCommitsByCheckpoint: return "commits_by_checkpoint";
    case Counter::kCaptures: return "captures";
    case Counter::kCaptureNs: return "capture_ns";
    case Counter::kLogBatches: return "log_batches";
    case Counter::kLogRecords: return "log_records";
    case Counter::kLogBytesWritten: return "log_bytes_written";
    case Counter::kLogItems: return "log_items";
    case Counter::kLogRuns: return "log_runs";
    case Counter::kLogWholeLeaves: return "log_whole_leaves";
    case Counter::kLogTombstones: return "log_tombstones";
    case Counter::kLogDeviceCommands: return "log_device_commands";
    case Counter::kCount: break;
  }
  return "unknown";
}

std::uint64_t Counters::value(Counter counter) const {
  std::uint64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.cells[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }
  return sum;
}

CounterValues Counters::values() const {
  CounterValues values{};
  for (std::size_t i = 0; i < kCounterCount; ++i) values[i] = value(static_cast<Counter>(i));
  return values;
}

}  // namespace cordwood
