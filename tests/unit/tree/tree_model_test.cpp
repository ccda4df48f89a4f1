#include <map>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "support/catch.hpp"
#include "support/tree_rig.hpp"

namespace cordwood::test {
namespace {

using Model = std::map<Key, std::vector<std::byte>>;

std::vector<std::byte> random_item(Random& random, std::uint32_t size) {
  std::vector<std::byte> item(size);
  for (std::byte& byte : item) byte = static_cast<std::byte>(random.below(256));
  return item;
}

/// Few inodes and offsets, so that keys meet again; sometimes an append.
Key random_key(Random& random, std::uint64_t& next) {
  if (random.below(4) == 0) return make_key({1000}, ItemType::kDirIndex, ++next);
  return make_key({1 + random.below(40)}, static_cast<ItemType>(1 + random.below(6)),
                  random.below(200) << (random.below(2) * 40));
}

void require_equal(BTree& tree, const Model& model) {
  auto expected = model.begin();
  std::size_t wrong = 0;
  REQUIRE(tree.scan(kMinKey, kMaxKey, [&](Key key, ConstBytes item) {
    if (expected == model.end() || expected->first != key ||
        !std::equal(item.begin(), item.end(), expected->second.begin(), expected->second.end())) {
      ++wrong;
      return false;
    }
    ++expected;
    return true;
  }));
  REQUIRE(wrong == 0);
  REQUIRE(expected == model.end());
}

struct Sizes {
  std::uint32_t node, block;
};

void run_model(const TreeRigOptions& options, std::uint64_t seed, int steps) {
  MemoryDevice device(options.device_bytes);
  auto rig = TreeRig::format(device, options);
  Random random(seed);
  Model model;
  std::uint64_t next = 0;
  std::vector<Hint> hints(3);
  for (int step = 0; step < steps; ++step) {
    CAPTURE(step);
    BTree& tree = *rig->tree;
    const Key key = random_key(random, next);
    const std::uint32_t largest = tree.max_item_bytes();
    const std::uint32_t size = static_cast<std::uint32_t>(
        random.below(8) == 0 ? random.below(largest + 1) : random.below(120));
    Hint* hint = random.below(2) == 0 ? &hints[random.below(hints.size())] : nullptr;
    const auto action = random.below(100);
    if (action < 96) {
      auto operation = rig->checkpointer->begin({2, 0, ReserveClass::kNormal});
      REQUIRE(operation.has_value());
      Reservation& reservation = operation->reservation;
      const bool present = model.count(key) != 0;
      // Growing and shrinking phases, so that splits and merges both happen.
      const bool shrinking = step / 4000 % 3 == 2;
      if (action < (shrinking ? 20u : 50u)) {
        const auto item = random_item(random, size);
        const auto result = tree.insert(reservation, key, item, hint);
        REQUIRE(result.has_value() != present);
        if (!present) model[key] = item;
      } else if (action < (shrinking ? 25u : 65u)) {
        const auto item = random_item(random, size);
        REQUIRE(tree.put(reservation, key, item, hint));
        model[key] = item;
      } else if (action < 85) {
        const Key target = model.empty() ? key : [&] {
          const auto found = model.lower_bound(key);
          return found == model.end() ? key : found->first;
        }();
        const auto result = tree.erase(reservation, target, hint);
        REQUIRE(result.has_value() == (model.erase(target) == 1));
      } else {
        const auto result = tree.update(
            reservation, key,
            [&](Bytes bytes) {
              for (std::byte& byte : bytes) byte ^= std::byte{0xff};
            },
            hint);
        REQUIRE(result);
        REQUIRE(*result == present);
        if (present) {
          for (std::byte& byte : model[key]) byte ^= std::byte{0xff};
        }
      }
    } else if (action < 98) {
      std::vector<std::byte> seen;
      const auto found =
          tree.read(key, [&](ConstBytes item) { seen.assign(item.begin(), item.end()); });
      REQUIRE(found);
      REQUIRE(*found == (model.count(key) == 1));
      if (*found) REQUIRE(seen == model[key]);
      Key floor;
      const auto below = tree.read_floor(key, kMinKey, [&](Key at, ConstBytes) { floor = at; });
      REQUIRE(below);
      auto expected = model.upper_bound(key);
      REQUIRE(*below == (expected != model.begin()));
      if (*below) REQUIRE(floor == std::prev(expected)->first);
    } else if (action < 99) {
      if (random.below(10) == 0) REQUIRE(rig->checkpointer->checkpoint());
    } else if (random.below(40) == 0) {
      REQUIRE(rig->checkpointer->checkpoint());
      require_equal(tree, model);
      rig.reset();
      hints.assign(3, {});
      rig = TreeRig::open(device, options);
      require_equal(*rig->tree, model);
    }
  }
  require_equal(*rig->tree, model);
  // All gone again: the tree becomes one leaf, and all space comes back.
  for (auto it = model.begin(); it != model.end(); it = model.erase(it)) {
    auto operation = rig->checkpointer->begin({2, 0, ReserveClass::kEmergency});
    REQUIRE(operation.has_value());
    REQUIRE(rig->tree->erase(operation->reservation, it->first));
  }
  REQUIRE(rig->checkpointer->checkpoint());
  REQUIRE(rig->space->reserved_blocks() == 0);
  REQUIRE(rig->space->pending_free_blocks() == 0);
}

TEST_CASE("tree: behaves like an ordered map, across checkpoints and reopening", "[tree]") {
  const Sizes sizes = GENERATE(Sizes{4096, 4096}, Sizes{4096, 512}, Sizes{16384, 4096},
                               Sizes{65536, 4096}, Sizes{65536, 512});
  const SplitPolicy split = GENERATE(SplitPolicy::kNeverPush, SplitPolicy::kPushFull,
                                     SplitPolicy::kPushNeeded, SplitPolicy::kAdaptive);
  const SearchHint search_hint =
      split == SplitPolicy::kPushNeeded ? SearchHint::kOff : SearchHint::kOn;
  TreeRigOptions options;
  options.node_bytes = sizes.node;
  options.block_bytes = sizes.block;
  options.policy = {split, search_hint};
  options.cache_bytes = 24 * sizes.node;
  options.dirty_bytes_max = 12 * sizes.node;
  CAPTURE(sizes.node, sizes.block, static_cast<int>(split));
  run_model(options, 7 + sizes.node + static_cast<std::uint64_t>(split), 12000);
}

TEST_CASE("tree: hints and policies count what they do", "[tree]") {
  TreeRigOptions options;
  MemoryDevice device(options.device_bytes);
  auto rig = TreeRig::format(device, options);
  Hint hint;
  const std::vector<std::byte> item(40);
  constexpr std::uint64_t kItems = 20000;
  for (std::uint64_t i = 0; i < kItems; ++i) {
    auto operation = rig->checkpointer->begin({1, 0, ReserveClass::kNormal});
    REQUIRE(operation.has_value());
    REQUIRE(rig->tree->insert(operation->reservation, make_key({5}, ItemType::kDirIndex, i), item,
                              &hint));
  }
  REQUIRE(rig->counters.value(Counter::kInserts) == kItems);
  REQUIRE(rig->counters.value(Counter::kSplits) == 0);
  REQUIRE(rig->counters.value(Counter::kAppendSplits) > 50);
  REQUIRE(rig->counters.value(Counter::kHintHits) > kItems - 500);
  REQUIRE(rig->tree->resident_leaf_fill_permille() > 980);
}

/// Takes every other block of all that is free, so that no two free blocks are neighbours.
void fragment_space(TreeRig& rig) {
  Space& space = *rig.space;
  std::vector<BlockRun> runs;
  for (std::uint64_t left = space.available_blocks(); left != 0;) {
    REQUIRE(space.try_reserve(1, ReserveClass::kEmergency));
    const auto run = space.allocate(1, 1, AllocationStream::kData);
    REQUIRE(run);
    runs.push_back(*run);
    --left;
  }
  for (const BlockRun run : runs) {
    run.first.value % 2 == 0 ? space.commit(run) : space.cancel(run);
  }
}

TEST_CASE("tree: nodes lie on separate blocks when nothing else is left", "[tree]") {
  TreeRigOptions options;
  options.device_bytes = 16_MiB;
  const Sizes sizes =
      GENERATE(Sizes{16384, 4096}, Sizes{65536, 512}, Sizes{4096, 512}, Sizes{65536, 4096});
  options.node_bytes = sizes.node;
  options.block_bytes = sizes.block;
  CAPTURE(sizes.node, sizes.block);
  MemoryDevice device(options.device_bytes);
  auto rig = TreeRig::format(device, options);
  rig->space->set_emergency_blocks(0);
  fragment_space(*rig);
  const std::vector<std::byte> item(100, std::byte{7});
  Model model;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    auto operation = rig->checkpointer->begin({1, 0, ReserveClass::kNormal});
    REQUIRE(operation.has_value());
    const Key key = make_key({1 + i % 7}, ItemType::kDirHash, i * 0x9e3779b97f4a7c15u);
    REQUIRE(rig->tree->insert(operation->reservation, key, item));
    model[key] = item;
  }
  for (int round = 0; round < 3; ++round) {
    REQUIRE(rig->checkpointer->checkpoint());
    CHECK(rig->counters.value(Counter::kFragmentedNodes) > 0);
    rig.reset();
    rig = TreeRig::open(device, options);
    require_equal(*rig->tree, model);
    // Moves every node again, and frees the pieces that it lay on.
    for (auto& [key, value] : model) {
      auto operation = rig->checkpointer->begin({1, 0, ReserveClass::kEmergency});
      REQUIRE(operation.has_value());
      value.assign(50, static_cast<std::byte>(round));
      REQUIRE(rig->tree->put(operation->reservation, key, value));
    }
  }
}

}  // namespace
}  // namespace cordwood::test
