#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "base/result.hpp"
#include "format/key.hpp"
#include "frame/node_cache.hpp"
#include "space/reservation.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// Changes the shape of the tree: splits, pushes, merges, a new or a lower root. Each change holds the
/// tree's structure mutex; so inner nodes do not change under it, and it alone ever holds more than
/// one latch: it cannot deadlock with those who hold one.
///
/// Does no I/O for siblings: only resident ones are pushed to or merged with.
/// @invariant each key is in exactly one leaf, before and after; fences stay in step with separators.
class TreeSurgeon {
 public:
  TreeSurgeon(BTree& tree, Reservation& reservation)
      : tree_(tree), cache_(tree.cache_), reservation_(reservation) {}
  ~TreeSurgeon() { release_path(); }

  /// Gives the leaf of `key` room for an item of `item_bytes`, if it lacks it: pushes to a sibling or
  /// splits, as the policy says. The caller then searches again, and may have to call again.
  /// @errors corrupt, I/O (loading the path), kNoSpace (node ids): nothing changed.
  /// @source DESIGN.md, "Make room"; the btrfs seed on avoiding splits.
  Result<void> make_room(Key key, std::size_t item_bytes);

  /// Joins the leaf of `key` with a neighbour when both fit one node; lowers the tree when the root has
  /// one child left. Does nothing if another change of shape is under way.
  void merge_thin(Key key);

  /// Joins thin dirty leaves with dirty right neighbours, in key order.
  /// @source FACTS on bcachefs and LeanStore: the checkpoint rewrites these nodes anyway.
  void repack_dirty();

 private:
  enum class Side : std::uint8_t { kLeft, kRight };
  /// What is to go into the leaf, and what the leaf is like.
  struct Insertion {
    Key key;
    std::uint32_t slot = 0;
    std::uint32_t count = 0;
    std::uint32_t free = 0;  ///< bytes that the leaf has
    std::uint32_t need = 0;  ///< bytes that it must have
    bool replaces = false;   ///< an item of this key is there already

    [[nodiscard]] bool at_end() const { return slot == count && !replaces; }
    [[nodiscard]] bool at_start() const { return slot == 0 && !replaces; }
  };

  // Path
  Result<bool> find_path(Key key, bool may_load);
  void release_path();
  [[nodiscard]] Frame& leaf_frame() { return *path_[0]; }
  [[nodiscard]] bool has_parent(std::uint32_t level) const { return level + 1 < path_length_; }
  [[nodiscard]] Inner inner_at(std::uint32_t level) { return cache_.inner(*path_[level]); }
  [[nodiscard]] std::uint32_t index_in_parent(std::uint32_t level);
  [[nodiscard]] Frame* pin_sibling(std::uint32_t level, Side side);
  void replace_in_path(std::uint32_t level, Frame& frame);

  // Parents
  Result<void> ensure_parent_room(std::uint32_t level);
  Result<void> add_root();
  Result<void> split_inner(std::uint32_t level);
  void insert_into_parent(std::uint32_t level, Key separator, NodeId child);
  void erase_from_parent(std::uint32_t level, NodeId child);
  void set_separator(std::uint32_t level, std::uint32_t index, Key key);
  void set_border(Frame& left, Frame& right, Key key);

  // Making room
  [[nodiscard]] Insertion plan(Key key, std::size_t item_bytes);
  bool try_push(const Insertion& insertion);
  bool push(const Insertion& insertion, Side side);
  bool push_right(const Insertion& insertion, Frame& right);
  bool push_left(const Insertion& insertion, Frame& left);
  [[nodiscard]] std::uint32_t bytes_to_push(const Insertion& insertion,
                                            std::uint32_t sibling_free) const;
  [[nodiscard]] std::uint32_t sibling_free(Side side);
  Result<void> open_right_neighbour(const Insertion& insertion);
  Result<void> split_leaf(const Insertion& insertion);

  // Joining
  bool merge_leaf_with(Side side, std::uint32_t used_max, bool dirty_only);
  void after_merge();
  bool merge_inner_with(std::uint32_t level, Side side);
  void lower_root();

  [[nodiscard]] std::uint32_t room() const { return tree_.node_bytes_ - kNodeHeaderBytes; }

  BTree& tree_;
  NodeCache& cache_;
  Reservation& reservation_;
  std::array<Frame*, kMaxLevel + 2> path_{};  ///< pinned; [0] is the leaf
  std::uint32_t path_length_ = 0;
};

}  // namespace cordwood
