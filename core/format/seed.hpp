#pragma once

#include <cstdint>

#include "base/checksum.hpp"

namespace cordwood {

/// Kinds of checksummed structures. Part of the checksum seed, so that a block of one kind never
/// passes as another. Values are frozen.
enum class Structure : std::uint64_t {
  kSuperblock = 1,
  kNode = 2,
  kTablePage = 3,
  kFragmentList = 4,
  kGroupPage = 5,
  kBitmap = 6,
  kFileData = 7,
  kLogRecord = 8,
};

/// Seed of a checksum: volume (foreign blocks), kind and place (misdirected blocks).
/// @param volume_seed  checksum of the volume's uuid with seed 0.
/// @param place        byte offset on the device where the bytes begin.
[[nodiscard]] constexpr std::uint64_t checksum_seed(std::uint64_t volume_seed, Structure structure,
                                                    std::uint64_t place) {
  return mix_seed(mix_seed(volume_seed, static_cast<std::uint64_t>(structure)), place);
}

}  // namespace cordwood
