#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include "node/inner.hpp"
#include "spoiled.hpp"

// Each wrong image must give exactly the findings that name its cause.

namespace cordwood::test {
namespace {

ImageShape two_table_levels() {
  ImageShape shape;
  shape.skip_ids = 600;
  return shape;
}

std::vector<Spoiled> superblock_cases() {
  return {
      {"superblock_slot_damaged",
       {},
       [](BuiltImage& image) { flip(*image.device, 8_MiB - 4_KiB + 200); }},
      {"superblock_foreign_copy", slot_change(2, [](Superblock& s) { s.uuid[3] ^= 1; })},
      {"superblock_identity", slot_change(2, [](Superblock& s) { s.name_hash_bits = 32; })},
      {"superblock_wrong_slot", slot_change(2, [](Superblock& s) { s.generation = 5; })},
      {"superblock_log_place", superblock_change([](Superblock& s) { s.log_first_block += 1; })},
      {"superblock_reserved", superblock_change([](Superblock& s) { s.reserved1[7] = 1; })},
      {"superblock_free_node_ids", superblock_change([](Superblock& s) { s.free_node_ids += 1; })},
      {"superblock_inode_count", superblock_change([](Superblock& s) { s.inode_count += 1; })},
      {"superblock_free_blocks", superblock_change([](Superblock& s) { s.free_blocks += 1; })},
      {"inode_beyond_next", superblock_change([](Superblock& s) { s.next_inode -= 1; })},
  };
}

std::vector<Spoiled> table_cases() {
  using Level = std::uint32_t;
  using Index = std::uint64_t;
  using Page = ImageBuilder::TablePage;
  return {
      {"table_page_unreadable",
       {},
       [](BuiltImage& image) {
         flip(*image.device, image.layout.byte_of(image.table.front().first) + 5);
       }},
      {"table_entry_bad", table_change([](Level, Index, Page& page) {
         page[2].place.bits |= std::uint64_t{1} << 60;
       })},
      {"table_entry_bad", table_change([](Level, Index, Page& page) {
         page[2].place = TablePlace::make({1}, false);
       })},
      {"table_entry_bad", table_change([](Level, Index, Page& page) {
         page[2].place = TablePlace::make(page[2].place.block(), false, 1);
       })},
      {"table_entry_beyond", table_change([](Level, Index, Page& page) { page[200] = page[2]; })},
      {"table_entry_beyond", table_change([](Level, Index, Page& page) { page[0] = page[2]; })},
      {"table_free_count",
       table_change([](Level level, Index, Page& page) {
         if (level == 1) page[0].place = TablePlace::make(page[0].place.block(), false, 3);
       }),
       {},
       two_table_levels()},
      {"table_page_missing table_free_count",
       table_change([](Level level, Index, Page& page) {
         if (level == 1) page[1] = TableEntry{};
       }),
       {},
       two_table_levels()},
      // Two pages at one place: the second is not followed, or pages in a circle would never end.
      {"block_double_owned",
       table_change([](Level level, Index, Page& page) {
         if (level == 1) page[1] = page[0];
       }),
       {},
       two_table_levels()},
      {"node_missing table_free_count superblock_free_node_ids",
       table_change([](Level, Index, Page& page) { page[1] = TableEntry{}; })},
      {"node_unreadable block_double_owned",
       table_change([](Level, Index, Page& page) { page[1].place = page[2].place; })},
      {"node_invalid", table_change([](Level, Index, Page& page) { std::swap(page[1], page[2]); })},
  };
}

std::vector<Spoiled> node_cases() {
  const auto set_byte = [](std::uint8_t level, std::size_t at, std::uint8_t value) {
    return node_change(level, [=](Bytes node) { node[at] = std::byte{value}; });
  };
  ImageShape fragments;
  fragments.block_bytes = 512;
  fragments.fragment_nodes = true;
  return {
      {"node_unreadable",
       {},
       [](BuiltImage& image) {
         flip(*image.device, image.layout.byte_of(image.nodes[1].runs.front().first) + 77);
       }},
      {"node_unreadable",
       {},
       [](BuiltImage& image) {
         flip(*image.device, image.layout.byte_of(image.nodes[1].lists.front()) + 20);
       },
       fragments},
      {"node_unreadable",
       {},
       [](BuiltImage& image) {
         flip(*image.device, image.layout.byte_of(image.nodes[1].lists.front()) + 400);
       },
       fragments},
      {"node_invalid", set_byte(0, 0, 0)},
      {"node_invalid", set_byte(0, 16, 99)},
      {"node_invalid", set_byte(0, 33, 0xff)},
      {"node_invalid", set_byte(1, 4, 2)},
      {"node_invalid", set_byte(2, 8, 0)},
      {"node_invalid", set_byte(1, 64, 1)},
      {"node_generation", set_byte(0, 24, 99)},
      {"node_shared", node_change(1,
                                  [](Bytes node) {
                                    Inner inner(node.data(), 4096);
                                    const Key key = inner.key(1);
                                    const NodeId first = inner.child(0);
                                    inner.erase(1);
                                    inner.insert(1, key, first);
                                  })},
      // A child that is its own grandparent.
      {"node_shared", node_change(1,
                                  [](Bytes node) {
                                    Inner inner(node.data(), 4096);
                                    const Key key = inner.key(1);
                                    inner.erase(1);
                                    inner.insert(1, key, {9});
                                  })},
      // The root loses its second child: what hangs below that is not in the tree any more.
      {"node_orphan block_leaked superblock_inode_count name_child_missing inode_bytes "
       "orphan_without_inode xattr_value_missing",
       node_change(2,
                   [](Bytes node) {
                     std::vector<std::byte> packed(node.size());
                     Inner inner(node.data(), 4096);
                     inner.erase(1);
                     inner.pack(packed.data());
                     std::copy(packed.begin(), packed.end(), node.begin());
                   })},
  };
}

std::vector<Spoiled> space_cases() {
  using Bitmap = ImageBuilder::Bitmap;
  const auto bitmap_change = [](auto change) -> Spoil {
    return [change](ImageBuilder& builder, const SampleContent&) {
      builder.edit_bitmap = [change](std::uint64_t, Bitmap& bitmap) { change(bitmap); };
    };
  };
  const auto descriptor_change = [](auto change) -> Spoil {
    return [change](ImageBuilder& builder, const SampleContent&) {
      builder.edit_descriptor = [change](std::uint64_t, GroupDescriptor& descriptor) {
        change(descriptor);
      };
    };
  };
  return {
      {"block_leaked",
       [](ImageBuilder& builder, const SampleContent&) { (void)builder.allocate(3); }},
      {"block_not_marked", [](ImageBuilder& builder,
                              const SampleContent&) { builder.used.erase(*builder.used.begin()); }},
      {"block_double_owned block_leaked",
       [](ImageBuilder& builder, const SampleContent& content) {
         const Key key = builder.keys(content.data_file, ItemType::kExtent).at(0);
         const Key other = builder.keys(content.sparse_file, ItemType::kExtent).at(0);
         std::copy_n(builder.items[key].begin() + 8, 8, builder.items[other].begin() + 8);
       }},
      {"fixed_block_free group_free_count superblock_free_blocks",
       bitmap_change([](Bitmap& bitmap) { bitmap[0] &= ~std::uint64_t{1}; })},
      {"group_free_count", descriptor_change([](GroupDescriptor& d) { d.free_blocks += 1; })},
      {"group_longest_run", descriptor_change([](GroupDescriptor& d) { d.longest_free_run -= 1; })},
      {"group_descriptor_bad", descriptor_change([](GroupDescriptor& d) { d.slot = 2; })},
      {"group_descriptor_bad", descriptor_change([](GroupDescriptor& d) { d.generation = 99; })},
      {"bitmap_unreadable", descriptor_change([](GroupDescriptor& d) { d.slot ^= 1; })},
      {"group_page_unreadable",
       {},
       [](BuiltImage& image) { flip(*image.device, image.layout.group_page_byte(0, 1) + 3); }},
  };
}

void require_all(const std::vector<Spoiled>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO("case " << i);
    require_findings(cases[i]);
  }
}

}  // namespace

TEST_CASE("check: finds what is wrong with superblocks", "[check]") {
  require_all(superblock_cases());
}
TEST_CASE("check: finds what is wrong with the node table", "[check]") {
  require_all(table_cases());
}
TEST_CASE("check: finds what is wrong with nodes", "[check]") { require_all(node_cases()); }
TEST_CASE("check: finds what is wrong with free space", "[check]") { require_all(space_cases()); }

}  // namespace cordwood::test
