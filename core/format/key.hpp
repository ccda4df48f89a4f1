#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace cordwood {

/// Kinds of items. Values are frozen: they order the items of an inode on disk. 0 is never written.
enum class ItemType : std::uint8_t {
  kInode = 1,     ///< lo = 0: InodeItem
  kInodeRef = 2,  ///< lo = inode_ref_hash(parent, index): InodeRefItem[], several on a collision
  kXattr = 3,     ///< lo = hash of the name: xattr entries, several on a collision
  kDirHash = 4,   ///< lo = hash of the name: u64 directory indexes, several on a collision
  kDirIndex = 5,  ///< lo = directory index: DirIndexItem and the name
  kExtent = 6,    ///< lo = byte offset in the file: ExtentItem and inline bytes or checksums
  kOrphan = 7,    ///< hi of inode 0, lo = inode number: empty
};

/// A 128-bit key, ordered as one integer: hi = inode << 8 | type, lo = offset.
/// On disk: lo, then hi, both little-endian (so a 16-byte little-endian integer).
struct Key {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;

  [[nodiscard]] constexpr InodeNumber inode() const { return {hi >> 8}; }
  [[nodiscard]] constexpr ItemType type() const { return static_cast<ItemType>(hi & 0xff); }

  friend constexpr bool operator==(Key a, Key b) { return a.hi == b.hi && a.lo == b.lo; }
  friend constexpr bool operator!=(Key a, Key b) { return !(a == b); }
  friend constexpr bool operator<(Key a, Key b) { return wide(a) < wide(b); }
  friend constexpr bool operator>(Key a, Key b) { return b < a; }
  friend constexpr bool operator<=(Key a, Key b) { return !(b < a); }
  friend constexpr bool operator>=(Key a, Key b) { return !(a < b); }

  /// The key as one integer.
  __extension__ using Wide = unsigned __int128;
  [[nodiscard]] static constexpr Wide wide(Key key) { return (Wide{key.hi} << 64) | key.lo; }
  [[nodiscard]] static constexpr Key from_wide(Wide wide) {
    return {static_cast<std::uint64_t>(wide >> 64), static_cast<std::uint64_t>(wide)};
  }
  /// The next key in order. @pre not the largest key.
  [[nodiscard]] constexpr Key next() const { return from_wide(wide(*this) + 1); }
  /// The key before this one in order. @pre not the smallest key.
  [[nodiscard]] constexpr Key previous() const { return from_wide(wide(*this) - 1); }
};

/// All keys from `first` through `last`.
struct KeyRange {
  Key first;
  Key last;

  [[nodiscard]] constexpr bool contains(Key key) const { return first <= key && key <= last; }
  friend constexpr bool operator==(const KeyRange& a, const KeyRange& b) {
    return a.first == b.first && a.last == b.last;
  }
};

inline constexpr std::size_t kKeyBytes = 16;
inline constexpr Key kMinKey{0, 0};
/// Above every key that an item may have; the high fence of the last node.
inline constexpr Key kMaxKey{~std::uint64_t{0}, ~std::uint64_t{0}};
/// Inode numbers stay below this: 56 bits of a key.
inline constexpr std::uint64_t kInodeLimit = std::uint64_t{1} << 55;

[[nodiscard]] constexpr Key make_key(InodeNumber inode, ItemType type, std::uint64_t lo = 0) {
  return {(inode.value << 8) | static_cast<std::uint64_t>(type), lo};
}

[[nodiscard]] inline Key load_key(const std::byte* from) {
  return {load_le<std::uint64_t>(from + 8), load_le<std::uint64_t>(from)};
}
inline void store_key(std::byte* to, Key key) {
  store_le(to, key.lo);
  store_le(to + 8, key.hi);
}

}  // namespace cordwood
