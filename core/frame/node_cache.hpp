#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/function_ref.hpp"
#include "base/ids.hpp"
#include "base/page_memory.hpp"
#include "base/result.hpp"
#include "format/key.hpp"
#include "frame/frame.hpp"
#include "frame/node_table.hpp"
#include "frame/placement.hpp"
#include "node/inner.hpp"
#include "node/leaf.hpp"
#include "space/reservation.hpp"
#include "trace/counters.hpp"
#include "trace/trace.hpp"

namespace cordwood {

/// The nodes in memory: loading, making, dirtying, evicting (clock), and handing the dirty ones of a
/// frozen generation to the checkpoint. Dirty nodes stay until they are written.
/// @threads any, unless said otherwise.
class NodeCache {
 public:
  NodeCache(Placement& placement, NodeTable& table, std::uint64_t volume_id, Generation generation,
            std::size_t budget_bytes, PageMemory& memory, Counters& counters, Tracer tracer);
  ~NodeCache();

  [[nodiscard]] std::uint32_t node_bytes() const { return node_bytes_; }
  [[nodiscard]] NodeTable& table() { return table_; }
  /// Distinguishes caches, so that thread-local hints never reach into another or a dead one.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }

  /// The frame that holds a node, if it is in memory. Lock-free.
  [[nodiscard]] Frame* resident(NodeId id) const;
  /// Reads a node into a frame with the given fences. `fences_current` tells, after the read, whether
  /// nothing happened since that could have moved the fences; if something did, null is returned:
  /// descend again.
  /// @errors corrupt: content or place wrong; I/O.
  Result<Frame*> load(NodeId id, std::uint8_t level, Key low, Key high,
                      FunctionRef<bool()> fences_current);
  /// Pins the frame that holds a node, if it is resident: it stays until unpin().
  [[nodiscard]] Frame* pin_resident(NodeId id);
  /// Pins a frame if it still holds the node.
  [[nodiscard]] bool pin(Frame& frame, NodeId id);
  void unpin(Frame& frame);

  /// A new empty node, dirty; its frame is latched exclusive.
  /// @errors kNoSpace: no ids; corrupt, I/O from the table.
  Result<Frame*> create(std::uint8_t level, Key low, Key high, Reservation& reservation);
  /// The node leaves the tree. @pre frame latched exclusive; this unlatches it.
  void discard(Frame& frame, Reservation& reservation);
  /// To be called before the first change under each exclusive latch: keeps a copy for the checkpoint
  /// if it has not written the frame yet, marks it dirty in this generation, takes its blocks.
  void prepare_write(Frame& frame, Reservation& reservation) {
    if (frame.change_epoch != epoch_.load(std::memory_order_relaxed)) {
      begin_change(frame, reservation);
    }
  }
  /// To be called before a border of a leaf moves though none of its items change: what the epoch that
  /// is being captured erased stays with the border of then. @pre latched exclusive
  void settle_epoch(Frame& frame) {
    if (frame.change_epoch != epoch_.load(std::memory_order_relaxed)) leave_epoch(frame);
  }
  /// Blocks that one dirty node takes from a reservation at most, table pages included.
  [[nodiscard]] std::uint64_t blocks_per_dirty_node() const;

  [[nodiscard]] Leaf leaf(Frame& frame) const { return {frame.data, node_bytes_, &frame.chunks}; }
  [[nodiscard]] Inner inner(const Frame& frame) const { return {frame.data, node_bytes_}; }

  [[nodiscard]] Generation generation() const {
    return {generation_.load(std::memory_order_acquire)};
  }
  [[nodiscard]] std::uint64_t dirty_bytes() const;
  [[nodiscard]] std::uint64_t resident_nodes() const;

  // ---- the log ----
  /// Changes are counted in epochs: each capture, and each freeze, ends one. This is the current one.
  [[nodiscard]] Epoch epoch() const { return {epoch_.load(std::memory_order_acquire)}; }
  /// Bytes of the leaves that changed in it.
  [[nodiscard]] std::uint64_t changed_bytes() const {
    return changed_count_.load(std::memory_order_relaxed) * node_bytes_;
  }
  /// The last epoch in which anything changed, as far as that is known.
  [[nodiscard]] Epoch last_change() const;
  /// A leaf with changes of an epoch that ended.
  struct ChangedLeaf {
    Key low;
    Frame* frame = nullptr;
  };
  /// Ends the epoch and returns the leaves that changed in it, to be captured until end_capture(). Gate
  /// closed; O(leaves).
  std::vector<ChangedLeaf> cut_epoch();
  /// Shows a leaf of cut_epoch() as it was at the cut, with what had changed in it, unless it was shown
  /// before. It may be changed meanwhile: whoever does that first leaves a copy for this.
  void capture(const ChangedLeaf& changed, FunctionRef<void(const Leaf&, ErasedKeys&)> visit);
  /// The capture is complete, or was given up.
  void end_capture();

  // ---- the checkpoint ----
  /// The dirty frames become frozen, a new generation opens. Gate closed; O(1). The epoch has just
  /// ended.
  void freeze();
  /// A node that the frozen generation changed.
  struct FrozenNode {
    Frame* frame = nullptr;
    NodeId id;
    Key low;  ///< roughly, for ordering
  };
  /// The frozen frames in key order, pinned.
  std::vector<FrozenNode> frozen_nodes();
  /// Writes a frozen node's on-disk form to `target`; it is clean from now on, unless changed since.
  void pack_frozen(const FrozenNode& node, std::byte* target, Generation generation);
  /// The node's new place is known and written: it may be evicted again.
  void finish_frozen(const FrozenNode& node);
  /// Blocks reserved for the frozen nodes.
  [[nodiscard]] std::uint64_t frozen_reserved_blocks() const {
    return reserved_[1 - current_].load(std::memory_order_relaxed);
  }
  /// The frozen generation is done with: forgets its reservations.
  void end_frozen() { reserved_[1 - current_].store(0, std::memory_order_relaxed); }

  // ---- inspection ----
  struct FrameInfo {
    NodeId id;
    std::uint8_t level = 0;
    bool dirty = false;
    std::uint32_t used_bytes = 0;
    std::uint32_t count = 0;
    Key low, high;
  };
  /// A consistent picture of each resident node, one after the other.
  void for_each_resident(FunctionRef<void(const FrameInfo&)> visit);

 private:
  Frame& acquire_frame(bool inner);
  Frame& new_frame(bool inner);
  Frame* evict(bool inner);
  void recycle(Frame& frame);
  Result<void> read_node(Frame& frame, const TableEntry& entry, NodeId id, std::uint8_t level,
                         Key low, Key high);
  void occupy(Frame& frame, NodeId id, Key low, Key high);
  void begin_change(Frame& frame, Reservation& reservation);
  void leave_epoch(Frame& frame);
  void become_dirty(Frame& frame, Reservation& reservation);
  void preserve_frozen(Frame& frame);
  AlignedBuffer spare_image();
  std::mutex& load_mutex(NodeId id) { return load_mutexes_[id.value % load_mutexes_.size()]; }

  Placement& placement_;
  NodeTable& table_;
  std::uint64_t volume_id_;
  std::uint32_t node_bytes_;
  std::uint64_t node_blocks_;  ///< reserved per dirty node: its own and its fragment lists'
  Counters& counters_;
  Tracer trace_;
  std::uint64_t serial_;
  std::size_t frames_max_;

  std::atomic<std::uint64_t> resident_{0};
  std::atomic<std::uint64_t> generation_;
  unsigned current_ = 0;  ///< parity of the generation being changed; changes with the gate closed
  std::array<std::atomic<Frame*>, 2> dirty_{};
  std::array<std::atomic<std::uint64_t>, 2> reserved_{};
  std::array<std::atomic<std::uint64_t>, 2> dirty_count_{};

  /// A leaf of the epoch being captured that was changed before its turn came.
  struct LeftCopy {
    AlignedBuffer image;
    ChunkBitmap chunks;
    ErasedKeys erased;
  };
  std::atomic<std::uint64_t> epoch_{1};
  std::atomic<std::uint64_t> capturing_{0};  ///< the epoch being captured; 0: none
  mutable std::mutex epoch_mutex_;           ///< the two below
  std::vector<Frame*> changed_leaves_;       ///< in the current epoch; a frame may be there twice
  std::atomic<std::uint64_t> changed_count_{0};  ///< of those
  std::unordered_map<Frame*, LeftCopy> left_copies_;

  std::array<std::mutex, 64> load_mutexes_;
  mutable std::mutex frames_mutex_;  ///< the lists below
  std::deque<Frame> frames_;
  PageMemory& memory_;
  std::vector<PageBlock> slabs_;
  std::size_t slab_used_ = 0;    ///< bytes of the last slab
  std::vector<Frame*> free_[2];  ///< by kind: leaf, inner
  std::vector<AlignedBuffer> spare_images_;
  std::size_t clock_hand_ = 0;
};

}  // namespace cordwood
