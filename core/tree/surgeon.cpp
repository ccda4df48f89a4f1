#include "tree/surgeon.hpp"

#include "base/check.hpp"

namespace cordwood {

// ---- path ----

/// Pins the nodes from the root to the leaf of `key`. False when one is not resident and must not be
/// loaded. @pre structure mutex held, no latch held
Result<bool> TreeSurgeon::find_path(Key key, bool may_load) {
  release_path();
  const TreeRoot root = tree_.root();
  path_length_ = std::uint32_t{root.level} + 1;
  NodeId id = root.node;
  Key low = kMinKey;
  Key high = kMaxKey;
  for (std::uint32_t level = path_length_; level-- > 0;) {
    Frame* frame = cache_.pin_resident(id);
    while (frame == nullptr) {
      if (!may_load) return false;
      // Fences change only under the structure mutex, which we hold.
      Frame* loaded =
          TRY(cache_.load(id, static_cast<std::uint8_t>(level), low, high, [] { return true; }));
      if (cache_.pin(*loaded, id)) frame = loaded;
    }
    path_[level] = frame;
    if (level == 0) break;
    const Inner inner = cache_.inner(*frame);
    const std::uint32_t index = inner.find(key);
    low = inner.key(index);
    high = index + 1 < inner.count() ? inner.key(index + 1) : frame->high();
    id = inner.child(index);
  }
  return true;
}

void TreeSurgeon::release_path() {
  for (std::uint32_t level = 0; level < path_length_; ++level) {
    if (path_[level] != nullptr) cache_.unpin(*path_[level]);
    path_[level] = nullptr;
  }
  path_length_ = 0;
}

std::uint32_t TreeSurgeon::index_in_parent(std::uint32_t level) {
  const Inner parent = inner_at(level + 1);
  const std::uint32_t index = parent.index_of(path_[level]->node());
  CW_CHECK(index < parent.count());
  return index;
}

/// The neighbour under the same parent, pinned; null when there is none or it is not resident.
Frame* TreeSurgeon::pin_sibling(std::uint32_t level, Side side) {
  if (!has_parent(level)) return nullptr;
  const Inner parent = inner_at(level + 1);
  const std::uint32_t index = index_in_parent(level);
  if (side == Side::kLeft)
    return index == 0 ? nullptr : cache_.pin_resident(parent.child(index - 1));
  return index + 1 == parent.count() ? nullptr : cache_.pin_resident(parent.child(index + 1));
}

/// The path now leads through another frame. @pre `frame` pinned already
void TreeSurgeon::replace_in_path(std::uint32_t level, Frame& frame) {
  cache_.unpin(*path_[level]);
  path_[level] = &frame;
}

// ---- parents ----

/// Makes the node above `level` exist and have room for one more child.
Result<void> TreeSurgeon::ensure_parent_room(std::uint32_t level) {
  if (!has_parent(level)) return add_root();
  if (!inner_at(level + 1).full()) return {};
  TRY(ensure_parent_room(level + 1));
  return split_inner(level + 1);
}

Result<void> TreeSurgeon::add_root() {
  const auto level = static_cast<std::uint8_t>(path_length_);
  CW_CHECK(level <= kMaxLevel);
  const NodeId old_root = path_[path_length_ - 1]->node();
  Frame* root = TRY(cache_.create(level, kMinKey, kMaxKey, reservation_));
  cache_.inner(*root).insert(0, kMinKey, old_root);
  root->pins.fetch_add(1, std::memory_order_relaxed);
  root->latch.unlock();
  path_[path_length_++] = root;
  tree_.set_root({root->node(), level});
  tree_.trace_(EventKind::kRootChange, old_root.value, root->node().value, level);
  return {};
}

/// @pre the node above has room
Result<void> TreeSurgeon::split_inner(std::uint32_t level) {
  Frame& frame = *path_[level];
  Inner left = cache_.inner(frame);
  const std::uint32_t count = left.count();
  const NodeId below = path_[level - 1]->node();
  // Growing at the right end: leave the left node full, as leaves do.
  const std::uint32_t cut = left.index_of(below) == count - 1 ? count - 1 : count / 2;
  const Key separator = left.key(cut);
  Frame* right =
      TRY(cache_.create(static_cast<std::uint8_t>(level), separator, frame.high(), reservation_));
  Inner target = cache_.inner(*right);
  frame.latch.lock();
  cache_.prepare_write(frame, reservation_);
  left.move_to_front_of(target, cut);
  frame.set_high(separator);
  frame.latch.unlock();
  insert_into_parent(level, separator, right->node());
  tree_.counters_.add(Counter::kInnerSplits);
  tree_.trace_(EventKind::kInnerSplit, frame.node().value, right->node().value, level);
  const bool moved = target.index_of(below) < target.count();
  if (moved) right->pins.fetch_add(1, std::memory_order_relaxed);
  right->latch.unlock();
  if (moved) replace_in_path(level, *right);
  return {};
}

/// Inserts a new right neighbour of the path's node at `level` into its parent.
void TreeSurgeon::insert_into_parent(std::uint32_t level, Key separator, NodeId child) {
  const std::uint32_t index = index_in_parent(level);
  Frame& parent = *path_[level + 1];
  parent.latch.lock();
  cache_.prepare_write(parent, reservation_);
  cache_.inner(parent).insert(index + 1, separator, child);
  parent.latch.unlock();
}

void TreeSurgeon::erase_from_parent(std::uint32_t level, NodeId child) {
  Frame& parent = *path_[level + 1];
  parent.latch.lock();
  cache_.prepare_write(parent, reservation_);
  Inner inner = cache_.inner(parent);
  const std::uint32_t index = inner.index_of(child);
  // The first child is never the right one of two neighbours, so key(0) stays the low fence.
  CW_CHECK(index > 0 && index < inner.count());
  inner.erase(index);
  parent.latch.unlock();
}

/// Moves the border between two neighbouring leaves; what was erased there changes sides with it.
/// @pre both latched exclusive
void TreeSurgeon::set_border(Frame& left, Frame& right, Key key) {
  cache_.settle_epoch(left);
  cache_.settle_epoch(right);
  left.set_high(key);
  right.set_low(key);
  if (left.erased.any_from(key)) {
    cache_.prepare_write(right, reservation_);
    left.erased.move_from(key, right.erased);
  }
  if (right.erased.any_below(key)) {
    cache_.prepare_write(left, reservation_);
    right.erased.move_below(key, left.erased);
  }
}

/// Moves the border between the children index - 1 and index of the parent of `level`.
void TreeSurgeon::set_separator(std::uint32_t level, std::uint32_t index, Key key) {
  Frame& parent = *path_[level + 1];
  parent.latch.lock();
  cache_.prepare_write(parent, reservation_);
  cache_.inner(parent).set_key(index, key);
  parent.latch.unlock();
}

}  // namespace cordwood
