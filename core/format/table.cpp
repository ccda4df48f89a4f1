#include "format/table.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/checksum.hpp"

namespace cordwood {

namespace {

constexpr int kRunCountShift = 48;
constexpr std::uint64_t kRunBlocksMax = 0xffff;

bool all_zero(ConstBytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<void> validate(const TableEntry& entry, std::uint32_t level, std::uint64_t page,
                      const Layout& layout) {
  const auto bad = [page](const char* what) { return corrupt(Place::kTablePage, page, what); };
  const TablePlace place = entry.place;
  if (place.empty()) return {};
  if (place != TablePlace::make(place.block(), place.fragmented(), place.free_count())) {
    return bad("table entry has unknown bits");
  }
  if (place.free_count() > (level == 0 ? 0 : kEntriesPerTablePage)) {
    return bad("table entry has an impossible count of free entries");
  }
  const std::uint64_t blocks = level == 0 ? layout.blocks_per_node() : layout.blocks_per_page();
  if (!layout.allocatable({place.block(), place.fragmented() ? 1 : blocks})) {
    return bad("table entry leads outside the volume's blocks");
  }
  return {};
}

Result<FragmentList> FragmentList::parse(ConstBytes block, BlockNumber place,
                                         const Layout& layout) {
  const auto bad = [place](const char* what) { return corrupt(Place::kBlock, place.value, what); };
  FragmentListHeader header;
  if (block.size() != layout.block_bytes) return bad("fragment list has a wrong size");
  std::memcpy(&header, block.data(), sizeof header);
  if (header.count == 0 || header.count > runs_per_fragment_list(layout.block_bytes) ||
      header.reserved != 0) {
    return bad("fragment list has an impossible header");
  }
  if (header.next_block != 0 &&
      (header.next_block >= kMaxDeviceBlocks || header.next_block == place.value ||
       !layout.allocatable({{header.next_block}, 1}))) {
    return bad("fragment list goes on outside the volume's blocks");
  }
  FragmentList list;
  list.next = {header.next_block};
  list.runs.reserve(header.count);
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const auto word = load_le<std::uint64_t>(block.data() + sizeof header + std::size_t{i} * 8);
    const BlockRun run{{word & TablePlace::kBlockMask}, word >> kRunCountShift};
    if (run.count == 0 || !layout.allocatable(run)) {
      return bad("fragment list names blocks that the volume does not have");
    }
    list.runs.push_back(run);
  }
  if (!all_zero(block.subspan(sizeof header + std::size_t{header.count} * 8))) {
    return bad("unused bytes of a fragment list are not zero");
  }
  return list;
}

void store_fragment_lists(std::span<const BlockRun> runs, std::span<const BlockNumber> lists,
                          std::uint32_t block_bytes, Bytes into) {
  CW_CHECK(!runs.empty());
  CW_CHECK(lists.size() == fragment_list_blocks(runs.size(), block_bytes));
  CW_CHECK(into.size() == lists.size() * block_bytes);
  std::memset(into.data(), 0, into.size());
  const std::size_t each = runs_per_fragment_list(block_bytes);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto part = runs.subspan(i * each, std::min(each, runs.size() - i * each));
    std::byte* to = into.data() + i * block_bytes;
    FragmentListHeader header;
    header.next_block = i + 1 < lists.size() ? lists[i + 1].value : 0;
    header.count = static_cast<std::uint32_t>(part.size());
    std::memcpy(to, &header, sizeof header);
    to += sizeof header;
    for (const BlockRun& run : part) {
      CW_CHECK(run.count > 0 && run.count <= kRunBlocksMax);
      store_le(to, run.first.value | (run.count << kRunCountShift));
      to += 8;
    }
  }
}

std::uint64_t chain_hash(std::uint64_t previous, ConstBytes list, std::uint64_t volume_seed,
                         std::uint64_t byte) {
  return mix_seed(previous,
                  checksum(list, checksum_seed(volume_seed, Structure::kFragmentList, byte)));
}

std::uint64_t chain_hash(std::span<const BlockNumber> lists, ConstBytes bytes,
                         std::uint64_t volume_seed, std::uint32_t block_bytes) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    hash = chain_hash(hash, bytes.subspan(i * block_bytes, block_bytes), volume_seed,
                      lists[i].value * block_bytes);
  }
  return hash;
}

Result<ContentPlace> locate(TablePlace place, std::uint64_t bytes, Structure structure,
                            const Layout& layout, std::uint64_t volume_seed,
                            FunctionRef<Result<void>(BlockNumber, Bytes)> read_block) {
  const std::uint64_t blocks = bytes / layout.block_bytes;
  const std::uint64_t byte = layout.byte_of(place.block());
  if (!layout.allocatable({place.block(), place.fragmented() ? 1 : blocks})) {
    return corrupt(Place::kBlock, place.block().value, "outside the volume's blocks");
  }
  ContentPlace found;
  if (!place.fragmented()) {
    found.runs.push_back({place.block(), blocks});
    found.seed = checksum_seed(volume_seed, structure, byte);
    return found;
  }
  std::vector<std::byte> block(layout.block_bytes);
  std::uint64_t named = 0;
  std::uint64_t hash = 0;
  for (BlockNumber at = place.block(); at.value != 0;) {
    if (named >= blocks) {
      return corrupt(Place::kBlock, at.value, "fragment lists name more blocks than there are");
    }
    if (const auto read = read_block(at, block); !read) return read.error();
    const FragmentList list = TRY(FragmentList::parse(block, at, layout));
    hash = chain_hash(hash, block, volume_seed, layout.byte_of(at));
    found.lists.push_back(at);
    for (const BlockRun& run : list.runs) named += run.count;
    found.runs.insert(found.runs.end(), list.runs.begin(), list.runs.end());
    at = list.next;
  }
  if (named != blocks) {
    return corrupt(Place::kBlock, place.block().value,
                   "fragment lists name another number of blocks than there are");
  }
  found.seed = fragmented_seed(volume_seed, structure, byte, hash);
  return found;
}

}  // namespace cordwood
