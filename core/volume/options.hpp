#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/page_memory.hpp"
#include "base/result.hpp"
#include "format/layout.hpp"
#include "log/policy.hpp"
#include "trace/trace.hpp"
#include "tree/policy.hpp"

namespace cordwood {

// Part of this header for its users: Layout::compute(), which tells whether sizes fit together before
// anything is written, and the limits beside it (format/layout.hpp).

/// How to make a new volume. Every field has a default that suits most uses.
struct FormatOptions {
  std::uint32_t block_bytes = kDefaultBlockBytes;  ///< 512, 1024, 2048 or 4096
  std::uint32_t node_bytes = kDefaultNodeBytes;    ///< 4096 .. 65536, at least block_bytes
  std::string label;                               ///< at most 63 bytes of UTF-8
  std::array<std::uint8_t, 16> uuid{};             ///< must be unique: the caller draws it
  std::uint64_t log_bytes = 0;     ///< size of the log; 0: a 64th of the device, at most 64 MiB
  std::uint32_t root_mode = 0755;  ///< permissions of the root directory
  std::uint32_t root_uid = 0;
  std::uint32_t root_gid = 0;
  /// Bits of a name's hash that keys use; below 64 only to provoke collisions in tests.
  std::uint32_t name_hash_bits = 64;
  Clock* clock = nullptr;  ///< null: system_clock()
};

/// All switches, so that the effect of each can be measured in one run.
struct Policy : TreePolicy, LogPolicy {};

/// How to open a volume.
struct MountOptions {
  bool read_only = false;    ///< writes nothing, not even the mount state
  Policy policy;             ///< the switches
  bool discard_log = false;  ///< open though durable records of the log are damaged, without them
  std::size_t cache_bytes = 256_MiB;  ///< budget for cached nodes
  std::size_t dirty_bytes_max = 0;    ///< a checkpoint begins above it; 0: half of cache_bytes
  /// Whenever so many bytes of leaves changed since the last fsync, they go to the log, without a flush:
  /// an fsync then finds little left to do, and more is written. 0: the log waits for an fsync.
  std::size_t log_ahead_bytes = 0;
  std::uint32_t inline_max = 2048;  ///< files up to this size live in the leaf; 0: none do
  Clock* clock = nullptr;           ///< null: system_clock(); outlives the volume
  PageMemory* memory = nullptr;     ///< for cached nodes; null: heap_page_memory()
  TraceSink* trace = nullptr;       ///< null: no tracing; outlives the volume
};

/// Parses "split=adaptive,search_hint=off" into a policy, on top of what it holds.
/// split = never_push | push_full | push_needed | adaptive; search_hint = on | off;
/// log_copy = bulk | per_item; log_dirty = chunks | whole; whole_threshold = 1 to 100 percent.
/// @errors kInvalid: unknown switch or value (the sentence lists the allowed ones).
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, Policy base = {});
[[nodiscard]] std::string policy_text(const Policy& policy);

}  // namespace cordwood
