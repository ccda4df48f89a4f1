#include "volume/check_items.hpp"

#include <algorithm>

#include "volume/text_escape.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kStrongSeed = 0x6e616d65;  // any value other than the volume's seed

bool has_duplicates(std::vector<std::uint64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end();
}

}  // namespace

void ItemCheck::item(Key key, ConstBytes bytes) {
  ++state_.report.statistics.items;
  if (key.inode().value == 0) {
    orphan(key, bytes);
    return;
  }
  if (!inode_ || inode_->number != key.inode()) {
    end_inode();
    begin_inode(key.inode());
  }
  switch (key.type()) {
    case ItemType::kInode: return inode_item(key, bytes);
    case ItemType::kInodeRef: return inode_refs(key, bytes);
    case ItemType::kXattr: return xattrs(key, bytes);
    case ItemType::kDirHash: return dir_hash(key, bytes);
    case ItemType::kDirIndex: return dir_index(key, bytes);
    case ItemType::kExtent: return extent(key, bytes);
    case ItemType::kOrphan: break;
  }
  state_.find(FindingKind::kItemKeyBad, key.inode().value, key.hi & 0xff, "inode ", key.inode(),
              " has an item of type ", key.hi & 0xff, " with lo ", key.lo);
}

void ItemCheck::gap(Key low, Key high) {
  // A gap that begins inside an inode's items makes that inode incomplete; so does one that ends
  // inside. The inode at the end is one number further when `high` is that inode's first key.
  state_.unseen.add(low.inode().value, high.inode().value);
  if (inode_ && inode_->number.value >= low.inode().value) inode_->unseen = true;
}

void ItemCheck::begin_inode(InodeNumber number) {
  inode_ = Inode{};
  inode_->number = number;
  inode_->unseen = state_.unseen.contains(number.value);
  const auto found = std::lower_bound(orphans_.begin(), orphans_.end(), number.value);
  const bool listed = found != orphans_.end() && *found == number.value;
  // When orphan items could not be seen, any inode may be one.
  inode_->orphan = listed || state_.unseen.contains(0);
  if (listed) orphans_met_[static_cast<std::size_t>(found - orphans_.begin())] = true;
  if (number == kRootInode) root_seen_ = true;
  if (number.value >= state_.reader.superblock().next_inode) {
    state_.find(FindingKind::kInodeBeyondNext, number.value, 0, "inode ", number,
                " exists, but numbers were handed out only below ",
                state_.reader.superblock().next_inode);
  }
}

void ItemCheck::malformed(Key key, const char* what) {
  state_.find(FindingKind::kItemMalformed, key.inode().value, key.lo, "inode ", key.inode(),
              ", item of type ", key.hi & 0xff, " with lo ", key.lo, ": ", what);
  if (!inode_) return;
  inode_->unseen = true;
  state_.unseen.add(key.inode().value, key.inode().value);
}

/// Whether the inode's type may have an item of this type.
bool ItemCheck::fits_type(Key key) {
  if (!inode_->item) return true;
  const FileType type = inode_->item->type();
  bool fits = true;
  if (key.type() == ItemType::kDirHash || key.type() == ItemType::kDirIndex) {
    fits = type == FileType::kDirectory;
  } else if (key.type() == ItemType::kExtent) {
    fits = type == FileType::kRegular || type == FileType::kSymlink;
  }
  if (!fits) {
    state_.find(FindingKind::kItemMisplaced, key.inode().value, key.lo, "inode ", key.inode(),
                " has an item of type ", key.hi & 0xff, ", which its own type ",
                static_cast<std::uint64_t>(type), " cannot have");
    inode_->unseen = true;
    state_.unseen.add(key.inode().value, key.inode().value);
  }
  return fits;
}

void ItemCheck::inode_item(Key key, ConstBytes bytes) {
  if (key.lo != 0) {
    state_.find(FindingKind::kItemKeyBad, key.inode().value, key.lo, "inode ", key.inode(),
                " has an inode item with lo ", key.lo);
    return;
  }
  ++inode_count_;
  ++state_.report.statistics.inodes;
  const auto item = parse_inode(bytes, key);
  if (!item) return malformed(key, item.error().what);
  inode_->item = *item;
  if (item->is_directory()) ++state_.report.statistics.directories;
  const bool holds_xattr = (item->flags & kInodeXattrValue) != 0;
  if ((item->flags & ~kInodeXattrValue) != 0 ||
      (holds_xattr && item->type() != FileType::kRegular)) {
    state_.find(FindingKind::kInodeFlags, key.inode().value, item->flags, "inode ", key.inode(),
                " of type ", static_cast<std::uint64_t>(item->type()), " has flags ", item->flags);
  }
}

void ItemCheck::inode_refs(Key key, ConstBytes bytes) {
  if (bytes.empty() || bytes.size() % sizeof(InodeRefItem) != 0) {
    return malformed(key, "references have a wrong length");
  }
  std::vector<std::uint64_t> seen;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(InodeRefItem)) {
    const auto parent = load_le<std::uint64_t>(bytes.data() + at);
    const auto index = load_le<std::uint64_t>(bytes.data() + at + 8);
    if (parent == 0 || parent >= kInodeLimit) return malformed(key, "reference to no inode");
    seen.push_back(mix_seed(parent, index));
    if (inode_ref_hash({parent}, index) != key.lo) {
      state_.find(FindingKind::kNameRefKey, key.inode().value, key.lo, "inode ", key.inode(),
                  ": the reference to entry ", index, " of directory ", parent,
                  " is stored with lo ", key.lo);
    }
    ++inode_->names;
  }
  if (has_duplicates(seen)) malformed(key, "the same reference twice");
}

void ItemCheck::xattrs(Key key, ConstBytes bytes) {
  if (bytes.empty()) return malformed(key, "no extended attribute in the item");
  const Superblock& superblock = state_.reader.superblock();
  const NameHasher hasher{state_.reader.volume_seed(), superblock.name_hash_bits};
  std::vector<std::string_view> names;
  while (!bytes.empty()) {
    const auto entry = XattrEntry::parse(bytes, key);
    if (!entry) return malformed(key, entry.error().what);
    ++state_.report.statistics.xattrs;
    names.push_back(entry->name);
    if (hasher(entry->name) != key.lo) {
      state_.find(FindingKind::kXattrHash, key.inode().value, key.lo, "inode ", key.inode(),
                  ": the extended attribute ", quoted(entry->name), " is stored under hash ",
                  key.lo);
    }
    bytes = bytes.subspan(entry->stored_bytes());
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    state_.find(FindingKind::kXattrDuplicate, key.inode().value, key.lo, "inode ", key.inode(),
                " has the extended attribute ", quoted(*twice), " twice");
  }
}

void ItemCheck::dir_hash(Key key, ConstBytes bytes) {
  if (!fits_type(key)) return;
  if (bytes.empty() || bytes.size() % 8 != 0) return malformed(key, "indexes have a wrong length");
  std::vector<std::uint64_t> indexes;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    indexes.push_back(load_le<std::uint64_t>(bytes.data() + at));
  }
  if (indexes.size() > 1) inode_->shared_hashes.push_back(key.lo);
  if (has_duplicates(indexes)) malformed(key, "the same index twice");
}

void ItemCheck::dir_index(Key key, ConstBytes bytes) {
  if (!fits_type(key)) return;
  const auto entry = DirIndexItem::parse(bytes, key);
  if (!entry) return malformed(key, entry.error().what);
  if (key.lo < kFirstDirIndex) {
    state_.find(FindingKind::kItemKeyBad, key.inode().value, key.lo, "directory ", key.inode(),
                " has a name at index ", key.lo, ", which is not given to names");
  }
  if (entry->child == kRootInode) {
    state_.find(FindingKind::kRootNamed, kRootInode.value, key.inode().value, "directory ",
                key.inode(), " has the root directory under the name ", quoted(entry->name));
  }
  ++state_.report.statistics.names;
  ++inode_->entries;
  inode_->name_bytes += entry->name.size();
  inode_->index_max = key.lo;
  if (entry->type == FileType::kDirectory) ++inode_->subdirectories;
  if (inode_->shared_hashes.empty()) return;
  const NameHasher hasher{state_.reader.volume_seed(), state_.reader.superblock().name_hash_bits};
  if (std::binary_search(inode_->shared_hashes.begin(), inode_->shared_hashes.end(),
                         hasher(entry->name))) {
    inode_->shared_names.emplace_back(checksum(as_bytes(entry->name), kStrongSeed), key.lo);
  }
}

void ItemCheck::extent(Key key, ConstBytes bytes) {
  const Layout& layout = state_.reader.layout();
  const auto extent = ExtentItem::parse(bytes, key, layout);
  if (!extent) {
    state_.claims_complete = false;
    return malformed(key, extent.error().what);
  }
  ++state_.report.statistics.extents;
  if (extent->kind != ExtentKind::kInline) {
    state_.claims.claim(extent->run, {BlockOwner::Kind::kExtent, key.inode().value, key.lo, false});
  }
  if (!fits_type(key)) return;
  if (inode_->has_inline || (extent->kind == ExtentKind::kInline && inode_->extents > 0)) {
    state_.find(FindingKind::kExtentInlineNotAlone, key.inode().value, key.lo, "inode ",
                key.inode(), " has inline bytes and an extent at offset ", key.lo);
  } else if (inode_->extents > 0 && key.lo < inode_->extents_end) {
    state_.find(FindingKind::kExtentOverlap, key.inode().value, key.lo, "inode ", key.inode(),
                ": the extent at offset ", key.lo,
                " begins before the one in front of it ends, at ", inode_->extents_end);
  }
  ++inode_->extents;
  const std::uint64_t end = extent->end(layout);
  inode_->extents_end = std::max(inode_->extents_end, end);
  if (extent->kind == ExtentKind::kInline) {
    inode_->has_inline = true;
    inode_->inline_bytes = extent->inline_bytes.size();
    return;
  }
  inode_->block_bytes += extent->bytes(layout);
  if (extent->generation.value > state_.reader.superblock().generation) {
    state_.find(FindingKind::kExtentGeneration, key.inode().value, key.lo, "inode ", key.inode(),
                ": the extent at offset ", key.lo, " is of generation ", extent->generation,
                ", newer than the superblock");
  }
  if (extent->kind != ExtentKind::kData) return;
  inode_->data_end = std::max(inode_->data_end, end);
  state_.report.statistics.data_bytes += extent->bytes(layout);
  if (data_ != nullptr) data_->add(key.inode(), *extent);
}

void ItemCheck::orphan(Key key, ConstBytes bytes) {
  if (key.type() != ItemType::kOrphan || key.lo == 0 || key.lo >= kInodeLimit) {
    state_.find(FindingKind::kItemKeyBad, 0, key.lo, "an item of type ", key.hi & 0xff, " with lo ",
                key.lo, " belongs to no inode");
    return;
  }
  if (!bytes.empty()) malformed(key, "an orphan item has content");
  ++state_.report.statistics.orphans;
  orphans_.push_back(key.lo);
  orphans_met_.push_back(false);
}

void ItemCheck::finish() {
  end_inode();
  if (state_.report.cancelled) return;
  check_root();
  check_orphans();
  check_counts();
}

}  // namespace cordwood
