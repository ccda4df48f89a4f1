// Superblocks, node table and groups as JSON.

#include <algorithm>

#include "volume/describe.hpp"
#include "volume/image_groups.hpp"
#include "volume/json_parts.hpp"

namespace cordwood {

namespace json = boost::json;

namespace {

json::object superblock_json(const Superblock& superblock) {
  json::object object{
      {"format_version", superblock.format_version},
      {"uuid", uuid_text(superblock.uuid)},
      {"generation", superblock.generation},
      {"block_bytes", superblock.block_bytes},
      {"node_bytes", superblock.node_bytes},
      {"device_blocks", superblock.device_blocks},
      {"name_hash_bits", superblock.name_hash_bits},
      {"incompatible_features", hex64(superblock.incompatible_features)},
      {"read_only_features", hex64(superblock.read_only_features)},
      {"compatible_features", hex64(superblock.compatible_features)},
      {"clean", superblock.mount_state == static_cast<std::uint32_t>(MountState::kClean)},
      {"root_node", superblock.root_node},
      {"root_level", superblock.root_level},
      {"table_root", entry_json(superblock.table_root)},
      {"table_levels", superblock.table_levels},
      {"next_node_id", superblock.next_node_id},
      {"free_node_ids", superblock.free_node_ids},
      {"group_root_slot", superblock.group_root.slot},
      {"group_root_checksum", hex64(superblock.group_root.checksum)},
      {"free_blocks", superblock.free_blocks},
      {"log_first_block", superblock.log_first_block},
      {"log_blocks", superblock.log_blocks},
      {"log_sequence", superblock.log_sequence},
      {"log_block", superblock.log_block},
      {"next_inode", superblock.next_inode},
      {"inode_count", superblock.inode_count},
      {"created_seconds", superblock.created_seconds},
      {"written_seconds", superblock.written_seconds},
      {"checksum", hex64(superblock.checksum)},
  };
  const auto end = std::find(superblock.label.begin(), superblock.label.end(), '\0');
  put_text(object, "label",
           {superblock.label.data(), static_cast<std::size_t>(end - superblock.label.begin())});
  return object;
}

/// Describes pages of the node table from the root down, level by level.
class TableDescription {
 public:
  TableDescription(ImageReader& reader, std::uint64_t pages_max)
      : reader_(reader), pages_max_(pages_max) {}

  json::array take() { return std::move(pages_); }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

  void describe() {
    const Superblock& superblock = reader_.superblock();
    std::vector<Page> level{{0, superblock.table_root}};
    for (std::uint32_t at = superblock.table_levels; at-- > 0;) {
      std::vector<Page> below;
      for (const Page& page : level) describe(at, page, below);
      level = std::move(below);
    }
  }

 private:
  struct Page {
    std::uint64_t index = 0;
    TableEntry entry;
  };

  void describe(std::uint32_t level, const Page& page, std::vector<Page>& below) {
    if (pages_.size() == pages_max_) {
      ++left_out_;
      return;
    }
    json::object object{{"level", level}, {"index", page.index}};
    const auto content = reader_.read_table_page(page.entry, page.index);
    if (!content) {
      object["error"] = content.error().message();
      pages_.push_back(std::move(object));
      return;
    }
    if (const auto place = reader_.locate(page.entry.place, Structure::kTablePage)) {
      object["place"] = place_json(*place);
    }
    json::array entries;
    for (std::uint64_t i = 0; i < kEntriesPerTablePage; ++i) {
      const TableEntry& entry = (*content)[i];
      if (entry.place.empty()) continue;
      const std::uint64_t number = page.index * kEntriesPerTablePage + i;
      json::object described = entry_json(entry).as_object();
      described[level == 0 ? "node" : "page"] = number;
      entries.push_back(std::move(described));
      if (level > 0) below.push_back({number, entry});
    }
    object["free"] = page.entry.place.free_count();
    object["entries"] = std::move(entries);
    pages_.push_back(std::move(object));
  }

  ImageReader& reader_;
  std::uint64_t pages_max_;
  json::array pages_;
  std::uint64_t left_out_ = 0;
};

json::array used_runs(const GroupBitmap& bitmap, BlockRun blocks, std::size_t runs_max) {
  json::array runs;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  for (std::uint64_t bit = 0; bit <= blocks.count; ++bit) {
    const bool used = bit < blocks.count && (bitmap[bit / 64] >> (bit % 64) & 1) != 0;
    if (used) {
      if (count++ == 0) first = blocks.first.value + bit;
      continue;
    }
    if (count != 0 && runs.size() < runs_max) runs.push_back(json::array{first, count});
    count = 0;
  }
  return runs;
}

json::object group_json(const ImageGroups& groups, std::uint64_t group,
                        const GroupDescriptor& descriptor, std::size_t runs_max) {
  const BlockRun blocks = groups.blocks(group);
  json::object object{{"group", group},
                      {"first_block", blocks.first.value},
                      {"blocks", blocks.count},
                      {"allocatable", groups.allocatable(group).count},
                      {"free_blocks", descriptor.free_blocks},
                      {"longest_free_run", descriptor.longest_free_run},
                      {"generation", descriptor.generation},
                      {"slot", descriptor.slot},
                      {"written", descriptor.written != 0}};
  const auto bitmap = groups.bitmap(group, descriptor);
  if (bitmap) {
    object["used_runs"] = used_runs(*bitmap, blocks, runs_max);
  } else {
    object["error"] = bitmap.error().message();
  }
  return object;
}

}  // namespace

json::object describe_superblocks(const ImageReader& reader) {
  json::array slots;
  for (std::size_t i = 0; i < reader.slots().slots.size(); ++i) {
    const SuperblockSlot& slot = reader.slots().slots[i];
    json::object object{{"slot", i}, {"byte", slot.byte}};
    if (slot.superblock) {
      object["superblock"] = superblock_json(*slot.superblock);
    } else {
      object["error"] = slot.error.message();
    }
    slots.push_back(std::move(object));
  }
  return {{"chosen", reader.slot()}, {"slots", std::move(slots)}};
}

json::object describe_table(ImageReader& reader, std::uint64_t pages_max) {
  const Superblock& superblock = reader.superblock();
  TableDescription table(reader, pages_max);
  table.describe();
  json::array pages = table.take();
  return {{"levels", superblock.table_levels},
          {"next_node_id", superblock.next_node_id},
          {"free_node_ids", superblock.free_node_ids},
          {"root", entry_json(superblock.table_root)},
          {"pages", std::move(pages)},
          {"pages_left_out", table.left_out()}};
}

json::object describe_groups(const ImageReader& reader, std::uint64_t first,
                             std::uint64_t groups_max, std::size_t runs_max) {
  const ImageGroups groups(reader);
  const std::uint64_t count = reader.layout().group_count;
  json::array described;
  for (std::uint64_t group = first; group < count && group - first < groups_max; ++group) {
    const auto descriptor = groups.descriptor(group);
    if (descriptor) {
      described.push_back(group_json(groups, group, *descriptor, runs_max));
    } else {
      json::object object = error_json(descriptor.error());
      object["group"] = group;
      described.push_back(std::move(object));
    }
  }
  return {{"group_count", count},
          {"blocks_per_group", kGroupBlocks},
          {"free_blocks", reader.superblock().free_blocks},
          {"groups", std::move(described)}};
}

}  // namespace cordwood
