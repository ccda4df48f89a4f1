#include <catch2/catch.hpp>

#include <string>

#include "spoiled.hpp"
#include "volume/check.hpp"

namespace cordwood::test {

TEST_CASE("check: right images are clean", "[check]") {
  ImageShape shape;
  shape.block_bytes = GENERATE(512u, 1024u, 4096u);
  shape.node_bytes = GENERATE(4096u, 16384u, 65536u);
  shape.fragment_nodes = GENERATE(false, true);
  shape.fragment_table = shape.fragment_nodes;
  shape.skip_ids = GENERATE(0u, 300u);
  INFO("blocks of " << shape.block_bytes << ", nodes of " << shape.node_bytes << ", fragments "
                    << shape.fragment_nodes << ", skipped ids " << shape.skip_ids);
  ImageBuilder builder(shape);
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  const CheckReport report = check_all(*image.device);
  INFO(render_text(report));
  CHECK(report.clean());
  CHECK(names_of(report, true).empty());
  CHECK(report.statistics.nodes == image.nodes.size());
  CHECK(report.statistics.inodes == 11);
  CHECK(report.statistics.directories == 3);
  CHECK(report.statistics.names == 9);
  CHECK(report.statistics.extents == 7);
  CHECK(report.statistics.orphans == 1);
  CHECK(report.statistics.data_bytes_verified == 4u * 8 * shape.block_bytes);
  const Layout& layout = image.layout;
  CHECK(report.statistics.owned_blocks ==
        layout.tail.value - layout.first_free.value - image.superblock.free_blocks);
}

TEST_CASE("check: an empty volume is clean", "[check]") {
  ImageBuilder builder;
  BuiltImage image = builder.build();
  const CheckReport report = check_all(*image.device);
  INFO(render_text(report));
  CHECK(names_of(report, true).empty());
}

TEST_CASE("check: names whose hashes collide are clean", "[check]") {
  ImageShape shape;
  shape.name_hash_bits = 2;
  ImageBuilder builder(shape);
  const InodeNumber directory = builder.add_directory(kRootInode, "d");
  for (int i = 0; i < 40; ++i) builder.add_file(directory, "file" + std::to_string(i));
  for (int i = 0; i < 9; ++i) builder.add_xattr(directory, "user." + std::to_string(i), "value");
  BuiltImage image = builder.build();
  const CheckReport report = check_all(*image.device);
  INFO(render_text(report));
  CHECK(names_of(report, true).empty());
  CHECK(report.statistics.xattrs == 9);
}

TEST_CASE("check: several groups and levels of the group table are clean", "[check]") {
  ImageShape shape;
  // 129 groups of 16 MiB: two pages of descriptors, and one above them.
  shape.device_bytes = 129 * 16_MiB;
  shape.block_bytes = 512;
  ImageBuilder builder(shape);
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  REQUIRE(image.layout.group_page_count == 3);
  const CheckReport report = check_all(*image.device);
  INFO(render_text(report));
  CHECK(names_of(report, true).empty());
}

TEST_CASE("check: says what it cannot look at", "[check]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  MemoryDevice empty(8_MiB);
  CHECK(check(empty).error().code == Errc::kNotCordwood);
  MemoryDevice small(1_MiB);
  CHECK(check(small).error().code == Errc::kNotCordwood);
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    REQUIRE(check(*image.device));
    flip(*image.device, superblock_byte(slot, 8_MiB) + 300);
  }
  CHECK(check(*image.device).error().code == Errc::kCorrupt);
}

TEST_CASE("check: a device that is too short or too long", "[check]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  std::vector<std::byte> all(8_MiB);
  REQUIRE(image.device->read(0, all));
  MemoryDevice longer(9_MiB);
  REQUIRE(longer.write(0, all));
  CHECK(names_of(check_all(longer), true) == std::set<std::string>{"device_larger"});
  MemoryDevice shorter(7_MiB);
  REQUIRE(shorter.write(0, Bytes(all).first(7_MiB)));
  CHECK(names_of(check_all(shorter), true) == std::set<std::string>{"device_truncated",
                                                                    "superblock_slot_damaged",
                                                                    "superblock_slot_torn"});
}

TEST_CASE("check: a volume in use has torn and old slots", "[check]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  builder.edit_superblock = [](std::uint32_t slot, Superblock& superblock) {
    superblock.mount_state = static_cast<std::uint32_t>(MountState::kMounted);
    if (slot == 3) superblock.generation -= 2;
  };
  BuiltImage image = builder.build();
  flip(*image.device, superblock_byte(0, 8_MiB) + 300);
  const CheckReport report = check_all(*image.device);
  CHECK(report.clean());
  CHECK(names_of(report, true) ==
        std::set<std::string>{"volume_not_clean", "superblock_slot_torn", "superblock_slot_old"});
}

TEST_CASE("check: counts all findings but keeps the first", "[check]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  for (std::uint64_t i = 0; i < 100; ++i) builder.add_orphan({1000 + i});
  BuiltImage image = builder.build();
  CheckOptions options;
  options.findings_per_kind_max = 5;
  const auto report = check(*image.device, options);
  REQUIRE(report);
  CHECK(report->findings.count(FindingKind::kOrphanWithoutInode) == 100);
  CHECK(report->findings.kept().size() == 5);
  CHECK(render_text(*report).find("and 95 more") != std::string::npos);
}

TEST_CASE("check: stops when it is told to", "[check]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  for (std::uint64_t calls = 0;; ++calls) {
    CheckOptions options;
    std::uint64_t left = calls;
    options.progress = [&](const CheckProgress& progress) {
      CHECK(progress.done <= progress.total);
      return left-- > 0;
    };
    const auto report = check(*image.device, options);
    REQUIRE(report);
    CHECK(names_of(*report, true).empty());
    if (!report->cancelled) break;
    REQUIRE(calls < 100);
  }
}

}  // namespace cordwood::test
