#include "space/group_search.hpp"

#include <algorithm>
#include <mutex>

namespace cordwood {

using Placed = std::optional<BlockRun>;

Result<Placed> GroupSearch::place_next(BlockNumber start, std::uint32_t want) {
  const std::uint64_t first = group_of(start);
  Placed placed = TRY(place_in(first, bit_of(start), want));
  // The first group comes again at the end, then from its beginning.
  for (std::uint64_t i = 1; !placed && i <= groups_.count(); ++i) {
    const std::uint64_t index = around(first + i);
    if (groups_.longest_free_run_bound(index) < want) continue;  // most of them on a full volume
    placed = TRY(place_in(index, 0, want));
  }
  return placed;
}

Result<Placed> GroupSearch::place_in(std::uint64_t index, std::uint32_t from, std::uint32_t want) {
  if (groups_.longest_free_run_bound(index) < want) return Placed{};
  Group& group = *TRY(groups_.load(index));
  const std::lock_guard lock(group.mutex());
  const std::optional<std::uint32_t> bit = find_clear_run(group.busy(), from, want);
  if (!bit) {
    // A search of the whole group that failed pays for a better bound, so that the next one skips.
    if (from <= group.window().allocatable.first) {
      groups_.set_longest_free_run_bound(index, longest_clear_run(group.busy()).count);
    }
    return Placed{};
  }
  const BitRun run{*bit, want};
  group.place(run);
  return Placed(group.window().blocks_of(run));
}

Result<Placed> GroupSearch::place_longest(BlockNumber start, std::uint32_t at_least,
                                          std::uint32_t want) {
  const std::uint64_t first = group_of(start);
  for (;;) {
    std::uint32_t longest = at_least - 1;
    std::uint64_t best = 0;
    for (std::uint64_t i = 0; i < groups_.count(); ++i) {
      const std::uint64_t index = around(first + i);
      const std::uint32_t bound = groups_.longest_free_run_bound(index);
      if (bound <= longest) continue;
      longest = bound;
      best = index;
    }
    if (longest < at_least) return Placed{};
    // A run as long as the greatest bound is the longest there is. If the group has none, its bound
    // has become smaller, and the next round is another one.
    const Placed placed = TRY(place_in(best, 0, std::min(longest, want)));
    if (placed) return placed;
  }
}

}  // namespace cordwood
