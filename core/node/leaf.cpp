#include "node/leaf.hpp"

#include <cstring>

namespace cordwood {

void Leaf::initialize(std::uint64_t volume_id, std::uint64_t node_id) {
  std::memset(data_, 0, node_bytes_);
  store_le(data_ + offsetof(NodeHeader, magic), kNodeMagic);
  store_le(data_ + offsetof(NodeHeader, volume_id), volume_id);
  store_le(data_ + offsetof(NodeHeader, node_id), node_id);
  set_heap_top(node_bytes_);
  // No record is left that could be dirty.
  if (chunks_ != nullptr) chunks_->clear();
}

// Measured against a search without branches and against interpolation
// (tests/bench/node_bench.cpp): a branch lets the processor run ahead into the probable half, and
// the prefetch covers the other one, so that in a cold leaf the misses of several levels overlap.
// Keys are distinct integers: n slots after a key, keys are at least n larger. That bounds the
// search from each probe, and in a dense sequence (directory indexes) the bound is the item itself.
SlotPosition Leaf::find(Key key) const {
  std::uint32_t low = 0;         // every slot before it has a smaller key
  std::uint32_t high = count();  // from here on every slot has a larger one
  bool try_bound = true;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    // Slot `count` may be looked at here: there is always a record behind the slots.
    __builtin_prefetch(record((low + middle) / 2));
    __builtin_prefetch(record((middle + 1 + high) / 2));
    const Key probe = this->key(middle);
    if (probe == key) return {middle, true};
    if (probe < key) {
      low = middle + 1;
      const std::uint64_t distance = key.lo - probe.lo;
      if (probe.hi != key.hi || distance >= high - middle || !try_bound) continue;
      const std::uint32_t bound = middle + static_cast<std::uint32_t>(distance);
      if (this->key(bound) == key) return {bound, true};
      high = bound;
    } else {
      high = middle;
      const std::uint64_t distance = probe.lo - key.lo;
      if (probe.hi != key.hi || distance > middle - low || !try_bound) continue;
      const std::uint32_t bound = middle - static_cast<std::uint32_t>(distance);
      if (this->key(bound) == key) return {bound, true};
      low = bound + 1;
    }
    // A sequence with gaps: looking at further bounds would cost more than it saves.
    try_bound = false;
  }
  return {low, false};
}

Bytes Leaf::mutable_item(std::uint32_t slot) {
  const std::uint32_t at = offset(slot);
  const std::uint32_t bytes = record_bytes(at);
  mark(at, bytes);
  return {data_ + at + kRecordHeaderBytes, bytes - kRecordHeaderBytes};
}

Bytes Leaf::insert_space(std::uint32_t slot, Key key, std::uint32_t item_bytes) {
  const std::uint32_t total = count();
  const std::uint32_t top = heap_top();
  CW_DCHECK(slot <= total);
  CW_CHECK(item_bytes <= node_bytes_);
  CW_CHECK(slots_end(total) + item_footprint(item_bytes) <= top);
  const std::uint32_t bytes = kRecordHeaderBytes + item_bytes;
  const std::uint32_t at = top - bytes;
  std::memmove(slot_at(slot + 1), slot_at(slot), kSlotBytes * std::size_t{total - slot});
  set_offset(slot, at);
  set_count(total + 1);
  set_heap_top(at);
  store_key(data_ + at, key);
  store_le(data_ + at + kKeyBytes, static_cast<std::uint16_t>(item_bytes));
  mark(at, bytes);
  return {data_ + at + kRecordHeaderBytes, item_bytes};
}

void Leaf::insert(std::uint32_t slot, Key key, ConstBytes item) {
  const Bytes space = insert_space(slot, key, static_cast<std::uint32_t>(item.size()));
  if (!item.empty()) std::memcpy(space.data(), item.data(), item.size());
}

void Leaf::erase(std::uint32_t slot) {
  const std::uint32_t total = count();
  CW_DCHECK(slot < total);
  const std::uint32_t at = offset(slot);
  const std::uint32_t bytes = record_bytes(at);
  std::memmove(slot_at(slot), slot_at(slot + 1), kSlotBytes * std::size_t{total - slot - 1});
  set_count(total - 1);
  if (total == 1) {
    set_heap_top(node_bytes_);
    set_heap_garbage(0);
  } else if (at == heap_top()) {
    set_heap_top(at + bytes);
  } else {
    set_heap_garbage(heap_garbage() + bytes);
  }
}

void Leaf::replace(std::uint32_t slot, ConstBytes item) {
  const std::uint32_t old_at = offset(slot);
  const std::uint32_t old_bytes = record_bytes(old_at);
  const std::uint32_t bytes = kRecordHeaderBytes + static_cast<std::uint32_t>(item.size());
  std::uint32_t at = old_at;
  if (old_at == heap_top()) {
    // The lowest record grows and shrinks at its low end, without garbage.
    CW_CHECK(slots_end(count()) + bytes <= old_at + old_bytes);
    at = old_at + old_bytes - bytes;
    std::memmove(data_ + at, data_ + old_at, kKeyBytes);
    set_heap_top(at);
  } else if (bytes <= old_bytes) {
    set_heap_garbage(heap_garbage() + (old_bytes - bytes));
  } else {
    CW_CHECK(slots_end(count()) + bytes <= heap_top());
    at = heap_top() - bytes;
    std::memcpy(data_ + at, data_ + old_at, kKeyBytes);
    set_heap_top(at);
    set_heap_garbage(heap_garbage() + old_bytes);
  }
  set_offset(slot, at);
  store_le(data_ + at + kKeyBytes, static_cast<std::uint16_t>(item.size()));
  if (!item.empty()) std::memcpy(data_ + at + kRecordHeaderBytes, item.data(), item.size());
  mark(at, bytes);
}

}  // namespace cordwood
