#include "volume/superblock_slots.hpp"

#include <utility>

#include "base/bytes.hpp"

namespace cordwood {

namespace {

SuperblockSlot read_slot(BlockDevice& device, std::uint64_t byte) {
  SuperblockSlot slot;
  slot.byte = byte;
  if (byte > device.geometry().bytes || device.geometry().bytes - byte < kPageBytes) {
    slot.error = make_error(Errc::kIo, Place::kByte, byte, "past the end of the device");
    return slot;
  }
  std::vector<std::byte> page(kPageBytes);
  if (const auto read = device.read(byte, page); !read) {
    slot.error = read.error();
    return slot;
  }
  Result<Superblock> parsed = Superblock::parse(page, byte);
  if (parsed) {
    slot.superblock = *parsed;
  } else {
    slot.error = parsed.error();
  }
  return slot;
}

/// How much an error tells about a device without any right superblock.
int weight(Errc code) {
  switch (code) {
    case Errc::kVersion: return 3;
    case Errc::kCorrupt: return 2;
    case Errc::kNotCordwood: return 0;
    default: return 1;
  }
}

}  // namespace

Result<SuperblockSlots> SuperblockSlots::read(BlockDevice& device) {
  const std::uint64_t device_bytes = device.geometry().bytes;
  if (device_bytes < kMinDeviceBytes) {
    return make_error(Errc::kNotCordwood, Place::kByte, device_bytes,
                      "the device is too small to hold a volume");
  }
  SuperblockSlots found;
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    found.slots.push_back(read_slot(device, superblock_byte(slot, device_bytes)));
  }
  std::uint64_t end = device_bytes;
  std::uint64_t newest = 0;
  for (const SuperblockSlot& slot : found.slots) {
    if (!slot.superblock || slot.superblock->generation < newest) continue;
    newest = slot.superblock->generation;
    const std::uint64_t bytes = volume_bytes(*slot.superblock);
    if (bytes >= kMinDeviceBytes) end = bytes;
  }
  for (std::uint32_t slot = 2; slot < kSuperblockSlots; ++slot) {
    found.slots.push_back(read_slot(device, superblock_byte(slot, end)));
  }
  return found;
}

Result<std::uint32_t> SuperblockSlots::best() const {
  std::optional<std::uint32_t> best;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].superblock) continue;
    if (!best) {
      best = i;
      continue;
    }
    // Slots are looked at from the start of the device, so the first right one names the volume;
    // but of two volumes at the start, the newer one was being made over the older one.
    const Superblock& chosen = *slots[*best].superblock;
    const Superblock& other = *slots[i].superblock;
    const bool same_volume = chosen.uuid == other.uuid;
    if (same_volume && other.generation > chosen.generation) best = i;
    if (!same_volume && i < 2 && other.created_seconds > chosen.created_seconds) best = i;
  }
  if (best) return *best;
  Error telling = slots.front().error;
  for (const SuperblockSlot& slot : slots) {
    if (weight(slot.error.code) > weight(telling.code)) telling = slot.error;
  }
  return telling;
}

}  // namespace cordwood
