#include "support/forge.hpp"

#include <array>
#include <cstring>

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "format/seed.hpp"
#include "format/table.hpp"

namespace cordwood::test {

namespace {

Superblock newest(const SparseImage& image) {
  Superblock best;
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    std::array<std::byte, kPageBytes> page;
    const std::uint64_t place = superblock_byte(slot, image.bytes());
    image.read(place, page);
    const auto superblock = Superblock::parse(page, place);
    if (superblock && superblock->generation >= best.generation) best = *superblock;
  }
  CW_CHECK(best.root_node != 0);
  return best;
}

/// A piece of metadata and where it lies.
struct Piece {
  ContentPlace place;
  std::vector<std::byte> bytes;
};

class Forger {
 public:
  explicit Forger(SparseImage& image)
      : image_(image),
        superblock_(newest(image)),
        layout_(*Layout::compute(image.bytes(), superblock_.block_bytes, superblock_.node_bytes)) {
    CW_CHECK(superblock_.table_levels == 1);
  }

  [[nodiscard]] const Superblock& superblock() const { return superblock_; }

  [[nodiscard]] Piece read(TablePlace place, std::size_t bytes, Structure structure) const {
    Piece piece;
    piece.place = *locate(place, bytes, structure, layout_, superblock_.volume_seed(),
                          [this](BlockNumber block, Bytes into) -> Result<void> {
                            image_.read(layout_.byte_of(block), into);
                            return {};
                          });
    piece.bytes.resize(bytes);
    std::size_t done = 0;
    for (const BlockRun& run : piece.place.runs) {
      const std::size_t count = run.count * layout_.block_bytes;
      image_.read(layout_.byte_of(run.first), Bytes(piece.bytes).subspan(done, count));
      done += count;
    }
    return piece;
  }

  /// Writes a piece back and returns its checksum.
  std::uint64_t write(const Piece& piece) {
    std::size_t done = 0;
    for (const BlockRun& run : piece.place.runs) {
      const std::size_t count = run.count * layout_.block_bytes;
      image_.write(layout_.byte_of(run.first), ConstBytes(piece.bytes).subspan(done, count));
      done += count;
    }
    return checksum(piece.bytes, piece.place.seed);
  }

  [[nodiscard]] Piece read_table() const {
    return read(superblock_.table_root.place, kPageBytes, Structure::kTablePage);
  }

 private:
  SparseImage& image_;
  Superblock superblock_;
  Layout layout_;
};

TableEntry entry_of(const Piece& table, NodeId id) {
  TableEntry entry;
  std::memcpy(&entry, table.bytes.data() + id.value * sizeof entry, sizeof entry);
  return entry;
}

}  // namespace

void forge_superblock(SparseImage& image, const std::function<void(Superblock&)>& change) {
  const Superblock before = newest(image);
  Superblock after = before;
  change(after);
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    std::array<std::byte, kPageBytes> page;
    const std::uint64_t place = superblock_byte(slot, image.bytes());
    image.read(place, page);
    const auto old = Superblock::parse(page, place);
    if (!old || old->generation != before.generation) continue;
    after.store(page, place);
    image.write(place, page);
  }
}

bool forge_node(SparseImage& image, NodeId id, const std::function<void(Bytes)>& change) {
  Forger forger(image);
  Piece table = forger.read_table();
  if (id.value >= kEntriesPerTablePage) return false;
  TableEntry entry = entry_of(table, id);
  if (entry.place.empty()) return false;
  Piece node = forger.read(entry.place, forger.superblock().node_bytes, Structure::kNode);
  change(node.bytes);
  entry.checksum = forger.write(node);
  std::memcpy(table.bytes.data() + id.value * sizeof entry, &entry, sizeof entry);
  const std::uint64_t table_checksum = forger.write(table);
  forge_superblock(image, [table_checksum](Superblock& superblock) {
    superblock.table_root.checksum = table_checksum;
  });
  return true;
}

std::vector<NodeId> node_ids(const SparseImage& image) {
  SparseImage copy = image;
  const Piece table = Forger(copy).read_table();
  std::vector<NodeId> ids;
  for (std::uint64_t id = 1; id < kEntriesPerTablePage; ++id) {
    if (!entry_of(table, {id}).place.empty()) ids.push_back({id});
  }
  return ids;
}

std::vector<std::byte> node_bytes(const SparseImage& image, NodeId id) {
  SparseImage copy = image;
  const Forger forger(copy);
  const TableEntry entry = entry_of(forger.read_table(), id);
  return forger.read(entry.place, forger.superblock().node_bytes, Structure::kNode).bytes;
}

}  // namespace cordwood::test
