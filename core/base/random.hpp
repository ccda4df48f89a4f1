#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace cordwood {

/// One step of SplitMix64: a well mixed value for each state, also for 0, 1, 2, ...
/// @source Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
[[nodiscard]] constexpr std::uint64_t split_mix(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A small generator whose sequence is the same on every platform; not for secrets.
/// @source Blackman, Vigna, xoshiro256**, seeded by SplitMix64.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      word = split_mix(seed);
      seed += 0x9e3779b97f4a7c15u;
    }
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  /// Uniform in 0 .. bound - 1; `bound` is not 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    CW_CHECK(bound != 0);
    // Values under 2^64 mod bound would make the small results more frequent.
    const std::uint64_t unfair = (0 - bound) % bound;
    std::uint64_t value = next();
    while (value < unfair) value = next();
    return value % bound;
  }

  /// Uniform in first .. last, both included.
  constexpr std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    CW_CHECK(first <= last);
    return last - first == UINT64_MAX ? next() : first + below(last - first + 1);
  }

  /// True once in `n` calls on average; `n` is not 0.
  constexpr bool one_in(std::uint64_t n) { return below(n) == 0; }

  void fill(Bytes bytes) {
    std::size_t done = 0;
    for (; done + 8 <= bytes.size(); done += 8) store_le(bytes.data() + done, next());
    for (std::uint64_t rest = next(); done < bytes.size(); ++done, rest >>= 8) {
      bytes[done] = static_cast<std::byte>(rest);
    }
  }

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t value, unsigned bits) {
    return (value << bits) | (value >> (64 - bits));
  }

  std::uint64_t state_[4] = {};
};

}  // namespace cordwood
