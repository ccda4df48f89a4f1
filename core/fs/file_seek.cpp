#include <algorithm>

#include "fs/file_data.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

/// Extents looked at in one step of a seek.
constexpr std::size_t kSeekExtents = 64;

Error past_the_end() { return make_error(Errc::kNoData, "no data there, or past the end"); }

}  // namespace

Result<std::uint64_t> FileData::seek_data(const Inode& inode, std::uint64_t offset) const {
  const std::uint64_t size = inode.item().size;
  std::uint64_t position = offset;
  while (position < size) {
    const std::vector<Extent> found =
        TRY(extents_.overlapping(inode.number, position, size, kSeekExtents));
    for (const Extent& extent : found) {
      position = std::max(position, extent.offset);
      const std::uint64_t end = extent.kind == ExtentKind::kInline ? extent.inline_bytes.size()
                                                                   : extent.end(context_.layout);
      if (extent.kind != ExtentKind::kPreallocated && position < end && position < size) {
        return position;
      }
      position = std::max(position, end);
    }
    if (found.size() < kSeekExtents) break;
  }
  return past_the_end();
}

Result<std::uint64_t> FileData::seek_hole(const Inode& inode, std::uint64_t offset) const {
  const std::uint64_t size = inode.item().size;
  if (offset >= size) return past_the_end();
  std::uint64_t position = offset;
  while (position < size) {
    const std::vector<Extent> found =
        TRY(extents_.overlapping(inode.number, position, size, kSeekExtents));
    for (const Extent& extent : found) {
      const std::uint64_t end = extent.kind == ExtentKind::kInline ? extent.inline_bytes.size()
                                                                   : extent.end(context_.layout);
      if (extent.kind == ExtentKind::kPreallocated || extent.offset > position || end <= position) {
        return std::min(position, size);
      }
      position = end;
    }
    if (found.size() < kSeekExtents) break;
  }
  return std::min(position, size);
}

}  // namespace cordwood
