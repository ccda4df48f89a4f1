#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "trace/counters.hpp"
#include "volume/volume.hpp"

namespace cordwood::bench {

/// What a benchmark adds to the program: options on `app`, and what runs when they are parsed.
/// @return the program's exit code
using Command = std::function<int()>;
Command add_create(CLI::App& app);
Command add_seed_log(CLI::App& app);
Command add_matrix(CLI::App& app);
Command add_fsync_threads(CLI::App& app);
Command add_stress(CLI::App& app);

/// Ends the program with an error's message.
[[noreturn]] void die(const Error& error);

template <class T>
T must(Result<T> result) {
  if (!result) die(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// @pre not empty
[[nodiscard]] double median(std::vector<double> values);

/// CPU time of this thread: other work on the machine hardly counts.
[[nodiscard]] std::uint64_t thread_cpu_ns();
[[nodiscard]] std::uint64_t wall_ns();

/// Wall and CPU time of this thread since it was made.
class Stopwatch {
 public:
  [[nodiscard]] double wall_ms() const { return static_cast<double>(wall_ns() - wall_) / 1e6; }
  [[nodiscard]] double cpu_ms() const { return static_cast<double>(thread_cpu_ns() - cpu_) / 1e6; }

 private:
  std::uint64_t wall_ = wall_ns();
  std::uint64_t cpu_ = thread_cpu_ns();
};

/// What a counter grew by.
[[nodiscard]] inline double grown(const CounterValues& before, const CounterValues& after,
                                  Counter counter) {
  const auto i = static_cast<std::size_t>(counter);
  return static_cast<double>(after[i] - before[i]);
}

/// Rows of named figures, printed as a Markdown table or as JSON.
class Report {
 public:
  /// @param decimals  of a number.
  void text(const std::string& column, const std::string& value);
  void number(const std::string& column, double value, int decimals = 0);
  void end_row();
  void print(bool as_json) const;

 private:
  struct Cell {
    std::string column;
    std::string shown;
    bool quoted = false;
  };
  std::vector<std::vector<Cell>> rows_{1};
};

}  // namespace cordwood::bench
