#include "volume/describe.hpp"

#include <catch2/catch.hpp>

#include "spoiled.hpp"

namespace cordwood::test {
namespace {

namespace json = boost::json;

/// Follows a JSON pointer.
const json::value& at(const json::value& value, std::string_view pointer) {
  return value.at_pointer(pointer);
}
std::uint64_t number(const json::value& value) { return value.to_number<std::uint64_t>(); }

struct Described {
  ImageBuilder builder;
  SampleContent content{builder};
  BuiltImage image;
  std::optional<ImageReader> reader;

  explicit Described(const ImageShape& shape = {}) : builder(shape) {
    image = builder.build();
    reader.emplace(*ImageReader::open(*image.device));
  }
};

}  // namespace

TEST_CASE("describe: superblocks", "[describe]") {
  Described it;
  flip(*it.image.device, superblock_byte(0, 8_MiB) + 9);
  it.reader.emplace(*ImageReader::open(*it.image.device));
  const json::value value = describe_superblocks(*it.reader);
  CHECK(number(at(value, "/chosen")) == 1);
  CHECK(at(value, "/slots").as_array().size() == 4);
  CHECK(at(value, "/slots/0").as_object().contains("error"));
  CHECK(at(value, "/slots/1/superblock/label").as_string() == "built");
  CHECK(at(value, "/slots/1/superblock/uuid").as_string() ==
        "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
  CHECK(number(at(value, "/slots/2/superblock/generation")) == 6);
}

TEST_CASE("describe: node table", "[describe]") {
  ImageShape shape;
  shape.skip_ids = 300;
  Described it(shape);
  const json::value value = describe_table(*it.reader);
  CHECK(number(at(value, "/levels")) == 2);
  CHECK(at(value, "/pages").as_array().size() == 3);
  CHECK(number(at(value, "/pages/0/level")) == 1);
  CHECK(number(at(value, "/pages/1/free")) == 255);
  CHECK(number(at(value, "/pages/2/entries/0/node")) == 301);
  CHECK(number(at(describe_table(*it.reader, 1), "/pages_left_out")) == 2);
}

TEST_CASE("describe: groups", "[describe]") {
  Described it;
  const json::value value = describe_groups(*it.reader);
  REQUIRE(at(value, "/groups").as_array().size() == 1);
  const json::value& group = at(value, "/groups/0");
  CHECK(number(at(group, "/blocks")) == 2048);
  CHECK(number(at(group, "/free_blocks")) == it.image.superblock.free_blocks);
  // The fixed structures and everything behind them lie in one run, the last blocks in another.
  CHECK(number(at(group, "/used_runs/0/0")) == 0);
  CHECK(number(at(group, "/used_runs/1/0")) == it.image.layout.tail.value);
  CHECK(number(at(group, "/used_runs/1/1")) == 2);
  CHECK(at(describe_groups(*it.reader, 1), "/groups").as_array().empty());
}

TEST_CASE("describe: nodes", "[describe]") {
  ImageShape shape;
  shape.fragment_nodes = true;
  shape.node_bytes = 16384;
  Described it(shape);
  std::size_t items = 0;
  for (const BuiltImage::Node& node : it.image.nodes) {
    const auto described = describe_node(*it.reader, node.id);
    REQUIRE(described);
    const json::value value = *described;
    CHECK(number(at(value, "/id")) == node.id.value);
    CHECK(number(at(value, "/level")) == node.level);
    CHECK(at(value, "/in_tree").as_bool());
    CHECK(at(value, "/place/runs").as_array().size() == 4);
    CHECK(at(value, "/place/lists").as_array().size() == 1);
    if (node.level == 0) items += at(value, "/items").as_array().size();
    if (node.level > 0) CHECK(at(value, "/children").as_array().size() == at(value, "/count"));
  }
  CHECK(items == it.builder.items.size());
  CHECK(describe_node(*it.reader, {0}).error().code == Errc::kCorrupt);
  CHECK(describe_node(*it.reader, {99}).error().code == Errc::kCorrupt);
}

TEST_CASE("describe: a free node id and a node outside the tree", "[describe]") {
  ImageBuilder builder{[] {
    ImageShape shape;
    shape.skip_ids = 5;
    return shape;
  }()};
  const SampleContent content(builder);
  builder.edit_node = [](NodeId, std::uint8_t level, Bytes node) {
    if (level != 2) return;
    std::vector<std::byte> packed(node.size());
    Inner inner(node.data(), 4096);
    inner.erase(1);
    inner.pack(packed.data());
    std::copy(packed.begin(), packed.end(), node.begin());
  };
  BuiltImage image = builder.build();
  auto reader = ImageReader::open(*image.device);
  REQUIRE(reader);
  CHECK(describe_node(*reader, {3}).error().code == Errc::kNoEntry);
  const json::value inner = *describe_node(*reader, {13});
  CHECK_FALSE(at(inner, "/in_tree").as_bool());
  CHECK(at(inner, "/low").is_null());
  CHECK_FALSE(at(*describe_node(*reader, {11}), "/in_tree").as_bool());
}

TEST_CASE("describe: the tree", "[describe]") {
  Described it;
  const json::value value = describe_tree(*it.reader);
  REQUIRE(at(value, "/levels").as_array().size() == 3);
  CHECK(number(at(value, "/levels/0/level")) == 2);
  CHECK(number(at(value, "/levels/2/nodes")) == 6);
  CHECK(number(at(value, "/leaf_fill/leaves")) == 6);
  CHECK(number(at(value, "/root/id")) == 9);
  CHECK(at(value, "/root/children").as_array().size() == 2);
  CHECK(number(at(value, "/root/children/0/children/3/id")) == 4);
  CHECK(number(at(value, "/root/children/1/children/1/id")) == 6);
  CHECK(number(at(value, "/nodes_left_out")) == 0);
  const json::value part = describe_tree(*it.reader, 3);
  CHECK(number(at(part, "/nodes_left_out")) == 6);
  CHECK(at(part, "/root/children/0/children").as_array().size() == 1);
  std::uint64_t leaves = 0;
  const json::value fill = describe_leaf_fill(*it.reader);
  for (const json::value& count : at(fill, "/histogram").as_array()) leaves += number(count);
  CHECK(leaves == 6);
}

TEST_CASE("describe: a damaged tree", "[describe]") {
  Described it;
  flip(*it.image.device, it.image.layout.byte_of(it.image.nodes[1].runs[0].first));
  const json::value value = describe_tree(*it.reader);
  CHECK(number(at(value, "/lost/0/id")) == 2);
  CHECK(describe_node(*it.reader, {2}).error().code == Errc::kCorrupt);
}

TEST_CASE("describe: inodes", "[describe]") {
  Described it;
  const json::value file = *describe_inode(*it.reader, it.content.data_file);
  CHECK(at(file, "/path").as_string() == "/docs/large.bin");
  REQUIRE(at(file, "/items").as_array().size() == 5);
  CHECK(at(file, "/items/0/item/type").as_string() == "file");
  CHECK(number(at(file, "/items/0/item/size")) == 98304);
  CHECK(number(at(file, "/items/1/item/refs/0/parent")) == it.content.docs.value);
  CHECK(at(file, "/items/2/item/entries/0/name").as_string() == "user.colour");
  CHECK(at(file, "/items/2/item/entries/0/value").as_string() == "green");
  CHECK(at(file, "/items/3/item/kind").as_string() == "data");
  CHECK(number(at(file, "/items/4/item/offset")) == 65536);
  CHECK(at(file, "/items/4/item/checksums").as_array().size() == 8);
  const json::value directory = *describe_inode(*it.reader, kRootInode, 2);
  CHECK(at(directory, "/path").as_string() == "/");
  CHECK(number(at(directory, "/items_left_out")) == 5);
  CHECK(at(*describe_inode(*it.reader, it.content.orphan), "/path").is_null());
  CHECK(describe_inode(*it.reader, {500}).error().code == Errc::kNoEntry);
}

TEST_CASE("describe: names that are not UTF-8 are still exact", "[describe]") {
  ImageBuilder builder;
  const InodeNumber file = builder.add_file(kRootInode, "a\xff");
  BuiltImage image = builder.build();
  auto reader = ImageReader::open(*image.device);
  REQUIRE(reader);
  const json::value value = *describe_inode(*reader, file);
  CHECK(at(value, "/path").as_string() == "/a\xef\xbf\xbd");
  CHECK(at(value, "/path_hex").as_string() == "2f61ff");
}

TEST_CASE("describe: reports", "[describe]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  builder.add_orphan({1000});
  const BlockRun run = builder.add_data(content.data_file, 262144, 1);
  BuiltImage image = builder.build();
  flip(*image.device, image.layout.byte_of(run.first));
  const auto report = scrub(*image.device);
  REQUIRE(report);
  const json::value value = to_json(*report);
  CHECK_FALSE(at(value, "/clean").as_bool());
  CHECK(at(value, "/files/0/path").as_string() == "/docs/large.bin");
  CHECK(number(at(value, "/files/0/pieces/0/offset")) == 262144);
  CHECK(number(at(value, "/check/errors")) == 2);
  CHECK(number(at(value, "/check/counts/orphan_without_inode")) == 1);
  CHECK(at(value, "/check/findings/0/name").as_string() == "data_checksum");
  CHECK(at(value, "/check/findings/0/place").as_string() == "inode");
  CHECK(json::parse(json::serialize(value)) == value);
}

}  // namespace cordwood::test
