#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/result.hpp"
#include "format/key.hpp"
#include "format/node.hpp"
#include "node/chunk_bitmap.hpp"

namespace cordwood {

/// Where a key is, or would be inserted.
struct SlotPosition {
  std::uint32_t slot = 0;  ///< of the first item whose key is >= the one searched for
  bool found = false;
};

/// A leaf on a plain span of bytes: no cache, no latches, no I/O. A Leaf is a view, cheap to copy;
/// the bytes belong to somebody else and stay latched by the caller while it is used.
///
/// Invariants (see verify()): keys strictly increase with the slot; every slot refers to a record
/// that lies in [heap_top, node_bytes) without overlapping another; heap_garbage = heap bytes that
/// no slot refers to; slots end at or before heap_top. The dirty-chunk bitmap (may be null) learns
/// of each record written: chunks of 128 bytes that hold bytes of records changed since the last
/// capture. Moving a record carries its dirtiness along.
class Leaf {
 public:
  Leaf(std::byte* data, std::uint32_t node_bytes, ChunkBitmap* chunks = nullptr)
      : data_(data), node_bytes_(node_bytes), chunks_(chunks) {}

  /// Makes the bytes an empty leaf: header fields set, all else zero.
  void initialize(std::uint64_t volume_id, std::uint64_t node_id);

  [[nodiscard]] std::uint32_t count() const { return header(offsetof(NodeHeader, count)); }
  [[nodiscard]] bool empty() const { return count() == 0; }
  /// Bytes that an insert can use at once, slot included.
  [[nodiscard]] std::uint32_t contiguous_free_bytes() const {
    return heap_top() - slots_end(count());
  }
  /// Bytes that an insert can use after compact().
  [[nodiscard]] std::uint32_t free_bytes() const {
    return contiguous_free_bytes() + heap_garbage();
  }
  /// Slots, record headers and data: node_bytes - header - free_bytes().
  [[nodiscard]] std::uint32_t used_bytes() const {
    return node_bytes_ - kNodeHeaderBytes - free_bytes();
  }

  [[nodiscard]] Key key(std::uint32_t slot) const { return load_key(record(slot)); }
  [[nodiscard]] ConstBytes item(std::uint32_t slot) const {
    const std::byte* at = record(slot);
    return {at + kRecordHeaderBytes, load_le<std::uint16_t>(at + kKeyBytes)};
  }
  /// For changing an item's bytes in place; marks its chunks dirty.
  [[nodiscard]] Bytes mutable_item(std::uint32_t slot);
  /// Binary search by key; the hot path of the whole engine.
  [[nodiscard]] SlotPosition find(Key key) const;

  /// Inserts before `slot`. @pre find(key) gives this slot and not found; footprint fits
  /// contiguously.
  void insert(std::uint32_t slot, Key key, ConstBytes item);
  /// Inserts with uninitialised data of that many bytes and returns it to be filled in at once.
  [[nodiscard]] Bytes insert_space(std::uint32_t slot, Key key, std::uint32_t item_bytes);
  void erase(std::uint32_t slot);
  /// Erases the slots [first, last). @cost one pass over the slots, however many go.
  void erase_range(std::uint32_t first, std::uint32_t last);
  /// Gives the item another content of any length. @pre it fits: contiguous_free_bytes() >= record
  /// size when longer than before (in place otherwise).
  void replace(std::uint32_t slot, ConstBytes item);

  /// Joins all free space: records in key order at the end. Uses `scratch` of node_bytes.
  void compact(std::byte* scratch);
  /// Writes the on-disk form to `target` (node_bytes): packed, free space zero, no garbage.
  void pack(std::byte* target) const;
  /// Makes the leaf as short as its content, rounded up to 8 bytes, unless that would move all of it
  /// for a few bytes; returns the length. A view of the old length must not be used any more.
  /// @pre no garbage, length a multiple of 8
  [[nodiscard]] std::uint32_t shrink_to_content();
  /// Moves the slots [first, last) to the front or back of `target`, which must order after /
  /// before them and have the room (it is compacted first when needed, with `scratch`).
  void move_to_front_of(Leaf& target, std::uint32_t first, std::byte* scratch);  ///< [first, count)
  void move_to_back_of(Leaf& target, std::uint32_t last, std::byte* scratch);    ///< [0, last)
  /// Copies as many of the slots [first, last) as fit contiguously to the back of `target`, one copy
  /// per run of adjacent records. Returns the slot behind the last one copied.
  /// @pre all keys there are smaller
  std::uint32_t copy_to_back_of(Leaf& target, std::uint32_t first, std::uint32_t last) const;
  /// Whether all records lie one right below the other in key order, without garbage: a leaf that
  /// grew by appends, or was packed. @cost looks at slots only
  [[nodiscard]] bool is_one_run() const;

  /// Whether an item changed since the bitmap was last cleared. Also true for one whose record begins
  /// in a chunk where another one changed. False without a bitmap.
  /// A record that changed has all of its chunks marked, so a look at the first one will do.
  [[nodiscard]] bool changed(std::uint32_t slot) const {
    return chunks_ != nullptr && chunks_->holds(offset(slot));
  }
  /// The first slot from `slot` on that changed; count() if none did. @pre a bitmap
  [[nodiscard]] std::uint32_t next_changed(std::uint32_t slot) const;
  /// Bytes of the chunks in which anything changed; those of records that are gone are among them.
  [[nodiscard]] std::uint32_t changed_bytes() const {
    return chunks_ == nullptr ? 0 : chunks_->count() * ChunkBitmap::kChunkBytes;
  }

  /// Footprint (slot + record) of a slot's item.
  [[nodiscard]] std::uint32_t footprint(std::uint32_t slot) const {
    return kSlotBytes + record_bytes(offset(slot));
  }
  /// Footprint of the slots [first, last) together.
  [[nodiscard]] std::uint32_t footprint(std::uint32_t first, std::uint32_t last) const;
  /// The slot at which cutting leaves both sides closest to equal bytes: 1..count-1. @pre count >=
  /// 2
  [[nodiscard]] std::uint32_t middle_slot() const;
  /// How many slots from the end (or start) have a footprint sum of at least `bytes`; count() if
  /// less.
  [[nodiscard]] std::uint32_t slots_for_bytes_from_end(std::uint32_t bytes) const;
  [[nodiscard]] std::uint32_t slots_for_bytes_from_start(std::uint32_t bytes) const;

  /// Checks bytes from a device before anything else may use them: every offset and length in
  /// bounds, records disjoint, keys in order and within [low, high), free space as packed leaves
  /// have it. Never reads outside node_bytes whatever the content. `packed` also demands the
  /// on-disk form.
  /// @errors corrupt with Place::kNode
  [[nodiscard]] Result<void> verify(Key low, Key high, bool packed) const;
  /// The same for leaves with items longer than max_item_bytes(node_bytes), as the log has them.
  [[nodiscard]] Result<void> verify(Key low, Key high, bool packed,
                                    std::uint32_t item_bytes_max) const;

 private:
  [[nodiscard]] std::uint32_t header(std::size_t field) const {
    return load_le<std::uint32_t>(data_ + field);
  }
  void set_header(std::size_t field, std::uint32_t value) { store_le(data_ + field, value); }
  [[nodiscard]] std::uint32_t heap_top() const { return header(offsetof(NodeHeader, heap_top)); }
  [[nodiscard]] std::uint32_t heap_garbage() const {
    return header(offsetof(NodeHeader, heap_garbage));
  }
  void set_count(std::uint32_t value) { set_header(offsetof(NodeHeader, count), value); }
  void set_heap_top(std::uint32_t value) { set_header(offsetof(NodeHeader, heap_top), value); }
  void set_heap_garbage(std::uint32_t value) {
    set_header(offsetof(NodeHeader, heap_garbage), value);
  }

  [[nodiscard]] static constexpr std::uint32_t slots_end(std::uint32_t count) {
    return kNodeHeaderBytes + kSlotBytes * count;
  }
  [[nodiscard]] std::byte* slot_at(std::uint32_t slot) const { return data_ + slots_end(slot); }
  /// Where a slot's record starts.
  [[nodiscard]] std::uint32_t offset(std::uint32_t slot) const {
    return load_le<std::uint16_t>(slot_at(slot));
  }
  void set_offset(std::uint32_t slot, std::uint32_t value) {
    store_le(slot_at(slot), static_cast<std::uint16_t>(value));
  }
  [[nodiscard]] const std::byte* record(std::uint32_t slot) const { return data_ + offset(slot); }
  /// Length of the record at an offset.
  [[nodiscard]] std::uint32_t record_bytes(std::uint32_t offset) const {
    return kRecordHeaderBytes + load_le<std::uint16_t>(data_ + offset + kKeyBytes);
  }

  /// Slots whose records lie one right below the other.
  struct Run {
    std::uint32_t last;        ///< slot after the last one
    std::uint32_t first_byte;  ///< offset of the lowest record, that of slot last - 1
    std::uint32_t bytes;
  };
  /// The longest run from slot `first` that ends before slot `last`. @pre first < last
  [[nodiscard]] Run run_at(std::uint32_t first, std::uint32_t last) const;
  /// The part of that run whose footprint is at most `bytes`; ends at `first` if nothing is.
  /// @param one_run  is_one_run()
  [[nodiscard]] Run run_within(std::uint32_t first, std::uint32_t last, std::uint32_t bytes,
                               bool one_run) const;
  void place_run(const Leaf& source, std::uint32_t first, const Run& run, std::uint32_t slot,
                 std::uint32_t top);
  /// Moves the slots from `slot` on up by `number`; the opened ones are filled by place().
  void open_slots(std::uint32_t slot, std::uint32_t number);
  /// Copies records of `source` below heap_top and points slots from `slot` on at them.
  void place(const Leaf& source, std::uint32_t first, std::uint32_t last, std::uint32_t slot);
  void pack_into(Leaf& target) const;
  void move(Leaf& target, std::uint32_t first, std::uint32_t last, std::uint32_t target_slot,
            std::byte* scratch);

  // Parts of verify(), each relying on those before: what is wrong, or nullptr.
  [[nodiscard]] const char* fault_of_header() const;
  [[nodiscard]] const char* fault_of_records(Key low, Key high, std::uint32_t item_bytes_max) const;
  [[nodiscard]] const char* fault_of_packing() const;
  [[nodiscard]] const char* fault_of_heap() const;

  void mark(std::uint32_t first, std::uint32_t bytes) {
    if (chunks_ != nullptr) chunks_->mark(first, bytes);
  }

  std::byte* data_;
  std::uint32_t node_bytes_;
  ChunkBitmap* chunks_;
};

}  // namespace cordwood
