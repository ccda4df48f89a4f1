#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "checkpoint/checkpointer.hpp"
#include "fs/context.hpp"
#include "fs/directory_items.hpp"
#include "fs/file_data.hpp"
#include "fs/inode_numbers.hpp"
#include "fs/inode_table.hpp"
#include "fs/orphans.hpp"
#include "fs/types.hpp"
#include "fs/xattr_list.hpp"

namespace cordwood {

/// Files, directories and all the rest, as items of the tree. Calls and their errors are those of
/// Volume, which passes them on.
///
/// Every changing call goes the same way: lock the inodes; see by reading that it may be done; begin an
/// operation (which reserves what it may need, and may make a checkpoint before that); bring in the
/// leaves that it will change; change. Errors up to there change nothing. An error after the first
/// change makes the volume refuse all further ones.
/// @threads any.
class Filesystem final : public CutParticipant {
 public:
  /// What the superblock tells.
  struct Start {
    std::uint64_t next_inode = 0;
    std::uint64_t inode_count = 0;
  };
  Filesystem(const FsContext& context, Start start);
  Filesystem(const Filesystem&) = delete;
  Filesystem& operator=(const Filesystem&) = delete;

  /// Enters the root directory into an empty tree.
  static Result<void> format(const FsContext& context, const InodeItem& root);
  /// The number of the first inode that is not the root.
  static constexpr std::uint64_t kFirstFreeInode = kRootInode.value + 1;

  /// Looks at the root directory; unless read-only, finishes interrupted deletions.
  Result<void> mount();

  // ---- names ----
  Result<Attributes> lookup(InodeNumber parent, std::string_view name);
  Result<Attributes> create(InodeNumber parent, std::string_view name, const NewInode& what);
  Result<Attributes> make_directory(InodeNumber parent, std::string_view name,
                                    const NewInode& what);
  Result<Attributes> make_symlink(InodeNumber parent, std::string_view name,
                                  std::string_view target, const NewInode& what);
  Result<std::string> read_symlink(InodeNumber inode);
  Result<Attributes> link(InodeNumber inode, InodeNumber parent, std::string_view name);
  Result<void> unlink(InodeNumber parent, std::string_view name);
  Result<void> remove_directory(InodeNumber parent, std::string_view name);
  Result<void> rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                      std::string_view new_name, RenameMode mode);
  Result<void> read_directory(InodeNumber directory, std::uint64_t cookie,
                              const std::function<bool(const DirectoryEntry&)>& visitor);
  /// The directory above one; the root is above itself.
  Result<InodeNumber> parent_of(InodeNumber directory);

  // ---- attributes ----
  Result<Attributes> attributes(InodeNumber inode);
  Result<Attributes> set_attributes(InodeNumber inode, const AttributeChanges& changes);
  Result<std::vector<std::byte>> xattr(InodeNumber inode, std::string_view name);
  Result<std::vector<std::string>> list_xattrs(InodeNumber inode);
  Result<void> set_xattr(InodeNumber inode, std::string_view name, ConstBytes value,
                         XattrMode mode);
  Result<void> remove_xattr(InodeNumber inode, std::string_view name);

  // ---- data ----
  Result<std::size_t> read(InodeNumber inode, std::uint64_t offset, Bytes into);
  Result<std::size_t> write(InodeNumber inode, std::uint64_t offset, ConstBytes from);
  Result<std::size_t> append(InodeNumber inode, ConstBytes from);
  Result<std::uint64_t> seek_data(InodeNumber inode, std::uint64_t offset);
  Result<std::uint64_t> seek_hole(InodeNumber inode, std::uint64_t offset);

  // ---- durability ----
  /// Makes what was changed of an inode, before the call, durable; and all that came before that.
  Result<void> fsync(InodeNumber inode);
  /// The same, but for attributes other than the size.
  Result<void> fdatasync(InodeNumber inode);
  Result<void> sync();

  // ---- handles ----
  /// Keeps an inode alive without a name until close_inode().
  Result<void> open_inode(InodeNumber inode);
  Result<void> close_inode(InodeNumber inode);

  [[nodiscard]] std::uint64_t inode_count() const { return count_.value(); }
  Counts before_cut() override;

 private:
  /// Data that a new inode starts with: an encoded extent item at offset 0.
  struct NewData {
    std::vector<std::byte> item;
    DetachedExtents placed;
  };
  struct Move;
  struct XattrChange;

  // names.cpp
  enum class Removed : std::uint8_t { kFile, kDirectory };
  Result<Attributes> make_child(InodeNumber parent, std::string_view name, InodeItem child,
                                NewData data = {});
  Result<void> insert_child(Operation& operation, Inode& directory, std::string_view name,
                            const DirectoryName& entry, const InodeItem& child, ConstBytes extent);
  Result<void> remove_name(InodeNumber parent, std::string_view name, Removed what);
  Result<void> take_name(Inode& directory, std::string_view name, const DirectoryName& entry,
                         Inode& child, const Farewell& farewell);
  Result<ExclusiveInode> lock_child(const Inode& directory, const DirectoryName& entry);
  Result<void> finish_farewell(Inode& inode);

  // rename.cpp
  Result<void> lock_parents(Move& move, InodeNumber parent, InodeNumber new_parent);
  Result<void> find_entries(Move& move);
  Result<void> check_loops(const Move& move);
  Result<void> lock_children(Move& move);
  Result<void> check_replaced(Move& move);
  Result<void> run_move(Move& move);
  Result<void> apply_move(Operation& operation, Move& move);
  Result<bool> is_inside(InodeNumber directory, InodeNumber ancestor);

  // attributes.cpp
  Result<InodeItem> current_item(InodeNumber inode);

  // xattrs.cpp
  Result<void> place_value(XattrChange& change, XattrList::Entry& entry);
  Result<void> change_xattr(Inode& inode, XattrChange& change);

  /// A regular file with its lock, exclusive or shared. @errors kIsDirectory; kInvalid for others.
  Result<ExclusiveInode> file_exclusive(InodeNumber inode);
  Result<SharedInode> file_shared(InodeNumber inode);

  const FsContext context_;
  InodeNumbers numbers_;
  InodeCount count_;
  InodeTable inodes_;
  DirectoryItems names_;
  FileData data_;
  DataPlacer placer_;
  Orphans orphans_;
  std::mutex
      rename_mutex_;  ///< whoever moves things between directories; so these keep their order
};

}  // namespace cordwood
