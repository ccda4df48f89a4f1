// Writing an image out: leaves, inner nodes, node table, bitmaps, group table, superblocks.

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "format/seed.hpp"
#include "node/inner.hpp"
#include "node/leaf.hpp"
#include "support/image_builder.hpp"

namespace cordwood::test {

namespace {

void set_generation(Bytes node, std::uint64_t generation) {
  store_le(node.data() + offsetof(NodeHeader, generation), generation);
}

}  // namespace

BuiltImage ImageBuilder::build() {
  BuiltImage image;
  image.layout = layout_;
  std::vector<Child> level = write_leaves(image);
  std::uint8_t height = 0;
  while (level.size() > 1) level = write_inner(image, ++height, level);
  superblock_.root_node = level.front().id.value;
  superblock_.root_level = height;
  superblock_.next_node_id = next_node_;
  write_table(image);
  superblock_.inode_count = 0;
  for (const auto& [key, item] : items) {
    if (key.type() == ItemType::kInode && key.lo == 0) ++superblock_.inode_count;
  }
  write_groups(image);
  write_superblocks(image);
  image.superblock = superblock_;
  image.device = std::move(device_);
  return image;
}

std::vector<ImageBuilder::Child> ImageBuilder::write_leaves(BuiltImage& image) {
  std::vector<Child> children;
  auto next = items.begin();
  Key low = kMinKey;
  do {
    std::vector<std::byte> bytes(shape_.node_bytes);
    const NodeId id{next_node_++};
    Leaf leaf(bytes.data(), shape_.node_bytes);
    leaf.initialize(superblock_.volume_id(), id.value);
    if (!children.empty()) low = next->first;
    while (next != items.end() && leaf.count() < shape_.leaf_items_max &&
           leaf.contiguous_free_bytes() >=
               item_footprint(static_cast<std::uint32_t>(next->second.size()))) {
      leaf.insert(leaf.count(), next->first, next->second);
      ++next;
    }
    std::vector<std::byte> packed(shape_.node_bytes);
    leaf.pack(packed.data());
    children.push_back({low, id});
    write_node(image, id, 0, std::move(packed));
  } while (next != items.end());
  return children;
}

std::vector<ImageBuilder::Child> ImageBuilder::write_inner(BuiltImage& image, std::uint8_t level,
                                                           const std::vector<Child>& below) {
  std::vector<Child> children;
  for (std::size_t first = 0; first < below.size(); first += shape_.inner_children_max) {
    const NodeId id{next_node_++};
    std::vector<std::byte> bytes(shape_.node_bytes);
    Inner inner(bytes.data(), shape_.node_bytes);
    inner.initialize(superblock_.volume_id(), id.value, level);
    const std::size_t end = std::min<std::size_t>(below.size(), first + shape_.inner_children_max);
    for (std::size_t i = first; i < end; ++i) {
      inner.insert(inner.count(), below[i].low, below[i].id);
    }
    std::vector<std::byte> packed(shape_.node_bytes);
    inner.pack(packed.data());
    children.push_back({below[first].low, id});
    write_node(image, id, level, std::move(packed));
  }
  return children;
}

void ImageBuilder::write_node(BuiltImage& image, NodeId id, std::uint8_t level,
                              std::vector<std::byte> bytes) {
  set_generation(bytes, superblock_.generation);
  if (edit_node) edit_node(id, level, bytes);
  BuiltImage::Node node;
  node.id = id;
  node.level = level;
  entries_[id.value] = place(image, bytes, Structure::kNode, shape_.fragment_nodes, &node);
  image.nodes.push_back(std::move(node));
}

TableEntry ImageBuilder::place(BuiltImage& image, ConstBytes bytes, Structure structure,
                               bool fragment, BuiltImage::Node* node) {
  const std::uint64_t blocks = bytes.size() / layout_.block_bytes;
  const auto write = [this](BlockNumber block, ConstBytes part) {
    CW_CHECK(device_->write(layout_.byte_of(block), part).has_value());
  };
  TableEntry entry;
  if (!fragment) {
    const BlockRun run = allocate(blocks);
    write(run.first, bytes);
    entry.place = TablePlace::make(run.first, false);
    entry.checksum =
        checksum(bytes, checksum_seed(volume_seed(), structure, layout_.byte_of(run.first)));
    if (node != nullptr) node->runs = {run};
    if (node == nullptr) image.table.push_back(run);
    return entry;
  }
  std::vector<BlockRun> runs;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    runs.push_back(allocate(1));
    ++next_block_;  // a gap, so that no two runs touch
    write(runs.back().first, bytes.subspan(i * layout_.block_bytes, layout_.block_bytes));
  }
  std::vector<BlockNumber> lists(fragment_list_blocks(runs.size(), layout_.block_bytes));
  for (BlockNumber& list : lists) list = allocate(1).first;
  std::vector<std::byte> stored(lists.size() * layout_.block_bytes);
  store_fragment_lists(runs, lists, layout_.block_bytes, stored);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    write(lists[i], ConstBytes(stored).subspan(i * layout_.block_bytes, layout_.block_bytes));
  }
  entry.place = TablePlace::make(lists.front(), true);
  entry.checksum = checksum(
      bytes, fragmented_seed(volume_seed(), structure, layout_.byte_of(lists.front()),
                             chain_hash(lists, stored, volume_seed(), layout_.block_bytes)));
  if (node != nullptr) {
    node->runs = runs;
    node->lists = lists;
  }
  return entry;
}

void ImageBuilder::write_table(BuiltImage& image) {
  superblock_.table_levels = table_levels(next_node_);
  superblock_.free_node_ids = next_node_ - 1 - entries_.size();
  std::map<std::uint64_t, TableEntry> below = entries_;
  for (std::uint32_t level = 0; level < superblock_.table_levels; ++level) {
    const std::uint64_t ids_per_entry = std::uint64_t{1} << (8 * level);
    const std::uint64_t entries = divide_up(next_node_, ids_per_entry);
    std::map<std::uint64_t, TableEntry> pages;
    for (std::uint64_t index = 0; index * kEntriesPerTablePage < entries; ++index) {
      TablePage page{};
      std::uint32_t free = 0;
      for (std::uint64_t i = 0; i < kEntriesPerTablePage; ++i) {
        const std::uint64_t number = index * kEntriesPerTablePage + i;
        const auto found = below.find(number);
        if (found != below.end()) page[i] = found->second;
        if (level == 0 && number != 0 && number < next_node_ && found == below.end()) ++free;
        if (level > 0 && page[i].place.free_count() > 0) ++free;
      }
      if (edit_table_page) edit_table_page(level, index, page);
      TableEntry entry = place(image, std::as_bytes(std::span(page)), Structure::kTablePage,
                               shape_.fragment_table, nullptr);
      entry.place = TablePlace::make(entry.place.block(), entry.place.fragmented(), free);
      pages[index] = entry;
    }
    below = std::move(pages);
  }
  superblock_.table_root = below.begin()->second;
}

void ImageBuilder::write_groups(BuiltImage&) {
  superblock_.free_blocks = 0;
  std::vector<GroupDescriptor> descriptors(round_up(layout_.group_count, kDescriptorsPerPage));
  for (std::uint64_t group = 0; group < layout_.group_count; ++group) {
    Bitmap bitmap{};
    std::uint32_t free = 0;
    std::uint32_t run = 0;
    std::uint32_t longest = 0;
    for (std::uint64_t bit = 0; bit < kGroupBlocks; ++bit) {
      const std::uint64_t block = group * kGroupBlocks + bit;
      const bool taken =
          block < layout_.first_free.value || block >= layout_.tail.value || used.count(block) != 0;
      if (taken) bitmap[bit / 64] |= std::uint64_t{1} << (bit % 64);
      run = taken ? 0 : run + 1;
      free += taken ? 0 : 1;
      longest = std::max(longest, run);
    }
    if (edit_bitmap) edit_bitmap(group, bitmap);
    GroupDescriptor& descriptor = descriptors[group];
    descriptor.slot = group % 2;
    descriptor.generation = superblock_.generation;
    descriptor.free_blocks = free;
    descriptor.longest_free_run = longest;
    descriptor.written = 1;
    const std::uint64_t byte = layout_.bitmap_byte(group, descriptor.slot);
    const ConstBytes bytes = std::as_bytes(std::span(bitmap));
    descriptor.bitmap_checksum =
        checksum(bytes, checksum_seed(volume_seed(), Structure::kBitmap, byte));
    CW_CHECK(device_->write(byte, bytes).has_value());
    if (edit_descriptor) edit_descriptor(group, descriptor);
    superblock_.free_blocks += free;
  }
  std::uint64_t page = 0;
  const auto write_level = [&](ConstBytes records) {
    std::vector<GroupPageRef> refs;
    for (std::size_t at = 0; at < records.size(); at += kPageBytes, ++page) {
      const std::uint64_t byte = layout_.group_page_byte(page, 1);
      const ConstBytes bytes = records.subspan(at, kPageBytes);
      refs.push_back(
          {checksum(bytes, checksum_seed(volume_seed(), Structure::kGroupPage, byte)), 1, 0});
      CW_CHECK(device_->write(byte, bytes).has_value());
    }
    return refs;
  };
  std::vector<GroupPageRef> refs = write_level(std::as_bytes(std::span(descriptors)));
  while (refs.size() > 1) {
    refs.resize(round_up<std::size_t>(refs.size(), kRefsPerPage));
    refs = write_level(std::as_bytes(std::span(refs)));
  }
  superblock_.group_root = refs.front();
}

void ImageBuilder::write_superblocks(BuiltImage&) {
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    Superblock copy = superblock_;
    // The other two slots hold the generation before; nothing is ever followed from there.
    if (slot % 2 != superblock_.generation % 2) copy.generation -= 1;
    if (edit_superblock) edit_superblock(slot, copy);
    std::vector<std::byte> page(kPageBytes);
    const std::uint64_t byte = superblock_byte(slot, shape_.device_bytes);
    copy.store(page, byte);
    CW_CHECK(device_->write(byte, page).has_value());
  }
}

}  // namespace cordwood::test
