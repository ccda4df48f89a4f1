// The four superblock slots against each other and against the device.

#include <algorithm>

#include "volume/check_state.hpp"

namespace cordwood {

namespace {

bool same_identity(const Superblock& a, const Superblock& b) {
  return a.block_bytes == b.block_bytes && a.node_bytes == b.node_bytes &&
         a.name_hash_bits == b.name_hash_bits && a.device_blocks == b.device_blocks &&
         a.created_seconds == b.created_seconds && a.log_first_block == b.log_first_block &&
         a.log_blocks == b.log_blocks;
}

bool never_written(const CheckState& state, std::uint64_t byte) {
  std::vector<std::byte> page(kPageBytes);
  if (!state.reader.read_bytes(byte, page)) return false;
  return std::all_of(page.begin(), page.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// A slot that is not right. A power loss tears at most the slots of the checkpoint under way: the other
/// turn's, or one copy of the chosen one's if the volume was not closed after it.
void check_bad_slot(CheckState& state, std::uint32_t index, const SuperblockSlot& slot) {
  const Superblock& chosen = state.reader.superblock();
  if (slot.error.code == Errc::kNotCordwood && never_written(state, slot.byte)) {
    // The checkpoint that makes a volume fills two slots, or all four: the others come later.
    if (chosen.generation <= 1) return;
  }
  const bool same_turn = index % 2 == chosen.generation % 2;
  const bool closed = chosen.mount_state == static_cast<std::uint32_t>(MountState::kClean);
  state.find(
      same_turn && closed ? FindingKind::kSuperblockSlotDamaged : FindingKind::kSuperblockSlotTorn,
      slot.byte, 0, "superblock slot: ", slot.error.message());
}

void check_good_slot(CheckState& state, std::uint32_t index, const SuperblockSlot& slot) {
  const Superblock& chosen = state.reader.superblock();
  const Superblock& other = *slot.superblock;
  if (other.uuid != chosen.uuid) {
    state.find(FindingKind::kSuperblockForeignCopy, slot.byte, 0, "superblock of the volume ",
               uuid_text(other.uuid));
    return;
  }
  if (!same_identity(other, chosen)) {
    state.find(FindingKind::kSuperblockIdentity, slot.byte, other.generation,
               "sizes, hash bits or creation time differ from those in slot ", state.reader.slot());
  }
  if (other.generation % 2 != index % 2) {
    state.find(FindingKind::kSuperblockWrongSlot, slot.byte, other.generation, "generation ",
               other.generation, " does not belong in slot ", index);
  }
  const bool same_turn = index % 2 == chosen.generation % 2;
  if (same_turn && other.generation < chosen.generation) {
    state.find(FindingKind::kSuperblockSlotOld, slot.byte, other.generation, "generation ",
               other.generation, " where ", chosen.generation, " should be");
  }
}

void check_chosen(CheckState& state) {
  const Superblock& chosen = state.reader.superblock();
  const Layout& layout = state.reader.layout();
  const std::uint64_t byte = state.reader.slots().slots[state.reader.slot()].byte;
  if (chosen.log_first_block != layout.log.first.value || chosen.log_blocks != layout.log.count) {
    state.find(FindingKind::kSuperblockLogPlace, byte, chosen.log_first_block, "log ring at block ",
               chosen.log_first_block, ", ", chosen.log_blocks, " blocks; it should be at ",
               layout.log.first, ", ", layout.log.count, " blocks");
  }
  const bool zero = std::all_of(chosen.reserved1.begin(), chosen.reserved1.end(),
                                [](std::uint8_t value) { return value == 0; });
  if (!zero || chosen.reserved0 != 0 || chosen.group_root.reserved != 0) {
    state.find(FindingKind::kSuperblockReserved, byte, 0, "reserved bytes are not zero");
  }
  if (chosen.mount_state != static_cast<std::uint32_t>(MountState::kClean)) {
    state.find(FindingKind::kVolumeNotClean, 0, 0,
               "the volume is in use, or was not closed; generation ", chosen.generation,
               " is its last checkpoint");
  }
}

}  // namespace

void check_superblocks(CheckState& state) {
  const std::vector<SuperblockSlot>& slots = state.reader.slots().slots;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (slots[i].superblock) {
      check_good_slot(state, i, slots[i]);
    } else {
      check_bad_slot(state, i, slots[i]);
    }
  }
  check_chosen(state);
  const std::uint64_t device = state.reader.device().geometry().bytes;
  const std::uint64_t volume = volume_bytes(state.reader.superblock());
  if (device < volume) {
    state.find(FindingKind::kDeviceTruncated, device, volume - device, "the device ends here, ",
               volume - device, " bytes before the end of the volume");
  } else if (device - volume >= kPageBytes) {
    state.find(FindingKind::kDeviceLarger, volume, device - volume, device - volume,
               " bytes behind the volume are not used");
  }
}

}  // namespace cordwood
