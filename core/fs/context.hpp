#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "checkpoint/checkpointer.hpp"
#include "checkpoint/committer.hpp"
#include "device/block_device.hpp"
#include "device/flush_tracker.hpp"
#include "format/items.hpp"
#include "format/layout.hpp"
#include "frame/node_cache.hpp"
#include "space/space.hpp"
#include "trace/counters.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// What all parts of the filesystem work with. Everything it refers to outlives them.
struct FsContext {
  BlockDevice& device;
  Space& space;
  const NodeCache& cache;
  BTree& tree;
  Checkpointer& checkpointer;
  Committer& committer;
  FlushTracker& flushes;
  Clock& clock;
  Counters& counters;
  Layout layout;
  NameHasher hasher;
  std::uint32_t inline_max = 0;  ///< bytes of a file that live in its item; fits an item

  [[nodiscard]] std::uint64_t volume_seed() const { return hasher.volume_seed; }
  [[nodiscard]] std::uint64_t blocks_per_granule() const {
    return kGranuleBytes / layout.block_bytes;
  }
};

/// Runs the changing part of an operation. If it fails, something may already have changed, so the
/// volume takes no more changes: nothing half-done ever reaches the device.
template <class Change>
Result<void> apply(Operation& operation, Change&& change) {
  Result<void> done = change();
  if (!done) return operation.fail(done.error());
  return done;
}

}  // namespace cordwood
