#include "volume/image_reader.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "spoiled.hpp"
#include "volume/block_owners.hpp"
#include "volume/inode_path.hpp"

namespace cordwood::test {

TEST_CASE("image reader: finds every item and nothing else", "[image]") {
  ImageShape shape;
  shape.node_bytes = GENERATE(4096u, 65536u);
  shape.fragment_nodes = GENERATE(false, true);
  ImageBuilder builder(shape);
  const SampleContent content(builder);
  const auto items = builder.items;
  BuiltImage image = builder.build();
  auto reader = ImageReader::open(*image.device);
  REQUIRE(reader);
  for (const auto& [key, item] : items) {
    const auto found = reader->find(key);
    REQUIRE(found);
    REQUIRE(found->has_value());
    CHECK(**found == item);
    CHECK(reader->find(key.next())->has_value() == (items.count(key.next()) != 0));
  }
  auto next = items.begin();
  REQUIRE(reader->scan(kMinKey, kMaxKey, [&](Key key, ConstBytes bytes) {
    CHECK(key == next->first);
    CHECK(std::vector<std::byte>(bytes.begin(), bytes.end()) == next->second);
    ++next;
    return true;
  }));
  CHECK(next == items.end());
  std::vector<Key> some;
  const Key low = make_key(content.data_file, ItemType::kInode);
  const Key high = make_key(content.data_file + 1, ItemType::kInode);
  REQUIRE(reader->scan(low, high, [&](Key key, ConstBytes) {
    some.push_back(key);
    return some.size() < 3;
  }));
  REQUIRE(some.size() == 3);
  CHECK(some.front() == low);
}

TEST_CASE("image reader: the newest superblock counts", "[image]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  CHECK(ImageReader::open(*image.device)->slot() == 1);
  flip(*image.device, superblock_byte(1, 8_MiB) + 100);
  CHECK(ImageReader::open(*image.device)->slot() == 3);
  flip(*image.device, superblock_byte(3, 8_MiB) + 100);
  CHECK(ImageReader::open(*image.device)->superblock().generation == 6);
  ImageOptions options;
  options.superblock_slot = 2;
  CHECK(ImageReader::open(*image.device, options)->slot() == 2);
  options.superblock_slot = 1;
  CHECK(ImageReader::open(*image.device, options).error().code == Errc::kCorrupt);
  options.superblock_slot = 4;
  CHECK(ImageReader::open(*image.device, options).error().code == Errc::kInvalid);
}

TEST_CASE("image reader: a format that was cut short means the new volume", "[image]") {
  ImageBuilder builder;
  builder.edit_superblock = [](std::uint32_t slot, Superblock& superblock) {
    if (slot != 1) return;
    superblock.uuid[0] ^= 1;
    superblock.generation = 1;
    superblock.created_seconds += 10;
  };
  BuiltImage image = builder.build();
  const auto reader = ImageReader::open(*image.device);
  REQUIRE(reader);
  CHECK(reader->slot() == 1);
}

TEST_CASE("image reader: a short device is refused", "[image]") {
  ImageBuilder builder;
  BuiltImage image = builder.build();
  std::vector<std::byte> most(7_MiB);
  REQUIRE(image.device->read(0, most));
  MemoryDevice shorter(7_MiB);
  REQUIRE(shorter.write(0, most));
  const auto reader = ImageReader::open(shorter);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code == Errc::kCorrupt);
  CHECK(reader.error().where == 7_MiB);
}

TEST_CASE("image reader: devices with sectors larger than blocks", "[image]") {
  ImageShape shape;
  shape.block_bytes = 512;
  shape.fragment_nodes = true;
  ImageBuilder builder(shape);
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  MemoryDeviceOptions options;
  options.sector_bytes = 4096;
  MemoryDevice coarse(image.device->snapshot(), options);
  CHECK(names_of(check_all(coarse), true).empty());
}

TEST_CASE("image reader: paths lead up to the root", "[image]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  auto reader = ImageReader::open(*image.device);
  REQUIRE(reader);
  CHECK(*path_of(*reader, kRootInode) == "/");
  CHECK(*path_of(*reader, content.docs) == "/docs");
  CHECK(*path_of(*reader, content.sparse_file) == "/docs/sub/sparse");
  CHECK(path_of(*reader, content.orphan)->empty());
  CHECK(path_of(*reader, content.holder)->empty());
}

TEST_CASE("image reader: every block in use has an owner", "[image]") {
  ImageShape shape;
  shape.fragment_nodes = true;
  ImageBuilder builder(shape);
  const SampleContent content(builder);
  auto used = builder.used;
  BuiltImage image = builder.build();
  auto reader = ImageReader::open(*image.device);
  REQUIRE(reader);
  std::uint64_t blocks = 0;
  std::set<std::string> texts;
  for_each_owner(*reader, [&](BlockRun run, const BlockOwner& owner) {
    blocks += run.count;
    texts.insert(owner.text());
    return true;
  });
  CHECK(blocks ==
        image.layout.tail.value - image.layout.first_free.value - image.superblock.free_blocks);
  CHECK(texts.count("table page 0 of level 0") == 1);
  CHECK(texts.count("node 1") == 1);
  CHECK(texts.count("a fragment list of node 1") == 1);
  CHECK(texts.count("inode 5 at offset 65536") == 1);
}

}  // namespace cordwood::test
