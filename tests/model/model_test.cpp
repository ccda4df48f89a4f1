#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/runner.hpp"

// Random operations against a plain in-memory model. CORDWOOD_MODEL_OPS says how many in all (the
// default is what CI has time for), CORDWOOD_MODEL_SEED where the seeds begin, CORDWOOD_APART=1 runs
// each workload in a process of its own, so that even an abort is made smaller.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kOperations = 60'000;
#else
constexpr std::uint64_t kOperations = 1'000'000;
#endif

struct Sizes {
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
};
constexpr Sizes kSizes[] = {{4096, 4096}, {4096, 512}, {65536, 4096}, {65536, 512}, {16384, 4096}};

/// Workloads differ in what presses them.
enum class Flavour : std::uint32_t {
  kUsual,
  kSmallCache,
  kManyCheckpoints,
  kManyNames,
  kFragmented,
  kCount
};

std::size_t operations_of(Flavour flavour) {
  return flavour == Flavour::kManyNames ? 40'000 : 10'000;
}

WorkloadConfig config_of(Sizes sizes, Flavour flavour, std::uint32_t round) {
  WorkloadConfig config;
  config.node_bytes = sizes.node_bytes;
  config.block_bytes = sizes.block_bytes;
  config.split = round % 4;
  config.hint = round / 4 % 2;
  switch (flavour) {
    case Flavour::kSmallCache:
      config.cache_bytes = 48 * std::uint64_t{sizes.node_bytes};
      config.names = 600;
      break;
    case Flavour::kManyCheckpoints:
      config.dirty_bytes_max = 24 * std::uint64_t{sizes.node_bytes};
      config.inline_max = 0;
      break;
    case Flavour::kManyNames:
      config.names = 6000;
      config.inline_max = 512;
      config.device_bytes = 128_MiB;
      break;
    case Flavour::kFragmented:
      config.device_bytes = 24_MiB;
      config.total_bytes = 4_MiB;
      config.fragment = 1;
      config.no_space = 1;
      break;
    default: break;
  }
  return config;
}

void require_clean(const WorkloadConfig& config, std::uint64_t seed, std::size_t count,
                   CounterValues& counters) {
  const std::string report = run_and_report(config, seed, count, counters);
  INFO(to_text(config) << "\n" << report);
  REQUIRE(report.empty());
}

/// Shows what the workloads have exercised, and insists that it is not nothing.
void require_exercised(const CounterValues& counters, std::initializer_list<Counter> wanted) {
  for (const Counter counter : wanted) {
    const std::uint64_t value = counters[static_cast<std::size_t>(counter)];
    std::printf("  %s %llu\n", counter_name(counter), static_cast<unsigned long long>(value));
    INFO(counter_name(counter));
    CHECK(value != 0);
  }
}

std::uint64_t operations_in_all() { return environment_number("CORDWOOD_MODEL_OPS", kOperations); }

}  // namespace

TEST_CASE("model: random operations on every pair of sizes", "[model]") {
  const std::uint64_t total = operations_in_all();
  const std::uint64_t first_seed = environment_number("CORDWOOD_MODEL_SEED", 1);
  constexpr auto kFlavours = static_cast<std::uint32_t>(Flavour::kCount);
  CounterValues counters{};
  std::uint64_t done = 0;
  std::uint32_t workloads = 0;
  for (; done < total; ++workloads) {
    const Sizes sizes = kSizes[workloads % std::size(kSizes)];
    const auto round = static_cast<std::uint32_t>(workloads / std::size(kSizes));
    const auto flavour = static_cast<Flavour>(round % kFlavours);
    const std::size_t count = std::min<std::uint64_t>(total - done, operations_of(flavour));
    require_clean(config_of(sizes, flavour, round / kFlavours + round), first_seed + workloads,
                  count, counters);
    done += count;
  }
  std::printf("model: %llu operations in %u workloads\n", static_cast<unsigned long long>(done),
              workloads);
  if (workloads < kFlavours * std::size(kSizes)) return;
  require_exercised(
      counters, {Counter::kHintHits, Counter::kHintMisses, Counter::kCompactions, Counter::kSplits,
                 Counter::kAppendSplits, Counter::kInnerSplits, Counter::kPushes, Counter::kMerges,
                 Counter::kInnerMerges, Counter::kRepacks, Counter::kNodeLoads,
                 Counter::kNodeEvictions, Counter::kCheckpoints});
}

TEST_CASE("model: names and xattrs whose hashes collide", "[model]") {
  const std::uint64_t seed = environment_number("CORDWOOD_MODEL_SEED", 1);
  CounterValues counters{};
  for (std::uint32_t i = 0; i < std::size(kSizes); ++i) {
    WorkloadConfig config = config_of(kSizes[i], Flavour::kUsual, i);
    config.name_hash_bits = i % 2 == 0 ? 3 : 1;
    config.no_space = 1;  // a bucket may overflow
    require_clean(config, seed + 5000 + i, operations_in_all() / 50, counters);
  }
}

TEST_CASE("model: a volume that is nearly full", "[model]") {
  const std::uint64_t seed = environment_number("CORDWOOD_MODEL_SEED", 1);
  CounterValues counters{};
  for (std::uint32_t i = 0; i < std::size(kSizes); ++i) {
    WorkloadConfig config = config_of(kSizes[i], Flavour::kUsual, i);
    config.device_bytes = kSizes[i].node_bytes == 65536 ? 12_MiB : 6_MiB;
    config.total_bytes = config.device_bytes;
    config.file_bytes = 1_MiB;
    config.fragment = i % 2;
    config.no_space = 1;
    require_clean(config, seed + 6000 + i, operations_in_all() / 100, counters);
  }
}

}  // namespace cordwood::test
