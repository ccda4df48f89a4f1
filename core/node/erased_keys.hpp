#pragma once

#include <cstddef>
#include <vector>

#include "format/key.hpp"
#include "node/leaf.hpp"

namespace cordwood {

/// Keys erased from a leaf since the last capture, as ranges: the log's tombstones. They belong to the
/// leaf's fences, so they move with the border when that moves.
///
/// Invariant: no item that the leaf has in a range is older than the last capture; so to erase the
/// whole range first and to put the leaf's changed items then is right.
class ErasedKeys {
 public:
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// Remembers a key that `leaf` no longer has.
  void add(const Leaf& leaf, Key key) {
    ranges_.push_back({key, key});
    if (ranges_.size() >= compress_at_) compress(leaf);
  }
  void clear() {
    ranges_.clear();
    compress_at_ = kCompressAt;
  }
  /// Those from `border` on go to the right neighbour; those below it, to the left one.
  void move_from(Key border, ErasedKeys& right) { split(border, right, *this); }
  void move_below(Key border, ErasedKeys& left) { split(border, *this, left); }
  /// All go to the neighbour that takes over the leaf's keys.
  void move_all(ErasedKeys& target);
  /// Whether any lies at or above / below a border.
  [[nodiscard]] bool any_from(Key border) const;
  [[nodiscard]] bool any_below(Key border) const;

  /// Joins neighbours between which the leaf has no item that may be older than the last capture.
  /// Afterwards they are in order and disjoint. `leaf` has its bitmap of changed chunks.
  void compress(const Leaf& leaf);
  /// In order after compress().
  [[nodiscard]] const std::vector<KeyRange>& ranges() const { return ranges_; }

 private:
  static constexpr std::size_t kCompressAt = 128;
  /// Gives `right` what lies from the border on, and `left` the rest; one of them is this.
  void split(Key border, ErasedKeys& right, ErasedKeys& left);

  std::vector<KeyRange> ranges_;
  std::size_t compress_at_ = kCompressAt;
};

}  // namespace cordwood
