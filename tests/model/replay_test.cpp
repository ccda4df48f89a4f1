#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/executor.hpp"
#include "support/findings.hpp"
#include "support/generator.hpp"
#include "support/runner.hpp"
#include "support/tree_compare.hpp"

// The oracle of the log: after each fsync, the checkpoint with the log replayed is the live tree, item
// by item. A change that forgot to mark what it changed shows here.
// CORDWOOD_REPLAY_SEEDS says how many workloads, CORDWOOD_REPLAY_SEED where they begin.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kSeeds = 8;
#else
constexpr std::uint64_t kSeeds = 60;
#endif

struct Sizes {
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
};
constexpr Sizes kSizes[] = {{4096, 512}, {4096, 4096}, {16384, 4096}, {65536, 512}, {65536, 4096}};

WorkloadConfig config_of(std::uint64_t seed) {
  WorkloadConfig config;
  const Sizes& sizes = kSizes[seed % std::size(kSizes)];
  config.device_bytes = 32_MiB;
  config.node_bytes = sizes.node_bytes;
  config.block_bytes = sizes.block_bytes;
  config.split = static_cast<std::uint32_t>(seed / 5 % 4);
  config.hint = seed / 20 % 2 == 0 ? 1 : 0;
  config.log = static_cast<std::uint32_t>(seed % 4);
  if (seed % 7 == 0) config.log_ahead_bytes = 5 * std::uint64_t{sizes.node_bytes};
  config.names = seed % 2 == 0 ? 60 : 800;
  config.file_bytes = 128_KiB;
  config.total_bytes = 4_MiB;
  if (seed % 3 == 0) config.dirty_bytes_max = 20 * std::uint64_t{sizes.node_bytes};
  return config;
}

/// Opens a copy of the device as after a crash at this moment, and compares.
std::string replay_and_compare(Executor& executor, const MemoryDevice& device) {
  MemoryDevice copy(device.snapshot());
  TestClock clock;
  auto replayed = Volume::open(copy, executor.config().mount_options(&clock));
  if (!replayed) return "open: " + replayed.error().message();
  // Opening finishes deletions, so inodes without a name are there in the live tree only.
  const auto unnamed =
      std::count_if(executor.model().inodes().begin(), executor.model().inodes().end(),
                    [](const auto& entry) { return entry.second->links == 0; });
  if (unnamed == 0) {
    if (std::string wrong = compare_trees(executor.volume(), **replayed); !wrong.empty()) {
      return wrong;
    }
  }
  if (const auto closed = (*replayed)->close(); !closed) return closed.error().message();
  return findings(copy);
}

}  // namespace

TEST_CASE("replay: checkpoint and log give the live tree, item by item", "[replay]") {
  const std::uint64_t seeds = environment_number("CORDWOOD_REPLAY_SEEDS", kSeeds);
  const std::uint64_t first = environment_number("CORDWOOD_REPLAY_SEED", 1);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const WorkloadConfig config = config_of(seed);
    INFO("seed " << seed << ", " << to_text(config));
    MemoryDevice device(config.device_bytes);
    Executor executor(device, config);
    std::string wrong = executor.start();
    INFO(wrong);
    REQUIRE(wrong.empty());
    Random random(seed);
    Generator generator(config, seed, [&](std::uint32_t slot) { return executor.handle(slot); });
    std::vector<Operation> operations;
    for (std::uint64_t step = 0; step < 600; ++step) {
      operations.push_back(generator.next(executor.model()));
      wrong = executor.apply(operations.back());
      if (wrong.empty() && random.one_in(12)) {
        operations.push_back(Operation{});
        wrong = executor.apply(operations.back());
        if (wrong.empty()) wrong = replay_and_compare(executor, device);
      }
      if (wrong.empty()) continue;
      INFO("step " << step << " " << to_text(operations.back()) << ": " << wrong);
      if (operations.size() < 100) UNSCOPED_INFO(to_text(operations));
      REQUIRE(wrong.empty());
    }
    executor.abandon();
  }
}

}  // namespace cordwood::test
