#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/function_ref.hpp"
#include "base/result.hpp"
#include "device/crash_states.hpp"
#include "device/sim_device.hpp"
#include "lab/volume_state.hpp"
#include "volume/volume.hpp"

namespace cordwood {

/// How a crash laboratory tries states.
struct CrashRunOptions {
  SimDeviceOptions device;
  CrashPolicy policy;
  MountOptions mount;  ///< its clock is replaced by a manual one
  bool check = true;   ///< also `check` the volume, before opening and after closing
  /// Every so many states the opening is cut too, everywhere; 0: never.
  std::uint64_t cut_again_every = 0;
  /// Every so many states the volume is used after the crash: files are made, then everything that
  /// there is deleted; 0: never.
  std::uint64_t use_every = 0;
};

/// A crash laboratory: runs steps on a volume on a simulated device, then opens every state that a power
/// cut may leave, and says whether it was promised.
///
///     CrashRun run(image, options);
///     TRY(run.open());
///     TRY(run.step("create", Promise::none(), [](Volume& volume) { ... }));
///     TRY(run.step("fsync", Promise::inode(file), [](Volume& volume) { ... }));
///     run.try_states([](const CrashRun::Verdict& verdict) { return verdict.kept; });
///
/// Promised are the states between two steps, from the last one that a step had made durable when it
/// returned, before the cut, up to the last step that had begun.
class CrashRun {
 public:
  /// What is durable when a step has returned without an error.
  struct Promise {
    enum class Kind : std::uint8_t {
      kNone,
      kAll,    ///< everything
      kInode,  ///< an inode as it is, and all that came before its last change
      kData,   ///< the same for its data and size
    };
    Kind kind = Kind::kNone;
    InodeNumber of;

    static Promise none() { return {}; }
    static Promise all() { return {Kind::kAll, {}}; }
    static Promise inode(InodeNumber inode) { return {Kind::kInode, inode}; }
    static Promise data(InodeNumber inode) { return {Kind::kData, inode}; }
  };
  /// @param image  holds a volume.
  CrashRun(const SparseImage& image, CrashRunOptions options);
  ~CrashRun();

  Result<void> open();
  [[nodiscard]] Volume& volume() { return *volume_; }
  [[nodiscard]] SimDevice& device() { return device_; }
  /// Runs a step: one changing call, or several of which a crash may leave the first ones. What it
  /// returns is returned; a step that failed may be tried too.
  Result<void> step(std::string_view label, Promise promise,
                    FunctionRef<Result<void>(Volume&)> act);
  /// Ends the run: the volume is dropped as it is. try_states() does that by itself.
  void finish();

  /// What became of one state.
  struct Verdict {
    std::string id;        ///< gives the state to try_state()
    bool kept = false;     ///< whether what it holds was promised
    std::size_t step = 0;  ///< the step whose result it holds; 0: none
    std::string what;      ///< what is wrong, in words
  };
  /// Tries every `stride`-th state, from number `first` on, until the visitor returns false. Returns how
  /// many were tried, the openings that were cut among them.
  std::uint64_t try_states(FunctionRef<bool(const Verdict&)> visit, std::uint64_t stride = 1,
                           std::uint64_t first = 0);
  /// Tries one state again.
  [[nodiscard]] Verdict try_state(std::string_view id);

  [[nodiscard]] const Recording& recording() const { return recording_; }
  /// The labels of the steps, one a line.
  [[nodiscard]] std::string script() const;

 private:
  struct Step {
    std::string label;
    VolumeState after;
    std::uint64_t begun = 0;  ///< moments of the device
    std::uint64_t returned = 0;
    std::size_t durable = 0;  ///< the last step that is durable when this one has returned
  };

  [[nodiscard]] std::size_t made_durable(Promise promise) const;
  [[nodiscard]] Verdict judge(const SparseImage& image, std::uint64_t cut);
  [[nodiscard]] std::string match(const SparseImage& image, std::size_t oldest, std::size_t newest,
                                  std::size_t& matched);
  [[nodiscard]] std::string check_device(BlockDevice& device, bool opened) const;
  [[nodiscard]] std::string use(const SparseImage& image) const;
  [[nodiscard]] std::string cut_opening(const SparseImage& image, std::size_t step);

  CrashRunOptions options_;
  ManualClock clock_;
  SimDevice device_;
  std::unique_ptr<Volume> volume_;
  std::vector<Step> steps_;
  Recording recording_;
  bool finished_ = false;
  std::uint64_t tried_ = 0;
};

}  // namespace cordwood
