#include "space/group_table.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "format/seed.hpp"
#include "space/group_window.hpp"

namespace cordwood {

namespace {

/// What belongs to one page of a level, of `total` things `per_page` to a page.
struct Slice {
  std::size_t first = 0;
  std::size_t count = 0;
};

Slice slice_of(std::size_t page_in_level, std::uint64_t per_page, std::size_t total) {
  const std::size_t first = page_in_level * static_cast<std::size_t>(per_page);
  return {first, std::min(static_cast<std::size_t>(per_page), total - first)};
}

bool all_zero(ConstBytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

GroupDescriptor initial_descriptor(const GroupWindow& window) {
  GroupDescriptor descriptor;
  descriptor.free_blocks = window.allocatable.count;
  descriptor.longest_free_run = window.allocatable.count;
  return descriptor;
}

Result<void> validate_in(const GroupDescriptor& d, std::uint64_t group, const GroupWindow& window) {
  TRY(validate(d, group));
  if (d.free_blocks > window.allocatable.count ||
      (d.free_blocks == 0) != (d.longest_free_run == 0)) {
    return corrupt(Place::kGroup, group, "descriptor has impossible counts");
  }
  const GroupDescriptor initial = initial_descriptor(window);
  if (d.written == 0 && std::memcmp(&d, &initial, sizeof d) != 0) {
    return corrupt(Place::kGroup, group, "descriptor of a group never written is not initial");
  }
  return {};
}

}  // namespace

GroupTable::GroupTable(const Layout& layout, std::uint64_t volume_seed)
    : layout_(layout), volume_seed_(volume_seed) {
  std::size_t page = 0;
  std::size_t pages = static_cast<std::size_t>(divide_up(layout.group_count, kDescriptorsPerPage));
  for (;;) {
    levels_.push_back({page, pages});
    page += pages;
    if (pages == 1) break;
    pages = static_cast<std::size_t>(divide_up<std::uint64_t>(pages, kRefsPerPage));
  }
  CW_CHECK(page == layout.group_page_count);
  refs_.resize(page);
  descriptors_.reserve(static_cast<std::size_t>(layout.group_count));
  for (std::uint64_t group = 0; group < layout.group_count; ++group) {
    descriptors_.push_back(initial_descriptor(group_window(layout, group)));
    free_blocks_ += descriptors_.back().free_blocks;
  }
}

std::uint64_t GroupTable::page_checksum(ConstBytes page, std::uint64_t place) const {
  return checksum(page, checksum_seed(volume_seed_, Structure::kGroupPage, place));
}

// ---- reading, from the root down

Result<GroupTable> GroupTable::read(PageBatch& batch, const Layout& layout,
                                    std::uint64_t volume_seed, GroupPageRef root) {
  if (root.slot > 1 || root.reserved != 0) {
    return corrupt(Place::kByte, layout.group_pages_byte, "root of the group table out of range");
  }
  GroupTable table(layout, volume_seed);
  table.refs_.back() = root;
  table.free_blocks_ = 0;
  for (std::size_t level = table.levels_.size(); level-- > 0;) {
    TRY(table.read_level(batch, level));
  }
  return table;
}

Result<void> GroupTable::read_level(PageBatch& batch, std::size_t level) {
  const Level& pages = levels_[level];
  std::vector<std::uint64_t> places;
  for (std::size_t done = 0; done < pages.pages; done += places.size()) {
    places.clear();
    const std::size_t count = std::min(PageBatch::kPagesMax, pages.pages - done);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t page = pages.first_page + done + i;
      places.push_back(layout_.group_page_byte(page, refs_[page].slot));
    }
    TRY(batch.read(places));
    for (std::size_t i = 0; i < count; ++i) {
      const ConstBytes page = batch.page(i);
      if (page_checksum(page, places[i]) != refs_[pages.first_page + done + i].checksum) {
        return corrupt(Place::kByte, places[i], "group page checksum mismatch");
      }
      TRY(level == 0 ? parse_descriptors(page, done + i) : parse_refs(page, level, done + i));
    }
  }
  return {};
}

Result<void> GroupTable::parse_descriptors(ConstBytes page, std::size_t page_in_level) {
  const Slice groups = slice_of(page_in_level, kDescriptorsPerPage, descriptors_.size());
  const std::size_t bytes = groups.count * sizeof(GroupDescriptor);
  std::memcpy(&descriptors_[groups.first], page.data(), bytes);
  for (std::size_t group = groups.first; group < groups.first + groups.count; ++group) {
    TRY(validate_in(descriptors_[group], group, group_window(layout_, group)));
    free_blocks_ += descriptors_[group].free_blocks;
  }
  if (!all_zero(page.subspan(bytes))) {
    return corrupt(Place::kGroup, groups.first, "group page has descriptors of no group");
  }
  return {};
}

Result<void> GroupTable::parse_refs(ConstBytes page, std::size_t level, std::size_t page_in_level) {
  const Level& below = levels_[level - 1];
  const Slice pages = slice_of(page_in_level, kRefsPerPage, below.pages);
  GroupPageRef* refs = &refs_[below.first_page + pages.first];
  std::memcpy(refs, page.data(), pages.count * sizeof(GroupPageRef));
  for (std::size_t i = 0; i < pages.count; ++i) {
    if (refs[i].slot > 1 || refs[i].reserved != 0) {
      return corrupt(Place::kByte, layout_.group_page_byte(below.first_page + pages.first + i, 0),
                     "reference to a group page out of range");
    }
  }
  if (!all_zero(page.subspan(pages.count * sizeof(GroupPageRef)))) {
    return corrupt(Place::kByte,
                   layout_.group_page_byte(levels_[level].first_page + page_in_level, 0),
                   "group page has references to no page");
  }
  return {};
}

// ---- writing, from the descriptors up

void GroupTable::store_descriptors(Bytes page, std::size_t page_in_level,
                                   std::span<const Change> changes) const {
  const Slice groups = slice_of(page_in_level, kDescriptorsPerPage, descriptors_.size());
  std::memcpy(page.data(), &descriptors_[groups.first], groups.count * sizeof(GroupDescriptor));
  for (const Change& change : changes) {
    std::memcpy(page.data() + (change.group - groups.first) * sizeof(GroupDescriptor),
                &change.descriptor, sizeof(GroupDescriptor));
  }
}

void GroupTable::store_refs(Bytes page, std::size_t level, std::size_t page_in_level,
                            std::span<const GroupPageRef> refs) const {
  const Level& below = levels_[level - 1];
  const Slice pages = slice_of(page_in_level, kRefsPerPage, below.pages);
  std::memcpy(page.data(), &refs[below.first_page + pages.first],
              pages.count * sizeof(GroupPageRef));
}

Result<void> GroupTable::write_page(PageBatch& batch, std::size_t level, std::size_t page_in_level,
                                    std::uint32_t slot, std::span<const Change> changes,
                                    std::span<GroupPageRef> refs) const {
  const std::size_t number = levels_[level].first_page + page_in_level;
  const std::uint64_t place = layout_.group_page_byte(number, slot);
  const Bytes page = TRY(batch.add(place));
  if (level == 0) {
    store_descriptors(page, page_in_level, changes);
  } else {
    store_refs(page, level, page_in_level, refs);
  }
  refs[number] = {page_checksum(page, place), slot, 0};
  return {};
}

Result<void> GroupTable::write(PageBatch& batch, std::span<const Change> changes) {
  std::vector<GroupPageRef> refs = refs_;
  std::vector<std::size_t> changed;  // pages of the level that was written last
  for (std::size_t first = 0; first < changes.size();) {
    const auto page = static_cast<std::size_t>(changes[first].group / kDescriptorsPerPage);
    std::size_t end = first + 1;
    while (end < changes.size() && changes[end].group / kDescriptorsPerPage == page) ++end;
    TRY(write_page(batch, 0, page, refs_[page].slot ^ 1, changes.subspan(first, end - first),
                   refs));
    changed.push_back(page);
    first = end;
  }
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    for (std::size_t& page : changed) page /= static_cast<std::size_t>(kRefsPerPage);
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const std::size_t page : changed) {
      const std::uint32_t slot = refs_[levels_[level].first_page + page].slot ^ 1;
      TRY(write_page(batch, level, page, slot, {}, refs));
    }
  }
  TRY(batch.flush());

  refs_ = std::move(refs);
  for (const Change& change : changes) {
    GroupDescriptor& descriptor = descriptors_[static_cast<std::size_t>(change.group)];
    free_blocks_ += change.descriptor.free_blocks;
    free_blocks_ -= descriptor.free_blocks;
    descriptor = change.descriptor;
  }
  return {};
}

Result<void> GroupTable::write_all(PageBatch& batch) {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    for (std::size_t page = 0; page < levels_[level].pages; ++page) {
      TRY(write_page(batch, level, page, 0, {}, refs_));
    }
  }
  return batch.flush();
}

}  // namespace cordwood
