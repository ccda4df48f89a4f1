#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "base/ids.hpp"
#include "volume/image_reader.hpp"
#include "volume/sparse_bitmap.hpp"

namespace cordwood {

/// What a block belongs to.
struct BlockOwner {
  enum class Kind : std::uint8_t { kTablePage, kNode, kExtent };
  Kind kind = Kind::kNode;
  std::uint64_t number = 0;  ///< page index, node id or inode number
  std::uint64_t detail = 0;  ///< level of a table page; file offset of an extent
  bool list = false;         ///< a fragment list of it, not the content

  /// "node 17", "a fragment list of node 17", "inode 5 at offset 4096".
  [[nodiscard]] std::string text() const;
};

/// Blocks that a second owner asked for.
struct ContestedRun {
  BlockRun run;      ///< the part of the claim that was taken
  BlockOwner owner;  ///< the one who came late
};

/// Which blocks of a volume are owned: one bit each. Remembers the first conflicts.
class BlockClaims {
 public:
  static constexpr std::size_t kContestedMax = 64;

  /// @return whether all blocks of the run were free until now.
  bool claim(BlockRun run, const BlockOwner& owner);
  /// Claims all blocks of a node or table page, lists included.
  bool claim(const ContentPlace& place, BlockOwner owner);

  [[nodiscard]] const SparseBitmap& owned() const { return owned_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] const std::vector<ContestedRun>& contested() const { return contested_; }
  [[nodiscard]] std::uint64_t contested_count() const { return contested_count_; }

 private:
  SparseBitmap owned_;
  std::uint64_t count_ = 0;
  std::vector<ContestedRun> contested_;
  std::uint64_t contested_count_ = 0;
};

/// Visits everything on an image that owns blocks, as far as it can be read: table pages and nodes
/// in the order of the table, then extents in the order of the tree. For "whose is block N?".
/// @param visit  false ends it.
void for_each_owner(ImageReader& reader, FunctionRef<bool(BlockRun, const BlockOwner&)> visit);

}  // namespace cordwood
