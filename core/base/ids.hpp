#pragma once

#include <compare>
#include <cstdint>

namespace cordwood {

/// An integer that cannot be mixed up with another kind of integer.
template <class Tag>
struct Distinct {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(const Distinct&, const Distinct&) = default;
  friend constexpr Distinct operator+(Distinct a, std::uint64_t n) { return {a.value + n}; }
  friend constexpr std::uint64_t operator-(Distinct a, Distinct b) { return a.value - b.value; }
};

/// Number of a tree node; the node table maps it to where the node lies. 0 means "none".
using NodeId = Distinct<struct NodeIdTag>;
/// Number of a file, directory or other object. 0 means "none"; the root directory is 1.
using InodeNumber = Distinct<struct InodeNumberTag>;
/// A block's place on the device, counted in blocks of the volume from its first byte.
using BlockNumber = Distinct<struct BlockNumberTag>;
/// Counts checkpoints. The generation that is being changed is one above the last durable one.
using Generation = Distinct<struct GenerationTag>;
/// Counts the cuts of the log in memory: a change belongs to one epoch, and epochs become durable in
/// order. Never on a device.
using Epoch = Distinct<struct EpochTag>;

inline constexpr InodeNumber kRootInode{1};

/// Consecutive blocks.
struct BlockRun {
  BlockNumber first;
  std::uint64_t count = 0;

  [[nodiscard]] constexpr BlockNumber end() const { return first + count; }
  friend constexpr bool operator==(const BlockRun&, const BlockRun&) = default;
};

}  // namespace cordwood
