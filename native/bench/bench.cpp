#include "bench/bench.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/clock.hpp"

namespace cordwood::bench {

void die(const Error& error) {
  fmt::print(stderr, "cordwood_bench: {}\n", error.message());
  std::exit(3);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::uint64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t wall_ns() { return system_clock().monotonic_ns(); }

void Report::text(const std::string& column, const std::string& value) {
  rows_.back().push_back({column, value, true});
}

void Report::number(const std::string& column, double value, int decimals) {
  rows_.back().push_back({column, fmt::format("{:.{}f}", value, decimals), false});
}

void Report::end_row() { rows_.emplace_back(); }

void Report::print(bool as_json) const {
  if (as_json) {
    fmt::print("[");
    for (std::size_t i = 0; i + 1 < rows_.size(); ++i) {
      fmt::print("{}\n  {{", i == 0 ? "" : ",");
      for (const Cell& cell : rows_[i]) {
        const char* const quote = cell.quoted ? "\"" : "";
        fmt::print("{}\"{}\": {}{}{}", &cell == rows_[i].data() ? "" : ", ", cell.column, quote,
                   cell.shown, quote);
      }
      fmt::print("}}");
    }
    fmt::print("\n]\n");
    return;
  }
  fmt::print("|");
  for (const Cell& cell : rows_.front()) fmt::print(" {} |", cell.column);
  fmt::print("\n|");
  for (std::size_t i = 0; i < rows_.front().size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (std::size_t i = 0; i + 1 < rows_.size(); ++i) {
    fmt::print("|");
    for (const Cell& cell : rows_[i]) fmt::print(" {} |", cell.shown);
    fmt::print("\n");
  }
}

}  // namespace cordwood::bench
