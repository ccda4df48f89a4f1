#pragma once

#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "fs/context.hpp"

namespace cordwood {

/// Items of an inode that are to go in one operation, and the blocks that they hold.
struct Removal {
  std::vector<Key> keys;
  std::vector<BlockRun> runs;
  std::uint64_t blocks = 0;        ///< of all runs
  bool complete = false;           ///< nothing else lies in the range that was looked at
  bool meets_large_xattr = false;  ///< it stopped before an xattr item that names inodes of values
};

/// Collects up to `limit` items with keys in [from, end), to be removed. Stops before xattr items that
/// name other inodes.
/// @errors corrupt: an item is malformed; I/O.
Result<Removal> collect_removal(const FsContext& context, Key from, Key end, std::size_t limit);

/// Erases the items and frees the blocks.
Result<void> apply_removal(const FsContext& context, Operation& operation, const Removal& removal);

/// Collects all of the inode that holds a large xattr value: it is small enough for one operation.
Result<Removal> collect_value_inode(const FsContext& context, InodeNumber inode);

}  // namespace cordwood
