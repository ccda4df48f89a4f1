#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "format/layout.hpp"

namespace cordwood {

/// Where something of fixed size lies, packed in 64 bits:
///
///     63          62..57     56..48        47..0
///     fragmented  zero       free count    block number
///
/// Fragmented: the block is the first of a chain of fragment lists. Free count: how many of the 256
/// entries of the table page it points at are free or lead to free ones (0 for nodes).
/// 0 as a whole: nothing there; in a level 0 entry, the node id is free.
struct TablePlace {
  std::uint64_t bits = 0;

  static constexpr std::uint64_t kFragmented = std::uint64_t{1} << 63;
  static constexpr int kFreeShift = 48;
  static constexpr std::uint64_t kBlockMask = (std::uint64_t{1} << kFreeShift) - 1;
  static constexpr std::uint64_t kFreeMask = 0x1ff;

  static constexpr TablePlace make(BlockNumber block, bool fragmented, std::uint32_t free_count = 0) {
    return {block.value | (std::uint64_t{free_count} << kFreeShift) | (fragmented ? kFragmented : 0)};
  }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  [[nodiscard]] constexpr bool fragmented() const { return (bits & kFragmented) != 0; }
  [[nodiscard]] constexpr BlockNumber block() const { return {bits & kBlockMask}; }
  [[nodiscard]] constexpr std::uint32_t free_count() const {
    return static_cast<std::uint32_t>((bits >> kFreeShift) & kFreeMask);
  }
  friend constexpr bool operator==(TablePlace, TablePlace) = default;
};

/// One entry of a page of the node table, also the root entry in the superblock.
struct TableEntry {
  TablePlace place;
  std::uint64_t checksum = 0;  ///< of what lies there; guards against torn, lost, stale, misdirected
};
static_assert(sizeof(TableEntry) == 16);
static_assert(offsetof(TableEntry, checksum) == 8);
static_assert(std::has_unique_object_representations_v<TableEntry>);

inline constexpr std::uint64_t kEntriesPerTablePage = kPageBytes / sizeof(TableEntry);
static_assert(kEntriesPerTablePage == 256);
/// Levels of the table for this many ids: 1 for up to 256.
[[nodiscard]] constexpr std::uint32_t table_levels(std::uint64_t ids) {
  std::uint32_t levels = 1;
  for (std::uint64_t pages = (ids + 255) / 256; pages > 1; pages = (pages + 255) / 256) ++levels;
  return levels;
}
/// Node ids stay below this.
inline constexpr std::uint64_t kNodeIdLimit = std::uint64_t{1} << 34;

/// First bytes of a fragment list: one block that names the runs on which a node or table page lies.
/// Followed by `count` runs of 8 bytes: block number in bits 0..47, blocks in bits 48..63.
struct FragmentListHeader {
  std::uint64_t next_block = 0;  ///< the next list block of the chain, 0 at the end
  std::uint32_t count = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(FragmentListHeader) == 16);
static_assert(std::has_unique_object_representations_v<FragmentListHeader>);

[[nodiscard]] constexpr std::uint64_t runs_per_fragment_list(std::uint32_t block_bytes) {
  return (block_bytes - sizeof(FragmentListHeader)) / 8;
}

}  // namespace cordwood
