#include <cstdio>
#include <string>

#include "support/catch.hpp"
#include "support/crash_lab.hpp"
#include "support/generator.hpp"
#include "support/runner.hpp"
#include "support/sample_image.hpp"

// The device fails the k-th I/O, for every k, once and for ever. CORDWOOD_IO_SEEDS says how many
// workloads, each of which is run some thousand times.

namespace cordwood::test {

namespace {

using On = FaultRule::On;

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kSeeds = 1;
#else
constexpr std::uint64_t kSeeds = 2;
#endif

WorkloadConfig config_of(std::uint64_t seed) {
  WorkloadConfig config;
  config.device_bytes = 8_MiB;
  config.node_bytes = 4096;
  config.block_bytes = seed % 2 == 0 ? 512 : 4096;
  config.names = 30;
  config.file_bytes = 32_KiB;
  // So small that nodes are evicted and read again in the midst of operations.
  config.cache_bytes = 64 * 4096;
  config.dirty_bytes_max = 24 * 4096;
  return config;
}

/// Operations that succeed on a healthy device.
std::vector<Operation> draw(const WorkloadConfig& config, const SampleImage& sample,
                            std::uint64_t seed) {
  SimDeviceOptions options;
  SimDevice device(sample.image, options);
  Executor executor(device, config);
  INFO(executor.resume(sample.model));
  REQUIRE(executor.is_open());
  Generator generator(config, seed, [&](std::uint32_t slot) { return executor.handle(slot); });
  std::vector<Operation> operations;
  for (int step = 0; step < 60; ++step) {
    operations.push_back(step % 9 == 8 ? Operation{} : generator.next(executor.model()));
    const std::string wrong = executor.apply(operations.back());
    INFO(to_text(operations.back()) << ": " << wrong);
    REQUIRE(wrong.empty());
  }
  executor.abandon();
  return operations;
}

struct Totals {
  std::uint64_t faults = 0;
  std::uint64_t states = 0;
};

/// Fails the k-th I/O of a kind until a run has fewer.
void fail_each(const CrashCase& what, const SampleImage& sample,
               const std::vector<Operation>& operations, FaultRule rule, Totals& totals) {
  for (rule.skip = 0;; ++rule.skip) {
    CrashLab lab(what);
    std::string wrong = lab.record_faulty(sample.image, sample.model, operations, rule);
    // What a power cut after the failure may leave has to be as good; a sample of it.
    if (wrong.empty() && rule.skip % 8 == 0) wrong = lab.try_states(20);
    INFO("fault on " << static_cast<int>(rule.on) << " number " << rule.skip << ", " << rule.times
                     << " times, landed " << static_cast<int>(rule.landed) << "\n"
                     << wrong);
    REQUIRE(wrong.empty());
    totals.states += lab.states_tried();
    if (lab.faults_hit() == 0) break;
    ++totals.faults;
  }
}

}  // namespace

TEST_CASE("io errors: every I/O fails once and for ever", "[fault]") {
  const std::uint64_t seeds = environment_number("CORDWOOD_IO_SEEDS", kSeeds);
  Totals totals;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    CrashCase what;
    what.config = config_of(seed);
    what.seed = seed;
    what.probe_every = 0;
    what.policy.all_subsets_up_to = 3;
    what.policy.random_subsets = 4;
    what.policy.family_max = 4;
    what.policy.torn_states_max = 4;
    const SampleImage sample = sample_image(what.config, 60);
    INFO(sample.problem);
    REQUIRE(sample.problem.empty());
    const std::vector<Operation> operations = draw(what.config, sample, seed);
    for (const std::uint64_t times : {std::uint64_t{1}, FaultRule::kForever}) {
      FaultRule rule;
      rule.times = times;
      for (const On on : {On::kRead, On::kWrite, On::kFlush}) {
        rule.on = on;
        fail_each(what, sample, operations, rule, totals);
      }
      rule.on = On::kWrite;
      rule.landed = FaultRule::Landed::kAll;
      fail_each(what, sample, operations, rule, totals);
      rule.landed = FaultRule::Landed::kHead;
      fail_each(what, sample, operations, rule, totals);
    }
  }
  std::printf("io errors: %llu faults, %llu states of a power cut after one\n",
              static_cast<unsigned long long>(totals.faults),
              static_cast<unsigned long long>(totals.states));
}

}  // namespace cordwood::test
