#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "format/layout.hpp"

namespace cordwood {

/// What a Space must do, told block by block and without any cleverness: which blocks each state of
/// the volume refers to, which are in flight, which wait.
class SpaceModel {
 public:
  explicit SpaceModel(const Layout& layout)
      : layout_(layout),
        used_(static_cast<std::size_t>(layout.device_blocks)),
        frozen_used_(used_),
        in_flight_(used_),
        pending_(used_),
        frozen_pending_(used_) {}

  using Blocks = std::vector<bool>;

  [[nodiscard]] bool inside(std::uint64_t block) const {
    return block >= layout_.first_free.value && block < layout_.tail.value;
  }
  [[nodiscard]] bool is_free(std::uint64_t block) const {
    return inside(block) && !used_[block] && !in_flight_[block] && !pending_[block] &&
           !frozen_pending_[block];
  }
  [[nodiscard]] bool is_used(std::uint64_t block) const { return inside(block) && used_[block]; }
  [[nodiscard]] bool is_in_flight(std::uint64_t block) const { return in_flight_[block]; }
  [[nodiscard]] bool in_frozen(std::uint64_t block) const {
    return is_used(block) && frozen_used_[block];
  }
  template <class Predicate>
  [[nodiscard]] static bool all(BlockRun run, Predicate&& predicate) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      if (!predicate(run.first.value + i)) return false;
    }
    return true;
  }

  void place(BlockRun run) { put(in_flight_, run, true); }
  void cancel(BlockRun run) { put(in_flight_, run, false); }
  void commit(BlockRun run, bool to_frozen) {
    put(in_flight_, run, false);
    put(used_, run, true);
    if (to_frozen) put(frozen_used_, run, true);
  }
  void claim(BlockRun run) { put(used_, run, true); }
  void drop(BlockRun run, bool from_frozen) {
    put(used_, run, false);
    if (from_frozen) put(frozen_used_, run, false);
    put(from_frozen ? frozen_pending_ : pending_, run, true);
  }
  void freeze() {
    frozen_used_ = used_;
    frozen_pending_ = pending_;
    clear(pending_);
  }
  void release() { clear(frozen_pending_); }
  /// The volume was opened in a state that refers to these blocks.
  void reopen(const Blocks& used) {
    used_ = used;
    clear(in_flight_);
    clear(pending_);
    clear(frozen_pending_);
  }

  [[nodiscard]] const Blocks& frozen_used() const { return frozen_used_; }
  [[nodiscard]] const Blocks& used() const { return used_; }
  [[nodiscard]] std::uint64_t free_count() const {
    std::uint64_t count = 0;
    for (std::uint64_t i = layout_.first_free.value; i < layout_.tail.value; ++i)
      count += is_free(i);
    return count;
  }
  [[nodiscard]] std::uint64_t pending_count() const {
    return count(pending_) + count(frozen_pending_);
  }
  [[nodiscard]] std::uint64_t free_count_in(const Blocks& used) const {
    return layout_.tail - layout_.first_free - count(used);
  }

  /// The longest free run of each group.
  [[nodiscard]] std::vector<std::uint64_t> longest_free_runs() const {
    std::vector<std::uint64_t> longest(static_cast<std::size_t>(layout_.group_count));
    std::uint64_t run = 0;
    for (std::uint64_t block = 0; block < layout_.device_blocks; ++block) {
      if (block % kGroupBlocks == 0) run = 0;
      run = is_free(block) ? run + 1 : 0;
      std::uint64_t& best = longest[block / kGroupBlocks];
      best = std::max(best, run);
    }
    return longest;
  }

  /// Bitmaps of all groups, as Space::bitmap() gives them.
  [[nodiscard]] std::vector<std::uint64_t> bitmaps() const {
    std::vector<std::uint64_t> words(
        static_cast<std::size_t>(layout_.group_count * kGroupBlocks / 64), ~std::uint64_t{0});
    for (std::uint64_t i = layout_.first_free.value; i < layout_.tail.value; ++i) {
      if (is_free(i)) words[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    return words;
  }

 private:
  static void put(Blocks& blocks, BlockRun run, bool value) {
    std::fill_n(blocks.begin() + static_cast<std::ptrdiff_t>(run.first.value), run.count, value);
  }
  static void clear(Blocks& blocks) { std::fill(blocks.begin(), blocks.end(), false); }
  static std::uint64_t count(const Blocks& blocks) {
    return static_cast<std::uint64_t>(std::count(blocks.begin(), blocks.end(), true));
  }

  Layout layout_;
  Blocks used_;
  Blocks frozen_used_;
  Blocks in_flight_;
  Blocks pending_;
  Blocks frozen_pending_;
};

}  // namespace cordwood
