#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

namespace cordwood::test {

/// Takes numbers off a fuzz input. One that has ended gives zeros, so that every input means something.
class FuzzInput {
 public:
  explicit FuzzInput(ConstBytes bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ended() const { return bytes_.empty(); }
  std::uint64_t take(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && !bytes_.empty(); ++i) {
      value |= std::uint64_t{std::to_integer<std::uint8_t>(bytes_.front())} << (8 * i);
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)); }
  /// A number below `limit`; 0 when that is 0.
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : take(2) % limit; }
  /// Another value for a field that held `old`: near it, far from it, at an edge.
  std::uint64_t instead_of(std::uint64_t old) {
    constexpr std::uint64_t kEdges[] = {0,   1,          ~0ull, ~0ull >> 1, 1ull << 63, 1ull << 55,
                                        8,   64,         4096,  65536,      65535,      255,
                                        512, 1ull << 32, ~0u,   127};
    const std::uint8_t kind = byte();
    switch (kind % 8) {
      case 0: return byte();
      case 1: return take(2);
      case 2: return take(4);
      case 3: return take(8);
      case 4: return old + byte();
      case 5: return old - byte();
      case 6: return old ^ (1ull << (byte() % 64));
      default: return kEdges[kind / 8 % std::size(kEdges)];
    }
  }

 private:
  ConstBytes bytes_;
};

}  // namespace cordwood::test
