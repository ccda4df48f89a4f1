#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "fs/context.hpp"
#include "fs/data_placer.hpp"
#include "fs/extent.hpp"
#include "fs/inode.hpp"
#include "fs/inode_table.hpp"

namespace cordwood {

/// The bytes of files. Small files live in one item (inline); others in extents of whole blocks, which
/// are never overwritten: a write goes to fresh blocks and then changes the items that name them.
///
/// Invariants: an inline item is never longer than the file; the bytes of the last block behind the end
/// of the file are zero; `bytes` of the inode counts the blocks of its extents (0: none, so it may have
/// an inline item).
/// @threads the caller holds the inode's lock, exclusive for changes.
class FileData {
 public:
  FileData(const FsContext& context, InodeTable& inodes)
      : context_(context), inodes_(inodes), extents_(context), placer_(context) {}

  /// Reads what lies before the end of the file.
  Result<std::size_t> read(const Inode& inode, std::uint64_t offset, Bytes into) const;
  /// Fills `into` whatever the size of the file is; zeros where there is no data.
  Result<void> read_content(InodeNumber inode, std::uint64_t offset, Bytes into) const;

  /// @errors kFileTooBig, kNoSpace; corrupt when old bytes around the new ones are damaged.
  Result<std::size_t> write(Inode& inode, std::uint64_t offset, ConstBytes from);
  /// Gives the inode a changed item whose size may be another one.
  Result<void> resize(Inode& inode, const InodeItem& changed);
  /// Drops the extents behind the end, as an orphan item says, and then that item.
  Result<void> finish_truncate(Inode& inode);

  /// First offset >= `offset` before the end with data, or without.
  /// @errors kNoData: there is none.
  Result<std::uint64_t> seek_data(const Inode& inode, std::uint64_t offset) const;
  Result<std::uint64_t> seek_hole(const Inode& inode, std::uint64_t offset) const;

 private:
  struct OldGranules;
  struct FileRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
  };
  /// Extents that one operation takes away at most: it must fit the emergency reserve.
  static constexpr std::size_t kStepExtents = 32;

  Result<std::vector<std::byte>> inline_content(InodeNumber inode) const;
  Result<void> write_inline(Inode& inode, std::uint64_t offset, ConstBytes from, Timestamp now);
  Result<void> leave_inline(Inode& inode, std::uint64_t offset);
  Result<std::size_t> write_piece(Inode& inode, std::uint64_t position, ConstBytes from,
                                  std::optional<Timestamp> now);
  Result<OldGranules> surround(const Inode& inode, std::uint64_t position, ConstBytes from,
                               std::uint64_t end) const;
  Result<void> replace(Inode& inode, const std::vector<Extent>& old, const Extent* before,
                       FileRange range, DetachedExtents& placed, InodeItem changed);

  Result<void> shrink_inline(Inode& inode, const InodeItem& changed);
  Result<void> shrink(Inode& inode, const InodeItem& changed);
  Result<DetachedExtents> rewrite_boundary(const Inode& inode, std::uint64_t size);
  struct DropStep;
  Result<bool> drop_extents(Inode& inode, const DropStep& step);
  Result<void> apply_drop(Operation& operation, Inode& inode, const DropStep& step,
                          const std::vector<Extent>& old, const Punched& punched, bool more);

  const FsContext& context_;
  InodeTable& inodes_;
  ExtentItems extents_;
  DataPlacer placer_;
};

}  // namespace cordwood
