// Moving records in bulk: compaction, packing, and moves between leaves. All of it rests on runs:
// slots whose records lie one right below the other, which take one copy however many they are. A
// leaf that was filled by appends, or packed, is a single run.

#include <algorithm>
#include <cstring>

#include "node/copy.hpp"
#include "node/leaf.hpp"

namespace cordwood {

Leaf::Run Leaf::run_at(std::uint32_t first, std::uint32_t last) const {
  const std::uint32_t end = offset(first) + record_bytes(offset(first));
  std::uint32_t low = offset(first);
  std::uint32_t slot = first + 1;
  for (; slot < last; ++slot) {
    const std::uint32_t at = offset(slot);
    if (at + record_bytes(at) != low) break;
    low = at;
  }
  return {.last = slot, .first_byte = low, .bytes = end - low};
}

void Leaf::place(const Leaf& source, std::uint32_t first, std::uint32_t last, std::uint32_t slot) {
  std::uint32_t top = heap_top();
  while (first < last) {
    const Run run = source.run_at(first, last);
    top -= run.bytes;
    copy_bytes(data_ + top, source.data_ + run.first_byte, run.bytes);
    const std::uint32_t shift = top - run.first_byte;  // modulo 2^32: may be "negative"
    for (; first < run.last; ++first, ++slot) set_offset(slot, source.offset(first) + shift);
    if (chunks_ != nullptr) {
      // Without a bitmap the source cannot say what changed, so all of it counts as changed.
      if (source.chunks_ == nullptr) {
        chunks_->mark(top, run.bytes);
      } else {
        chunks_->mark_moved(*source.chunks_, run.first_byte, run.bytes, top);
      }
    }
  }
  set_heap_top(top);
}

void Leaf::pack_into(Leaf& target) const {
  std::memcpy(target.data_, data_, kNodeHeaderBytes);
  target.set_heap_top(node_bytes_);
  target.set_heap_garbage(0);
  target.place(*this, 0, count(), 0);
}

void Leaf::compact(std::byte* scratch) {
  const std::uint32_t total = count();
  // A leaf that grew by appends has nothing to move.
  if (total == 0 || (heap_garbage() == 0 && run_at(0, total).last == total)) return;
  ChunkBitmap moved;
  Leaf packed(scratch, node_bytes_, chunks_ != nullptr ? &moved : nullptr);
  pack_into(packed);
  const std::uint32_t top = packed.heap_top();
  copy_bytes(data_, scratch, slots_end(total));
  copy_bytes(data_ + top, scratch + top, node_bytes_ - top);
  if (chunks_ != nullptr) *chunks_ = moved;
}

void Leaf::pack(std::byte* target) const {
  Leaf packed(target, node_bytes_);
  pack_into(packed);
  const std::uint32_t slots = slots_end(count());
  std::memset(target + slots, 0, packed.heap_top() - slots);
}

std::uint32_t Leaf::shrink_to_content() {
  CW_CHECK(heap_garbage() == 0);
  const std::uint32_t total = count();
  const std::uint32_t top = heap_top();
  const std::uint32_t heap_bytes = node_bytes_ - top;
  const std::uint32_t bytes = round_up(slots_end(total) + heap_bytes, 8u);
  const std::uint32_t shift = node_bytes_ - bytes;
  for (std::uint32_t slot = 0; slot < total; ++slot) set_offset(slot, offset(slot) - shift);
  std::memmove(data_ + top - shift, data_ + top, heap_bytes);
  std::memset(data_ + slots_end(total), 0, top - shift - slots_end(total));
  set_heap_top(top - shift);
  return bytes;
}

std::uint32_t Leaf::footprint(std::uint32_t first, std::uint32_t last) const {
  std::uint32_t sum = 0;
  for (std::uint32_t slot = first; slot < last; ++slot) sum += footprint(slot);
  return sum;
}

void Leaf::open_slots(std::uint32_t slot, std::uint32_t number) {
  const std::uint32_t total = count();
  std::memmove(slot_at(slot + number), slot_at(slot), kSlotBytes * std::size_t{total - slot});
  set_count(total + number);
}

void Leaf::erase_range(std::uint32_t first, std::uint32_t last) {
  if (first == last) return;
  const std::uint32_t total = count();
  CW_CHECK(first < last);
  CW_CHECK(last <= total);
  std::uint32_t garbage = heap_garbage() + footprint(first, last) - kSlotBytes * (last - first);
  std::memmove(slot_at(first), slot_at(last), kSlotBytes * std::size_t{total - last});
  const std::uint32_t left = total - (last - first);
  // All between the old and the new top is garbage that becomes free.
  std::uint32_t top = node_bytes_;
  for (std::uint32_t slot = 0; slot < left; ++slot) top = std::min(top, offset(slot));
  garbage -= top - heap_top();
  set_count(left);
  set_heap_top(top);
  set_heap_garbage(garbage);
}

void Leaf::copy_to_back_of(Leaf& target, std::uint32_t first, std::uint32_t last) const {
  const std::uint32_t there = target.count();
  CW_CHECK(first <= last);
  CW_CHECK(last <= count());
  CW_CHECK(footprint(first, last) <= target.contiguous_free_bytes());
  target.open_slots(there, last - first);
  target.place(*this, first, last, there);
}

void Leaf::move(Leaf& target, std::uint32_t first, std::uint32_t last, std::uint32_t target_slot,
                std::byte* scratch) {
  CW_CHECK(first <= last);
  CW_CHECK(last <= count());
  const std::uint32_t bytes = footprint(first, last);
  if (target.contiguous_free_bytes() < bytes) target.compact(scratch);
  CW_CHECK(bytes <= target.contiguous_free_bytes());
  target.open_slots(target_slot, last - first);
  target.place(*this, first, last, target_slot);
  erase_range(first, last);
}

void Leaf::move_to_front_of(Leaf& target, std::uint32_t first, std::byte* scratch) {
  move(target, first, count(), 0, scratch);
}

void Leaf::move_to_back_of(Leaf& target, std::uint32_t last, std::byte* scratch) {
  move(target, 0, last, target.count(), scratch);
}

std::uint32_t Leaf::middle_slot() const {
  const std::uint32_t total = count();
  CW_CHECK(total >= 2);
  const std::uint32_t used = used_bytes();
  // Cutting at `slot` leaves `left` bytes on the left. The first cut with at least half of the
  // bytes there is the best, or the one before it is.
  std::uint32_t left = footprint(0);
  std::uint32_t slot = 1;
  while (slot < total - 1 && 2 * left < used) left += footprint(slot++);
  if (slot > 1 && 2 * left > used) {
    const std::uint32_t before = left - footprint(slot - 1);
    if (used - 2 * before <= 2 * left - used) --slot;
  }
  return slot;
}

std::uint32_t Leaf::slots_for_bytes_from_end(std::uint32_t bytes) const {
  const std::uint32_t total = count();
  std::uint32_t slots = 0;
  for (std::uint32_t sum = 0; slots < total && sum < bytes; ++slots) {
    sum += footprint(total - 1 - slots);
  }
  return slots;
}

std::uint32_t Leaf::slots_for_bytes_from_start(std::uint32_t bytes) const {
  const std::uint32_t total = count();
  std::uint32_t slots = 0;
  for (std::uint32_t sum = 0; slots < total && sum < bytes; ++slots) sum += footprint(slots);
  return slots;
}

}  // namespace cordwood
