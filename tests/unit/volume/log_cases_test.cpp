// The log, seen from the volume: what an fsync costs, what a replay makes of damaged, torn and stale
// records, and what happens when the ring is full.

#include <cstdint>
#include <string>
#include <vector>

#include "lab/volume_state.hpp"
#include "support/catch.hpp"
#include "support/log_rig.hpp"
#include "support/mounted.hpp"
#include "support/numbered.hpp"

namespace cordwood::test {

TEST_CASE("log: an isolated fsync is one write and at most one flush", "[log]") {
  const bool cache = GENERATE(false, true);
  const bool fua = GENERATE(false, true);
  CAPTURE(cache, fua);
  LogShape shape;
  shape.device.volatile_cache = cache;
  shape.device.fua = fua;
  LogRig volume(shape);
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
  LogRig volume;
  const LogPosition first = volume.head();
  volume.fsync(volume.file("one"));
  const LogPosition second = volume.head();
  volume.fsync(volume.file("two"));
  const LogPosition third = volume.head();
  volume.fsync(volume.file("three"));
  SparseImage image = volume.image();
  REQUIRE(AfterCrash(image).has("three"));

  SECTION("the last one is torn") {
    image.flip_bit(volume.byte_of(third) + 200, 3);
    AfterCrash after(image);
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
      AfterCrash after(image);
      REQUIRE(!after.volume);
      CHECK(after.volume.error().code == Errc::kCorrupt);
      CHECK(after.volume.error().place == Place::kLogRecord);
      CHECK(after.volume.error().where == damaged.sequence);
    }
    MountOptions discard;
    discard.discard_log = true;
    AfterCrash after(image, discard);
    REQUIRE(after.volume);
    CHECK(after.has("one") == (damaged == second));
    CHECK(!after.has("two"));
    CHECK(!after.has("three"));
    after.close_and_check();
    // It is gone for good: what was behind it must not come back.
    AfterCrash again(after.device.snapshot());
    REQUIRE(again.volume);
    CHECK(!again.has("three"));
  }
  SECTION("two are swapped") {
    std::vector<std::byte> a(4096), b(4096);
    image.read(volume.byte_of(first), a);
    image.read(volume.byte_of(second), b);
    image.write(volume.byte_of(first), b);
    image.write(volume.byte_of(second), a);
    CHECK(!AfterCrash(image).volume);
  }
}

TEST_CASE("log: the last record counts only with its data", "[log]") {
  LogRig volume;
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
    AfterCrash after(image);
    REQUIRE(after.volume);
    CHECK((*after.volume)->attributes(file)->size == 0);
    CHECK((*after.volume)->replay().cut_records == 1);
    after.close_and_check();
  }
  SECTION("when a later record knows that it was durable, it counts; the data is then damaged") {
    volume.fsync(volume.file("later"));
    image = volume.image();
    image.fill(byte + 4096, 512, std::byte{0});
    AfterCrash after(image);
    REQUIRE(after.volume);
    CHECK((*after.volume)->attributes(file)->size == data.size());
    CHECK(after.has("later"));
    std::vector<std::byte> read(4096);
    CHECK((*after.volume)->read(file, 0, read));
    CHECK(error_of((*after.volume)->read(file, 4096, read)) == Errc::kCorrupt);
  }
}

TEST_CASE("log: the ring wraps, fills up, and stale laps do not count", "[log]") {
  LogShape shape;
  shape.log_bytes = 256_KiB;
  shape.node_bytes = GENERATE(4096u, 65536u);
  shape.block_bytes = GENERATE(512u, 4096u);
  CAPTURE(shape.node_bytes, shape.block_bytes);
  LogRig volume(shape);
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
      AfterCrash after(volume.image());
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
  LogShape shape;
  shape.device_bytes = 64_MiB;
  shape.log_bytes = 256_KiB;
  LogRig volume(shape);
  const std::uint64_t before = volume.count(Counter::kCommitsByCheckpoint);
  for (int i = 0; i < 3000; ++i) volume.file(numbered("file ", i));
  volume.fsync(kRootInode);
  CHECK(volume.count(Counter::kCommitsByCheckpoint) == before + 1);
  AfterCrash after(volume.image());
  REQUIRE(after.volume);
  CHECK(after.has("file 2999"));
  CHECK((*after.volume)->replay().records == 0);
  after.close_and_check();
  volume.fsync(volume.file("next"));
  CHECK(AfterCrash(volume.image()).has("next"));
}

TEST_CASE("log: a batch of several records counts as a whole", "[log]") {
  LogShape shape;
  shape.device_bytes = 64_MiB;
  shape.log_bytes = 8_MiB;
  LogRig volume(shape);
  volume.fsync(volume.file("before"));
  const LogPosition begin = volume.head();
  for (int i = 0; i < 15'000; ++i) volume.file(numbered("file ", i));
  const std::uint64_t records = volume.count(Counter::kLogRecords);
  volume.fsync(kRootInode);
  REQUIRE(volume.count(Counter::kLogRecords) - records >= 2);
  SparseImage image = volume.image();
  {
    AfterCrash after(image);
    REQUIRE(after.volume);
    CHECK((*after.volume)->replay().batches == 2);
    CHECK(after.has("file 14999"));
    after.close_and_check();
  }
  const LogPosition last{0, volume.head().block - 1};
  const LogPosition damaged = GENERATE_COPY(begin, last);
  image.flip_bit(volume.byte_of(damaged) + 700, 1);
  AfterCrash after(image);
  REQUIRE(after.volume);
  CHECK(after.has("before"));
  CHECK(!after.has("file 0"));
  after.close_and_check();
}

TEST_CASE("log: deleting many leaves few tombstones", "[log]") {
  LogShape shape;
  shape.device_bytes = 64_MiB;
  LogRig volume(shape);
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
  AfterCrash after(volume.image());
  REQUIRE(after.volume);
  CHECK((*after.volume)->usage().inodes == 2);
  after.close_and_check();
}

TEST_CASE("log: a volume opened read-only shows what the log says and writes nothing", "[log]") {
  LogRig volume;
  volume.fsync(volume.file("logged"));
  MountOptions options;
  options.read_only = true;
  AfterCrash after(volume.image(), options);
  REQUIRE(after.volume);
  CHECK(after.has("logged"));
  CHECK((*after.volume)->fsync(kRootInode));
  CHECK((*after.volume)->sync());
  REQUIRE((*after.volume)->close());
  CHECK(after.device.counters().writes == 0);
}

TEST_CASE("log: a thousand mounts in a row, each after a crash", "[log]") {
  LogRig volume;
  SparseImage image = volume.image();
  TestClock clock;
  MountOptions options;
  options.clock = &clock;
  for (int i = 0; i < 1000; ++i) {
    AfterCrash after(image, options);
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

TEST_CASE("log: a log of another volume, or of an older one at its place, does not count",
          "[log]") {
  LogRig volume;
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
  AfterCrash after(device.snapshot());
  REQUIRE(after.volume);
  CHECK(!after.has("one"));
  CHECK((*after.volume)->replay().records == 0);
}

}  // namespace cordwood::test
