#include "support/crash_lab.hpp"

#include <algorithm>
#include <utility>

#include "device/memory_device.hpp"
#include "support/compare.hpp"
#include "support/findings.hpp"
#include "support/generator.hpp"

namespace cordwood::test {

namespace {

using Kind = Operation::Kind;

bool is_durable(Kind kind) {
  return kind == Kind::kSync || kind == Kind::kRemount || kind == Kind::kCheck ||
         kind == Kind::kCheckpoint;
}

ModelFs after_crash(const ModelFs& model) {
  ModelFs copy = model;
  copy.close_all();
  return copy;
}

MemoryDeviceOptions memory_options(const SimDeviceOptions& device) {
  MemoryDeviceOptions options;
  options.sector_bytes = device.sector_bytes;
  return options;
}

}  // namespace

std::string CrashLab::record() {
  SimDevice device(case_.config.device_bytes, case_.device);
  Executor executor(device, case_.config);
  if (std::string wrong = executor.start(); !wrong.empty()) return wrong;
  device.restart_recording();
  Random random(case_.seed ^ 0x73796e63);
  Generator generator(case_.config, case_.seed,
                      [&executor](std::uint32_t slot) { return executor.handle(slot); });
  snapshots_.push_back({executor.model(), 0, 0, true});
  for (std::size_t step = 0; step < case_.steps; ++step) {
    Operation operation = generator.next(executor.model());
    if (random.one_in(case_.sync_every)) operation = Operation{};
    if (std::string wrong = run(executor, device, operation); !wrong.empty()) return wrong;
  }
  recording_ = device.recording();
  return {};
}

std::string CrashLab::record_on(const SparseImage& image, const ModelFs& model,
                                const std::vector<Operation>& operations) {
  SimDevice device(image, case_.device);
  Executor executor(device, case_.config);
  snapshots_.push_back({model, 0, 0, true});
  if (std::string wrong = executor.resume(model); !wrong.empty()) return wrong;
  snapshots_.push_back({model, 0, device.moment(), false});
  for (const Operation& operation : operations) {
    if (std::string wrong = run(executor, device, operation); !wrong.empty()) return wrong;
  }
  recording_ = device.recording();
  return {};
}

std::string CrashLab::run(Executor& executor, SimDevice& device, const Operation& operation) {
  operations_.push_back(operation);
  const std::uint64_t begun = device.moment();
  std::string wrong = executor.apply(operation);
  if (!wrong.empty()) return to_text(operation) + ": " + wrong;
  snapshots_.push_back({executor.model(), begun, device.moment(), is_durable(operation.kind)});
  return {};
}

std::string CrashLab::try_states(std::uint64_t states_max) {
  std::uint64_t there_are = 0;
  for (CrashStates states(recording_, case_.policy); states.next();) ++there_are;
  // An even spread, or the late cuts would never come.
  const std::uint64_t stride = std::max<std::uint64_t>(1, divide_up(there_are, states_max));
  std::uint64_t number = case_.seed;
  for (CrashStates states(recording_, case_.policy); states.next();) {
    if (number++ % stride != 0) continue;
    ++states_;
    const std::string wrong = check_state(states.build(), states.choice().cut);
    if (!wrong.empty()) return report(states.id(), wrong);
  }
  return {};
}

std::string CrashLab::try_state(std::string_view id) {
  const auto image = CrashStates::replay(recording_, id);
  const auto choice = CrashChoice::parse(id);
  if (!image || !choice) return "no such state";
  const std::string wrong = check_state(*image, choice->cut);
  return wrong.empty() ? wrong : report(std::string(id), wrong);
}

/// The states that the volume may be in: from the last one that was promised to be durable to the one of
/// the step that had begun. A commit in the midst of a step gives the state before or after it.
std::vector<const CrashLab::Snapshot*> CrashLab::candidates(std::uint64_t cut) const {
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < snapshots_.size(); ++i) {
    if (snapshots_[i].durable && snapshots_[i].returned <= cut) oldest = i;
  }
  std::vector<const Snapshot*> found;
  for (std::size_t i = oldest; i < snapshots_.size() && snapshots_[i].begun <= cut; ++i) {
    found.push_back(&snapshots_[i]);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::string CrashLab::check_state(const SparseImage& image, std::uint64_t cut) {
  const std::vector<const Snapshot*> possible = candidates(cut);
  MemoryDevice device(image, memory_options(case_.device));
  if (std::string found = findings(device, UINT64_MAX); !found.empty())
    return "before mount: " + found;
  TestClock clock;
  auto volume = Volume::open(device, case_.config.mount_options(&clock));
  if (!volume) return "open: " + volume.error().message();
  std::string differences;
  const Snapshot* match = nullptr;
  for (const Snapshot* snapshot : possible) {
    const std::string wrong = compare_volume(after_crash(snapshot->model), **volume);
    if (wrong.empty()) {
      match = snapshot;
      break;
    }
    differences += "\n  not step " + std::to_string(snapshot - snapshots_.data()) + ": " + wrong;
  }
  if (match == nullptr) return "the state is none of those promised:" + differences;
  if (const auto closed = (*volume)->close(); !closed) {
    return "close: " + closed.error().message();
  }
  volume->reset();
  if (std::string found = findings(device); !found.empty()) return "after mount: " + found;
  if (case_.probe_every != 0 && states_ % case_.probe_every == 0) {
    if (std::string wrong = probe(image, match->model); !wrong.empty()) return "used: " + wrong;
  }
  if (case_.second_every != 0 && states_ % case_.second_every == 0) {
    return cut_mount(image, match->model);
  }
  return {};
}

/// Uses the volume after the crash: stale counters or lost blocks show here.
std::string CrashLab::probe(const SparseImage& image, const ModelFs& model) const {
  MemoryDevice device(image, memory_options(case_.device));
  Executor executor(device, case_.config);
  if (std::string wrong = executor.resume(after_crash(model)); !wrong.empty()) return wrong;
  Generator generator(case_.config, case_.seed + states_,
                      [&executor](std::uint32_t slot) { return executor.handle(slot); });
  for (int step = 0; step < 12; ++step) {
    const Operation operation = generator.next(executor.model());
    if (std::string wrong = executor.apply(operation); !wrong.empty()) {
      return to_text(operation) + ": " + wrong;
    }
  }
  if (std::string wrong = executor.check(); !wrong.empty()) return wrong;
  if (std::string wrong = executor.finish(); !wrong.empty()) return wrong;
  if (std::string wrong = executor.resume(executor.model()); !wrong.empty()) return wrong;
  if (std::string wrong = compare_volume(executor.model(), executor.volume()); !wrong.empty()) {
    return wrong;
  }
  return executor.finish();
}

/// Cuts the power once more while the volume is opened and closed.
std::string CrashLab::cut_mount(const SparseImage& image, const ModelFs& model) {
  CrashCase second = case_;
  second.second_every = 0;
  second.probe_every = 0;
  second.policy.torn_states_max = 4;
  second.policy.random_subsets = 4;
  second.policy.all_subsets_up_to = 4;
  second.policy.family_max = 6;
  CrashLab lab(second);
  Operation remount;
  remount.kind = Kind::kRemount;
  std::string wrong = lab.record_on(image, after_crash(model), {remount});
  if (wrong.empty()) wrong = lab.try_states(2000);
  second_cuts_ += lab.states_tried();
  return wrong.empty() ? wrong : "cut while it was opened: " + wrong;
}

std::string CrashLab::report(const std::string& id, const std::string& what) const {
  return "seed " + std::to_string(case_.seed) + ", state " + id + ": " + what + '\n' +
         to_text(case_.config) + '\n' + to_text(operations_);
}

}  // namespace cordwood::test
