#include "cli/output.hpp"

#include <cerrno>
#include <cstdio>

#include "volume/json_parts.hpp"

namespace cordwood::cli {

namespace json = boost::json;

namespace {

json::object counters_json(const CounterValues& values) {
  json::object object;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    object[counter_name(static_cast<Counter>(i))] = values[i];
  }
  return object;
}

json::object histogram_json(const HistogramSummary& summary) {
  return {
      {"count", summary.count}, {"p50", summary.p50}, {"p99", summary.p99}, {"max", summary.max}};
}

/// Writes and flushes of the log for each call that had to wait. Groups share theirs. Nothing when all
/// were served by checkpoints, whose commands are not counted so.
json::value commands_per_fsync(const CounterValues& values) {
  const auto value = [&](Counter which) { return values[static_cast<std::size_t>(which)]; };
  const std::uint64_t busy = value(Counter::kFsyncs) - value(Counter::kFsyncsIdle);
  if (busy == 0 || value(Counter::kCommits) == 0) return nullptr;
  return static_cast<double>(value(Counter::kLogDeviceCommands)) / static_cast<double>(busy);
}

json::object time_json(Timestamp time) {
  return {{"seconds", time.seconds}, {"nanoseconds", time.nanoseconds}};
}

}  // namespace

void print_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const json::value& value) {
  print_text(json::serialize(value));
  print_text("\n");
}

Outcome<void> finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  Failure failure = host_failure(errno == 0 ? EIO : errno, "standard output");
  failure.exit = ExitCode::kDamaged;
  return failure;
}

void JsonArrayPrinter::add(const json::value& element) {
  print_text(first_ ? "\n" : ",\n");
  first_ = false;
  print_text(json::serialize(element));
}

json::object attributes_json(const Attributes& attributes) {
  return {
      {"inode", attributes.inode.value},
      {"type", file_type_name(attributes.type())},
      {"mode", attributes.mode & 07777},
      {"links", attributes.links},
      {"uid", attributes.uid},
      {"gid", attributes.gid},
      {"size", attributes.size},
      {"bytes", attributes.bytes},
      {"rdev", attributes.rdev},
      {"access", time_json(attributes.access)},
      {"modify", time_json(attributes.modify)},
      {"change", time_json(attributes.change)},
      {"birth", time_json(attributes.birth)},
  };
}

json::object statistics_json(const VolumeStatistics& statistics) {
  return {
      {"nodes", statistics.nodes},
      {"tree_levels", statistics.tree_levels},
      {"leaf_fill_permille", statistics.leaf_fill_permille},
      {"log_bytes", statistics.log_bytes},
      {"log_used_bytes", statistics.log_used_bytes},
      {"gate_closed_ns", histogram_json(statistics.gate_closed_ns)},
      {"group_sizes", histogram_json(statistics.group_sizes)},
      {"device_commands_per_fsync", commands_per_fsync(statistics.counters)},
      {"counters", counters_json(statistics.counters)},
  };
}

json::object transfer_json(const TransferReport& report) {
  const TransferCounts& counts = report.counts;
  json::array failures;
  for (const FailedEntry& entry : report.failures()) {
    json::object failure;
    put_text(failure, "path", entry.path);
    put_text(failure, "reason", entry.reason);
    failures.push_back(std::move(failure));
  }
  return {
      {"entries", counts.entries()},       {"files", counts.files},
      {"directories", counts.directories}, {"symlinks", counts.symlinks},
      {"specials", counts.specials},       {"hard_links", counts.hard_links},
      {"xattrs", counts.xattrs},           {"bytes", counts.bytes},
      {"data_bytes", counts.data_bytes},   {"owners_not_kept", counts.owners_not_kept},
      {"failed", report.failure_count()},  {"failures", std::move(failures)},
  };
}

}  // namespace cordwood::cli
