#include "frame/node_cache.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace cordwood {

namespace {

constexpr std::size_t kSlabBytes = 4_MiB;
/// Steps of the clock hand for one frame before the budget is exceeded instead.
constexpr std::size_t kClockStepsMax = 4096;

std::atomic<std::uint64_t> next_serial{1};

}  // namespace

NodeCache::NodeCache(Placement& placement, NodeTable& table, std::uint64_t volume_id,
                     Generation generation, std::size_t budget_bytes, PageMemory& memory,
                     Counters& counters, Tracer tracer)
    : placement_(placement),
      table_(table),
      volume_id_(volume_id),
      node_bytes_(placement.layout().node_bytes),
      node_blocks_(placement.layout().blocks_per_node()),
      counters_(counters),
      trace_(tracer),
      serial_(next_serial.fetch_add(1)),
      frames_max_(std::max<std::size_t>(budget_bytes / node_bytes_, 16)),
      generation_(generation.value),
      memory_(memory) {
  if (node_blocks_ > 1) {
    node_blocks_ += fragment_list_blocks(node_blocks_, placement.layout().block_bytes);
  }
}

NodeCache::~NodeCache() = default;

// ---- frames ----

Frame& NodeCache::new_frame(bool inner) {
  if (slabs_.empty() || slab_used_ + node_bytes_ > kSlabBytes) {
    slabs_.emplace_back(memory_, kSlabBytes);
    slab_used_ = 0;
  }
  std::byte* data = slabs_.back().data() + slab_used_;
  slab_used_ += node_bytes_;
  // Optimistic readers of inner frames may look before the first node arrives.
  if (inner) std::memset(data, 0, node_bytes_);
  return frames_.emplace_back(data, inner);
}

/// An empty frame that nobody else will take. Never fails: beyond the budget when all are in use.
Frame& NodeCache::acquire_frame(bool inner) {
  const std::lock_guard lock(frames_mutex_);
  auto& free = free_[inner ? 1 : 0];
  if (!free.empty()) {
    Frame& frame = *free.back();
    free.pop_back();
    frame.in_free_list = false;
    return frame;
  }
  if (frames_.size() >= frames_max_) {
    if (Frame* frame = evict(inner); frame != nullptr) return *frame;
  }
  return new_frame(inner);
}

/// Second chance clock over all frames. @pre frames_mutex_ held
Frame* NodeCache::evict(bool inner) {
  const std::size_t steps = std::min(2 * frames_.size(), kClockStepsMax);
  for (std::size_t step = 0; step < steps; ++step) {
    Frame& frame = frames_[clock_hand_];
    clock_hand_ = (clock_hand_ + 1) % frames_.size();
    if (frame.inner != inner || frame.id.load(std::memory_order_relaxed) == 0 ||
        frame.pins.load(std::memory_order_relaxed) != 0) {
      continue;
    }
    if (frame.referenced.exchange(false, std::memory_order_relaxed)) continue;
    if (!frame.latch.try_lock()) continue;
    const NodeId id = frame.node();
    // Acquire: what the checkpoint did to the node's entry before it unpinned comes first.
    const bool idle = id.value != 0 && frame.pins.load(std::memory_order_acquire) == 0 &&
                      frame.dirty_generation == 0 && !frame.in_dirty_list[0] &&
                      !frame.in_dirty_list[1];
    if (idle) {
      table_.resident_slot(id).frame->store(nullptr, std::memory_order_release);
      frame.id.store(0, std::memory_order_release);
      resident_.fetch_sub(1, std::memory_order_relaxed);
    }
    frame.latch.unlock();
    if (!idle) continue;
    counters_.add(Counter::kNodeEvictions);
    trace_(EventKind::kNodeEvict, id.value);
    return &frame;
  }
  return nullptr;
}

/// Makes an empty frame available again, once nothing refers to it. @pre latched exclusive
void NodeCache::recycle(Frame& frame) {
  if (frame.node().value != 0 || frame.pins.load(std::memory_order_relaxed) != 0 ||
      frame.in_dirty_list[0] || frame.in_dirty_list[1]) {
    return;
  }
  const std::lock_guard lock(frames_mutex_);
  if (std::exchange(frame.in_free_list, true)) return;
  free_[frame.inner ? 1 : 0].push_back(&frame);
}

/// A frame takes on a node. @pre latched exclusive, empty
void NodeCache::occupy(Frame& frame, NodeId id, Key low, Key high) {
  frame.set_low(low);
  frame.set_high(high);
  frame.dirty_generation = 0;
  frame.next_insert_slot = 0;
  frame.change_epoch = 0;
  frame.chunks.clear();
  frame.erased.clear();
  frame.referenced.store(true, std::memory_order_relaxed);
  frame.id.store(id.value, std::memory_order_release);
  resident_.fetch_add(1, std::memory_order_relaxed);
}

Frame* NodeCache::resident(NodeId id) const {
  const NodeTable::Slot slot = table_.resident_slot(id);
  return slot.frame == nullptr ? nullptr : slot.frame->load(std::memory_order_acquire);
}

bool NodeCache::pin(Frame& frame, NodeId id) {
  // Under the latch, since eviction looks at the pins under it too.
  frame.latch.lock_shared();
  const bool held = frame.node() == id;
  if (held) frame.pins.fetch_add(1, std::memory_order_relaxed);
  frame.latch.unlock_shared();
  return held;
}

Frame* NodeCache::pin_resident(NodeId id) {
  Frame* frame = resident(id);
  return frame != nullptr && pin(*frame, id) ? frame : nullptr;
}

void NodeCache::unpin(Frame& frame) { frame.pins.fetch_sub(1, std::memory_order_release); }

// ---- nodes ----

Result<Frame*> NodeCache::load(NodeId id, std::uint8_t level, Key low, Key high,
                               FunctionRef<bool()> fences_current) {
  const std::lock_guard lock(load_mutex(id));
  const NodeTable::Slot slot = TRY(table_.slot(id));
  if (Frame* frame = slot.frame->load(std::memory_order_acquire); frame != nullptr) return frame;
  // Nobody else can load the node while we hold its mutex, so it cannot become dirty, so the
  // checkpoint does not touch its entry.
  const TableEntry entry = *slot.entry;
  if (entry.place.empty()) return corrupt(Place::kNode, id.value, "node has no place");
  Frame& frame = acquire_frame(level > 0);
  frame.latch.lock();
  const auto read = read_node(frame, entry, id, level, low, high);
  const bool usable = read && fences_current();
  if (usable) {
    occupy(frame, id, low, high);
    slot.frame->store(&frame, std::memory_order_release);
  } else {
    recycle(frame);
  }
  frame.latch.unlock();
  if (!read) return read.error();
  if (!usable) return nullptr;
  counters_.add(Counter::kNodeLoads);
  trace_(EventKind::kNodeLoad, id.value);
  return &frame;
}

Result<void> NodeCache::read_node(Frame& frame, const TableEntry& entry, NodeId id,
                                  std::uint8_t level, Key low, Key high) {
  if (level == 0) {
    TRY(placement_.read(entry, Structure::kNode, {frame.data, node_bytes_}, Place::kNode,
                        id.value));
    TRY(verify_node_header(frame.data, volume_id_, id, level));
    return leaf(frame).verify(low, high, true);
  }
  // Optimistic readers may look at the frame: its words change one by one, from a verified copy.
  const AlignedBuffer copy = allocate_aligned(node_bytes_);
  TRY(placement_.read(entry, Structure::kNode, {copy.get(), node_bytes_}, Place::kNode, id.value));
  TRY(verify_node_header(copy.get(), volume_id_, id, level));
  TRY(Inner::verify(copy.get(), node_bytes_, low, high, level, table_.id_limit()));
  inner(frame).load(copy.get());
  return {};
}

Result<Frame*> NodeCache::create(std::uint8_t level, Key low, Key high, Reservation& reservation) {
  const NodeId id =
      TRY(table_.allocate_id(reservation, generation_.load(std::memory_order_relaxed)));
  Frame& frame = acquire_frame(level > 0);
  frame.latch.lock();
  if (level == 0) {
    leaf(frame).initialize(volume_id_, id.value);
  } else {
    inner(frame).initialize(volume_id_, id.value, level);
  }
  occupy(frame, id, low, high);
  table_.resident_slot(id).frame->store(&frame, std::memory_order_release);
  begin_change(frame, reservation);
  return &frame;
}

void NodeCache::discard(Frame& frame, Reservation& reservation) {
  const NodeId id = frame.node();
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (frame.dirty_generation == generation) {
    reservation.add(node_blocks_);
    reserved_[current_].fetch_sub(node_blocks_, std::memory_order_relaxed);
    dirty_count_[current_].fetch_sub(1, std::memory_order_relaxed);
  } else if (frame.dirty_generation != 0) {
    preserve_frozen(frame);
  }
  CW_CHECK(frame.erased.empty());
  frame.dirty_generation = 0;
  frame.change_epoch = 0;
  table_.resident_slot(id).frame->store(nullptr, std::memory_order_release);
  frame.id.store(0, std::memory_order_release);
  resident_.fetch_sub(1, std::memory_order_relaxed);
  // Only now may somebody else get this id.
  table_.free_id(id, reservation, generation);
  recycle(frame);
  frame.latch.unlock();
}

// ---- becoming dirty ----

/// The first change of a frame in an epoch, and perhaps in a generation.
void NodeCache::begin_change(Frame& frame, Reservation& reservation) {
  if (frame.dirty_generation != generation_.load(std::memory_order_relaxed)) {
    become_dirty(frame, reservation);
  }
  if (!frame.inner) {
    leave_epoch(frame);
    const std::lock_guard lock(epoch_mutex_);
    changed_leaves_.push_back(&frame);
    changed_count_.store(changed_leaves_.size(), std::memory_order_relaxed);
  }
  frame.change_epoch = epoch_.load(std::memory_order_relaxed);
}

/// Forgets what changed in an earlier epoch; while that one is being captured a copy stays.
void NodeCache::leave_epoch(Frame& frame) {
  if (frame.change_epoch == 0) return;
  if (frame.change_epoch == capturing_.load(std::memory_order_relaxed)) {
    LeftCopy copy;
    copy.image = spare_image();
    std::memcpy(copy.image.get(), frame.data, node_bytes_);
    copy.chunks = frame.chunks;
    std::swap(copy.erased, frame.erased);
    const std::lock_guard lock(epoch_mutex_);
    // Not if the capture was given up just now.
    if (frame.change_epoch == capturing_.load(std::memory_order_relaxed)) {
      left_copies_.emplace(&frame, std::move(copy));
    }
  }
  frame.change_epoch = 0;
  frame.chunks.clear();
  frame.erased.clear();
}

AlignedBuffer NodeCache::spare_image() {
  {
    const std::lock_guard lock(frames_mutex_);
    if (!spare_images_.empty()) {
      AlignedBuffer image = std::move(spare_images_.back());
      spare_images_.pop_back();
      return image;
    }
  }
  return allocate_aligned(node_bytes_);
}

/// Keeps the content of the frozen generation for the checkpoint. @pre dirty in the frozen generation
void NodeCache::preserve_frozen(Frame& frame) {
  frame.frozen_image = spare_image();
  std::memcpy(frame.frozen_image.get(), frame.data, node_bytes_);
  frame.frozen_id = frame.node().value;
  counters_.add(Counter::kFrozenCopies);
}

void NodeCache::become_dirty(Frame& frame, Reservation& reservation) {
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (frame.dirty_generation != 0) preserve_frozen(frame);
  frame.dirty_generation = generation;
  const unsigned parity = current_;
  if (!frame.in_dirty_list[parity]) {
    frame.in_dirty_list[parity] = true;
    Frame* head = dirty_[parity].load(std::memory_order_relaxed);
    do {
      frame.next_dirty[parity] = head;
    } while (!dirty_[parity].compare_exchange_weak(head, &frame, std::memory_order_release,
                                                   std::memory_order_relaxed));
  }
  reservation.take_surely(node_blocks_);
  reserved_[parity].fetch_add(node_blocks_, std::memory_order_relaxed);
  dirty_count_[parity].fetch_add(1, std::memory_order_relaxed);
  table_.reserve_path(frame.node(), reservation, generation);
  trace_(EventKind::kNodeDirty, frame.node().value, generation);
}

std::uint64_t NodeCache::blocks_per_dirty_node() const {
  return node_blocks_ + table_.path_blocks();
}

std::uint64_t NodeCache::dirty_bytes() const {
  return (dirty_count_[0].load(std::memory_order_relaxed) +
          dirty_count_[1].load(std::memory_order_relaxed)) *
         node_bytes_;
}

std::uint64_t NodeCache::resident_nodes() const {
  return resident_.load(std::memory_order_relaxed);
}

// ---- the log ----

Epoch NodeCache::last_change() const {
  const std::lock_guard lock(epoch_mutex_);
  const std::uint64_t current = epoch_.load(std::memory_order_relaxed);
  return {changed_leaves_.empty() ? current - 1 : current};
}

std::vector<NodeCache::ChangedLeaf> NodeCache::cut_epoch() {
  CW_CHECK(capturing_.load(std::memory_order_relaxed) == 0);
  std::vector<ChangedLeaf> changed;
  const std::lock_guard lock(epoch_mutex_);
  changed.reserve(changed_leaves_.size());
  for (Frame* const frame : changed_leaves_) changed.push_back({frame->low(), frame});
  changed_leaves_.clear();
  changed_count_.store(0, std::memory_order_relaxed);
  capturing_.store(epoch_.fetch_add(1, std::memory_order_release), std::memory_order_relaxed);
  return changed;
}

void NodeCache::capture(const ChangedLeaf& changed,
                        FunctionRef<void(const Leaf&, ErasedKeys&)> visit) {
  Frame& frame = *changed.frame;
  frame.latch.lock();
  if (frame.change_epoch == capturing_.load(std::memory_order_relaxed)) {
    visit(leaf(frame), frame.erased);
    frame.change_epoch = 0;
    frame.chunks.clear();
    frame.erased.clear();
    frame.latch.unlock();
    return;
  }
  frame.latch.unlock();
  LeftCopy copy;
  {
    const std::lock_guard lock(epoch_mutex_);
    const auto found = left_copies_.find(&frame);
    if (found == left_copies_.end()) return;
    copy = std::move(found->second);
    left_copies_.erase(found);
  }
  visit(Leaf(copy.image.get(), node_bytes_, &copy.chunks), copy.erased);
  const std::lock_guard lock(frames_mutex_);
  spare_images_.push_back(std::move(copy.image));
}

void NodeCache::end_capture() {
  const std::lock_guard lock(epoch_mutex_);
  capturing_.store(0, std::memory_order_relaxed);
  left_copies_.clear();
}

// ---- the checkpoint ----

void NodeCache::freeze() {
  CW_CHECK(dirty_[1 - current_].load(std::memory_order_relaxed) == nullptr);
  current_ = 1 - current_;
  generation_.fetch_add(1, std::memory_order_release);
}

std::vector<NodeCache::FrozenNode> NodeCache::frozen_nodes() {
  const unsigned parity = 1 - current_;
  const std::uint64_t frozen = generation_.load(std::memory_order_relaxed) - 1;
  std::vector<FrozenNode> nodes;
  nodes.reserve(dirty_count_[parity].load(std::memory_order_relaxed));
  Frame* next = dirty_[parity].exchange(nullptr, std::memory_order_acquire);
  while (next != nullptr) {
    Frame& frame = *next;
    frame.latch.lock();
    next = frame.next_dirty[parity];
    frame.in_dirty_list[parity] = false;
    if (frame.frozen_image) {
      nodes.push_back({&frame, {frame.frozen_id}, frame.low()});
      frame.pins.fetch_add(1, std::memory_order_relaxed);
    } else if (frame.dirty_generation == frozen) {
      nodes.push_back({&frame, frame.node(), frame.low()});
      frame.pins.fetch_add(1, std::memory_order_relaxed);
    } else {
      recycle(frame);  // it left the tree before the freeze
    }
    frame.latch.unlock();
  }
  dirty_count_[parity].store(nodes.size(), std::memory_order_relaxed);
  // Leaves in key order first, so that a scan later reads the device in order; inner nodes behind.
  std::sort(nodes.begin(), nodes.end(), [](const FrozenNode& a, const FrozenNode& b) {
    if (a.frame->inner != b.frame->inner) return b.frame->inner;
    return a.low != b.low ? a.low < b.low : a.id < b.id;
  });
  return nodes;
}

void NodeCache::pack_frozen(const FrozenNode& node, std::byte* target, Generation generation) {
  Frame& frame = *node.frame;
  frame.latch.lock();
  std::byte* source = frame.frozen_image ? frame.frozen_image.get() : frame.data;
  if (frame.inner) {
    Inner(source, node_bytes_).pack(target);
  } else {
    Leaf(source, node_bytes_).pack(target);
  }
  if (frame.frozen_image) {
    const std::lock_guard lock(frames_mutex_);
    spare_images_.push_back(std::move(frame.frozen_image));
  } else {
    frame.dirty_generation = 0;
  }
  frame.latch.unlock();
  store_le(target + offsetof(NodeHeader, generation), generation.value);
}

void NodeCache::finish_frozen(const FrozenNode& node) {
  Frame& frame = *node.frame;
  dirty_count_[1 - current_].fetch_sub(1, std::memory_order_relaxed);
  if (frame.pins.fetch_sub(1, std::memory_order_release) != 1 || frame.node().value != 0) return;
  frame.latch.lock();
  recycle(frame);
  frame.latch.unlock();
}

// ---- inspection ----

void NodeCache::for_each_resident(FunctionRef<void(const FrameInfo&)> visit) {
  std::size_t count = 0;
  {
    const std::lock_guard lock(frames_mutex_);
    count = frames_.size();
  }
  for (std::size_t i = 0; i < count; ++i) {
    Frame* frame = nullptr;
    {
      const std::lock_guard lock(frames_mutex_);
      frame = &frames_[i];
    }
    frame->latch.lock_shared();
    FrameInfo info;
    info.id = frame->node();
    if (info.id.value != 0) {
      info.dirty = frame->dirty_generation != 0;
      info.low = frame->low();
      info.high = frame->high();
      if (frame->inner) {
        info.level = inner(*frame).level();
        info.count = inner(*frame).count();
        info.used_bytes = info.count * 24;
      } else {
        info.count = leaf(*frame).count();
        info.used_bytes = leaf(*frame).used_bytes();
      }
    }
    frame->latch.unlock_shared();
    if (info.id.value != 0) visit(info);
  }
}

}  // namespace cordwood
