#pragma once

#include <memory>

#include "base/check.hpp"
#include "checkpoint/checkpointer.hpp"
#include "device/memory_device.hpp"
#include "format/superblock.hpp"
#include "frame/node_cache.hpp"
#include "frame/node_table.hpp"
#include "space/space.hpp"
#include "tree/btree.hpp"

namespace cordwood::test {

struct TreeRigOptions {
  std::uint64_t device_bytes = 64_MiB;
  std::uint32_t block_bytes = 4096;
  std::uint32_t node_bytes = 16384;
  TreePolicy policy;
  LogPolicy log_policy;
  std::size_t cache_bytes = 64_MiB;
  std::size_t dirty_bytes_max = 16_MiB;
};

/// The layers from space to checkpoint over one device, without files on top: what the tests of tree
/// and checkpoint stand on.
class TreeRig {
 public:
  /// A new volume with an empty root leaf, durable.
  static std::unique_ptr<TreeRig> format(BlockDevice& device, const TreeRigOptions& options) {
    const Layout layout =
        *Layout::compute(options.device_bytes, options.block_bytes, options.node_bytes);
    Superblock sb;
    sb.block_bytes = options.block_bytes;
    sb.node_bytes = options.node_bytes;
    sb.uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    sb.device_blocks = layout.device_blocks;
    sb.table_levels = 1;
    sb.next_node_id = 1;
    sb.next_inode = 2;
    sb.mount_state = 1;
    sb.log_first_block = layout.log.first.value;
    sb.log_blocks = layout.log.count;
    sb.log_sequence = 1;
    sb.group_root = *Space::format(device, layout, sb.volume_seed());
    auto rig = std::make_unique<TreeRig>(device, layout, sb, options, true);
    CW_CHECK(rig->checkpointer->checkpoint());
    return rig;
  }

  /// The volume that the newest valid superblock of the device names.
  static std::unique_ptr<TreeRig> open(BlockDevice& device, const TreeRigOptions& options) {
    const Layout layout =
        *Layout::compute(options.device_bytes, options.block_bytes, options.node_bytes);
    Superblock newest;
    for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
      const std::uint64_t place = superblock_byte(slot, options.device_bytes);
      std::vector<std::byte> page(kPageBytes);
      CW_CHECK(device.read(place, page));
      const auto sb = Superblock::parse(page, place);
      if (sb && sb->generation > newest.generation) newest = *sb;
    }
    CW_CHECK(newest.generation != 0);
    return std::make_unique<TreeRig>(device, layout, newest, options, false);
  }

  TreeRig(BlockDevice& device, const Layout& volume_layout, const Superblock& sb,
          const TreeRigOptions& options, bool fresh)
      : layout(volume_layout) {
    space = *Space::open(device, layout, sb.volume_seed(), sb.group_root, counters, Tracer());
    space->set_emergency_blocks(layout.device_blocks / 16);
    placement = std::make_unique<Placement>(device, layout, sb.volume_seed(), *space, counters);
    table = std::make_unique<NodeTable>(*placement, sb);
    cache = std::make_unique<NodeCache>(*placement, *table, sb.volume_id(),
                                        Generation{sb.generation + 1}, options.cache_bytes,
                                        heap_page_memory(), counters, Tracer());
    TreeRoot root{{sb.root_node}, static_cast<std::uint8_t>(sb.root_level)};
    if (fresh) {
      const std::uint64_t blocks = 2 * cache->blocks_per_dirty_node();
      CW_CHECK(space->try_reserve(blocks, ReserveClass::kNormal));
      Reservation reservation(*space, blocks);
      Frame* frame = *cache->create(0, kMinKey, kMaxKey, reservation);
      frame->latch.unlock();
      root.node = frame->node();
    }
    tree = std::make_unique<BTree>(*cache, options.policy, counters, Tracer(), root);
    const LogPosition start{sb.log_sequence, sb.log_block};
    log = std::make_unique<Log>(Log::Parts{device, layout, *cache, flushes, clock, counters}, sb,
                                start, options.log_policy, Tracer());
    checkpointer = std::make_unique<Checkpointer>(
        Checkpointer::Parts{*placement, *table, *cache, *tree, *log}, sb, clock, Tracer(),
        Checkpointer::Limits{options.dirty_bytes_max, 0});
  }

  Layout layout;
  Counters counters;
  ManualClock clock;
  std::unique_ptr<Space> space;
  std::unique_ptr<Placement> placement;
  std::unique_ptr<NodeTable> table;
  std::unique_ptr<NodeCache> cache;
  std::unique_ptr<BTree> tree;
  FlushTracker flushes;
  std::unique_ptr<Log> log;
  std::unique_ptr<Checkpointer> checkpointer;
};

}  // namespace cordwood::test
