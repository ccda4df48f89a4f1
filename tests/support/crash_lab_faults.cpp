// The part of CrashLab that lets the device fail.

#include "support/crash_lab.hpp"

namespace cordwood::test {

std::string CrashLab::record_faulty(const SparseImage& image, const ModelFs& model,
                                    const std::vector<Operation>& operations,
                                    const FaultRule& rule) {
  SimDevice device(image, case_.device);
  device.add_fault(rule);
  Executor executor(device, case_.config);
  executor.expect_damage();
  snapshots_.assign(1, {model, 0, 0, true});
  operations_.clear();
  std::string wrong = executor.resume(model);
  if (!wrong.empty() && device.faults_hit() == 0) return wrong;
  if (executor.is_open()) {
    snapshots_.push_back({model, 0, device.moment(), false});
    wrong = run_faulty(executor, device, rule, operations);
    if (!wrong.empty()) return wrong;
  }
  const std::uint64_t abandoned = device.moment();
  executor.abandon();
  device.clear_faults();
  faults_hit_ = device.faults_hit();
  snapshots_.push_back({executor.model(), abandoned, device.moment(), false});
  recording_ = device.recording();
  wrong = check_state(device.contents(), device.moment());
  return wrong.empty() ? wrong : report("after healing", wrong);
}

std::string CrashLab::run_faulty(Executor& executor, SimDevice& device, const FaultRule& rule,
                                 const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    const std::uint64_t refused = executor.refused();
    const std::uint64_t hits = device.faults_hit();
    operations_.push_back(operation);
    const std::uint64_t begun = device.moment();
    if (std::string wrong = executor.apply(operation); !wrong.empty()) {
      return report("none", to_text(operation) + ": " + wrong);
    }
    const bool open = executor.is_open();
    const bool refused_now = executor.refused() != refused || !open;
    const bool durable = !refused_now && operation.kind == Operation::Kind::kSync;
    snapshots_.push_back({executor.model(), begun, device.moment(), durable});
    if (!open) return {};
    const bool lost = device.faults_hit() != hits && rule.on != FaultRule::On::kRead;
    if (lost && !executor.volume().failure()) {
      return report("none", to_text(operation) + ": a write failed, the volume does not know");
    }
    if (!executor.volume().failure()) continue;
    const std::string wrong = refuses_changes(executor.volume());
    return wrong.empty() ? wrong : report("none", to_text(operation) + ": " + wrong);
  }
  return {};
}

std::string CrashLab::refuses_changes(Volume& volume) {
  const auto refused = [](const auto& result) {
    return !result && result.error().code == Errc::kFailed;
  };
  if (!refused(volume.create(kRootInode, "after the failure", {}))) return "create is not refused";
  if (!refused(volume.sync())) return "sync is not refused";
  AttributeChanges changes;
  changes.uid = 1;
  if (!refused(volume.set_attributes(kRootInode, changes))) return "chown is not refused";
  return {};
}

}  // namespace cordwood::test
