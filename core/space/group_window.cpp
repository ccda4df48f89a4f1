#include "space/group_window.hpp"

#include <algorithm>

namespace cordwood {

GroupWindow group_window(const Layout& layout, std::uint64_t group) {
  const std::uint64_t base = group * kGroupBlocks;
  const auto bit = [base](BlockNumber block) {
    return static_cast<std::uint32_t>(std::clamp(block.value, base, base + kGroupBlocks) - base);
  };
  const std::uint32_t first = bit(layout.first_free);
  const std::uint32_t end = std::max(first, bit(layout.tail));
  return {{base}, bit({layout.device_blocks}), {first, end - first}};
}

BitmapWords initial_bitmap(const GroupWindow& window) {
  BitmapWords words;
  words.fill(~std::uint64_t{0});
  clear_bits(words, window.allocatable);
  return words;
}

bool fixed_blocks_set(const BitmapWords& words, const GroupWindow& window) {
  const BitRun inside = window.allocatable;
  return all_set(words, {0, inside.first}) &&
         all_set(words, {inside.end(), static_cast<std::uint32_t>(kGroupBlocks) - inside.end()});
}

}  // namespace cordwood
