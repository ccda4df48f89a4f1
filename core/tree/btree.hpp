#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "format/key.hpp"
#include "frame/node_cache.hpp"
#include "space/reservation.hpp"
#include "trace/counters.hpp"
#include "trace/trace.hpp"
#include "tree/policy.hpp"

namespace cordwood {

/// A remembered leaf. It serves a search when the frame still holds that node and the key lies between
/// its fences, which is checked under the leaf's latch; so a stale hint costs a little, never more.
/// @threads a Hint belongs to one thread at a time (its owner's lock).
struct Hint {
  Frame* frame = nullptr;
  NodeId node;
};

/// An item to insert: a key and the bytes it gets.
struct NewItem {
  Key key;
  ConstBytes data;
};

/// Where the tree begins: root node and its level (0: the root is a leaf).
struct TreeRoot {
  NodeId node;
  std::uint8_t level = 0;
};

/// The B+tree of a volume. Keys are unique; items are bytes, at most max_item_bytes() long.
///
/// Readers of inner nodes are optimistic; a leaf is latched shared or exclusive while it is used.
/// Splits, pushes and merges hold the structure mutex. Because every frame carries the fences of its
/// node, a descent needs no coupling: whatever it arrives at proves by id and fences that it is the
/// right node, or the descent begins again.
/// Changing calls run inside the gate and draw on the operation's reservation, which must cover
/// nodes_for_items() of the items that it inserts, grows or erases.
/// @threads any.
class BTree {
 public:
  BTree(NodeCache& cache, const TreePolicy& policy, Counters& counters, Tracer tracer,
        TreeRoot root);

  [[nodiscard]] TreeRoot root() const;
  [[nodiscard]] std::uint32_t max_item_bytes() const;
  /// Upper bound of nodes that inserting, growing or erasing `items` items can make dirty.
  [[nodiscard]] std::uint64_t nodes_for_items(std::uint64_t items) const;

  /// @errors kExists; corrupt, I/O from loading nodes: then nothing changed.
  Result<void> insert(Reservation& reservation, Key key, ConstBytes data, Hint* hint = nullptr);
  /// Inserts neighbours, keys ascending, with no existing key between them: one latch if they fit.
  /// @errors as insert; on kExists those before it stay inserted.
  Result<void> insert_run(Reservation& reservation, std::span<const NewItem> items,
                          Hint* hint = nullptr);
  /// Inserts, or replaces what is there.
  Result<void> put(Reservation& reservation, Key key, ConstBytes data, Hint* hint = nullptr);
  /// @errors kNoEntry
  Result<void> erase(Reservation& reservation, Key key, Hint* hint = nullptr);
  /// Changes an item in place, keeping its length. Returns false when there is none.
  Result<bool> update(Reservation& reservation, Key key, FunctionRef<void(Bytes)> change,
                      Hint* hint = nullptr);
  /// Makes the leaf that holds (or would hold) a key resident and dirty, so that a later update() of
  /// the same length in this generation cannot fail.
  Result<void> touch(Reservation& reservation, Key key, Hint* hint = nullptr);
  /// Makes the leaf that holds (or would hold) a key resident.
  Result<void> prefault(Key key, Hint* hint = nullptr);

  /// Shows an item's bytes to `visit` while its leaf is latched: no tree calls from inside. Returns
  /// false when there is none.
  Result<bool> read(Key key, FunctionRef<void(ConstBytes)> visit, Hint* hint = nullptr);
  /// The greatest key in [lowest, key]. Returns false when there is none.
  Result<bool> read_floor(Key key, Key lowest, FunctionRef<void(Key, ConstBytes)> visit);
  /// Visits items with keys in [from, end) in order until `visit` returns false. Leaf by leaf: each
  /// leaf is seen whole, and what comes and goes behind or before the scan does not disturb it.
  /// No tree calls from inside `visit`.
  Result<void> scan(Key from, Key end, FunctionRef<bool(Key, ConstBytes)> visit);

  /// The epoch that a change made now belongs to, and the last one in which anything changed.
  [[nodiscard]] Epoch epoch() const { return cache_.epoch(); }
  [[nodiscard]] Epoch last_change() const { return cache_.last_change(); }

  /// Joins thin dirty neighbours before a checkpoint writes them (adaptive policy only).
  void repack_dirty(Reservation& reservation);

  /// How full the resident leaves are, all together.
  [[nodiscard]] std::uint64_t resident_leaf_fill_permille() const;

 private:
  friend class TreeSurgeon;
  enum class Latch : std::uint8_t { kShared, kExclusive };
  enum class Existing : std::uint8_t { kRefuse, kReplace };

  static void lock_leaf(Frame& frame, Latch latch);
  static void unlock_leaf(Frame& frame, Latch latch);
  static std::byte* scratch();

  void set_root(TreeRoot root);
  bool try_hint(const Hint& hint, Key key, Latch latch);
  Result<Frame*> find_leaf(Key key, Latch latch, Hint* hint);
  Result<Frame*> descend(Key key, Latch latch);
  Result<Frame*> try_descend(Key key, Latch latch);
  Result<Frame*> load_child(Frame& parent, std::uint64_t version, std::uint32_t index, NodeId child,
                            std::uint8_t parent_level);
  Result<void> store(Reservation& reservation, Key key, ConstBytes data, Hint* hint,
                     Existing existing);
  bool store_in_leaf(Reservation& reservation, Frame& frame, Key key, ConstBytes data,
                     SlotPosition at);
  void compact(Frame& frame);
  [[nodiscard]] std::uint32_t thin_step(std::uint32_t used_bytes) const;

  NodeCache& cache_;
  TreePolicy policy_;
  Counters& counters_;
  Tracer trace_;
  std::uint32_t node_bytes_;
  std::atomic<std::uint64_t> root_word_;  ///< level << 56 | node id
  std::mutex structure_;  ///< held by whoever changes which nodes exist, or their fences
};

}  // namespace cordwood
