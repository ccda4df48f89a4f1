#ifndef __EMSCRIPTEN__

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "support/catch.hpp"
#include "support/tree_rig.hpp"

namespace cordwood::test {
namespace {

using Model = std::map<Key, std::uint64_t>;

std::uint64_t load_value(ConstBytes item) { return load_le<std::uint64_t>(item.data()); }

/// Each writer owns the keys whose lo is its number modulo the count, so that the writers meet in
/// leaves but never in a key; each checks its own keys against a model of its own.
class Writer {
 public:
  Writer(TreeRig& rig, std::uint64_t number, std::uint64_t count)
      : rig_(rig), random_(number + 100), number_(number), count_(count) {}

  void run(int steps) {
    for (int step = 0; step < steps && !wrong_; ++step) act();
  }
  [[nodiscard]] bool wrong() const { return wrong_; }
  [[nodiscard]] const Model& model() const { return model_; }

 private:
  Key own_key() {
    const bool append = random_.below(3) == 0;
    const std::uint64_t n = append ? next_++ : random_.below(3000);
    return make_key({append ? 2 + number_ : 1}, ItemType::kDirIndex, n * count_ + number_);
  }

  void act() {
    const Key key = own_key();
    const auto there = model_.find(key);
    std::vector<std::byte> item(8 + random_.below(200));
    const std::uint64_t value = random_.next();
    store_le(item.data(), value);
    if (random_.below(4) == 0) {
      std::uint64_t seen = 0;
      const auto found = rig_.tree->read(
          key, [&](ConstBytes bytes) { seen = load_value(bytes); }, &hint_);
      wrong_ |= !found || *found != (there != model_.end()) || (*found && seen != there->second);
      return;
    }
    auto operation = rig_.checkpointer->begin({1, 0, ReserveClass::kNormal});
    if (!operation) {
      wrong_ = true;
      return;
    }
    const bool erase = there != model_.end() && random_.below(5) < 2;
    const auto done = erase ? rig_.tree->erase(operation->reservation, key, &hint_)
                            : rig_.tree->put(operation->reservation, key, item, &hint_);
    wrong_ |= !done;
    if (erase) {
      model_.erase(there);
    } else {
      model_[key] = value;
    }
  }

  TreeRig& rig_;
  Random random_;
  std::uint64_t number_;
  std::uint64_t count_;
  std::uint64_t next_ = 0;
  Model model_;
  Hint hint_;
  bool wrong_ = false;
};

TEST_CASE("tree: writers, readers and checkpoints at the same time", "[tree][threads]") {
  constexpr std::uint64_t kWriters = 3;
  constexpr int kSteps = 15000;
  TreeRigOptions options;
  options.node_bytes = GENERATE(4096u, 16384u);
  options.policy.split =
      options.node_bytes == 4096 ? SplitPolicy::kAdaptive : SplitPolicy::kPushNeeded;
  options.cache_bytes = 64 * options.node_bytes;
  options.dirty_bytes_max = 32 * options.node_bytes;
  MemoryDevice device(options.device_bytes);
  auto rig = TreeRig::format(device, options);

  std::vector<Writer> writers;
  for (std::uint64_t i = 0; i < kWriters; ++i) writers.emplace_back(*rig, i, kWriters);
  std::atomic<bool> stop{false};
  std::atomic<bool> disorder{false};
  std::thread scanner([&] {
    while (!stop) {
      Key last = kMinKey;
      const auto scanned = rig->tree->scan(kMinKey, kMaxKey, [&](Key key, ConstBytes) {
        if (key <= last) disorder = true;
        last = key;
        return true;
      });
      if (!scanned) disorder = true;
    }
  });
  std::thread checkpoints([&] {
    while (!stop) {
      if (!rig->checkpointer->checkpoint()) disorder = true;
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (Writer& writer : writers) threads.emplace_back([&writer] { writer.run(kSteps); });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  scanner.join();
  checkpoints.join();
  CHECK(!disorder);
  Model all;
  for (const Writer& writer : writers) {
    CHECK(!writer.wrong());
    all.insert(writer.model().begin(), writer.model().end());
  }

  REQUIRE(rig->checkpointer->checkpoint());
  CHECK(rig->space->reserved_blocks() == 0);
  rig.reset();
  rig = TreeRig::open(device, options);
  Model found;
  REQUIRE(rig->tree->scan(kMinKey, kMaxKey, [&](Key key, ConstBytes item) {
    found[key] = load_value(item);
    return true;
  }));
  CHECK(found.size() == all.size());
  CHECK(found == all);
}

}  // namespace
}  // namespace cordwood::test

#endif  // __EMSCRIPTEN__
