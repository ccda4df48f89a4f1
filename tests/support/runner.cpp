#include "support/runner.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>

#include "device/memory_device.hpp"
#include "support/child_process.hpp"
#include "support/compare.hpp"
#include "support/executor.hpp"
#include "support/generator.hpp"

namespace cordwood::test {

namespace {

/// A sequence that is being made smaller and runs longer than this hangs.
constexpr unsigned kHangSeconds = 15;

std::string checked(Executor& executor) {
  if (std::string found = executor.check(); !found.empty()) return found;
  return compare_volume(executor.model(), executor.volume());
}

/// What every run ends with.
std::string end(Executor& executor) {
  if (std::string wrong = checked(executor); !wrong.empty()) return "at the end: " + wrong;
  Operation remount;
  remount.kind = Operation::Kind::kRemount;
  if (std::string wrong = executor.apply(remount); !wrong.empty()) return "at the end: " + wrong;
  if (std::string wrong = checked(executor); !wrong.empty()) return "reopened: " + wrong;
  return executor.finish();
}

/// Runs what `next` gives until it gives nothing.
template <class Next>
std::optional<Failure> run(Executor& executor, Next next) {
  if (std::string wrong = executor.start(); !wrong.empty()) return Failure{0, wrong};
  std::size_t step = 0;
  for (std::optional<Operation> operation = next(); operation; operation = next()) {
    if (std::string wrong = executor.apply(*operation); !wrong.empty()) {
      return Failure{step, to_text(*operation) + ": " + wrong};
    }
    ++step;
  }
  if (std::string wrong = end(executor); !wrong.empty()) return Failure{step, wrong};
  return std::nullopt;
}

WorkloadResult run_generated(const WorkloadConfig& config, std::uint64_t seed, std::size_t count,
                             const std::function<void(const Operation&)>& begun) {
  MemoryDevice device(config.device_bytes);
  Executor executor(device, config);
  Generator generator(config, seed,
                      [&executor](std::uint32_t slot) { return executor.handle(slot); });
  WorkloadResult result;
  result.failure = run(executor, [&]() -> std::optional<Operation> {
    if (result.operations.size() == count) return std::nullopt;
    result.operations.push_back(generator.next(executor.model()));
    begun(result.operations.back());
    return result.operations.back();
  });
  result.out_of_space = executor.out_of_space();
  result.counters = executor.counters();
  return result;
}

bool fails(const WorkloadConfig& config, const std::vector<Operation>& operations) {
  if (!can_fork()) return replay(config, operations).has_value();
  const ChildResult child = run_in_child(
      [&](const std::function<void(std::string_view)>& write) {
        if (const auto failure = replay(config, operations)) write(failure->what);
      },
      kHangSeconds);
  return !child.ended_well || !child.output.empty();
}

std::vector<Operation> without(const std::vector<Operation>& operations, std::size_t first,
                               std::size_t count) {
  std::vector<Operation> rest(operations.begin(),
                              operations.begin() + static_cast<std::ptrdiff_t>(first));
  const std::size_t end = std::min(first + count, operations.size());
  rest.insert(rest.end(), operations.begin() + static_cast<std::ptrdiff_t>(end), operations.end());
  return rest;
}

}  // namespace

std::optional<Failure> replay(const WorkloadConfig& config,
                              const std::vector<Operation>& operations) {
  MemoryDevice device(config.device_bytes);
  Executor executor(device, config);
  std::size_t at = 0;
  return run(executor, [&]() -> std::optional<Operation> {
    if (at == operations.size()) return std::nullopt;
    return operations[at++];
  });
}

WorkloadResult run_workload(const WorkloadConfig& config, std::uint64_t seed, std::size_t count) {
  return run_generated(config, seed, count, [](const Operation&) {});
}

WorkloadResult run_workload_apart(const WorkloadConfig& config, std::uint64_t seed,
                                  std::size_t count) {
  if (!can_fork()) return run_workload(config, seed, count);
  const ChildResult child = run_in_child([&](const std::function<void(std::string_view)>& write) {
    const auto result = run_generated(
        config, seed, count, [&](const Operation& operation) { write(to_text(operation) + '\n'); });
    if (result.failure) write("!" + result.failure->what);
  });
  WorkloadResult result;
  std::string_view text = child.output;
  while (!text.empty() && text.front() != '!') {
    const std::size_t newline = text.find('\n');
    if (const auto operation = parse_operation(text.substr(0, newline))) {
      result.operations.push_back(*operation);
    }
    if (newline == std::string_view::npos) break;
    text.remove_prefix(newline + 1);
  }
  if (!child.ended_well || (!text.empty() && text.front() == '!')) {
    const std::size_t steps = result.operations.size();
    const std::string what = child.ended_well ? std::string(text.substr(1)) : child.how_it_ended;
    result.failure = Failure{steps == 0 ? 0 : steps - 1, what};
  }
  return result;
}

std::vector<Operation> shrink(const WorkloadConfig& config, std::vector<Operation> operations,
                              std::size_t runs_max) {
  std::size_t runs = 0;
  std::size_t chunk = operations.size() / 2;
  while (chunk > 0 && runs < runs_max) {
    bool smaller = false;
    for (std::size_t first = 0; first < operations.size() && runs < runs_max;) {
      std::vector<Operation> candidate = without(operations, first, chunk);
      ++runs;
      if (fails(config, candidate)) {
        operations = std::move(candidate);
        smaller = true;
      } else {
        first += chunk;
      }
    }
    if (!smaller || chunk > operations.size()) chunk /= 2;
  }
  return operations;
}

std::string regression_text(const WorkloadConfig& config,
                            const std::vector<Operation>& operations) {
  return to_text(config) + '\n' + to_text(operations);
}

Result<Regression> parse_regression(std::string_view text) {
  Regression regression;
  bool config_seen = false;
  std::uint64_t line_number = 0;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
    ++line_number;
    if (line.empty() || line.front() == '#') continue;
    if (!config_seen) {
      regression.config = TRY(parse_config(line));
      config_seen = true;
      continue;
    }
    const auto operation = parse_operation(line);
    if (!operation) {
      return make_error(Errc::kInvalid, Place::kValue, line_number, "not an operation");
    }
    regression.operations.push_back(*operation);
  }
  return regression;
}

std::string run_and_report(const WorkloadConfig& config, std::uint64_t seed, std::size_t count,
                           CounterValues& counters) {
  const bool apart = environment_number("CORDWOOD_APART", 0) != 0;
  WorkloadResult result =
      apart ? run_workload_apart(config, seed, count) : run_workload(config, seed, count);
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += result.counters[i];
  if (!result.failure) return {};
  std::string report = "seed " + std::to_string(seed) + ", step " +
                       std::to_string(result.failure->step) + ": " + result.failure->what + '\n';
  const std::size_t runs = environment_number("CORDWOOD_SHRINK_RUNS", 2000);
  const std::vector<Operation> least = shrink(config, std::move(result.operations), runs);
  return report + "least sequence that fails, for tests/data/regressions:\n" +
         regression_text(config, least);
}

std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  return std::strtoull(text, nullptr, 10);
}

}  // namespace cordwood::test
