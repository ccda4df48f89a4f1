// How thin neighbours become one node again, and the tree lower (TreeSurgeon).

#include <utility>
#include <vector>

#include "base/check.hpp"
#include "tree/surgeon.hpp"

namespace cordwood {

void TreeSurgeon::merge_thin(Key key) {
  const std::unique_lock structure(tree_.structure_, std::try_to_lock);
  if (!structure) return;
  // Nothing is loaded here, so nothing can fail.
  const auto resident = find_path(key, false);
  if (!resident || !*resident) return;
  // Not to the brim, or the next insertion would split it again.
  const std::uint32_t used_max = room() - room() / 8;
  if (merge_leaf_with(Side::kLeft, used_max, false) ||
      merge_leaf_with(Side::kRight, used_max, false)) {
    after_merge();
  }
}

void TreeSurgeon::repack_dirty() {
  std::vector<Key> thin;
  const std::uint32_t thin_below = room() / 10 * 6;
  cache_.for_each_resident([&](const NodeCache::FrameInfo& info) {
    if (info.level == 0 && info.dirty && info.used_bytes < thin_below) thin.push_back(info.low);
  });
  const std::uint32_t used_max = room() - room() / 20;
  const std::uint64_t blocks_min = 4 * cache_.blocks_per_dirty_node();
  for (const Key key : thin) {
    if (reservation_.blocks() < blocks_min) break;
    const std::lock_guard structure(tree_.structure_);
    const auto resident = find_path(key, false);
    if (!resident || !*resident) continue;
    if (merge_leaf_with(Side::kLeft, used_max, true) ||
        merge_leaf_with(Side::kRight, used_max, true)) {
      tree_.counters_.add(Counter::kRepacks);
      after_merge();
    }
  }
}

/// Joins the path's leaf with a neighbour into the left one of the two, if it then has at most
/// `used_max` bytes used.
bool TreeSurgeon::merge_leaf_with(Side side, std::uint32_t used_max, bool dirty_only) {
  Frame* sibling = pin_sibling(0, side);
  if (sibling == nullptr) return false;
  Frame* left = side == Side::kLeft ? sibling : path_[0];
  Frame* right = side == Side::kLeft ? path_[0] : sibling;
  left->latch.lock();
  right->latch.lock();
  Leaf target = cache_.leaf(*left);
  Leaf source = cache_.leaf(*right);
  const bool dirty = left->dirty_generation != 0 && right->dirty_generation != 0;
  if (target.used_bytes() + source.used_bytes() > used_max || (dirty_only && !dirty)) {
    right->latch.unlock();
    left->latch.unlock();
    cache_.unpin(*sibling);
    return false;
  }
  cache_.prepare_write(*left, reservation_);
  // The right one only leaves, but a frozen image of it must be taken before the move.
  cache_.prepare_write(*right, reservation_);
  source.move_to_back_of(target, source.count(), tree_.scratch());
  right->erased.move_all(left->erased);
  left->set_high(right->high());
  erase_from_parent(0, right->node());
  tree_.counters_.add(Counter::kMerges);
  tree_.trace_(EventKind::kMerge, left->node().value, right->node().value);
  // The path keeps the left one; the right one must have no pin when it is discarded.
  cache_.unpin(*right);
  path_[0] = left;
  cache_.discard(*right, reservation_);
  left->latch.unlock();
  return true;
}

/// The parent lost a child: it may be thin now, and so on upwards.
void TreeSurgeon::after_merge() {
  for (std::uint32_t level = 1; has_parent(level); ++level) {
    if (inner_at(level).count() > inner_at(level).capacity() / 4) break;
    if (!merge_inner_with(level, Side::kLeft) && !merge_inner_with(level, Side::kRight)) break;
  }
  lower_root();
}

bool TreeSurgeon::merge_inner_with(std::uint32_t level, Side side) {
  Frame* sibling = pin_sibling(level, side);
  if (sibling == nullptr) return false;
  Frame* left = side == Side::kLeft ? sibling : path_[level];
  Frame* right = side == Side::kLeft ? path_[level] : sibling;
  Inner target = cache_.inner(*left);
  Inner source = cache_.inner(*right);
  if (target.count() + source.count() > target.capacity() / 4 * 3) {
    cache_.unpin(*sibling);
    return false;
  }
  left->latch.lock();
  right->latch.lock();
  cache_.prepare_write(*left, reservation_);
  cache_.prepare_write(*right, reservation_);
  source.move_to_back_of(target, source.count());
  left->set_high(right->high());
  erase_from_parent(level, right->node());
  tree_.counters_.add(Counter::kInnerMerges);
  tree_.trace_(EventKind::kMerge, left->node().value, right->node().value);
  cache_.unpin(*right);
  path_[level] = left;
  cache_.discard(*right, reservation_);
  left->latch.unlock();
  return true;
}

/// While the root has one child, that child is the root.
void TreeSurgeon::lower_root() {
  while (path_length_ > 1 && inner_at(path_length_ - 1).count() == 1) {
    Frame& root = *path_[path_length_ - 1];
    const NodeId child = inner_at(path_length_ - 1).child(0);
    const auto level = static_cast<std::uint8_t>(path_length_ - 2);
    tree_.set_root({child, level});
    tree_.trace_(EventKind::kRootChange, root.node().value, child.value, level);
    root.latch.lock();
    cache_.unpin(root);
    path_[--path_length_] = nullptr;
    cache_.discard(root, reservation_);
  }
}

}  // namespace cordwood
