#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/result.hpp"
#include "format/layout.hpp"

namespace cordwood {

/// Describes one allocation group. 32 bytes; 128 fill a group page of level 0.
struct GroupDescriptor {
  std::uint64_t bitmap_checksum = 0;  ///< stale, lost or misdirected bitmap page
  std::uint64_t generation = 0;       ///< checkpoint that wrote the bitmap
  std::uint32_t free_blocks = 0;
  std::uint32_t longest_free_run = 0;  ///< blocks; exact when written
  std::uint32_t slot = 0;              ///< which of the two bitmap pages is current
  std::uint32_t written = 0;           ///< 0: never written, the bitmap is the initial one
};
static_assert(sizeof(GroupDescriptor) == 32);
static_assert(offsetof(GroupDescriptor, free_blocks) == 16);
static_assert(offsetof(GroupDescriptor, slot) == 24);
static_assert(std::has_unique_object_representations_v<GroupDescriptor>);

/// Points at one group page of the level below: 16 bytes; 256 fill a page. The root one is in the
/// superblock.
struct GroupPageRef {
  std::uint64_t checksum = 0;
  std::uint32_t slot = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(GroupPageRef) == 16);
static_assert(std::has_unique_object_representations_v<GroupPageRef>);

inline constexpr std::uint64_t kDescriptorsPerPage = kPageBytes / sizeof(GroupDescriptor);
inline constexpr std::uint64_t kRefsPerPage = kPageBytes / sizeof(GroupPageRef);

/// Pages of the group table through all levels: level 0 holds the descriptors; each higher level
/// holds the refs of the one below; the last level is one page.
[[nodiscard]] constexpr std::uint64_t group_page_count(std::uint64_t groups) {
  std::uint64_t level = (groups + kDescriptorsPerPage - 1) / kDescriptorsPerPage;
  std::uint64_t total = level;
  while (level > 1) {
    level = (level + kRefsPerPage - 1) / kRefsPerPage;
    total += level;
  }
  return total;
}

/// @errors corrupt when a field is out of its range.
[[nodiscard]] inline Result<void> validate(const GroupDescriptor& d, std::uint64_t group) {
  if (d.free_blocks > kGroupBlocks || d.longest_free_run > d.free_blocks || d.slot > 1 ||
      d.written > 1) {
    return corrupt(Place::kGroup, group, "descriptor out of range");
  }
  return {};
}

}  // namespace cordwood
