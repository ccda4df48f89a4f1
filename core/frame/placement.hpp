#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/layout.hpp"
#include "format/seed.hpp"
#include "format/table.hpp"
#include "space/space.hpp"
#include "trace/counters.hpp"

namespace cordwood {

/// Memory aligned to 4096 bytes, for device I/O.
struct AlignedDelete {
  void operator()(std::byte* bytes) const;
};
using AlignedBuffer = std::unique_ptr<std::byte[], AlignedDelete>;
[[nodiscard]] AlignedBuffer allocate_aligned(std::size_t bytes);

/// Reads and drops what a table entry points at: a node or a table page, contiguous or in fragments.
/// @threads read() any; free_frozen() the checkpoint thread.
class Placement {
 public:
  Placement(BlockDevice& device, const Layout& layout, std::uint64_t volume_seed, Space& space,
            Counters& counters)
      : device_(device),
        layout_(layout),
        volume_seed_(volume_seed),
        space_(space),
        counters_(counters) {}

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] BlockDevice& device() { return device_; }
  [[nodiscard]] Space& space() { return space_; }
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] std::uint64_t volume_seed() const { return volume_seed_; }

  /// Reads `into.size()` bytes and verifies the checksum.
  /// @errors corrupt with `kind` and `where`; I/O.
  Result<void> read(const TableEntry& entry, Structure structure, Bytes into, Place kind,
                    std::uint64_t where);
  /// Drops the blocks of what lies at `place`, `bytes` long, in the frozen generation.
  Result<void> free_frozen(TablePlace place, Structure structure, std::uint64_t bytes);

 private:
  Result<ContentPlace> find(TablePlace place, Structure structure, std::uint64_t bytes);

  BlockDevice& device_;
  Layout layout_;
  std::uint64_t volume_seed_;
  Space& space_;
  Counters& counters_;
};

/// Gives nodes and table pages places in the frozen generation, and writes them in large batches.
/// Uses up reservations made when they became dirty.
class PlacementWriter {
 public:
  /// @param expected_bytes  about how much will be added: long runs are asked for accordingly.
  PlacementWriter(Placement& placement, std::uint64_t expected_bytes);
  ~PlacementWriter();

  /// A buffer of `bytes` to fill with the next thing's on-disk form; valid until place() or flush().
  /// @errors I/O, when the batch before it had to be written to make room.
  Result<Bytes> next(std::uint64_t bytes);
  /// Places the buffer that next() returned; it is on the device after flush() at the latest.
  /// @errors no_space only when a reservation was too small (our mistake); I/O.
  Result<TableEntry> place(Structure structure);
  /// Writes what is still buffered and gives back what is left of the last run.
  Result<void> flush();
  /// Blocks allocated and used so far, fragment lists included.
  [[nodiscard]] std::uint64_t blocks_used() const { return blocks_used_; }

 private:
  static constexpr std::size_t kBatchBytes = 1_MiB;
  Result<TableEntry> place_fragmented(Structure structure, ConstBytes content);
  Result<bool> refill(std::uint64_t blocks);
  Result<void> write_batch();
  void add_write(std::uint64_t offset, ConstBytes bytes, Structure structure);

  Placement& placement_;
  std::uint64_t expected_blocks_;
  std::uint64_t blocks_used_ = 0;
  AlignedBuffer buffer_;
  std::size_t filled_ = 0;      ///< bytes of buffer_ that are placed
  std::size_t next_bytes_ = 0;  ///< size of what next() handed out
  BlockRun run_;                ///< rest of the contiguous run, still in flight
  std::vector<IoRequest> writes_;
  std::deque<std::vector<std::byte>> lists_;  ///< fragment lists of the batch
};

}  // namespace cordwood
