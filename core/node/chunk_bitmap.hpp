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
    const Range range(first, bytes);
    for (std::uint32_t word = range.first_word(); word <= range.last_word(); ++word) {
      words_[word] |= range.mask(word);
    }
  }
  /// Whether any chunk of bytes [first, first + bytes) is marked. @pre as in mark()
  [[nodiscard]] bool any(std::uint32_t first, std::uint32_t bytes) const {
    const Range range(first, bytes);
    for (std::uint32_t word = range.first_word(); word <= range.last_word(); ++word) {
      if ((words_[word] & range.mask(word)) != 0) return true;
    }
    return false;
  }
  /// Whether the chunk of this byte is marked. @pre inside 64 KiB
  [[nodiscard]] bool holds(std::uint32_t byte) const {
    const std::uint32_t chunk = byte / kChunkBytes;
    return ((words_[chunk / 64] >> (chunk % 64)) & 1) != 0;
  }
  /// Carries marks along with bytes that moved: each byte of [first, first + bytes) whose chunk is
  /// marked in `source` gets its chunk marked here, at its new place from `target` on. So no record
  /// among the bytes loses its dirtiness, at any alignment. @pre as in mark()
  void mark_moved(const ChunkBitmap& source, std::uint32_t first, std::uint32_t bytes,
                  std::uint32_t target) {
    const Range range(first, bytes);
    const std::uint32_t end = first + bytes;
    for (std::uint32_t word = range.first_word(); word <= range.last_word(); ++word) {
      for (std::uint64_t left = source.words_[word] & range.mask(word); left != 0;
           left &= left - 1) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
        const std::uint32_t chunk = (word * 64 + bit) * kChunkBytes;
        const std::uint32_t from = chunk < first ? first : chunk;
        const std::uint32_t to = chunk + kChunkBytes < end ? chunk + kChunkBytes : end;
        mark(target + (from - first), to - from);
      }
    }
  }
  void clear() { words_.fill(0); }
  void mark_all() { words_.fill(~std::uint64_t{0}); }
  /// Marked chunks.
  [[nodiscard]] std::uint32_t count() const {
    std::uint32_t total = 0;
    for (const std::uint64_t word : words_)
      total += static_cast<std::uint32_t>(std::popcount(word));
    return total;
  }

 private:
  /// The chunks of a range of bytes, as masks of the words that hold their bits.
  struct Range {
    Range(std::uint32_t first, std::uint32_t bytes)
        : begin(first / kChunkBytes), last((first + bytes - 1) / kChunkBytes) {}
    [[nodiscard]] std::uint32_t first_word() const { return begin / 64; }
    [[nodiscard]] std::uint32_t last_word() const { return last / 64; }
    [[nodiscard]] std::uint64_t mask(std::uint32_t word) const {
      std::uint64_t mask = ~std::uint64_t{0};
      if (word == begin / 64) mask &= ~std::uint64_t{0} << (begin % 64);
      if (word == last / 64) mask &= ~std::uint64_t{0} >> (63 - last % 64);
      return mask;
    }
    std::uint32_t begin;
    std::uint32_t last;
  };

  std::array<std::uint64_t, kMaxChunks / 64> words_{};
};

}  // namespace cordwood
