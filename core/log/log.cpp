#include "log/log.hpp"

#include <algorithm>
#include <cstring>

namespace cordwood {

namespace {

/// Several records must fit, or a batch could not be cut at all.
std::uint64_t record_bytes_max(const Layout& layout) {
  const std::uint64_t ring_bytes = layout.log.count * layout.block_bytes;
  return std::min<std::uint64_t>(kMaxLogRecordBytes, ring_bytes / 4 / kPageBytes * kPageBytes);
}

}  // namespace

Log::Log(const Parts& parts, const Superblock& volume, LogPosition start, const LogPolicy& policy,
         Tracer tracer)
    : device_(parts.device),
      layout_(parts.layout),
      cache_(parts.cache),
      flushes_(parts.flushes),
      clock_(parts.clock),
      counters_(parts.counters),
      trace_(tracer),
      policy_(policy),
      volume_id_(volume.volume_id()),
      volume_seed_(volume.volume_seed()),
      ring_(layout_, start),
      buffers_(record_bytes_max(layout_)),
      durable_sequence_(start.sequence) {}

Result<Log::Outcome> Log::append(const Cut& cut, Generation base_generation, Durability durability,
                                 std::uint64_t bytes_max) {
  bytes_max = std::min(bytes_max, ring_.free_bytes());
  LogBatch batch = capture(cut, bytes_max);
  if (batch.bytes > bytes_max) {
    break_chain(cut.epoch);
    return Outcome::kTooLarge;
  }
  if (batch.empty() && (!unflushed_records_ || durability == Durability::kLater)) {
    if (!unflushed_records_) raise_durable(cut.epoch);
    return Outcome::kAppended;
  }
  const DeviceGeometry geometry = device_.geometry();
  bool fua = false;
  bool flush_after = false;
  if (durability == Durability::kNow) {
    // Every write whose content the batch names was noted before the cut.
    const bool others_wait = flushes_.take();
    fua = geometry.volatile_cache && geometry.fua && !others_wait;
    flush_after = geometry.volatile_cache && !fua;
  }
  if (!batch.empty()) TRY(write(batch, cut, base_generation, fua));
  if (flush_after) TRY(flush());
  if (durability == Durability::kLater) {
    flushes_.note_write();
    unflushed_records_ = true;
  } else {
    unflushed_records_ = false;
    durable_sequence_ = ring_.head().sequence;
    trace_(EventKind::kLogDurable, durable_sequence_);
    raise_durable(cut.epoch);
  }
  return Outcome::kAppended;
}

LogBatch Log::capture(const Cut& cut, std::uint64_t bytes_max) {
  const std::uint64_t begin = clock_.monotonic_ns();
  std::vector<NodeCache::ChangedLeaf> leaves = cut.leaves;
  std::sort(leaves.begin(), leaves.end(),
            [](const auto& a, const auto& b) { return a.low < b.low; });
  LogBatchBuilder builder(buffers_, layout_, volume_id_, bytes_max, policy_);
  for (const NodeCache::ChangedLeaf& leaf : leaves) {
    if (builder.overflowed()) break;
    cache_.capture(leaf,
                   [&](const Leaf& items, ErasedKeys& erased) { builder.add(items, erased); });
  }
  cache_.end_capture();
  LogBatch batch = builder.finish();
  counters_.add(Counter::kCaptures);
  counters_.add(Counter::kCaptureNs, clock_.monotonic_ns() - begin);
  return batch;
}

Result<void> Log::write(LogBatch& batch, const Cut& cut, Generation base_generation, bool fua) {
  const std::int64_t now = clock_.now().seconds;
  std::vector<IoRequest> requests;
  for (LogRecordImage& record : batch.records) {
    const LogPosition position = ring_.head();
    const bool last = &record == &batch.records.back();
    LogRecordHeader header;
    std::memcpy(&header, record.bytes.get(), sizeof header);
    header.flags = last ? 0 : kLogBatchContinues;
    header.sequence = position.sequence;
    header.base_generation = base_generation.value;
    header.durable_sequence = durable_sequence_;
    header.next_inode = cut.next_inode;
    header.inode_count = cut.inode_count;
    header.written_seconds = now;
    std::memcpy(record.bytes.get(), &header, sizeof header);
    const Bytes bytes(record.bytes.get(), record.record_bytes);
    store_le(bytes.data(), log_record_checksum(bytes, volume_seed_, ring_.byte_of(position)));
    ring_.add_requests(IoRequest::Kind::kWrite, position, bytes, fua, requests);
    trace_(EventKind::kLogWrite, position.sequence, ring_.wrapped(position).block, bytes.size());
    ring_.advance(record.record_bytes);
  }
  count(batch);
  counters_.add(Counter::kDeviceWrites, requests.size());
  counters_.add(Counter::kLogDeviceCommands, requests.size());
  used_bytes_.store(ring_.used_bytes(), std::memory_order_relaxed);
  TRY(device_.submit(requests));
  for (LogRecordImage& record : batch.records) buffers_.give_back(std::move(record.bytes));
  return {};
}

Result<void> Log::flush() {
  counters_.add(Counter::kDeviceFlushes);
  counters_.add(Counter::kLogDeviceCommands);
  return device_.flush();
}

void Log::count(const LogBatch& batch) {
  counters_.add(Counter::kLogBatches);
  counters_.add(Counter::kLogRecords, batch.records.size());
  counters_.add(Counter::kLogBytesWritten, batch.bytes);
  counters_.add(Counter::kLogItems, batch.items);
  counters_.add(Counter::kLogRuns, batch.runs);
  counters_.add(Counter::kLogWholeLeaves, batch.whole_leaves);
  counters_.add(Counter::kLogTombstones, batch.tombstones);
}

void Log::on_checkpoint(Epoch epoch, LogPosition tail) {
  ring_.release(tail);
  used_bytes_.store(ring_.used_bytes(), std::memory_order_relaxed);
  // One that broke the chain while this checkpoint was written is not in it.
  if (missing_epoch_ <= epoch) missing_epoch_ = {};
  unflushed_records_ = false;
  durable_sequence_ = std::max(durable_sequence_, tail.sequence);
  raise_durable(epoch);
}

void Log::raise_durable(Epoch epoch) {
  if (durable_epoch_.load(std::memory_order_relaxed) < epoch.value) {
    durable_epoch_.store(epoch.value, std::memory_order_release);
  }
}

}  // namespace cordwood
