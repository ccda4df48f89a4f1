#include <set>
#include <vector>

#include "base/random.hpp"
#include "node/erased_keys.hpp"
#include "support/catch.hpp"

namespace cordwood::test {

namespace {

constexpr std::uint32_t kNodeBytes = 4096;

/// A leaf with items of keys 10, 20, ..., none of them changed.
class Rig {
 public:
  Rig() : bytes_(kNodeBytes), leaf(bytes_.data(), kNodeBytes, &chunks_) {
    leaf.initialize(1, 1);
    const std::vector<std::byte> data(200);  // a chunk or two each
    for (std::uint64_t lo = 10; lo <= 150; lo += 10) leaf.insert(leaf.count(), {0, lo}, data);
    chunks_.clear();
  }
  void erase(std::uint64_t lo) {
    leaf.erase(leaf.find({0, lo}).slot);
    erased.add(leaf, {0, lo});
  }
  void touch(std::uint64_t lo) { (void)leaf.mutable_item(leaf.find({0, lo}).slot); }

 private:
  std::vector<std::byte> bytes_;
  ChunkBitmap chunks_;

 public:
  Leaf leaf;
  ErasedKeys erased;
};

std::vector<KeyRange> ranges(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> all) {
  std::vector<KeyRange> result;
  for (const auto& [first, last] : all) result.push_back({{0, first}, {0, last}});
  return result;
}

}  // namespace

TEST_CASE("erased keys: neighbours join when no old item lies between", "[node]") {
  Rig rig;
  for (const std::uint64_t lo : {50, 30, 40, 90, 110}) rig.erase(lo);
  rig.erased.compress(rig.leaf);
  CHECK(rig.erased.ranges() == ranges({{30, 50}, {90, 90}, {110, 110}}));
  SECTION("an item that changed may lie between: it is put again") {
    rig.touch(100);
    rig.erased.compress(rig.leaf);
    CHECK(rig.erased.ranges() == ranges({{30, 50}, {90, 110}}));
  }
  SECTION("one that was erased and inserted again may be inside") {
    rig.leaf.insert(rig.leaf.find({0, 40}).slot, {0, 40}, {});
    rig.erased.compress(rig.leaf);
    CHECK(rig.erased.ranges().front() == KeyRange{{0, 30}, {0, 50}});
  }
  SECTION("a border cuts what lies across it") {
    ErasedKeys right;
    CHECK(rig.erased.any_from({0, 40}));
    rig.erased.move_from({0, 40}, right);
    CHECK(rig.erased.ranges() == ranges({{30, 39}}));
    CHECK(right.ranges() == ranges({{40, 50}, {90, 90}, {110, 110}}));
    CHECK(!rig.erased.any_from({0, 40}));
    CHECK(right.any_below({0, 50}));
    CHECK(!right.any_below({0, 40}));
    right.move_below({0, 100}, rig.erased);
    CHECK(right.ranges() == ranges({{110, 110}}));
    right.move_all(rig.erased);
    CHECK(right.empty());
    rig.erased.compress(rig.leaf);
    CHECK(rig.erased.ranges() == ranges({{30, 50}, {90, 90}, {110, 110}}));
  }
}

TEST_CASE("erased keys: however many are erased, few ranges remain", "[node]") {
  std::vector<std::byte> bytes(kNodeBytes);
  ChunkBitmap chunks;
  Leaf leaf(bytes.data(), kNodeBytes, &chunks);
  leaf.initialize(1, 1);
  leaf.insert(0, {0, 5'000}, {});
  chunks.clear();
  ErasedKeys erased;
  for (std::uint64_t lo = 1; lo < 10'000; ++lo) {
    if (lo != 5'000) erased.add(leaf, {0, lo});
  }
  CHECK(erased.ranges().size() < 300);
  erased.compress(leaf);
  CHECK(erased.ranges() == ranges({{1, 4'999}, {5'001, 9'999}}));
}

}  // namespace cordwood::test
