#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "fs/context.hpp"
#include "fs/directory_items.hpp"
#include "fs/file_data.hpp"
#include "fs/inode.hpp"
#include "fs/inode_table.hpp"
#include "fs/removal.hpp"

namespace cordwood {

/// What it takes to drop one name of an inode, found out before the operation that does it.
struct Farewell {
  enum class Kind : std::uint8_t {
    kStays,     ///< it has more names
    kGoes,      ///< all of its items go in the same operation
    kOrphaned,  ///< the last name, but it is open or large: its items go later
  };
  Kind kind = Kind::kStays;
  Removal removal;  ///< kGoes: all of its items

  /// Items that drop_name() changes.
  [[nodiscard]] std::uint64_t items() const {
    return kind == Kind::kGoes ? removal.keys.size() : 3;
  }
};

/// Inodes without names: deletes them at once, or when the last handle closes, or after a crash. Each
/// has an orphan item until it is gone, so none is ever lost.
/// @threads any; each call's inode with its exclusive lock.
class Orphans {
 public:
  Orphans(const FsContext& context, InodeTable& inodes, DirectoryItems& names, FileData& data,
          InodeCount& count)
      : context_(context), inodes_(inodes), names_(names), data_(data), count_(count) {}

  /// @pre the inode has a name that is to be dropped; a directory is empty
  Result<Farewell> plan(Inode& inode);
  /// Inside the operation: takes the name `index` of `directory` from the inode.
  Result<void> drop_name(Operation& operation, Inode& inode, const Farewell& farewell,
                         InodeNumber directory, std::uint64_t index, Timestamp now);
  /// After the operation, or when a handle was closed: deletes an inode that nobody can reach any more.
  Result<void> delete_unreachable(Inode& inode);

  /// Finishes what an earlier mount left unfinished. What is damaged among it, and has no name, stays.
  Result<void> clean_up();

 private:
  /// Items that one operation removes at most: it must fit the emergency reserve.
  static constexpr std::size_t kStepItems = 32;

  Result<Operation> begin_removal(std::uint64_t items);
  Result<bool> delete_step(Inode& inode, std::size_t limit);
  Result<void> delete_large_xattr(Inode& inode);
  Result<void> finish(InodeNumber number);

  const FsContext& context_;
  InodeTable& inodes_;
  DirectoryItems& names_;
  FileData& data_;
  InodeCount& count_;
};

}  // namespace cordwood
