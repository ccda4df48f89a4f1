#include <array>
#include <bit>

#include "node/leaf.hpp"

// Everything here looks at bytes that may be anything: each offset and length is checked before it
// is followed, in the order header, slots, records, disjointness, free space.

namespace cordwood {
namespace {

/// Offsets of records, one bit for each byte of a node: sorts them in O(node_bytes / 64).
class OffsetSet {
 public:
  /// Whether the offset was not there yet.
  bool add(std::uint32_t offset) {
    std::uint64_t& word = words_[offset / 64];
    const std::uint64_t bit = std::uint64_t{1} << (offset % 64);
    const bool fresh = (word & bit) == 0;
    word |= bit;
    return fresh;
  }
  /// Calls visit(offset) in rising order until it returns false; whether it never did.
  template <class Visit>
  bool for_each(Visit visit) const {
    for (std::uint32_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1) {
        if (!visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(left)))) return false;
      }
    }
    return true;
  }

 private:
  std::array<std::uint64_t, kMaxNodeBytes / 64> words_{};
};

/// nullptr when all is well; else what is wrong.
using Fault = const char*;

}  // namespace

const char* Leaf::fault_of_header() const {
  const std::uint32_t total = count();
  const std::uint32_t top = heap_top();
  if (top > node_bytes_) return "leaf: heap outside the node";
  if (top < kNodeHeaderBytes || total > (top - kNodeHeaderBytes) / kSlotBytes) {
    return "leaf: slots overlap the heap";
  }
  if (heap_garbage() > node_bytes_ - top) return "leaf: more garbage than heap";
  return nullptr;
}

const char* Leaf::fault_of_records(Key low, Key high, std::uint32_t item_bytes_max) const {
  const std::uint32_t total = count();
  const std::uint32_t top = heap_top();
  Key previous{};
  for (std::uint32_t slot = 0; slot < total; ++slot) {
    const std::uint32_t at = offset(slot);
    if (at < top || at > node_bytes_ - kRecordHeaderBytes) return "leaf: record outside the heap";
    const std::uint32_t bytes = record_bytes(at);
    if (bytes > node_bytes_ - at) return "leaf: record reaches outside the node";
    if (bytes - kRecordHeaderBytes > item_bytes_max) return "leaf: item too long";
    const Key key = load_key(data_ + at);
    if (slot > 0 && key <= previous) return "leaf: keys out of order";
    if (key < low || key >= high) return "leaf: key outside the node's range";
    previous = key;
  }
  return nullptr;
}

const char* Leaf::fault_of_packing() const {
  const std::uint32_t total = count();
  std::uint32_t end = node_bytes_;
  for (std::uint32_t slot = 0; slot < total; ++slot) {
    const std::uint32_t at = offset(slot);
    if (at + record_bytes(at) != end) return "leaf: records not packed";
    end = at;
  }
  if (heap_top() != end || heap_garbage() != 0) return "leaf: heap not packed";
  if (!all_zero(data_ + slots_end(total), data_ + end)) return "leaf: free space not zero";
  return nullptr;
}

const char* Leaf::fault_of_heap() const {
  const std::uint32_t total = count();
  OffsetSet offsets;
  for (std::uint32_t slot = 0; slot < total; ++slot) {
    if (!offsets.add(offset(slot))) return "leaf: two slots share a record";
  }
  std::uint32_t end = heap_top();
  std::uint32_t unused = 0;
  const bool disjoint = offsets.for_each([&](std::uint32_t at) {
    if (at < end) return false;
    unused += at - end;
    end = at + record_bytes(at);
    return true;
  });
  if (!disjoint) return "leaf: records overlap";
  if (heap_garbage() != unused + (node_bytes_ - end)) return "leaf: garbage miscounted";
  return nullptr;
}

Result<void> Leaf::verify(Key low, Key high, bool packed) const {
  return verify(low, high, packed, max_item_bytes(node_bytes_));
}

Result<void> Leaf::verify(Key low, Key high, bool packed, std::uint32_t item_bytes_max) const {
  CW_CHECK(node_bytes_ > kNodeHeaderBytes);
  CW_CHECK(node_bytes_ <= kMaxNodeBytes);
  Fault fault = fault_of_header();
  if (fault == nullptr) fault = fault_of_records(low, high, item_bytes_max);
  if (fault == nullptr) fault = packed ? fault_of_packing() : fault_of_heap();
  if (fault == nullptr) return {};
  return corrupt(Place::kNode, load_le<std::uint64_t>(data_ + offsetof(NodeHeader, node_id)),
                 fault);
}

}  // namespace cordwood
