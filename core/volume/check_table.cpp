// The node table: every page, every entry, the counts of free entries.

#include <optional>

#include "volume/check_state.hpp"

namespace cordwood {

namespace {

class TableCheck {
 public:
  explicit TableCheck(CheckState& state)
      : state_(state), next_id_(state.reader.superblock().next_node_id) {}

  void run() {
    const Superblock& superblock = state_.reader.superblock();
    const std::uint32_t top = superblock.table_levels - 1;
    if (entry_usable(superblock.table_root, top + 1, 0, 0)) page(top, 0, superblock.table_root);
    if (state_.table_complete && !state_.report.cancelled &&
        free_ids_ != superblock.free_node_ids) {
      state_.find(FindingKind::kSuperblockFreeNodeIds, 0, 0, "the superblock counts ",
                  superblock.free_node_ids, " free node ids, the table has ", free_ids_);
    }
  }

 private:
  /// The first node id below an entry of a page at `level`.
  [[nodiscard]] static std::uint64_t first_id(std::uint32_t level, std::uint64_t entry) {
    return entry << (8 * level);
  }

  void lose_page() {
    state_.table_complete = false;
    state_.claims_complete = false;
  }

  /// Judges an entry of a page at `level` (table_levels: the root entry), which leads to `index`
  /// below. @return whether there is something to follow.
  bool entry_usable(const TableEntry& entry, std::uint32_t level, std::uint64_t page,
                    std::uint64_t index) {
    const bool wanted = first_id(level, index) < next_id_ && !(level == 0 && index == 0);
    if (entry.place.empty()) {
      if (level == 0 || !wanted) return false;
      state_.find(FindingKind::kTablePageMissing, index, level - 1, "the page for node ids from ",
                  first_id(level, index), " is missing");
      lose_page();
      return false;
    }
    if (!wanted) {
      state_.find(FindingKind::kTableEntryBeyond, page, level, "entry ",
                  index % kEntriesPerTablePage, " of table page ", page, " of level ", level,
                  " is in use, but stands for no node id that was ever handed out");
      return false;
    }
    const auto valid = validate(entry, level, page, state_.reader.layout());
    if (valid) return true;
    state_.find(FindingKind::kTableEntryBad, page, level, "entry ", index % kEntriesPerTablePage,
                " of table page ", page, " of level ", level, ": ", valid.error().what);
    if (level > 0) lose_page();
    return false;
  }

  void lose_unreadable(std::uint32_t level, std::uint64_t index, const Error& error) {
    state_.find(FindingKind::kTablePageUnreadable, index, level, "table page ", index, " of level ",
                level, ": ", error.message());
    lose_page();
  }

  void page(std::uint32_t level, std::uint64_t index, const TableEntry& entry) {
    const auto place = state_.reader.locate(entry.place, Structure::kTablePage);
    if (!place) return lose_unreadable(level, index, place.error());
    // A page that was claimed already is not followed: pages that name each other would never end.
    if (!state_.claims.claim(*place, {BlockOwner::Kind::kTablePage, index, level, false})) {
      return lose_page();
    }
    const auto page = state_.reader.read_table_page(entry, index);
    if (!page) return lose_unreadable(level, index, page.error());
    ++state_.report.statistics.table_pages;
    if (!state_.advance("table", state_.report.statistics.table_pages, pages_expected())) return;
    std::uint32_t free = 0;
    for (std::uint64_t i = 0; i < kEntriesPerTablePage && !state_.report.cancelled; ++i) {
      const TableEntry& below = (*page)[i];
      const std::uint64_t number = index * kEntriesPerTablePage + i;
      if (level == 0 && below.place.empty() && number != 0 && number < next_id_) ++free;
      // What the entry says is counted, right or not: a wrong count is found one level below.
      if (level > 0 && below.place.free_count() > 0) ++free;
      if (!entry_usable(below, level, index, number)) continue;
      if (level > 0) {
        this->page(level - 1, number, below);
      } else {
        node({number}, below);
      }
    }
    if (state_.report.cancelled) return;
    if (level == 0) free_ids_ += free;
    if (free != entry.place.free_count()) {
      state_.find(FindingKind::kTableFreeCount, index, level, "table page ", index, " of level ",
                  level, " has ", free, " free entries, but ", entry.place.free_count(),
                  " are counted above it");
    }
  }

  void node(NodeId id, const TableEntry& entry) {
    state_.table_ids.insert(id.value);
    ++state_.node_count;
    const auto place = state_.reader.locate(entry.place, Structure::kNode);
    if (!place) {
      // The walk over the tree tells what is wrong with it.
      state_.claims_complete = false;
      return;
    }
    if (!place->lists.empty()) ++state_.report.statistics.fragmented_nodes;
    state_.claims.claim(*place, {BlockOwner::Kind::kNode, id.value, 0, false});
  }

  [[nodiscard]] std::uint64_t pages_expected() const {
    return divide_up(next_id_, kEntriesPerTablePage);
  }

  CheckState& state_;
  std::uint64_t next_id_;
  std::uint64_t free_ids_ = 0;
};

}  // namespace

void check_table(CheckState& state) { TableCheck(state).run(); }

}  // namespace cordwood
