// How an insertion into a full leaf gets its room: compact, append, push, split (TreeSurgeon).

#include <algorithm>

#include "base/check.hpp"
#include "tree/surgeon.hpp"

namespace cordwood {

TreeSurgeon::Insertion TreeSurgeon::plan(Key key, std::size_t item_bytes) {
  const Leaf leaf = cache_.leaf(leaf_frame());
  const SlotPosition at = leaf.find(key);
  Insertion insertion;
  insertion.key = key;
  insertion.slot = at.slot;
  insertion.count = leaf.count();
  insertion.replaces = at.found;
  insertion.free = leaf.free_bytes() + (at.found ? leaf.footprint(at.slot) : 0);
  insertion.need = item_footprint(static_cast<std::uint32_t>(item_bytes));
  return insertion;
}

Result<void> TreeSurgeon::make_room(Key key, std::size_t item_bytes) {
  const std::lock_guard structure(tree_.structure_);
  TRY(find_path(key, true));
  Frame& frame = leaf_frame();
  const std::lock_guard latch(frame.latch);
  const Insertion insertion = plan(key, item_bytes);
  // Somebody else may have made room meanwhile; the caller compacts by itself.
  if (insertion.free >= insertion.need) return {};
  if (insertion.at_end() && frame.next_insert_slot == insertion.count) {
    return open_right_neighbour(insertion);
  }
  if (try_push(insertion)) return {};
  return split_leaf(insertion);
}

/// A stream of appends: this leaf stays full, the next one begins empty.
Result<void> TreeSurgeon::open_right_neighbour(const Insertion& insertion) {
  TRY(ensure_parent_room(0));
  Frame& frame = leaf_frame();
  Frame* right = TRY(cache_.create(0, insertion.key, frame.high(), reservation_));
  set_border(frame, *right, insertion.key);
  insert_into_parent(0, insertion.key, right->node());
  tree_.counters_.add(Counter::kAppendSplits);
  tree_.trace_(EventKind::kAppendSplit, frame.node().value, right->node().value);
  right->latch.unlock();
  return {};
}

Result<void> TreeSurgeon::split_leaf(const Insertion& insertion) {
  TRY(ensure_parent_room(0));
  Frame& frame = leaf_frame();
  Leaf leaf = cache_.leaf(frame);
  const std::uint32_t count = insertion.count;
  CW_CHECK(count >= 2);
  // Inside a run of insertions the cut goes where the run is, so that it goes on as appends; unless
  // one side would get next to nothing.
  const bool in_run = !insertion.replaces && frame.next_insert_slot == insertion.slot &&
                      insertion.slot > count / 8 && insertion.slot < count - count / 8;
  const std::uint32_t cut = in_run ? insertion.slot : leaf.middle_slot();
  const Key separator = leaf.key(cut);
  Frame* right = TRY(cache_.create(0, separator, frame.high(), reservation_));
  Leaf target = cache_.leaf(*right);
  cache_.prepare_write(frame, reservation_);
  leaf.move_to_front_of(target, cut, tree_.scratch());
  set_border(frame, *right, separator);
  if (frame.next_insert_slot > cut) right->next_insert_slot = frame.next_insert_slot - cut;
  frame.next_insert_slot = std::min(frame.next_insert_slot, cut);
  insert_into_parent(0, separator, right->node());
  tree_.counters_.add(Counter::kSplits);
  tree_.trace_(EventKind::kSplit, frame.node().value, right->node().value, count - cut);
  right->latch.unlock();
  return {};
}

// ---- pushing to siblings ----

bool TreeSurgeon::try_push(const Insertion& insertion) {
  switch (tree_.policy_.split) {
    case SplitPolicy::kNeverPush: return false;
    case SplitPolicy::kPushFull:
    case SplitPolicy::kPushNeeded:
      return push(insertion, Side::kRight) || push(insertion, Side::kLeft);
    case SplitPolicy::kAdaptive: {
      // Only to the emptier sibling, and only when that buys peace for a while: pushing a little each
      // time costs more than the split that it puts off.
      const std::uint32_t right = sibling_free(Side::kRight);
      const std::uint32_t left = sibling_free(Side::kLeft);
      if (std::max(left, right) < room() / 5) return false;
      return push(insertion, right >= left ? Side::kRight : Side::kLeft);
    }
  }
  return false;
}

/// 0 when there is none in memory.
std::uint32_t TreeSurgeon::sibling_free(Side side) {
  Frame* sibling = pin_sibling(0, side);
  if (sibling == nullptr) return 0;
  sibling->latch.lock_shared();
  const std::uint32_t free = cache_.leaf(*sibling).free_bytes();
  sibling->latch.unlock_shared();
  cache_.unpin(*sibling);
  return free;
}

bool TreeSurgeon::push(const Insertion& insertion, Side side) {
  Frame* sibling = pin_sibling(0, side);
  if (sibling == nullptr) return false;
  sibling->latch.lock();
  const std::uint32_t free = cache_.leaf(*sibling).free_bytes();
  // When the new item itself lands in the sibling, only room for all of it will do.
  const bool lands_there = side == Side::kRight ? insertion.at_end() : insertion.at_start();
  const bool whole = lands_there || tree_.policy_.split == SplitPolicy::kPushFull;
  bool pushed = free >= (whole ? insertion.need : insertion.need - insertion.free);
  if (pushed) {
    pushed =
        side == Side::kRight ? push_right(insertion, *sibling) : push_left(insertion, *sibling);
  }
  sibling->latch.unlock();
  cache_.unpin(*sibling);
  if (pushed) tree_.counters_.add(Counter::kPushes);
  return pushed;
}

/// At least what is missing; rather so much that both end up equally full with the new item.
std::uint32_t TreeSurgeon::bytes_to_push(const Insertion& insertion,
                                         std::uint32_t sibling_free) const {
  const std::uint32_t missing = insertion.need - insertion.free;
  const std::uint32_t even = (sibling_free + missing) / 2;
  return std::max(missing, even);
}

bool TreeSurgeon::push_right(const Insertion& insertion, Frame& right) {
  Frame& frame = leaf_frame();
  const std::uint32_t index = index_in_parent(0);
  if (insertion.at_end()) {
    // The border moves below the new key: nothing else has to.
    set_border(frame, right, insertion.key);
    set_separator(0, index + 1, insertion.key);
    return true;
  }
  Leaf leaf = cache_.leaf(frame);
  Leaf target = cache_.leaf(right);
  const std::uint32_t target_free = target.free_bytes();
  const std::uint32_t wanted = bytes_to_push(insertion, target_free);
  // What lies behind the new item may go; the item itself stays here.
  const std::uint32_t first_movable = std::max(insertion.slot + (insertion.replaces ? 1 : 0), 1u);
  std::uint32_t cut = insertion.count;
  std::uint32_t moved = 0;
  while (cut > first_movable && moved < wanted) {
    const std::uint32_t footprint = leaf.footprint(cut - 1);
    if (moved + footprint > target_free) break;
    moved += footprint;
    --cut;
  }
  if (insertion.free + moved < insertion.need) return false;
  const Key separator = leaf.key(cut);
  cache_.prepare_write(frame, reservation_);
  cache_.prepare_write(right, reservation_);
  leaf.move_to_front_of(target, cut, tree_.scratch());
  set_border(frame, right, separator);
  frame.next_insert_slot = std::min(frame.next_insert_slot, cut);
  right.next_insert_slot += insertion.count - cut;
  set_separator(0, index + 1, separator);
  tree_.counters_.add(Counter::kPushedBytes, moved);
  tree_.trace_(EventKind::kPush, frame.node().value, right.node().value, moved);
  return true;
}

bool TreeSurgeon::push_left(const Insertion& insertion, Frame& left) {
  Frame& frame = leaf_frame();
  Leaf leaf = cache_.leaf(frame);
  const std::uint32_t index = index_in_parent(0);
  if (insertion.at_start()) {
    const Key first = leaf.key(0);
    set_border(left, frame, first);
    set_separator(0, index, first);
    return true;
  }
  Leaf target = cache_.leaf(left);
  const std::uint32_t target_free = target.free_bytes();
  const std::uint32_t wanted = bytes_to_push(insertion, target_free);
  const std::uint32_t movable = std::min(insertion.slot, insertion.count - 1);
  std::uint32_t cut = 0;
  std::uint32_t moved = 0;
  while (cut < movable && moved < wanted) {
    const std::uint32_t footprint = leaf.footprint(cut);
    if (moved + footprint > target_free) break;
    moved += footprint;
    ++cut;
  }
  if (insertion.free + moved < insertion.need) return false;
  // All before the new item gone: the border goes below it, so that it stays here.
  const bool new_first = cut == insertion.slot && !insertion.replaces;
  const Key separator = new_first ? insertion.key : leaf.key(cut);
  cache_.prepare_write(frame, reservation_);
  cache_.prepare_write(left, reservation_);
  leaf.move_to_back_of(target, cut, tree_.scratch());
  set_border(left, frame, separator);
  frame.next_insert_slot -= std::min(frame.next_insert_slot, cut);
  set_separator(0, index, separator);
  tree_.counters_.add(Counter::kPushedBytes, moved);
  tree_.trace_(EventKind::kPush, frame.node().value, left.node().value, moved);
  return true;
}

}  // namespace cordwood
