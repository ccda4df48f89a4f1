#include "volume/block_owners.hpp"

#include "format/items.hpp"
#include "volume/findings.hpp"

namespace cordwood {

namespace {

using OwnerVisitor = FunctionRef<bool(BlockRun, const BlockOwner&)>;

bool visit_content(const ContentPlace& place, BlockOwner owner, OwnerVisitor visit) {
  owner.list = false;
  for (const BlockRun& run : place.runs) {
    if (!visit(run, owner)) return false;
  }
  owner.list = true;
  for (const BlockNumber block : place.lists) {
    if (!visit({block, 1}, owner)) return false;
  }
  return true;
}

/// Goes through the node table once; a page that was seen already is left out, so that a table
/// whose pages name each other ends.
class TableOwners {
 public:
  TableOwners(ImageReader& reader, OwnerVisitor visit) : reader_(reader), visit_(visit) {}

  bool page(std::uint32_t level, std::uint64_t index, const TableEntry& entry) {
    if (entry.place.empty()) return true;
    const auto place = reader_.locate(entry.place, Structure::kTablePage);
    if (!place) return true;
    const BlockOwner owner{BlockOwner::Kind::kTablePage, index, level, false};
    if (!visit_content(*place, owner, visit_)) return false;
    if (seen_.insert(place->runs.front().first.value)) return true;
    const auto page = reader_.read_table_page(entry, index);
    if (!page) return true;
    for (std::uint64_t i = 0; i < kEntriesPerTablePage; ++i) {
      const std::uint64_t below = index * kEntriesPerTablePage + i;
      const bool go_on =
          level > 0 ? this->page(level - 1, below, (*page)[i]) : node({below}, (*page)[i]);
      if (!go_on) return false;
    }
    return true;
  }

 private:
  bool node(NodeId id, const TableEntry& entry) {
    if (entry.place.empty()) return true;
    const auto place = reader_.locate(entry.place, Structure::kNode);
    if (!place) return true;
    return visit_content(*place, {BlockOwner::Kind::kNode, id.value, 0, false}, visit_);
  }

  ImageReader& reader_;
  OwnerVisitor visit_;
  SparseBitmap seen_;
};

class ExtentOwners final : public TreeVisitor {
 public:
  ExtentOwners(const Layout& layout, OwnerVisitor visit) : layout_(layout), visit_(visit) {}

  bool admit(const NodeRequest& request) override { return !seen_.insert(request.id.value); }
  bool node(const ImageNode& node) override {
    if (!node.is_leaf()) return true;
    const Leaf leaf = node.leaf();
    for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
      const Key key = leaf.key(slot);
      if (key.type() != ItemType::kExtent) continue;
      const auto extent = ExtentItem::parse(leaf.item(slot), key, layout_);
      if (!extent || extent->kind == ExtentKind::kInline) continue;
      const BlockOwner owner{BlockOwner::Kind::kExtent, key.inode().value, key.lo, false};
      if (!visit_(extent->run, owner)) return false;
    }
    return true;
  }

 private:
  const Layout& layout_;
  OwnerVisitor visit_;
  SparseBitmap seen_;
};

}  // namespace

std::string BlockOwner::text() const {
  const std::string_view of = list ? "a fragment list of " : "";
  switch (kind) {
    case Kind::kTablePage: return sentence(of, "table page ", number, " of level ", detail);
    case Kind::kNode: return sentence(of, "node ", number);
    case Kind::kExtent: return sentence("inode ", number, " at offset ", detail);
  }
  return {};
}

bool BlockClaims::claim(BlockRun run, const BlockOwner& owner) {
  BlockRun taken;
  for (std::uint64_t block = run.first.value; block < run.end().value; ++block) {
    if (!owned_.insert(block)) {
      ++count_;
      continue;
    }
    if (taken.count == 0) taken.first = {block};
    taken.count = block + 1 - taken.first.value;
  }
  if (taken.count == 0) return true;
  ++contested_count_;
  if (contested_.size() < kContestedMax) contested_.push_back({taken, owner});
  return false;
}

bool BlockClaims::claim(const ContentPlace& place, BlockOwner owner) {
  bool all = true;
  visit_content(place, owner, [&](BlockRun run, const BlockOwner& part) {
    all = claim(run, part) && all;
    return true;
  });
  return all;
}

void for_each_owner(ImageReader& reader, OwnerVisitor visit) {
  TableOwners table(reader, visit);
  const std::uint32_t top = reader.superblock().table_levels - 1;
  if (!table.page(top, 0, reader.superblock().table_root)) return;
  ExtentOwners extents(reader.layout(), visit);
  reader.walk(extents);
}

}  // namespace cordwood
