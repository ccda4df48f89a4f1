#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "log/replay.hpp"
#include "volume/image_reader.hpp"

namespace cordwood {

// The log as it lies on a device, and what opening the volume would do with it. describe.hpp tells the
// conventions.

/// How much of a log to describe.
struct LogDescriptionLimits {
  std::size_t records_max = 64;  ///< so many records; also of those behind the damage
  std::size_t items_max = 256;   ///< so many items, and tombstones, of each
};

/// What opening the volume would replay; looking changes nothing.
/// @errors I/O; corrupt when the device ends before its log does, or when nodes of the tree are damaged
///         that had to be asked. Damage of the log is told in the plan.
/// @cost   reads the records and, if the volume was not closed, the rest of the ring.
[[nodiscard]] Result<ReplayPlan> plan_replay(ImageReader& reader);

/// The ring and what is in it: {"first_block", "blocks", "bytes", "clean",
/// "start": {"sequence", "block", "byte"} (where the checkpoint begins to read),
/// "records": [{"sequence", "block", "byte", "bytes", "wraps", "base_generation", "durable_sequence",
///   "batch_continues", "next_inode", "inode_count", "written_seconds", "checksum", "counts"
///   (null when there is no plan), "why_not" (null, or why it does not count), "item_count", "tombstone_count",
///   "leaves": [{"offset", "bytes", "first_key", "item_count", "items": [{"offset", "bytes", "key",
///     "item"} ...]} ...], "items_left_out",
///   "tombstones": [{"first", "last"} ...], "tombstones_left_out"} ...], "records_left_out",
/// "end": {"sequence", "block", "byte", "found"} (where reading stops, and at what),
/// "plan": {see to_json; or "error"}, "behind_damage": [{"sequence", ... "item_count"} ...]: whole records behind a
/// damaged one, which a replay cannot reach}.
/// Blocks count from the ring's start, bytes from the device's; offsets from the record's start.
[[nodiscard]] boost::json::object describe_log(ImageReader& reader,
                                               const LogDescriptionLimits& limits = {});

/// {"records", "batches", "items", "tombstones", "bytes", "begin": {"sequence", "block"}, "end",
/// "cut_records", "cut_reason" (null when none was cut), "damage" (null or a sentence), "next_inode",
/// "inode_count"}
[[nodiscard]] boost::json::object to_json(const ReplayPlan& plan);

/// The records that count, in words: "3 records (2 batches, 17 items, 1 tombstones, 12288 bytes),
/// sequences 5 to 7".
[[nodiscard]] std::string records_text(const ReplayPlan& plan);
/// Those that do not: "2 records behind them do not count: their batch is not complete"; empty when
/// there are none.
[[nodiscard]] std::string cut_text(const ReplayPlan& plan);

}  // namespace cordwood
