#include "space/bitmap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "space/group_window.hpp"

using namespace cordwood;

namespace {

constexpr std::uint32_t kBits = static_cast<std::uint32_t>(kGroupBlocks);

bool is_set(const BitmapWords& words, std::uint32_t bit) {
  return (words[bit / 64] >> (bit % 64) & 1) != 0;
}

/// Clear runs of geometric length between set runs of geometric length.
BitmapWords random_bitmap(Random& random, std::uint64_t mean_clear, std::uint64_t mean_set) {
  BitmapWords words{};
  bool set = random.one_in(2);
  for (std::uint32_t bit = 0; bit < kBits; ++bit) {
    if (random.one_in(set ? mean_set : mean_clear)) set = !set;
    if (set) set_bits(words, {bit, 1});
  }
  return words;
}

std::vector<BitRun> clear_runs(const BitmapWords& words) {
  std::vector<BitRun> runs;
  for (std::uint32_t bit = 0; bit < kBits; ++bit) {
    if (is_set(words, bit)) continue;
    if (runs.empty() || runs.back().end() != bit) runs.push_back({bit, 0});
    ++runs.back().count;
  }
  return runs;
}

std::optional<std::uint32_t> find_slowly(const std::vector<BitRun>& runs, std::uint32_t from,
                                         std::uint32_t want) {
  for (const BitRun& run : runs) {
    const std::uint32_t first = std::max(run.first, from);
    if (first < run.end() && run.end() - first >= want) return first;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("bitmap: searches agree with a bit by bit search", "[space]") {
  const std::uint64_t mean_clear = GENERATE(1, 2, 10, 70, 1000, 20000);
  const std::uint64_t mean_set = GENERATE(1, 3, 100, 5000);
  Random random(mean_clear * 100'000 + mean_set);
  for (int round = 0; round < 4; ++round) {
    const BitmapWords words = random_bitmap(random, mean_clear, mean_set);
    const std::vector<BitRun> runs = clear_runs(words);

    std::uint32_t clear = 0;
    BitRun longest;
    for (const BitRun& run : runs) {
      clear += run.count;
      if (run.count > longest.count) longest = run;
      REQUIRE(clear_run_around(words, {run.first + run.count / 2, 1}) == run);
    }
    REQUIRE(count_clear(words) == clear);
    REQUIRE(longest_clear_run(words) == longest);

    for (int i = 0; i < 100; ++i) {
      const auto from = static_cast<std::uint32_t>(random.below(kBits));
      const auto want = static_cast<std::uint32_t>(
          random.one_in(2) ? 1 + random.below(70) : 1 + random.below(longest.count + 2));
      INFO("from " << from << " want " << want);
      REQUIRE(find_clear_run(words, from, want) == find_slowly(runs, from, want));
      REQUIRE(find_clear_run(words, 0, want) == find_slowly(runs, 0, want));
    }
  }
}

TEST_CASE("bitmap: set, clear and ask for runs of every alignment", "[space]") {
  for (const std::uint32_t first : {0u, 1u, 63u, 64u, 100u, kBits - 200}) {
    for (const std::uint32_t count : {0u, 1u, 2u, 63u, 64u, 65u, 128u, 200u}) {
      INFO(first << " + " << count);
      const BitRun run{first, count};
      BitmapWords words{};
      set_bits(words, run);
      REQUIRE(count_clear(words) == kBits - count);
      REQUIRE(all_set(words, run));
      const BitRun set = next_set_run(words, 0);
      REQUIRE(set.count == count);
      if (count != 0) {
        REQUIRE(set == run);
        REQUIRE(!all_clear(words, run));
        REQUIRE(next_set_run(words, run.end()).count == 0);
        clear_bits(words, {run.first, 1});
        REQUIRE(!all_set(words, run));
      }
      clear_bits(words, run);
      REQUIRE(all_clear(words, {0, kBits}));
    }
  }
}

TEST_CASE("bitmap: the ends of the page", "[space]") {
  BitmapWords full;
  full.fill(~std::uint64_t{0});
  CHECK(!find_clear_run(full, 0, 1));
  CHECK(longest_clear_run(full).count == 0);
  CHECK(next_set_run(full, 0) == BitRun{0, kBits});
  CHECK(count_clear(full) == 0);

  const BitmapWords empty{};
  CHECK(find_clear_run(empty, 0, kBits) == 0u);
  CHECK(find_clear_run(empty, 1, kBits - 1) == 1u);
  CHECK(!find_clear_run(empty, 1, kBits));
  CHECK(longest_clear_run(empty) == BitRun{0, kBits});
  CHECK(clear_run_around(empty, {500, 10}) == BitRun{0, kBits});
  CHECK(next_set_run(empty, 0).count == 0);
}

TEST_CASE("bitmap: windows of groups cover just the allocatable blocks", "[space]") {
  const std::uint32_t block_bytes = GENERATE(512, 4096);
  const std::uint64_t device_bytes = GENERATE(4_MiB, 16_MiB, 48_MiB + 8192, 300_MiB, 1_GiB);
  const Layout layout = *Layout::compute(device_bytes, block_bytes, 4096);
  std::uint64_t next = layout.first_free.value;
  std::uint64_t blocks = 0;
  for (std::uint64_t group = 0; group < layout.group_count; ++group) {
    const GroupWindow window = group_window(layout, group);
    blocks += window.blocks;
    const BitmapWords initial = initial_bitmap(window);
    CHECK(count_clear(initial) == window.allocatable.count);
    CHECK(fixed_blocks_set(initial, window));
    if (window.allocatable.count == 0) continue;
    const BlockRun run = window.blocks_of(window.allocatable);
    CHECK(layout.allocatable(run));
    CHECK(run.first.value == next);
    next = run.end().value;

    BitmapWords wrong = initial;
    if (window.allocatable.first != 0) {
      clear_bits(wrong, {window.allocatable.first - 1, 1});
    } else if (window.allocatable.end() != kBits) {
      clear_bits(wrong, {window.allocatable.end(), 1});
    } else {
      continue;
    }
    CHECK(!fixed_blocks_set(wrong, window));
  }
  CHECK(next == layout.tail.value);
  CHECK(blocks == layout.device_blocks);
}
