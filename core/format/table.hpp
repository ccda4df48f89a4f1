#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/bytes.hpp"
#include "base/function_ref.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "format/layout.hpp"
#include "format/seed.hpp"

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

  static constexpr TablePlace make(BlockNumber block, bool fragmented,
                                   std::uint32_t free_count = 0) {
    return {block.value | (std::uint64_t{free_count} << kFreeShift) |
            (fragmented ? kFragmented : 0)};
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
  std::uint64_t checksum =
      0;  ///< of what lies there; guards against torn, lost, stale, misdirected
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

/// First bytes of a fragment list: one block that names the runs on which a node or table page
/// lies. Followed by `count` runs of 8 bytes: block number in bits 0..47, blocks in bits 48..63.
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

/// Checks one entry of a table page against the shape that its level demands; says nothing about
/// what lies there. An empty entry is always right.
/// @param level  of the page that holds the entry; table_levels for the root entry in the
/// superblock.
/// @errors corrupt with Place::kTablePage and `page`.
[[nodiscard]] Result<void> validate(const TableEntry& entry, std::uint32_t level,
                                    std::uint64_t page, const Layout& layout);

/// One block of a fragment list, parsed.
struct FragmentList {
  BlockNumber next;            ///< the next block of the chain; 0 at the end
  std::vector<BlockRun> runs;  ///< in the order of the content

  /// @param place  the block's own number.
  /// @errors corrupt with Place::kBlock: a count out of range, runs that may not be there, unused
  ///         bytes that are not zero.
  static Result<FragmentList> parse(ConstBytes block, BlockNumber place, const Layout& layout);
};

/// Blocks of fragment lists that name this many runs.
[[nodiscard]] constexpr std::uint64_t fragment_list_blocks(std::uint64_t runs,
                                                           std::uint32_t block_bytes) {
  return divide_up(runs, runs_per_fragment_list(block_bytes));
}

/// Writes a chain of fragment lists.
/// @param runs   the content in order, each of 1 to 65535 blocks.
/// @param lists  where the blocks of the chain will lie: fragment_list_blocks(runs.size()) of them.
/// @param into   lists.size() blocks of memory, one after the other.
void store_fragment_lists(std::span<const BlockRun> runs, std::span<const BlockNumber> lists,
                          std::uint32_t block_bytes, Bytes into);

/// Hash over the blocks of a chain, one step for each from the first on; begins with 0.
[[nodiscard]] std::uint64_t chain_hash(std::uint64_t previous, ConstBytes list,
                                       std::uint64_t volume_seed, std::uint64_t byte);
/// Hash over a whole chain as store_fragment_lists() wrote it.
[[nodiscard]] std::uint64_t chain_hash(std::span<const BlockNumber> lists, ConstBytes bytes,
                                       std::uint64_t volume_seed, std::uint32_t block_bytes);

/// Seed of the checksum of a node or table page on separate runs of blocks: it also covers the
/// lists that name the runs.
/// @param byte  where the first list block begins on the device.
[[nodiscard]] constexpr std::uint64_t fragmented_seed(std::uint64_t volume_seed,
                                                      Structure structure, std::uint64_t byte,
                                                      std::uint64_t chain) {
  return mix_seed(checksum_seed(volume_seed, structure, byte), chain);
}

/// Where a node or table page lies, and the seed of its checksum.
struct ContentPlace {
  std::vector<BlockRun> runs;      ///< the content, in order
  std::vector<BlockNumber> lists;  ///< blocks of the fragment lists; none when it lies in one run
  std::uint64_t seed = 0;
};

/// Follows a table place to its blocks. Ends on any input: each list names at least one block, and
/// all together exactly as many as the content has.
/// @param bytes       of the content: node_bytes or kPageBytes.
/// @param read_block  reads one block of the volume into block_bytes of memory.
/// @errors corrupt with Place::kBlock; what read_block returns.
[[nodiscard]] Result<ContentPlace> locate(TablePlace place, std::uint64_t bytes,
                                          Structure structure, const Layout& layout,
                                          std::uint64_t volume_seed,
                                          FunctionRef<Result<void>(BlockNumber, Bytes)> read_block);

}  // namespace cordwood
