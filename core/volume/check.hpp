#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "volume/data_verify.hpp"
#include "volume/findings.hpp"
#include "volume/image_reader.hpp"

namespace cordwood {

/// How far a check or scrub is.
struct CheckProgress {
  const char* phase = "";   ///< "table", "tree" or, when data is verified, "data", then "space"
  std::uint64_t done = 0;   ///< of `total`: table pages, nodes, bytes, groups
  std::uint64_t total = 0;  ///< an estimate
};

/// What to check.
struct CheckOptions {
  bool verify_data = false;                  ///< also read every file and compare the checksums
  std::uint32_t findings_per_kind_max = 20;  ///< keep so many of each kind; all are counted
  ImageOptions image;                        ///< allow_truncated is always meant
  /// Called now and then; false stops the check. May be empty.
  std::function<bool(const CheckProgress&)> progress;
  /// With verify_data: called for every piece of data that is not right. May be empty.
  std::function<void(const DataDamage&)> damage;
};

/// What a check has seen.
struct CheckStatistics {
  std::uint64_t table_pages = 0;
  std::uint64_t nodes = 0;  ///< in the tree
  std::uint64_t leaves = 0;
  std::uint64_t fragmented_nodes = 0;
  std::uint64_t leaf_bytes_used = 0;  ///< slots and records
  std::uint64_t leaf_bytes = 0;       ///< room for them, in all leaves
  std::uint64_t items = 0;
  std::uint64_t inodes = 0;
  std::uint64_t directories = 0;
  std::uint64_t names = 0;
  std::uint64_t xattrs = 0;
  std::uint64_t extents = 0;
  std::uint64_t orphans = 0;
  std::uint64_t owned_blocks = 0;  ///< by nodes, table pages and extents
  std::uint64_t data_bytes = 0;    ///< in extents with checksums
  std::uint64_t data_bytes_verified = 0;
  std::uint64_t log_records = 0;  ///< that wait for a replay
  std::uint64_t log_bytes = 0;    ///< of them
};

/// The answer of a check.
struct CheckReport {
  std::array<std::uint8_t, 16> uuid{};
  std::string label;
  std::uint64_t generation = 0;
  std::uint32_t slot = 0;  ///< of the superblock that was followed
  std::uint32_t block_bytes = 0;
  std::uint32_t node_bytes = 0;
  std::uint64_t device_blocks = 0;
  Findings findings;
  CheckStatistics statistics;
  bool cancelled = false;  ///< by the progress callback: later parts were not checked

  /// Nothing is damaged: notes and warnings may still be there.
  [[nodiscard]] bool clean() const { return findings.count(Severity::kError) == 0; }
};

/// Checks the structure of the volume on a device, which nobody may change meanwhile: superblocks,
/// log, node table, tree, items, names, extended attributes, extents, orphans, free space, counters.
/// Writes nothing and shares no code with the engine above the node format, apart from the log: the
/// question about it is what the engine would do with it. All else is said of the last checkpoint.
///
/// One cause gives one finding where that can be told: what lies behind an unreadable node is not
/// reported as missing, and counts that cannot be known are not compared (parts_not_compared).
/// @errors only when there is no volume to look at: kNotCordwood, kVersion, kCorrupt (no right
///         superblock), I/O. Everything else is a finding.
/// @cost   reads all metadata about once; memory: a bit for each block in use and each node, 16
///         bytes for each directory, and some MiB.
[[nodiscard]] Result<CheckReport> check(BlockDevice& device, const CheckOptions& options = {});

/// The report as lines for people; ends with a line "clean" or the counts.
[[nodiscard]] std::string render_text(const CheckReport& report);

/// "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
[[nodiscard]] std::string uuid_text(const std::array<std::uint8_t, 16>& uuid);

}  // namespace cordwood
