// What must hold for all items of one inode together, and for the counts over all inodes.

#include <algorithm>

#include "volume/check_items.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kSymlinkBytesMax = 4095;

}  // namespace

void ItemCheck::end_inode() {
  if (!inode_) return;
  if (!inode_->item) {
    // With the inode item unseen (a gap, or malformed) that was told already.
    if (!inode_->unseen) {
      state_.find(FindingKind::kInodeMissing, inode_->number.value, 0, "there are items of inode ",
                  inode_->number, ", but it does not exist");
    }
    state_.unseen.add(inode_->number.value, inode_->number.value);
  } else if (!inode_->unseen) {
    const InodeItem& item = *inode_->item;
    if (item.is_directory()) {
      check_directory(item);
    } else if (inode_->number == kRootInode) {
      state_.find(FindingKind::kRootMissing, kRootInode.value, 0, "inode 1 is not a directory");
    }
    check_links(item);
    check_content(item);
    check_shared_names();
  }
  inode_.reset();
}

void ItemCheck::check_directory(const InodeItem& item) {
  const InodeNumber number = inode_->number;
  if (item.size != inode_->name_bytes) {
    state_.find(FindingKind::kDirectorySize, number.value, item.size, "directory ", number,
                " has size ", item.size, ", but its names are ", inode_->name_bytes,
                " bytes long together");
  }
  const std::uint64_t above =
      inode_->entries == 0 ? kFirstDirIndex : std::max(inode_->index_max + 1, kFirstDirIndex);
  if (item.next_dir_index < above) {
    state_.find(FindingKind::kDirectoryNextIndex, number.value, item.next_dir_index, "directory ",
                number, " would use index ", item.next_dir_index, " next, but indexes below ",
                above, " are taken");
  }
  const bool removed = inode_->orphan && item.links == 0;
  const std::uint64_t names = number == kRootInode || removed ? 0 : 1;
  if (inode_->names != names) {
    const FindingKind kind =
        number == kRootInode ? FindingKind::kRootNamed : FindingKind::kDirectoryNames;
    state_.find(kind, number.value, inode_->names, "directory ", number, " has ", inode_->names,
                " names");
  }
}

void ItemCheck::check_links(const InodeItem& item) {
  const InodeNumber number = inode_->number;
  const bool holds_xattr = (item.flags & kInodeXattrValue) != 0;
  std::uint64_t links = inode_->names;
  if (item.is_directory()) links = 2 + inode_->subdirectories;
  if (holds_xattr) links = 1;
  if (holds_xattr && inode_->names != 0) {
    state_.find(FindingKind::kInodeFlags, number.value, item.flags, "inode ", number,
                " holds the value of an extended attribute, but has a name");
  }
  // Nothing else is counted for an inode that waits to be freed: its names are gone.
  const bool removed = item.links == 0 && inode_->orphan;
  const bool empty = inode_->entries == 0 && (item.is_directory() || inode_->names == 0);
  if (removed && empty) return;
  if (item.links == 0 && !inode_->orphan && inode_->names == 0) {
    state_.find(FindingKind::kOrphanItemMissing, number.value, 0, "inode ", number,
                " has no name left and no orphan item");
    return;
  }
  if (item.links != links) {
    state_.find(FindingKind::kLinkCount, number.value, item.links, "inode ", number, " counts ",
                std::uint64_t{item.links}, " links, but has ", links);
  }
}

void ItemCheck::check_content(const InodeItem& item) {
  const InodeNumber number = inode_->number;
  if (item.bytes != inode_->block_bytes) {
    state_.find(FindingKind::kInodeBytes, number.value, item.bytes, "inode ", number, " counts ",
                item.bytes, " bytes of blocks, but its extents have ", inode_->block_bytes);
  }
  if (item.is_directory()) return;
  const bool holds_content = item.type() == FileType::kRegular || item.type() == FileType::kSymlink;
  bool size_fits = holds_content || item.size == 0;
  // A truncate under way has set the size already and leaves an orphan item until it is through.
  if (inode_->has_inline && !inode_->orphan) size_fits = inode_->inline_bytes <= item.size;
  if (item.type() == FileType::kSymlink) {
    size_fits = item.size > 0 && item.size <= kSymlinkBytesMax &&
                std::max(inode_->inline_bytes, inode_->data_end) >= item.size;
  }
  if (!size_fits) {
    state_.find(FindingKind::kInodeSize, number.value, item.size, "inode ", number, " of type ",
                static_cast<std::uint64_t>(item.type()), " has size ", item.size,
                inode_->has_inline ? ", and inline bytes: " : ", and data up to offset ",
                inode_->has_inline ? inode_->inline_bytes : inode_->data_end);
  } else if (!inode_->orphan && inode_->data_end > round_up(item.size, kGranuleBytes)) {
    state_.find(FindingKind::kExtentBeyondEnd, number.value, inode_->data_end, "inode ", number,
                " has size ", item.size, ", but data up to offset ", inode_->data_end);
  }
  if ((item.flags & kInodeXattrValue) != 0 && item.size > kMaxXattrValueBytes) {
    state_.find(FindingKind::kXattrValueSize, number.value, item.size, "inode ", number,
                " holds an extended attribute's value of ", item.size, " bytes");
  }
}

void ItemCheck::check_shared_names() {
  auto& names = inode_->shared_names;
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i].first != names[i - 1].first) continue;
    state_.find(FindingKind::kNameDuplicate, inode_->number.value, names[i].second, "directory ",
                inode_->number, " has the same name at index ", names[i - 1].second, " and ",
                names[i].second);
  }
}

void ItemCheck::check_root() {
  if (!root_seen_ && !state_.unseen.contains(kRootInode.value)) {
    state_.find(FindingKind::kRootMissing, kRootInode.value, 0, "there is no root directory");
  }
}

void ItemCheck::check_orphans() {
  for (std::size_t i = 0; i < orphans_.size(); ++i) {
    if (orphans_met_[i] || state_.unseen.contains(orphans_[i])) continue;
    state_.find(FindingKind::kOrphanWithoutInode, orphans_[i], 0, "inode ", orphans_[i],
                " has an orphan item, but does not exist");
  }
}

void ItemCheck::check_counts() {
  const std::uint64_t stated = state_.reader.superblock().inode_count;
  if (!state_.tree_complete || stated == inode_count_) return;
  state_.find(FindingKind::kSuperblockInodeCount, 0, 0, "the superblock counts ", stated,
              " inodes, there are ", inode_count_);
}

}  // namespace cordwood
