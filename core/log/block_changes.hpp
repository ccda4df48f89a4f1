#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace cordwood {

/// What a replay does to the use of blocks, summed up: extents that records put and erase, each as a
/// step up or down at its ends.
/// @invariant a block belongs to at most one extent at any cut, so each sum is -1, 0 or 1.
class BlockChanges {
 public:
  void add(BlockRun run) { count(run, 1); }
  void drop(BlockRun run) { count(run, -1); }

  struct Net {
    std::vector<BlockRun> taken;  ///< used now, but not at the checkpoint
    std::vector<BlockRun> freed;  ///< the opposite
  };
  /// @errors corrupt: a block would belong to two extents.
  [[nodiscard]] Result<Net> net() const;

 private:
  void count(BlockRun run, std::int64_t step) {
    if (run.count == 0) return;
    steps_[run.first.value] += step;
    steps_[run.end().value] -= step;
  }
  std::map<std::uint64_t, std::int64_t> steps_;
};

}  // namespace cordwood
