#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/operation.hpp"
#include "support/workload_config.hpp"
#include "trace/counters.hpp"

namespace cordwood::test {

/// Where a workload went wrong.
struct Failure {
  std::size_t step = 0;  ///< index of the operation; the number of them when closing failed
  std::string what;
};

/// Runs operations on a fresh volume in memory beside the model. At the end: compare, close, open,
/// check, compare.
[[nodiscard]] std::optional<Failure> replay(const WorkloadConfig& config,
                                            const std::vector<Operation>& operations);

/// What a generated workload did.
struct WorkloadResult {
  std::optional<Failure> failure;
  std::vector<Operation> operations;
  std::uint64_t out_of_space = 0;
  CounterValues counters{};
};
/// Draws and runs `count` operations likewise.
[[nodiscard]] WorkloadResult run_workload(const WorkloadConfig& config, std::uint64_t seed,
                                          std::size_t count);

/// Leaves out operations while the rest still fails, also in another way. Where processes can be
/// forked, aborts and endless loops count as failures too.
/// @param runs_max  tries at most so many sequences.
[[nodiscard]] std::vector<Operation> shrink(const WorkloadConfig& config,
                                            std::vector<Operation> operations,
                                            std::size_t runs_max = 2000);

/// Runs a workload in another process, where there are any, so that an abort is a failure like
/// others; else in this one.
[[nodiscard]] WorkloadResult run_workload_apart(const WorkloadConfig& config, std::uint64_t seed,
                                                std::size_t count);

/// The text of a file in tests/data/regressions: the config, then an operation a line.
[[nodiscard]] std::string regression_text(const WorkloadConfig& config,
                                          const std::vector<Operation>& operations);
struct Regression {
  WorkloadConfig config;
  std::vector<Operation> operations;
};
/// Lines that begin with '#' and empty ones are comments.
/// @errors kInvalid with Place::kValue of the line.
[[nodiscard]] Result<Regression> parse_regression(std::string_view text);

/// Runs a workload; if it fails, makes it smaller and returns a report with a regression's text.
/// @param counters  gets what the volumes counted added.
/// @return nothing when all is well.
[[nodiscard]] std::string run_and_report(const WorkloadConfig& config, std::uint64_t seed,
                                         std::size_t count, CounterValues& counters);

/// The number in an environment variable, or a default.
[[nodiscard]] std::uint64_t environment_number(const char* name, std::uint64_t otherwise);

}  // namespace cordwood::test
