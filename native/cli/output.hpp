#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "failure.hpp"
#include "transfer/report.hpp"
#include "volume/types.hpp"
#include "volume/volume.hpp"

namespace cordwood::cli {

/// Standard output as the commands use it. Everything goes through stdio's buffer; whether it arrived
/// is asked once, by finish_output().
void print_text(std::string_view text);
/// One value on a line of its own.
void print_json(const boost::json::value& value);
/// @errors standard output is full or gone.
[[nodiscard]] Outcome<void> finish_output();

/// A JSON array that is written as its elements come, however many there are.
class JsonArrayPrinter {
 public:
  JsonArrayPrinter() { print_text("["); }
  void add(const boost::json::value& element);
  void finish() { print_text("]\n"); }

 private:
  bool first_ = true;
};

/// Everything that stat knows.
[[nodiscard]] boost::json::object attributes_json(const Attributes& attributes);
/// What the engine did since the volume was opened: {"nodes", "tree_levels", "leaf_fill_permille",
/// "log_bytes", "log_used_bytes", "gate_closed_ns", "group_sizes" (both {"count", "p50", "p99", "max"}),
/// "device_commands_per_fsync" (null when the log served none), "counters"}.
[[nodiscard]] boost::json::object statistics_json(const VolumeStatistics& statistics);
[[nodiscard]] boost::json::object transfer_json(const TransferReport& report);

}  // namespace cordwood::cli
