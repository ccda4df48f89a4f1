#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checksum.hpp"
#include "frame/placement.hpp"
#include "fs/file_data.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

/// Extents whose bytes are read with one call of the device.
constexpr std::size_t kBatchExtents = 32;

/// Gathers the device reads for a range of a file, runs them at once and verifies every granule.
/// Whole granules go straight into the target; parts of one come through a page of our own.
class ReadBatch {
 public:
  ReadBatch(const FsContext& context, std::uint64_t base, Bytes target)
      : context_(context), base_(base), target_(target) {}

  /// Plans the bytes [from, to) of the file, which the extent holds.
  void add(const Extent& extent, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t bytes = extent.bytes(context_.layout);
    while (from < to) {
      const std::uint64_t within = from - extent.offset;
      const std::uint64_t start = within / kGranuleBytes * kGranuleBytes;
      const std::uint64_t granule_bytes = std::min(kGranuleBytes, bytes - start);
      const std::uint64_t granule_end = extent.offset + start + granule_bytes;
      const std::uint64_t part_end = std::min(to, granule_end);
      std::byte* into = target_.data() + (from - base_);
      if (within != start || part_end != granule_end) {
        pages_.push_back(allocate_aligned(kGranuleBytes));
        copies_.push_back({pages_.back().get() + (within - start), into,
                           static_cast<std::size_t>(part_end - from)});
        into = pages_.back().get();
      }
      plan(extent, start, Bytes(into, granule_bytes));
      from = part_end;
    }
  }

  Result<void> run() {
    context_.counters.add(Counter::kDeviceReads, requests_.size());
    for (const IoRequest& request : requests_) {
      context_.counters.add(Counter::kBytesRead, request.bytes);
    }
    if (!requests_.empty()) TRY(context_.device.submit(requests_));
    for (const Expected& granule : expected_) {
      const std::uint64_t seed =
          granule_seed(context_.volume_seed(), granule.byte, granule.generation);
      if (checksum(granule.bytes, seed) != granule.checksum) {
        return corrupt(Place::kBlock, granule.byte / context_.layout.block_bytes,
                       "checksum mismatch in file data");
      }
    }
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
    return {};
  }

 private:
  struct Expected {
    ConstBytes bytes;
    std::uint64_t byte;  ///< where on the device
    Generation generation;
    std::uint64_t checksum;
  };
  struct Copy {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };

  void plan(const Extent& extent, std::uint64_t start, Bytes into) {
    const std::uint64_t byte = context_.layout.byte_of(extent.run.first) + start;
    expected_.push_back({into, byte, extent.generation, extent.checksums[start / kGranuleBytes]});
    if (!requests_.empty()) {
      IoRequest& last = requests_.back();
      if (last.offset + last.bytes == byte && last.data + last.bytes == into.data()) {
        last.bytes += into.size();
        return;
      }
    }
    requests_.push_back(IoRequest::read(byte, into));
  }

  const FsContext& context_;
  std::uint64_t base_;  ///< file offset of the target's first byte
  Bytes target_;
  std::vector<IoRequest> requests_;
  std::vector<Expected> expected_;
  std::vector<AlignedBuffer> pages_;
  std::vector<Copy> copies_;
};

}  // namespace

Result<std::size_t> FileData::read(const Inode& inode, std::uint64_t offset, Bytes into) const {
  const InodeItem& item = inode.item();
  if (offset >= item.size || into.empty()) return std::size_t{0};
  into = into.first(std::min<std::uint64_t>(into.size(), item.size - offset));
  if (item.bytes != 0) {
    TRY(read_content(inode.number, offset, into));
    return into.size();
  }
  // At most an inline item: no copy of it is needed.
  const Key key = extent_key(inode.number, 0);
  std::optional<Error> error;
  std::size_t copied = 0;
  TRY(context_.tree.read(key, [&](ConstBytes data) {
    const Result<ExtentItem> extent = ExtentItem::parse(data, key, context_.layout);
    if (!extent) {
      error = extent.error();
    } else if (extent->kind != ExtentKind::kInline) {
      error = corrupt(Place::kInode, inode.number.value, "file has blocks that it does not count");
    } else if (offset < extent->inline_bytes.size()) {
      const ConstBytes part = extent->inline_bytes.subspan(offset);
      copied = std::min(part.size(), into.size());
      std::memcpy(into.data(), part.data(), copied);
    }
  }));
  if (error) return *error;
  std::memset(into.data() + copied, 0, into.size() - copied);
  return into.size();
}

Result<void> FileData::read_content(InodeNumber inode, std::uint64_t offset, Bytes into) const {
  const std::uint64_t end = offset + into.size();
  std::uint64_t position = offset;  // all before it is filled or planned
  const auto zero_until = [&](std::uint64_t until) {
    if (until <= position) return;
    std::memset(into.data() + (position - offset), 0, until - position);
    position = until;
  };
  while (position < end) {
    const std::vector<Extent> found =
        TRY(extents_.overlapping(inode, position, end, kBatchExtents));
    ReadBatch batch(context_, offset, into);
    for (const Extent& extent : found) {
      zero_until(std::min(extent.offset, end));
      const std::uint64_t until = std::min(extent.offset + extent.bytes(context_.layout), end);
      if (until <= position) continue;
      if (extent.kind == ExtentKind::kPreallocated) {
        zero_until(until);
      } else if (extent.kind == ExtentKind::kInline) {
        std::memcpy(into.data() + (position - offset), extent.inline_bytes.data() + position,
                    until - position);
      } else {
        batch.add(extent, position, until);
      }
      position = until;
    }
    TRY(batch.run());
    if (found.size() < kBatchExtents) zero_until(end);
  }
  return {};
}

Result<std::vector<std::byte>> FileData::inline_content(InodeNumber inode) const {
  std::vector<Extent> found = TRY(extents_.overlapping(inode, 0, kGranuleBytes, 1));
  if (found.empty()) return std::vector<std::byte>{};
  if (found.front().kind != ExtentKind::kInline) {
    return corrupt(Place::kInode, inode.value, "file has blocks that it does not count");
  }
  return std::move(found.front().inline_bytes);
}

}  // namespace cordwood
