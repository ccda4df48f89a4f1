#include "node/chunk_bitmap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "base/random.hpp"

using namespace cordwood;

namespace {

struct ByteRange {
  std::uint32_t first;
  std::uint32_t bytes;
};

ByteRange random_range(Random& random) {
  const auto first = static_cast<std::uint32_t>(random.below(kMaxNodeBytes));
  const std::uint64_t most = random.one_in(4) ? kMaxNodeBytes : 300;
  const std::uint64_t bytes =
      1 + random.below(std::min<std::uint64_t>(most, kMaxNodeBytes - first));
  return {first, static_cast<std::uint32_t>(bytes)};
}

/// The same, one flag a chunk.
class Model {
 public:
  void mark(ByteRange range) {
    for (std::uint32_t i = 0; i < range.bytes; ++i) chunks_[chunk(range.first + i)] = true;
  }
  [[nodiscard]] bool any(ByteRange range) const {
    for (std::uint32_t i = 0; i < range.bytes; ++i) {
      if (chunks_[chunk(range.first + i)]) return true;
    }
    return false;
  }
  void mark_moved(const Model& source, ByteRange range, std::uint32_t target) {
    for (std::uint32_t i = 0; i < range.bytes; ++i) {
      if (source.chunks_[chunk(range.first + i)]) chunks_[chunk(target + i)] = true;
    }
  }
  [[nodiscard]] bool equals(const ChunkBitmap& bitmap) const {
    for (std::uint32_t i = 0; i < ChunkBitmap::kMaxChunks; ++i) {
      if (bitmap.any(i * ChunkBitmap::kChunkBytes, 1) != chunks_[i]) return false;
    }
    return bitmap.count() ==
           static_cast<std::uint32_t>(std::count(chunks_.begin(), chunks_.end(), true));
  }

 private:
  static std::uint32_t chunk(std::uint32_t byte) { return byte / ChunkBitmap::kChunkBytes; }
  std::vector<bool> chunks_ = std::vector<bool>(ChunkBitmap::kMaxChunks);
};

}  // namespace

TEST_CASE("chunk bitmap: marks, moves and questions agree with single bytes", "[node]") {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    ChunkBitmap source;
    ChunkBitmap target;
    Model source_model;
    Model target_model;
    for (std::uint64_t i = random.below(8); i > 0; --i) {
      const ByteRange range = random_range(random);
      source.mark(range.first, range.bytes);
      source_model.mark(range);
    }
    REQUIRE(source_model.equals(source));
    for (int i = 0; i < 4; ++i) {
      const ByteRange range = random_range(random);
      REQUIRE(source.any(range.first, range.bytes) == source_model.any(range));
      const auto to = static_cast<std::uint32_t>(random.below(kMaxNodeBytes - range.bytes + 1));
      target.mark_moved(source, range.first, range.bytes, to);
      target_model.mark_moved(source_model, range, to);
    }
    REQUIRE(target_model.equals(target));
  }
}

TEST_CASE("chunk bitmap: all, none, last byte", "[node]") {
  ChunkBitmap chunks;
  CHECK(chunks.count() == 0);
  chunks.mark(kMaxNodeBytes - 1, 1);
  CHECK(chunks.count() == 1);
  CHECK(chunks.any(0, kMaxNodeBytes));
  CHECK(!chunks.any(0, kMaxNodeBytes - ChunkBitmap::kChunkBytes));
  chunks.mark_all();
  CHECK(chunks.count() == ChunkBitmap::kMaxChunks);
  chunks.clear();
  CHECK(!chunks.any(0, kMaxNodeBytes));
}
