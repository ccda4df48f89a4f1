#include "frame/node_table.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kFanout = kEntriesPerTablePage;

std::uint64_t page_of(std::uint64_t id) { return id / kFanout; }

}  // namespace

NodeTable::NodeTable(Placement& placement, const Superblock& superblock)
    : placement_(placement),
      root_(superblock.table_root),
      levels_(superblock.table_levels),
      segments_(kSegments),
      upper_(1),
      next_id_(superblock.next_node_id),
      unharvested_free_(superblock.free_node_ids),
      next_id_at_open_(superblock.next_node_id),
      node_count_(superblock.next_node_id - 1 - superblock.free_node_ids),
      written_next_id_(superblock.next_node_id),
      written_free_ids_(superblock.free_node_ids) {}

NodeTable::~NodeTable() = default;

// ---- finding pages ----

NodeTable::LeafPage* NodeTable::resident_page(std::uint64_t index) const {
  const std::uint64_t segment = index / kSegmentPages;
  if (segment >= kSegments) return nullptr;
  const Segment* pages = segments_[segment].load(std::memory_order_acquire);
  if (pages == nullptr) return nullptr;
  return pages->pages[index % kSegmentPages].load(std::memory_order_acquire);
}

NodeTable::Slot NodeTable::resident_slot(NodeId id) const {
  LeafPage* page = resident_page(page_of(id.value));
  if (page == nullptr) return {};
  return {&page->entries[id.value % kFanout], &page->frames[id.value % kFanout]};
}

Result<NodeTable::Slot> NodeTable::slot(NodeId id) {
  if (id.value == 0 || id.value >= id_limit()) {
    return corrupt(Place::kNode, id.value, "node id out of range");
  }
  LeafPage* page = TRY(leaf_page(page_of(id.value)));
  return Slot{&page->entries[id.value % kFanout], &page->frames[id.value % kFanout]};
}

Result<NodeTable::LeafPage*> NodeTable::leaf_page(std::uint64_t index) {
  if (LeafPage* page = resident_page(index); page != nullptr) return page;
  const std::lock_guard lock(mutex_);
  return load_leaf_page(index);
}

/// @pre mutex_ held
Result<NodeTable::LeafPage*> NodeTable::load_leaf_page(std::uint64_t index) {
  if (LeafPage* page = resident_page(index); page != nullptr) return page;
  auto page = std::make_unique<LeafPage>();
  const TableEntry* entry = TRY(parent_entry(0, index));
  if (!entry->place.empty()) {
    TRY(read_page(*entry, *page, 0, index));
  } else if (std::max<std::uint64_t>(index * kFanout, 1) < next_id_at_open_) {
    return corrupt(Place::kTablePage, index, "page of the node table is missing");
  }
  LeafPage* loaded = page.get();
  // Nobody can have used an id of a page before it was loaded, so what is empty now is free.
  for (std::uint64_t i = 0; i < kFanout; ++i) {
    const std::uint64_t id = index * kFanout + i;
    if (id == 0 || id >= next_id_at_open_ || !page->entries[i].place.empty()) continue;
    pool_.push_back({id});
    if (unharvested_free_ != 0) --unharvested_free_;
  }
  install(index, std::move(page));
  return loaded;
}

/// The entry that points at a page: in the page above, or the root entry. @pre mutex_ held
Result<TableEntry*> NodeTable::parent_entry(std::uint32_t level, std::uint64_t index) {
  if (level + 1 >= levels_ && index == 0) return &root_;
  Page* parent = TRY(upper_page(level + 1, index / kFanout));
  return &parent->entries[index % kFanout];
}

/// A page of level 1 or higher. @pre mutex_ held
Result<NodeTable::Page*> NodeTable::upper_page(std::uint32_t level, std::uint64_t index) {
  if (upper_.size() <= level) upper_.resize(level + 1);
  auto found = upper_[level].find(index);
  if (found != upper_[level].end()) return found->second.get();
  auto page = std::make_unique<Page>();
  // Above the levels on the medium there is nothing to read: ids that were added since.
  if (level < levels_) {
    const TableEntry* entry = TRY(parent_entry(level, index));
    if (!entry->place.empty()) TRY(read_page(*entry, *page, level, index));
  }
  Page* loaded = page.get();
  upper_[level].emplace(index, std::move(page));
  return loaded;
}

Result<void> NodeTable::read_page(const TableEntry& entry, Page& page, std::uint32_t level,
                                  std::uint64_t index) {
  AlignedBuffer buffer = allocate_aligned(kPageBytes);
  const Bytes bytes(buffer.get(), kPageBytes);
  TRY(placement_.read(entry, Structure::kTablePage, bytes, Place::kTablePage, index));
  std::memcpy(page.entries.data(), bytes.data(), kPageBytes);
  for (const TableEntry& child : page.entries) {
    TRY(validate(child, level, index, placement_.layout()));
  }
  return {};
}

/// @pre mutex_ held
void NodeTable::install(std::uint64_t index, std::unique_ptr<LeafPage> page) {
  std::atomic<Segment*>& segment = segments_[index / kSegmentPages];
  if (segment.load(std::memory_order_relaxed) == nullptr) {
    segment.store(owned_segments_.emplace_back(std::make_unique<Segment>()).get(),
                  std::memory_order_release);
  }
  segment.load(std::memory_order_relaxed)
      ->pages[index % kSegmentPages]
      .store(page.get(), std::memory_order_release);
  owned_pages_.push_back(std::move(page));
}

// ---- ids ----

Result<NodeId> NodeTable::allocate_id(Reservation& reservation, std::uint64_t generation) {
  NodeId id;
  {
    const std::lock_guard lock(mutex_);
    if (pool_.empty() && unharvested_free_ != 0) TRY(harvest());
    if (!pool_.empty()) {
      id = pool_.back();
      TRY(load_leaf_page(page_of(id.value)));
      pool_.pop_back();
    } else {
      id = {next_id_.load(std::memory_order_relaxed)};
      if (id.value >= kNodeIdLimit) return make_error(Errc::kNoSpace, "no node ids are left");
      TRY(load_leaf_page(page_of(id.value)));
      next_id_.store(id.value + 1, std::memory_order_release);
    }
  }
  node_count_.fetch_add(1, std::memory_order_relaxed);
  reserve_path(id, reservation, generation);
  return id;
}

/// Loads the next page that has free ids; loading puts them into the pool. @pre mutex_ held
Result<void> NodeTable::harvest() {
  while (pool_.empty() && harvest_cursor_ * kFanout < next_id_at_open_) {
    const std::uint64_t index = harvest_cursor_++;
    if (resident_page(index) != nullptr) continue;
    const TableEntry* entry = TRY(parent_entry(0, index));
    if (entry->place.free_count() != 0) TRY(load_leaf_page(index));
  }
  return {};
}

void NodeTable::free_id(NodeId id, Reservation& reservation, std::uint64_t generation) {
  reserve_path(id, reservation, generation);
  node_count_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  freed_[current_].push_back(id);
  pool_.push_back(id);
}

std::uint64_t NodeTable::path_blocks() const {
  // One level more than there is, since the table may grow; a fragment list for each page.
  const Layout& layout = placement_.layout();
  const std::uint64_t lists =
      layout.blocks_per_page() > 1
          ? fragment_list_blocks(layout.blocks_per_page(), layout.block_bytes)
          : 0;
  return (levels() + 1) * (layout.blocks_per_page() + lists);
}

void NodeTable::reserve_path(NodeId id, Reservation& reservation, std::uint64_t generation) {
  LeafPage* page = resident_page(page_of(id.value));
  CW_CHECK(page != nullptr);
  if (page->reserved_generation.load(std::memory_order_relaxed) == generation ||
      page->reserved_generation.exchange(generation, std::memory_order_relaxed) == generation) {
    return;
  }
  reservation.take_surely(path_blocks());
  reserved_[current_].fetch_add(path_blocks(), std::memory_order_relaxed);
}

std::uint64_t NodeTable::node_count() const { return node_count_.load(std::memory_order_relaxed); }

// ---- the checkpoint ----

void NodeTable::freeze() {
  current_ = 1 - current_;
  CW_CHECK(freed_[current_].empty());
  frozen_next_id_ = id_limit();
  written_free_ids_ += frozen_next_id_ - written_next_id_;
}

Result<void> NodeTable::drop_freed() {
  for (const NodeId id : freed_[1 - current_]) {
    TableEntry& entry = *resident_slot(id).entry;
    // Made and freed between two checkpoints: never had a place.
    if (entry.place.empty()) continue;
    TRY(placement_.free_frozen(entry.place, Structure::kNode, placement_.layout().node_bytes));
    entry = {};
    ++written_free_ids_;
    dirty_pages_.emplace(page_of(id.value), resident_page(page_of(id.value)));
  }
  return {};
}

Result<void> NodeTable::relocate(NodeId id, const TableEntry& new_entry) {
  TableEntry& entry = *resident_slot(id).entry;
  if (entry.place.empty()) {
    --written_free_ids_;
  } else {
    TRY(placement_.free_frozen(entry.place, Structure::kNode, placement_.layout().node_bytes));
  }
  entry = new_entry;
  dirty_pages_.emplace(page_of(id.value), resident_page(page_of(id.value)));
  return {};
}

std::uint32_t NodeTable::free_entries(std::uint32_t level, std::uint64_t index,
                                      const Page& page) const {
  std::uint32_t free = 0;
  for (std::uint64_t i = 0; i < kFanout; ++i) {
    const TablePlace place = page.entries[i].place;
    const std::uint64_t id = index * kFanout + i;
    if (level > 0) {
      free += !place.empty() && place.free_count() != 0;
    } else {
      free += place.empty() && id != 0 && id < frozen_next_id_;
    }
  }
  return free;
}

/// Puts new upper pages above the root page until the table has this many levels.
Result<void> NodeTable::grow_levels(std::uint32_t levels, std::vector<PageMap>& dirty) {
  const std::lock_guard lock(mutex_);
  while (levels_ < levels) {
    const std::uint32_t level = levels_;
    Page* page = TRY(upper_page(level, 0));
    page->entries[0] = root_;
    root_ = {};
    levels_ = level + 1;
    dirty[level].emplace(0, page);
  }
  return {};
}

Result<void> NodeTable::write_page(PlacementWriter& writer, std::uint32_t level,
                                   std::uint64_t index, const Page& page,
                                   std::vector<PageMap>& dirty) {
  const Bytes bytes = TRY(writer.next(kPageBytes));
  std::memcpy(bytes.data(), page.entries.data(), kPageBytes);
  TableEntry entry = TRY(writer.place(Structure::kTablePage));
  entry.place = TablePlace::make(entry.place.block(), entry.place.fragmented(),
                                 free_entries(level, index, page));
  const std::lock_guard lock(mutex_);
  TableEntry* parent = TRY(parent_entry(level, index));
  if (!parent->place.empty()) {
    TRY(placement_.free_frozen(parent->place, Structure::kTablePage, kPageBytes));
  }
  *parent = entry;
  if (level + 1 < levels_) {
    const std::uint64_t above = index / kFanout;
    dirty[level + 1].emplace(above, TRY(upper_page(level + 1, above)));
  }
  return {};
}

Result<void> NodeTable::write_out(PlacementWriter& writer, Superblock& superblock) {
  // Ids that are new since the last checkpoint count as free until a node lies there, so their pages
  // are written even when nothing does.
  for (std::uint64_t id = written_next_id_; id < frozen_next_id_;
       id = (page_of(id) + 1) * kFanout) {
    dirty_pages_.emplace(page_of(id), resident_page(page_of(id)));
  }
  const std::uint32_t levels = table_levels(frozen_next_id_);
  std::vector<PageMap> dirty(levels);
  dirty[0].swap(dirty_pages_);
  TRY(grow_levels(levels, dirty));
  for (std::uint32_t level = 0; level < levels; ++level) {
    for (const auto& [index, page] : dirty[level]) {
      TRY(write_page(writer, level, index, *page, dirty));
    }
  }
  written_next_id_ = frozen_next_id_;
  superblock.table_root = root_;
  superblock.table_levels = levels;
  superblock.next_node_id = written_next_id_;
  superblock.free_node_ids = written_free_ids_;
  return {};
}

void NodeTable::end_frozen() {
  freed_[1 - current_].clear();
  reserved_[1 - current_].store(0, std::memory_order_relaxed);
}

}  // namespace cordwood
