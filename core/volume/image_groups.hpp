#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "format/group.hpp"
#include "volume/image_reader.hpp"

namespace cordwood {

/// A group's bitmap: bit b of word w stands for block 64 w + b of the group; set: not free.
using GroupBitmap = std::array<std::uint64_t, kGroupBlocks / 64>;

/// A page of the group table that could not be had, and the groups that it would have described.
struct LostGroupPage {
  std::uint64_t page = 0;  ///< counted through all levels
  std::uint64_t first_group = 0;
  std::uint64_t group_count = 0;
  Error error;
};

/// The group table and the bitmaps of an image, verified.
/// @threads one at a time.
class ImageGroups {
 public:
  explicit ImageGroups(const ImageReader& reader);

  /// Blocks of the volume that lie in this group.
  [[nodiscard]] BlockRun blocks(std::uint64_t group) const;
  /// Those of them that can ever be allocated: all but the fixed structures. May be empty.
  [[nodiscard]] BlockRun allocatable(std::uint64_t group) const;
  /// The bitmap that a group has before it is first written: everything allocatable is free.
  [[nodiscard]] GroupBitmap initial_bitmap(std::uint64_t group) const;

  /// Visits the descriptors in order (as they are, not validated) and the pages that could not be
  /// had, until a visitor returns false.
  void walk(FunctionRef<bool(std::uint64_t group, const GroupDescriptor&)> visit,
            FunctionRef<bool(const LostGroupPage&)> lost) const;
  /// @errors corrupt: a page above it or the descriptor itself; I/O.
  Result<GroupDescriptor> descriptor(std::uint64_t group) const;
  /// The bitmap that a descriptor stands for. @errors corrupt with Place::kGroup, I/O.
  Result<GroupBitmap> bitmap(std::uint64_t group, const GroupDescriptor& descriptor) const;

 private:
  struct Level {
    std::uint64_t first_page = 0;
    std::uint64_t page_count = 0;
    std::uint64_t groups_per_page = 0;
  };
  Result<std::vector<std::byte>> read_page(std::uint64_t page, const GroupPageRef& ref) const;
  bool walk_page(std::size_t level, std::uint64_t index, const GroupPageRef& ref,
                 FunctionRef<bool(std::uint64_t, const GroupDescriptor&)> visit,
                 FunctionRef<bool(const LostGroupPage&)> lost) const;

  const ImageReader& reader_;
  std::vector<Level> levels_;  ///< descriptors first
};

}  // namespace cordwood
