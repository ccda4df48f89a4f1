#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/crash_states.hpp"
#include "device/sim_device.hpp"
#include "support/executor.hpp"
#include "support/model_fs.hpp"
#include "support/operation.hpp"
#include "support/workload_config.hpp"

namespace cordwood::test {

/// A workload to be cut at every point.
struct CrashCase {
  WorkloadConfig config;
  SimDeviceOptions device;
  CrashPolicy policy;
  std::uint64_t seed = 1;
  std::size_t steps = 40;
  std::size_t sync_every = 7;      ///< on average
  std::uint64_t probe_every = 16;  ///< every so many states, the volume is used after the crash
  std::uint64_t second_every = 0;  ///< every so many, the mount is cut too, at each write; 0: never
};

/// Records a workload with syncs and checkpoints on a simulated device, then opens every state that a power cut
/// may leave, and demands what was promised:
///
/// - the volume opens, and is the model after some step;
/// - not an older one than the last sync() that had returned before the cut;
/// - `check` finds nothing;
/// - the volume can be used, and cut once more while it is opened.
class CrashLab {
 public:
  explicit CrashLab(CrashCase what) : case_(std::move(what)) {}

  /// Draws the operations and runs them on a fresh volume.
  [[nodiscard]] std::string record();
  /// Runs given operations on a volume that is already there.
  [[nodiscard]] std::string record_on(const SparseImage& image, const ModelFs& model,
                                      const std::vector<Operation>& operations);

  /// The same on a device with a fault, until the volume refuses changes because of it. Then demands:
  /// errors instead of wrong answers; no change after a failed write or flush; and, opened again on a
  /// healthy device, a promised state.
  [[nodiscard]] std::string record_faulty(const SparseImage& image, const ModelFs& model,
                                          const std::vector<Operation>& operations,
                                          const FaultRule& rule);
  [[nodiscard]] std::uint64_t faults_hit() const { return faults_hit_; }

  /// Tries an even spread of the states, at most so many, until one fails. Returns a report with all that replays it.
  [[nodiscard]] std::string try_states(std::uint64_t states_max);
  /// Tries one state again.
  [[nodiscard]] std::string try_state(std::string_view id);

  [[nodiscard]] std::uint64_t states_tried() const { return states_; }
  [[nodiscard]] std::uint64_t second_cuts_tried() const { return second_cuts_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  [[nodiscard]] const Recording& recording() const { return recording_; }
  /// The state of the model at the end.
  [[nodiscard]] const ModelFs& last_model() const { return snapshots_.back().model; }

 private:
  /// What is known when a step has returned. Number 0 is the state before the first step.
  struct Snapshot {
    ModelFs model;
    std::uint64_t begun = 0;     ///< moment at which the step began
    std::uint64_t returned = 0;  ///< moment at which it returned
    bool durable = false;        ///< it promised that everything up to it is durable
  };

  [[nodiscard]] std::string run(Executor& executor, SimDevice& device, const Operation& operation);
  [[nodiscard]] std::vector<const Snapshot*> candidates(std::uint64_t cut) const;
  [[nodiscard]] std::string check_state(const SparseImage& image, std::uint64_t cut);
  [[nodiscard]] std::string probe(const SparseImage& image, const ModelFs& model) const;
  [[nodiscard]] std::string cut_mount(const SparseImage& image, const ModelFs& model);
  [[nodiscard]] std::string run_faulty(Executor& executor, SimDevice& device, const FaultRule& rule,
                                       const std::vector<Operation>& operations);
  [[nodiscard]] static std::string refuses_changes(Volume& volume);
  [[nodiscard]] std::string report(const std::string& id, const std::string& what) const;

  CrashCase case_;
  std::vector<Operation> operations_;
  std::vector<Snapshot> snapshots_;
  Recording recording_;
  std::uint64_t states_ = 0;
  std::uint64_t second_cuts_ = 0;
  std::uint64_t faults_hit_ = 0;
};

}  // namespace cordwood::test
