#include "log/batch.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace cordwood {

namespace {

/// A leaf with less room than this could not take every item.
constexpr std::uint64_t kMinLeafRoom =
    round_up<std::uint64_t>(kNodeHeaderBytes + item_footprint(max_item_bytes(kMaxNodeBytes)), 8);

}  // namespace

AlignedBuffer LogBuffers::take() {
  if (spare_.empty()) return allocate_aligned(record_bytes_max_);
  AlignedBuffer buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

void LogBuffers::give_back(AlignedBuffer buffer) {
  if (spare_.size() < kKept) spare_.push_back(std::move(buffer));
}

void LogBatchBuilder::add(const Leaf& leaf, ErasedKeys& erased) {
  if (overflowed_) return;
  erased.compress(leaf);
  const std::vector<KeyRange>& ranges = erased.ranges();
  const std::uint32_t count = leaf.count();
  const std::uint32_t changed_bytes = leaf.changed_bytes();
  const bool mostly_changed =
      changed_bytes != 0 && std::uint64_t{changed_bytes} * 100 >=
                                std::uint64_t{leaf.used_bytes()} * policy_.whole_threshold;
  if (policy_.dirty == LogDirty::kWhole || mostly_changed) {
    // All items are put, so what lies between two tombstones may be erased before.
    if (!ranges.empty()) add_tombstone({ranges.front().first, ranges.back().last});
    copy_run(leaf, 0, count);
    ++batch_.whole_leaves;
    return;
  }
  for (const KeyRange& range : ranges) add_tombstone(range);
  if (changed_bytes == 0) return;
  for (std::uint32_t slot = leaf.next_changed(0); slot < count; slot = leaf.next_changed(slot)) {
    const std::uint32_t first = slot++;
    while (slot < count && leaf.changed(slot)) ++slot;
    copy_run(leaf, first, slot);
    ++batch_.runs;
  }
}

LogBatch LogBatchBuilder::finish() {
  end_record();
  return std::move(batch_);
}

// ---- copying ----

void LogBatchBuilder::copy_run(const Leaf& source, std::uint32_t first, std::uint32_t last) {
  while (first < last && !overflowed_) {
    if (leaf_bytes_ == 0) begin_leaf();
    const std::uint32_t copied = copy_what_fits(source, first, last);
    record_items_ += copied;
    batch_.items += copied;
    first += copied;
    if (first < last) end_leaf();
  }
}

/// Copies as many of the slots as the leaf under way has room for; returns how many.
std::uint32_t LogBatchBuilder::copy_what_fits(const Leaf& source, std::uint32_t first,
                                              std::uint32_t last) {
  Leaf target(record_.get() + record_end_, leaf_bytes_);
  if (policy_.copy == LogCopy::kBulk) return source.copy_to_back_of(target, first, last) - first;
  std::uint32_t free = target.contiguous_free_bytes();
  std::uint32_t end = first;
  for (; end < last && source.footprint(end) <= free; ++end) {
    free -= source.footprint(end);
    target.insert(target.count(), source.key(end), source.item(end));
  }
  return end - first;
}

void LogBatchBuilder::add_tombstone(const KeyRange& range) {
  if (record_ && room_left() < sizeof(LogTombstone)) end_record();
  if (!record_) begin_record();
  tombstones_.push_back({range.first.lo, range.first.hi, range.last.lo, range.last.hi});
  ++batch_.tombstones;
}

// ---- the parts of a record ----

/// Bytes that the record under way can still take, beside the leaf under way.
std::uint64_t LogBatchBuilder::room_left() const {
  const std::uint64_t used = record_end_ + leaf_bytes_ +
                             (index_.size() + 1) * sizeof(LogIndexEntry) +
                             tombstones_.size() * sizeof(LogTombstone);
  return buffers_.record_bytes_max() - std::min(used, buffers_.record_bytes_max());
}

void LogBatchBuilder::begin_record() {
  if (batch_.bytes >= bytes_max_) overflowed_ = true;
  record_ = buffers_.take();
  record_end_ = sizeof(LogRecordHeader);
}

void LogBatchBuilder::begin_leaf() {
  if (record_ && room_left() < kMinLeafRoom) end_record();
  if (!record_) begin_record();
  leaf_bytes_ =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(room_left() / 8 * 8, kMaxLogLeafBytes));
  std::byte* const at = record_.get() + record_end_;
  std::memset(at, 0, kNodeHeaderBytes);
  store_le(at + offsetof(NodeHeader, magic), kNodeMagic);
  store_le(at + offsetof(NodeHeader, volume_id), volume_id_);
  store_le(at + offsetof(NodeHeader, node_id), std::uint64_t{index_.size() + 1});
  store_le(at + offsetof(NodeHeader, heap_top), leaf_bytes_);
}

void LogBatchBuilder::end_leaf() {
  if (leaf_bytes_ == 0) return;
  Leaf leaf(record_.get() + record_end_, leaf_bytes_);
  leaf_bytes_ = 0;
  if (leaf.empty()) return;
  LogIndexEntry entry;
  const Key first = leaf.key(0);
  entry.first_key_lo = first.lo;
  entry.first_key_hi = first.hi;
  entry.offset = static_cast<std::uint32_t>(record_end_);
  entry.bytes = leaf.shrink_to_content();
  record_end_ += entry.bytes;
  index_.push_back(entry);
}

void LogBatchBuilder::end_record() {
  if (!record_) return;
  end_leaf();
  LogRecordHeader header;
  header.volume_id = volume_id_;
  header.index_offset = record_end_;
  header.leaf_count = static_cast<std::uint32_t>(index_.size());
  header.item_count = record_items_;
  header.tombstone_count = static_cast<std::uint32_t>(tombstones_.size());
  std::byte* at = record_.get() + record_end_;
  const auto append = [&at](const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(at, from, bytes);
    at += bytes;
  };
  append(index_.data(), index_.size() * sizeof(LogIndexEntry));
  append(tombstones_.data(), tombstones_.size() * sizeof(LogTombstone));
  const auto used = static_cast<std::uint64_t>(at - record_.get());
  header.record_bytes = round_up<std::uint64_t>(used, layout_.block_bytes);
  CW_CHECK(header.record_bytes <= buffers_.record_bytes_max());
  std::memset(at, 0, header.record_bytes - used);
  std::memcpy(record_.get(), &header, sizeof header);
  batch_.bytes += header.record_bytes;
  if (batch_.bytes > bytes_max_) overflowed_ = true;
  batch_.records.push_back({std::move(record_), header.record_bytes});
  record_items_ = 0;
  index_.clear();
  tombstones_.clear();
}

}  // namespace cordwood
