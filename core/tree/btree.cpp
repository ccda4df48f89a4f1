#include "tree/btree.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "tree/surgeon.hpp"

namespace cordwood {

namespace {

constexpr int kLevelShift = 56;

std::uint64_t pack_root(TreeRoot root) {
  return root.node.value | (std::uint64_t{root.level} << kLevelShift);
}

TreeRoot unpack_root(std::uint64_t word) {
  return {{word & ((std::uint64_t{1} << kLevelShift) - 1)},
          static_cast<std::uint8_t>(word >> kLevelShift)};
}

/// The leaf that this thread used last, of whichever cache.
struct ThreadHint {
  std::uint64_t serial = 0;
  Hint hint;
};
thread_local ThreadHint thread_hint;

}  // namespace

BTree::BTree(NodeCache& cache, const TreePolicy& policy, Counters& counters, Tracer tracer,
             TreeRoot root)
    : cache_(cache),
      policy_(policy),
      counters_(counters),
      trace_(tracer),
      node_bytes_(cache.node_bytes()),
      root_word_(pack_root(root)) {}

TreeRoot BTree::root() const { return unpack_root(root_word_.load(std::memory_order_acquire)); }

void BTree::set_root(TreeRoot root) {
  root_word_.store(pack_root(root), std::memory_order_release);
}

std::uint32_t BTree::max_item_bytes() const { return cordwood::max_item_bytes(node_bytes_); }

std::uint64_t BTree::nodes_for_items(std::uint64_t items) const {
  // An item changes its leaf, and may split it or push to a sibling; then each level above may change
  // and split, and a root may be added. A tree of few nodes cannot have more changed than it has.
  const std::uint64_t levels = root().level;
  const std::uint64_t per_item = 3 + 2 * levels + 1;
  return std::min(items * per_item, cache_.table().node_count() + 2 * items + 2 * levels + 2);
}

// ---- finding leaves ----

void BTree::lock_leaf(Frame& frame, Latch latch) {
  latch == Latch::kExclusive ? frame.latch.lock() : frame.latch.lock_shared();
}

void BTree::unlock_leaf(Frame& frame, Latch latch) {
  latch == Latch::kExclusive ? frame.latch.unlock() : frame.latch.unlock_shared();
}

bool BTree::try_hint(const Hint& hint, Key key, Latch latch) {
  if (hint.frame == nullptr) return false;
  // A look without the latch first, so that a hint that does not serve disturbs nobody.
  if (hint.frame->serves(hint.node, key)) {
    lock_leaf(*hint.frame, latch);
    if (hint.frame->serves(hint.node, key)) {
      counters_.add(Counter::kHintHits);
      return true;
    }
    unlock_leaf(*hint.frame, latch);
  }
  counters_.add(Counter::kHintMisses);
  return false;
}

Result<Frame*> BTree::find_leaf(Key key, Latch latch, Hint* hint) {
  if (policy_.search_hint == SearchHint::kOff) return descend(key, latch);
  if (hint == nullptr) {
    if (thread_hint.serial != cache_.serial()) thread_hint = {cache_.serial(), {}};
    hint = &thread_hint.hint;
  }
  if (try_hint(*hint, key, latch)) return hint->frame;
  Frame* frame = TRY(descend(key, latch));
  *hint = {frame, frame->node()};
  return frame;
}

Result<Frame*> BTree::descend(Key key, Latch latch) {
  counters_.add(Counter::kDescents);
  while (true) {
    auto leaf = try_descend(key, latch);
    if (!leaf || *leaf != nullptr) return leaf;
    counters_.add(Counter::kDescentRestarts);
  }
}

/// One attempt; null when a concurrent change was met.
Result<Frame*> BTree::try_descend(Key key, Latch latch) {
  const std::uint64_t root_word = root_word_.load(std::memory_order_acquire);
  const TreeRoot root = unpack_root(root_word);
  Frame* frame = cache_.resident(root.node);
  if (frame == nullptr) {
    frame = TRY(cache_.load(root.node, root.level, kMinKey, kMaxKey, [&] {
      return root_word_.load(std::memory_order_acquire) == root_word;
    }));
    if (frame == nullptr) return nullptr;
  }
  NodeId id = root.node;
  for (std::uint8_t level = root.level; level > 0; --level) {
    const std::uint64_t version = frame->latch.begin_optimistic();
    const Inner inner = cache_.inner(*frame);
    // Everything read here may be torn; nothing of it is used before validate() says otherwise.
    const bool serves = frame->serves(id, key);
    const std::uint32_t index = inner.find(key);
    const NodeId child = inner.child(index);
    if (!frame->latch.validate(version) || !serves) return nullptr;
    if (!frame->referenced.load(std::memory_order_relaxed)) {
      frame->referenced.store(true, std::memory_order_relaxed);
    }
    Frame* next = cache_.resident(child);
    if (next == nullptr) next = TRY(load_child(*frame, version, index, child, level));
    if (next == nullptr) return nullptr;
    frame = next;
    id = child;
  }
  lock_leaf(*frame, latch);
  if (!frame->serves(id, key)) {
    unlock_leaf(*frame, latch);
    return nullptr;
  }
  if (!frame->referenced.load(std::memory_order_relaxed)) {
    frame->referenced.store(true, std::memory_order_relaxed);
  }
  return frame;
}

Result<Frame*> BTree::load_child(Frame& parent, std::uint64_t version, std::uint32_t index,
                                 NodeId child, std::uint8_t parent_level) {
  const Inner inner = cache_.inner(parent);
  const Key low = inner.key(index);
  const Key high = index + 1 < inner.count() ? inner.key(index + 1) : parent.high();
  const NodeId parent_id = parent.node();
  // Pinned, or a small cache would evict the parent to make room for the child, for ever.
  if (!parent.latch.validate(version) || !cache_.pin(parent, parent_id)) return nullptr;
  auto loaded = cache_.load(child, parent_level - 1, low, high,
                            [&] { return parent.latch.validate(version); });
  cache_.unpin(parent);
  return loaded;
}

// ---- reading ----

Result<bool> BTree::read(Key key, FunctionRef<void(ConstBytes)> visit, Hint* hint) {
  Frame* frame = TRY(find_leaf(key, Latch::kShared, hint));
  const Leaf leaf = cache_.leaf(*frame);
  const SlotPosition at = leaf.find(key);
  if (at.found) visit(leaf.item(at.slot));
  frame->latch.unlock_shared();
  return at.found;
}

Result<bool> BTree::read_floor(Key key, Key lowest, FunctionRef<void(Key, ConstBytes)> visit) {
  while (true) {
    Frame* frame = TRY(find_leaf(key, Latch::kShared, nullptr));
    const Leaf leaf = cache_.leaf(*frame);
    const SlotPosition at = leaf.find(key);
    if (at.found || at.slot > 0) {
      const std::uint32_t slot = at.found ? at.slot : at.slot - 1;
      const Key found = leaf.key(slot);
      if (found >= lowest) visit(found, leaf.item(slot));
      frame->latch.unlock_shared();
      return found >= lowest;
    }
    const Key low = frame->low();
    frame->latch.unlock_shared();
    if (low <= lowest) return false;
    key = low.previous();
  }
}

Result<void> BTree::scan(Key from, Key end, FunctionRef<bool(Key, ConstBytes)> visit) {
  while (from < end) {
    Frame* frame = TRY(find_leaf(from, Latch::kShared, nullptr));
    const Leaf leaf = cache_.leaf(*frame);
    const std::uint32_t count = leaf.count();
    bool go_on = true;
    for (std::uint32_t slot = leaf.find(from).slot; slot < count && go_on; ++slot) {
      const Key key = leaf.key(slot);
      if (key >= end) break;
      go_on = visit(key, leaf.item(slot));
    }
    from = frame->high();
    frame->latch.unlock_shared();
    if (!go_on) break;
  }
  return {};
}

Result<void> BTree::prefault(Key key, Hint* hint) {
  Frame* frame = TRY(find_leaf(key, Latch::kShared, hint));
  frame->latch.unlock_shared();
  return {};
}

// ---- changing ----

Result<void> BTree::insert(Reservation& reservation, Key key, ConstBytes data, Hint* hint) {
  counters_.add(Counter::kInserts);
  return store(reservation, key, data, hint, Existing::kRefuse);
}

Result<void> BTree::put(Reservation& reservation, Key key, ConstBytes data, Hint* hint) {
  counters_.add(Counter::kUpdates);
  return store(reservation, key, data, hint, Existing::kReplace);
}

Result<void> BTree::store(Reservation& reservation, Key key, ConstBytes data, Hint* hint,
                          Existing existing) {
  CW_CHECK(data.size() <= max_item_bytes());
  while (true) {
    Frame* frame = TRY(find_leaf(key, Latch::kExclusive, hint));
    const SlotPosition at = cache_.leaf(*frame).find(key);
    const bool refused = at.found && existing == Existing::kRefuse;
    const bool stored = !refused && store_in_leaf(reservation, *frame, key, data, at);
    frame->latch.unlock();
    if (refused) return make_error(Errc::kExists, "");
    if (stored) return {};
    TRY(TreeSurgeon(*this, reservation).make_room(key, data.size()));
  }
}

Result<void> BTree::insert_run(Reservation& reservation, std::span<const NewItem> items,
                               Hint* hint) {
  counters_.add(Counter::kInserts, items.size());
  while (!items.empty()) {
    Frame* frame = TRY(find_leaf(items.front().key, Latch::kExclusive, hint));
    SlotPosition at = cache_.leaf(*frame).find(items.front().key);
    std::size_t done = 0;
    while (done < items.size() && items[done].key < frame->high()) {
      if (at.found) {
        frame->latch.unlock();
        return make_error(Errc::kExists, "");
      }
      CW_CHECK(items[done].data.size() <= max_item_bytes());
      if (!store_in_leaf(reservation, *frame, items[done].key, items[done].data, at)) break;
      ++done;
      ++at.slot;
    }
    frame->latch.unlock();
    items = items.subspan(done);
    if (done == 0) {
      TRY(TreeSurgeon(*this, reservation).make_room(items.front().key, items.front().data.size()));
    }
  }
  return {};
}

/// Inserts or replaces if the leaf has room, after compacting it if need be.
/// @pre latched exclusive
bool BTree::store_in_leaf(Reservation& reservation, Frame& frame, Key key, ConstBytes data,
                          SlotPosition at) {
  Leaf leaf = cache_.leaf(frame);
  const auto size = static_cast<std::uint32_t>(data.size());
  if (at.found && size <= leaf.item(at.slot).size()) {
    cache_.prepare_write(frame, reservation);
    leaf.replace(at.slot, data);
    return true;
  }
  const std::uint32_t need = item_footprint(size);
  if (leaf.contiguous_free_bytes() < need) {
    const std::uint32_t freed = at.found ? leaf.footprint(at.slot) : 0;
    if (leaf.free_bytes() + freed < need) return false;
    cache_.prepare_write(frame, reservation);
    if (at.found) {
      leaf.erase(at.slot);
      at.found = false;
    }
    compact(frame);
  }
  cache_.prepare_write(frame, reservation);
  if (at.found) {
    leaf.replace(at.slot, data);
  } else {
    leaf.insert(at.slot, key, data);
    frame.next_insert_slot = at.slot + 1;
  }
  return true;
}

void BTree::compact(Frame& frame) {
  Leaf leaf = cache_.leaf(frame);
  counters_.add(Counter::kCompactions);
  trace_(EventKind::kCompact, frame.node().value, leaf.free_bytes());
  leaf.compact(scratch());
}

std::byte* BTree::scratch() {
  thread_local const AlignedBuffer buffer = allocate_aligned(kMaxNodeBytes);
  return buffer.get();
}

/// Changes a few times while a leaf shrinks from a third of its room to nothing: each time, a merge is
/// worth a try.
std::uint32_t BTree::thin_step(std::uint32_t used_bytes) const {
  const std::uint32_t step = (node_bytes_ - kNodeHeaderBytes) / 12;
  return std::min<std::uint32_t>((used_bytes + step - 1) / step, 4);
}

Result<void> BTree::erase(Reservation& reservation, Key key, Hint* hint) {
  Frame* frame = TRY(find_leaf(key, Latch::kExclusive, hint));
  Leaf leaf = cache_.leaf(*frame);
  const SlotPosition at = leaf.find(key);
  if (!at.found) {
    frame->latch.unlock();
    return make_error(Errc::kNoEntry, "");
  }
  counters_.add(Counter::kErases);
  cache_.prepare_write(*frame, reservation);
  const std::uint32_t used_before = leaf.used_bytes();
  leaf.erase(at.slot);
  frame->erased.add(leaf, key);
  if (frame->next_insert_slot > at.slot) --frame->next_insert_slot;
  const bool worth_merging = thin_step(used_before) != thin_step(leaf.used_bytes());
  frame->latch.unlock();
  if (worth_merging) TreeSurgeon(*this, reservation).merge_thin(key);
  return {};
}

Result<bool> BTree::update(Reservation& reservation, Key key, FunctionRef<void(Bytes)> change,
                           Hint* hint) {
  Frame* frame = TRY(find_leaf(key, Latch::kExclusive, hint));
  Leaf leaf = cache_.leaf(*frame);
  const SlotPosition at = leaf.find(key);
  if (at.found) {
    counters_.add(Counter::kUpdates);
    cache_.prepare_write(*frame, reservation);
    change(leaf.mutable_item(at.slot));
  }
  frame->latch.unlock();
  return at.found;
}

Result<void> BTree::touch(Reservation& reservation, Key key, Hint* hint) {
  Frame* frame = TRY(find_leaf(key, Latch::kExclusive, hint));
  cache_.prepare_write(*frame, reservation);
  frame->latch.unlock();
  return {};
}

void BTree::repack_dirty(Reservation& reservation) {
  if (policy_.split == SplitPolicy::kAdaptive) TreeSurgeon(*this, reservation).repack_dirty();
}

std::uint64_t BTree::resident_leaf_fill_permille() const {
  std::uint64_t used = 0;
  std::uint64_t leaves = 0;
  cache_.for_each_resident([&](const NodeCache::FrameInfo& info) {
    if (info.level != 0) return;
    used += info.used_bytes;
    ++leaves;
  });
  const std::uint64_t room = leaves * (node_bytes_ - kNodeHeaderBytes);
  return room == 0 ? 0 : used * 1000 / room;
}

}  // namespace cordwood
