#include <algorithm>
#include <cstdio>
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
enum class Flavour : std::uint32_t { kUsual, kSmallCache, kManyCheckpoints, kManyNames, kCount };

WorkloadConfig config_of(Sizes sizes, Flavour flavour, std::uint32_t round) {
  WorkloadConfig config;
  config.node_bytes = sizes.node_bytes;
  config.block_bytes = sizes.block_bytes;
  config.split = round % 4;
  config.hint = round / 4 % 2;
  switch (flavour) {
    case Flavour::kUsual: break;
    case Flavour::kSmallCache:
      config.cache_bytes = 48 * std::uint64_t{sizes.node_bytes};
      config.names = 600;
      break;
    case Flavour::kManyCheckpoints:
      config.dirty_bytes_max = 24 * std::uint64_t{sizes.node_bytes};
      config.inline_max = 0;
      break;
    case Flavour::kManyNames:
      config.names = 3000;
      config.inline_max = 512;
      break;
    case Flavour::kCount: break;
  }
  return config;
}

void require_clean(const WorkloadConfig& config, std::uint64_t seed, std::size_t count) {
  const std::string report = run_and_report(config, seed, count);
  INFO(to_text(config) << "\n" << report);
  REQUIRE(report.empty());
}

}  // namespace

TEST_CASE("model: random operations on every pair of sizes", "[model]") {
  const std::uint64_t total = environment_number("CORDWOOD_MODEL_OPS", kOperations);
  const std::uint64_t first_seed = environment_number("CORDWOOD_MODEL_SEED", 1);
  constexpr std::uint64_t kPerWorkload = 10'000;
  const auto flavours = static_cast<std::uint32_t>(Flavour::kCount);
  const std::uint64_t workloads = std::max<std::uint64_t>(1, total / kPerWorkload);
  for (std::uint64_t i = 0; i < workloads; ++i) {
    const Sizes sizes = kSizes[i % std::size(kSizes)];
    const auto round = static_cast<std::uint32_t>(i / std::size(kSizes));
    const auto flavour = static_cast<Flavour>(round % flavours);
    require_clean(config_of(sizes, flavour, round / flavours), first_seed + i,
                  std::min(total, kPerWorkload));
  }
  std::printf("model: %llu workloads of %llu operations\n",
              static_cast<unsigned long long>(workloads),
              static_cast<unsigned long long>(std::min(total, kPerWorkload)));
}

TEST_CASE("model: names and xattrs whose hashes collide", "[model]") {
  const std::uint64_t seed = environment_number("CORDWOOD_MODEL_SEED", 1);
  const std::uint64_t total = environment_number("CORDWOOD_MODEL_OPS", kOperations);
  for (std::uint32_t i = 0; i < std::size(kSizes); ++i) {
    WorkloadConfig config = config_of(kSizes[i], Flavour::kUsual, i);
    config.name_hash_bits = i % 2 == 0 ? 3 : 1;
    config.no_space = 1;  // a bucket may overflow
    require_clean(config, seed + 5000 + i, total / 50);
  }
}

TEST_CASE("model: a volume that is nearly full", "[model]") {
  const std::uint64_t seed = environment_number("CORDWOOD_MODEL_SEED", 1);
  const std::uint64_t total = environment_number("CORDWOOD_MODEL_OPS", kOperations);
  for (std::uint32_t i = 0; i < std::size(kSizes); ++i) {
    WorkloadConfig config = config_of(kSizes[i], Flavour::kUsual, i);
    config.device_bytes = kSizes[i].node_bytes == 65536 ? 12_MiB : 6_MiB;
    config.total_bytes = config.device_bytes;
    config.file_bytes = 1_MiB;
    config.no_space = 1;
    require_clean(config, seed + 6000 + i, total / 100);
  }
}

}  // namespace cordwood::test
