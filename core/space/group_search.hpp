#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "space/group_set.hpp"

namespace cordwood {

/// Searches the groups for free runs and puts what it finds in flight. Keeps no counts.
/// Runs never span groups.
/// @threads any. A search is exact when no block becomes free during it: it then fails only if
/// there
///          was no such run at its end. Who needs that repeats it if blocks did become free.
class GroupSearch {
 public:
  explicit GroupSearch(GroupSet& groups) : groups_(groups) {}

  /// Next fit: the first run of `want` blocks at or after `start`, around the end of the device.
  /// @param start  inside the allocatable blocks.
  /// @errors corrupt, I/O from loading a bitmap.
  Result<std::optional<BlockRun>> place_next(BlockNumber start, std::uint32_t want);

  /// The longest run there is, if it has at_least blocks; `want` blocks of it at most. Of several
  /// the one in the group that comes first from `start` on.
  /// @errors as place_next.
  Result<std::optional<BlockRun>> place_longest(BlockNumber start, std::uint32_t at_least,
                                                std::uint32_t want);

 private:
  Result<std::optional<BlockRun>> place_in(std::uint64_t group, std::uint32_t from,
                                           std::uint32_t want);
  /// Of group numbers that go past the last group, and on from the first.
  [[nodiscard]] std::uint64_t around(std::uint64_t group) const {
    return group < groups_.count() ? group : group - groups_.count();
  }

  GroupSet& groups_;
};

}  // namespace cordwood
