#include "lab/crash_run.hpp"

#include <algorithm>
#include <utility>

#include "device/memory_device.hpp"
#include "volume/check.hpp"

namespace cordwood {

CrashRun::CrashRun(const SparseImage& image, CrashRunOptions options)
    : options_(std::move(options)), clock_({1'800'000'000, 0}), device_(image, options_.device) {
  options_.mount.clock = &clock_;
}

CrashRun::~CrashRun() { finish(); }

Result<void> CrashRun::open() {
  volume_ = TRY(Volume::open(device_, options_.mount));
  device_.restart_recording();
  steps_.push_back({"open", TRY(VolumeState::read(*volume_)), 0, 0, 0});
  return {};
}

Result<void> CrashRun::step(std::string_view label, Promise promise,
                            FunctionRef<Result<void>(Volume&)> act) {
  Step step;
  step.label = label;
  step.begun = device_.moment();
  const Result<void> done = act(*volume_);
  step.returned = device_.moment();
  step.after = TRY(VolumeState::read(*volume_));
  steps_.push_back(std::move(step));
  if (done) steps_.back().durable = made_durable(promise);
  return done;
}

/// The last step that must be durable now that a promise was given.
std::size_t CrashRun::made_durable(Promise promise) const {
  std::size_t last = steps_.size() - 1;
  if (promise.kind == Promise::Kind::kNone) return 0;
  if (promise.kind == Promise::Kind::kAll) return last;
  const auto told = [&](std::size_t step) {
    const VolumeState& state = steps_[step].after;
    return promise.kind == Promise::Kind::kInode ? state.inode(promise.of) : state.data(promise.of);
  };
  // Back to where it last changed.
  while (last > 0 && told(last - 1) == told(last)) --last;
  return last;
}

void CrashRun::finish() {
  if (std::exchange(finished_, true)) return;
  recording_ = device_.recording();
  // What closing would write is not part of the run.
  device_.cut_power();
  volume_.reset();
}

std::string CrashRun::script() const {
  std::string text;
  for (const Step& step : steps_) text += step.label + '\n';
  return text;
}

std::uint64_t CrashRun::try_states(FunctionRef<bool(const Verdict&)> visit, std::uint64_t stride,
                                   std::uint64_t first) {
  finish();
  const std::uint64_t before = tried_;
  std::uint64_t number = 0;
  for (CrashStates states(recording_, options_.policy); states.next(); ++number) {
    if (number % stride != first % stride) continue;
    Verdict verdict = judge(states.build(), states.choice().cut);
    verdict.id = states.id();
    if (!visit(verdict)) break;
  }
  return tried_ - before;
}

CrashRun::Verdict CrashRun::try_state(std::string_view id) {
  finish();
  const auto image = CrashStates::replay(recording_, id);
  const auto choice = CrashChoice::parse(id);
  Verdict verdict;
  verdict.what = "there is no such state";
  if (image && choice) verdict = judge(*image, choice->cut);
  verdict.id = id;
  return verdict;
}

/// Whether a device at a cut holds a state that was promised there.
CrashRun::Verdict CrashRun::judge(const SparseImage& image, std::uint64_t cut) {
  ++tried_;
  std::size_t oldest = 0;
  std::size_t newest = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].returned <= cut) oldest = std::max(oldest, steps_[i].durable);
    if (steps_[i].begun <= cut) newest = i;
  }
  Verdict verdict;
  verdict.what = match(image, oldest, newest, verdict.step);
  if (verdict.what.empty() && options_.cut_again_every != 0 &&
      tried_ % options_.cut_again_every == 0) {
    verdict.what = cut_opening(image, verdict.step);
  }
  if (verdict.what.empty() && options_.use_every != 0 && tried_ % options_.use_every == 0) {
    verdict.what = use(image);
  }
  verdict.kept = verdict.what.empty();
  return verdict;
}

/// Opens the device and finds the step whose state it holds. Returns what is wrong.
std::string CrashRun::match(const SparseImage& image, std::size_t oldest, std::size_t newest,
                            std::size_t& matched) {
  MemoryDeviceOptions memory;
  memory.sector_bytes = options_.device.sector_bytes;
  MemoryDevice device(image, memory);
  if (std::string wrong = check_device(device, false); !wrong.empty()) return wrong;
  auto volume = Volume::open(device, options_.mount);
  if (!volume) return "open: " + volume.error().message();
  const auto state = VolumeState::read(**volume);
  if (!state) return "reading: " + state.error().message();
  matched = newest;
  while (matched > oldest && !(steps_[matched].after == *state)) --matched;
  if (!(steps_[matched].after == *state)) {
    return "what it holds was not promised; after \"" + steps_[oldest].label +
           "\" and on the device: " + steps_[oldest].after.difference(*state);
  }
  if (const auto closed = (*volume)->close(); !closed) return "close: " + closed.error().message();
  volume->reset();
  return check_device(device, true);
}

std::string CrashRun::check_device(BlockDevice& device, bool opened) const {
  if (!options_.check) return {};
  CheckOptions options;
  options.verify_data = opened;
  options.findings_per_kind_max = 1;
  const auto report = cordwood::check(device, options);
  if (!report) return "check: " + report.error().message();
  for (const Finding& finding : report->findings.kept()) {
    // A power cut may tear one copy of a superblock; the other one serves.
    if (finding.info().severity == Severity::kNote ||
        finding.kind == FindingKind::kSuperblockSlotDamaged) {
      continue;
    }
    return std::string(opened ? "check after closing: " : "check before opening: ") +
           finding.sentence;
  }
  return {};
}

namespace {

/// Deletes all that a directory holds.
Result<void> remove_content(Volume& volume, InodeNumber directory) {
  struct Entry {
    std::string name;
    InodeNumber inode;
    FileType type;
  };
  std::vector<Entry> entries;
  TRY(volume.read_directory(directory, 0, [&](const DirectoryEntry& entry) {
    if (entry.name != "." && entry.name != "..") {
      entries.push_back({std::string(entry.name), entry.inode, entry.type});
    }
    return true;
  }));
  for (const Entry& entry : entries) {
    if (entry.type == FileType::kDirectory) {
      TRY(remove_content(volume, entry.inode));
      TRY(volume.remove_directory(directory, entry.name));
    } else {
      TRY(volume.unlink(directory, entry.name));
    }
  }
  return {};
}

Result<void> use_volume(Volume& volume) {
  constexpr int kFiles = 100;
  for (int i = 0; i < kFiles; ++i) {
    std::string name("made after the crash ");
    name += std::to_string(i);
    const Attributes made = TRY(volume.create(kRootInode, name, {}));
    TRY(volume.write(made.inode, 0, as_bytes(name)));
    if (i % 10 == 0) TRY(volume.fsync(made.inode));
  }
  TRY(remove_content(volume, kRootInode));
  if (volume.usage().inodes != 1) return make_error(Errc::kCorrupt, "inodes are left over");
  return {};
}

}  // namespace

/// Stale counters, lost blocks and names that cannot be deleted show here.
std::string CrashRun::use(const SparseImage& image) const {
  MemoryDeviceOptions memory;
  memory.sector_bytes = options_.device.sector_bytes;
  MemoryDevice device(image, memory);
  auto volume = Volume::open(device, options_.mount);
  if (!volume) return "open: " + volume.error().message();
  if (const auto used = use_volume(**volume); !used) return "in use: " + used.error().message();
  if (const auto closed = (*volume)->close(); !closed) return "close: " + closed.error().message();
  volume->reset();
  return check_device(device, true);
}

/// Cuts the power while the volume is opened and closed again, everywhere; it must hold the same state.
std::string CrashRun::cut_opening(const SparseImage& image, std::size_t step) {
  SimDevice device(image, options_.device);
  {
    auto volume = Volume::open(device, options_.mount);
    if (!volume) return "open: " + volume.error().message();
    if (const auto closed = (*volume)->close(); !closed) return closed.error().message();
  }
  const Recording recording = device.recording();
  CrashPolicy policy = options_.policy;
  policy.all_subsets_up_to = 4;
  policy.random_subsets = 4;
  policy.family_max = 6;
  policy.torn_states_max = 4;
  for (CrashStates states(recording, policy); states.next();) {
    ++tried_;
    std::size_t matched = step;
    const std::string wrong = match(states.build(), step, step, matched);
    if (!wrong.empty()) return "cut again while it was opened, " + states.id() + ": " + wrong;
  }
  return {};
}

}  // namespace cordwood
