#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "base/random.hpp"
#include "spoiled.hpp"
#include "volume/block_owners.hpp"
#include "volume/describe.hpp"

// Whatever lies on a device, looking at it ends, and soon: nothing crashes, and nothing is read again
// and again. Raw damage is named by a checksum; forged damage (checksums made to fit) reaches the checks
// behind them.

namespace cordwood::test {
namespace {

/// The ways in which one byte is spoiled.
std::byte spoil(std::byte was, unsigned how) {
  const auto value = std::to_integer<unsigned>(was);
  switch (how) {
    case 0: return std::byte{0};
    case 1: return std::byte{0xff};
    case 2: return static_cast<std::byte>(value + 1);
    case 3: return static_cast<std::byte>(value - 1);
    default: return static_cast<std::byte>(value ^ (1u << (how - 4)));
  }
}
constexpr unsigned kWays = 12;

/// Looks at everything in every way.
/// @return whether the check found an error.
bool look_at(MemoryDevice& device) {
  const std::uint64_t before = device.counters().bytes_read;
  const auto report = scrub(device);
  // Every byte once or twice, and lookups; a pointer that leads in circles would exceed any bound.
  CHECK(device.counters().bytes_read - before < 4 * device.geometry().bytes);
  auto reader = ImageReader::open(device);
  if (reader) {
    (void)describe_superblocks(*reader);
    (void)describe_table(*reader);
    (void)describe_groups(*reader);
    (void)describe_tree(*reader);
    for (std::uint64_t id = 0; id < 12; ++id) (void)describe_node(*reader, {id});
    for (std::uint64_t inode = 0; inode < 13; ++inode) (void)describe_inode(*reader, {inode});
    for_each_owner(*reader, [](BlockRun, const BlockOwner&) { return true; });
  }
  return !report || !report->clean();
}

ImageShape small_shape() {
  ImageShape shape;
  shape.device_bytes = 4_MiB;
  shape.block_bytes = 512;
  return shape;
}

/// Spoils single bytes of what a hook gets to see, before checksums are made.
/// @param each  spoil a byte in so many; 1: every one.
template <class Install>
void forge_all(std::uint64_t seed, std::uint64_t bytes, std::uint64_t each, Install install) {
  Random random(seed);
  for (std::uint64_t byte = 0; byte < bytes; ++byte) {
    for (unsigned how = 0; how < kWays; ++how) {
      if (!random.one_in(each)) continue;
      INFO("byte " << byte << ", way " << how);
      ImageBuilder builder(small_shape());
      const SampleContent content(builder);
      install(builder, byte, how);
      BuiltImage image = builder.build();
      (void)look_at(*image.device);
    }
  }
}

void forge_nodes(std::uint64_t each) {
  for (std::uint64_t target = 1; target <= 9; ++target) {
    INFO("node " << target);
    forge_all(target, 4096, each, [&](ImageBuilder& builder, std::uint64_t byte, unsigned how) {
      builder.edit_node = [=](NodeId id, std::uint8_t, Bytes node) {
        if (id.value == target) node[byte] = spoil(node[byte], how);
      };
    });
  }
}

void forge_rest(std::uint64_t each) {
  forge_all(1, 4096, each, [](ImageBuilder& builder, std::uint64_t byte, unsigned how) {
    builder.edit_table_page = [=](std::uint32_t, std::uint64_t, ImageBuilder::TablePage& page) {
      std::byte& at = std::as_writable_bytes(std::span(page))[byte];
      at = spoil(at, how);
    };
  });
  forge_all(2, sizeof(GroupDescriptor), 1 + each / 8,
            [](ImageBuilder& builder, std::uint64_t byte, unsigned how) {
              builder.edit_descriptor = [=](std::uint64_t, GroupDescriptor& descriptor) {
                std::byte& at = std::as_writable_bytes(std::span(&descriptor, 1))[byte];
                at = spoil(at, how);
              };
            });
  forge_all(3, sizeof(Superblock), 1 + each / 8,
            [](ImageBuilder& builder, std::uint64_t byte, unsigned how) {
              builder.edit_superblock = [=](std::uint32_t, Superblock& superblock) {
                std::byte& at = std::as_writable_bytes(std::span(&superblock, 1))[byte];
                at = spoil(at, how);
              };
            });
}

/// Flips bits of the finished image where something lies.
void flip_all(std::uint64_t each) {
  ImageBuilder builder(small_shape());
  const SampleContent content(builder);
  const auto used = builder.used;
  BuiltImage image = builder.build();
  const SparseImage right = image.device->snapshot();
  std::vector<std::uint64_t> places;
  for (const BuiltImage::Node& node : image.nodes) {
    for (std::uint64_t i = 0; i < 4096; ++i) {
      places.push_back(image.layout.byte_of(node.runs[0].first) + i);
    }
  }
  for (const std::uint64_t page :
       {image.layout.byte_of(image.table[0].first), image.layout.group_page_byte(0, 1),
        image.layout.bitmap_byte(0, 0)}) {
    for (std::uint64_t i = 0; i < 4096; ++i) places.push_back(page + i);
  }
  for (const std::uint64_t block : used) {
    for (std::uint64_t i = 0; i < 512; ++i) places.push_back(block * 512 + i);
  }
  Random random(17);
  for (const std::uint64_t place : places) {
    if (!random.one_in(each)) continue;
    SparseImage spoiled = right;
    spoiled.flip_bit(place, static_cast<unsigned>(random.below(8)));
    MemoryDevice device(spoiled);
    INFO("byte " << place);
    // The preallocated extent holds no data, so nothing can tell what its blocks should hold.
    const bool found = look_at(device);
    if (!found) {
      const std::uint64_t block = place / 512;
      CHECK(
          (block >= content.preallocated.first.value && block < content.preallocated.end().value));
    }
  }
}

}  // namespace

TEST_CASE("damage: flipped bits are found wherever they are", "[damage]") { flip_all(100); }
TEST_CASE("damage: forged nodes end", "[damage]") { forge_nodes(1000); }
TEST_CASE("damage: forged table pages, groups and superblocks end", "[damage]") { forge_rest(250); }
TEST_CASE("damage: flipped bits, many more", "[damage][slow]") { flip_all(4); }
TEST_CASE("damage: forged nodes, many more", "[damage][slow]") { forge_nodes(48); }
TEST_CASE("damage: forged pages, many more", "[damage][slow]") { forge_rest(16); }

TEST_CASE("damage: random bytes and cut images", "[damage]") {
  ImageBuilder builder(small_shape());
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  const SparseImage right = image.device->snapshot();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    SparseImage spoiled = right;
    for (std::uint64_t i = random.between(1, 20); i > 0; --i) {
      std::vector<std::byte> noise(random.between(1, 3000));
      random.fill(noise);
      spoiled.write(1_MiB + random.below(1_MiB), noise);
    }
    MemoryDevice device(spoiled);
    (void)look_at(device);
  }
  std::vector<std::byte> all(4_MiB);
  REQUIRE(image.device->read(0, all));
  for (std::uint64_t bytes = 512; bytes < 4_MiB; bytes += 37 * 512) {
    MemoryDevice shorter(bytes);
    REQUIRE(shorter.write(0, Bytes(all).first(bytes)));
    CHECK(look_at(shorter));
  }
}

}  // namespace cordwood::test
