#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "format/group.hpp"
#include "format/layout.hpp"
#include "space/page_batch.hpp"

namespace cordwood {

/// The group table in memory: a descriptor per group, and where each of its pages is current.
///
///     root ref (superblock) -> page of the last level -> ... -> pages of level 0: descriptors
///
/// Pages are numbered through the levels, level 0 first. Every page and every bitmap exists twice;
/// a checkpoint writes to the slot that is not current, so until the superblock names the new root
/// the old one is untouched.
/// @threads descriptor() of groups that write() does not change: any. All else: one.
class GroupTable {
 public:
  /// The table of a fresh volume, current in slot 0 once write_all() has written it.
  GroupTable(const Layout& layout, std::uint64_t volume_seed);

  /// Reads and verifies all levels.
  /// @errors corrupt (Place::kByte of a page, Place::kGroup of a descriptor), I/O.
  static Result<GroupTable> read(PageBatch& batch, const Layout& layout, std::uint64_t volume_seed,
                                 GroupPageRef root);

  [[nodiscard]] const GroupDescriptor& descriptor(std::uint64_t group) const {
    return descriptors_[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] GroupPageRef root() const { return refs_.back(); }
  /// The sum of the descriptors' free blocks.
  [[nodiscard]] std::uint64_t free_blocks() const { return free_blocks_; }

  struct Change {
    std::uint64_t group = 0;
    GroupDescriptor descriptor;
  };
  /// Replaces descriptors: writes the pages that hold them, and those above, to their other slots.
  /// On an error the table is as before.
  /// @param changes  in ascending order of groups.
  Result<void> write(PageBatch& batch, std::span<const Change> changes);
  /// Writes every page to slot 0. Only for a fresh volume.
  Result<void> write_all(PageBatch& batch);

 private:
  struct Level {
    std::size_t first_page = 0;
    std::size_t pages = 0;
  };

  Result<void> read_level(PageBatch& batch, std::size_t level);
  Result<void> parse_descriptors(ConstBytes page, std::size_t page_in_level);
  Result<void> parse_refs(ConstBytes page, std::size_t level, std::size_t page_in_level);
  void store_descriptors(Bytes page, std::size_t page_in_level,
                         std::span<const Change> changes) const;
  void store_refs(Bytes page, std::size_t level, std::size_t page_in_level,
                  std::span<const GroupPageRef> refs) const;
  /// @param refs  of all pages: those of the level below are read, that of this page is replaced.
  Result<void> write_page(PageBatch& batch, std::size_t level, std::size_t page_in_level,
                          std::uint32_t slot, std::span<const Change> changes,
                          std::span<GroupPageRef> refs) const;
  [[nodiscard]] std::uint64_t page_checksum(ConstBytes page, std::uint64_t place) const;

  Layout layout_;
  std::uint64_t volume_seed_;
  std::vector<Level> levels_;
  std::vector<GroupDescriptor> descriptors_;
  std::vector<GroupPageRef> refs_;  ///< of every page, by page number; the last is the root
  std::uint64_t free_blocks_ = 0;
};

}  // namespace cordwood
