#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "device/memory_device.hpp"
#include "lab/crash_run.hpp"
#include "lab/script.hpp"
#include "support/catch.hpp"
#include "support/runner.hpp"

// Bounded exhaustive: every sequence of two operations on a small tree, after each of them an fsync of
// each object (or none), and every state that a power cut may then leave.
// CORDWOOD_EXHAUSTIVE_STATES says how many states to try, spread evenly over all sequences (0: all of
// them), CORDWOOD_EXHAUSTIVE_FIRST at which sequence to begin. n processes share the work when each has
// CORDWOOD_EXHAUSTIVE_PARTS=n and another CORDWOOD_EXHAUSTIVE_PART from 0 to n - 1.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kStates = 2'000;
#else
constexpr std::uint64_t kStates = 20'000;
#endif

constexpr const char* kOperations[] = {
    "create /A/new",
    "create /B/bar",
    "create /new",
    "mkdir /A/new",
    "mkdir /new",
    "symlink /A/new 20",
    "symlink /B/bar 4000",
    "write /A/foo 6000 5000",
    "write /A/foo 100 3000",
    "write /A/foo 20000 10",
    "write /A/bar 0 60",
    "write /A/bar 30 5000",
    "write /B/bar 0 4096",
    "append /A/bar 100",
    "truncate /A/foo 0",
    "truncate /A/foo 4500",
    "truncate /A/foo 30000",
    "truncate /A/bar 10",
    "link /A/foo /B/bar",
    "link /A/bar /A/new",
    "link /A/foo /new",
    "unlink /A/foo",
    "unlink /A/bar",
    "unlink /B/bar",
    "rmdir /A/C",
    "rmdir /B",
    "rename /A/foo /A/bar",
    "rename /A/foo /B/bar",
    "rename /A/bar /A/new",
    "rename /A /new",
    "rename /A/C /B/bar",
    "rename /B /A/C",
    "exchange /A/foo /A/bar",
    "exchange /A/foo /B",
    "setxattr /A/foo user.x 10",
    "setxattr /A/bar user.x 5000",
    "rmxattr /A/bar user.old",
    "chmod /A/foo 600",
};

constexpr const char* kPersistences[] = {
    "fsync /",      "fsync /A",     "fsync /A/C",       "fsync /B",
    "fsync /A/foo", "fsync /A/bar", "fsync /A/new",     "fsync /B/bar",
    "fsync /new",   "sync",         "fdatasync /A/foo", "fdatasync /A/bar",
};

struct Shape {
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
  bool volatile_cache;
  bool fua;
};
constexpr Shape kShapes[] = {
    {4096, 512, true, false}, {4096, 4096, true, true},  {16384, 4096, true, false},
    {65536, 512, true, true}, {4096, 512, false, false},
};

/// The tree on which all sequences run, on a device of a volume that is mounted.
SparseImage base_image(const Shape& shape) {
  MemoryDevice device(shape.node_bytes == 65536 ? 8_MiB : 4_MiB);
  ManualClock clock({1'700'000'000, 0});
  FormatOptions format;
  format.node_bytes = shape.node_bytes;
  format.block_bytes = shape.block_bytes;
  format.uuid = {7, 7, 7};
  format.clock = &clock;
  REQUIRE(Volume::format(device, format));
  MountOptions mount;
  mount.clock = &clock;
  auto volume = *Volume::open(device, mount);
  const InodeNumber a = volume->make_directory(kRootInode, "A", {})->inode;
  REQUIRE(volume->make_directory(a, "C", {}));
  REQUIRE(volume->make_directory(kRootInode, "B", {}));
  const InodeNumber foo = volume->create(a, "foo", {})->inode;
  const std::vector<std::byte> data(6000, std::byte{0x66});
  REQUIRE(volume->write(foo, 0, data));
  const InodeNumber bar = volume->create(a, "bar", {})->inode;
  REQUIRE(volume->write(bar, 0, as_bytes("fifty bytes that live in the leaf, as it happens..")));
  REQUIRE(volume->set_xattr(bar, "user.old", as_bytes("value")));
  REQUIRE(volume->checkpoint());
  return device.snapshot();
}

CrashRunOptions options_of(const Shape& shape, std::uint64_t sequence) {
  CrashRunOptions options;
  options.device.sector_bytes = 512;
  options.device.volatile_cache = shape.volatile_cache;
  options.device.fua = shape.fua;
  options.device.discard = false;
  options.policy.all_subsets_up_to = 4;
  options.policy.random_subsets = 4;
  options.policy.family_max = 6;
  options.policy.torn_states_max = 4;
  options.policy.garbage = sequence % 2 == 1;
  options.policy.seed = sequence;
  options.mount.cache_bytes = 4_MiB;
  options.cut_again_every = 61;
  options.use_every = 23;
  return options;
}

/// All sequences, each with a number.
class Sequences {
 public:
  Sequences() {
    for (const Shape& shape : kShapes) images_.push_back(base_image(shape));
  }
  /// The first operation may go without an fsync.
  [[nodiscard]] std::uint64_t count() const {
    return std::size(kOperations) * (std::size(kPersistences) + 1) * std::size(kOperations) *
           std::size(kPersistences);
  }
  /// Records and tries a sequence. Returns what is wrong.
  std::string run(std::uint64_t number, std::uint64_t& states) {
    const std::size_t shape = number % std::size(kShapes);
    std::uint64_t rest = number;
    const auto pick = [&rest](std::size_t of) {
      const std::size_t picked = rest % of;
      rest /= of;
      return picked;
    };
    std::vector<const char*> lines;
    lines.push_back(kOperations[pick(std::size(kOperations))]);
    const std::size_t persist_first = pick(std::size(kPersistences) + 1);
    if (persist_first < std::size(kPersistences)) lines.push_back(kPersistences[persist_first]);
    lines.push_back(kOperations[pick(std::size(kOperations))]);
    lines.push_back(kPersistences[pick(std::size(kPersistences))]);

    CrashRun run(images_[shape], options_of(kShapes[shape], number));
    if (const auto opened = run.open(); !opened) return "open: " + opened.error().message();
    // Operations that are refused are a part of the sequence too: they change nothing.
    for (const char* line : lines) (void)run_script_line(run, line);
    if (const auto failure = run.volume().failure()) return failure->message();
    std::string wrong;
    states += run.try_states([&](const CrashRun::Verdict& verdict) {
      if (!verdict.kept) wrong = "state " + verdict.id + ": " + verdict.what;
      return verdict.kept;
    });
    if (wrong.empty()) return {};
    return "sequence " + std::to_string(number) + ", " + wrong + "\n" + run.script();
  }

 private:
  std::vector<SparseImage> images_;
};

}  // namespace

TEST_CASE("crash: two operations with every fsync, all states", "[crash][exhaustive]") {
  const std::uint64_t wanted = environment_number("CORDWOOD_EXHAUSTIVE_STATES", kStates);
  const std::uint64_t part = environment_number("CORDWOOD_EXHAUSTIVE_PART", 0);
  const std::uint64_t parts = environment_number("CORDWOOD_EXHAUSTIVE_PARTS", 1);
  Sequences sequences;
  // Steps through all numbers in a spread order; a prime does not divide their count.
  constexpr std::uint64_t kPrime = 1'000'003;
  const std::uint64_t count = sequences.count();
  std::uint64_t states = 0;
  std::uint64_t tried = 0;
  for (std::uint64_t i = environment_number("CORDWOOD_EXHAUSTIVE_FIRST", 0) + part; i < count;
       i += parts) {
    if (wanted != 0 && states >= wanted) break;
    const std::uint64_t number = i * kPrime % count;
    const std::string wrong = sequences.run(number, states);
    INFO(wrong);
    REQUIRE(wrong.empty());
    ++tried;
  }
  std::printf("exhaustive: %llu states of %llu sequences (of %llu)\n",
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(tried),
              static_cast<unsigned long long>(count));
}

}  // namespace cordwood::test
