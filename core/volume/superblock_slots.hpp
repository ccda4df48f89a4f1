#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/superblock.hpp"

namespace cordwood {

/// One of the four places where a superblock lies.
struct SuperblockSlot {
  std::uint64_t byte = 0;                ///< where on the device
  std::optional<Superblock> superblock;  ///< when it is right
  Error error;                           ///< else why not; kNotCordwood when there is none
};

/// All four, slots 0 and 1 at the start of the device, 2 and 3 at its end.
///
/// When a slot at the start says that the volume is of another size than the device, the copies are
/// looked for at the end of the volume: a grown image still has them there.
struct SuperblockSlots {
  std::vector<SuperblockSlot> slots;

  /// The slot to open: the highest generation among the slots of one volume. If the slots name
  /// several volumes (a format that was cut short, or an old copy at the end), the one that a slot
  /// at the start names is meant.
  /// @errors kVersion, kCorrupt, kIo or kNotCordwood when no slot is right: the most telling of them.
  [[nodiscard]] Result<std::uint32_t> best() const;

  /// @errors kNotCordwood when the device is too small to hold a volume. Slots that cannot be read
  ///         are told in the slots.
  static Result<SuperblockSlots> read(BlockDevice& device);
};

/// Bytes of the device that a volume takes.
[[nodiscard]] inline std::uint64_t volume_bytes(const Superblock& superblock) {
  return superblock.device_blocks * superblock.block_bytes;
}
/// Bytes of its log ring.
[[nodiscard]] inline std::uint64_t log_ring_bytes(const Superblock& superblock) {
  return superblock.log_blocks * superblock.block_bytes;
}

}  // namespace cordwood
