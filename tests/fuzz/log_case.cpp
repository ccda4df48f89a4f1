#include "fuzz/log_case.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "device/memory_device.hpp"
#include "fuzz/log_patches.hpp"
#include "support/damage.hpp"
#include "support/test_clock.hpp"
#include "volume/check.hpp"

namespace cordwood::test {

namespace {

constexpr std::uint64_t kReadsMax = 400'000;

struct Mode {
  explicit Mode(std::uint8_t bits)
      : sample(bits & 3u),
        discard_log((bits & 4) != 0),
        read_only((bits & 8) != 0),
        fix_checksums((bits & 16) != 0),
        change((bits & 32) != 0),
        cut_again((bits & 64) != 0),
        check((bits & 128) != 0) {}
  unsigned sample;
  bool discard_log, read_only, fix_checksums, change, cut_again, check;
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "log fuzz: %s\n", what);
  std::abort();
}

void change_some(Volume& volume) {
  const std::vector<std::byte> data(6'000, std::byte{0x5a});
  if (const auto made = volume.create(kRootInode, "made after the damage", {})) {
    (void)volume.write(made->inode, 0, data);
    (void)volume.fsync(made->inode);
    (void)volume.set_xattr(made->inode, "user.a", ConstBytes(data).first(100), XattrMode::kEither);
  }
  const auto directory = volume.lookup(kRootInode, "d");
  if (!directory) return;
  for (const char* const name : {"old 5", "old 7", "old 30"}) {
    (void)volume.unlink(directory->inode, name);
  }
  (void)volume.rename(kRootInode, "link", directory->inode, "old 8");
  (void)volume.sync();
}

MountOptions mount_options(Clock& clock) {
  MountOptions options;
  options.clock = &clock;
  options.cache_bytes = 1_MiB;
  return options;
}

/// Opens what an earlier opening left. @param must_open  that may not be refused
void open_again(BlockDevice& device, TestClock& clock, bool must_open) {
  const auto volume = Volume::open(device, mount_options(clock));
  if (!volume) {
    if (must_open) std::fprintf(stderr, "log fuzz: %s\n", volume.error().message().c_str());
    require(!must_open, "a volume that could be opened cannot be opened again");
    return;
  }
  (void)walk_blindly(**volume);
  (void)(*volume)->close();
}

}  // namespace

void run_log_case(ConstBytes bytes) {
  FuzzInput input(bytes);
  const Mode mode(input.byte());
  const LogSample& sample = log_sample(mode.sample);
  PatchedLog patched(sample);
  patched.apply(input);
  if (mode.fix_checksums) patched.fix_checksums();
  MemoryDevice device(patched.image());
  if (mode.check) (void)check(device);

  TestClock clock;
  MountOptions options = mount_options(clock);
  options.discard_log = mode.discard_log;
  options.read_only = mode.read_only;
  auto volume = Volume::open(device, options);
  if (volume) {
    if (mode.fix_checksums || patched.superblock_changed()) {
      (void)walk_blindly(**volume);
    } else {
      require(sample.states.count(fingerprint(**volume)) != 0, "a state that never was");
    }
    if (mode.change) change_some(**volume);
    std::unique_ptr<MemoryDevice> cut = mode.cut_again ? device.clone() : nullptr;
    const auto closed = (*volume)->close();
    volume->reset();
    require(!mode.read_only || device.counters().writes == 0, "written to, though read-only");
    // Sequences that were forged may later stand in the way of right ones.
    const bool forged = mode.fix_checksums || patched.superblock_changed();
    if (cut && !mode.read_only) open_again(*cut, clock, !forged);
    if (closed && !mode.read_only) open_again(device, clock, !patched.superblock_changed());
  }
  require(device.counters().reads < kReadsMax, "too many reads");
}

}  // namespace cordwood::test
