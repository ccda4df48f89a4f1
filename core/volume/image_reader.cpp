#include "volume/image_reader.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "base/check.hpp"
#include "volume/content_probe.hpp"

namespace cordwood {

namespace {

constexpr std::size_t kTableCachePages = 2048;

/// Error texts live as long as the program; there are as many as kinds of foreign content.
const char* foreign_sentence(const std::string& content) {
  static std::mutex mutex;
  static std::set<std::string> sentences;
  const std::lock_guard<std::mutex> guard(mutex);
  return sentences.insert("no Cordwood volume: the device holds " + content).first->c_str();
}

Error tell_content(BlockDevice& device, Error error) {
  if (error.code != Errc::kNotCordwood) return error;
  const Result<std::string> content = identify_content(device);
  if (content && !content->empty() && *content != "Cordwood") {
    return make_error(Errc::kNotCordwood, foreign_sentence(*content));
  }
  return error;
}

Result<Layout> layout_of(const Superblock& superblock) {
  if (superblock.block_bytes > kMaxBlockBytes) {
    return corrupt(Place::kValue, superblock.block_bytes, "superblock: block size");
  }
  const auto layout = Layout::compute(volume_bytes(superblock), superblock.block_bytes,
                                      superblock.node_bytes, log_ring_bytes(superblock));
  if (!layout || layout->device_blocks != superblock.device_blocks) {
    return corrupt(Place::kValue, superblock.device_blocks,
                   "superblock: block size, node size and device size do not fit together");
  }
  return layout;
}

}  // namespace

Result<ImageReader> ImageReader::open(BlockDevice& device, const ImageOptions& options) {
  ImageReader reader(device);
  auto slots = SuperblockSlots::read(device);
  if (!slots) return tell_content(device, slots.error());
  reader.slots_ = *std::move(slots);
  if (options.superblock_slot) {
    if (*options.superblock_slot >= kSuperblockSlots) {
      return make_error(Errc::kInvalid, Place::kValue, *options.superblock_slot,
                        "superblock slots are 0 to 3");
    }
    const SuperblockSlot& slot = reader.slots_.slots[*options.superblock_slot];
    if (!slot.superblock) return slot.error;
    reader.slot_ = *options.superblock_slot;
  } else {
    const auto best = reader.slots_.best();
    if (!best) return tell_content(device, best.error());
    reader.slot_ = *best;
  }
  reader.layout_ = TRY(layout_of(reader.superblock()));
  reader.volume_seed_ = reader.superblock().volume_seed();
  const std::uint64_t device_bytes = device.geometry().bytes;
  if (device_bytes < volume_bytes(reader.superblock()) && !options.allow_truncated) {
    return corrupt(Place::kByte, device_bytes,
                   "the device ends here, before the end of the volume: was the image cut short?");
  }
  return reader;
}

Result<void> ImageReader::read_bytes(std::uint64_t offset, Bytes into) const {
  const DeviceGeometry geometry = device_->geometry();
  if (offset > geometry.bytes || geometry.bytes - offset < into.size()) {
    return make_error(Errc::kIo, Place::kByte, offset, "past the end of the device");
  }
  const std::uint64_t sector = geometry.sector_bytes;
  if (offset % sector == 0 && into.size() % sector == 0) return device_->read(offset, into);
  const std::uint64_t begin = offset / sector * sector;
  std::vector<std::byte> whole(round_up(offset + into.size(), sector) - begin);
  if (const auto read = device_->read(begin, whole); !read) return read;
  std::memcpy(into.data(), whole.data() + (offset - begin), into.size());
  return {};
}

Result<ContentPlace> ImageReader::locate(TablePlace place, Structure structure) const {
  const std::uint64_t bytes = structure == Structure::kNode ? layout_.node_bytes : kPageBytes;
  return cordwood::locate(
      place, bytes, structure, layout_, volume_seed_,
      [this](BlockNumber block, Bytes into) { return read_bytes(layout_.byte_of(block), into); });
}

Result<void> ImageReader::read_content(const ContentPlace& place, std::uint64_t checksum,
                                       Bytes into, Place kind, std::uint64_t where) const {
  std::uint64_t done = 0;
  for (const BlockRun& run : place.runs) {
    const std::uint64_t bytes = run.count * layout_.block_bytes;
    CW_CHECK(done + bytes <= into.size());
    const auto read = read_bytes(layout_.byte_of(run.first), into.subspan(done, bytes));
    if (!read) return read;
    done += bytes;
  }
  if (cordwood::checksum(into, place.seed) != checksum) {
    return corrupt(kind, where, "checksum mismatch");
  }
  return {};
}

Result<TablePage> ImageReader::read_table_page(const TableEntry& entry, std::uint64_t index) const {
  TablePage page;
  const ContentPlace place = TRY(locate(entry.place, Structure::kTablePage));
  const Bytes bytes = std::as_writable_bytes(std::span(page));
  const auto read = read_content(place, entry.checksum, bytes, Place::kTablePage, index);
  if (!read) return read.error();
  return page;
}

Result<TableEntry> ImageReader::table_page_entry(std::uint32_t level, std::uint64_t index) {
  const std::uint32_t levels = superblock().table_levels;
  TableEntry entry = superblock().table_root;
  if (level + 1 < levels) {
    const auto parent = TRY(table_page(level + 1, index / kEntriesPerTablePage));
    entry = (*parent)[index % kEntriesPerTablePage];
  } else if (index != 0) {
    return corrupt(Place::kTablePage, index, "no such page of the node table");
  }
  if (const auto valid = validate(entry, level + 1, index, layout_); !valid) return valid.error();
  if (entry.place.empty()) return corrupt(Place::kTablePage, index, "table page is missing");
  return entry;
}

Result<std::shared_ptr<const TablePage>> ImageReader::table_page(std::uint32_t level,
                                                                 std::uint64_t index) {
  const std::uint64_t name = (std::uint64_t{level} << 48) | index;
  const auto found = table_cache_.find(name);
  if (found != table_cache_.end()) return found->second;
  const TableEntry entry = TRY(table_page_entry(level, index));
  auto page = std::make_shared<const TablePage>(TRY(read_table_page(entry, index)));
  if (table_cache_.size() >= kTableCachePages) table_cache_.clear();
  table_cache_.emplace(name, page);
  return page;
}

Result<TableEntry> ImageReader::entry(NodeId id) {
  if (id.value == 0 || id.value >= superblock().next_node_id) {
    return corrupt(Place::kNode, id.value, "no such node id");
  }
  const std::uint64_t index = id.value / kEntriesPerTablePage;
  const auto page = TRY(table_page(0, index));
  const TableEntry entry = (*page)[id.value % kEntriesPerTablePage];
  if (const auto valid = validate(entry, 0, index, layout_); !valid) return valid.error();
  return entry;
}

}  // namespace cordwood
