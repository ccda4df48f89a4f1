#include "log/reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "format/items.hpp"
#include "log/ring.hpp"
#include "node/inner.hpp"

namespace cordwood {

// ---- a record ----

Result<LogRecord> LogRecord::parse(AlignedBuffer bytes, const Layout& layout) {
  LogRecord record;
  record.bytes_ = std::move(bytes);
  std::memcpy(&record.header_, record.bytes_.get(), sizeof record.header_);
  TRY(record.verify(layout));
  return record;
}

Result<void> LogRecord::verify(const Layout& layout) {
  const auto bad = [&](const char* what) {
    return corrupt(Place::kLogRecord, header_.sequence, what);
  };
  if ((header_.flags & ~kLogBatchContinues) != 0) return bad("unknown flags");
  if (header_.durable_sequence > header_.sequence) return bad("it knows the future to be durable");
  // A replay hands this to the superblock and gives out inode numbers from it.
  if (header_.next_inode <= kRootInode.value || header_.next_inode > kInodeLimit) {
    return bad("its inode numbers are impossible");
  }
  const std::uint64_t bytes = header_.record_bytes;
  const std::uint64_t index_bytes = std::uint64_t{header_.leaf_count} * sizeof(LogIndexEntry);
  const std::uint64_t tombstone_bytes =
      std::uint64_t{header_.tombstone_count} * sizeof(LogTombstone);
  if (header_.index_offset < sizeof header_ || header_.index_offset > bytes ||
      header_.index_offset % 8 != 0 ||
      index_bytes + tombstone_bytes > bytes - header_.index_offset) {
    return bad("its index lies outside");
  }
  index_.resize(header_.leaf_count);
  tombstones_.resize(header_.tombstone_count);
  const std::byte* const at = bytes_.get() + header_.index_offset;
  if (index_bytes != 0) std::memcpy(index_.data(), at, index_bytes);
  if (tombstone_bytes != 0) std::memcpy(tombstones_.data(), at + index_bytes, tombstone_bytes);
  TRY(verify_leaves(layout));
  return verify_tombstones();
}

Result<void> LogRecord::verify_leaves(const Layout& layout) {
  const auto bad = [&](const char* what) {
    return corrupt(Place::kLogRecord, header_.sequence, what);
  };
  std::uint64_t end = sizeof header_;
  std::uint64_t items = 0;
  Key low = kMinKey;
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const LogIndexEntry& entry = index_[i];
    if (entry.offset != end || entry.bytes % 8 != 0 || entry.bytes <= kNodeHeaderBytes ||
        entry.bytes > kMaxLogLeafBytes || entry.bytes > header_.index_offset - end) {
      return bad("its leaves are not one behind the other");
    }
    end += entry.bytes;
    TRY(verify_node_header(bytes_.get() + entry.offset, header_.volume_id, NodeId{i + 1}, 0));
    const Key high = i + 1 < index_.size() ? index_[i + 1].first_key() : kMaxKey;
    TRY(leaf(i).verify(low, high, true, max_item_bytes(layout.node_bytes)));
    if (leaf(i).empty() || leaf(i).key(0) != entry.first_key()) {
      return bad("its index does not fit its leaves");
    }
    low = leaf(i).key(leaf(i).count() - 1).next();
    items += leaf(i).count();
  }
  if (end != header_.index_offset) return bad("there are bytes between its leaves and its index");
  if (items != header_.item_count) return bad("its items are miscounted");
  return {};
}

Result<void> LogRecord::verify_tombstones() {
  for (std::size_t i = 0; i < tombstones_.size(); ++i) {
    const KeyRange range = tombstones_[i].range();
    const bool ordered = range.first <= range.last && range.last < kMaxKey &&
                         (i == 0 || tombstones_[i - 1].range().last < range.first);
    if (!ordered) return corrupt(Place::kLogRecord, header_.sequence, "tombstones out of order");
  }
  return {};
}

void LogRecord::for_each_item(FunctionRef<bool(Key, ConstBytes)> visit) const {
  for (std::size_t i = 0; i < index_.size(); ++i) {
    const Leaf items = leaf(i);
    for (std::uint32_t slot = 0; slot < items.count(); ++slot) {
      if (!visit(items.key(slot), items.item(slot))) return;
    }
  }
}

// ---- the ring ----

LogReader::LogReader(BlockDevice& device, const Layout& layout, const Superblock& superblock)
    : device_(device),
      layout_(layout),
      volume_id_(superblock.volume_id()),
      volume_seed_(superblock.volume_seed()),
      start_(superblock.log_block),
      position_{superblock.log_sequence, superblock.log_block} {}

Result<void> LogReader::read(LogPosition position, Bytes into) {
  std::vector<IoRequest> requests;
  LogRing(layout_, position).add_requests(IoRequest::Kind::kRead, position, into, false, requests);
  const std::uint32_t sector = device_.geometry().sector_bytes;
  if (sector <= layout_.block_bytes) return device_.submit(requests);
  // An image from a device with smaller sectors.
  for (const IoRequest& request : requests) {
    const std::uint64_t start = request.offset / sector * sector;
    const std::uint64_t end = round_up<std::uint64_t>(request.offset + request.bytes, sector);
    const AlignedBuffer whole = allocate_aligned(end - start);
    TRY(device_.read(start, Bytes(whole.get(), end - start)));
    std::memcpy(request.data, whole.get() + (request.offset - start), request.bytes);
  }
  return {};
}

Result<LogRecordHeader> LogReader::read_header(LogPosition position) {
  const AlignedBuffer block = allocate_aligned(layout_.block_bytes);
  TRY(read(position, {block.get(), layout_.block_bytes}));
  LogRecordHeader header;
  std::memcpy(&header, block.get(), sizeof header);
  return header;
}

/// The whole record, or null when its checksum is wrong.
Result<AlignedBuffer> LogReader::read_record(LogPosition position, const LogRecordHeader& header) {
  AlignedBuffer bytes = allocate_aligned(header.record_bytes);
  const Bytes record(bytes.get(), header.record_bytes);
  TRY(read(position, record));
  const std::uint64_t place = LogRing(layout_, position).byte_of(position);
  if (load_le<std::uint64_t>(record.data()) != log_record_checksum(record, volume_seed_, place)) {
    bytes.reset();
  }
  return bytes;
}

Result<std::optional<LogRecord>> LogReader::next() {
  if (blocks_left() == 0) return std::optional<LogRecord>{};
  const LogRecordHeader header = TRY(read_header(position_));
  if (!is_log_record(header, position_, volume_id_, layout_) ||
      header.record_bytes / layout_.block_bytes > blocks_left()) {
    return std::optional<LogRecord>{};
  }
  AlignedBuffer bytes = TRY(read_record(position_, header));
  if (!bytes) return std::optional<LogRecord>{};
  LogRecord record = TRY(LogRecord::parse(std::move(bytes), layout_));
  position_.block += header.record_bytes / layout_.block_bytes;
  ++position_.sequence;
  return std::optional<LogRecord>(std::move(record));
}

Result<bool> LogReader::end_was_durable() {
  constexpr std::uint64_t kPieceBytes = 1_MiB;
  const std::uint64_t piece_blocks = kPieceBytes / layout_.block_bytes;
  const AlignedBuffer piece = allocate_aligned(kPieceBytes);
  for (std::uint64_t done = 0; done < blocks_left();) {
    const std::uint64_t count = std::min(piece_blocks, blocks_left() - done);
    TRY(read({0, position_.block + done}, Bytes(piece.get(), count * layout_.block_bytes)));
    for (std::uint64_t i = 0; i < count; ++i) {
      LogRecordHeader header;
      std::memcpy(&header, piece.get() + i * layout_.block_bytes, sizeof header);
      if (header.magic != kLogMagic || header.durable_sequence <= position_.sequence ||
          header.durable_sequence > header.sequence) {
        continue;
      }
      const LogPosition place{header.sequence, position_.block + done + i};
      if (is_log_record(header, place, volume_id_, layout_) &&
          TRY(read_record(place, header)) != nullptr) {
        return true;
      }
    }
    done += count;
  }
  return false;
}

}  // namespace cordwood
