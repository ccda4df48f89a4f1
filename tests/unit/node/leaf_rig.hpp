#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "node/leaf.hpp"

namespace cordwood::test {

/// Bytes of one node in a heap block of just that size, so that the address sanitizer sees each access
/// outside.
class NodeBytes {
 public:
  explicit NodeBytes(std::uint32_t node_bytes) : words_(node_bytes / 8) {}
  [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }
  [[nodiscard]] Bytes bytes() { return {data(), words_.size() * 8}; }

 private:
  std::vector<std::uint64_t> words_;
};

/// A key that is often near others, in one of the shapes that a filesystem's keys have.
inline Key random_key(Random& random) {
  const InodeNumber inode{1 + random.below(4)};
  switch (random.below(4)) {
    case 0: return make_key(inode, ItemType::kDirHash, random.next());
    case 1: return make_key(inode, ItemType::kDirIndex, random.below(2000));
    case 2: return make_key({100 + random.below(1000)}, ItemType::kInode);
    default: return make_key(inode, ItemType::kExtent, 4096 * random.below(1000));
  }
}

/// Mostly small, sometimes up to the largest that a node may hold.
inline std::vector<std::byte> random_item(Random& random, std::uint32_t node_bytes) {
  const std::uint32_t largest = max_item_bytes(node_bytes);
  std::uint64_t bytes = random.below(100);
  if (random.one_in(16)) bytes = random.below(600);
  if (random.one_in(200)) bytes = random.below(largest + 1);
  if (random.one_in(2000)) bytes = largest;
  std::vector<std::byte> item(bytes);
  random.fill(item);
  return item;
}

using Items = std::map<Key, std::vector<std::byte>>;

/// A leaf, and what should be in it.
struct ModelLeaf {
  explicit ModelLeaf(std::uint32_t bytes)
      : node_bytes(bytes), memory(bytes), scratch(bytes), leaf(memory.data(), bytes, &chunks) {
    leaf.initialize(1, 2);
  }

  std::uint32_t node_bytes;
  NodeBytes memory;
  NodeBytes scratch;
  ChunkBitmap chunks;
  Leaf leaf;
  Items items;
  std::set<Key> changed;  ///< since the chunks were last cleared

  [[nodiscard]] std::uint32_t used_bytes() const {
    std::uint32_t used = 0;
    for (const auto& [key, item] : items) {
      used += item_footprint(static_cast<std::uint32_t>(item.size()));
    }
    return used;
  }
};

}  // namespace cordwood::test
