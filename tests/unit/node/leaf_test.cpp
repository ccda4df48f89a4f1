#include "node/leaf.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "unit/node/leaf_rig.hpp"

using namespace cordwood;
using namespace cordwood::test;

namespace {

Key index_key(std::uint64_t index) { return make_key({7}, ItemType::kDirIndex, index); }

std::vector<std::byte> filled(std::size_t bytes, unsigned value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

/// Inserts where it belongs.
void put(Leaf& leaf, Key key, ConstBytes item) {
  const SlotPosition at = leaf.find(key);
  REQUIRE(!at.found);
  leaf.insert(at.slot, key, item);
}

std::uint32_t heap_top(NodeBytes& memory) {
  return load_le<std::uint32_t>(memory.data() + offsetof(NodeHeader, heap_top));
}

}  // namespace

TEST_CASE("leaf: an empty one has all room and finds nothing", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  NodeBytes memory(node_bytes);
  Leaf leaf(memory.data(), node_bytes);
  leaf.initialize(11, 22);
  CHECK(leaf.empty());
  CHECK(leaf.free_bytes() == node_bytes - kNodeHeaderBytes);
  CHECK(leaf.contiguous_free_bytes() == leaf.free_bytes());
  CHECK(leaf.used_bytes() == 0);
  CHECK(leaf.find(index_key(1)).slot == 0);
  CHECK(!leaf.find(index_key(1)).found);
  CHECK(leaf.verify(kMinKey, kMaxKey, true));
  CHECK(load_le<std::uint32_t>(memory.data()) == kNodeMagic);
  CHECK(load_le<std::uint64_t>(memory.data() + offsetof(NodeHeader, volume_id)) == 11);
  CHECK(load_le<std::uint64_t>(memory.data() + offsetof(NodeHeader, node_id)) == 22);
}

TEST_CASE("leaf: four of the largest items fill it", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  NodeBytes memory(node_bytes);
  Leaf leaf(memory.data(), node_bytes);
  leaf.initialize(1, 2);
  const std::vector<std::byte> item = filled(max_item_bytes(node_bytes), 0xab);
  for (const std::uint64_t index : {3u, 1u, 4u, 2u}) put(leaf, index_key(index), item);
  CHECK(leaf.free_bytes() == 0);
  CHECK(leaf.used_bytes() == node_bytes - kNodeHeaderBytes);
  CHECK(leaf.verify(kMinKey, kMaxKey, false));
  NodeBytes scratch(node_bytes);
  leaf.compact(scratch.data());
  CHECK(leaf.verify(kMinKey, kMaxKey, true));
  CHECK(leaf.key(3) == index_key(4));
}

TEST_CASE("leaf: empty items fill it to the last record", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  NodeBytes memory(node_bytes);
  Leaf leaf(memory.data(), node_bytes);
  leaf.initialize(1, 2);
  std::uint64_t index = 0;
  while (leaf.free_bytes() >= item_footprint(0)) put(leaf, index_key(index++), {});
  CHECK(leaf.count() == (node_bytes - kNodeHeaderBytes) / item_footprint(0));
  CHECK(leaf.verify(kMinKey, kMaxKey, true));
  for (std::uint64_t i = 0; i < index; ++i) REQUIRE(leaf.find(index_key(i)).slot == i);
  while (!leaf.empty()) leaf.erase(leaf.count() / 2);
  CHECK(leaf.free_bytes() == node_bytes - kNodeHeaderBytes);
  CHECK(leaf.contiguous_free_bytes() == leaf.free_bytes());
}

TEST_CASE("leaf: the search agrees with counting, for dense, gappy and far keys", "[node]") {
  const auto node_bytes = GENERATE(4096u, 65536u);
  const auto density = GENERATE(1u, 2u, 10u);
  Random random(density);
  NodeBytes memory(node_bytes);
  Leaf leaf(memory.data(), node_bytes);
  leaf.initialize(1, 2);
  std::vector<Key> keys;
  for (std::uint64_t index = 1000; leaf.free_bytes() >= item_footprint(4); ++index) {
    if (!random.one_in(density)) continue;
    // A jump of `hi` in the middle, and keys just before and after it.
    const bool later = leaf.used_bytes() > node_bytes / 2;
    const Key key = later ? Key{1, index - 900} : Key{0, index};
    if (!keys.empty() && key <= keys.back()) continue;
    keys.push_back(key);
    leaf.insert(leaf.count(), key, filled(4, 1));
  }
  std::vector<Key> wanted = {kMinKey, kMaxKey, {0, ~std::uint64_t{0}}, {1, 0}, {2, 1001}};
  for (const Key key : keys) wanted.insert(wanted.end(), {key.previous(), key, key.next()});
  for (const Key key : wanted) {
    const SlotPosition at = leaf.find(key);
    const auto expected = std::lower_bound(keys.begin(), keys.end(), key);
    REQUIRE(at.slot == static_cast<std::uint32_t>(expected - keys.begin()));
    REQUIRE(at.found == (expected != keys.end() && *expected == key));
  }
}

TEST_CASE("leaf: the last record grows and shrinks without garbage", "[node]") {
  NodeBytes memory(4096);
  Leaf leaf(memory.data(), 4096);
  leaf.initialize(1, 2);
  put(leaf, index_key(1), filled(10, 1));
  put(leaf, index_key(2), filled(10, 2));
  leaf.replace(1, filled(500, 3));
  CHECK(leaf.verify(kMinKey, kMaxKey, true));
  leaf.replace(1, filled(5, 4));
  CHECK(leaf.verify(kMinKey, kMaxKey, false));
  CHECK(leaf.free_bytes() == leaf.contiguous_free_bytes());
  CHECK(leaf.item(1).size() == 5);
  CHECK(leaf.item(1)[4] == std::byte{4});
  CHECK(leaf.item(0)[9] == std::byte{1});
  // The other one leaves its old place behind.
  leaf.replace(0, filled(20, 5));
  CHECK(leaf.free_bytes() - leaf.contiguous_free_bytes() == kRecordHeaderBytes + 10);
  CHECK(leaf.verify(kMinKey, kMaxKey, false));
}

TEST_CASE("leaf: erasing the lowest record gives its room back at once", "[node]") {
  NodeBytes memory(4096);
  Leaf leaf(memory.data(), 4096);
  leaf.initialize(1, 2);
  for (std::uint64_t index = 1; index <= 4; ++index) put(leaf, index_key(index), filled(10, 1));
  const std::uint32_t top = heap_top(memory);
  leaf.erase(1);
  CHECK(heap_top(memory) == top);
  CHECK(leaf.free_bytes() == leaf.contiguous_free_bytes() + kRecordHeaderBytes + 10);
  leaf.erase(2);
  CHECK(heap_top(memory) == top + kRecordHeaderBytes + 10);
  // Of a range that is the bottom of the heap, garbage inside included, all comes back.
  leaf.erase_range(1, 2);
  CHECK(leaf.free_bytes() == leaf.contiguous_free_bytes());
  CHECK(leaf.count() == 1);
}

TEST_CASE("leaf: middle_slot cuts as evenly as slots allow", "[node]") {
  const auto seed = GENERATE(range(0u, 200u));
  INFO("seed " << seed);
  Random random(seed);
  NodeBytes memory(4096);
  Leaf leaf(memory.data(), 4096);
  leaf.initialize(1, 2);
  for (std::uint64_t index = 0; leaf.count() < 2 || !random.one_in(20); ++index) {
    const auto item = filled(random.one_in(3) ? random.below(900) : random.below(20), 0);
    const auto bytes = static_cast<std::uint32_t>(item.size());
    if (leaf.free_bytes() < item_footprint(bytes)) break;
    leaf.insert(leaf.count(), index_key(index), item);
  }
  const std::uint32_t total = leaf.count();
  const auto unevenness = [&](std::uint32_t slot) {
    const auto left = static_cast<int>(leaf.footprint(0, slot));
    return std::abs(left - static_cast<int>(leaf.footprint(slot, total)));
  };
  const std::uint32_t middle = leaf.middle_slot();
  REQUIRE(middle >= 1);
  REQUIRE(middle < total);
  for (std::uint32_t slot = 1; slot < total; ++slot) {
    REQUIRE(unevenness(middle) <= unevenness(slot));
  }

  const auto bytes = static_cast<std::uint32_t>(random.below(5000));
  const std::uint32_t start = leaf.slots_for_bytes_from_start(bytes);
  const std::uint32_t end = leaf.slots_for_bytes_from_end(bytes);
  CHECK((start == total || leaf.footprint(0, start) >= bytes));
  CHECK((start == 0 || leaf.footprint(0, start - 1) < bytes));
  CHECK((end == total || leaf.footprint(total - end, total) >= bytes));
  CHECK((end == 0 || leaf.footprint(total - end + 1, total) < bytes));
}

TEST_CASE("leaf: copies of runs are the records, in order, packed", "[node]") {
  Random random(3);
  NodeBytes memory(16384);
  NodeBytes target_memory(16384);
  Leaf leaf(memory.data(), 16384);
  leaf.initialize(1, 2);
  Leaf target(target_memory.data(), 16384);
  target.initialize(1, 3);
  for (int i = 0; i < 200; ++i) {
    const Key key = random_key(random);
    if (!leaf.find(key).found) put(leaf, key, filled(random.below(40), i));
  }
  const std::uint32_t total = leaf.count();
  leaf.copy_to_back_of(target, 0, total / 3);
  leaf.copy_to_back_of(target, total / 3, total / 3);
  leaf.copy_to_back_of(target, total / 2, total);
  CHECK(target.verify(kMinKey, kMaxKey, true));
  CHECK(leaf.count() == total);
  REQUIRE(target.count() == total - (total / 2 - total / 3));
  for (std::uint32_t slot = 0; slot < target.count(); ++slot) {
    const SlotPosition at = leaf.find(target.key(slot));
    REQUIRE(at.found);
    const ConstBytes a = leaf.item(at.slot);
    const ConstBytes b = target.item(slot);
    REQUIRE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST_CASE("leaf: only what changed is dirty, and moving keeps it so", "[node]") {
  ModelLeaf left(16384);
  ModelLeaf right(16384);
  // Records of 128 bytes and more: each dirty one touches at most one clean one on each side.
  for (std::uint64_t index = 0; index < 100; ++index) {
    put(left.leaf, index_key(index), filled(120, 0));
  }
  left.chunks.clear();
  const auto dirty_slots = [](const Leaf& leaf) {
    std::vector<std::uint64_t> dirty;
    for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
      if (leaf.changed(slot)) dirty.push_back(leaf.key(slot).lo);
    }
    return dirty;
  };
  CHECK(dirty_slots(left.leaf).empty());
  left.leaf.mutable_item(30)[0] = std::byte{1};
  left.leaf.erase(10);
  const std::vector<std::uint64_t> before = dirty_slots(left.leaf);
  CHECK(std::count(before.begin(), before.end(), 30) == 1);
  CHECK(before.size() <= 3);

  left.leaf.move_to_front_of(right.leaf, 20, left.scratch.data());
  CHECK(dirty_slots(left.leaf).empty());
  std::vector<std::uint64_t> after = dirty_slots(right.leaf);
  CHECK(std::count(after.begin(), after.end(), 30) == 1);
  CHECK(after.size() <= 5);
  right.leaf.erase(0);
  right.leaf.compact(right.scratch.data());
  after = dirty_slots(right.leaf);
  CHECK(std::count(after.begin(), after.end(), 30) == 1);
  CHECK(after.size() <= 7);

  SECTION("a source that does not track changes counts as changed") {
    Leaf untracked(left.memory.data(), 16384);
    untracked.move_to_front_of(right.leaf, 0, left.scratch.data());
    CHECK(dirty_slots(right.leaf).size() >= 19);
  }
  SECTION("a new leaf has no dirty records") {
    right.leaf.initialize(1, 9);
    CHECK(right.chunks.count() == 0);
  }
}
