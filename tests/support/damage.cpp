#include "support/damage.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "device/memory_device.hpp"
#include "support/compare.hpp"
#include "support/test_clock.hpp"
#include "volume/check.hpp"

namespace cordwood::test {

namespace {

/// A lying image may make the engine read more than a right one, but not without bound.
constexpr std::uint64_t kReadsMax = 200'000;
constexpr std::size_t kObjectsMax = 20'000;
constexpr std::uint64_t kBytesReadMax = 1_MiB;

void read_some(Volume& volume, const Attributes& inode) {
  if (inode.type() == FileType::kSymlink) (void)volume.read_symlink(inode.inode);
  if (inode.type() == FileType::kRegular) {
    std::vector<std::byte> buffer(std::min(inode.size, kBytesReadMax));
    (void)volume.read(inode.inode, 0, buffer);
    (void)volume.seek_hole(inode.inode, 0);
    (void)volume.seek_data(inode.inode, inode.size / 2);
    if (inode.size > buffer.size()) (void)volume.read(inode.inode, inode.size - 10, buffer);
  }
  if (const auto names = volume.list_xattrs(inode.inode)) {
    for (const std::string& name : *names) (void)volume.xattr(inode.inode, name);
  }
}

void change_some(Volume& volume, const ModelFs& model) {
  const std::vector<std::byte> data(6'000, std::byte{0x5a});
  if (const auto made = volume.create(kRootInode, "made after the damage", {})) {
    (void)volume.write(made->inode, 0, data);
    (void)volume.set_xattr(made->inode, "user.a", data);
  }
  int changed = 0;
  for (const auto& [number, inode] : model.inodes()) {
    if (++changed > 12) break;
    if (inode->type() == FileType::kRegular) (void)volume.write({number}, 100, data);
    if (!inode->is_directory()) continue;
    (void)volume.create({number}, "made too", {});
    for (const auto& [name, child] : inode->entries) {
      if (++changed % 3 == 0) (void)volume.unlink({number}, name);
    }
  }
  (void)volume.sync();
}

}  // namespace

std::uint64_t walk_blindly(Volume& volume) {
  std::set<std::uint64_t> seen{kRootInode.value};
  std::vector<InodeNumber> directories{kRootInode};
  while (!directories.empty() && seen.size() < kObjectsMax) {
    const InodeNumber directory = directories.back();
    directories.pop_back();
    std::vector<InodeNumber> children;
    std::size_t entries = 0;
    (void)volume.read_directory(directory, 0, [&](const DirectoryEntry& entry) {
      if (seen.insert(entry.inode.value).second) children.push_back(entry.inode);
      return ++entries < kObjectsMax;
    });
    for (const InodeNumber child : children) {
      const auto inode = volume.attributes(child);
      if (!inode) continue;
      read_some(volume, *inode);
      if (inode->is_directory()) directories.push_back(child);
    }
  }
  return seen.size();
}

DamageOutcome try_damaged(const SparseImage& image, const ModelFs& model,
                          const WorkloadConfig& config, DamageKind kind, bool change_it) {
  DamageOutcome outcome;
  MemoryDevice device(image);
  CheckOptions options;
  options.verify_data = true;
  const auto report = check(device, options);
  outcome.named = !report || report->findings.count(Severity::kError) != 0 ||
                  report->findings.count(Severity::kWarning) != 0;
  TestClock clock;
  auto volume = Volume::open(device, config.mount_options(&clock));
  if (!volume) {
    outcome.refused = true;
  } else if (kind == DamageKind::kForged) {
    (void)walk_blindly(**volume);
  } else {
    Comparer comparer(model, **volume, Tolerance::kDamage);
    outcome.wrong = comparer.all();
    outcome.refused = comparer.refused() != 0;
  }
  if (volume) {
    if (change_it) change_some(**volume, model);
    (void)(*volume)->close();
    volume->reset();
  }
  if (outcome.wrong.empty() && outcome.refused && !outcome.named) {
    outcome.wrong = "the volume refuses what `check` finds clean";
  }
  if (outcome.wrong.empty() && device.counters().reads > kReadsMax) {
    outcome.wrong = "too many reads: " + std::to_string(device.counters().reads);
  }
  return outcome;
}

}  // namespace cordwood::test
