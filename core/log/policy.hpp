#pragma once

#include <cstdint>

namespace cordwood {

/// How a capture copies changed items into the log.
enum class LogCopy : std::uint8_t {
  kBulk,     ///< a run of neighbouring records by one copy
  kPerItem,  ///< each item by an insertion of its own
};

/// How much of a changed leaf a capture takes.
enum class LogDirty : std::uint8_t {
  kChunks,  ///< the items that lie in changed chunks; the whole leaf above `whole_threshold`
  kWhole,   ///< every item of each changed leaf
};

/// The switches of the log, so that the effect of each can be measured in one run.
struct LogPolicy {
  LogCopy copy = LogCopy::kBulk;
  LogDirty dirty = LogDirty::kChunks;
  std::uint32_t whole_threshold = 75;  ///< percent of a leaf's used bytes in changed chunks; 1..100
};

}  // namespace cordwood
