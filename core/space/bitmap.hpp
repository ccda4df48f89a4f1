#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "format/layout.hpp"

namespace cordwood {

/// The bits of one bitmap page: bit b of word w is block 64 w + b of the group. On disk the words
/// are little-endian, and a set bit means that the block is not free.
using BitmapWords = std::array<std::uint64_t, kGroupBlocks / 64>;
static_assert(sizeof(BitmapWords) == kPageBytes);

/// Consecutive bits of one bitmap.
struct BitRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  [[nodiscard]] constexpr std::uint32_t end() const { return first + count; }
  friend constexpr bool operator==(const BitRun&, const BitRun&) = default;
};

/// Calls visit(word index, mask of the run's bits in that word) in order; stops when it returns
/// false.
/// @return  whether every call returned true.
template <class Visit>
inline bool for_each_word(BitRun run, Visit&& visit) {
  std::uint32_t first = run.first;
  while (first < run.end()) {
    const std::uint32_t index = first / 64;
    const std::uint32_t low = first % 64;
    const std::uint32_t bits = run.end() - first < 64 - low ? run.end() - first : 64 - low;
    if (!visit(index, (~std::uint64_t{0} >> (64 - bits)) << low)) return false;
    first += bits;
  }
  return true;
}

inline void set_bits(BitmapWords& words, BitRun run) {
  for_each_word(run, [&](std::uint32_t index, std::uint64_t mask) {
    words[index] |= mask;
    return true;
  });
}

inline void clear_bits(BitmapWords& words, BitRun run) {
  for_each_word(run, [&](std::uint32_t index, std::uint64_t mask) {
    words[index] &= ~mask;
    return true;
  });
}

[[nodiscard]] inline bool all_set(const BitmapWords& words, BitRun run) {
  return for_each_word(
      run, [&](std::uint32_t index, std::uint64_t mask) { return (words[index] & mask) == mask; });
}

[[nodiscard]] inline bool all_clear(const BitmapWords& words, BitRun run) {
  return for_each_word(
      run, [&](std::uint32_t index, std::uint64_t mask) { return (words[index] & mask) == 0; });
}

[[nodiscard]] std::uint32_t count_clear(const BitmapWords& words);

/// The first bit at or after `from` where `want` (> 0) clear bits begin.
/// @cost  a few operations per word, however fragmented; free and full words cost least.
[[nodiscard]] std::optional<std::uint32_t> find_clear_run(const BitmapWords& words,
                                                          std::uint32_t from, std::uint32_t want);

/// The first of the longest runs of clear bits; empty when no bit is clear. @cost as
/// find_clear_run.
[[nodiscard]] BitRun longest_clear_run(const BitmapWords& words);

/// The whole run of clear bits of which `part` (clear) is a part.
[[nodiscard]] BitRun clear_run_around(const BitmapWords& words, BitRun part);

/// The first run of set bits at or after `from`; empty at the end of the page when there is none.
[[nodiscard]] BitRun next_set_run(const BitmapWords& words, std::uint32_t from);

}  // namespace cordwood
