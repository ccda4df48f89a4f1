#include <algorithm>
#include <array>
#include <cstring>

#include "frame/placement.hpp"
#include "fs/file_data.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t ceil_granule(std::uint64_t offset) {
  return (offset + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
}

}  // namespace

/// What one operation of a truncate does besides dropping extents from `from` to the end.
struct FileData::DropStep {
  std::uint64_t from = 0;
  InodeItem changed;                    ///< the item, its bytes still as before
  DetachedExtents* boundary = nullptr;  ///< takes the place of the granule that the new end cuts
};

Result<void> FileData::resize(Inode& inode, const InodeItem& changed) {
  if (changed.size > kMaxFileBytes) {
    return make_error(Errc::kFileTooBig, "a file has at most 2^63 - 1 bytes");
  }
  if (inode.truncating) TRY(finish_truncate(inode));
  if (changed.size < inode.item().size) {
    return inode.item().bytes == 0 ? shrink_inline(inode, changed) : shrink(inode, changed);
  }
  // Growing is a hole: what lies behind the old end in its last block is zero.
  Operation operation = TRY(context_.checkpointer.begin({1, 0, ReserveClass::kNormal}));
  TRY(inodes_.prepare(operation.reservation, inode));
  return apply(operation, [&] { return inodes_.store(operation.reservation, inode, changed); });
}

Result<void> FileData::shrink_inline(Inode& inode, const InodeItem& changed) {
  Extent extent;
  extent.kind = ExtentKind::kInline;
  extent.inline_bytes = TRY(inline_content(inode.number));
  const bool shorter = extent.inline_bytes.size() > changed.size;
  if (shorter) extent.inline_bytes.resize(changed.size);
  const Key key = extent_key(inode.number, 0);
  Operation operation = TRY(context_.checkpointer.begin({2, 0, ReserveClass::kEmergency}));
  TRY(inodes_.prepare(operation.reservation, inode));
  TRY(context_.tree.prefault(key));
  return apply(operation, [&]() -> Result<void> {
    if (shorter && extent.inline_bytes.empty()) {
      TRY(context_.tree.erase(operation.reservation, key));
    } else if (shorter) {
      TRY(context_.tree.put(operation.reservation, key, extent.encode()));
    }
    return inodes_.store(operation.reservation, inode, changed);
  });
}

Result<void> FileData::shrink(Inode& inode, const InodeItem& changed) {
  DetachedExtents boundary = TRY(rewrite_boundary(inode, changed.size));
  DropStep step;
  step.changed = changed;
  step.boundary = &boundary;
  step.from =
      boundary.empty() ? ceil_granule(changed.size) : changed.size / kGranuleBytes * kGranuleBytes;
  if (TRY(drop_extents(inode, step))) return {};
  // The file is cut already. If there is no room for the rest now, the next change of it or the next
  // mount goes on.
  const Result<void> finished = finish_truncate(inode);
  return finished || finished.error().code == Errc::kNoSpace ? Result<void>{} : finished;
}

/// The granule that the new end cuts, with zeros behind it, on blocks of its own.
Result<DetachedExtents> FileData::rewrite_boundary(const Inode& inode, std::uint64_t size) {
  const std::uint64_t cut = size % kGranuleBytes;
  const std::uint64_t granule = size - cut;
  if (cut == 0) return DetachedExtents{};
  const std::vector<Extent> found =
      TRY(extents_.overlapping(inode.number, granule, granule + kGranuleBytes, 1));
  if (found.empty() || found.front().kind != ExtentKind::kData ||
      found.front().offset + found.front().bytes(context_.layout) <= size) {
    return DetachedExtents{};  // zeros behind the end already
  }
  const AlignedBuffer page = allocate_aligned(kGranuleBytes);
  std::memset(page.get(), 0, kGranuleBytes);
  TRY(read_content(inode.number, granule, Bytes(page.get(), cut)));
  const std::array<ConstBytes, 1> parts = {
      ConstBytes(page.get(), round_up<std::size_t>(cut, context_.layout.block_bytes))};
  return placer_.place(parts, granule, ReserveClass::kEmergency);
}

Result<void> FileData::finish_truncate(Inode& inode) {
  DropStep step;
  step.from = ceil_granule(inode.item().size);
  while (inode.truncating) {
    step.changed = inode.item();
    TRY(drop_extents(inode, step));
  }
  return {};
}

/// One operation of a truncate: drops as many extents as it may, and settles whether an orphan item has
/// to say that there are more. Returns whether all are gone.
Result<bool> FileData::drop_extents(Inode& inode, const DropStep& step) {
  for (std::size_t limit = kStepExtents;; limit /= 4) {
    std::vector<Extent> old =
        TRY(extents_.overlapping(inode.number, step.from, ExtentItems::kToTheEnd, limit + 1));
    const bool more = old.size() > limit;
    if (more) old.resize(limit);
    const Punched punched = extents_.punch(old, step.from, ExtentItems::kToTheEnd);
    const OperationCost cost{old.size() + 4, 0, ReserveClass::kEmergency};
    Result<Operation> begun = context_.checkpointer.begin(cost);
    // A volume too full for a large step may still have room for a small one.
    if (!begun && begun.error().code == Errc::kNoSpace && limit > 4) continue;
    Operation operation = TRY(std::move(begun));
    TRY(inodes_.prepare(operation.reservation, inode));
    TRY(context_.tree.prefault(extent_key(inode.number, step.from)));
    TRY(apply(operation, [&] { return apply_drop(operation, inode, step, old, punched, more); }));
    inode.truncating = more;
    return !more;
  }
}

Result<void> FileData::apply_drop(Operation& operation, Inode& inode, const DropStep& step,
                                  const std::vector<Extent>& old, const Punched& punched,
                                  bool more) {
  const std::uint64_t block_bytes = context_.layout.block_bytes;
  InodeItem changed = step.changed;
  const bool has_boundary = step.boundary != nullptr && !step.boundary->empty();
  if (has_boundary) changed.bytes += step.boundary->blocks() * block_bytes;
  changed.bytes -= std::min(changed.bytes, punched.freed_blocks * block_bytes);
  TRY(extents_.apply(operation, inode.number, old, punched,
                     has_boundary ? step.from : ExtentItems::kToTheEnd));
  if (has_boundary) {
    for (const Extent& extent : step.boundary->extents()) {
      TRY(context_.tree.put(operation.reservation, extent_key(inode.number, extent.offset),
                            extent.encode()));
    }
    step.boundary->commit();
  }
  // A file without a name has its orphan item anyway, and keeps it.
  const Key orphan = orphan_key(inode.number);
  if (changed.links != 0 && more != inode.truncating) {
    TRY(more ? context_.tree.insert(operation.reservation, orphan, {})
             : context_.tree.erase(operation.reservation, orphan));
  }
  return inodes_.store(operation.reservation, inode, changed);
}

}  // namespace cordwood
