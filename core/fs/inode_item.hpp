#pragma once

#include "format/items.hpp"
#include "fs/types.hpp"

namespace cordwood {

[[nodiscard]] constexpr Key inode_key(InodeNumber inode) {
  return make_key(inode, ItemType::kInode);
}
[[nodiscard]] constexpr Key extent_key(InodeNumber inode, std::uint64_t offset) {
  return make_key(inode, ItemType::kExtent, offset);
}
[[nodiscard]] constexpr Key orphan_key(InodeNumber inode) {
  return make_key({0}, ItemType::kOrphan, inode.value);
}

[[nodiscard]] constexpr bool is_inode_number(InodeNumber inode) {
  return inode.value != 0 && inode.value < kInodeLimit;
}

[[nodiscard]] inline ConstBytes item_bytes(const InodeItem& item) {
  return std::as_bytes(std::span(&item, 1));
}

/// The item of an inode made now, with one name (a directory: two links).
[[nodiscard]] InodeItem new_inode_item(FileType type, const NewInode& what, Timestamp now);
[[nodiscard]] Attributes attributes_of(InodeNumber inode, const InodeItem& item);

inline void set_access(InodeItem& item, Timestamp time) {
  item.access_seconds = time.seconds;
  item.access_nanoseconds = time.nanoseconds;
}
inline void set_modify(InodeItem& item, Timestamp time) {
  item.modify_seconds = time.seconds;
  item.modify_nanoseconds = time.nanoseconds;
}
inline void set_change(InodeItem& item, Timestamp time) {
  item.change_seconds = time.seconds;
  item.change_nanoseconds = time.nanoseconds;
}

}  // namespace cordwood
