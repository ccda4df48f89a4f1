// Crashes that other filesystems have suffered from: as scripts, each cut everywhere. Where the fsync is
// the last line and nothing follows it, the state behind it is the only one that a cut at the end leaves.

#include <string>
#include <vector>

#include "device/memory_device.hpp"
#include "lab/crash_run.hpp"
#include "lab/script.hpp"
#include "support/catch.hpp"

namespace cordwood::test {

namespace {

struct Case {
  const char* name;
  std::vector<const char*> lines;
};

std::vector<Case> cases() {
  return {
      {"C01: a directory that an fsync named can be emptied and removed",
       {"mkdir /d", "create /d/foo", "sync", "create /d/bar", "fsync /d", "fsync /d/bar"}},
      {"C02: a removed hard link stays away",
       {"mkdir /a", "mkdir /a/b", "create /a/b/foo", "write /a/b/foo 0 5000",
        "link /a/b/foo /a/b/bar", "sync", "unlink /a/b/bar", "fsync /a/b/foo"}},
      {"C02: ... from another directory",
       {"mkdir /a", "mkdir /b", "create /a/foo", "link /a/foo /b/bar", "link /a/foo /b/baz", "sync",
        "unlink /b/bar", "fsync /a/foo"}},
      {"C04 a: the fsync of another inode keeps the first one's data",
       {"create /foo", "write /foo 0 4096", "fsync /foo", "link /foo /foo_link", "create /bar",
        "fsync /bar"}},
      {"C04 b: a moved file is in one place",
       {"mkdir /a", "mkdir /a/b", "mkdir /c", "create /a/b/foo", "sync", "rename /a/b/foo /c/foo",
        "create /a/bar", "fsync /a"}},
      {"C04 c: ... after its old directory was fsynced",
       {"mkdir /A", "mkdir /B", "create /A/foo", "write /A/foo 0 3000", "sync", "create /A/bar",
        "fsync /A", "rename /A/foo /B/foo", "create /baz", "fsync /baz"}},
      {"C05: a deleted xattr does not come back",
       {"create /foobar", "setxattr /foobar user.attr1 8", "setxattr /foobar user.attr2 8",
        "setxattr /foobar user.attr3 8", "sync", "rmxattr /foobar user.attr2", "fsync /foobar",
        "append /foobar 3000", "fsync /foobar", "rmxattr /foobar user.attr1",
        "link /foobar /foobar_link", "create /qwerty", "fsync /qwerty"}},
      {"C09: a name freed by unlink is taken by a new inode",
       {"mkdir /d", "create /d/foo", "link /d/foo /d/bar", "sync", "unlink /d/bar", "create /d/bar",
        "fsync /d/bar"}},
      {"C09: ... of a fifo",
       {"mkdir /d", "mkfifo /d/foo", "link /d/foo /d/bar", "sync", "unlink /d/bar", "mkfifo /d/bar",
        "fsync /d/bar"}},
      {"C09: ... of a symlink",
       {"mkdir /d", "symlink /d/foo 30", "link /d/foo /d/bar", "sync", "unlink /d/bar",
        "symlink /d/bar 3000", "fsync /d"}},
      {"C10: a link into a new directory, which is fsynced",
       {"mkdir /A", "mkdir /B", "mkdir /A/C", "create /B/foo", "fsync /B/foo",
        "link /B/foo /A/C/foo", "fsync /A"}},
      {"C10: a directory renamed, and files made in it",
       {"mkdir /A", "sync", "rename /A /B", "create /B/foo", "fsync /B/foo", "fsync /B"}},
      {"C10: new files in new directories",
       {"mkdir /t", "mkdir /t/A", "create /t/foo", "create /t/A/foo", "fsync /t/A/foo",
        "fsync /t"}},
      {"C11: a rename over a durable file, then fsync of its directory",
       {"mkdir /A", "mkdir /B", "create /A/bar", "fsync /A/bar", "create /B/bar",
        "write /B/bar 0 100", "rename /B/bar /A/bar", "create /A/foo", "fsync /A/foo", "fsync /A"}},
      {"C11: directories that swap their roles",
       {"mkdir /A", "mkdir /A/C", "rename /A/C /B", "create /B/bar", "fsync /B/bar",
        "rename /B/bar /A/bar", "rename /A /B", "fsync /B/bar"}},
      {"C11: an empty directory is replaced",
       {"mkdir /A", "mkdir /B", "create /B/bar", "sync", "rename /B/bar /A/bar", "rename /A /B",
        "fsync /B/bar"}},
      {"C12: a symlink comes back whole and under its new name",
       {"mkdir /d", "sync", "create /d/foo", "fsync /d", "symlink /d/bar 6", "rename /d/bar /d/baz",
        "fsync /d"}},
      {"C12: ... with a target of 4095 bytes, and an fsync between",
       {"mkdir /d", "sync", "create /d/foo", "fsync /d", "symlink /d/bar 4095", "fsync /d",
        "rename /d/bar /d/baz", "fsync /d"}},
      {"C14: a replacing rename leaves the old content or the new one",
       {"create /final", "write /final 0 65536", "fsync /final", "create /tmp",
        "write /tmp 0 65536", "rename /tmp /final", "create /other", "fsync /other", "create /tmp",
        "write /tmp 0 30000", "rename /tmp /final"}},
      {"C14: overwritten, cut short, extended",
       {"create /f", "write /f 0 65536", "fsync /f", "write /f 1000 20000", "truncate /f 5000",
        "append /f 9000", "fsync /f", "truncate /f 0", "write /f 40000 5000", "fdatasync /f"}},
      {"C20: what one checkpoint freed is not used before the next",
       {"create /a", "write /a 0 200000", "checkpoint", "unlink /a", "create /b",
        "write /b 0 200000", "fsync /b", "checkpoint", "unlink /b", "create /c",
        "write /c 0 200000", "fsync /c", "checkpoint"}},
  };
}

SparseImage empty_volume(std::uint32_t node_bytes, std::uint32_t block_bytes) {
  MemoryDevice device(8_MiB);
  ManualClock clock({1'700'000'000, 0});
  FormatOptions format;
  format.node_bytes = node_bytes;
  format.block_bytes = block_bytes;
  format.uuid = {1, 4};
  format.clock = &clock;
  REQUIRE(Volume::format(device, format));
  MountOptions mount;
  mount.clock = &clock;
  auto volume = *Volume::open(device, mount);
  REQUIRE(volume->checkpoint());
  return device.snapshot();
}

}  // namespace

TEST_CASE("crash cases: every state of crashes known from elsewhere", "[crash][cases]") {
  const bool fua = GENERATE(false, true);
#ifdef CORDWOOD_SLOW_BUILD
  const std::uint32_t node_bytes = fua ? 4096 : 16384;
  constexpr bool kThorough = false;
#else
  const std::uint32_t node_bytes = GENERATE(4096u, 16384u);
  constexpr bool kThorough = true;
#endif
  const SparseImage image = empty_volume(node_bytes, fua ? 512 : 4096);
  for (const Case& what : cases()) {
    INFO(what.name);
    CrashRunOptions options;
    options.device.fua = fua;
    options.device.discard = false;
    options.policy.cuts = CrashPolicy::Cuts::kEveryEvent;
    options.policy.all_subsets_up_to = kThorough ? 6 : 3;
    options.policy.random_subsets = kThorough ? 20 : 3;
    options.policy.family_max = kThorough ? 10 : 3;
    options.policy.torn_states_max = kThorough ? 8 : 2;
    options.policy.garbage = true;
    options.mount.cache_bytes = 4_MiB;
    options.cut_again_every = 31;
    options.use_every = 7;
    CrashRun run(image, options);
    REQUIRE(run.open());
    for (const char* line : what.lines) {
      INFO(line);
      const auto done = run_script_line(run, line);
      INFO((done ? "" : done.error().message()));
      REQUIRE(done);
    }
    std::uint64_t kept = 0;
    run.try_states([&](const CrashRun::Verdict& verdict) {
      INFO("state " << verdict.id << ": " << verdict.what);
      REQUIRE(verdict.kept);
      ++kept;
      return true;
    });
    CHECK(kept > 3);
  }
}

}  // namespace cordwood::test
