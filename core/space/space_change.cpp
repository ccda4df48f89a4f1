// Blocks change hands: allocate, commit, cancel, free, claim.

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/check.hpp"
#include "space/space.hpp"
#include "space/space_state.hpp"

namespace cordwood {

// ---- free -> in flight

Result<BlockRun> Space::allocate(std::uint64_t want, std::uint64_t at_least,
                                 AllocationStream stream, BlockNumber goal) {
  CW_CHECK(at_least != 0 && at_least <= want);
  State& state = *state_;
  const auto full = static_cast<std::uint32_t>(std::min(want, kGroupBlocks));
  std::atomic<std::uint64_t>& stream_place = state.stream_places[static_cast<std::size_t>(stream)];
  const bool has_goal = goal >= state.layout.first_free && goal < state.layout.tail;
  const BlockNumber start =
      has_goal ? goal : BlockNumber{stream_place.load(std::memory_order_relaxed)};

  std::optional<BlockRun> placed;
  while (at_least <= kGroupBlocks) {
    const std::uint64_t epoch = state.freed_epoch.load(std::memory_order_acquire);
    placed = TRY(state.search.place_next(start, full));
    if (!placed && at_least < full) {
      placed = TRY(state.search.place_longest(start, static_cast<std::uint32_t>(at_least), full));
    }
    // Blocks that became free behind the search's back may be the ones that were promised to us.
    if (placed || epoch == state.freed_epoch.load(std::memory_order_acquire)) break;
  }
  if (!placed) return make_error(Errc::kNoSpace, "no contiguous run of free blocks is long enough");

  if (!has_goal) {
    const BlockNumber next =
        placed->end() < state.layout.tail ? placed->end() : state.layout.first_free;
    stream_place.store(next.value, std::memory_order_relaxed);
  }
  state.free.fetch_sub(static_cast<std::int64_t>(placed->count), std::memory_order_relaxed);
  state.tracer(EventKind::kAllocate, placed->first.value, placed->count);
  return *placed;
}

// ---- in flight -> used, or free again

void Space::State::commit(BlockRun run, bool to_frozen) {
  for_each_piece(run, [&](const Piece& piece) {
    Group* const group = groups.loaded(piece.group);
    CW_CHECK(group != nullptr);
    const std::lock_guard lock(group->mutex());
    if (to_frozen) {
      group->commit(piece.bits, frozen_parity(), false);
    } else {
      group->commit(piece.bits, current(), commits_are_late());
    }
  });
}

void Space::commit(BlockRun run) {
  CW_CHECK(state_->plausible(run));
  state_->commit(run, false);
}

void Space::commit_frozen(BlockRun run) {
  CW_CHECK(state_->plausible(run));
  CW_CHECK(state_->frozen == State::Frozen::kUnwritten);
  state_->commit(run, true);
}

void Space::State::give_back(BlockRun run) {
  for_each_piece(run, [&](const Piece& piece) {
    Group* const group = groups.loaded(piece.group);
    CW_CHECK(group != nullptr);
    const std::lock_guard lock(group->mutex());
    group->cancel(piece.bits);
    groups.raise_longest_free_run_bound(piece.group,
                                        clear_run_around(group->busy(), piece.bits).count);
  });
  // The rest of a long run that was not needed is where its stream goes on.
  for (std::atomic<std::uint64_t>& place : stream_places) {
    std::uint64_t after = run.end().value;
    place.compare_exchange_strong(after, run.first.value, std::memory_order_relaxed);
  }
}

void Space::cancel(BlockRun run) {
  CW_CHECK(state_->plausible(run));
  state_->give_back(run);
  state_->add_free(run.count);
  state_->add_available(run.count);
}

void Space::put_back(BlockRun run) {
  CW_CHECK(state_->plausible(run));
  state_->give_back(run);
  state_->add_free(run.count);
}

// ---- all or nothing

/// Locks the groups of a run, in ascending order, and asks each; changes them only if none refuses.
/// @param allowed  bool(const Group&, BitRun)
/// @param change   void(Group&, BitRun)
/// @return  false if a group refused.
template <class Allowed, class Change>
Result<bool> Space::State::change_all(BlockRun run, Allowed&& allowed, Change&& change) {
  const std::uint64_t first = group_of(run.first);
  const std::uint64_t last = group_of({run.end().value - 1});
  if (first == last) {
    Group& group = *TRY(groups.load(first));
    const BitRun bits{bit_of(run.first), static_cast<std::uint32_t>(run.count)};
    const std::lock_guard lock(group.mutex());
    if (!allowed(group, bits)) return false;
    change(group, bits);
    return true;
  }
  for (std::uint64_t index = first; index <= last; ++index) TRY(groups.load(index));
  std::vector<std::unique_lock<std::mutex>> locks;
  bool none_refuses = true;
  for_each_piece(run, [&](const Piece& piece) {
    Group& group = *groups.loaded(piece.group);
    locks.emplace_back(group.mutex());
    none_refuses = none_refuses && allowed(group, piece.bits);
  });
  if (none_refuses) {
    for_each_piece(run,
                   [&](const Piece& piece) { change(*groups.loaded(piece.group), piece.bits); });
  }
  return none_refuses;
}

// ---- used -> pending-free

Result<void> Space::State::drop(BlockRun run, bool from_frozen) {
  const Parity parity = from_frozen ? frozen_parity() : current();
  const bool dropped =
      plausible(run) &&
      TRY(change_all(
          run, [&](const Group& group, BitRun bits) { return group.may_drop(bits, from_frozen); },
          [&](Group& group, BitRun bits) { group.drop(bits, parity); }));
  if (!dropped) return corrupt(Place::kBlock, run.first.value, "freed blocks are not in use");
  pending.fetch_add(run.count, std::memory_order_relaxed);
  tracer(EventKind::kFree, run.first.value, run.count);
  return {};
}

Result<void> Space::free(BlockRun run) { return state_->drop(run, false); }

Result<void> Space::free_frozen(BlockRun run) {
  CW_CHECK(state_->frozen == State::Frozen::kUnwritten);
  return state_->drop(run, true);
}

// ---- free -> used

Result<void> Space::claim(BlockRun run, ReserveClass reserve_class) {
  State& state = *state_;
  const auto claimed = [&]() -> Result<bool> {
    return state.change_all(
        run, [](const Group& group, BitRun bits) { return all_clear(group.busy(), bits); },
        [&](Group& group, BitRun bits) {
          group.place(bits);
          group.commit(bits, state.current(), state.commits_are_late());
        });
  };
  const Error in_use = corrupt(Place::kBlock, run.first.value, "claimed blocks are in use");
  if (!state.plausible(run)) return in_use;
  // Promised blocks may not be claimed: those who hold the promise count on them.
  if (!state.take_available(run.count, reserve_class)) {
    return make_error(Errc::kNoSpace, "all free blocks are promised");
  }
  const Result<bool> result = claimed();
  if (!result || !*result) {
    unreserve(run.count);
    return result ? in_use : result.error();
  }
  state.free.fetch_sub(static_cast<std::int64_t>(run.count), std::memory_order_relaxed);
  state.tracer(EventKind::kAllocate, run.first.value, run.count);
  return {};
}

}  // namespace cordwood
