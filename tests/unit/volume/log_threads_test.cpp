// The log when several threads use the volume: shared commits, cuts through all of them, and what comes
// while a checkpoint is written.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/log_rig.hpp"
#include "support/numbered.hpp"

namespace cordwood::test {

TEST_CASE("log: threads share commits", "[log][threads]") {
  LogShape shape;
  shape.device_bytes = 64_MiB;
  LogRig volume(shape);
  constexpr int kThreads = 8;
  constexpr int kFiles = 100;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kFiles; ++i) {
        const std::string name = numbered(numbered("", t) + "-", i);
        const auto made = volume->create(kRootInode, name, {});
        if (!made || !volume->fsync(made->inode)) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(volume.count(Counter::kFsyncs) >= kThreads * kFiles);
  CHECK(volume->statistics().group_sizes.max >= 1);
  AfterCrash after(volume.image());
  REQUIRE(after.volume);
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kFiles; ++i) {
      REQUIRE(after.has(numbered(numbered("", t) + "-", i)));
    }
  }
  after.close_and_check();
}

namespace {

/// Calls something in the midst of the next flush, once.
class HookedDevice final : public BlockDevice {
 public:
  explicit HookedDevice(BlockDevice& device) : device_(device) {}
  void at_next_flush(std::function<void()> hook) { hook_ = std::move(hook); }

  [[nodiscard]] DeviceGeometry geometry() const override { return device_.geometry(); }
  [[nodiscard]] std::string description() const override { return device_.description(); }
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override {
    return device_.submit(requests);
  }
  [[nodiscard]] Result<void> flush() override {
    if (auto hook = std::exchange(hook_, nullptr)) hook();
    return device_.flush();
  }
  [[nodiscard]] Result<void> discard(std::uint64_t offset, std::uint64_t bytes) override {
    return device_.discard(offset, bytes);
  }

 private:
  BlockDevice& device_;
  std::function<void()> hook_;
};

/// A volume whose checkpoints can be interrupted before their superblock is written.
struct HookedRig {
  HookedRig() : memory(16_MiB, options()), device(memory) {
    FormatOptions format;
    format.log_bytes = 256_KiB;
    format.uuid = {4, 2};
    REQUIRE(Volume::format(device, format));
    volume = *Volume::open(device);
    REQUIRE(volume->checkpoint());
    create_and_fsync("first");
  }
  static MemoryDeviceOptions options() {
    MemoryDeviceOptions options;
    options.volatile_cache = true;
    options.fua = true;
    return options;
  }
  void create_and_fsync(const std::string& name) {
    const auto made = volume->create(kRootInode, name, {});
    REQUIRE(made);
    REQUIRE(volume->fsync(made->inode));
  }
  [[nodiscard]] bool crash_keeps(const std::string& name) const {
    return AfterCrash(memory.snapshot()).has(name);
  }
  MemoryDevice memory;
  HookedDevice device;
  std::unique_ptr<Volume> volume;
};

}  // namespace

TEST_CASE("log: an fsync while a checkpoint is written goes on along the chain", "[log][threads]") {
  HookedRig rig;
  REQUIRE(rig.volume->create(kRootInode, "before the freeze", {}));
  rig.device.at_next_flush([&] {
    std::thread([&] {
      rig.create_and_fsync("during");
      CHECK(rig.crash_keeps("before the freeze"));
      CHECK(rig.crash_keeps("during"));
    }).join();
  });
  REQUIRE(rig.volume->checkpoint());
  CHECK(rig.crash_keeps("before the freeze"));
  CHECK(rig.crash_keeps("during"));
  CHECK((*AfterCrash(rig.memory.snapshot()).volume)->replay().records == 1);
}

TEST_CASE("log: records from while a checkpoint was written are kept until the next one",
          "[log][threads]") {
  HookedRig rig;
  rig.device.at_next_flush([&] {
    std::thread([&] {
      for (int i = 0; i < 40; ++i) rig.create_and_fsync(numbered("during", i));
    }).join();
  });
  REQUIRE(rig.volume->checkpoint());
  for (int i = 0; i < 40; ++i) {
    rig.create_and_fsync(numbered("after", i));
    CHECK(rig.crash_keeps("during39"));
    CHECK(rig.crash_keeps(numbered("after", i)));
  }
}

TEST_CASE("log: a batch that is too large waits for a checkpoint that includes it",
          "[log][threads]") {
  HookedRig rig;
  std::thread other;
  rig.device.at_next_flush([&] {
    other = std::thread([&] {
      for (int i = 0; i < 3000; ++i) {
        CHECK(rig.volume->create(kRootInode, numbered("file", i), {}));
      }
      CHECK(rig.volume->fsync(kRootInode));
      CHECK(rig.crash_keeps("file2999"));
    });
    Log& log = *rig.volume->engine().log;
    while (true) {
      {
        const std::lock_guard lock(log.mutex());
        if (!log.chain_is_whole()) break;
      }
      std::this_thread::yield();
    }
  });
  REQUIRE(rig.volume->checkpoint());
  other.join();
  CHECK(rig.crash_keeps("file2999"));
}

namespace {

/// What one thread does in a directory of its own, step by step: its names after k steps are known.
struct Script {
  static constexpr int kLife = 40;

  static Result<void> step(Volume& volume, InodeNumber directory, int i) {
    TRY(volume.create(directory, numbered("n", i), {}));
    if (i % 3 == 2) {
      TRY(volume.rename(directory, numbered("n", i), directory, numbered("r", i),
                        RenameMode::kReplace));
    }
    if (i >= kLife) TRY(volume.unlink(directory, name(i - kLife)));
    return {};
  }
  static std::string name(int i) { return numbered(i % 3 == 2 ? "r" : "n", i); }
  /// Whether a directory is as it is after some steps, at least `steps_min`, or in the midst of one.
  static bool is_prefix(const std::set<std::string>& names, int steps_min, int steps_max) {
    std::set<std::string> expected;
    for (int i = 0; i <= steps_max; ++i) {
      if (i >= steps_min && names == expected) return true;
      expected.insert(numbered("n", i));
      if (i >= steps_min && names == expected) return true;
      if (i % 3 == 2) {
        expected.erase(numbered("n", i));
        expected.insert(numbered("r", i));
        if (i >= steps_min && names == expected) return true;
      }
      if (i >= kLife) expected.erase(name(i - kLife));
    }
    return false;
  }
};

}  // namespace

TEST_CASE("log: a crash while threads work leaves a cut through all of them", "[log][threads]") {
  LogShape shape;
  shape.device_bytes = 64_MiB;
  shape.log_bytes = GENERATE(256_KiB, 4_MiB);
  shape.node_bytes = GENERATE(4096u, 65536u);
  LogRig volume(shape);
  constexpr int kThreads = 4;
#ifdef CORDWOOD_SLOW_BUILD
  constexpr int kSteps = 400;
#else
  constexpr int kSteps = 4000;
#endif
  std::vector<InodeNumber> directories;
  for (int t = 0; t < kThreads; ++t) {
    directories.push_back(volume->make_directory(kRootInode, numbered("d", t), {})->inode);
  }
  volume.fsync(kRootInode);
  std::array<std::atomic<int>, kThreads> durable{};
  std::atomic<int> running{kThreads};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kSteps; ++i) {
        if (!Script::step(*volume, directories[t], i)) ++failed;
        // Some often, some seldom: so captures are small and large.
        if (i % (t == 0 ? 7 : 150 * t) != 0) continue;
        if (!volume->fsync(directories[t])) ++failed;
        durable[t] = i + 1;
      }
      --running;
    });
  }
  int crashes = 0;
  while (running > 0) {
    std::array<int, kThreads> acknowledged{};
    for (int t = 0; t < kThreads; ++t) acknowledged[t] = durable[t];
    AfterCrash after(volume.image());
    REQUIRE(after.volume);
    for (int t = 0; t < kThreads; ++t) {
      std::set<std::string> names;
      REQUIRE((*after.volume)->read_directory(directories[t], 2, [&](const DirectoryEntry& entry) {
        names.emplace(entry.name);
        return true;
      }));
      names.erase(".");
      names.erase("..");
      std::string listed;
      for (const std::string& name : names) listed += name + " ";
      CAPTURE(t, acknowledged[t], listed);
      REQUIRE(Script::is_prefix(names, acknowledged[t], kSteps));
    }
    after.close_and_check();
    ++crashes;
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(crashes > 0);
  REQUIRE(volume->close());
  const std::string found = findings(volume.device());
  INFO(found);
  CHECK(found.empty());
}

}  // namespace cordwood::test
