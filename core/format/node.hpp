#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cordwood {

/// First 64 bytes of a node. Its checksum is in the table entry that points at it.
///
///     leaf:   header | u16 slots in key order -> ... free ... <- records in any order |
///     inner:  header | keys, 16 bytes each | ... | child ids, 8 bytes each | ... |
///
/// A record is {key 16, u16 length, data}. A slot is the record's offset in the node. On disk a leaf
/// is packed: records in key order from the end of the node down, free space zero.
struct NodeHeader {
  std::uint32_t magic = 0;
  std::uint8_t level = 0;  ///< 0 for a leaf
  std::uint8_t reserved0[3] = {};
  std::uint64_t volume_id = 0;     ///< first half of the uuid: a node of another volume
  std::uint64_t node_id = 0;       ///< a misdirected or swapped node
  std::uint64_t generation = 0;    ///< checkpoint that wrote it: a stale node
  std::uint32_t count = 0;         ///< slots of a leaf, children of an inner node
  std::uint32_t heap_top = 0;      ///< leaf: offset of the lowest record; node_bytes when empty
  std::uint32_t heap_garbage = 0;  ///< leaf: bytes of the heap that no slot refers to; 0 on disk
  std::uint8_t reserved1[20] = {};
};
static_assert(sizeof(NodeHeader) == 64);
static_assert(offsetof(NodeHeader, level) == 4);
static_assert(offsetof(NodeHeader, volume_id) == 8);
static_assert(offsetof(NodeHeader, node_id) == 16);
static_assert(offsetof(NodeHeader, generation) == 24);
static_assert(offsetof(NodeHeader, count) == 32);
static_assert(offsetof(NodeHeader, heap_top) == 36);
static_assert(offsetof(NodeHeader, heap_garbage) == 40);
static_assert(std::has_unique_object_representations_v<NodeHeader>);

inline constexpr std::uint32_t kNodeMagic = 0x444f4e43;  // "CNOD"
inline constexpr std::uint32_t kNodeHeaderBytes = sizeof(NodeHeader);
inline constexpr std::uint32_t kSlotBytes = 2;
inline constexpr std::uint32_t kRecordHeaderBytes = 18;
/// Levels above the leaves stay below this: 2^34 nodes with at least two children each.
inline constexpr std::uint8_t kMaxLevel = 34;

/// Bytes that an item takes in a leaf: slot, key, length, data.
[[nodiscard]] constexpr std::uint32_t item_footprint(std::uint32_t data_bytes) {
  return kSlotBytes + kRecordHeaderBytes + data_bytes;
}
/// Largest item data: its footprint is at most a quarter of what a leaf holds.
[[nodiscard]] constexpr std::uint32_t max_item_bytes(std::uint32_t node_bytes) {
  return (node_bytes - kNodeHeaderBytes) / 4 - kSlotBytes - kRecordHeaderBytes;
}
/// Children that an inner node holds.
[[nodiscard]] constexpr std::uint32_t inner_capacity(std::uint32_t node_bytes) {
  return (node_bytes - kNodeHeaderBytes) / 24;
}

}  // namespace cordwood
