#include "space/bitmap.hpp"

#include <algorithm>

namespace cordwood {

namespace {

constexpr std::uint32_t kBits = static_cast<std::uint32_t>(kGroupBlocks);
constexpr std::uint64_t kAllSet = ~std::uint64_t{0};

std::uint32_t low_ones(std::uint64_t word) {
  return static_cast<std::uint32_t>(std::countr_one(word));
}
std::uint32_t high_ones(std::uint64_t word) {
  return static_cast<std::uint32_t>(std::countl_one(word));
}
std::uint32_t lowest_one(std::uint64_t word) {
  return static_cast<std::uint32_t>(std::countr_zero(word));
}

/// The bits where `length` (1..64) ones begin within one word.
/// @source the doubling of Warren, Hacker's Delight, "finding strings of 1-bits".
std::uint64_t starts_of_ones(std::uint64_t word, std::uint32_t length) {
  for (std::uint32_t have = 1; have < length;) {
    const std::uint32_t step = std::min(have, length - have);
    word &= word >> step;
    have += step;
  }
  return word;
}

/// The first bit at or after `from` that is set in words[i] ^ flip, or kBits.
std::uint32_t next_one(const BitmapWords& words, std::uint32_t from, std::uint64_t flip) {
  if (from >= kBits) return kBits;
  std::uint32_t index = from / 64;
  std::uint64_t word = (words[index] ^ flip) & (kAllSet << (from % 64));
  while (word == 0) {
    if (++index == words.size()) return kBits;
    word = words[index] ^ flip;
  }
  return index * 64 + lowest_one(word);
}

/// The bit after the last one before `end` that is set, or 0.
std::uint32_t after_previous_set(const BitmapWords& words, std::uint32_t end) {
  if (end == 0) return 0;
  std::uint32_t index = (end - 1) / 64;
  std::uint64_t word = words[index] & (kAllSet >> (63 - (end - 1) % 64));
  while (word == 0) {
    if (index-- == 0) return 0;
    word = words[index];
  }
  return index * 64 + 64 - static_cast<std::uint32_t>(std::countl_zero(word));
}

}  // namespace

std::uint32_t count_clear(const BitmapWords& words) {
  std::uint32_t set = 0;
  for (const std::uint64_t word : words) set += static_cast<std::uint32_t>(std::popcount(word));
  return kBits - set;
}

std::optional<std::uint32_t> find_clear_run(const BitmapWords& words, std::uint32_t from,
                                            std::uint32_t want) {
  std::uint64_t ignored = from % 64 == 0 ? 0 : kAllSet >> (64 - from % 64);
  std::uint32_t before = 0;  // clear bits that end where the current word begins
  for (std::uint32_t index = from / 64; index < words.size(); ++index) {
    const std::uint64_t free = ~(words[index] | ignored);
    ignored = 0;
    if (free == 0) {
      before = 0;
      continue;
    }
    if (before + low_ones(free) >= want) return index * 64 - before;
    if (free == kAllSet) {
      before += 64;
      continue;
    }
    if (want < 64) {
      const std::uint64_t starts = starts_of_ones(free, want);
      if (starts != 0) return index * 64 + lowest_one(starts);
    }
    before = high_ones(free);
  }
  return std::nullopt;
}

BitRun longest_clear_run(const BitmapWords& words) {
  BitRun best;
  std::uint32_t before = 0;
  for (std::uint32_t index = 0; index < words.size(); ++index) {
    const std::uint64_t free = ~words[index];
    if (free == 0) {
      before = 0;
      continue;
    }
    if (before + low_ones(free) > best.count) best = {index * 64 - before, before + low_ones(free)};
    if (free == kAllSet) {
      before += 64;
      continue;
    }
    // Runs inside the word matter only while the best is shorter than a word: at most 63 times.
    while (best.count < 63) {
      const std::uint64_t starts = starts_of_ones(free, best.count + 1);
      if (starts == 0) break;
      best = {index * 64 + lowest_one(starts), best.count + 1};
    }
    before = high_ones(free);
  }
  return best;
}

BitRun clear_run_around(const BitmapWords& words, BitRun part) {
  const std::uint32_t first = after_previous_set(words, part.first);
  return {first, next_one(words, part.end(), 0) - first};
}

BitRun next_set_run(const BitmapWords& words, std::uint32_t from) {
  const std::uint32_t first = next_one(words, from, 0);
  return {first, next_one(words, first, kAllSet) - first};
}

}  // namespace cordwood
