#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "fs/inode.hpp"
#include "space/reservation.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// The inodes in memory, at most one object for each number. Those that nobody refers to are kept for
/// a while; the ones dropped were written through to the tree, so nothing is lost.
/// @threads any.
class InodeTable {
 public:
  explicit InodeTable(BTree& tree) : tree_(tree) {}

  /// The inode if it is in memory, else nothing.
  [[nodiscard]] InodeRef find(InodeNumber number);
  /// The inode, loaded from the tree if need be.
  /// @errors kNoEntry: there is none, or it has neither name nor handle; corrupt, I/O.
  Result<InodeRef> get(InodeNumber number);
  /// The same, with its lock. @pre the caller's other locks come first in the lock order
  Result<ExclusiveInode> get_exclusive(InodeNumber number);
  Result<SharedInode> get_shared(InodeNumber number);
  /// The inode though it has no name: for finishing what an earlier mount began.
  Result<InodeRef> get_orphan(InodeNumber number);

  /// Brings in what store() needs, so that it will not meet an error. Changes nothing.
  Result<void> prepare(Reservation& reservation, Inode& inode);
  /// What an operation changed of an inode.
  enum class Change : std::uint8_t {
    kAll,         ///< data, size, names, or everything
    kAttributes,  ///< nothing that fdatasync() must make durable
  };
  /// Gives an inode a changed item, which other threads see at once. A directory's reaches the tree
  /// with the next cut, any other one now.
  /// @pre prepare() in this operation, exclusive lock
  Result<void> store(Reservation& reservation, Inode& inode, const InodeItem& item,
                     Change change = Change::kAll);
  /// Writes the changed directories to the tree. @pre gate closed
  Result<void> write_changed();

 private:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kKeptPerShard = 128;

  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, std::unique_ptr<Inode>> inodes;
    std::size_t sweep_at = 2 * kKeptPerShard;  ///< size at which unused ones are looked for
  };

  Shard& shard_of(InodeNumber number) {
    return shards_[(number.value * 0x9e3779b97f4a7c15u) >> 58];
  }
  InodeRef find_or_add(InodeNumber number);
  Result<InodeRef> get_any(InodeNumber number);
  Result<void> load(Inode& inode);
  static void sweep(Shard& shard);
  void list_as_changed(Inode& inode);

  BTree& tree_;
  std::array<Shard, kShards> shards_;
  std::mutex changed_mutex_;
  std::vector<InodeRef> changed_;  ///< directories that the tree does not have in their last state
};

}  // namespace cordwood
