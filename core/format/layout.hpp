#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace cordwood {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "on-disk structures are copied as they are: a big-endian port needs a codec");

/// Pages of the node table, bitmaps, group pages and superblocks: 4 KiB whatever the block size.
inline constexpr std::uint32_t kPageBytes = 4096;
inline constexpr std::uint32_t kMinBlockBytes = 512;
inline constexpr std::uint32_t kMaxBlockBytes = 4096;
inline constexpr std::uint32_t kMinNodeBytes = 4096;
inline constexpr std::uint32_t kMaxNodeBytes = 65536;
inline constexpr std::uint32_t kDefaultBlockBytes = 4096;
inline constexpr std::uint32_t kDefaultNodeBytes = 16384;
/// One allocation bitmap page describes this many blocks.
inline constexpr std::uint64_t kGroupBlocks = 8 * kPageBytes;
inline constexpr std::uint64_t kMinDeviceBytes = 4_MiB;
/// Block numbers fit 47 bits of a table entry; this also bounds every address computation.
inline constexpr std::uint64_t kMaxDeviceBlocks = std::uint64_t{1} << 46;

/// Where the fixed structures lie. Everything follows from the sizes, so nothing can disagree.
///
///     0        64K   68K  72K      1M
///     | unused | SB0 | SB1 | unused | log ring | group pages x2 | bitmaps x2 | blocks ... | SB0' SB1' |
///
/// Group g describes blocks [g * 32768, (g + 1) * 32768) of the whole device; the fixed structures,
/// and blocks past the end in the last group, are marked as used in the initial bitmaps.
struct Layout {
  std::uint32_t block_bytes = 0;
  std::uint32_t node_bytes = 0;
  std::uint64_t device_blocks = 0;  ///< whole blocks of the device that the volume uses
  std::uint64_t group_count = 0;
  BlockRun log;  ///< the log ring
  /// Pages of the group table, level 0 (descriptors) first; each exists in two slots side by side.
  std::uint64_t group_page_count = 0;
  std::uint64_t group_pages_byte = 0;  ///< byte offset of slot 0 of page 0
  std::uint64_t bitmaps_byte = 0;      ///< byte offset of slot 0 of the bitmap of group 0
  BlockNumber first_free;              ///< first block after the fixed structures
  BlockNumber tail;                    ///< first block of the copies of the superblock at the end

  /// @param log_bytes  size of the log ring: 256 KiB to a quarter of the device, whole pages; 0: a
  ///                   64th of the device, at most 64 MiB.
  /// @errors kInvalid, in words, when the sizes are not allowed together.
  static Result<Layout> compute(std::uint64_t device_bytes, std::uint32_t block_bytes,
                                std::uint32_t node_bytes, std::uint64_t log_bytes = 0);

  [[nodiscard]] std::uint64_t blocks_per_node() const { return node_bytes / block_bytes; }
  [[nodiscard]] std::uint64_t blocks_per_page() const { return kPageBytes / block_bytes; }
  [[nodiscard]] std::uint64_t byte_of(BlockNumber block) const { return block.value * block_bytes; }
  /// Byte offset of a group page (counted through all levels) in one of its two slots.
  [[nodiscard]] std::uint64_t group_page_byte(std::uint64_t page, std::uint32_t slot) const {
    return group_pages_byte + (2 * page + slot) * kPageBytes;
  }
  [[nodiscard]] std::uint64_t bitmap_byte(std::uint64_t group, std::uint32_t slot) const {
    return bitmaps_byte + (2 * group + slot) * kPageBytes;
  }
  /// Whether an allocated run may lie here: inside the device and clear of the fixed structures.
  [[nodiscard]] bool allocatable(BlockRun run) const {
    return run.first >= first_free && run.count <= device_blocks && run.end() <= tail;
  }
};

/// Copies of the superblock: two near the start, two at the end of the device.
inline constexpr std::uint32_t kSuperblockSlots = 4;
/// Byte offset of a superblock slot (0, 1: start; 2, 3: end) on a device of this many bytes.
[[nodiscard]] std::uint64_t superblock_byte(std::uint32_t slot, std::uint64_t device_bytes);

}  // namespace cordwood
