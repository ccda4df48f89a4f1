#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "volume/options.hpp"

namespace cordwood::test {

/// The volume that a workload runs on, and the shape of a generated workload.
struct WorkloadConfig {
  std::uint64_t device_bytes = 64_MiB;
  std::uint32_t node_bytes = 16384;
  std::uint32_t block_bytes = 4096;
  std::uint32_t name_hash_bits = 64;
  std::uint64_t cache_bytes = 16_MiB;
  std::uint64_t dirty_bytes_max = 0;
  std::uint32_t inline_max = 2048;
  std::uint32_t split = 3;  ///< SplitPolicy
  std::uint32_t hint = 1;   ///< SearchHint
  std::uint32_t log = 0;    ///< LogCopy + 2 * LogDirty
  std::uint64_t log_ahead_bytes = 0;
  /// Calls may end with kNoSpace: the device is small, or hash buckets overflow.
  std::uint32_t no_space = 0;
  /// Before anything else, all free space is cut into single granules, so that nodes lie in pieces.
  std::uint32_t fragment = 0;
  std::uint32_t names = 200;           ///< how many different names there are
  std::uint64_t file_bytes = 256_KiB;  ///< most writes stay below this offset
  std::uint64_t total_bytes = 16_MiB;  ///< the generator shrinks files when they hold more

  [[nodiscard]] FormatOptions format_options(Clock* clock) const;
  [[nodiscard]] MountOptions mount_options(Clock* clock) const;
  /// The options of Operation::kRemount with this number: other policies, a small cache.
  [[nodiscard]] MountOptions mount_options(Clock* clock, std::uint32_t variation) const;
};

/// One line: "config device_bytes=67108864 node_bytes=4096 ...".
[[nodiscard]] std::string to_text(const WorkloadConfig& config);
/// @errors kInvalid
[[nodiscard]] Result<WorkloadConfig> parse_config(std::string_view line);

}  // namespace cordwood::test
