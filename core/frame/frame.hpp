#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "format/key.hpp"
#include "frame/latch.hpp"
#include "frame/placement.hpp"
#include "node/chunk_bitmap.hpp"
#include "node/erased_keys.hpp"

namespace cordwood {

/// A cache slot that holds one node in memory, as one linear buffer whatever blocks it lies on.
///
/// Frames are type-stable: once made they stay a frame, and an inner frame never holds a leaf, until
/// the cache is destroyed. So a stale pointer is safe to latch; `id` then tells what is in the frame.
/// Fences [low, high): the keys that belong to the node; kept here, not on the device.
///
/// For the log a leaf knows what changed in the epoch of its latest change: `chunks` and `erased`. They
/// mean something only while that epoch was not captured (see NodeCache, "the log").
///
/// Dirty life: clean -> dirty in generation g -> (freeze) frozen, still dirty in g -> written, clean.
/// Who changes a frozen frame first leaves a copy in `frozen_image` for the checkpoint to write.
struct Frame {
  Frame(std::byte* bytes, bool holds_inner) : data(bytes), inner(holds_inner) {}

  VersionLatch latch;
  std::atomic<std::uint64_t> id{0};  ///< node id; 0: empty. Changes under the exclusive latch.
  std::byte* const data;             ///< node_bytes long, aligned to 4096
  const bool inner;
  std::atomic<bool> referenced{false};  ///< used since the clock hand last passed
  std::atomic<std::uint32_t> pins{0};   ///< above 0: not evicted
  std::atomic<std::uint64_t> low_hi{0}, low_lo{0}, high_hi{0}, high_lo{0};

  // Under the exclusive latch:
  std::uint64_t dirty_generation =
      0;                        ///< generation of its latest change not yet written; 0: clean
  std::uint64_t frozen_id = 0;  ///< node that frozen_image holds
  AlignedBuffer frozen_image;   ///< content at the freeze, when changed since; not packed
  std::uint32_t next_insert_slot = 0;  ///< leaf: one past the last insert; detects appends and runs
  bool in_dirty_list[2] = {false, false};
  Frame* next_dirty[2] = {nullptr, nullptr};  ///< by generation parity
  bool in_free_list = false;                  ///< under the cache's frames mutex
  std::uint64_t change_epoch = 0;             ///< of its latest change; 0: captured
  ChunkBitmap chunks;                         ///< leaf: records changed in that epoch
  ErasedKeys erased;                          ///< leaf: keys erased in that epoch

  [[nodiscard]] NodeId node() const { return {id.load(std::memory_order_acquire)}; }
  [[nodiscard]] Key low() const {
    return {low_hi.load(std::memory_order_acquire), low_lo.load(std::memory_order_acquire)};
  }
  [[nodiscard]] Key high() const {
    return {high_hi.load(std::memory_order_acquire), high_lo.load(std::memory_order_acquire)};
  }
  void set_low(Key key) {
    low_hi.store(key.hi, std::memory_order_release);
    low_lo.store(key.lo, std::memory_order_release);
  }
  void set_high(Key key) {
    high_hi.store(key.hi, std::memory_order_release);
    high_lo.store(key.lo, std::memory_order_release);
  }
  /// Whether this frame holds `node` and the key belongs to it. Latched, or validated afterwards.
  [[nodiscard]] bool serves(NodeId node_id, Key key) const {
    return node() == node_id && low() <= key && key < high();
  }
};

}  // namespace cordwood
