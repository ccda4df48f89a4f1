// The tree: every node once, in its place; its items go to ItemCheck and NameCheck.

#include <algorithm>
#include <optional>

#include "volume/check_items.hpp"
#include "volume/check_names.hpp"
#include "volume/check_state.hpp"
#include "volume/data_verify.hpp"

namespace cordwood {

namespace {

class TreeCheck final : public TreeVisitor {
 public:
  TreeCheck(CheckState& state, DataVerifier* data)
      : state_(state), data_(data), items_(state, data), names_(state) {}

  bool admit(const NodeRequest& request) override {
    if (!state_.visited_ids.insert(request.id.value)) return true;
    state_.find(FindingKind::kNodeShared, request.id.value, request.level, "node ", request.id,
                " has two parents");
    lose(request);
    return false;
  }

  bool node(const ImageNode& node) override {
    const NodeHeader header = node.header();
    CheckStatistics& statistics = state_.report.statistics;
    ++statistics.nodes;
    if (header.generation > state_.reader.superblock().generation) {
      state_.find(FindingKind::kNodeGeneration, node.request.id.value, header.generation, "node ",
                  node.request.id, " is of generation ", header.generation,
                  ", newer than the superblock");
    }
    if (!advance()) return false;
    if (!node.is_leaf()) return true;
    const Leaf leaf = node.leaf();
    ++statistics.leaves;
    statistics.leaf_bytes_used += leaf.used_bytes();
    statistics.leaf_bytes += state_.reader.layout().node_bytes - kNodeHeaderBytes;
    for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
      const Key key = leaf.key(slot);
      items_.item(key, leaf.item(slot));
      names_.item(key, leaf.item(slot));
    }
    return true;
  }

  bool lost(const NodeRequest& request, NodeLoss loss, const Error& error) override {
    lose(request);
    // A damaged page of the node table has been told; each node behind it need not be.
    if (error.place == Place::kTablePage) return true;
    FindingKind kind = FindingKind::kNodeUnreadable;
    if (loss == NodeLoss::kMissing) kind = FindingKind::kNodeMissing;
    if (loss == NodeLoss::kInvalid) kind = FindingKind::kNodeInvalid;
    state_.find(kind, request.id.value, request.level, "node ", request.id, " of level ",
                std::uint64_t{request.level}, ": ", error.message());
    return true;
  }

  void finish() {
    if (state_.report.cancelled) return;
    items_.finish();
    names_.finish();
  }

 private:
  bool advance() {
    const std::uint64_t nodes = state_.report.statistics.nodes;
    if (data_ == nullptr) return state_.advance("tree", nodes, std::max(nodes, state_.node_count));
    const Superblock& superblock = state_.reader.superblock();
    const std::uint64_t done = nodes * superblock.node_bytes + state_.report.statistics.data_bytes;
    const std::uint64_t used =
        superblock.device_blocks - std::min(superblock.free_blocks, superblock.device_blocks);
    return state_.advance("data", done, std::max(done, used * superblock.block_bytes));
  }

  void lose(const NodeRequest& request) {
    state_.tree_complete = false;
    state_.claims_complete = false;
    items_.gap(request.low, request.high);
  }

  CheckState& state_;
  const DataVerifier* data_;
  ItemCheck items_;
  NameCheck names_;
};

void tell_damage(CheckState& state, const DataDamage& damage) {
  if (state.options.damage) state.options.damage(damage);
  const FindingKind kind =
      damage.readable ? FindingKind::kDataChecksum : FindingKind::kDataUnreadable;
  state.find(kind, damage.inode.value, damage.offset, "inode ", damage.inode, ": ", damage.bytes,
             " bytes at offset ", damage.offset, " (byte ", damage.device_byte, " of the device) ",
             damage.readable ? "do not match their checksum"
                             : "cannot be read: " + damage.error.message());
}

/// Nodes that have a place, but no parent.
void check_orphan_nodes(CheckState& state) {
  for (const std::uint64_t chunk : state.table_ids.chunk_indexes()) {
    const SparseBitmap::Chunk& present = *state.table_ids.find_chunk(chunk);
    const SparseBitmap::Chunk* visited = state.visited_ids.find_chunk(chunk);
    for (std::uint64_t word = 0; word < present.size(); ++word) {
      const std::uint64_t alone = present[word] & ~(visited == nullptr ? 0 : (*visited)[word]);
      for (std::uint64_t bit = 0; bit < 64; ++bit) {
        if ((alone >> bit & 1) == 0) continue;
        const std::uint64_t id = chunk * SparseBitmap::kChunkBits + word * 64 + bit;
        state.find(FindingKind::kNodeOrphan, id, 0, "node ", id,
                   " is in the node table, but no inner node names it");
      }
    }
  }
}

}  // namespace

void check_tree(CheckState& state) {
  std::optional<DataVerifier> data;
  if (state.options.verify_data) {
    data.emplace(state.reader, [&state](const DataDamage& damage) { tell_damage(state, damage); });
  }
  TreeCheck tree(state, data ? &*data : nullptr);
  state.reader.walk(tree);
  if (data) {
    data->finish();
    state.report.statistics.data_bytes_verified = data->bytes_verified();
  }
  tree.finish();
  if (state.report.cancelled) return;
  if (state.tree_complete) check_orphan_nodes(state);
}

}  // namespace cordwood
