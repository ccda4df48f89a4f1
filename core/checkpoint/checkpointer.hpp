#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "checkpoint/gate.hpp"
#include "device/block_device.hpp"
#include "format/superblock.hpp"
#include "frame/node_cache.hpp"
#include "frame/node_table.hpp"
#include "log/log.hpp"
#include "space/reservation.hpp"
#include "space/space.hpp"
#include "trace/histogram.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// What a layer above the tree contributes to a cut of the log and to a freeze.
class CutParticipant {
 public:
  virtual ~CutParticipant() = default;
  /// Called with the gate closed: writes what is still only in memory into leaves that were touched
  /// beforehand (so it cannot fail), and tells the counters for the superblock.
  struct Counts {
    std::uint64_t next_inode = 0;
    std::uint64_t inode_count = 0;
  };
  virtual Counts before_cut() = 0;
};

class Checkpointer;

/// One changing operation: inside the gate, with blocks reserved. Ends when destroyed. Move-only.
/// If it fails after its first change, say so with fail(): the volume then refuses all further changes,
/// and nothing of the half-done operation ever reaches the device.
class Operation {
 public:
  Operation(Operation&& other) noexcept
      : checkpointer_(std::exchange(other.checkpointer_, nullptr)),
        reservation(std::move(other.reservation)),
        generation(other.generation) {}
  Operation& operator=(Operation&&) = delete;
  ~Operation();

  /// The error, after the volume was marked as failed.
  Error fail(Error error);

 private:
  friend class Checkpointer;
  Operation(Checkpointer& checkpointer, Reservation reserved, Generation now)
      : checkpointer_(&checkpointer), reservation(std::move(reserved)), generation(now) {}
  Checkpointer* checkpointer_;

 public:
  Reservation reservation;
  Generation generation;  ///< the one that this operation belongs to
};

/// What an operation may need at most.
struct OperationCost {
  std::uint64_t items = 0;        ///< items inserted, grown or erased
  std::uint64_t data_blocks = 0;  ///< blocks it will allocate for file data
  ReserveClass reserve_class = ReserveClass::kNormal;
};

/// Turns the state in memory into the state on the device, all or nothing: gate, freeze, write-out,
/// superblock. Also makes the cuts of the log, and keeps the volume's failure.
///
/// Mutexes, in order: checkpoint mutex, Log::mutex(), the gate.
/// @threads any.
class Checkpointer {
 public:
  /// The layers that a checkpoint writes.
  struct Parts {
    Placement& placement;
    NodeTable& table;
    NodeCache& cache;
    BTree& tree;
    Log& log;
  };
  /// @param current          the superblock of the last durable checkpoint.
  /// When begin() does more than it is asked for.
  struct Limits {
    std::size_t dirty_bytes_max =
        0;  ///< bytes of dirty nodes above which it makes a checkpoint first
    /// Bytes of leaves that the log lacks above which it appends them, without a flush; 0: never.
    std::size_t log_ahead_bytes = 0;
  };
  Checkpointer(const Parts& parts, const Superblock& current, Clock& clock, Tracer tracer,
               const Limits& limits);
  void set_participant(CutParticipant* participant) { participant_ = participant; }

  /// Reserves and enters the gate. Makes a checkpoint first when too much is dirty, when the log is more
  /// than half full, or when that would free the space that is missing.
  /// @errors kNoSpace; kFailed after an earlier failure; kReadOnly; errors of that checkpoint.
  /// @pre the caller is not inside the gate. Inode locks may be held.
  Result<Operation> begin(const OperationCost& cost);

  /// Makes everything that finished before the call durable.
  /// @pre the caller is not inside the gate.
  enum class Need : std::uint8_t { kIfChanged, kAlways };
  Result<void> checkpoint(MountState state = MountState::kMounted, Need need = Need::kIfChanged);
  /// Makes it possible to append to the log again: waits for the checkpoint under way, or makes one.
  Result<void> mend_log();
  /// Ends an epoch: what changed in it is to be appended to the log.
  /// @pre Log::mutex() is held
  /// @errors kFailed
  Result<Log::Cut> cut();
  /// Whether records may follow the last durable checkpoint: it says that the volume is mounted, and no
  /// epoch is missing since.
  /// @pre Log::mutex() is held
  [[nodiscard]] bool can_append() const;
  [[nodiscard]] HistogramSummary gate_closed_ns() const { return gate_closed_ns_.summary(); }

  void set_read_only() { read_only_ = true; }
  [[nodiscard]] bool read_only() const { return read_only_; }
  /// Remembers the first failure; every begin() and checkpoint() fails from now on.
  void fail(const Error& error);
  /// What begin() and checkpoint() return since a failure: kFailed, in the words of the cause.
  [[nodiscard]] std::optional<Error> failure() const;
  [[nodiscard]] Superblock superblock() const;
  /// Its generation alone: each commit asks, and a superblock is 4 KiB to copy.
  [[nodiscard]] Generation durable_generation() const;

 private:
  friend class Operation;
  Result<void> relieve_pressure();
  Result<void> run_ahead();
  Result<void> checkpoint_locked(MountState state, Need need = Need::kIfChanged);
  void repack();
  /// What a freeze fixed.
  struct Frozen {
    Superblock superblock;
    Epoch epoch;  ///< that it ended
    LogPosition log_head;
  };
  Result<Frozen> freeze(MountState state);
  Result<Log::Cut> close_and_cut();
  void open_gate();
  Result<void> write_out(Frozen frozen);
  Result<void> write_nodes(PlacementWriter& writer, const std::vector<NodeCache::FrozenNode>& nodes,
                           Generation generation);
  Result<void> flush_device();
  Result<void> write_superblock(const Superblock& superblock);

  Placement& placement_;
  Space& space_;
  NodeTable& table_;
  NodeCache& cache_;
  BTree& tree_;
  Clock& clock_;
  Counters& counters_;
  Tracer trace_;
  const Limits limits_;
  Log& log_;
  CutParticipant* participant_ = nullptr;
  Gate gate_;
  std::uint64_t gate_closed_at_ = 0;
  Histogram gate_closed_ns_;
  std::mutex checkpoint_mutex_;     ///< one checkpoint at a time
  mutable std::mutex state_mutex_;  ///< protects superblock_ and failure_
  Superblock superblock_;           ///< the last durable one
  std::optional<Error> failure_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> read_only_{false};
};

}  // namespace cordwood
