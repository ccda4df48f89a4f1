#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/log.hpp"
#include "format/superblock.hpp"
#include "frame/placement.hpp"
#include "node/leaf.hpp"

namespace cordwood {

/// A record of the log, read and verified: every length and offset in bounds, its leaves sound and in
/// key order, its tombstones in order. Views are good while the record lives.
class LogRecord {
 public:
  /// Takes over the bytes of a record whose checksum is right.
  /// @errors corrupt with Place::kLogRecord: what its inside says contradicts itself.
  static Result<LogRecord> parse(AlignedBuffer bytes, const Layout& layout);

  [[nodiscard]] const LogRecordHeader& header() const { return header_; }
  /// Its first byte; header().record_bytes of them, as they lie in the ring.
  [[nodiscard]] const std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] bool continues() const { return (header_.flags & kLogBatchContinues) != 0; }
  [[nodiscard]] const std::vector<LogIndexEntry>& index() const { return index_; }
  [[nodiscard]] const std::vector<LogTombstone>& tombstones() const { return tombstones_; }
  [[nodiscard]] Leaf leaf(std::size_t number) const {
    return {bytes_.get() + index_[number].offset, index_[number].bytes};
  }
  /// Shows all items in key order until the visitor returns false.
  void for_each_item(FunctionRef<bool(Key, ConstBytes)> visit) const;

 private:
  Result<void> verify(const Layout& layout);
  Result<void> verify_leaves(const Layout& layout);
  Result<void> verify_tombstones();

  AlignedBuffer bytes_;
  LogRecordHeader header_;
  std::vector<LogIndexEntry> index_;
  std::vector<LogTombstone> tombstones_;
};

/// Reads records from the ring, one after the other, as the superblock leads to them.
class LogReader {
 public:
  LogReader(BlockDevice& device, const Layout& layout, const Superblock& superblock);

  /// The next record, or nothing where none of this sequence is whole: the log's end, or a torn tail.
  /// @errors corrupt: its checksum is right, but it contradicts itself; I/O.
  Result<std::optional<LogRecord>> next();
  /// Where the next record is, or would be; the block is not wrapped.
  [[nodiscard]] LogPosition position() const { return position_; }

  /// Goes on behind a record that is known already.
  void skip_to(LogPosition position) { position_ = position; }

  /// Looks through the rest of the ring, behind the end, for a record that was written when the one
  /// missing here was known to be durable.
  Result<bool> end_was_durable();

 private:
  [[nodiscard]] std::uint64_t blocks_left() const {
    return layout_.log.count - (position_.block - start_);
  }
  Result<LogRecordHeader> read_header(LogPosition position);
  Result<AlignedBuffer> read_record(LogPosition position, const LogRecordHeader& header);
  Result<void> read(LogPosition position, Bytes into);

  BlockDevice& device_;
  const Layout& layout_;
  std::uint64_t volume_id_;
  std::uint64_t volume_seed_;
  std::uint64_t start_;  ///< block of the first record
  LogPosition position_;
};

}  // namespace cordwood
