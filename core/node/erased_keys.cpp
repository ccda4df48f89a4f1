#include "node/erased_keys.hpp"

#include <algorithm>
#include <utility>

namespace cordwood {

void ErasedKeys::move_all(ErasedKeys& target) {
  target.ranges_.insert(target.ranges_.end(), ranges_.begin(), ranges_.end());
  clear();
}

bool ErasedKeys::any_from(Key border) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const KeyRange& range) { return range.last >= border; });
}

bool ErasedKeys::any_below(Key border) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const KeyRange& range) { return range.first < border; });
}

void ErasedKeys::split(Key border, ErasedKeys& right, ErasedKeys& left) {
  const std::vector<KeyRange> all = std::exchange(ranges_, {});
  for (const KeyRange& range : all) {
    if (range.first < border) {
      left.ranges_.push_back({range.first, std::min(range.last, border.previous())});
    }
    if (range.last >= border) right.ranges_.push_back({std::max(range.first, border), range.last});
  }
}

void ErasedKeys::compress(const Leaf& leaf) {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const KeyRange& a, const KeyRange& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    KeyRange& before = ranges_[kept];
    const KeyRange& range = ranges_[i];
    bool joins = range.first <= before.last;
    if (!joins) {
      joins = true;
      std::uint32_t slot = leaf.find(before.last).slot;
      for (; joins && slot < leaf.count() && leaf.key(slot) < range.first; ++slot) {
        joins = leaf.changed(slot);
      }
    }
    if (joins) {
      before.last = std::max(before.last, range.last);
    } else {
      ranges_[++kept] = range;
    }
  }
  if (!ranges_.empty()) ranges_.resize(kept + 1);
  compress_at_ = std::max(kCompressAt, 2 * ranges_.size());
}

}  // namespace cordwood
