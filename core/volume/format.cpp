#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "fs/inode_item.hpp"
#include "volume/engine.hpp"

namespace cordwood {

namespace {

Result<Superblock> first_superblock(const FormatOptions& options, const Layout& layout,
                                    Timestamp now) {
  Superblock sb;
  if (options.label.size() >= sb.label.size()) {
    return make_error(Errc::kInvalid, Place::kValue, options.label.size(),
                      "a label has at most 63 bytes");
  }
  if (options.name_hash_bits == 0 || options.name_hash_bits > 64) {
    return make_error(Errc::kInvalid, Place::kValue, options.name_hash_bits,
                      "a name's hash has 1 to 64 bits");
  }
  sb.block_bytes = layout.block_bytes;
  sb.node_bytes = layout.node_bytes;
  sb.name_hash_bits = options.name_hash_bits;
  sb.uuid = options.uuid;
  sb.device_blocks = layout.device_blocks;
  sb.table_levels = table_levels(1);
  sb.next_node_id = 1;
  sb.log_first_block = layout.log.first.value;
  sb.log_blocks = layout.log.count;
  sb.next_inode = Filesystem::kFirstFreeInode;
  sb.inode_count = 1;
  sb.created_seconds = now.seconds;
  std::copy(options.label.begin(), options.label.end(), sb.label.begin());
  return sb;
}

/// Takes away what an older volume left: its superblocks, and the record at the start of its log.
Result<void> erase_old(BlockDevice& device, const Layout& layout) {
  const std::vector<std::byte> zeros(kPageBytes);
  std::vector<IoRequest> writes;
  const std::uint64_t volume_bytes = layout.device_blocks * layout.block_bytes;
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    writes.push_back(IoRequest::write(superblock_byte(slot, volume_bytes), zeros));
  }
  writes.push_back(IoRequest::write(layout.byte_of(layout.log.first), zeros));
  TRY(device.submit(writes));
  // Before anything of the new volume: a crash in between must not mix the two.
  return device.flush();
}

}  // namespace

Result<void> Volume::format(BlockDevice& device, const FormatOptions& options) {
  const DeviceGeometry geometry = device.geometry();
  const Layout layout =
      TRY(Layout::compute(geometry.bytes, options.block_bytes, options.node_bytes));
  if (geometry.sector_bytes > options.block_bytes) {
    return make_error(Errc::kInvalid, Place::kValue, geometry.sector_bytes,
                      "blocks cannot be smaller than the device's sectors");
  }
  Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
  const Timestamp now = clock.now();
  Superblock superblock = TRY(first_superblock(options, layout, now));
  TRY(erase_old(device, layout));
  superblock.group_root = TRY(Space::format(device, layout, superblock.volume_seed()));

  MountOptions mount;
  mount.clock = &clock;
  mount.cache_bytes = 4_MiB;
  Engine engine(device, mount, superblock, layout);
  TRY(engine.start_empty());
  NewInode root;
  root.permissions = options.root_mode;
  root.uid = options.root_uid;
  root.gid = options.root_gid;
  TRY(Filesystem::format(*engine.context, new_inode_item(FileType::kDirectory, root, now)));
  return engine.checkpointer->checkpoint(MountState::kClean);
}

}  // namespace cordwood
