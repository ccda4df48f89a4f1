#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "fs/context.hpp"
#include "fs/extent.hpp"

namespace cordwood {

/// Extents whose bytes are on the device but that no item names yet. Gives the blocks back unless
/// committed. Move-only.
class DetachedExtents {
 public:
  DetachedExtents() = default;
  explicit DetachedExtents(Space& space) : space_(&space) {}
  DetachedExtents(DetachedExtents&& other) noexcept
      : space_(other.space_), extents_(std::exchange(other.extents_, {})) {}
  DetachedExtents& operator=(DetachedExtents&& other) noexcept;
  ~DetachedExtents() { cancel(); }

  [[nodiscard]] bool empty() const { return extents_.empty(); }
  [[nodiscard]] const std::vector<Extent>& extents() const { return extents_; }
  [[nodiscard]] std::uint64_t blocks() const;
  /// The items were inserted in the current operation. @pre inside the gate
  void commit();

 private:
  friend class DataPlacer;
  void cancel();
  Space* space_ = nullptr;
  std::vector<Extent> extents_;
};

/// Gives file data a place and writes it there, outside the gate: so a freeze never waits for data.
class DataPlacer {
 public:
  explicit DataPlacer(const FsContext& context) : context_(context) {}

  /// Writes content to fresh blocks.
  /// @param parts   the content, one behind the other; all but the last are whole granules, and the
  ///                last is whole blocks. Must not change meanwhile.
  /// @param offset  where it begins in the file, a multiple of 4096.
  /// @param goal    the block where it should best begin; 0: anywhere.
  /// @errors kNoSpace; I/O: the volume takes no more changes then.
  Result<DetachedExtents> place(std::span<const ConstBytes> parts, std::uint64_t offset,
                                ReserveClass reserve_class, BlockNumber goal = {});
  /// The same for bytes of any length: the last block is filled up with zeros.
  Result<DetachedExtents> place_bytes(ConstBytes content);

 private:
  Result<DetachedExtents> allocate(std::uint64_t blocks, std::uint64_t offset,
                                   ReserveClass reserve_class, BlockNumber goal);
  Result<Reservation> reserve(std::uint64_t blocks, ReserveClass reserve_class);
  Result<BlockRun> allocate_run(std::uint64_t want, Reservation& reserved,
                                ReserveClass reserve_class, BlockNumber goal);
  Result<void> write(DetachedExtents& target, std::span<const ConstBytes> parts);

  const FsContext& context_;
};

}  // namespace cordwood
