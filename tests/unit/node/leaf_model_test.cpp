#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>

#include "unit/node/leaf_rig.hpp"

// Random operations on two neighbouring leaves, against maps. After each the touched item is looked
// at, and now and then everything.

using namespace cordwood;
using namespace cordwood::test;

namespace {

bool same(ConstBytes a, ConstBytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

class Neighbours {
 public:
  Neighbours(std::uint32_t node_bytes, std::uint64_t seed)
      : node_bytes_(node_bytes), random_(seed), left_(node_bytes), right_(node_bytes) {}

  void step() {
    switch (random_.below(40)) {
      case 0: compact(any()); break;
      case 1: erase_range(any()); break;
      case 2: move_right(); break;
      case 3: move_left(); break;
      case 4: pack(any()); break;
      case 5:
        if (random_.one_in(4)) capture(any());
        break;
      case 6:
        if (random_.one_in(10)) check_all();
        break;
      default: change(any()); break;
    }
  }

  void check_all() {
    check(left_, kMinKey, fence_);
    check(right_, fence_, kMaxKey);
  }

 private:
  ModelLeaf& any() { return random_.one_in(2) ? left_ : right_; }

  /// A key of this leaf's range.
  Key key_for(const ModelLeaf& model) {
    // Existing keys, and those next to them, so that each operation meets both cases.
    if (!model.items.empty() && random_.one_in(2)) {
      auto item = model.items.lower_bound(random_key(random_));
      if (item == model.items.end()) item = model.items.begin();
      const Key key = item->first;
      return random_.one_in(3) && in_range(model, key.next()) ? key.next() : key;
    }
    for (int tries = 0; tries < 20; ++tries) {
      const Key key = random_key(random_);
      if (in_range(model, key)) return key;
    }
    return &model == &left_ ? fence_.previous() : fence_;
  }
  bool in_range(const ModelLeaf& model, Key key) const {
    return (&model == &left_) == (key < fence_);
  }

  void change(ModelLeaf& model) {
    const Key key = key_for(model);
    const SlotPosition at = model.leaf.find(key);
    const auto expected = model.items.lower_bound(key);
    const bool exists = expected != model.items.end() && expected->first == key;
    REQUIRE(at.found == exists);
    if (at.slot < model.leaf.count()) {
      REQUIRE(expected != model.items.end());
      REQUIRE(model.leaf.key(at.slot) == expected->first);
    } else {
      REQUIRE(expected == model.items.end());
    }
    if (!exists) {
      insert(model, at.slot, key);
    } else if (random_.one_in(3)) {
      erase(model, at.slot, key);
    } else if (random_.one_in(2)) {
      replace(model, at.slot, key);
    } else {
      overwrite(model, at.slot, key);
    }
  }

  bool make_room(ModelLeaf& model, std::uint32_t bytes) {
    if (model.leaf.free_bytes() < bytes) return false;
    if (model.leaf.contiguous_free_bytes() < bytes) {
      model.leaf.compact(model.scratch.data());
      REQUIRE(model.leaf.contiguous_free_bytes() == model.leaf.free_bytes());
    }
    return true;
  }

  void insert(ModelLeaf& model, std::uint32_t slot, Key key) {
    std::vector<std::byte> item = random_item(random_, node_bytes_);
    const std::uint32_t bytes = item_footprint(static_cast<std::uint32_t>(item.size()));
    if (!make_room(model, bytes)) return;
    const std::uint32_t free = model.leaf.free_bytes();
    model.leaf.insert(slot, key, item);
    REQUIRE(model.leaf.free_bytes() == free - bytes);
    REQUIRE(model.leaf.key(slot) == key);
    REQUIRE(same(model.leaf.item(slot), item));
    REQUIRE(model.leaf.changed(slot));
    model.items[key] = std::move(item);
    model.changed.insert(key);
  }

  void erase(ModelLeaf& model, std::uint32_t slot, Key key) {
    model.leaf.erase(slot);
    model.items.erase(key);
    model.changed.erase(key);
    REQUIRE(!model.leaf.find(key).found);
  }

  void replace(ModelLeaf& model, std::uint32_t slot, Key key) {
    std::vector<std::byte> item = random_item(random_, node_bytes_);
    const std::size_t before = model.items[key].size();
    const auto bytes = static_cast<std::uint32_t>(kRecordHeaderBytes + item.size());
    if (item.size() > before && !make_room(model, bytes)) return;
    model.leaf.replace(slot, item);
    REQUIRE(model.leaf.key(slot) == key);
    REQUIRE(same(model.leaf.item(slot), item));
    REQUIRE(model.leaf.changed(slot));
    model.items[key] = std::move(item);
    model.changed.insert(key);
  }

  void overwrite(ModelLeaf& model, std::uint32_t slot, Key key) {
    const Bytes bytes = model.leaf.mutable_item(slot);
    random_.fill(bytes);
    REQUIRE(model.leaf.changed(slot));
    model.items[key].assign(bytes.begin(), bytes.end());
    model.changed.insert(key);
  }

  void compact(ModelLeaf& model) {
    const std::uint32_t free = model.leaf.free_bytes();
    model.leaf.compact(model.scratch.data());
    REQUIRE(model.leaf.contiguous_free_bytes() == free);
    REQUIRE(model.leaf.free_bytes() == free);
  }

  void erase_range(ModelLeaf& model) {
    const std::uint32_t total = model.leaf.count();
    const auto first = static_cast<std::uint32_t>(random_.below(total + 1));
    const std::uint32_t most = random_.one_in(8) ? total - first : (total - first) / 8;
    const auto last = first + static_cast<std::uint32_t>(random_.below(most + 1));
    const auto from = std::next(model.items.begin(), first);
    const auto to = std::next(model.items.begin(), last);
    for (auto item = from; item != to; ++item) model.changed.erase(item->first);
    model.items.erase(from, to);
    model.leaf.erase_range(first, last);
    REQUIRE(model.leaf.count() == model.items.size());
  }

  /// Takes the items from `from` on to `to` over to the other model.
  static void hand_over(ModelLeaf& source, ModelLeaf& target, Items::iterator from,
                        Items::iterator to) {
    for (auto item = from; item != to; ++item) {
      if (source.changed.erase(item->first) != 0) target.changed.insert(item->first);
    }
    target.items.insert(std::make_move_iterator(from), std::make_move_iterator(to));
    source.items.erase(from, to);
  }

  void move_right() {
    const std::uint32_t total = left_.leaf.count();
    if (total == 0) return;
    std::uint32_t number =
        left_.leaf.slots_for_bytes_from_end(static_cast<std::uint32_t>(random_.below(node_bytes_)));
    while (left_.leaf.footprint(total - number, total) > right_.leaf.free_bytes()) number /= 2;
    left_.leaf.move_to_front_of(right_.leaf, total - number, left_.scratch.data());
    hand_over(left_, right_, std::next(left_.items.begin(), total - number), left_.items.end());
    if (number > 0) fence_ = right_.items.begin()->first;
    REQUIRE(left_.leaf.count() == left_.items.size());
    REQUIRE(right_.leaf.count() == right_.items.size());
  }

  void move_left() {
    std::uint32_t number = right_.leaf.slots_for_bytes_from_start(
        static_cast<std::uint32_t>(random_.below(node_bytes_)));
    while (right_.leaf.footprint(0, number) > left_.leaf.free_bytes()) number /= 2;
    right_.leaf.move_to_back_of(left_.leaf, number, right_.scratch.data());
    hand_over(right_, left_, right_.items.begin(), std::next(right_.items.begin(), number));
    if (number > 0) fence_ = left_.items.rbegin()->first.next();
    REQUIRE(left_.leaf.count() == left_.items.size());
    REQUIRE(right_.leaf.count() == right_.items.size());
  }

  void pack(ModelLeaf& model) {
    NodeBytes target(node_bytes_);
    random_.fill(target.bytes());
    model.leaf.pack(target.data());
    Leaf packed(target.data(), node_bytes_);
    const bool is_left = &model == &left_;
    REQUIRE(packed.verify(is_left ? kMinKey : fence_, is_left ? fence_ : kMaxKey, true));
    REQUIRE(packed.free_bytes() == model.leaf.free_bytes());
    REQUIRE(packed.contiguous_free_bytes() == model.leaf.free_bytes());
    // Going on from the packed form is what reading a node back does. Chunks then say more than
    // before, not less; the test keeps them by marking all.
    if (random_.one_in(8)) {
      std::copy_n(target.data(), node_bytes_, model.memory.data());
      model.chunks.mark_all();
    }
  }

  void capture(ModelLeaf& model) {
    model.chunks.clear();
    model.changed.clear();
  }

  void check(ModelLeaf& model, Key low, Key high) {
    REQUIRE(model.leaf.verify(low, high, false));
    REQUIRE(model.leaf.used_bytes() == model.used_bytes());
    REQUIRE(model.leaf.count() == model.items.size());
    std::uint32_t slot = 0;
    std::uint32_t wrong = 0;
    for (const auto& [key, item] : model.items) {
      const SlotPosition at = model.leaf.find(key);
      if (!at.found || at.slot != slot) ++wrong;
      if (model.leaf.key(slot) != key || !same(model.leaf.item(slot), item)) ++wrong;
      if (model.changed.count(key) != 0 && !model.leaf.changed(slot)) ++wrong;
      ++slot;
    }
    REQUIRE(wrong == 0);
  }

  std::uint32_t node_bytes_;
  Random random_;
  ModelLeaf left_;
  ModelLeaf right_;
  Key fence_ = make_key({2}, ItemType::kExtent);
};

}  // namespace

TEST_CASE("leaf: random operations give what maps give", "[node]") {
  const auto node_bytes = GENERATE(4096u, 16384u, 65536u);
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  INFO("node_bytes " << node_bytes << ", seed " << seed);
  Neighbours neighbours(node_bytes, seed);
  for (int i = 0; i < 100'000; ++i) neighbours.step();
  neighbours.check_all();
}
