// Moving records in bulk: compaction, packing, and moves between leaves. All of it rests on runs:
// slots whose records lie one right below the other, which take one copy however many they are. A
// leaf that was filled by appends, or packed, is a single run.

#include <algorithm>
#include <cstring>

#include "node/copy.hpp"
#include "node/leaf.hpp"

namespace cordwood {

// Both are inlined: returned, a Run is put together in memory by two short stores and fetched by one long
// load, which waits until the stores are done. With runs of single records that doubles the time.
[[gnu::always_inline]] inline Leaf::Run Leaf::run_at(std::uint32_t first,
                                                     std::uint32_t last) const {
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
    place_run(source, first, run, slot, top);
    slot += run.last - first;
    first = run.last;
  }
  set_heap_top(top);
}

/// Copies a run of `source` to `top` and points slots from `slot` on at its records.
void Leaf::place_run(const Leaf& source, std::uint32_t first, const Run& run, std::uint32_t slot,
                     std::uint32_t top) {
  copy_bytes(data_ + top, source.data_ + run.first_byte, run.bytes);
  const std::uint32_t shift = top - run.first_byte;  // modulo 2^32: may be "negative"
  for (; first < run.last; ++first, ++slot) set_offset(slot, source.offset(first) + shift);
  if (chunks_ == nullptr) return;
  // Without a bitmap the source cannot say what changed, so all of it counts as changed.
  if (source.chunks_ == nullptr) {
    chunks_->mark(top, run.bytes);
  } else {
    chunks_->mark_moved(*source.chunks_, run.first_byte, run.bytes, top);
  }
}

bool Leaf::is_one_run() const {
  if (heap_garbage() != 0) return false;
  // Without garbage each byte of the heap is a record's, so falling offsets leave nothing between.
  const std::uint32_t total = count();
  unsigned rises = 0;
  for (std::uint32_t slot = 1; slot < total; ++slot) {
    rises |= static_cast<unsigned>(offset(slot) > offset(slot - 1));
  }
  return rises == 0;
}

[[gnu::always_inline]] inline Leaf::Run Leaf::run_within(std::uint32_t first, std::uint32_t last,
                                                         std::uint32_t bytes, bool one_run) const {
  const std::uint32_t end = offset(first) + record_bytes(offset(first));
  Run run{.last = first, .first_byte = end, .bytes = 0};
  if (one_run) {
    // Offsets tell the footprints, so a search in the slots finds the last one that fits.
    std::uint32_t beyond = last;
    while (run.last < beyond) {
      const std::uint32_t middle = run.last + (beyond - run.last) / 2;
      const bool fits = end - offset(middle) + kSlotBytes * (middle + 1 - first) <= bytes;
      (fits ? run.last : beyond) = fits ? middle + 1 : middle;
    }
    if (run.last != first) run.first_byte = offset(run.last - 1);
  } else {
    for (; run.last < last; ++run.last) {
      const std::uint32_t at = offset(run.last);
      if (at + record_bytes(at) != run.first_byte) break;
      if (end - at + kSlotBytes * (run.last + 1 - first) > bytes) break;
      run.first_byte = at;
    }
  }
  run.bytes = end - run.first_byte;
  return run;
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
  constexpr std::uint32_t kWorthMoving = 512;
  CW_CHECK(heap_garbage() == 0);
  const std::uint32_t total = count();
  const std::uint32_t top = heap_top();
  if (top - slots_end(total) < kWorthMoving && node_bytes_ > 32 * kWorthMoving) {
    std::memset(data_ + slots_end(total), 0, top - slots_end(total));
    return node_bytes_;
  }
  const std::uint32_t heap_bytes = node_bytes_ - top;
  const std::uint32_t bytes = round_up(slots_end(total) + heap_bytes, 8u);
  const std::uint32_t shift = node_bytes_ - bytes;
  for (std::uint32_t slot = 0; slot < total; ++slot) set_offset(slot, offset(slot) - shift);
  std::memmove(data_ + top - shift, data_ + top, heap_bytes);
  std::memset(data_ + slots_end(total), 0, top - shift - slots_end(total));
  set_heap_top(top - shift);
  return bytes;
}

std::uint32_t Leaf::next_changed(std::uint32_t slot) const {
  // Most slots of most leaves did not change: several are asked at once, without a branch for each.
  constexpr std::uint32_t kAtOnce = 8;
  const std::uint32_t total = count();
  for (; slot + kAtOnce <= total; slot += kAtOnce) {
    unsigned any = 0;
    for (std::uint32_t i = 0; i < kAtOnce; ++i) any |= unsigned{chunks_->holds(offset(slot + i))};
    if (any != 0) break;
  }
  while (slot < total && !chunks_->holds(offset(slot))) ++slot;
  return slot;
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

std::uint32_t Leaf::copy_to_back_of(Leaf& target, std::uint32_t first, std::uint32_t last) const {
  CW_CHECK(first <= last);
  CW_CHECK(last <= count());
  // Worth a look at all slots only for a good part of them.
  const bool one_run = last - first > count() / 8 && is_one_run();
  std::uint32_t there = target.count();
  std::uint32_t top = target.heap_top();
  while (first < last) {
    const Run run = run_within(first, last, top - slots_end(there), one_run);
    if (run.last == first) break;
    top -= run.bytes;
    target.place_run(*this, first, run, there, top);
    there += run.last - first;
    first = run.last;
  }
  target.set_count(there);
  target.set_heap_top(top);
  return first;
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
