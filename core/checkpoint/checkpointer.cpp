#include "checkpoint/checkpointer.hpp"

#include <array>
#include <vector>

#include "base/check.hpp"

namespace cordwood {

// ---- operations ----

Operation::~Operation() {
  if (checkpointer_ == nullptr) return;
  reservation.release();
  checkpointer_->gate_.leave();
}

Error Operation::fail(Error error) {
  checkpointer_->fail(error);
  return error;
}

Checkpointer::Checkpointer(const Parts& parts, const Superblock& current, Clock& clock,
                           Tracer tracer, const Limits& limits)
    : placement_(parts.placement),
      space_(parts.placement.space()),
      table_(parts.table),
      cache_(parts.cache),
      tree_(parts.tree),
      clock_(clock),
      counters_(parts.placement.counters()),
      trace_(tracer),
      limits_(limits),
      log_(parts.log),
      superblock_(current) {}

Result<Operation> Checkpointer::begin(const OperationCost& cost) {
  if (read_only_) return make_error(Errc::kReadOnly, "the volume is open read-only");
  TRY(relieve_pressure());
  TRY(run_ahead());
  counters_.add(Counter::kOperations);
  const std::uint64_t blocks =
      tree_.nodes_for_items(cost.items) * cache_.blocks_per_dirty_node() + cost.data_blocks;
  if (!space_.try_reserve(blocks, cost.reserve_class)) {
    // What earlier operations dropped becomes free with a checkpoint, and what dirty nodes hold in
    // reserve beyond their need comes back.
    TRY(checkpoint());
    if (!space_.try_reserve(blocks, cost.reserve_class)) {
      return make_error(Errc::kNoSpace, "no space left on the volume");
    }
  }
  Reservation reservation(space_, blocks);
  gate_.enter();
  // Destroying it leaves the gate.
  Operation operation(*this, std::move(reservation), cache_.generation());
  if (failed_.load(std::memory_order_acquire)) return *failure();
  return operation;
}

/// Too much dirty, or too much in the log: one thread makes a checkpoint while the others go on, up to a
/// hard limit.
Result<void> Checkpointer::relieve_pressure() {
  const auto under_pressure = [&] {
    return cache_.dirty_bytes() > limits_.dirty_bytes_max || log_.wants_checkpoint();
  };
  if (!under_pressure()) return {};
  std::unique_lock lock(checkpoint_mutex_, std::try_to_lock);
  if (!lock) {
    if (cache_.dirty_bytes() <= limits_.dirty_bytes_max + limits_.dirty_bytes_max / 2) return {};
    lock.lock();
  }
  if (!under_pressure()) return {};
  return checkpoint_locked(MountState::kMounted);
}

/// Writes to the log what an fsync would have to, so that one that comes finds little left to do.
Result<void> Checkpointer::run_ahead() {
  if (limits_.log_ahead_bytes == 0 || cache_.changed_bytes() < limits_.log_ahead_bytes) return {};
  const std::unique_lock lock(log_.mutex(), std::try_to_lock);
  if (!lock || !can_append() || cache_.changed_bytes() < limits_.log_ahead_bytes) return {};
  const auto appended =
      log_.append(TRY(cut()), Generation{superblock().generation}, Log::Durability::kLater);
  if (appended) return {};
  fail(appended.error());
  return appended.error();
}

Result<void> Checkpointer::checkpoint(MountState state, Need need) {
  const std::lock_guard lock(checkpoint_mutex_);
  return checkpoint_locked(state, need);
}

// ---- failure ----

void Checkpointer::fail(const Error& error) {
  const std::lock_guard lock(state_mutex_);
  if (failure_) return;
  failure_ = error;
  failure_->code = Errc::kFailed;
  failed_.store(true, std::memory_order_release);
}

std::optional<Error> Checkpointer::failure() const {
  if (!failed_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(state_mutex_);
  return failure_;
}

Superblock Checkpointer::superblock() const {
  const std::lock_guard lock(state_mutex_);
  return superblock_;
}

Generation Checkpointer::durable_generation() const {
  const std::lock_guard lock(state_mutex_);
  return {superblock_.generation};
}

// ---- the checkpoint ----

Result<void> Checkpointer::checkpoint_locked(MountState state, Need need) {
  if (read_only_) return {};
  if (auto failed = failure()) return *failed;
  const bool same_state = superblock_.mount_state == static_cast<std::uint32_t>(state);
  const bool changed = cache_.dirty_bytes() != 0 || space_.pending_free_blocks() != 0;
  if (!changed && same_state && need == Need::kIfChanged) return {};
  repack();
  const auto written = [&]() -> Result<void> { return write_out(TRY(freeze(state))); }();
  // After a failed write nobody knows what the device holds: no retry that then "succeeds".
  if (!written) fail(written.error());
  return written;
}

void Checkpointer::repack() {
  constexpr std::uint64_t kRepackNodes = 64;
  const std::uint64_t blocks = kRepackNodes * cache_.blocks_per_dirty_node();
  if (!space_.try_reserve(blocks, ReserveClass::kNormal)) return;
  Reservation reservation(space_, blocks);
  gate_.enter();
  if (!failed_.load(std::memory_order_acquire)) tree_.repack_dirty(reservation);
  gate_.leave();
}

Result<void> Checkpointer::mend_log() {
  const std::lock_guard lock(checkpoint_mutex_);
  {
    // Perhaps the checkpoint that we have waited for did it.
    const std::lock_guard log_lock(log_.mutex());
    if (can_append()) return {};
  }
  return checkpoint_locked(MountState::kMounted);
}

bool Checkpointer::can_append() const {
  const std::lock_guard lock(state_mutex_);
  return log_.chain_is_whole() &&
         superblock_.mount_state == static_cast<std::uint32_t>(MountState::kMounted);
}

// ---- cuts ----

/// Closes the gate and ends the epoch; on success the gate stays closed.
Result<Log::Cut> Checkpointer::close_and_cut() {
  gate_closed_at_ = clock_.monotonic_ns();
  gate_.close();
  Log::Cut cut;
  if (participant_ != nullptr && !failed_.load(std::memory_order_acquire)) {
    const CutParticipant::Counts counts = participant_->before_cut();
    cut.next_inode = counts.next_inode;
    cut.inode_count = counts.inode_count;
  }
  // After an operation that failed midway, or if the way to a leaf could not be read just now, this cut
  // would lack a part of what operations did.
  if (auto failed = failure()) {
    open_gate();
    return *failed;
  }
  cut.epoch = cache_.epoch();
  cut.leaves = cache_.cut_epoch();
  return cut;
}

void Checkpointer::open_gate() {
  gate_.open();
  const std::uint64_t closed_ns = clock_.monotonic_ns() - gate_closed_at_;
  counters_.add(Counter::kGateClosedNs, closed_ns);
  gate_closed_ns_.add(closed_ns);
}

Result<Log::Cut> Checkpointer::cut() {
  auto cut = close_and_cut();
  if (cut) open_gate();
  return cut;
}

/// Closes the gate for as long as it takes to fix the state that the checkpoint will write. A small
/// rest that the log lacks is appended to it, so that it can go on while the checkpoint is written.
Result<Checkpointer::Frozen> Checkpointer::freeze(MountState state) {
  constexpr std::uint64_t kRestBytesMax = 1_MiB;
  const std::lock_guard log_lock(log_.mutex());
  const Log::Cut cut = TRY(close_and_cut());
  Superblock next = superblock();
  if (participant_ != nullptr) {
    next.next_inode = cut.next_inode;
    next.inode_count = cut.inode_count;
  }
  const TreeRoot root = tree_.root();
  next.generation = cache_.generation().value;
  next.root_node = root.node.value;
  next.root_level = root.level;
  next.mount_state = static_cast<std::uint32_t>(state);
  cache_.freeze();
  table_.freeze();
  space_.freeze();
  open_gate();
  if (log_.in_use() && can_append() && state == MountState::kMounted) {
    TRY(log_.append(cut, Generation{next.generation - 1}, Log::Durability::kLater, kRestBytesMax));
  } else {
    cache_.end_capture();
    if (!cut.leaves.empty()) log_.break_chain(cut.epoch);
  }
  const LogPosition start = log_.position();
  next.log_sequence = start.sequence;
  next.log_block = start.block;
  next.written_seconds = clock_.now().seconds;
  return Frozen{next, cut.epoch, log_.head()};
}

Result<void> Checkpointer::write_out(Frozen frozen) {
  Superblock& next = frozen.superblock;
  const Generation generation{next.generation};
  const std::vector<NodeCache::FrozenNode> nodes = cache_.frozen_nodes();
  trace_(EventKind::kFreeze, generation.value, nodes.size());
  const std::uint64_t reserved = cache_.frozen_reserved_blocks() + table_.frozen_reserved_blocks();
  PlacementWriter writer(placement_, nodes.size() * cache_.node_bytes());
  TRY(write_nodes(writer, nodes, generation));
  TRY(table_.write_out(writer, next));
  TRY(writer.flush());
  next.group_root = TRY(space_.write_out(generation));
  next.free_blocks = space_.frozen_free_blocks();
  TRY(flush_device());
  TRY(write_superblock(next));

  // Durable. What the checkpoint before it held is free, and what was reserved too much.
  CW_CHECK(reserved >= writer.blocks_used());
  space_.unreserve(reserved - writer.blocks_used());
  space_.release_frozen();
  cache_.end_frozen();
  table_.end_frozen();
  {
    const std::lock_guard log_lock(log_.mutex());
    const std::lock_guard lock(state_mutex_);
    superblock_ = next;
    log_.on_checkpoint(frozen.epoch, frozen.log_head);
  }
  counters_.add(Counter::kCheckpoints);
  trace_(EventKind::kCheckpointDone, generation.value, nodes.size(),
         writer.blocks_used() * placement_.layout().block_bytes);
  return {};
}

Result<void> Checkpointer::write_nodes(PlacementWriter& writer,
                                       const std::vector<NodeCache::FrozenNode>& nodes,
                                       Generation generation) {
  TRY(table_.drop_freed());
  for (const NodeCache::FrozenNode& node : nodes) {
    const Bytes bytes = TRY(writer.next(cache_.node_bytes()));
    cache_.pack_frozen(node, bytes.data(), generation);
    const TableEntry entry = TRY(writer.place(Structure::kNode));
    TRY(table_.relocate(node.id, entry));
    trace_(EventKind::kNodeWrite, node.id.value, entry.place.block().value, generation.value);
  }
  TRY(writer.flush());
  counters_.add(Counter::kNodesWritten, nodes.size());
  // Only now may they be evicted: who loads them again finds them on the device.
  for (const NodeCache::FrozenNode& node : nodes) cache_.finish_frozen(node);
  return {};
}

Result<void> Checkpointer::flush_device() {
  BlockDevice& device = placement_.device();
  if (!device.geometry().volatile_cache) return {};
  counters_.add(Counter::kDeviceFlushes);
  return device.flush();
}

Result<void> Checkpointer::write_superblock(const Superblock& superblock) {
  BlockDevice& device = placement_.device();
  const DeviceGeometry geometry = device.geometry();
  const Layout& layout = placement_.layout();
  const std::uint64_t device_bytes = layout.device_blocks * layout.block_bytes;
  const auto slot = static_cast<std::uint32_t>(superblock.generation % 2);
  const AlignedBuffer pages = allocate_aligned(2 * kPageBytes);
  std::array<IoRequest, 2> writes;
  for (std::uint32_t copy = 0; copy < 2; ++copy) {
    const std::uint64_t place = superblock_byte(slot + 2 * copy, device_bytes);
    const Bytes page(pages.get() + std::size_t{copy} * kPageBytes, kPageBytes);
    superblock.store(page, place);
    writes[copy] = IoRequest::write(place, page, geometry.fua);
  }
  counters_.add(Counter::kDeviceWrites, writes.size());
  counters_.add(Counter::kSuperblockBytesWritten, 2 * kPageBytes);
  TRY(device.submit(writes));
  return geometry.fua ? Result<void>{} : flush_device();
}

}  // namespace cordwood
