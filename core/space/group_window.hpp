#pragma once

#include <cstdint>

#include "format/layout.hpp"
#include "space/bitmap.hpp"

namespace cordwood {

/// Which part of a group may ever be allocated. The fixed structures lie at the two ends of the
/// device, so it is one run; all other bits of the group's bitmap are always set.
struct GroupWindow {
  BlockNumber base;          ///< the block of bit 0
  std::uint32_t blocks = 0;  ///< that exist in this group
  BitRun allocatable;        ///< may be empty

  [[nodiscard]] BlockRun blocks_of(BitRun run) const { return {base + run.first, run.count}; }
};

[[nodiscard]] constexpr std::uint64_t group_of(BlockNumber block) {
  return block.value / kGroupBlocks;
}
/// The bit of a block in its group's bitmap.
[[nodiscard]] constexpr std::uint32_t bit_of(BlockNumber block) {
  return static_cast<std::uint32_t>(block.value % kGroupBlocks);
}

[[nodiscard]] GroupWindow group_window(const Layout& layout, std::uint64_t group);

/// The bitmap of a group that was never written: all of the window is free.
[[nodiscard]] BitmapWords initial_bitmap(const GroupWindow& window);

/// Whether every bit outside the window is set.
[[nodiscard]] bool fixed_blocks_set(const BitmapWords& words, const GroupWindow& window);

}  // namespace cordwood
