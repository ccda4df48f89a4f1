#include "format/table.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <vector>

#include "base/checksum.hpp"

namespace cordwood {
namespace {

Layout layout_of(std::uint32_t block_bytes) {
  const auto layout = Layout::compute(64_MiB, block_bytes, 65536);
  REQUIRE(layout);
  return *layout;
}

/// Blocks that a test wrote; others cannot be read.
struct Blocks {
  std::map<std::uint64_t, std::vector<std::byte>> content;
  std::uint64_t reads = 0;

  Result<void> read(BlockNumber block, Bytes into) {
    ++reads;
    const auto found = content.find(block.value);
    if (found == content.end()) return make_error(Errc::kIo, "no such block");
    std::copy(found->second.begin(), found->second.end(), into.begin());
    return {};
  }
};

Result<ContentPlace> locate_node(Blocks& blocks, TablePlace place, const Layout& layout) {
  return locate(place, layout.node_bytes, Structure::kNode, layout, 5,
                [&](BlockNumber block, Bytes into) { return blocks.read(block, into); });
}

/// A node on single blocks with a gap between any two.
struct Fragments {
  std::vector<BlockRun> runs;
  std::vector<BlockNumber> lists;
  std::vector<std::byte> bytes;

  explicit Fragments(const Layout& layout) {
    for (std::uint64_t i = 0; i < layout.blocks_per_node(); ++i) {
      runs.push_back({layout.first_free + 2 * i, 1});
    }
    for (std::uint64_t i = 0; i < fragment_list_blocks(runs.size(), layout.block_bytes); ++i) {
      lists.push_back(layout.first_free + (1000 - 7 * i));
    }
    bytes.resize(lists.size() * layout.block_bytes);
    store_fragment_lists(runs, lists, layout.block_bytes, bytes);
  }
  void put(Blocks& blocks, const Layout& layout) const {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const ConstBytes part = ConstBytes(bytes).subspan(i * layout.block_bytes, layout.block_bytes);
      blocks.content[lists[i].value].assign(part.begin(), part.end());
    }
  }
};

}  // namespace

TEST_CASE("table: a contiguous place has one run and its own seed", "[format]") {
  const Layout layout = layout_of(4096);
  Blocks blocks;
  const auto place = locate_node(blocks, TablePlace::make(layout.first_free, false), layout);
  REQUIRE(place);
  CHECK(place->runs == std::vector<BlockRun>{{layout.first_free, 16}});
  CHECK(place->lists.empty());
  CHECK(place->seed == checksum_seed(5, Structure::kNode, layout.byte_of(layout.first_free)));
  CHECK(blocks.reads == 0);
}

TEST_CASE("table: fragment lists lead back to the same runs", "[format]") {
  const std::uint32_t block_bytes = GENERATE(512u, 1024u, 4096u);
  const Layout layout = layout_of(block_bytes);
  const Fragments fragments(layout);
  CHECK(fragments.lists.size() == (block_bytes == 512 ? 3 : 1));
  Blocks blocks;
  fragments.put(blocks, layout);
  const auto place = locate_node(blocks, TablePlace::make(fragments.lists[0], true), layout);
  REQUIRE(place);
  CHECK(place->runs == fragments.runs);
  CHECK(place->lists == fragments.lists);
  CHECK(place->seed ==
        fragmented_seed(5, Structure::kNode, layout.byte_of(fragments.lists[0]),
                        chain_hash(fragments.lists, fragments.bytes, 5, block_bytes)));
}

TEST_CASE("table: every byte of a fragment list is covered", "[format]") {
  const Layout layout = layout_of(512);
  const Fragments fragments(layout);
  Blocks right;
  fragments.put(right, layout);
  const TablePlace place = TablePlace::make(fragments.lists[0], true);
  const std::uint64_t seed = locate_node(right, place, layout)->seed;
  for (std::size_t list = 0; list < fragments.lists.size(); ++list) {
    for (std::size_t byte = 0; byte < 512; ++byte) {
      Blocks blocks = right;
      blocks.content[fragments.lists[list].value][byte] ^= std::byte{1};
      const auto found = locate_node(blocks, place, layout);
      if (found) CHECK(found->seed != seed);
    }
  }
}

TEST_CASE("table: chains of fragment lists that are wrong end", "[format]") {
  const Layout layout = layout_of(512);
  const Fragments fragments(layout);
  Blocks blocks;
  fragments.put(blocks, layout);
  const TablePlace place = TablePlace::make(fragments.lists[0], true);
  auto& first = blocks.content[fragments.lists[0].value];
  auto& last = blocks.content[fragments.lists[2].value];
  SECTION("a circle") { store_le(last.data(), fragments.lists[0].value); }
  SECTION("a list that names itself") { store_le(first.data(), fragments.lists[0].value); }
  SECTION("no runs") { store_le(first.data() + 8, 0u); }
  SECTION("more runs than fit") { store_le(first.data() + 8, 63u); }
  SECTION("a run of no blocks") { store_le(first.data() + 16, layout.first_free.value); }
  SECTION("a run too long") {
    store_le(first.data() + 16, layout.first_free.value | (std::uint64_t{0xffff} << 48));
  }
  SECTION("a run in the log") { store_le(first.data() + 16, 2048 | (std::uint64_t{1} << 48)); }
  SECTION("one run short") {
    store_le(last.data() + 8, load_le<std::uint32_t>(last.data() + 8) - 1);
  }
  SECTION("the end too early") { store_le(first.data(), std::uint64_t{0}); }
  SECTION("past the device") { store_le(first.data(), ~std::uint64_t{0}); }
  const auto found = locate_node(blocks, place, layout);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::kCorrupt);
  CHECK(blocks.reads <= 128);
}

TEST_CASE("table: entries are validated by the level of their page", "[format]") {
  const Layout layout = layout_of(4096);
  const BlockNumber block = layout.first_free;
  const auto valid = [&](TablePlace place, std::uint32_t level) {
    return validate(TableEntry{place, 1}, level, 0, layout).has_value();
  };
  CHECK(valid({}, 0));
  CHECK(valid(TablePlace::make(block, false), 0));
  CHECK(valid(TablePlace::make(block, true), 0));
  CHECK_FALSE(valid(TablePlace::make(block, false, 1), 0));
  CHECK(valid(TablePlace::make(block, false, 256), 1));
  CHECK_FALSE(valid(TablePlace::make(block, false, 257), 1));
  CHECK_FALSE(valid({block.value | std::uint64_t{1} << 57}, 0));
  CHECK_FALSE(valid(TablePlace::make({block.value - 1}, false), 0));
  // A node of 16 blocks does not fit before the end, a page of one does.
  CHECK_FALSE(valid(TablePlace::make({layout.tail.value - 15}, false), 0));
  CHECK(valid(TablePlace::make({layout.tail.value - 16}, false), 0));
  CHECK(valid(TablePlace::make({layout.tail.value - 1}, false), 1));
  CHECK(valid(TablePlace::make({layout.tail.value - 1}, true), 0));
}

}  // namespace cordwood
