#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "format/superblock.hpp"
#include "format/table.hpp"
#include "frame/frame.hpp"
#include "frame/placement.hpp"
#include "space/reservation.hpp"

namespace cordwood {

/// The node table in memory: node id -> where the node lies, and the frame that holds it now.
///
/// A radix tree of 256-entry pages, like on disk. Pages are read when first needed and then kept (24
/// bytes a node). Entries change only in the checkpoint thread; frames come and go.
/// Ids are handed out from a pool: freed ones first, then those found free in loaded pages, then new.
/// @threads slot(), allocate_id(), free_id() any; freeze() with the gate closed; the rest from the
///          checkpoint thread.
class NodeTable {
 public:
  /// Entry and frame of one node id.
  struct Slot {
    TableEntry* entry = nullptr;
    std::atomic<Frame*>* frame = nullptr;
  };

  NodeTable(Placement& placement, const Superblock& superblock);
  ~NodeTable();

  /// The slot of an id whose page is loaded already, else null members. Lock-free.
  [[nodiscard]] Slot resident_slot(NodeId id) const;
  /// @errors corrupt: no such id, page damaged; I/O.
  Result<Slot> slot(NodeId id);

  /// A fresh id, with its page loaded and reserved for this generation.
  Result<NodeId> allocate_id(Reservation& reservation, std::uint64_t generation);
  /// The node is gone: its id may be used again at once, its place is dropped by this generation.
  void free_id(NodeId id, Reservation& reservation, std::uint64_t generation);
  /// Makes sure that the table pages above an id have blocks reserved in this generation.
  /// @pre its page is loaded
  void reserve_path(NodeId id, Reservation& reservation, std::uint64_t generation);
  /// Blocks that reserve_path() takes at most.
  [[nodiscard]] std::uint64_t path_blocks() const;

  [[nodiscard]] std::uint64_t id_limit() const { return next_id_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t node_count() const;
  [[nodiscard]] std::uint32_t levels() const { return levels_; }

  // ---- the checkpoint ----
  void freeze();
  /// Blocks reserved by reserve_path() in the frozen generation.
  [[nodiscard]] std::uint64_t frozen_reserved_blocks() const {
    return reserved_[1 - current_].load(std::memory_order_relaxed);
  }
  /// Drops the places of the ids freed in the frozen generation.
  Result<void> drop_freed();
  /// The node now lies at `entry`; its old place is dropped.
  Result<void> relocate(NodeId id, const TableEntry& entry);
  /// Writes the changed pages bottom-up and fills in the table's fields of the superblock.
  Result<void> write_out(PlacementWriter& writer, Superblock& superblock);
  /// The frozen generation is done with.
  void end_frozen();

 private:
  struct Page {
    std::array<TableEntry, kEntriesPerTablePage> entries{};
  };
  struct LeafPage : Page {
    std::array<std::atomic<Frame*>, kEntriesPerTablePage> frames{};
    std::atomic<std::uint64_t> reserved_generation{0};
  };
  static constexpr std::uint64_t kSegmentPages = 4096;
  static constexpr std::uint64_t kSegments = kNodeIdLimit / kEntriesPerTablePage / kSegmentPages;
  struct Segment {
    std::array<std::atomic<LeafPage*>, kSegmentPages> pages{};
  };

  [[nodiscard]] LeafPage* resident_page(std::uint64_t index) const;
  Result<LeafPage*> leaf_page(std::uint64_t index);  ///< loads; takes mutex_
  Result<LeafPage*> load_leaf_page(std::uint64_t index);
  Result<Page*> upper_page(std::uint32_t level, std::uint64_t index);
  Result<TableEntry*> parent_entry(std::uint32_t level, std::uint64_t index);
  Result<void> read_page(const TableEntry& entry, Page& page, std::uint32_t level,
                         std::uint64_t index);
  Result<void> harvest();
  void install(std::uint64_t index, std::unique_ptr<LeafPage> page);
  using PageMap = std::map<std::uint64_t, Page*>;
  Result<void> grow_levels(std::uint32_t levels, std::vector<PageMap>& dirty);
  Result<void> write_page(PlacementWriter& writer, std::uint32_t level, std::uint64_t index,
                          const Page& page, std::vector<PageMap>& dirty);
  [[nodiscard]] std::uint32_t free_entries(std::uint32_t level, std::uint64_t index,
                                           const Page& page) const;

  Placement& placement_;
  TableEntry root_;
  std::atomic<std::uint32_t> levels_;  ///< on the medium, or about to be
  std::vector<std::atomic<Segment*>> segments_;

  mutable std::mutex mutex_;  ///< loading pages, the id pool, upper pages
  std::vector<std::unique_ptr<Segment>> owned_segments_;
  std::vector<std::unique_ptr<LeafPage>> owned_pages_;
  std::vector<std::unordered_map<std::uint64_t, std::unique_ptr<Page>>>
      upper_;  ///< by level, from 1
  std::vector<NodeId> pool_;
  std::atomic<std::uint64_t> next_id_;
  std::uint64_t unharvested_free_;  ///< free ids in pages that were not loaded yet
  const std::uint64_t next_id_at_open_;
  std::uint64_t harvest_cursor_ = 0;
  std::vector<NodeId> freed_[2];  ///< by generation parity
  std::array<std::atomic<std::uint64_t>, 2> reserved_{};
  std::atomic<std::uint64_t> node_count_;
  unsigned current_ = 0;  ///< parity of the generation being changed; gate

  // Checkpoint thread only:
  std::uint64_t frozen_next_id_ = 0;
  std::uint64_t written_next_id_;
  std::uint64_t written_free_ids_;
  PageMap dirty_pages_;  ///< level 0, by index
};

}  // namespace cordwood
