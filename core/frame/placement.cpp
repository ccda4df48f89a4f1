#include "frame/placement.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.hpp"
#include "base/checksum.hpp"

namespace cordwood {

void AlignedDelete::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, std::align_val_t{kPageBytes});
}

AlignedBuffer allocate_aligned(std::size_t bytes) {
  return AlignedBuffer(
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kPageBytes})));
}

Result<ContentPlace> Placement::find(TablePlace place, Structure structure, std::uint64_t bytes) {
  return locate(place, bytes, structure, layout_, volume_seed_,
                [this](BlockNumber block, Bytes into) -> Result<void> {
                  counters_.add(Counter::kDeviceReads);
                  counters_.add(Counter::kBytesRead, into.size());
                  return device_.read(layout_.byte_of(block), into);
                });
}

Result<void> Placement::read(const TableEntry& entry, Structure structure, Bytes into, Place kind,
                             std::uint64_t where) {
  const ContentPlace place = TRY(find(entry.place, structure, into.size()));
  std::vector<IoRequest> reads;
  std::size_t at = 0;
  for (const BlockRun& run : place.runs) {
    const std::size_t bytes = run.count * layout_.block_bytes;
    reads.push_back(IoRequest::read(layout_.byte_of(run.first), into.subspan(at, bytes)));
    at += bytes;
  }
  counters_.add(Counter::kDeviceReads, reads.size());
  counters_.add(Counter::kBytesRead, into.size());
  TRY(device_.submit(reads));
  if (checksum(into, place.seed) != entry.checksum)
    return corrupt(kind, where, "checksum mismatch");
  return {};
}

Result<void> Placement::free_frozen(TablePlace place, Structure structure, std::uint64_t bytes) {
  if (!place.fragmented()) {
    return space_.free_frozen({place.block(), bytes / layout_.block_bytes});
  }
  const ContentPlace content = TRY(find(place, structure, bytes));
  for (const BlockRun& run : content.runs) TRY(space_.free_frozen(run));
  for (const BlockNumber list : content.lists) TRY(space_.free_frozen({list, 1}));
  return {};
}

PlacementWriter::PlacementWriter(Placement& placement, std::uint64_t expected_bytes)
    : placement_(placement),
      expected_blocks_(divide_up<std::uint64_t>(expected_bytes, placement.layout().block_bytes)),
      buffer_(allocate_aligned(kBatchBytes)) {}

PlacementWriter::~PlacementWriter() {
  if (run_.count != 0) placement_.space().put_back(run_);
}

Result<Bytes> PlacementWriter::next(std::uint64_t bytes) {
  if (filled_ + bytes > kBatchBytes) TRY(write_batch());
  next_bytes_ = bytes;
  return Bytes(buffer_.get() + filled_, next_bytes_);
}

/// Makes run_ at least `blocks` long if the volume has such a run. False if it has none.
Result<bool> PlacementWriter::refill(std::uint64_t blocks) {
  if (run_.count >= blocks) return true;
  Space& space = placement_.space();
  if (run_.count != 0) {
    space.put_back(run_);
    run_ = {};
  }
  const std::uint64_t batch = kBatchBytes / placement_.layout().block_bytes;
  const std::uint64_t left = expected_blocks_ > blocks_used_ ? expected_blocks_ - blocks_used_ : 0;
  const std::uint64_t want = std::max(blocks, std::min(batch, left));
  auto run = space.allocate(want, blocks, AllocationStream::kMetadata);
  if (run) {
    run_ = *run;
    return true;
  }
  if (run.error().code != Errc::kNoSpace) return run.error();
  return false;
}

void PlacementWriter::add_write(std::uint64_t offset, ConstBytes bytes, Structure structure) {
  Counters& counters = placement_.counters();
  counters.add(
      structure == Structure::kNode ? Counter::kNodeBytesWritten : Counter::kTableBytesWritten,
      bytes.size());
  if (!writes_.empty()) {
    IoRequest& last = writes_.back();
    if (last.offset + last.bytes == offset && last.data + last.bytes == bytes.data()) {
      last.bytes += bytes.size();
      return;
    }
  }
  counters.add(Counter::kDeviceWrites);
  writes_.push_back(IoRequest::write(offset, bytes));
}

Result<TableEntry> PlacementWriter::place(Structure structure) {
  const Layout& layout = placement_.layout();
  const std::uint64_t blocks = next_bytes_ / layout.block_bytes;
  const ConstBytes content(buffer_.get() + filled_, next_bytes_);
  filled_ += next_bytes_;
  next_bytes_ = 0;
  if (!TRY(refill(blocks))) return place_fragmented(structure, content);
  const BlockRun here{run_.first, blocks};
  run_ = {run_.first + blocks, run_.count - blocks};
  placement_.space().commit_frozen(here);
  blocks_used_ += blocks;
  const std::uint64_t byte = layout.byte_of(here.first);
  add_write(byte, content, structure);
  return TableEntry{TablePlace::make(here.first, false),
                    checksum(content, checksum_seed(placement_.volume_seed(), structure, byte))};
}

Result<TableEntry> PlacementWriter::place_fragmented(Structure structure, ConstBytes content) {
  const Layout& layout = placement_.layout();
  Space& space = placement_.space();
  std::uint64_t left = content.size() / layout.block_bytes;
  std::vector<BlockRun> runs;
  while (left != 0) {
    const BlockRun run = TRY(space.allocate(left, 1, AllocationStream::kMetadata));
    space.commit_frozen(run);
    runs.push_back(run);
    left -= run.count;
    blocks_used_ += run.count;
  }
  std::vector<BlockNumber> lists(fragment_list_blocks(runs.size(), layout.block_bytes));
  for (BlockNumber& list : lists) {
    const BlockRun run = TRY(space.allocate(1, 1, AllocationStream::kMetadata));
    space.commit_frozen(run);
    list = run.first;
    ++blocks_used_;
  }
  std::vector<std::byte>& bytes = lists_.emplace_back(lists.size() * layout.block_bytes);
  store_fragment_lists(runs, lists, layout.block_bytes, bytes);

  std::size_t at = 0;
  for (const BlockRun& run : runs) {
    const std::size_t length = run.count * layout.block_bytes;
    add_write(layout.byte_of(run.first), content.subspan(at, length), structure);
    at += length;
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    add_write(layout.byte_of(lists[i]),
              ConstBytes(bytes).subspan(i * layout.block_bytes, layout.block_bytes),
              Structure::kFragmentList);
  }
  placement_.counters().add(Counter::kFragmentedNodes);
  const std::uint64_t chain =
      chain_hash(lists, bytes, placement_.volume_seed(), layout.block_bytes);
  return TableEntry{TablePlace::make(lists.front(), true),
                    checksum(content, fragmented_seed(placement_.volume_seed(), structure,
                                                      layout.byte_of(lists.front()), chain))};
}

Result<void> PlacementWriter::write_batch() {
  if (!writes_.empty()) TRY(placement_.device().submit(writes_));
  writes_.clear();
  lists_.clear();
  filled_ = 0;
  return {};
}

Result<void> PlacementWriter::flush() {
  TRY(write_batch());
  if (run_.count != 0) {
    placement_.space().put_back(run_);
    run_ = {};
  }
  return {};
}

}  // namespace cordwood
