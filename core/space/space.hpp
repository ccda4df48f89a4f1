#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/group.hpp"
#include "format/layout.hpp"
#include "trace/counters.hpp"
#include "trace/trace.hpp"

namespace cordwood {

/// Who may take the last blocks.
enum class ReserveClass : std::uint8_t {
  kNormal,     ///< leaves the emergency reserve alone
  kEmergency,  ///< unlink, rmdir, truncate: may use all of it
  kReplay,     ///< always granted: what the log tells fitted once
};

/// Which stream an allocation belongs to; each keeps its own place, so that they do not interleave.
enum class AllocationStream : std::uint8_t { kMetadata, kData };

/// The blocks of a volume: which are free, which are promised, which will be free.
///
/// A block is *free*; or *reserved* as a number only (promised to an operation or a dirty node, no
/// place yet); or *in flight* (placed, but no generation names it yet: a crash or a checkpoint must
/// not see it as used); or *used*; or *pending-free* (dropped in the generation under way or in the
/// frozen one: used on the medium's last checkpoint, so it may not be written yet).
///
/// Invariants: available() = free - reserved >= 0. The bitmaps that write_out() stores for the frozen
/// generation g show as used exactly the blocks that state g refers to (plus the fixed structures):
/// not those in flight, not those committed after the freeze, not those freed up to the freeze.
/// Generations alternate between two sets of lists, so at most one frozen generation exists.
/// @threads reserve / allocate / commit / cancel / free from any thread; groups have their own
///          mutexes. freeze() with the gate closed. write_out / *_frozen / release_frozen from the
///          one checkpoint thread.
class Space {
 public:
  /// Opens the space of an existing volume: reads and verifies the group table (all levels). Bitmaps
  /// are read and verified when first needed.
  /// @errors corrupt (Place::kGroup / kByte), also when the device is too small; I/O.
  static Result<std::unique_ptr<Space>> open(BlockDevice& device, const Layout& layout,
                                             std::uint64_t volume_seed, GroupPageRef root,
                                             Counters& counters, Tracer tracer);
  /// Writes the group table of a fresh volume (every group "never written") to slot 0 of its pages and
  /// returns the root. Does not flush. Its space is then opened with open().
  static Result<GroupPageRef> format(BlockDevice& device, const Layout& layout,
                                     std::uint64_t volume_seed);
  ~Space();

  /// Blocks that are free on the medium or promised; what statfs shows as free.
  [[nodiscard]] std::uint64_t free_blocks() const;
  /// Blocks that a kNormal reservation could still get.
  [[nodiscard]] std::uint64_t available_blocks() const;
  /// Blocks that a finished checkpoint would make free.
  [[nodiscard]] std::uint64_t pending_free_blocks() const;
  [[nodiscard]] std::uint64_t reserved_blocks() const;
  void set_emergency_blocks(std::uint64_t blocks);
  [[nodiscard]] std::uint64_t emergency_blocks() const;

  /// Promises blocks without placing them. False when there are not enough. O(1), no lock.
  [[nodiscard]] bool try_reserve(std::uint64_t blocks, ReserveClass reserve_class);
  /// Gives back a promise.
  void unreserve(std::uint64_t blocks);

  /// Places one contiguous run, of at most `want` and at least `at_least` blocks, in flight. Uses up
  /// that many blocks of a reservation that the caller holds. Searches from the stream's place (or
  /// `goal` if not 0), through all groups, using each group's free count and longest run to skip.
  /// Prefers a run of the full `want`; falls back to the longest found that is >= at_least.
  /// @errors no_space when no run of at_least blocks exists (fragmented); corrupt / I/O from loading a
  ///         bitmap. The reservation is then unchanged.
  Result<BlockRun> allocate(std::uint64_t want, std::uint64_t at_least, AllocationStream stream,
                            BlockNumber goal = {});
  /// The current generation now refers to this in-flight run. Inside the gate. Cannot fail.
  void commit(BlockRun run);
  /// Gives an in-flight run back: free again at once (and no longer reserved).
  void cancel(BlockRun run);
  /// Gives an in-flight run back, but keeps the promise: free again, and reserved as before allocate().
  void put_back(BlockRun run);
  /// The current generation no longer refers to these used blocks: pending-free. Inside the gate.
  /// The run may span groups and may be a part of what was allocated.
  /// @errors corrupt when a block is not in use (double free) or outside; I/O. Then nothing changed.
  Result<void> free(BlockRun run);
  /// Marks a run as used without having allocated it (replay of a log, repair).
  /// @errors corrupt when a block of it is in use.
  Result<void> claim(BlockRun run, ReserveClass reserve_class = ReserveClass::kEmergency);

  // ---- the checkpoint ----
  /// The current generation becomes the frozen one. Gate closed; O(1).
  void freeze();
  /// Like commit() and free(), but for the frozen generation: what the checkpoint itself places/drops.
  void commit_frozen(BlockRun run);
  Result<void> free_frozen(BlockRun run);
  /// Writes the bitmaps that changed and the group pages above them to their other slots, in batches;
  /// returns the new root. Allocates nothing. Does not flush.
  /// @errors I/O.
  Result<GroupPageRef> write_out(Generation generation);
  /// Blocks that will be free once the frozen generation is durable (for the superblock's counter):
  /// the number of clear bits in all bitmaps as write_out() stored them.
  [[nodiscard]] std::uint64_t frozen_free_blocks() const;
  /// What release_frozen() will free, merged and in order; of more than `runs_max` runs the longest.
  /// For discarding: when the frozen generation is durable nothing refers to these blocks any more, and
  /// until release_frozen() nobody can be given one, so a discard cannot hit new content.
  [[nodiscard]] std::vector<BlockRun> frozen_pending_runs(std::size_t runs_max) const;
  /// The frozen generation is durable: its pending-free blocks become free.
  void release_frozen();

  // ---- inspection ----
  struct GroupInfo {
    std::uint64_t group = 0;
    std::uint32_t blocks = 0;  ///< that exist in this group
    std::uint32_t free_blocks = 0;
    std::uint32_t longest_free_run = 0;
    std::uint32_t pending_free = 0;
    bool loaded = false;
  };
  [[nodiscard]] std::vector<GroupInfo> groups() const;
  /// Copies the in-memory bitmap of a group (bit set = not free), loading it if needed.
  Result<std::vector<std::uint64_t>> bitmap(std::uint64_t group);

 private:
  struct State;
  explicit Space(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cordwood
