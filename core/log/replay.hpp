#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/layout.hpp"
#include "format/superblock.hpp"
#include "log/reader.hpp"
#include "space/space.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// What a replay of the log would do. Looking changes nothing.
struct ReplayPlan {
  std::uint64_t records = 0;  ///< that count
  std::uint64_t batches = 0;
  std::uint64_t items = 0;
  std::uint64_t tombstones = 0;
  std::uint64_t bytes = 0;
  LogPosition begin;
  LogPosition end;  ///< behind the last record that counts; the block is not wrapped
  /// Records behind those that are whole but do not count: nobody was told that they are durable.
  std::uint64_t cut_records = 0;
  const char* cut_reason = "";  ///< why they do not count
  /// Why the log must not be replayed without being told to: a record that was durable is damaged.
  std::optional<Error> damage;
  std::uint64_t next_inode = 0;  ///< after the replay
  std::uint64_t inode_count = 0;
};

/// The tree at the checkpoint, as far as a plan asks it: mounted or not.
class ReplayBase {
 public:
  virtual ~ReplayBase() = default;
  /// Whether it has an item of this key with exactly these bytes.
  /// @errors corrupt, I/O: a node on the way
  virtual Result<bool> holds(Key key, ConstBytes item) = 0;
};

/// Reads the log and decides which records count:
/// - those up to the first that is not whole;
/// - of those that nobody knew to be durable when a later one was written, only the ones whose file
///   data is on the device too, since one flush was to cover both;
/// - no part of a batch.
/// @param base  tells extents that were there before: their data need not be looked at.
/// @errors I/O, or corrupt nodes of the base; damage of the log is told in the plan.
/// @source DESIGN.md "One flush".
Result<ReplayPlan> plan_replay(BlockDevice& device, const Layout& layout,
                               const Superblock& superblock, ReplayBase& base);

/// Applies the records of a plan to a tree that holds the checkpoint's state, and takes and frees the
/// blocks of files accordingly. Nothing is written. If it fails the tree is good for nothing.
/// @errors corrupt: the records do not fit the tree; I/O.
Result<void> apply_replay(const ReplayPlan& plan, BlockDevice& device, const Layout& layout,
                          const Superblock& superblock, BTree& tree, NodeCache& cache,
                          Space& space);

}  // namespace cordwood
