#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "unit/node/leaf_rig.hpp"

// Bytes from a device may be anything. Each fault is named; no content makes verify() read outside
// (the sanitizers watch); and what it accepts can be used.

using namespace cordwood;
using namespace cordwood::test;

namespace {

constexpr std::uint32_t kNodeBytes = 4096;

/// Fills a leaf to a random degree.
void fill(Leaf& leaf, std::uint32_t node_bytes, Random& random, bool in_order) {
  leaf.initialize(1, 2);
  const auto limit = static_cast<std::uint32_t>(random.below(node_bytes));
  std::uint64_t next = 0;
  while (leaf.used_bytes() < limit) {
    const Key key = in_order ? Key{1, next += 1 + random.below(3)} : random_key(random);
    const std::vector<std::byte> item = random_item(random, node_bytes);
    const auto bytes = static_cast<std::uint32_t>(item.size());
    if (leaf.contiguous_free_bytes() < item_footprint(bytes)) break;
    const SlotPosition at = leaf.find(key);
    if (!at.found) leaf.insert(at.slot, key, item);
    if (!leaf.empty() && random.one_in(10)) {
      leaf.erase(static_cast<std::uint32_t>(random.below(leaf.count())));
    }
  }
}

/// Uses all that a leaf offers readers; for content that verify() accepted.
void read_all(const Leaf& leaf) {
  std::uint64_t sum = leaf.used_bytes();
  for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
    REQUIRE(leaf.find(leaf.key(slot)).slot == slot);
    for (const std::byte byte : leaf.item(slot)) sum += std::to_integer<unsigned>(byte);
  }
  REQUIRE(sum + 1 > 0);
}

/// Changes a few bytes, with a liking for the places and values that mean something.
void mutate(Bytes node, Random& random) {
  for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
    std::size_t at = random.below(node.size());
    if (random.one_in(2)) at = 32 + random.below(12);
    if (random.one_in(3)) at = 64 + random.below(64);
    constexpr unsigned kValues[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    switch (random.below(3)) {
      case 0: node[at] = static_cast<std::byte>(random.next()); break;
      case 1: node[at] = static_cast<std::byte>(kValues[random.below(6)]); break;
      default: node[at] ^= static_cast<std::byte>(1u << random.below(8)); break;
    }
  }
}

void set_word(Bytes node, std::size_t at, std::uint32_t value) {
  store_le(node.data() + at, value);
}

std::uint16_t slot_of(Bytes node, std::uint32_t slot) {
  return load_le<std::uint16_t>(node.data() + kNodeHeaderBytes + 2 * slot);
}
void set_slot(Bytes node, std::uint32_t slot, std::uint32_t offset) {
  store_le(node.data() + kNodeHeaderBytes + 2 * slot, static_cast<std::uint16_t>(offset));
}

}  // namespace

TEST_CASE("leaf verify: random bytes are refused or harmless", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  Random random(node_bytes);
  NodeBytes memory(node_bytes);
  Leaf leaf(memory.data(), node_bytes);
  for (int round = 0; round < 1000; ++round) {
    random.fill(memory.bytes());
    // Plausible counts and heaps, so that the checks behind those of the header are reached.
    if (!random.one_in(8)) {
      const auto total = static_cast<std::uint32_t>(random.below(6));
      set_word(memory.bytes(), offsetof(NodeHeader, count), total);
      const auto top = 64 + static_cast<std::uint32_t>(random.below(node_bytes - 63));
      set_word(memory.bytes(), offsetof(NodeHeader, heap_top), top);
      set_word(memory.bytes(), offsetof(NodeHeader, heap_garbage), 0);
      for (std::uint32_t slot = 0; slot < total; ++slot) {
        if (random.one_in(2))
          set_slot(memory.bytes(), slot, top + static_cast<std::uint32_t>(random.below(200)));
      }
    }
    const bool packed = random.one_in(2);
    const Result<void> result = leaf.verify(kMinKey, kMaxKey, packed);
    if (result) {
      read_all(leaf);
    } else {
      REQUIRE(result.error().code == Errc::kCorrupt);
      REQUIRE(result.error().place == Place::kNode);
    }
  }
}

TEST_CASE("leaf verify: damaged leaves are refused or harmless", "[node]") {
  const auto node_bytes = GENERATE(4096u, 65536u);
  const auto seed = GENERATE(range(1u, 21u));
  INFO("node_bytes " << node_bytes << ", seed " << seed);
  Random random(seed);
  NodeBytes memory(node_bytes);
  NodeBytes damaged(node_bytes);
  Leaf leaf(memory.data(), node_bytes);
  fill(leaf, node_bytes, random, seed % 2 == 0);
  REQUIRE(leaf.verify(kMinKey, kMaxKey, false));
  const bool packed = seed % 4 < 2;
  NodeBytes scratch(node_bytes);
  if (packed) {
    leaf.pack(scratch.data());
    std::copy_n(scratch.data(), node_bytes, memory.data());
    REQUIRE(leaf.verify(kMinKey, kMaxKey, true));
  }
  for (int round = 0; round < 300; ++round) {
    std::copy_n(memory.data(), node_bytes, damaged.data());
    mutate(damaged.bytes(), random);
    Leaf other(damaged.data(), node_bytes);
    if (!other.verify(kMinKey, kMaxKey, packed)) continue;
    read_all(other);
    other.compact(scratch.data());
    REQUIRE(other.verify(kMinKey, kMaxKey, false));
  }
}

TEST_CASE("leaf verify: names what is wrong", "[node]") {
  NodeBytes memory(kNodeBytes);
  Leaf leaf(memory.data(), kNodeBytes);
  leaf.initialize(1, 77);
  const std::vector<std::byte> item(20, std::byte{1});
  for (std::uint64_t i = 0; i < 4; ++i) leaf.insert(leaf.count(), Key{1, 10 * i}, item);
  const Bytes node = memory.bytes();
  constexpr Key kLow{1, 0};
  constexpr Key kHigh{1, 31};
  REQUIRE(leaf.verify(kLow, kHigh, true));
  const auto fault = [&](bool packed) {
    const Result<void> result = leaf.verify(kLow, kHigh, packed);
    REQUIRE(!result);
    REQUIRE(result.error().where == 77);
    return std::string(result.error().what);
  };
  const std::uint32_t top = slot_of(node, 3);

  SECTION("heap outside") {
    set_word(node, offsetof(NodeHeader, heap_top), kNodeBytes + 1);
    CHECK(fault(true) == "leaf: heap outside the node");
  }
  SECTION("heap in the header") {
    set_word(node, offsetof(NodeHeader, heap_top), 60);
    CHECK(fault(true) == "leaf: slots overlap the heap");
  }
  SECTION("too many slots") {
    set_word(node, offsetof(NodeHeader, count), 0x80000004);
    CHECK(fault(true) == "leaf: slots overlap the heap");
  }
  SECTION("too much garbage") {
    set_word(node, offsetof(NodeHeader, heap_garbage), kNodeBytes);
    CHECK(fault(false) == "leaf: more garbage than heap");
  }
  SECTION("slot below the heap") {
    set_slot(node, 2, top - 1);
    CHECK(fault(true) == "leaf: record outside the heap");
  }
  SECTION("slot at the end") {
    set_slot(node, 2, kNodeBytes - 17);
    CHECK(fault(true) == "leaf: record outside the heap");
  }
  SECTION("record past the end") {
    store_le(node.data() + slot_of(node, 0) + kKeyBytes, std::uint16_t{21});
    CHECK(fault(true) == "leaf: record reaches outside the node");
  }
  SECTION("item too long") {
    store_le(node.data() + top + kKeyBytes, std::uint16_t{21});
    CHECK(!leaf.verify(kLow, kHigh, false, 20));
    CHECK(std::string(leaf.verify(kLow, kHigh, false, 20).error().what) == "leaf: item too long");
    CHECK(fault(false) == "leaf: records overlap");
    CHECK(fault(true) == "leaf: records not packed");
  }
  SECTION("keys out of order") {
    store_key(node.data() + slot_of(node, 2), Key{1, 10});
    CHECK(fault(true) == "leaf: keys out of order");
  }
  SECTION("key below the low fence") {
    store_key(node.data() + slot_of(node, 0), Key{0, 5});
    CHECK(fault(true) == "leaf: key outside the node's range");
  }
  SECTION("key at the high fence") {
    store_key(node.data() + top, kHigh);
    CHECK(fault(true) == "leaf: key outside the node's range");
  }
  SECTION("shared record") {
    // Two slots with one record have one key: the order of keys already forbids it.
    set_slot(node, 2, slot_of(node, 1));
    CHECK(fault(false) == "leaf: keys out of order");
  }
  SECTION("garbage miscounted") {
    set_word(node, offsetof(NodeHeader, heap_garbage), 1);
    CHECK(fault(false) == "leaf: garbage miscounted");
    CHECK(fault(true) == "leaf: heap not packed");
  }
  SECTION("heap lower than its records") {
    set_word(node, offsetof(NodeHeader, heap_top), top - 1);
    CHECK(fault(false) == "leaf: garbage miscounted");
    CHECK(fault(true) == "leaf: heap not packed");
  }
  SECTION("free space not zero") {
    node[top - 1] = std::byte{1};
    CHECK(fault(true) == "leaf: free space not zero");
    CHECK(leaf.verify(kLow, kHigh, false));
  }
}
