#include "fs/data_placer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "frame/placement.hpp"

namespace cordwood {

DetachedExtents& DetachedExtents::operator=(DetachedExtents&& other) noexcept {
  if (this != &other) {
    cancel();
    space_ = other.space_;
    extents_ = std::exchange(other.extents_, {});
  }
  return *this;
}

std::uint64_t DetachedExtents::blocks() const {
  std::uint64_t sum = 0;
  for (const Extent& extent : extents_) sum += extent.run.count;
  return sum;
}

void DetachedExtents::commit() {
  for (const Extent& extent : extents_) space_->commit(extent.run);
  extents_.clear();
}

void DetachedExtents::cancel() {
  for (const Extent& extent : extents_) space_->cancel(extent.run);
  extents_.clear();
}

Result<DetachedExtents> DataPlacer::place(std::span<const ConstBytes> parts, std::uint64_t offset,
                                          ReserveClass reserve_class, BlockNumber goal) {
  std::uint64_t bytes = 0;
  for (const ConstBytes part : parts) bytes += part.size();
  CW_DCHECK(bytes % context_.layout.block_bytes == 0);
  DetachedExtents target =
      TRY(allocate(bytes / context_.layout.block_bytes, offset, reserve_class, goal));
  TRY(write(target, parts));
  return target;
}

Result<DetachedExtents> DataPlacer::place_bytes(ConstBytes content) {
  const std::size_t whole = content.size() / kGranuleBytes * kGranuleBytes;
  const ConstBytes rest = content.subspan(whole);
  const AlignedBuffer last = allocate_aligned(kGranuleBytes);
  std::memset(last.get(), 0, kGranuleBytes);
  if (!rest.empty()) std::memcpy(last.get(), rest.data(), rest.size());
  const std::array<ConstBytes, 2> parts = {
      content.first(whole),
      ConstBytes(last.get(), round_up<std::size_t>(rest.size(), context_.layout.block_bytes))};
  return place(parts, 0, ReserveClass::kNormal);
}

Result<DetachedExtents> DataPlacer::allocate(std::uint64_t blocks, std::uint64_t offset,
                                             ReserveClass reserve_class, BlockNumber goal) {
  Reservation reserved = TRY(reserve(blocks, reserve_class));
  const std::uint64_t longest =
      max_extent_bytes(context_.layout.node_bytes) / context_.layout.block_bytes;
  // Blocks freed in a generation are not reused before the next one, so place and generation together
  // tell these bytes from stale ones.
  const Generation generation = context_.cache.generation();
  DetachedExtents target(context_.space);
  while (blocks != 0) {
    const BlockRun run =
        TRY(allocate_run(std::min(blocks, longest), reserved, reserve_class, goal));
    Extent extent;
    extent.offset = offset;
    extent.run = run;
    extent.generation = generation;
    target.extents_.push_back(std::move(extent));
    blocks -= run.count;
    offset += run.count * context_.layout.block_bytes;
    goal = run.end();
  }
  return target;
}

Result<Reservation> DataPlacer::reserve(std::uint64_t blocks, ReserveClass reserve_class) {
  // An operation that changes nothing: it knows when a checkpoint would free what is missing.
  Operation operation = TRY(context_.checkpointer.begin({0, blocks, reserve_class}));
  return std::move(operation.reservation);
}

/// A run of `want` blocks, or a shorter one of whole granules.
Result<BlockRun> DataPlacer::allocate_run(std::uint64_t want, Reservation& reserved,
                                          ReserveClass reserve_class, BlockNumber goal) {
  const std::uint64_t per_granule = context_.blocks_per_granule();
  const std::uint64_t at_least = std::min(want, per_granule);
  Result<BlockRun> found = context_.space.allocate(want, at_least, AllocationStream::kData, goal);
  if (!found && found.error().code == Errc::kNoSpace && context_.space.pending_free_blocks() != 0) {
    // Reserved, so there is enough, but in pieces: what waits to become free may join them.
    TRY(context_.checkpointer.checkpoint());
    found = context_.space.allocate(want, at_least, AllocationStream::kData, goal);
  }
  BlockRun run = TRY(found);
  const bool held = reserved.take(run.count);
  CW_CHECK(held);
  const std::uint64_t surplus = run.count == want ? 0 : run.count % per_granule;
  if (surplus == 0) return run;
  run.count -= surplus;
  context_.space.cancel({run.end(), surplus});
  if (context_.space.try_reserve(surplus, reserve_class)) {
    reserved.add(surplus);
    return run;
  }
  context_.space.cancel(run);
  return make_error(Errc::kNoSpace, "another task took the last blocks");
}

Result<void> DataPlacer::write(DetachedExtents& target, std::span<const ConstBytes> parts) {
  std::vector<IoRequest> requests;
  std::size_t part = 0;
  std::size_t used = 0;  // bytes of that part
  std::uint64_t written = 0;
  for (Extent& extent : target.extents_) {
    const std::uint64_t start = context_.layout.byte_of(extent.run.first);
    const std::uint64_t bytes = extent.bytes(context_.layout);
    for (std::uint64_t done = 0; done < bytes;) {
      while (used == parts[part].size()) {
        ++part;
        used = 0;
      }
      const ConstBytes rest = parts[part].subspan(used);
      const ConstBytes chunk = rest.first(std::min<std::uint64_t>(rest.size(), bytes - done));
      requests.push_back(IoRequest::write(start + done, chunk));
      for (std::size_t at = 0; at < chunk.size(); at += kGranuleBytes) {
        const ConstBytes granule =
            chunk.subspan(at, std::min<std::size_t>(kGranuleBytes, chunk.size() - at));
        extent.checksums.push_back(checksum(
            granule, granule_seed(context_.volume_seed(), start + done + at, extent.generation)));
      }
      used += chunk.size();
      done += chunk.size();
    }
    written += bytes;
  }
  context_.counters.add(Counter::kDeviceWrites, requests.size());
  context_.counters.add(Counter::kDataBytesWritten, written);
  Result<void> done = context_.device.submit(requests);
  context_.flushes.note_write();
  // Nothing names these blocks yet; but a device that loses writes is not to be trusted with more.
  if (!done) context_.checkpointer.fail(done.error());
  return done;
}

}  // namespace cordwood
