#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"

namespace cordwood {

/// A set of numbers below 2^64 as bits, in chunks that exist only where a bit was ever set: its
/// memory follows what is in it, not how large the numbers are.
class SparseBitmap {
 public:
  static constexpr std::uint64_t kChunkBits = 32768;
  using Chunk = std::array<std::uint64_t, kChunkBits / 64>;

  /// @return whether it was in the set before.
  bool insert(std::uint64_t number) {
    std::uint64_t& word = chunk(number / kChunkBits)[number % kChunkBits / 64];
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    const bool before = (word & bit) != 0;
    word |= bit;
    return before;
  }
  [[nodiscard]] bool contains(std::uint64_t number) const {
    const Chunk* chunk = find_chunk(number / kChunkBits);
    return chunk != nullptr && ((*chunk)[number % kChunkBits / 64] >> (number % 64) & 1) != 0;
  }
  /// The chunk that holds kChunkBits numbers from index * kChunkBits, or null if all are absent.
  [[nodiscard]] const Chunk* find_chunk(std::uint64_t index) const {
    const auto found = chunks_.find(index);
    return found == chunks_.end() ? nullptr : found->second.get();
  }
  /// Indexes of the chunks that exist, rising.
  [[nodiscard]] std::vector<std::uint64_t> chunk_indexes() const {
    std::vector<std::uint64_t> indexes;
    indexes.reserve(chunks_.size());
    for (const auto& [index, chunk] : chunks_) indexes.push_back(index);
    std::sort(indexes.begin(), indexes.end());
    return indexes;
  }

 private:
  Chunk& chunk(std::uint64_t index) {
    if (last_ == nullptr || last_index_ != index) {
      std::unique_ptr<Chunk>& found = chunks_[index];
      if (found == nullptr) found = std::make_unique<Chunk>();
      last_ = found.get();
      last_index_ = index;
    }
    return *last_;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Chunk>> chunks_;
  Chunk* last_ = nullptr;  ///< neighbours are inserted one after the other
  std::uint64_t last_index_ = 0;
};

}  // namespace cordwood
