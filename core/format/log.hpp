#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "format/key.hpp"
#include "format/layout.hpp"
#include "format/node.hpp"

namespace cordwood {

inline constexpr std::uint32_t kLogMagic = 0x474f4c43;  // "CLOG"

/// The batch goes on in the next record: none of it counts before its last record.
inline constexpr std::uint32_t kLogBatchContinues = 1;

/// First 128 bytes of a log record. A record starts on a fresh block of the ring, may wrap around its
/// end, and is never rewritten:
///
///     | header | leaves, each with its slots and records | index | tombstones | zeros to a block |
///
/// The leaves have the format of tree leaves, each as long as its content; the index is their root.
/// What a batch says: first erase all that its tombstones cover, then put every item of its leaves.
/// Applied to the state after the batch before it, that gives the state of the volume at the batch's
/// cut: never a part of an operation.
struct LogRecordHeader {
  std::uint64_t checksum =
      0;  ///< of all bytes behind it, seeded with the record's place on the device
  std::uint32_t magic = kLogMagic;
  std::uint32_t flags = 0;
  std::uint64_t volume_id = 0;  ///< a record of another volume
  std::uint64_t sequence = 0;   ///< one more than the record before: a record of an earlier lap
  std::uint64_t base_generation = 0;  ///< the last durable checkpoint when it was written
  /// Every record with a smaller sequence was durable when this one was written: so what is damaged
  /// among those is corruption, and what is damaged behind them may be a torn tail.
  std::uint64_t durable_sequence = 0;
  std::uint64_t record_bytes = 0;  ///< whole blocks
  std::uint64_t index_offset = 0;  ///< from the record's start
  std::uint32_t leaf_count = 0;
  std::uint32_t item_count = 0;
  std::uint32_t tombstone_count = 0;
  std::uint32_t reserved0 = 0;
  std::uint64_t next_inode = 0;  ///< as in the superblock, at the batch's cut
  std::uint64_t inode_count = 0;
  std::int64_t written_seconds = 0;
  std::uint8_t reserved1[24] = {};
};
static_assert(sizeof(LogRecordHeader) == 128);
static_assert(offsetof(LogRecordHeader, magic) == 8);
static_assert(offsetof(LogRecordHeader, sequence) == 24);
static_assert(offsetof(LogRecordHeader, record_bytes) == 48);
static_assert(offsetof(LogRecordHeader, leaf_count) == 64);
static_assert(offsetof(LogRecordHeader, next_inode) == 80);
static_assert(std::has_unique_object_representations_v<LogRecordHeader>);

/// Where a leaf of the record's tree lies, in key order. Bytes: 24.
struct LogIndexEntry {
  std::uint64_t first_key_lo = 0;
  std::uint64_t first_key_hi = 0;
  std::uint32_t offset = 0;  ///< from the record's start, a multiple of 8
  std::uint32_t bytes = 0;   ///< a multiple of 8, at most 64 KiB

  [[nodiscard]] Key first_key() const { return {first_key_hi, first_key_lo}; }
};
static_assert(sizeof(LogIndexEntry) == 24);
static_assert(std::has_unique_object_representations_v<LogIndexEntry>);

/// Keys that the batch erases: all in [first, last]. Bytes: 32.
struct LogTombstone {
  std::uint64_t first_lo = 0;
  std::uint64_t first_hi = 0;
  std::uint64_t last_lo = 0;
  std::uint64_t last_hi = 0;

  [[nodiscard]] KeyRange range() const { return {{first_hi, first_lo}, {last_hi, last_lo}}; }
};
static_assert(sizeof(LogTombstone) == 32);
static_assert(std::has_unique_object_representations_v<LogTombstone>);

/// Leaves of log records are at most this long.
inline constexpr std::uint32_t kMaxLogLeafBytes = kMaxNodeBytes;
/// Records are at most this long; larger batches take several.
inline constexpr std::uint64_t kMaxLogRecordBytes = 4_MiB;

/// Where a record is, or will be: its sequence, and its first block counted from the ring's start.
struct LogPosition {
  std::uint64_t sequence = 0;
  std::uint64_t block = 0;

  friend constexpr bool operator==(const LogPosition&, const LogPosition&) = default;
};

/// Checks the header of what was read at `position`, without its checksum: that it claims to be this
/// volume's record of this sequence, of a possible length.
[[nodiscard]] bool is_log_record(const LogRecordHeader& header, LogPosition position,
                                 std::uint64_t volume_id, const Layout& layout);
/// Seed of the checksum of a record that begins at a byte of the device.
[[nodiscard]] std::uint64_t log_record_checksum(ConstBytes record, std::uint64_t volume_seed,
                                                std::uint64_t place);

}  // namespace cordwood
