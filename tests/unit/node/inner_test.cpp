#include "node/inner.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "unit/node/leaf_rig.hpp"

using namespace cordwood;
using namespace cordwood::test;

namespace {

struct Child {
  Key key;
  NodeId id;
};

struct ModelInner {
  explicit ModelInner(std::uint32_t node_bytes)
      : memory(node_bytes), inner(memory.data(), node_bytes) {
    inner.initialize(1, 2, 3);
  }
  NodeBytes memory;
  Inner inner;
  std::vector<Child> children;
};

void require_equal(const ModelInner& model) {
  REQUIRE(model.inner.count() == model.children.size());
  std::uint32_t wrong = 0;
  for (std::uint32_t index = 0; index < model.inner.count(); ++index) {
    const Child& child = model.children[index];
    if (model.inner.key(index) != child.key || model.inner.child(index) != child.id) ++wrong;
  }
  REQUIRE(wrong == 0);
}

/// Two neighbouring inner nodes, against vectors.
class Neighbours {
 public:
  Neighbours(std::uint32_t node_bytes, std::uint64_t seed)
      : node_bytes_(node_bytes), random_(seed), left_(node_bytes), right_(node_bytes) {}

  void step() {
    switch (random_.below(100)) {
      case 0: move_right(); break;
      case 1: move_left(); break;
      case 2: pack_and_load(random_.one_in(2) ? left_ : right_); break;
      default: change(random_.one_in(2) ? left_ : right_); break;
    }
  }
  void check_all() {
    require_equal(left_);
    require_equal(right_);
  }

 private:
  bool in_range(const ModelInner& model, Key key) const {
    return (&model == &left_) == (key < fence_);
  }

  void change(ModelInner& model) {
    const Key key = random_key(random_);
    if (!in_range(model, key)) return;
    auto& children = model.children;
    const auto after = std::upper_bound(children.begin(), children.end(), key,
                                        [](Key a, const Child& b) { return a < b.key; });
    const auto index = static_cast<std::uint32_t>(after - children.begin());
    const std::uint32_t expected = index == 0 ? 0 : index - 1;
    REQUIRE(model.inner.find(key) == expected);
    const bool exists = index > 0 && children[expected].key == key;
    const bool shrink = children.size() > model.inner.capacity() * 9 / 10;
    if (!exists && !model.inner.full() && !shrink) {
      const NodeId id{++last_id_};
      model.inner.insert(index, key, id);
      children.insert(after, Child{key, id});
      REQUIRE(model.inner.index_of(id) == index);
    } else if (!children.empty() && (shrink || random_.one_in(2))) {
      const NodeId gone = children[expected].id;
      model.inner.erase(expected);
      children.erase(children.begin() + expected);
      REQUIRE(model.inner.index_of(gone) == model.inner.count());
    } else if (!children.empty()) {
      // A separator that moves as far as its neighbours allow.
      Key& old = children[expected].key;
      const Key next = index < children.size() ? children[index].key : kMaxKey;
      const Key moved = old.next() < next && in_range(model, old.next()) ? old.next() : old;
      model.inner.set_key(expected, moved);
      old = moved;
    }
  }

  void move_right() {
    const std::uint32_t total = left_.inner.count();
    const std::uint32_t room = right_.inner.capacity() - right_.inner.count();
    const auto number = static_cast<std::uint32_t>(random_.below(std::min(total, room) + 1));
    if (number == 0) return;
    left_.inner.move_to_front_of(right_.inner, total - number);
    const auto from = left_.children.end() - number;
    right_.children.insert(right_.children.begin(), from, left_.children.end());
    left_.children.erase(from, left_.children.end());
    fence_ = right_.children.front().key;
    check_all();
  }

  void move_left() {
    const std::uint32_t room = left_.inner.capacity() - left_.inner.count();
    const auto number =
        static_cast<std::uint32_t>(random_.below(std::min(right_.inner.count(), room) + 1));
    if (number == 0) return;
    right_.inner.move_to_back_of(left_.inner, number);
    const auto to = right_.children.begin() + number;
    left_.children.insert(left_.children.end(), right_.children.begin(), to);
    right_.children.erase(right_.children.begin(), to);
    fence_ = left_.children.back().key.next();
    check_all();
  }

  void pack_and_load(ModelInner& model) {
    NodeBytes packed(node_bytes_);
    random_.fill(packed.bytes());
    model.inner.pack(packed.data());
    if (!model.children.empty()) {
      const Key low = model.children.front().key;
      const Key high = &model == &left_ ? fence_ : kMaxKey;
      REQUIRE(Inner::verify(packed.data(), node_bytes_, low, high, 3, last_id_ + 1));
      REQUIRE(verify_node_header(packed.data(), 1, {2}, 3));
    }
    random_.fill(model.memory.bytes());
    model.inner.load(packed.data());
    require_equal(model);
  }

  std::uint32_t node_bytes_;
  Random random_;
  ModelInner left_;
  ModelInner right_;
  Key fence_ = make_key({2}, ItemType::kExtent);
  std::uint64_t last_id_ = 2;
};

}  // namespace

TEST_CASE("inner: random operations give what vectors give", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  const auto seed = GENERATE(1u, 2u);
  INFO("node_bytes " << node_bytes << ", seed " << seed);
  Neighbours neighbours(node_bytes, seed);
  for (int i = 0; i < 30'000; ++i) neighbours.step();
  neighbours.check_all();
}

TEST_CASE("inner: holds its capacity and no more", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  ModelInner model(node_bytes);
  CHECK(model.inner.level() == 3);
  CHECK(model.inner.find(kMaxKey) == 0);
  for (std::uint32_t i = 0; i < model.inner.capacity(); ++i) {
    REQUIRE(!model.inner.full());
    model.inner.insert(i, Key{0, 2 * i}, {100 + i});
  }
  CHECK(model.inner.full());
  for (std::uint32_t i = 0; i < model.inner.capacity(); ++i) {
    REQUIRE(model.inner.find(Key{0, 2 * i}) == i);
    REQUIRE(model.inner.find(Key{0, 2 * i + 1}) == i);
  }
  CHECK(model.inner.find(kMaxKey) == model.inner.capacity() - 1);
  NodeBytes packed(node_bytes);
  model.inner.pack(packed.data());
  CHECK(Inner::verify(packed.data(), node_bytes, kMinKey, kMaxKey, 3, 1'000'000));
}

TEST_CASE("inner: whatever the words hold, readers stay inside", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  Random random(node_bytes);
  NodeBytes memory(node_bytes);
  const Inner inner(memory.data(), node_bytes);
  for (int round = 0; round < 500; ++round) {
    random.fill(memory.bytes());
    const auto total = static_cast<std::uint32_t>(
        random.one_in(2) ? random.next() : random.below(2 * inner.capacity()));
    store_le(memory.data() + offsetof(NodeHeader, count), total);
    REQUIRE(inner.count() <= inner.capacity());
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t index = inner.find(Key{random.next(), random.next()});
      REQUIRE((inner.count() == 0 ? index == 0 : index < inner.count()));
      // A reader goes on with this child, and finds out later.
      static_cast<void>(inner.child(index));
      static_cast<void>(inner.key(index));
    }
    REQUIRE(inner.index_of({random.next()}) == inner.count());
  }
}

#ifndef __EMSCRIPTEN__
TEST_CASE("inner: reading while a writer moves everything is no data race", "[node][threads]") {
  constexpr std::uint32_t kNodeBytes = 4096;
  NodeBytes left_memory(kNodeBytes);
  NodeBytes right_memory(kNodeBytes);
  Inner left(left_memory.data(), kNodeBytes);
  Inner right(right_memory.data(), kNodeBytes);
  left.initialize(1, 2, 1);
  right.initialize(1, 3, 1);
  for (std::uint32_t i = 0; i < 150; ++i) left.insert(i, Key{0, i}, {10 + i});

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> outside{0};
  std::thread reader([&] {
    Random random(1);
    while (!stop.load()) {
      for (const Inner& inner : {left, right}) {
        const std::uint32_t index = inner.find(Key{0, random.below(200)});
        if (index >= inner.capacity()) ++outside;
        static_cast<void>(inner.child(index));
        static_cast<void>(inner.level());
      }
    }
  });
  Random random(2);
  NodeBytes packed(kNodeBytes);
  for (int i = 0; i < 2000; ++i) {
    left.move_to_front_of(right, static_cast<std::uint32_t>(random.below(left.count() + 1)));
    right.move_to_back_of(left, right.count());
    left.erase(static_cast<std::uint32_t>(random.below(left.count())));
    left.insert(left.count(), Key{0, left.key(left.count() - 1).lo + 1}, {99});
    left.set_key(0, left.key(0));
    if (i % 100 == 0) {
      left.pack(packed.data());
      left.initialize(1, 2, 1);
      left.load(packed.data());
    }
  }
  stop = true;
  reader.join();
  CHECK(outside == 0);
  CHECK(left.count() == 150);
}
#endif

TEST_CASE("inner verify: names what is wrong", "[node]") {
  constexpr std::uint32_t kNodeBytes = 4096;
  NodeBytes memory(kNodeBytes);
  Inner inner(memory.data(), kNodeBytes);
  inner.initialize(5, 77, 2);
  for (std::uint32_t i = 0; i < 4; ++i) inner.insert(i, Key{1, 10 * i}, {100 + i});
  const auto fault = [&](Key low = {1, 0}, Key high = {1, 31}, std::uint8_t level = 2,
                         std::uint64_t id_limit = 104) {
    const Result<void> result =
        Inner::verify(memory.data(), kNodeBytes, low, high, level, id_limit);
    return result ? std::string() : std::string(result.error().what);
  };
  const auto set_count = [&](std::uint32_t count) {
    store_le(memory.data() + offsetof(NodeHeader, count), count);
  };
  std::byte* const keys = memory.data() + kNodeHeaderBytes;
  std::byte* const children = keys + std::size_t{16} * inner_capacity(kNodeBytes);
  REQUIRE(fault().empty());

  CHECK(fault({1, 0}, {1, 31}, 1) == "inner node: level is not one below its parent's");
  CHECK(fault({0, 9}) == "inner node: first key is not its low fence");
  CHECK(fault({1, 0}, {1, 30}) == "inner node: key outside the node's range");
  CHECK(fault({1, 0}, {1, 31}, 2, 103) == "inner node: impossible child id");
  SECTION("no children") {
    set_count(0);
    CHECK(fault() == "inner node: impossible count");
  }
  SECTION("too many children") {
    set_count(inner_capacity(kNodeBytes) + 1);
    CHECK(fault() == "inner node: impossible count");
  }
  SECTION("a child too many") {
    set_count(5);
    CHECK(fault() == "inner node: keys out of order");
  }
  SECTION("a child forgotten") {
    set_count(3);
    CHECK(fault() == "inner node: unused space not zero");
  }
  SECTION("equal keys") {
    store_key(keys + 32, Key{1, 10});
    CHECK(fault() == "inner node: keys out of order");
  }
  SECTION("no child") {
    store_le(children + 8, std::uint64_t{0});
    CHECK(fault() == "inner node: impossible child id");
  }
  SECTION("itself as child") {
    store_le(children + 8, std::uint64_t{77});
    CHECK(fault() == "inner node: impossible child id");
  }
  SECTION("a heap") {
    memory.data()[offsetof(NodeHeader, heap_top)] = std::byte{1};
    CHECK(fault() == "inner node: unused header fields not zero");
  }
  SECTION("last byte") {
    memory.data()[kNodeBytes - 1] = std::byte{1};
    CHECK(fault() == "inner node: unused space not zero");
  }
  SECTION("any bytes are refused or valid") {
    Random random(9);
    for (int round = 0; round < 2000; ++round) {
      NodeBytes other(kNodeBytes);
      std::copy_n(memory.data(), kNodeBytes, other.data());
      if (random.one_in(4)) random.fill(other.bytes());
      for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
        other.data()[random.one_in(2) ? random.below(kNodeBytes) : 32 + random.below(100)] =
            static_cast<std::byte>(random.next());
      }
      const Result<void> result = Inner::verify(other.data(), kNodeBytes, {1, 0}, {1, 31}, 2, 104);
      REQUIRE((result || result.error().code == Errc::kCorrupt));
    }
  }
}

TEST_CASE("node header: names what is wrong", "[node]") {
  NodeBytes memory(4096);
  Inner inner(memory.data(), 4096);
  inner.initialize(5, 77, 2);
  const auto fault = [&](std::uint64_t volume = 5, std::uint64_t id = 77, std::uint8_t level = 2) {
    const Result<void> result = verify_node_header(memory.data(), volume, {id}, level);
    return result ? std::string() : std::string(result.error().what);
  };
  CHECK(fault().empty());
  CHECK(fault(6) == "node of another volume");
  CHECK(fault(5, 78) == "another node lies at its place");
  CHECK(fault(5, 77, 1) == "node of another level than its parent says");
  memory.data()[63] = std::byte{1};
  CHECK(fault() == "reserved bytes of a node header are not zero");
  memory.data()[63] = std::byte{0};
  memory.data()[5] = std::byte{1};
  CHECK(fault() == "reserved bytes of a node header are not zero");
  memory.data()[0] = std::byte{0};
  CHECK(fault() == "not a node");
}
