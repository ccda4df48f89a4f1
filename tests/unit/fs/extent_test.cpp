#include "fs/extent.hpp"

#include "support/catch.hpp"
#include "support/mounted.hpp"
#include "volume/engine.hpp"

namespace cordwood::test {

namespace {

Extent data_extent(std::uint64_t offset, std::uint64_t first, std::uint64_t blocks,
                   std::uint64_t granules) {
  Extent extent;
  extent.offset = offset;
  extent.run = {{first}, blocks};
  extent.generation = {5};
  for (std::uint64_t i = 0; i < granules; ++i) extent.checksums.push_back(100 + i);
  return extent;
}

Layout layout_with(std::uint32_t block_bytes) {
  return *Layout::compute(64_MiB, block_bytes, 16384);
}

}  // namespace

TEST_CASE("extent: encodes what parse reads", "[fs]") {
  const Layout layout = layout_with(512);
  const Extent extent = data_extent(8192, 20'000, 20, 3);
  const std::vector<std::byte> item = extent.encode();
  const auto parsed = ExtentItem::parse(item, make_key({7}, ItemType::kExtent, 8192), layout);
  REQUIRE(parsed);
  CHECK(parsed->run == extent.run);
  CHECK(parsed->generation == extent.generation);
  CHECK(parsed->checksums.size() == 24);
  CHECK(extent.bytes(layout) == 20 * 512);
  CHECK(extent.end(layout) == 8192 + 3 * 4096);
}

TEST_CASE("extent: punching keeps both ends and frees the middle", "[fs]") {
  const std::uint32_t block_bytes = GENERATE(512u, 4096u);
  WorkloadConfig config;
  config.block_bytes = block_bytes;
  Mounted volume(config);
  const ExtentItems items(*volume->engine().context);
  const std::uint64_t per_granule = 4096 / block_bytes;
  const std::vector<Extent> old = {data_extent(4096, 1000, 4 * per_granule, 4)};

  SECTION("middle") {
    const Punched punched = items.punch(old, 8192, 16384);
    REQUIRE(punched.kept.size() == 2);
    CHECK(punched.kept[0].offset == 4096);
    CHECK(punched.kept[0].run == BlockRun{{1000}, per_granule});
    CHECK(punched.kept[0].checksums == std::vector<std::uint64_t>{100});
    CHECK(punched.kept[1].offset == 16384);
    CHECK(punched.kept[1].run == BlockRun{{1000 + 3 * per_granule}, per_granule});
    CHECK(punched.kept[1].checksums == std::vector<std::uint64_t>{103});
    CHECK(punched.freed == std::vector<BlockRun>{{{1000 + per_granule}, 2 * per_granule}});
    CHECK(punched.freed_blocks == 2 * per_granule);
  }
  SECTION("front") {
    const Punched punched = items.punch(old, 0, 8192);
    REQUIRE(punched.kept.size() == 1);
    CHECK(punched.kept[0].offset == 8192);
    CHECK(punched.freed_blocks == per_granule);
  }
  SECTION("all") {
    const Punched punched = items.punch(old, 4096, ExtentItems::kToTheEnd);
    CHECK(punched.kept.empty());
    CHECK(punched.freed_blocks == 4 * per_granule);
  }
  SECTION("nothing") {
    const Punched punched = items.punch(old, 0, 4096);
    CHECK(punched.kept.empty());
    CHECK(punched.freed.empty());
  }
}

TEST_CASE("extent: a short last granule is punched with its few blocks", "[fs]") {
  WorkloadConfig config;
  config.block_bytes = 512;
  Mounted volume(config);
  const ExtentItems items(*volume->engine().context);
  const std::vector<Extent> old = {data_extent(0, 1000, 11, 2)};
  const Punched punched = items.punch(old, 4096, 8192);
  REQUIRE(punched.kept.size() == 1);
  CHECK(punched.kept[0].run.count == 8);
  CHECK(punched.freed == std::vector<BlockRun>{{{1008}, 3}});
}

TEST_CASE("extent: merges only what one item can say", "[fs]") {
  const Layout layout = layout_with(4096);
  Extent extent = data_extent(0, 1000, 2, 2);
  SECTION("neighbours") {
    REQUIRE(merge_extents(extent, data_extent(8192, 1002, 1, 1), layout));
    CHECK(extent.run.count == 3);
    CHECK(extent.checksums.size() == 3);
  }
  SECTION("a gap in the file") {
    CHECK_FALSE(merge_extents(extent, data_extent(12288, 1002, 1, 1), layout));
  }
  SECTION("a gap on the device") {
    CHECK_FALSE(merge_extents(extent, data_extent(8192, 1003, 1, 1), layout));
  }
  SECTION("another generation") {
    Extent other = data_extent(8192, 1002, 1, 1);
    other.generation = {6};
    CHECK_FALSE(merge_extents(extent, other, layout));
  }
  SECTION("too long") {
    extent = data_extent(0, 1000, 256, 256);
    CHECK_FALSE(merge_extents(extent, data_extent(1_MiB, 1256, 1, 1), layout));
  }
}

}  // namespace cordwood::test
