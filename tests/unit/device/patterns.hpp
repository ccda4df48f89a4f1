#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/random.hpp"
#include "device/block_device.hpp"
#include "device/sparse_image.hpp"

namespace cordwood {

/// Bytes that depend on a seed and hold no zero, so that none of them passes for untouched.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> result(bytes);
  Random(seed).fill(result);
  for (std::byte& byte : result) byte |= std::byte{1};
  return result;
}

inline std::vector<std::byte> read_back(BlockDevice& device, std::uint64_t offset,
                                        std::size_t bytes) {
  std::vector<std::byte> result(bytes, std::byte{0x5a});
  if (!device.read(offset, result)) result.clear();
  return result;
}

inline std::vector<std::byte> read_back(const SparseImage& image, std::uint64_t offset,
                                        std::size_t bytes) {
  std::vector<std::byte> result(bytes, std::byte{0x5a});
  image.read(offset, result);
  return result;
}

}  // namespace cordwood
