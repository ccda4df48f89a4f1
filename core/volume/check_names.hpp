#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "format/items.hpp"
#include "volume/check_state.hpp"
#include "volume/set_comparison.hpp"

namespace cordwood {

/// What two different items say about the same thing.
enum class Relation : std::uint8_t {
  kHash,   ///< {directory, index, hash}: left the entry, right the hash item
  kName,   ///< {parent, index, child, type}: left the entry, right the child's reference
  kValue,  ///< {inode}: left the xattr that refers to it, right the inode that holds the value
};
inline constexpr std::size_t kRelations = 3;

/// Turns items, fed in key order, into the tuples of the relations. Items that are malformed give
/// none: ItemCheck tells about them.
class RelationFeeder {
 public:
  RelationFeeder(const ImageReader& reader)
      : hasher_{reader.volume_seed(), reader.superblock().name_hash_bits} {}

  /// Calls sink(relation, side, group, tuple) for each tuple of an item.
  template <class Sink>
  void feed(Key key, ConstBytes bytes, Sink&& sink);

 private:
  [[nodiscard]] static std::uint64_t name_group(std::uint64_t parent, std::uint64_t index) {
    return mix_seed(parent, index);
  }

  NameHasher hasher_;
  InodeNumber inode_;  ///< whose inode item came last
  FileType type_ = FileType::kRegular;
};

/// Checks what holds between items of different inodes: names against hashes, references and types;
/// xattrs against the inodes of their values; directories against the root.
class NameCheck {
 public:
  explicit NameCheck(CheckState& state) : state_(state), feeder_(state.reader) {}

  void item(Key key, ConstBytes bytes);
  /// After the last item. Goes over the tree a second time when something does not match.
  void finish();

 private:
  void check_reachable();
  void name_differences();

  CheckState& state_;
  RelationFeeder feeder_;
  SetComparison relations_[kRelations];
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parents_;  ///< {directory, parent}, rising
};

template <class Sink>
void RelationFeeder::feed(Key key, ConstBytes bytes, Sink&& sink) {
  using Side = SetComparison::Side;
  const std::uint64_t inode = key.inode().value;
  if (inode == 0) return;
  switch (key.type()) {
    case ItemType::kInode: {
      const auto item = parse_inode(bytes, key);
      if (!item || key.lo != 0) return;
      inode_ = key.inode();
      type_ = item->type();
      // One that waits to be freed has lost its xattr already.
      if ((item->flags & kInodeXattrValue) != 0 && item->links != 0) {
        sink(Relation::kValue, Side::kRight, inode, Tuple{inode});
      }
      return;
    }
    case ItemType::kInodeRef:
      if (inode_ != key.inode() || bytes.size() % sizeof(InodeRefItem) != 0) return;
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(InodeRefItem)) {
        const auto parent = load_le<std::uint64_t>(bytes.data() + at);
        const auto index = load_le<std::uint64_t>(bytes.data() + at + 8);
        sink(Relation::kName, Side::kRight, name_group(parent, index),
             Tuple{parent, index, inode, static_cast<std::uint64_t>(type_)});
      }
      return;
    case ItemType::kXattr:
      while (!bytes.empty()) {
        const auto entry = XattrEntry::parse(bytes, key);
        if (!entry) return;
        if (entry->kind == XattrKind::kInode) {
          const auto value = load_le<std::uint64_t>(entry->value.data());
          sink(Relation::kValue, Side::kLeft, value, Tuple{value});
        }
        bytes = bytes.subspan(entry->stored_bytes());
      }
      return;
    case ItemType::kDirHash:
      if (bytes.size() % 8 != 0) return;
      for (std::size_t at = 0; at < bytes.size(); at += 8) {
        const auto index = load_le<std::uint64_t>(bytes.data() + at);
        sink(Relation::kHash, Side::kRight, name_group(inode, index), Tuple{inode, index, key.lo});
      }
      return;
    case ItemType::kDirIndex: {
      const auto entry = DirIndexItem::parse(bytes, key);
      if (!entry) return;
      const std::uint64_t group = name_group(inode, key.lo);
      sink(Relation::kHash, Side::kLeft, group, Tuple{inode, key.lo, hasher_(entry->name)});
      sink(Relation::kName, Side::kLeft, group,
           Tuple{inode, key.lo, entry->child.value, static_cast<std::uint64_t>(entry->type)});
      return;
    }
    default: return;
  }
}

}  // namespace cordwood
