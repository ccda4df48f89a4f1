// The group table and bitmaps on the medium: what is written is read, and nothing else is.

#include "space/group_table.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "base/checksum.hpp"
#include "base/random.hpp"
#include "format/seed.hpp"
#include "unit/space/space_rig.hpp"

using namespace cordwood;

namespace {

using Opened = Result<std::unique_ptr<Space>>;

Opened open(SpaceRig& rig, BlockDevice& device, std::uint64_t seed = kVolumeSeed) {
  return Space::open(device, rig.layout, seed, rig.root, rig.counters, Tracer());
}

std::vector<std::byte> read_page(BlockDevice& device, std::uint64_t place) {
  std::vector<std::byte> page(kPageBytes);
  REQUIRE(device.read(place, page));
  return page;
}

/// Replaces the descriptor of group 0 and makes all checksums right again, as a buggy or hostile
/// writer would. Needs a table of one page.
void forge_descriptor(SpaceRig& rig, const GroupDescriptor& descriptor) {
  const std::uint64_t place = rig.layout.group_page_byte(0, rig.root.slot);
  std::vector<std::byte> page = read_page(rig.device, place);
  std::memcpy(page.data(), &descriptor, sizeof descriptor);
  REQUIRE(rig.device.write(place, page));
  rig.root.checksum = checksum(page, checksum_seed(kVolumeSeed, Structure::kGroupPage, place));
}

GroupDescriptor descriptor_on_device(SpaceRig& rig) {
  GroupDescriptor descriptor;
  const std::vector<std::byte> page =
      read_page(rig.device, rig.layout.group_page_byte(0, rig.root.slot));
  std::memcpy(&descriptor, page.data(), sizeof descriptor);
  return descriptor;
}

void check_corrupt(const Error& error, Place place) {
  CHECK(error.code == Errc::kCorrupt);
  CHECK(error.place == place);
}

}  // namespace

TEST_CASE("group table: every changed byte of a current page is noticed", "[space]") {
  SpaceRig rig(4_MiB, 512);
  rig.use(100);
  rig.checkpoint();
  Random random(1);
  const std::uint64_t table_place = rig.layout.group_page_byte(0, rig.root.slot);
  const std::uint64_t bitmap_place = rig.layout.bitmap_byte(0, descriptor_on_device(rig).slot);
  const SparseImage image = rig.device.snapshot();
  const auto flip = [&](std::uint64_t place, std::uint32_t byte) {
    rig.device.restore(image);
    std::vector<std::byte> page = read_page(rig.device, place);
    page[byte] ^= static_cast<std::byte>(1u << random.below(8));
    REQUIRE(rig.device.write(place, page));
  };
  for (std::uint32_t byte = 0; byte < kPageBytes; ++byte) {
    flip(table_place, byte);
    const Opened opened = open(rig, rig.device);
    REQUIRE(!opened);
    REQUIRE(opened.error().code == Errc::kCorrupt);
    REQUIRE(opened.error().where == table_place);

    flip(bitmap_place, byte);
    const Opened with_bad_bitmap = open(rig, rig.device);
    REQUIRE(with_bad_bitmap);
    const Result<std::vector<std::uint64_t>> bitmap = (*with_bad_bitmap)->bitmap(0);
    REQUIRE(!bitmap);
    REQUIRE(bitmap.error().code == Errc::kCorrupt);
    REQUIRE(bitmap.error().place == Place::kGroup);
  }
}

TEST_CASE("group table: foreign, stale and misdirected pages are noticed", "[space]") {
  SpaceRig rig(48_MiB, 512);
  rig.use(100);
  rig.checkpoint();
  const std::uint64_t current = rig.layout.group_page_byte(0, rig.root.slot);
  const std::uint64_t previous = rig.layout.group_page_byte(0, rig.root.slot ^ 1);

  SECTION("another volume") {
    const Opened opened = open(rig, rig.device, kVolumeSeed + 1);
    REQUIRE(!opened);
    check_corrupt(opened.error(), Place::kByte);
  }
  SECTION("a lost write of the table") {
    const std::vector<std::byte> old = read_page(rig.device, previous);
    rig.use(1);
    rig.checkpoint();
    REQUIRE(rig.device.write(previous, old));
    CHECK(!open(rig, rig.device));
  }
  SECTION("the other slot's content") {
    REQUIRE(rig.device.write(previous, read_page(rig.device, current)));
    rig.root.slot ^= 1;
    CHECK(!open(rig, rig.device));
  }
  SECTION("a bitmap in the place of another") {
    REQUIRE(rig.space->claim({{kGroupBlocks - 1}, 1}));
    REQUIRE(rig.space->claim({{2 * kGroupBlocks}, 1}));
    rig.checkpoint();
    const std::uint64_t first = rig.layout.bitmap_byte(0, 1);
    const std::uint64_t second = rig.layout.bitmap_byte(2, 1);
    REQUIRE(rig.device.write(second, read_page(rig.device, first)));
    rig.reopen();
    const Result<std::vector<std::uint64_t>> bitmap = rig.space->bitmap(2);
    REQUIRE(!bitmap);
    check_corrupt(bitmap.error(), Place::kGroup);
    CHECK(bitmap.error().where == 2);
    CHECK(!rig.space->free({{2 * kGroupBlocks}, 1}));
    CHECK(rig.space->pending_free_blocks() == 0);
  }
  SECTION("a device that was cut off") {
    MemoryDevice shorter(rig.device.geometry().bytes - 4096);
    const Opened opened = open(rig, shorter);
    REQUIRE(!opened);
    check_corrupt(opened.error(), Place::kByte);
  }
  SECTION("a root that cannot be") {
    rig.root.slot = 2;
    CHECK(!open(rig, rig.device));
    rig.root.slot = 1;
    rig.root.reserved = 1;
    CHECK(!open(rig, rig.device));
  }
}

TEST_CASE("group table: impossible descriptors with right checksums are refused", "[space]") {
  SpaceRig rig(4_MiB, 512);
  const auto refused = [&](const GroupDescriptor& descriptor) {
    const GroupPageRef root = rig.root;
    const SparseImage image = rig.device.snapshot();
    forge_descriptor(rig, descriptor);
    const Opened opened = open(rig, rig.device);
    REQUIRE(!opened);
    check_corrupt(opened.error(), Place::kGroup);
    rig.root = root;
    rig.device.restore(image);
  };
  const GroupDescriptor initial = descriptor_on_device(rig);
  CHECK(initial.written == 0);
  CHECK(initial.free_blocks == rig.layout.tail - rig.layout.first_free);
  CHECK(initial.longest_free_run == initial.free_blocks);
  GroupDescriptor wrong = initial;
  wrong.free_blocks -= 1;
  refused(wrong);
  wrong = initial;
  wrong.generation = 1;
  refused(wrong);
  wrong = initial;
  wrong.slot = 1;
  refused(wrong);

  rig.use(100);
  rig.checkpoint();
  const GroupDescriptor written = descriptor_on_device(rig);
  CHECK(written.written == 1);
  CHECK(written.generation == 1);
  CHECK(written.free_blocks == initial.free_blocks - 100);
  for (const auto& [field, value] :
       std::vector<std::pair<std::uint32_t GroupDescriptor::*, std::uint32_t>>{
           {&GroupDescriptor::free_blocks, initial.free_blocks + 1},
           {&GroupDescriptor::free_blocks, UINT32_MAX},
           {&GroupDescriptor::free_blocks, 0},
           {&GroupDescriptor::longest_free_run, written.free_blocks + 1},
           {&GroupDescriptor::longest_free_run, 0},
           {&GroupDescriptor::slot, 2},
           {&GroupDescriptor::written, 0},
           {&GroupDescriptor::written, 2}}) {
    wrong = written;
    wrong.*field = value;
    refused(wrong);
  }

  SECTION("counts that only the bitmap can contradict") {
    wrong = written;
    const bool longest = GENERATE(false, true);
    (longest ? wrong.longest_free_run : wrong.free_blocks) -= 1;
    forge_descriptor(rig, wrong);
    rig.reopen();
    const Result<std::vector<std::uint64_t>> bitmap = rig.space->bitmap(0);
    REQUIRE(!bitmap);
    check_corrupt(bitmap.error(), Place::kGroup);
    REQUIRE(rig.space->try_reserve(1, ReserveClass::kNormal));
    const Result<BlockRun> run = rig.space->allocate(1, 1, AllocationStream::kData);
    REQUIRE(!run);
    check_corrupt(run.error(), Place::kGroup);
    CHECK(rig.space->reserved_blocks() == 1);
  }
  SECTION("a bitmap that shows fixed blocks as free") {
    const std::uint64_t place = rig.layout.bitmap_byte(0, written.slot);
    std::vector<std::byte> page = read_page(rig.device, place);
    const bool tail = GENERATE(false, true);
    const std::uint64_t block = tail ? rig.layout.tail.value : 0;
    page[block / 8] &= static_cast<std::byte>(~(1u << (block % 8)));
    REQUIRE(rig.device.write(place, page));
    wrong = written;
    wrong.free_blocks += 1;
    wrong.bitmap_checksum = checksum(page, checksum_seed(kVolumeSeed, Structure::kBitmap, place));
    if (wrong.free_blocks <= initial.free_blocks) forge_descriptor(rig, wrong);
    rig.reopen();
    const Result<std::vector<std::uint64_t>> bitmap = rig.space->bitmap(0);
    REQUIRE(!bitmap);
    check_corrupt(bitmap.error(), Place::kGroup);
  }
  SECTION("something after the last descriptor") {
    const std::uint64_t place = rig.layout.group_page_byte(0, rig.root.slot);
    std::vector<std::byte> page = read_page(rig.device, place);
    page[kPageBytes - 1] = std::byte{1};
    REQUIRE(rig.device.write(place, page));
    rig.root.checksum = checksum(page, checksum_seed(kVolumeSeed, Structure::kGroupPage, place));
    CHECK(!open(rig, rig.device));
  }
}

TEST_CASE("group table: three levels", "[space]") {
  // 1 TiB of 512-byte blocks: 65,536 groups on 512 + 2 + 1 pages.
  SpaceRig rig(1024_GiB, 512);
  REQUIRE(rig.layout.group_count == 65'536);
  REQUIRE(rig.layout.group_page_count == 515);
  CHECK(rig.counters.value(Counter::kDeviceReads) == 515);

  const std::vector<std::uint64_t> groups = {0, 127, 128, 32'767, 32'768, 65'535};
  for (const std::uint64_t group : groups) {
    const std::uint64_t first = group == 0 ? rig.layout.first_free.value : group * kGroupBlocks;
    const Result<void> claimed = rig.space->claim({{first}, 3});
    if (first >= rig.layout.first_free.value) {
      REQUIRE(claimed);
    } else {
      REQUIRE(!claimed);  // the bitmaps themselves lie there
    }
  }
  const std::uint64_t free = rig.space->free_blocks();
  rig.checkpoint();
  rig.reopen();
  CHECK(rig.space->free_blocks() == free);
  for (const Space::GroupInfo& info : rig.space->groups()) {
    const std::uint64_t first = info.group * kGroupBlocks;
    if (first < rig.layout.first_free.value || info.group == 65'535) continue;
    const bool claimed = std::count(groups.begin(), groups.end(), info.group) != 0;
    REQUIRE(info.free_blocks == kGroupBlocks - (claimed ? 3 : 0));
  }

  SECTION("a damaged page of the middle level is noticed") {
    const std::uint64_t page = 512 + GENERATE(0, 1);
    const std::uint64_t place = rig.layout.group_page_byte(page, 1);
    std::vector<std::byte> bytes = read_page(rig.device, place);
    bytes[17] ^= std::byte{4};
    REQUIRE(rig.device.write(place, bytes));
    const Opened opened = open(rig, rig.device);
    REQUIRE(!opened);
    CHECK(opened.error().where == place);
  }
}

TEST_CASE("group table: opening 1 TiB reads the table and no bitmap", "[space]") {
  SpaceRig rig(1024_GiB, 4096);
  CHECK(rig.layout.group_count == 8192);
  CHECK(rig.counters.value(Counter::kBytesRead) == 65 * kPageBytes);
  rig.use(100);
  rig.checkpoint();
  CHECK(rig.counters.value(Counter::kSpaceBytesWritten) == 3 * kPageBytes);
  rig.reopen();
  CHECK(rig.counters.value(Counter::kBytesRead) == 2 * 65 * kPageBytes);
}
