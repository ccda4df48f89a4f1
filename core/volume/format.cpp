#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "fs/inode_item.hpp"
#include "volume/engine.hpp"
#include "volume/superblock_slots.hpp"

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
  sb.log_sequence = 1;
  sb.next_inode = Filesystem::kFirstFreeInode;
  sb.inode_count = 1;
  sb.created_seconds = now.seconds;
  std::copy(options.label.begin(), options.label.end(), sb.label.begin());
  return sb;
}

Result<void> zero_pages(BlockDevice& device, const std::vector<std::uint64_t>& places) {
  const std::vector<std::byte> zeros(kPageBytes);
  std::vector<IoRequest> writes;
  for (const std::uint64_t place : places) writes.push_back(IoRequest::write(place, zeros));
  TRY(device.submit(writes));
  return device.flush();
}

/// Takes away what an older volume left: its superblocks, and the record at the start of its log. In
/// an order in which a crash leaves that volume whole or gone, never at a checkpoint before its last
/// one, and before anything of the new volume.
Result<void> erase_old(BlockDevice& device, const Layout& layout) {
  const SuperblockSlots old = TRY(SuperblockSlots::read(device));
  std::uint64_t newest = 0;
  for (const SuperblockSlot& slot : old.slots) {
    if (slot.superblock) newest = std::max(newest, slot.superblock->generation);
  }
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> last;
  for (const SuperblockSlot& slot : old.slots) {
    const bool serves = slot.superblock && slot.superblock->generation == newest;
    (serves ? last : first).push_back(slot.byte);
  }
  const std::uint64_t volume_bytes = layout.device_blocks * layout.block_bytes;
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    const std::uint64_t place = superblock_byte(slot, volume_bytes);
    if (std::find(last.begin(), last.end(), place) == last.end()) first.push_back(place);
  }
  TRY(zero_pages(device, first));
  last.push_back(layout.byte_of(layout.log.first));
  return zero_pages(device, last);
}

}  // namespace

Result<void> Volume::format(BlockDevice& device, const FormatOptions& options) {
  const DeviceGeometry geometry = device.geometry();
  const Layout layout = TRY(
      Layout::compute(geometry.bytes, options.block_bytes, options.node_bytes, options.log_bytes));
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
