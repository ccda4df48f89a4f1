#include "volume/engine.hpp"

#include <algorithm>

namespace cordwood {

namespace {

class MountedBase final : public ReplayBase {
 public:
  explicit MountedBase(BTree& tree) : tree_(tree) {}

  Result<bool> holds(Key key, ConstBytes item) override {
    bool same = false;
    TRY(tree_.read(key, [&](ConstBytes found) {
      same = std::equal(found.begin(), found.end(), item.begin(), item.end());
    }));
    return same;
  }

 private:
  BTree& tree_;
};

}  // namespace

Volume::Engine::Engine(BlockDevice& block_device, const MountOptions& mount_options,
                       const Superblock& current, const Layout& its_layout)
    : device(block_device),
      options(mount_options),
      opened(current),
      layout(its_layout),
      clock(options.clock != nullptr ? *options.clock : system_clock()),
      trace(options.trace) {}

Volume::Engine::~Engine() = default;

Result<void> Volume::Engine::start() {
  TRY(start_nodes());
  start_tree({{opened.root_node}, static_cast<std::uint8_t>(opened.root_level)});
  TRY(replay_log());
  start_upper_layers();
  return {};
}

Result<void> Volume::Engine::start_empty() {
  TRY(start_nodes());
  const std::uint64_t blocks = cache->blocks_per_dirty_node();
  if (!space->try_reserve(blocks, ReserveClass::kNormal)) {
    return make_error(Errc::kNoSpace, "the device has no room for a single node of this size");
  }
  Reservation reservation(*space, blocks);
  Frame* const root = TRY(cache->create(0, kMinKey, kMaxKey, reservation));
  const NodeId id = root->node();
  root->latch.unlock();
  start_tree({id, 0});
  replay.end = {opened.log_sequence, opened.log_block};
  start_upper_layers();
  return {};
}

Result<void> Volume::Engine::start_nodes() {
  const std::uint64_t seed = opened.volume_seed();
  space = TRY(Space::open(device, layout, seed, opened.group_root, counters, trace));
  placement.emplace(device, layout, seed, *space, counters);
  table.emplace(*placement, opened);
  cache.emplace(*placement, *table, opened.volume_id(), Generation{opened.generation + 1},
                options.cache_bytes,
                options.memory != nullptr ? *options.memory : heap_page_memory(), counters, trace);
  return {};
}

void Volume::Engine::start_tree(TreeRoot root) {
  tree.emplace(*cache, options.policy, counters, trace, root);
}

Result<void> Volume::Engine::replay_log() {
  MountedBase base(*tree);
  replay = TRY(plan_replay(device, layout, opened, base));
  if (replay.damage && !options.discard_log) return *replay.damage;
  if (replay.records == 0) return {};
  return apply_replay(replay, device, layout, opened, *tree, *cache, *space);
}

Result<void> Volume::Engine::finish_replay() {
  const bool closed = opened.mount_state == static_cast<std::uint32_t>(MountState::kClean);
  if (options.read_only || (closed && replay.records == 0)) return {};
  return checkpointer->checkpoint(MountState::kMounted, Checkpointer::Need::kAlways);
}

void Volume::Engine::start_upper_layers() {
  // After a crash the ring may hold records that do not count. New ones get sequences that are far from
  // theirs, so that nothing ever continues the one with the other.
  constexpr std::uint64_t kSequencesSkipped = std::uint64_t{1} << 20;
  const bool closed = opened.mount_state == static_cast<std::uint32_t>(MountState::kClean);
  LogPosition start = replay.end;
  start.block %= layout.log.count;
  if (!closed || replay.records != 0) start.sequence += kSequencesSkipped;
  log.emplace(Log::Parts{device, layout, *cache, flushes, clock, counters}, opened, start,
              options.policy, trace);
  Checkpointer::Limits limits;
  limits.dirty_bytes_max =
      options.dirty_bytes_max != 0 ? options.dirty_bytes_max : options.cache_bytes / 2;
  limits.log_ahead_bytes = options.log_ahead_bytes;
  checkpointer.emplace(Checkpointer::Parts{*placement, *table, *cache, *tree, *log}, opened, clock,
                       trace, limits);
  committer.emplace(*checkpointer, *log, counters);
  const auto item_max = static_cast<std::uint32_t>(max_item_bytes(layout.node_bytes));
  const auto inline_max =
      std::min(options.inline_max, item_max - static_cast<std::uint32_t>(sizeof(ExtentHeader)));
  context.emplace(FsContext{device, *space, *cache, *tree, *checkpointer, *committer, flushes,
                            clock, counters, layout,
                            NameHasher{opened.volume_seed(), opened.name_hash_bits}, inline_max});
  const bool replayed = replay.records != 0;
  filesystem.emplace(*context,
                     Filesystem::Start{replayed ? replay.next_inode : opened.next_inode,
                                       replayed ? replay.inode_count : opened.inode_count});
  checkpointer->set_participant(&*filesystem);
  space->set_emergency_blocks(emergency_blocks());
}

/// What deletions may count on when the volume is full: an operation of a few items in a tree as high
/// as this device can ever make it, once being written and once under way.
std::uint64_t Volume::Engine::emergency_blocks() const {
  constexpr std::uint64_t kItems = 8;
  const std::uint64_t nodes_max = layout.device_blocks / layout.blocks_per_node();
  std::uint64_t levels = 0;
  for (std::uint64_t rest = nodes_max; rest > 1; ++levels) {
    rest = divide_up<std::uint64_t>(rest, inner_capacity(layout.node_bytes) / 2);
  }
  const std::uint64_t nodes = std::min(kItems * (4 + 2 * levels), nodes_max);
  return std::min(2 * nodes * cache->blocks_per_dirty_node(), layout.device_blocks / 8);
}

}  // namespace cordwood
