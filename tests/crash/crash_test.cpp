#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/crash_lab.hpp"
#include "support/findings.hpp"
#include "support/numbered.hpp"
#include "support/runner.hpp"
#include "support/sample_image.hpp"

// Every state that a power cut may leave, at every write and flush. CORDWOOD_CRASH_STATES says how
// many in all, CORDWOOD_CRASH_SEED where the seeds begin. To replay a state of one seed, set
// CORDWOOD_CRASH_SEED and CORDWOOD_CRASH_ID to what the report says.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kStates = 1'500;
#else
constexpr std::uint64_t kStates = 30'000;
#endif

struct Kind {
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
  std::uint32_t sector_bytes;
  bool volatile_cache;
  bool fua;
};
constexpr Kind kKinds[] = {
    {4096, 512, 512, true, false},    {4096, 4096, 512, true, true},
    {16384, 4096, 4096, true, false}, {65536, 512, 512, true, true},
    {65536, 4096, 512, true, false},  {4096, 512, 512, false, false},
    {16384, 4096, 512, true, true},
};

CrashCase case_of(std::uint64_t seed) {
  const Kind& kind = kKinds[seed % std::size(kKinds)];
  CrashCase what;
  what.seed = seed;
  what.config.device_bytes = kind.node_bytes == 65536 ? 16_MiB : 8_MiB;
  what.config.node_bytes = kind.node_bytes;
  what.config.block_bytes = kind.block_bytes;
  what.config.names = 40;
  what.config.no_space = 1;
  if (seed % 11 == 3) {  // nodes in pieces, on a volume that is nearly full
    what.config.fragment = 1;
    what.config.device_bytes = kind.node_bytes == 65536 ? 6_MiB : 5_MiB;
  }
  what.config.file_bytes = 64_KiB;
  what.config.total_bytes = 1_MiB;
  what.config.split = static_cast<std::uint32_t>(seed / std::size(kKinds) % 4);
  what.config.log = static_cast<std::uint32_t>(seed / 3 % 4);
  if (seed % 4 == 1) what.config.log_ahead_bytes = 3 * std::uint64_t{kind.node_bytes};
  what.config.inline_max = seed % 3 == 0 ? 0 : 2048;
  // Some checkpoints come by themselves, in the midst of operations.
  if (seed % 2 == 0) what.config.dirty_bytes_max = 12 * std::uint64_t{kind.node_bytes};
  what.device.sector_bytes = kind.sector_bytes;
  what.device.volatile_cache = kind.volatile_cache;
  what.device.fua = kind.fua;
  what.device.seed = seed;
  what.steps = seed % 5 == 0 ? 400 : 60;
  what.sync_every = what.steps / 8;
  what.second_every = 97;
  what.policy.cuts = CrashPolicy::Cuts::kEveryEvent;
  what.policy.all_subsets_up_to = 5;
  what.policy.random_subsets = 6;
  what.policy.family_max = 10;
  what.policy.torn_states_max = 10;
  what.policy.garbage = seed % 2 == 1;
  what.policy.seed = seed;
  return what;
}

}  // namespace

TEST_CASE("crash: every state after a power cut is a promised one", "[crash]") {
  const std::uint64_t total = environment_number("CORDWOOD_CRASH_STATES", kStates);
  const std::uint64_t first_seed = environment_number("CORDWOOD_CRASH_SEED", 1);
  const char* id = std::getenv("CORDWOOD_CRASH_ID");
  std::uint64_t states = 0;
  std::uint64_t second_cuts = 0;
  std::uint64_t workloads = 0;
  // No workload takes more than its part, so that all kinds of devices and sizes come.
  const std::uint64_t part = std::max<std::uint64_t>(100, total / 21);
  for (std::uint64_t seed = first_seed; states < total; ++seed) {
    CrashLab lab(case_of(seed));
    std::string wrong = lab.record();
    INFO("seed " << seed << ", recording: " << wrong << "\n" << to_text(lab.operations()));
    REQUIRE(wrong.empty());
    wrong = id == nullptr ? lab.try_states(part) : lab.try_state(id);
    INFO(wrong);
    REQUIRE(wrong.empty());
    states += lab.states_tried();
    second_cuts += lab.second_cuts_tried();
    ++workloads;
    if (id != nullptr) break;
  }
  std::printf("crash: %llu states of %llu workloads, and %llu of power cuts while opening\n",
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(workloads),
              static_cast<unsigned long long>(second_cuts));
}

TEST_CASE("crash: opening after a crash, with deletions to finish, may be cut too", "[crash]") {
  const std::uint64_t seed = GENERATE(1u, 2u, 4u);
  CrashCase what = case_of(seed);
  what.config.fragment = 0;
  what.config.dirty_bytes_max = 0;
  what.second_every = 5;
  CAPTURE(to_text(what.config));
  // Large ones, so that a deletion takes several operations.
  MemoryDevice device(what.config.device_bytes);
  Executor executor(device, what.config);
  std::string wrong = executor.start();
  std::vector<Operation> operations = sample_operations(20);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    const std::string path = numbered("/orphan", slot);
    operations.push_back(op_create(path));
    for (std::uint64_t i = 0; i < 80; ++i) {
      operations.push_back(op_write(path, i * 8192, 600, i + 1));
    }
    operations.push_back(op_xattr(path, "user.large", 20'000, slot));
    operations.push_back(op_xattr(path, "user.small", 20, slot));
    operations.push_back(op_on(Operation::Kind::kOpen, path));
    operations.back().number = slot;
    operations.push_back(op_on(Operation::Kind::kUnlink, path));
  }
  operations.push_back(Operation{});
  for (const Operation& operation : operations) {
    if (wrong.empty()) wrong = executor.apply(operation);
  }
  INFO(wrong);
  REQUIRE(wrong.empty());
  const SparseImage image = device.snapshot();
  ModelFs model = executor.model();
  model.close_all();
  executor.abandon();

  CrashLab lab(what);
  wrong = lab.record_on(image, model, {op_on(Operation::Kind::kRemount, "")});
  if (wrong.empty()) wrong = lab.try_states(1'500);
  INFO(wrong);
  REQUIRE(wrong.empty());
  CHECK(lab.states_tried() > 20);
}

TEST_CASE("crash: a format that is cut leaves the old volume, the new one, or none", "[crash]") {
  const std::uint64_t seed = GENERATE(0u, 1u, 2u, 3u, 4u, 5u);
  CrashCase what = case_of(seed);
  what.config.fragment = 0;
  CAPTURE(to_text(what.config));
  const bool old_volume = GENERATE(false, true);
  SampleImage old;
  old.image = SparseImage(what.config.device_bytes);
  if (old_volume) old = sample_image(what.config, 20);
  REQUIRE(old.problem.empty());

  TestClock clock;
  SimDevice device(old.image, what.device);
  FormatOptions options = what.config.format_options(&clock);
  options.uuid[0] ^= 0xff;
  options.label = "new";
  REQUIRE(Volume::format(device, options));
  const std::uint64_t durable_at = device.moment();
  const Recording recording = device.recording();
  std::uint64_t states = 0;
  what.policy.torn_states_max = 200;
  what.policy.random_subsets = 100;
  for (CrashStates crash(recording, what.policy); crash.next(); ++states) {
    INFO("state " << crash.id());
    MemoryDevice after(crash.build(), {what.device.sector_bytes});
    auto volume = Volume::open(after, what.config.mount_options(&clock));
    if (!volume) {
      INFO(volume.error().message());
      REQUIRE(crash.choice().cut < durable_at);
      const Errc code = volume.error().code;
      REQUIRE((code == Errc::kNotCordwood || code == Errc::kCorrupt));
      continue;
    }
    const bool is_new = (*volume)->superblock().label[0] == 'n';
    REQUIRE((is_new || crash.choice().cut < durable_at));
    const std::string wrong = compare_volume(is_new ? ModelFs(clock.now()) : old.model, **volume);
    INFO((is_new ? "the new volume: " : "the old volume: ") << wrong);
    REQUIRE(wrong.empty());
    REQUIRE((*volume)->close());
    volume->reset();
    const std::string found = findings(after);
    INFO(found);
    REQUIRE(found.empty());
  }
  CHECK(states > 20);
}

}  // namespace cordwood::test
