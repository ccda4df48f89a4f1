#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "format/layout.hpp"

namespace cordwood {

/// One bit per 128-byte chunk of a node: which bytes changed since the last capture.
class ChunkBitmap {
 public:
  static constexpr std::uint32_t kChunkBytes = 128;
  static constexpr std::uint32_t kMaxChunks = kMaxNodeBytes / kChunkBytes;

  /// Marks the chunks that hold bytes [first, first + bytes). @pre bytes > 0, inside 64 KiB
  void mark(std::uint32_t first, std::uint32_t bytes) {
    const std::uint32_t begin = first / kChunkBytes;
    const std::uint32_t end = (first + bytes - 1) / kChunkBytes;
    for (std::uint32_t word = begin / 64; word <= end / 64; ++word) {
      std::uint64_t mask = ~std::uint64_t{0};
      if (word == begin / 64) mask &= ~std::uint64_t{0} << (begin % 64);
      if (word == end / 64) mask &= ~std::uint64_t{0} >> (63 - end % 64);
      words_[word] |= mask;
    }
  }
  /// Whether any chunk of bytes [first, first + bytes) is marked.
  [[nodiscard]] bool any(std::uint32_t first, std::uint32_t bytes) const {
    const std::uint32_t begin = first / kChunkBytes;
    const std::uint32_t end = (first + bytes - 1) / kChunkBytes;
    for (std::uint32_t chunk = begin; chunk <= end; ++chunk) {
      if ((words_[chunk / 64] >> (chunk % 64) & 1) != 0) return true;
    }
    return false;
  }
  void clear() { words_.fill(0); }
  void mark_all() { words_.fill(~std::uint64_t{0}); }
  /// Marked chunks.
  [[nodiscard]] std::uint32_t count() const {
    std::uint32_t total = 0;
    for (const std::uint64_t word : words_) total += static_cast<std::uint32_t>(std::popcount(word));
    return total;
  }

 private:
  std::array<std::uint64_t, kMaxChunks / 64> words_{};
};

}  // namespace cordwood
