#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace cordwood {

/// XXH3-64 of `data` with a seed. The seed carries what the bytes themselves cannot prove: which
/// volume and which place they belong to, so that misdirected and foreign blocks fail too.
/// @source xxHash 0.8, XXH3_64bits_withSeed.
[[nodiscard]] std::uint64_t checksum(ConstBytes data, std::uint64_t seed);

/// Mixes two 64-bit values into one seed; not symmetric.
[[nodiscard]] constexpr std::uint64_t mix_seed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b * 0x9e3779b97f4a7c15u);
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  return x;
}

}  // namespace cordwood
