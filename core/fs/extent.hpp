#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "format/items.hpp"
#include "fs/context.hpp"

namespace cordwood {

/// A copy of an extent item: a part of a file and where its bytes are.
struct Extent {
  ExtentKind kind = ExtentKind::kData;
  std::uint64_t offset = 0;  ///< in the file
  BlockRun run;
  Generation generation;
  std::vector<std::uint64_t> checksums;  ///< kData: one for each granule
  std::vector<std::byte> inline_bytes;   ///< kInline

  /// Bytes that it holds; blocks that it has times their size.
  [[nodiscard]] std::uint64_t bytes(const Layout& layout) const {
    return kind == ExtentKind::kInline ? inline_bytes.size() : run.count * layout.block_bytes;
  }
  /// First file offset behind it, in whole granules: what its last granule lacks reads as zeros.
  [[nodiscard]] std::uint64_t end(const Layout& layout) const {
    return offset + round_up<std::uint64_t>(bytes(layout), kGranuleBytes);
  }
  /// Its item.
  [[nodiscard]] std::vector<std::byte> encode() const;
};

/// What becomes of extents when a range of their file is taken out.
struct Punched {
  std::vector<Extent> kept;  ///< parts before and behind the range
  std::vector<BlockRun> freed;
  std::uint64_t freed_blocks = 0;
};

/// The extents of files in the tree. Invariants: offsets are multiples of 4096; extents do not overlap;
/// an inline one begins at 0 and is alone; none begins at or behind the end of the file, but for the
/// moment of a truncate that an orphan item tells of.
/// @threads the caller holds the inode's lock, exclusive for changes.
class ExtentItems {
 public:
  static constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};

  explicit ExtentItems(const FsContext& context) : context_(context) {}

  /// The first `limit` extents that hold bytes of [from, end), in order.
  /// @errors corrupt: an item is malformed or they overlap; I/O.
  Result<std::vector<Extent>> overlapping(InodeNumber inode, std::uint64_t from, std::uint64_t end,
                                          std::size_t limit) const;
  /// Takes [from, end), both multiples of 4096, out of extents that overlap it. Changes no items.
  [[nodiscard]] Punched punch(const std::vector<Extent>& extents, std::uint64_t from,
                              std::uint64_t end) const;
  /// Carries it out: items that go are erased, those that shrink replaced, blocks freed.
  /// @param replaced_at  file offset at which the caller puts a new extent: that item is left to it.
  Result<void> apply(Operation& operation, InodeNumber inode, const std::vector<Extent>& extents,
                     const Punched& punched, std::uint64_t replaced_at);

 private:
  const FsContext& context_;
};

/// Appends `more` to `extent` if both can be one item: neighbours in the file and on the device, made
/// in the same generation.
[[nodiscard]] bool merge_extents(Extent& extent, const Extent& more, const Layout& layout);

}  // namespace cordwood
