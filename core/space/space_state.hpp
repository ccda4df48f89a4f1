#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "space/group_search.hpp"
#include "space/group_set.hpp"
#include "space/space.hpp"

namespace cordwood {

/// The private state of a Space. Reserved blocks are not counted: they are free - available, so
/// that a reservation changes one number. A counter has a cache line of its own when many threads
/// change it.
struct Space::State {
  /// Where the checkpoint stands. Changes with the gate closed, or (to kNone) from its one thread.
  enum class Frozen : std::uint8_t { kNone, kUnwritten, kWritten };

  State(BlockDevice& device_used, const Layout& layout_used, std::uint64_t volume_seed,
        GroupTable table, Counters& counters_used, Tracer tracer_used);

  /// The part of a run that lies in one group.
  struct Piece {
    std::uint64_t group = 0;
    BitRun bits;
  };
  /// Calls visit(piece) for each group that the run touches, in ascending order.
  template <class Visit>
  static void for_each_piece(BlockRun run, Visit&& visit) {
    while (run.count != 0) {
      const std::uint32_t first = bit_of(run.first);
      const std::uint64_t room = kGroupBlocks - first;
      const std::uint64_t count = run.count < room ? run.count : room;
      visit(Piece{group_of(run.first), {first, static_cast<std::uint32_t>(count)}});
      run = {run.first + count, run.count - count};
    }
  }

  /// Whether a run that came from outside, perhaps from the medium, may name allocated blocks.
  [[nodiscard]] bool plausible(BlockRun run) const {
    return run.count != 0 && run.first < layout.tail && layout.allocatable(run);
  }
  /// Whether a commit of now must be kept out of the bitmaps that are yet to be written.
  /// Read it under the group's mutex: release_frozen() first ends this, then visits each group.
  [[nodiscard]] bool commits_are_late() const {
    return frozen.load(std::memory_order_relaxed) != Frozen::kNone;
  }
  [[nodiscard]] Parity current() const { return current_parity.load(std::memory_order_relaxed); }
  [[nodiscard]] Parity frozen_parity() const { return other(current()); }

  void commit(BlockRun run, bool to_frozen);
  Result<void> drop(BlockRun run, bool from_frozen);
  template <class Allowed, class Change>
  Result<bool> change_all(BlockRun run, Allowed&& allowed, Change&& change);
  void give_back(BlockRun run);
  /// Blocks became free. Before anybody can be promised them: see freed_epoch.
  void add_free(std::uint64_t blocks) {
    freed_epoch.fetch_add(1, std::memory_order_acq_rel);
    free.fetch_add(static_cast<std::int64_t>(blocks), std::memory_order_acq_rel);
  }
  void add_available(std::uint64_t blocks) {
    available.fetch_add(static_cast<std::int64_t>(blocks), std::memory_order_acq_rel);
  }
  [[nodiscard]] bool take_available(std::uint64_t blocks, ReserveClass reserve_class);

  BlockDevice& device;
  const Layout layout;
  Counters& counters;
  const Tracer tracer;
  GroupSet groups;
  GroupSearch search;

  std::atomic<Parity> current_parity{Parity::kEven};
  std::atomic<Frozen> frozen{Frozen::kNone};
  std::array<std::atomic<std::uint64_t>, 2> stream_places;  ///< where the streams go on
  std::atomic<std::int64_t> emergency_blocks{0};

  alignas(64) std::atomic<std::int64_t> available{0};  ///< free - reserved
  alignas(64) std::atomic<std::int64_t> free{0};       ///< clear bits in all bitmaps
  alignas(64) std::atomic<std::uint64_t> pending{0};
  /// Counts the moments at which blocks became free. Raised after the bits were cleared and before
  /// anybody can reserve them: a search that saw no change of it missed nothing.
  alignas(64) std::atomic<std::uint64_t> freed_epoch{0};
};

}  // namespace cordwood
