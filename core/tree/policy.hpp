#pragma once

#include <cstdint>

namespace cordwood {

/// What an insertion into a full leaf tries before it splits (docs/DESIGN.md, "Make room").
enum class SplitPolicy : std::uint8_t {
  kNeverPush,   ///< split at once
  kPushFull,    ///< push to a sibling that has room for the whole new item
  kPushNeeded,  ///< push to a sibling that has room for what is missing: need - free
  kAdaptive,    ///< even out with the emptier sibling if it has 20 % free; repack at checkpoints
};

/// Whether searches start at a remembered leaf.
enum class SearchHint : std::uint8_t { kOff, kOn };

/// The switches of the tree, so that the effect of each can be measured in one run.
struct TreePolicy {
  SplitPolicy split = SplitPolicy::kAdaptive;
  SearchHint search_hint = SearchHint::kOn;
};

}  // namespace cordwood
