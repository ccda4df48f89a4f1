// The log, seen from the volume: what an fsync costs, what a replay makes of damaged, torn and stale
// records, and what happens when the ring is full.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/memory_device.hpp"
#include "format/log.hpp"
#include "lab/volume_state.hpp"
#include "log/reader.hpp"
#include "support/catch.hpp"
#include "support/findings.hpp"
#include "support/mounted.hpp"
#include "support/numbered.hpp"
#include "support/test_clock.hpp"
#include "volume/engine.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

namespace {

struct Shape {
  std::uint64_t device_bytes = 16_MiB;
  std::uint32_t node_bytes = 16384;
  std::uint32_t block_bytes = 4096;
  std::uint64_t log_bytes = 0;
  MemoryDeviceOptions device;
};

/// A volume on a memory device that can be dropped as a crash does it.
class Rig {
 public:
  explicit Rig(const Shape& shape = {}) : shape_(shape), device_(shape.device_bytes, shape.device) {
    FormatOptions format;
    format.node_bytes = shape.node_bytes;
    format.block_bytes = shape.block_bytes;
    format.log_bytes = shape.log_bytes;
    format.uuid = {4, 2};
    format.clock = &clock_;
    REQUIRE(Volume::format(device_, format));
    open();
    // The first fsync of a mount would be one.
    REQUIRE(volume_->checkpoint());
  }

  Volume* operator->() { return volume_.get(); }
  Volume& operator*() { return *volume_; }
  MemoryDevice& device() { return device_; }
  TestClock& clock() { return clock_; }

  [[nodiscard]] MountOptions options() {
    MountOptions options;
    options.clock = &clock_;
    return options;
  }
  void open() {
    auto opened = Volume::open(device_, options());
    REQUIRE(opened);
    volume_ = *std::move(opened);
  }
  InodeNumber file(const std::string& name, InodeNumber parent = kRootInode) {
    clock_.advance(1000);
    const auto made = volume_->create(parent, name, {});
    REQUIRE(made);
    return made->inode;
  }
  void fsync(InodeNumber inode) { REQUIRE(volume_->fsync(inode)); }
  [[nodiscard]] std::uint64_t count(Counter counter) const {
    return volume_->statistics().counters[static_cast<std::size_t>(counter)];
  }
  /// Where the next record will be, and the byte on the device there.
  [[nodiscard]] LogPosition head() { return volume_->engine().log->position(); }
  [[nodiscard]] std::uint64_t byte_of(LogPosition position) {
    const Layout& layout = volume_->engine().layout;
    return layout.byte_of(layout.log.first + position.block);
  }
  [[nodiscard]] SparseImage image() const { return device_.snapshot(); }

 private:
  Shape shape_;
  TestClock clock_;
  MemoryDevice device_;
  std::unique_ptr<Volume> volume_;
};

/// Opens what a crash has left.
struct After {
  explicit After(const SparseImage& image, const MountOptions& options = {})
      : device(image), volume(Volume::open(device, options)) {}
  [[nodiscard]] bool has(const std::string& name) {
    return (*volume)->lookup(kRootInode, name).has_value();
  }
  void close_and_check() {
    REQUIRE((*volume)->close());
    volume = make_error(Errc::kInvalid, "closed");
    const std::string found = findings(device);
    INFO(found);
    CHECK(found.empty());
  }
  MemoryDevice device;
  Result<std::unique_ptr<Volume>> volume;
};

}  // namespace

TEST_CASE("log: an isolated fsync is one write and at most one flush", "[log]") {
  const bool cache = GENERATE(false, true);
  const bool fua = GENERATE(false, true);
  CAPTURE(cache, fua);
  Shape shape;
  shape.device.volatile_cache = cache;
  shape.device.fua = fua;
  Rig volume(shape);
  volume.file("before");
  volume.fsync(kRootInode);
  const DeviceCounters before = volume.device().counters();
  const std::uint64_t commands = volume.count(Counter::kLogDeviceCommands);
  volume.fsync(volume.file("small"));
  const DeviceCounters after = volume.device().counters();
  CHECK(after.writes - before.writes == 1);
  CHECK(after.bytes_written - before.bytes_written == 4096);
  CHECK(after.flushes - before.flushes == (cache && !fua ? 1 : 0));
  CHECK(after.fua_writes - before.fua_writes == (cache && fua ? 1 : 0));
  CHECK(volume.count(Counter::kLogDeviceCommands) - commands == (cache && !fua ? 2 : 1));

  SECTION("file data that waits for a flush gets one") {
    const InodeNumber file = volume.file("data");
    const std::vector<std::byte> data(4096, std::byte{1});
    REQUIRE(volume->write(file, 0, data));
    const std::uint64_t flushes = volume.device().counters().flushes;
    volume.fsync(file);
    CHECK(volume.device().counters().flushes - flushes == (cache ? 1 : 0));
  }
  SECTION("what is durable already needs no I/O") {
    const InodeNumber file = volume->lookup(kRootInode, "small")->inode;
    const DeviceCounters idle = volume.device().counters();
    volume.fsync(file);
    REQUIRE(volume->fdatasync(file));
    volume.file("another");  // changes the root, not this file
    volume.fsync(file);
    AttributeChanges changes;
    changes.permissions = 0600;
    volume.fsync(kRootInode);
    const DeviceCounters fsynced = volume.device().counters();
    CHECK(fsynced.writes == idle.writes + 1);
    REQUIRE(volume->set_attributes(file, changes));
    REQUIRE(volume->fdatasync(file));
    CHECK(volume.device().counters().writes == fsynced.writes);
    volume.fsync(file);
    CHECK(volume.device().counters().writes == fsynced.writes + 1);
  }
}

TEST_CASE("log: a torn tail is cut, a bad record before a durable one is refused", "[log]") {
  Rig volume;
  const LogPosition first = volume.head();
  volume.fsync(volume.file("one"));
  const LogPosition second = volume.head();
  volume.fsync(volume.file("two"));
  const LogPosition third = volume.head();
  volume.fsync(volume.file("three"));
  SparseImage image = volume.image();
  REQUIRE(After(image).has("three"));

  SECTION("the last one is torn") {
    image.flip_bit(volume.byte_of(third) + 200, 3);
    After after(image);
    REQUIRE(after.volume);
    CHECK(after.has("two"));
    CHECK(!after.has("three"));
    CHECK((*after.volume)->replay().records == 2);
    after.close_and_check();
  }
  SECTION("one before it is damaged") {
    const LogPosition damaged = GENERATE_COPY(first, second);
    const unsigned byte = GENERATE(0u, 9u, 24u, 48u, 64u, 200u, 4095u);
    CAPTURE(damaged.sequence, byte);
    image.flip_bit(volume.byte_of(damaged) + byte, 5);
    {
      After after(image);
      REQUIRE(!after.volume);
      CHECK(after.volume.error().code == Errc::kCorrupt);
      CHECK(after.volume.error().place == Place::kLogRecord);
      CHECK(after.volume.error().where == damaged.sequence);
    }
    MountOptions discard;
    discard.discard_log = true;
    After after(image, discard);
    REQUIRE(after.volume);
    CHECK(after.has("one") == (damaged == second));
    CHECK(!after.has("two"));
    CHECK(!after.has("three"));
    after.close_and_check();
    // It is gone for good: what was behind it must not come back.
    After again(after.device.snapshot());
    REQUIRE(again.volume);
    CHECK(!again.has("three"));
  }
  SECTION("two are swapped") {
    std::vector<std::byte> a(4096), b(4096);
    image.read(volume.byte_of(first), a);
    image.read(volume.byte_of(second), b);
    image.write(volume.byte_of(first), b);
    image.write(volume.byte_of(second), a);
    CHECK(!After(image).volume);
  }
}

TEST_CASE("log: the last record counts only with its data", "[log]") {
  Rig volume;
  const InodeNumber file = volume.file("data");
  const std::vector<std::byte> data(20'000, std::byte{0x5a});
  volume.fsync(file);
  REQUIRE(volume->write(file, 0, data));
  volume.fsync(file);
  SparseImage image = volume.image();
  // Finds the extent's first block.
  std::uint64_t byte = 0;
  REQUIRE(volume->engine().tree->scan(
      make_key(file, ItemType::kExtent), make_key(file, ItemType::kOrphan),
      [&](Key key, ConstBytes item) {
        const auto extent = ExtentItem::parse(item, key, volume->engine().layout);
        byte = volume->engine().layout.byte_of(extent->run.first);
        return false;
      }));
  REQUIRE(byte != 0);
  SECTION("without it the state before counts") {
    image.fill(byte + 4096, 512, std::byte{0});
    After after(image);
    REQUIRE(after.volume);
    CHECK((*after.volume)->attributes(file)->size == 0);
    CHECK((*after.volume)->replay().cut_records == 1);
    after.close_and_check();
  }
  SECTION("when a later record knows that it was durable, it counts; the data is then damaged") {
    volume.fsync(volume.file("later"));
    image = volume.image();
    image.fill(byte + 4096, 512, std::byte{0});
    After after(image);
    REQUIRE(after.volume);
    CHECK((*after.volume)->attributes(file)->size == data.size());
    CHECK(after.has("later"));
    std::vector<std::byte> read(4096);
    CHECK((*after.volume)->read(file, 0, read));
    CHECK(error_of((*after.volume)->read(file, 4096, read)) == Errc::kCorrupt);
  }
}

TEST_CASE("log: the ring wraps, fills up, and stale laps do not count", "[log]") {
  Shape shape;
  shape.log_bytes = 256_KiB;
  shape.node_bytes = GENERATE(4096u, 65536u);
  shape.block_bytes = GENERATE(512u, 4096u);
  CAPTURE(shape.node_bytes, shape.block_bytes);
  Rig volume(shape);
  std::uint64_t last_block = 0;
  int laps = 0;
  for (int i = 0; laps < 5; ++i) {
    REQUIRE(i < 5000);
    const InodeNumber file = volume.file(numbered("file ", i));
    const std::vector<std::byte> data(i % 7 * 200, static_cast<std::byte>(i));
    REQUIRE(volume->write(file, 0, data));
    volume.fsync(file);
    const std::uint64_t block = volume.head().block;
    if (block < last_block) ++laps;
    last_block = block;
    if (i % 50 == 7 || laps == 4) {
      After after(volume.image());
      REQUIRE(after.volume);
      const auto expected = VolumeState::read(*volume);
      const auto found = VolumeState::read(**after.volume);
      REQUIRE(expected);
      REQUIRE(found);
      const std::string difference = expected->difference(*found);
      INFO("file " << i << ": " << difference);
      REQUIRE(difference.empty());
      after.close_and_check();
    }
  }
  CHECK(volume.count(Counter::kCheckpoints) >= 5);
}

TEST_CASE("log: what does not fit the ring is made durable by a checkpoint", "[log]") {
  Shape shape;
  shape.device_bytes = 64_MiB;
  shape.log_bytes = 256_KiB;
  Rig volume(shape);
  const std::uint64_t before = volume.count(Counter::kCommitsByCheckpoint);
  for (int i = 0; i < 3000; ++i) volume.file(numbered("file ", i));
  volume.fsync(kRootInode);
  CHECK(volume.count(Counter::kCommitsByCheckpoint) == before + 1);
  After after(volume.image());
  REQUIRE(after.volume);
  CHECK(after.has("file 2999"));
  CHECK((*after.volume)->replay().records == 0);
  after.close_and_check();
  volume.fsync(volume.file("next"));
  CHECK(After(volume.image()).has("next"));
}

TEST_CASE("log: a batch of several records counts as a whole", "[log]") {
  Shape shape;
  shape.device_bytes = 64_MiB;
  shape.log_bytes = 8_MiB;
  Rig volume(shape);
  volume.fsync(volume.file("before"));
  const LogPosition begin = volume.head();
  for (int i = 0; i < 15'000; ++i) volume.file(numbered("file ", i));
  const std::uint64_t records = volume.count(Counter::kLogRecords);
  volume.fsync(kRootInode);
  REQUIRE(volume.count(Counter::kLogRecords) - records >= 2);
  SparseImage image = volume.image();
  {
    After after(image);
    REQUIRE(after.volume);
    CHECK((*after.volume)->replay().batches == 2);
    CHECK(after.has("file 14999"));
    after.close_and_check();
  }
  const LogPosition last{0, volume.head().block - 1};
  const LogPosition damaged = GENERATE_COPY(begin, last);
  image.flip_bit(volume.byte_of(damaged) + 700, 1);
  After after(image);
  REQUIRE(after.volume);
  CHECK(after.has("before"));
  CHECK(!after.has("file 0"));
  after.close_and_check();
}

TEST_CASE("log: deleting many leaves few tombstones", "[log]") {
  Shape shape;
  shape.device_bytes = 64_MiB;
  Rig volume(shape);
  const InodeNumber directory = volume->make_directory(kRootInode, "d", {})->inode;
  for (int i = 0; i < 2000; ++i) volume.file(numbered("file ", i), directory);
  volume.fsync(directory);
  REQUIRE(volume->checkpoint());
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(volume->unlink(directory, numbered("file ", i)));
  }
  const std::uint64_t before = volume.count(Counter::kLogTombstones);
  volume.fsync(directory);
  CHECK(volume.count(Counter::kLogTombstones) - before < 200);
  After after(volume.image());
  REQUIRE(after.volume);
  CHECK((*after.volume)->usage().inodes == 2);
  after.close_and_check();
}

TEST_CASE("log: a volume opened read-only shows what the log says and writes nothing", "[log]") {
  Rig volume;
  volume.fsync(volume.file("logged"));
  MountOptions options;
  options.read_only = true;
  After after(volume.image(), options);
  REQUIRE(after.volume);
  CHECK(after.has("logged"));
  CHECK((*after.volume)->fsync(kRootInode));
  CHECK((*after.volume)->sync());
  REQUIRE((*after.volume)->close());
  CHECK(after.device.counters().writes == 0);
}

TEST_CASE("log: a thousand mounts in a row, each after a crash", "[log]") {
  Rig volume;
  SparseImage image = volume.image();
  TestClock clock;
  MountOptions options;
  options.clock = &clock;
  for (int i = 0; i < 1000; ++i) {
    After after(image, options);
    REQUIRE(after.volume);
    Volume& opened = **after.volume;
    const std::string name = numbered("file ", i);
    if (i > 0) REQUIRE(opened.lookup(kRootInode, numbered("file ", i - 1)));
    const auto made = opened.create(kRootInode, name, {});
    REQUIRE(made);
    REQUIRE(opened.fsync(made->inode));
    if (i > 3) REQUIRE(opened.unlink(kRootInode, numbered("file ", i - 3)));
    image = after.device.snapshot();
    if (i % 100 == 99) after.close_and_check();
  }
}

TEST_CASE("log: a log of another volume, or of an older one at its place, does not count", "[log]") {
  Rig volume;
  volume.fsync(volume.file("one"));
  const SparseImage image = volume.image();
  // The same device made anew, with the old records put back into the ring.
  MemoryDevice device(image);
  TestClock clock;
  FormatOptions format;
  format.clock = &clock;
  format.uuid = {9, 9};
  REQUIRE(Volume::format(device, format));
  std::vector<std::byte> ring(256_KiB);
  image.read(1_MiB, ring);
  REQUIRE(device.write(1_MiB, ring));
  After after(device.snapshot());
  REQUIRE(after.volume);
  CHECK(!after.has("one"));
  CHECK((*after.volume)->replay().records == 0);
}

TEST_CASE("log: threads share commits", "[log][threads]") {
  Shape shape;
  shape.device_bytes = 64_MiB;
  Rig volume(shape);
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
  After after(volume.image());
  REQUIRE(after.volume);
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kFiles; ++i) {
      REQUIRE(after.has(numbered(numbered("", t) + "-", i)));
    }
  }
  after.close_and_check();
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
  Shape shape;
  shape.device_bytes = 64_MiB;
  shape.log_bytes = GENERATE(256_KiB, 4_MiB);
  shape.node_bytes = GENERATE(4096u, 65536u);
  Rig volume(shape);
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
    After after(volume.image());
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
