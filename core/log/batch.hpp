#pragma once

#include <cstdint>
#include <vector>

#include "format/log.hpp"
#include "frame/placement.hpp"
#include "log/policy.hpp"
#include "node/erased_keys.hpp"
#include "node/leaf.hpp"

namespace cordwood {

/// Memory for records, kept for the next batch: fresh pages cost more than what is written to them.
/// @threads one at a time.
class LogBuffers {
 public:
  explicit LogBuffers(std::uint64_t record_bytes_max) : record_bytes_max_(record_bytes_max) {}
  [[nodiscard]] std::uint64_t record_bytes_max() const { return record_bytes_max_; }
  [[nodiscard]] AlignedBuffer take();
  void give_back(AlignedBuffer buffer);

 private:
  static constexpr std::size_t kKept = 2;
  std::uint64_t record_bytes_max_;
  std::vector<AlignedBuffer> spare_;
};

/// A record that lacks its place: all but sequence, flags and checksum.
struct LogRecordImage {
  AlignedBuffer bytes;
  std::uint64_t record_bytes = 0;  ///< whole blocks
};

/// What a capture gives: the changes of an epoch as one or more records.
struct LogBatch {
  std::vector<LogRecordImage> records;
  std::uint64_t bytes = 0;  ///< of all records
  std::uint64_t items = 0;
  std::uint64_t runs = 0;  ///< of slots that were taken together
  std::uint64_t whole_leaves = 0;
  std::uint64_t tombstones = 0;

  [[nodiscard]] bool empty() const { return records.empty(); }
};

/// Builds the log trees of a batch by copying from changed leaves, in key order: leaves packed full,
/// an index over them, and tombstones.
/// @source DESIGN.md "The log"; the btrfs seed on batches of items in directory logging.
class LogBatchBuilder {
 public:
  /// @param bytes_max  what the batch may have at most in all.
  LogBatchBuilder(LogBuffers& buffers, const Layout& layout, std::uint64_t volume_id,
                  std::uint64_t bytes_max, const LogPolicy& policy)
      : buffers_(buffers),
        layout_(layout),
        volume_id_(volume_id),
        bytes_max_(bytes_max),
        policy_(policy) {}

  /// Takes what changed in a leaf. @pre all its keys are larger than those of the leaves before
  void add(const Leaf& leaf, ErasedKeys& erased);
  /// Whether the batch has become too large: then it is good for nothing.
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  /// The batch; empty if nothing had changed.
  [[nodiscard]] LogBatch finish();

 private:
  void copy_run(const Leaf& source, std::uint32_t first, std::uint32_t last);
  std::uint32_t copy_what_fits(const Leaf& source, std::uint32_t first, std::uint32_t last);
  void add_tombstone(const KeyRange& range);
  [[nodiscard]] std::uint64_t room_left() const;
  void begin_record();
  void begin_leaf();
  void end_leaf();
  void end_record();

  LogBuffers& buffers_;
  const Layout& layout_;
  std::uint64_t volume_id_;
  std::uint64_t bytes_max_;
  LogPolicy policy_;
  LogBatch batch_;
  bool overflowed_ = false;

  // The record under way:
  AlignedBuffer record_;          ///< null: none
  std::uint64_t record_end_ = 0;  ///< bytes of it that are in use
  std::uint32_t record_items_ = 0;
  std::vector<LogIndexEntry> index_;
  std::vector<LogTombstone> tombstones_;
  std::uint32_t leaf_bytes_ = 0;  ///< room of the leaf under way, at record_end_; 0: none
};

}  // namespace cordwood
