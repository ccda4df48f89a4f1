// Generations: freeze, write out, release.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "space/space.hpp"
#include "space/space_state.hpp"

namespace cordwood {

namespace {

/// Keeps the `runs_max` longest runs, in order of their places.
void keep_longest(std::vector<BlockRun>& runs, std::size_t runs_max) {
  if (runs.size() <= runs_max) return;
  const auto end = runs.begin() + static_cast<std::ptrdiff_t>(runs_max);
  std::nth_element(runs.begin(), end, runs.end(),
                   [](const BlockRun& a, const BlockRun& b) { return a.count > b.count; });
  runs.erase(end, runs.end());
  std::sort(runs.begin(), runs.end(),
            [](const BlockRun& a, const BlockRun& b) { return a.first < b.first; });
}

void append_merged(std::vector<BlockRun>& runs, BlockRun run) {
  if (!runs.empty() && runs.back().end() == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

void Space::freeze() {
  CW_CHECK(state_->frozen == State::Frozen::kNone);
  state_->current_parity = other(state_->current());
  state_->frozen = State::Frozen::kUnwritten;
}

Result<GroupPageRef> Space::write_out(Generation generation) {
  State& state = *state_;
  CW_CHECK(state.frozen == State::Frozen::kUnwritten);
  GroupTable& table = state.groups.table();
  PageBatch batch(state.device, &state.counters);
  std::vector<GroupTable::Change> changes;
  for (std::uint64_t index = 0; index < state.groups.count(); ++index) {
    Group* const group = state.groups.loaded(index);
    if (group == nullptr) continue;
    BitmapWords image;
    {
      const std::lock_guard lock(group->mutex());
      if (!group->dirty(state.frozen_parity())) continue;
      image = group->frozen_image(state.frozen_parity());
    }
    GroupDescriptor descriptor;
    descriptor.slot = table.descriptor(index).slot ^ 1;
    const std::uint64_t place = state.layout.bitmap_byte(index, descriptor.slot);
    const Bytes page = TRY(batch.add(place));
    std::memcpy(page.data(), image.data(), sizeof image);
    descriptor.bitmap_checksum = state.groups.bitmap_checksum(page, place);
    descriptor.generation = generation.value;
    descriptor.free_blocks = count_clear(image);
    descriptor.longest_free_run = longest_clear_run(image).count;
    descriptor.written = 1;
    changes.push_back({index, descriptor});
  }
  // Bitmaps and group pages need no order among themselves: the superblock comes after a flush.
  TRY(table.write(batch, changes));
  state.frozen = State::Frozen::kWritten;
  return table.root();
}

std::uint64_t Space::frozen_free_blocks() const { return state_->groups.table().free_blocks(); }

std::vector<BlockRun> Space::frozen_pending_runs(std::size_t runs_max) const {
  const State& state = *state_;
  CW_CHECK(state.frozen == State::Frozen::kWritten);
  std::vector<BlockRun> runs;
  for (std::uint64_t index = 0; index < state.groups.count(); ++index) {
    Group* const group = state.groups.loaded(index);
    if (group == nullptr) continue;
    const std::lock_guard lock(group->mutex());
    const SparseBits& pending = group->pending(state.frozen_parity());
    if (pending.count() == 0) continue;
    for (BitRun run = next_set_run(pending.words(), 0); run.count != 0;
         run = next_set_run(pending.words(), run.end())) {
      append_merged(runs, group->window().blocks_of(run));
    }
  }
  keep_longest(runs, runs_max);
  return runs;
}

void Space::release_frozen() {
  State& state = *state_;
  CW_CHECK(state.frozen == State::Frozen::kWritten);
  state.frozen = State::Frozen::kNone;
  std::uint64_t released = 0;
  for (std::uint64_t index = 0; index < state.groups.count(); ++index) {
    Group* const group = state.groups.loaded(index);
    if (group == nullptr) continue;
    const std::lock_guard lock(group->mutex());
    const std::uint32_t in_group = group->release(state.frozen_parity());
    if (in_group == 0) continue;
    state.groups.set_longest_free_run_bound(index, longest_clear_run(group->busy()).count);
    released += in_group;
  }
  state.pending.fetch_sub(released, std::memory_order_relaxed);
  state.add_free(released);
  state.add_available(released);
}

}  // namespace cordwood
