#include "volume/engine.hpp"

#include <algorithm>

namespace cordwood {

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
  const std::size_t dirty_bytes_max =
      options.dirty_bytes_max != 0 ? options.dirty_bytes_max : options.cache_bytes / 2;
  checkpointer.emplace(Checkpointer::Parts{*placement, *table, *cache, *tree}, opened, clock, trace,
                       dirty_bytes_max);
  const auto item_max = static_cast<std::uint32_t>(max_item_bytes(layout.node_bytes));
  const auto inline_max =
      std::min(options.inline_max, item_max - static_cast<std::uint32_t>(sizeof(ExtentHeader)));
  context.emplace(FsContext{device, *space, *cache, *tree, *checkpointer, clock, counters, layout,
                            NameHasher{opened.volume_seed(), opened.name_hash_bits}, inline_max});
  filesystem.emplace(*context, Filesystem::Start{opened.next_inode, opened.inode_count});
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
