// docs/FORMAT.md says where each field of each structure lies; here it is held to that.

#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "format/group.hpp"
#include "format/items.hpp"
#include "format/log.hpp"
#include "format/node.hpp"
#include "format/superblock.hpp"
#include "format/table.hpp"
#include "support/catch.hpp"

namespace cordwood {
namespace {

struct Field {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::string name;

  friend bool operator==(const Field&, const Field&) = default;
};

std::ostream& operator<<(std::ostream& out, const Field& field) {
  return out << field.name << " at " << field.offset << ", " << field.bytes << " bytes";
}

using Structures = std::map<std::string, std::vector<Field>>;

/// The tables below the headings "### struct NAME".
Structures documented() {
  std::ifstream file(CORDWOOD_FORMAT_MD);
  REQUIRE(file);
  Structures structures;
  std::string current;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("#", 0) == 0) {
      const std::string heading = "### struct ";
      current = line.rfind(heading, 0) == 0 ? line.substr(heading.size()) : "";
    }
    if (current.empty() || line.rfind("| ", 0) != 0 || !std::isdigit(line[2])) continue;
    std::istringstream cells(line);
    Field field;
    char bar = 0;
    cells >> bar >> field.offset >> bar >> field.bytes >> bar >> field.name;
    structures[current].push_back(field);
  }
  return structures;
}

#define FIELD(type, member) \
  Field { offsetof(type, member), sizeof(type::member), #member }

Structures compiled() {
  Structures all;
  all["Superblock"] = {FIELD(Superblock, magic),
                       FIELD(Superblock, format_version),
                       FIELD(Superblock, block_bytes),
                       FIELD(Superblock, node_bytes),
                       FIELD(Superblock, name_hash_bits),
                       FIELD(Superblock, uuid),
                       FIELD(Superblock, generation),
                       FIELD(Superblock, device_blocks),
                       FIELD(Superblock, incompatible_features),
                       FIELD(Superblock, read_only_features),
                       FIELD(Superblock, compatible_features),
                       FIELD(Superblock, root_node),
                       FIELD(Superblock, root_level),
                       FIELD(Superblock, mount_state),
                       FIELD(Superblock, table_root),
                       FIELD(Superblock, table_levels),
                       FIELD(Superblock, reserved0),
                       FIELD(Superblock, next_node_id),
                       FIELD(Superblock, free_node_ids),
                       FIELD(Superblock, group_root),
                       FIELD(Superblock, free_blocks),
                       FIELD(Superblock, log_first_block),
                       FIELD(Superblock, log_blocks),
                       FIELD(Superblock, log_sequence),
                       FIELD(Superblock, next_inode),
                       FIELD(Superblock, inode_count),
                       FIELD(Superblock, created_seconds),
                       FIELD(Superblock, written_seconds),
                       FIELD(Superblock, label),
                       FIELD(Superblock, log_block),
                       FIELD(Superblock, reserved1),
                       FIELD(Superblock, checksum)};
  all["TableEntry"] = {FIELD(TableEntry, place), FIELD(TableEntry, checksum)};
  all["FragmentListHeader"] = {FIELD(FragmentListHeader, next_block),
                               FIELD(FragmentListHeader, count),
                               FIELD(FragmentListHeader, reserved)};
  all["GroupDescriptor"] = {FIELD(GroupDescriptor, bitmap_checksum),
                            FIELD(GroupDescriptor, generation),
                            FIELD(GroupDescriptor, free_blocks),
                            FIELD(GroupDescriptor, longest_free_run),
                            FIELD(GroupDescriptor, slot),
                            FIELD(GroupDescriptor, written)};
  all["GroupPageRef"] = {FIELD(GroupPageRef, checksum), FIELD(GroupPageRef, slot),
                         FIELD(GroupPageRef, reserved)};
  all["NodeHeader"] = {FIELD(NodeHeader, magic),        FIELD(NodeHeader, level),
                       FIELD(NodeHeader, reserved0),    FIELD(NodeHeader, volume_id),
                       FIELD(NodeHeader, node_id),      FIELD(NodeHeader, generation),
                       FIELD(NodeHeader, count),        FIELD(NodeHeader, heap_top),
                       FIELD(NodeHeader, heap_garbage), FIELD(NodeHeader, reserved1)};
  all["LogRecordHeader"] = {FIELD(LogRecordHeader, checksum),
                            FIELD(LogRecordHeader, magic),
                            FIELD(LogRecordHeader, flags),
                            FIELD(LogRecordHeader, volume_id),
                            FIELD(LogRecordHeader, sequence),
                            FIELD(LogRecordHeader, base_generation),
                            FIELD(LogRecordHeader, durable_sequence),
                            FIELD(LogRecordHeader, record_bytes),
                            FIELD(LogRecordHeader, index_offset),
                            FIELD(LogRecordHeader, leaf_count),
                            FIELD(LogRecordHeader, item_count),
                            FIELD(LogRecordHeader, tombstone_count),
                            FIELD(LogRecordHeader, reserved0),
                            FIELD(LogRecordHeader, next_inode),
                            FIELD(LogRecordHeader, inode_count),
                            FIELD(LogRecordHeader, written_seconds),
                            FIELD(LogRecordHeader, reserved1)};
  all["LogIndexEntry"] = {FIELD(LogIndexEntry, first_key_lo), FIELD(LogIndexEntry, first_key_hi),
                          FIELD(LogIndexEntry, offset), FIELD(LogIndexEntry, bytes)};
  all["LogTombstone"] = {FIELD(LogTombstone, first_lo), FIELD(LogTombstone, first_hi),
                         FIELD(LogTombstone, last_lo), FIELD(LogTombstone, last_hi)};
  all["InodeItem"] = {FIELD(InodeItem, mode),
                      FIELD(InodeItem, links),
                      FIELD(InodeItem, uid),
                      FIELD(InodeItem, gid),
                      FIELD(InodeItem, size),
                      FIELD(InodeItem, bytes),
                      FIELD(InodeItem, rdev),
                      FIELD(InodeItem, flags),
                      FIELD(InodeItem, next_dir_index),
                      FIELD(InodeItem, access_seconds),
                      FIELD(InodeItem, modify_seconds),
                      FIELD(InodeItem, change_seconds),
                      FIELD(InodeItem, birth_seconds),
                      FIELD(InodeItem, access_nanoseconds),
                      FIELD(InodeItem, modify_nanoseconds),
                      FIELD(InodeItem, change_nanoseconds),
                      FIELD(InodeItem, birth_nanoseconds)};
  all["InodeRefItem"] = {FIELD(InodeRefItem, parent), FIELD(InodeRefItem, dir_index)};
  all["ExtentHeader"] = {FIELD(ExtentHeader, kind), FIELD(ExtentHeader, reserved),
                         FIELD(ExtentHeader, length), FIELD(ExtentHeader, block),
                         FIELD(ExtentHeader, generation)};
  return all;
}

TEST_CASE("format: docs/FORMAT.md has every field where it is", "[format]") {
  const Structures expected = compiled();
  const Structures found = documented();
  for (const auto& [name, fields] : expected) {
    INFO(name);
    REQUIRE(found.count(name) == 1);
    const std::vector<Field>& rows = found.at(name);
    CHECK(rows == fields);
    // Nothing between the fields is left undescribed.
    std::size_t at = 0;
    for (const Field& field : rows) {
      CHECK(field.offset == at);
      at += field.bytes;
    }
  }
  CHECK(found.size() == expected.size());
}

TEST_CASE("format: the layout leaves no overlap at any size", "[format]") {
  const std::uint64_t bytes = GENERATE(std::uint64_t{4_MiB}, std::uint64_t{4_MiB + 12345},
                                       std::uint64_t{100_MiB}, 3_GiB, 1024_GiB, 100'000_GiB);
  const std::uint32_t block = GENERATE(512u, 4096u);
  CAPTURE(bytes, block);
  const auto layout = Layout::compute(bytes, block, 65536);
  REQUIRE(layout);
  CHECK(layout->byte_of(layout->log.end()) == layout->group_page_byte(0, 0));
  CHECK(layout->group_page_byte(layout->group_page_count, 0) == layout->bitmap_byte(0, 0));
  CHECK(layout->byte_of(layout->first_free) == layout->bitmap_byte(layout->group_count, 0));
  CHECK(layout->first_free < layout->tail);
  CHECK(layout->byte_of(layout->tail) == superblock_byte(2, bytes));
  CHECK(superblock_byte(3, bytes) + kPageBytes <= bytes);
}

TEST_CASE("format: sizes that do not fit are refused in words", "[format]") {
  CHECK(!Layout::compute(3_MiB, 4096, 16384));
  CHECK(!Layout::compute(0, 4096, 16384));
  CHECK(!Layout::compute(64_MiB, 100, 16384));
  CHECK(!Layout::compute(64_MiB, 8192, 16384));
  CHECK(!Layout::compute(64_MiB, 4096, 2048));
  CHECK(!Layout::compute(64_MiB, 4096, 131072));
  CHECK(!Layout::compute(std::uint64_t{1} << 60, 512, 16384));
  CHECK(!Layout::compute(3_MiB, 4096, 16384).error().message().empty());
}

}  // namespace
}  // namespace cordwood
