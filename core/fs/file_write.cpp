#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "frame/placement.hpp"
#include "fs/file_data.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t floor_granule(std::uint64_t offset) {
  return offset / kGranuleBytes * kGranuleBytes;
}
constexpr std::uint64_t ceil_granule(std::uint64_t offset) {
  return floor_granule(offset + kGranuleBytes - 1);
}

/// Extents that one piece of a write replaces at most.
constexpr std::size_t kReplacedExtents = 32;

}  // namespace

Result<std::size_t> FileData::write(Inode& inode, std::uint64_t offset, ConstBytes from) {
  if (offset > kMaxFileBytes || from.size() > kMaxFileBytes - offset) {
    return make_error(Errc::kFileTooBig, "a file has at most 2^63 - 1 bytes");
  }
  if (from.empty()) return std::size_t{0};
  // What an earlier truncate left behind must not become part of the file.
  if (inode.truncating) TRY(finish_truncate(inode));
  const Timestamp now = context_.clock.now();
  const std::uint64_t size = std::max(inode.item().size, offset + from.size());
  if (inode.item().bytes == 0) {
    if (size <= context_.inline_max) {
      TRY(write_inline(inode, offset, from, now));
      return from.size();
    }
    TRY(leave_inline(inode, offset));
  }
  std::size_t done = 0;
  while (done < from.size()) {
    const Result<std::size_t> piece = write_piece(inode, offset + done, from.subspan(done), now);
    if (!piece) {
      if (piece.error().code == Errc::kNoSpace && done != 0) break;
      return piece.error();
    }
    done += *piece;
  }
  return done;
}

Result<void> FileData::write_inline(Inode& inode, std::uint64_t offset, ConstBytes from,
                                    Timestamp now) {
  InodeItem changed = inode.item();
  Extent extent;
  extent.kind = ExtentKind::kInline;
  if (changed.size != 0) extent.inline_bytes = TRY(inline_content(inode.number));
  changed.size = std::max(changed.size, offset + from.size());
  set_modify(changed, now);
  set_change(changed, now);
  extent.inline_bytes.resize(
      std::max<std::size_t>(extent.inline_bytes.size(), offset + from.size()));
  std::memcpy(extent.inline_bytes.data() + offset, from.data(), from.size());
  const Key key = extent_key(inode.number, 0);
  Operation operation = TRY(context_.checkpointer.begin({2, 0, ReserveClass::kNormal}));
  TRY(inodes_.prepare(operation.reservation, inode));
  TRY(context_.tree.prefault(key, &inode.own_hint));
  return apply(operation, [&]() -> Result<void> {
    TRY(context_.tree.put(operation.reservation, key, extent.encode(), &inode.own_hint));
    return inodes_.store(operation.reservation, inode, changed);
  });
}

/// Before a write at `offset` gives the file blocks: content in an item moves to blocks too, unless the
/// write's first piece takes it along.
Result<void> FileData::leave_inline(Inode& inode, std::uint64_t offset) {
  if (inode.item().size == 0) return {};
  const std::vector<std::byte> content = TRY(inline_content(inode.number));
  if (content.empty() || (offset < kGranuleBytes && content.size() <= kGranuleBytes)) return {};
  // The file stays the same: only the write that follows is a modification.
  TRY(write_piece(inode, 0, content, std::nullopt));
  return {};
}

/// The granules at the two ends of a piece of which the write covers only a part: old bytes around the
/// new ones, zeros where there were none.
struct FileData::OldGranules {
  AlignedBuffer memory;
  std::array<ConstBytes, 3> parts;  ///< the whole piece: head granule, middle, tail
};

/// Writes the first part of `from`: as much as one operation should take. Returns how much.
Result<std::size_t> FileData::write_piece(Inode& inode, std::uint64_t position, ConstBytes from,
                                          std::optional<Timestamp> now) {
  const std::uint64_t start = floor_granule(position);
  const std::uint64_t longest = max_extent_bytes(context_.layout.node_bytes);
  std::uint64_t stop = std::min(position + from.size(), start + longest);

  // What it replaces, and the extent before it, to which it may be joined.
  std::vector<Extent> old = TRY(extents_.overlapping(inode.number, start == 0 ? 0 : start - 1,
                                                     ceil_granule(stop), kReplacedExtents + 2));
  std::optional<Extent> before;
  if (!old.empty() && old.front().end(context_.layout) <= start) {
    before = std::move(old.front());
    old.erase(old.begin());
  }
  if (old.size() > kReplacedExtents) {
    stop = std::min(stop, old[kReplacedExtents].offset);
    old.resize(kReplacedExtents);
  }
  const std::uint64_t end = ceil_granule(stop);
  from = from.first(stop - position);

  InodeItem changed = inode.item();
  const std::uint64_t content_end = std::max(stop, std::min(changed.size, end));
  const std::uint64_t bytes =
      round_up<std::uint64_t>(content_end - start, context_.layout.block_bytes);
  const OldGranules content = TRY(surround(inode, position, from, start + bytes));
  const BlockNumber goal = before ? before->run.end() : BlockNumber{};
  DetachedExtents placed = TRY(placer_.place(content.parts, start, ReserveClass::kNormal, goal));
  changed.size = std::max(changed.size, stop);
  if (now) {
    set_modify(changed, *now);
    set_change(changed, *now);
  }
  TRY(replace(inode, old, before ? &*before : nullptr, {start, end}, placed, changed));
  return from.size();
}

/// Fills up the first and last granule of a piece with what the file has there.
/// @param end  where the blocks of the piece end in the file
Result<FileData::OldGranules> FileData::surround(const Inode& inode, std::uint64_t position,
                                                 ConstBytes from, std::uint64_t end) const {
  OldGranules result;
  const std::uint64_t stop = position + from.size();
  const std::uint64_t start = floor_granule(position);
  const std::uint64_t last = floor_granule(stop);  // granule of the first byte behind the write
  const bool head = position != start;
  const bool tail = stop != last && !(head && last == start);
  if (!head && !tail) {
    result.parts = {from, ConstBytes{}, ConstBytes{}};
    return result;
  }
  result.memory = allocate_aligned(2 * kGranuleBytes);
  const auto fill = [&](std::byte* page, std::uint64_t granule) -> Result<Bytes> {
    std::memset(page, 0, kGranuleBytes);
    const std::uint64_t size = inode.item().size;
    if (granule < size) {
      TRY(read_content(inode.number, granule,
                       Bytes(page, std::min(kGranuleBytes, size - granule))));
    }
    const std::uint64_t first = std::max(position, granule);
    const std::uint64_t behind = std::min(stop, granule + kGranuleBytes);
    std::memcpy(page + (first - granule), from.data() + (first - position), behind - first);
    return Bytes(page, std::min(kGranuleBytes, end - granule));
  };
  const std::uint64_t middle_start = head ? std::min(start + kGranuleBytes, end) : start;
  if (head) result.parts[0] = TRY(fill(result.memory.get(), start));
  if (middle_start < last) {
    result.parts[1] = from.subspan(middle_start - position, last - middle_start);
  }
  if (tail) result.parts[2] = TRY(fill(result.memory.get() + kGranuleBytes, last));
  return result;
}

/// Puts placed extents in the place of what the range has now.
Result<void> FileData::replace(Inode& inode, const std::vector<Extent>& old, const Extent* before,
                               FileRange range, DetachedExtents& placed, InodeItem changed) {
  const Punched punched = extents_.punch(old, range.start, range.end);
  std::vector<Extent> fresh = placed.extents();
  if (before != nullptr && !fresh.empty()) {
    Extent joined = *before;
    if (merge_extents(joined, fresh.front(), context_.layout)) fresh.front() = std::move(joined);
  }
  const std::uint64_t block_bytes = context_.layout.block_bytes;
  changed.bytes += placed.blocks() * block_bytes;
  changed.bytes -= std::min(changed.bytes, punched.freed_blocks * block_bytes);
  const std::uint64_t items = old.size() + punched.kept.size() + fresh.size() + 1;
  Operation operation = TRY(context_.checkpointer.begin({items, 0, ReserveClass::kNormal}));
  TRY(inodes_.prepare(operation.reservation, inode));
  TRY(context_.tree.prefault(extent_key(inode.number, range.start)));
  return apply(operation, [&]() -> Result<void> {
    const std::uint64_t replaced_at = fresh.empty() ? ExtentItems::kToTheEnd : fresh.front().offset;
    TRY(extents_.apply(operation, inode.number, old, punched, replaced_at));
    for (const Extent& extent : fresh) {
      TRY(context_.tree.put(operation.reservation, extent_key(inode.number, extent.offset),
                            extent.encode()));
    }
    placed.commit();
    return inodes_.store(operation.reservation, inode, changed);
  });
}

}  // namespace cordwood
