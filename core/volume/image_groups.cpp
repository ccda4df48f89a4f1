#include "volume/image_groups.hpp"

#include <algorithm>
#include <cstring>

#include "base/checksum.hpp"
#include "format/seed.hpp"

namespace cordwood {

namespace {

template <class T>
T load_record(ConstBytes page, std::uint64_t index) {
  T record;
  std::memcpy(&record, page.data() + index * sizeof record, sizeof record);
  return record;
}

}  // namespace

ImageGroups::ImageGroups(const ImageReader& reader) : reader_(reader) {
  Level level{0, divide_up(reader.layout().group_count, kDescriptorsPerPage), kDescriptorsPerPage};
  levels_.push_back(level);
  while (level.page_count > 1) {
    level = {level.first_page + level.page_count, divide_up(level.page_count, kRefsPerPage),
             level.groups_per_page * kRefsPerPage};
    levels_.push_back(level);
  }
}

BlockRun ImageGroups::blocks(std::uint64_t group) const {
  const std::uint64_t first = group * kGroupBlocks;
  return {{first}, std::min(kGroupBlocks, reader_.layout().device_blocks - first)};
}

BlockRun ImageGroups::allocatable(std::uint64_t group) const {
  const BlockRun all = blocks(group);
  const Layout& layout = reader_.layout();
  const std::uint64_t first = std::max(all.first.value, layout.first_free.value);
  const std::uint64_t end = std::min(all.end().value, layout.tail.value);
  return {{first}, end > first ? end - first : 0};
}

GroupBitmap ImageGroups::initial_bitmap(std::uint64_t group) const {
  GroupBitmap bitmap;
  bitmap.fill(~std::uint64_t{0});
  const BlockRun free = allocatable(group);
  std::uint64_t bit = free.first.value % kGroupBlocks;
  const std::uint64_t end = bit + free.count;
  for (; bit < end && bit % 64 != 0; ++bit) bitmap[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  for (; bit + 64 <= end; bit += 64) bitmap[bit / 64] = 0;
  for (; bit < end; ++bit) bitmap[bit / 64] &= ~(std::uint64_t{1} << (bit % 64));
  return bitmap;
}

Result<std::vector<std::byte>> ImageGroups::read_page(std::uint64_t page,
                                                      const GroupPageRef& ref) const {
  const auto bad = [page](const char* what) { return corrupt(Place::kTablePage, page, what); };
  if (ref.slot > 1 || ref.reserved != 0) return bad("reference to a group page is impossible");
  const std::uint64_t byte = reader_.layout().group_page_byte(page, ref.slot);
  std::vector<std::byte> bytes(kPageBytes);
  if (const auto read = reader_.read_bytes(byte, bytes); !read) return read.error();
  const std::uint64_t seed = checksum_seed(reader_.volume_seed(), Structure::kGroupPage, byte);
  if (checksum(bytes, seed) != ref.checksum) return bad("group page: checksum mismatch");
  return bytes;
}

bool ImageGroups::walk_page(std::size_t level, std::uint64_t index, const GroupPageRef& ref,
                            FunctionRef<bool(std::uint64_t, const GroupDescriptor&)> visit,
                            FunctionRef<bool(const LostGroupPage&)> lost) const {
  const Level& here = levels_[level];
  const std::uint64_t group_count = reader_.layout().group_count;
  const std::uint64_t first_group = index * here.groups_per_page;
  const std::uint64_t groups = std::min(here.groups_per_page, group_count - first_group);
  const auto page = read_page(here.first_page + index, ref);
  if (!page) return lost({here.first_page + index, first_group, groups, page.error()});
  if (level == 0) {
    for (std::uint64_t i = 0; i < groups; ++i) {
      if (!visit(first_group + i, load_record<GroupDescriptor>(*page, i))) return false;
    }
    return true;
  }
  const std::uint64_t below = levels_[level - 1].page_count;
  for (std::uint64_t i = 0; i < kRefsPerPage && index * kRefsPerPage + i < below; ++i) {
    const auto child = load_record<GroupPageRef>(*page, i);
    if (!walk_page(level - 1, index * kRefsPerPage + i, child, visit, lost)) return false;
  }
  return true;
}

void ImageGroups::walk(FunctionRef<bool(std::uint64_t, const GroupDescriptor&)> visit,
                       FunctionRef<bool(const LostGroupPage&)> lost) const {
  walk_page(levels_.size() - 1, 0, reader_.superblock().group_root, visit, lost);
}

Result<GroupDescriptor> ImageGroups::descriptor(std::uint64_t group) const {
  if (group >= reader_.layout().group_count) {
    return make_error(Errc::kInvalid, Place::kGroup, group, "no such group");
  }
  GroupPageRef ref = reader_.superblock().group_root;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const Level& here = levels_[level];
    const std::uint64_t index = group / here.groups_per_page;
    const auto page = TRY(read_page(here.first_page + index, ref));
    if (level == 0) {
      const auto found = load_record<GroupDescriptor>(page, group % kDescriptorsPerPage);
      if (const auto valid = validate(found, group); !valid) return valid.error();
      return found;
    }
    ref =
        load_record<GroupPageRef>(page, group / levels_[level - 1].groups_per_page % kRefsPerPage);
  }
  return corrupt(Place::kGroup, group, "the group table has no levels");
}

Result<GroupBitmap> ImageGroups::bitmap(std::uint64_t group,
                                        const GroupDescriptor& descriptor) const {
  if (const auto valid = validate(descriptor, group); !valid) return valid.error();
  if (descriptor.written == 0) return initial_bitmap(group);
  const std::uint64_t byte = reader_.layout().bitmap_byte(group, descriptor.slot);
  GroupBitmap bitmap;
  const Bytes bytes = std::as_writable_bytes(std::span(bitmap));
  if (const auto read = reader_.read_bytes(byte, bytes); !read) return read.error();
  const std::uint64_t seed = checksum_seed(reader_.volume_seed(), Structure::kBitmap, byte);
  if (checksum(bytes, seed) != descriptor.bitmap_checksum) {
    return corrupt(Place::kGroup, group, "bitmap: checksum mismatch");
  }
  return bitmap;
}

}  // namespace cordwood
