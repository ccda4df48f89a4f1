#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "fs/types.hpp"
#include "support/file_content.hpp"

namespace cordwood::test {

/// The errors that a call may end with; empty: it must succeed. Several when several things are wrong
/// at once, because nothing says which of them is found first.
using Allowed = std::vector<Errc>;

/// An inode of the model.
struct ModelInode {
  InodeNumber number;
  std::uint32_t mode = 0;
  std::uint32_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t rdev = 0;
  Timestamp access;
  Timestamp modify;
  Timestamp change;
  Timestamp birth;
  FileContent content;                                      ///< regular files
  std::string target;                                       ///< symlinks
  InodeNumber parent;                                       ///< directories
  std::map<std::string, InodeNumber, std::less<>> entries;  ///< directories
  std::uint64_t name_bytes = 0;  ///< directories: sum of the names' lengths
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>, std::less<>> xattrs;
  std::uint32_t handles = 0;  ///< open ones; keep it alive without links

  [[nodiscard]] FileType type() const { return file_type_of(mode); }
  [[nodiscard]] bool is_directory() const { return type() == FileType::kDirectory; }
  [[nodiscard]] std::uint64_t size() const;
  /// What the volume must show; `bytes` is left 0.
  [[nodiscard]] Attributes attributes() const;
};

/// A filesystem in plain memory with exactly the semantics of Volume: the oracle of the tests.
///
/// A change is asked for in two steps: allow_*() says how the call may end, and if the volume
/// succeeded the function of the same name does it. Inode numbers are the volume's.
/// A copy shares everything that neither side changes, so it can be kept for each operation.
class ModelFs {
 public:
  /// An empty volume, made at `now`.
  explicit ModelFs(Timestamp now, std::uint32_t root_mode = 0755);

  [[nodiscard]] const ModelInode* find(InodeNumber inode) const;
  [[nodiscard]] const std::map<std::uint64_t, std::shared_ptr<ModelInode>>& inodes() const {
    return inodes_;
  }
  /// Walks a path as Volume::resolve does.
  [[nodiscard]] Result<InodeNumber> resolve(std::string_view path,
                                            FollowLast follow = FollowLast::kNo) const;
  /// The same from a directory instead of the root.
  [[nodiscard]] Result<InodeNumber> resolve_from(InodeNumber directory, std::string_view path,
                                                 FollowLast follow) const;

  [[nodiscard]] Allowed allow_lookup(InodeNumber parent, std::string_view name) const;
  [[nodiscard]] InodeNumber child(InodeNumber parent, std::string_view name) const;

  [[nodiscard]] Allowed allow_create(InodeNumber parent, std::string_view name) const;
  void create(InodeNumber parent, std::string_view name, InodeNumber number, FileType type,
              const NewInode& what, Timestamp now);
  [[nodiscard]] Allowed allow_symlink(InodeNumber parent, std::string_view name,
                                      std::string_view target) const;
  void symlink(InodeNumber parent, std::string_view name, InodeNumber number,
               std::string_view target, const NewInode& what, Timestamp now);
  [[nodiscard]] Allowed allow_link(InodeNumber inode, InodeNumber parent,
                                   std::string_view name) const;
  void link(InodeNumber inode, InodeNumber parent, std::string_view name, Timestamp now);
  [[nodiscard]] Allowed allow_unlink(InodeNumber parent, std::string_view name) const;
  void unlink(InodeNumber parent, std::string_view name, Timestamp now);
  [[nodiscard]] Allowed allow_remove_directory(InodeNumber parent, std::string_view name) const;
  void remove_directory(InodeNumber parent, std::string_view name, Timestamp now);
  [[nodiscard]] Allowed allow_rename(InodeNumber parent, std::string_view name,
                                     InodeNumber new_parent, std::string_view new_name,
                                     RenameMode mode) const;
  void rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
              std::string_view new_name, RenameMode mode, Timestamp now);

  [[nodiscard]] Allowed allow_set_attributes(InodeNumber inode,
                                             const AttributeChanges& changes) const;
  void set_attributes(InodeNumber inode, const AttributeChanges& changes, Timestamp now);
  [[nodiscard]] Allowed allow_set_xattr(InodeNumber inode, std::string_view name,
                                        std::size_t value_bytes, XattrMode mode) const;
  void set_xattr(InodeNumber inode, std::string_view name, ConstBytes value, Timestamp now);
  [[nodiscard]] Allowed allow_xattr(InodeNumber inode, std::string_view name) const;
  void remove_xattr(InodeNumber inode, std::string_view name, Timestamp now);

  [[nodiscard]] Allowed allow_read(InodeNumber inode) const;
  [[nodiscard]] Allowed allow_write(InodeNumber inode, std::uint64_t offset,
                                    std::uint64_t bytes) const;
  void write(InodeNumber inode, std::uint64_t offset, ConstBytes from, Timestamp now);

  void open(InodeNumber inode);
  /// Forgets the inode when that was its last handle and it has no name.
  void close(InodeNumber inode);
  /// What a crash does: every handle is gone, and so are inodes without a name.
  void close_all();

 private:
  ModelInode& own(InodeNumber inode);
  ModelInode& insert(InodeNumber number, FileType type, const NewInode& what, Timestamp now);
  void add_entry(InodeNumber parent, std::string_view name, InodeNumber inode, Timestamp now);
  void remove_entry(InodeNumber parent, std::string_view name, Timestamp now);
  /// One name less; a directory loses all.
  void drop_link(InodeNumber inode, Timestamp now);
  void forget_if_dead(InodeNumber inode);
  [[nodiscard]] bool is_inside(InodeNumber directory, InodeNumber ancestor) const;
  /// What is wrong with a directory and a name in it that is to be made / that must exist.
  [[nodiscard]] Allowed check_new_name(InodeNumber parent, std::string_view name) const;
  [[nodiscard]] Allowed check_old_name(InodeNumber parent, std::string_view name) const;
  [[nodiscard]] Allowed check_replace(const ModelInode& source, const ModelInode& target) const;

  std::map<std::uint64_t, std::shared_ptr<ModelInode>> inodes_;
};

}  // namespace cordwood::test
