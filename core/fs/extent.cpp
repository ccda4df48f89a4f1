#include "fs/extent.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

Extent copy_of(const ExtentItem& item) {
  Extent extent;
  extent.kind = item.kind;
  extent.offset = item.offset;
  extent.run = item.run;
  extent.generation = item.generation;
  extent.inline_bytes.assign(item.inline_bytes.begin(), item.inline_bytes.end());
  extent.checksums.resize(item.checksums.size() / 8);
  if (!item.checksums.empty()) {
    std::memcpy(extent.checksums.data(), item.checksums.data(), item.checksums.size());
  }
  return extent;
}

/// The granules [first, last) of an extent of blocks as an extent of its own.
Extent part_of(const Extent& extent, std::uint64_t first, std::uint64_t last,
               std::uint64_t blocks_per_granule) {
  Extent part;
  part.kind = extent.kind;
  part.offset = extent.offset + first * kGranuleBytes;
  const std::uint64_t skipped = first * blocks_per_granule;
  part.run = {extent.run.first + skipped,
              std::min(last * blocks_per_granule, extent.run.count) - skipped};
  part.generation = extent.generation;
  if (extent.kind == ExtentKind::kData) {
    const auto at = extent.checksums.begin();
    part.checksums.assign(
        at + static_cast<std::ptrdiff_t>(first),
        at + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(last, extent.checksums.size())));
  }
  return part;
}

}  // namespace

std::vector<std::byte> Extent::encode() const {
  ExtentHeader header;
  header.kind = static_cast<std::uint8_t>(kind);
  const bool is_inline = kind == ExtentKind::kInline;
  header.length = static_cast<std::uint32_t>(is_inline ? inline_bytes.size() : run.count);
  header.block = is_inline ? 0 : run.first.value;
  header.generation = is_inline ? 0 : generation.value;
  const ConstBytes rest = is_inline ? ConstBytes(inline_bytes)
                                    : std::as_bytes(std::span<const std::uint64_t>(checksums));
  std::vector<std::byte> item(sizeof header + rest.size());
  std::memcpy(item.data(), &header, sizeof header);
  if (!rest.empty()) std::memcpy(item.data() + sizeof header, rest.data(), rest.size());
  return item;
}

Result<std::vector<Extent>> ExtentItems::overlapping(InodeNumber inode, std::uint64_t from,
                                                     std::uint64_t end, std::size_t limit) const {
  std::vector<Extent> found;
  std::optional<Error> error;
  std::uint64_t behind = 0;
  const auto take = [&](Key key, ConstBytes data) {
    const Result<ExtentItem> item = ExtentItem::parse(data, key, context_.layout);
    if (!item) {
      error = item.error();
      return false;
    }
    if (item->offset < behind) {
      error = corrupt(Place::kInode, inode.value, "extents overlap");
      return false;
    }
    found.push_back(copy_of(*item));
    behind = found.back().end(context_.layout);
    if (behind <= from) found.pop_back();
    return found.size() < limit;
  };
  Key next = extent_key(inode, from);
  if (from != 0) {
    // The one that holds `from` may begin before it.
    TRY(context_.tree.read_floor(extent_key(inode, from - 1), extent_key(inode, 0),
                                 [&](Key key, ConstBytes data) { take(key, data); }));
  }
  if (!error && found.size() < limit) {
    TRY(context_.tree.scan(next, extent_key(inode, end), take));
  }
  if (error) return *error;
  return found;
}

Punched ExtentItems::punch(const std::vector<Extent>& extents, std::uint64_t from,
                           std::uint64_t end) const {
  const std::uint64_t per_granule = context_.blocks_per_granule();
  Punched result;
  for (const Extent& extent : extents) {
    const std::uint64_t extent_end = extent.end(context_.layout);
    if (extent.kind == ExtentKind::kInline || extent_end <= from || extent.offset >= end) continue;
    const std::uint64_t granules = (extent_end - extent.offset) / kGranuleBytes;
    const std::uint64_t left = from > extent.offset ? (from - extent.offset) / kGranuleBytes : 0;
    const std::uint64_t right = end < extent_end ? (end - extent.offset) / kGranuleBytes : granules;
    if (left != 0) result.kept.push_back(part_of(extent, 0, left, per_granule));
    if (right != granules) result.kept.push_back(part_of(extent, right, granules, per_granule));
    const BlockRun gone = part_of(extent, left, right, per_granule).run;
    result.freed.push_back(gone);
    result.freed_blocks += gone.count;
  }
  return result;
}

Result<void> ExtentItems::apply(Operation& operation, InodeNumber inode,
                                const std::vector<Extent>& extents, const Punched& punched,
                                std::uint64_t replaced_at) {
  for (const BlockRun& run : punched.freed) TRY(context_.space.free(run));
  for (const Extent& extent : extents) {
    const auto keeps_key = [&](const Extent& kept) { return kept.offset == extent.offset; };
    if (extent.offset == replaced_at ||
        std::any_of(punched.kept.begin(), punched.kept.end(), keeps_key)) {
      continue;
    }
    TRY(context_.tree.erase(operation.reservation, extent_key(inode, extent.offset)));
  }
  for (const Extent& kept : punched.kept) {
    TRY(context_.tree.put(operation.reservation, extent_key(inode, kept.offset), kept.encode()));
  }
  return {};
}

bool merge_extents(Extent& extent, const Extent& more, const Layout& layout) {
  const std::uint64_t bytes = extent.bytes(layout);
  if (extent.kind != ExtentKind::kData || more.kind != ExtentKind::kData ||
      bytes % kGranuleBytes != 0 || extent.offset + bytes != more.offset ||
      extent.run.end() != more.run.first || extent.generation != more.generation ||
      bytes + more.bytes(layout) > max_extent_bytes(layout.node_bytes)) {
    return false;
  }
  extent.run.count += more.run.count;
  extent.checksums.insert(extent.checksums.end(), more.checksums.begin(), more.checksums.end());
  return true;
}

}  // namespace cordwood
