#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/block_device.hpp"
#include "device/cache_model.hpp"
#include "device/device_event.hpp"
#include "device/fault_plan.hpp"
#include "device/sparse_image.hpp"
#include "device/write_fate.hpp"

namespace cordwood {

/// What a simulated device pretends to be.
struct SimDeviceOptions {
  std::uint32_t sector_bytes = 512;  ///< a power of two; writes tear at its multiples
  bool volatile_cache = true;
  bool fua = false;
  bool discard = true;
  /// What a discarded range turns into: anything is allowed, so not what the reader hopes for.
  std::byte discard_fill{0xdd};
  /// Keeps every event for CrashStates; else only what is not durable yet.
  bool record = true;
  std::uint64_t seed = 1;  ///< for faults that leave something to chance
};

/// A device that can lose, tear, fail and garble: for tests, and for pulling the plug by hand.
///
/// - It records what reaches the medium; CrashStates makes every state of a power cut from that.
/// - Faults are injected by rules (FaultRule) and by damage at rest.
/// - Power can be cut at once or at a given operation; then every call fails with kIo until
///   restore_power().
///
/// It is deterministic as long as one thread uses it. A write and a flush of two threads may
/// overlap; then the flush does not cover the write.
/// @threads any.
class SimDevice final : public BlockDevice {
 public:
  /// @param image  the content to start with, all of it durable.
  explicit SimDevice(const SparseImage& image, SimDeviceOptions options = {});
  explicit SimDevice(std::uint64_t bytes, SimDeviceOptions options = {})
      : SimDevice(SparseImage(bytes), options) {}

  [[nodiscard]] DeviceGeometry geometry() const override { return geometry_; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override;
  [[nodiscard]] Result<void> flush() override;
  [[nodiscard]] Result<void> discard(std::uint64_t offset, std::uint64_t bytes) override;

  /// The content as it reads now, with what only the cache holds.
  [[nodiscard]] SparseImage contents() const;

  /// How many events there were: a moment that a CrashChoice::cut can be compared with. What was
  /// acknowledged at moment m binds every state whose cut is at least m.
  [[nodiscard]] std::uint64_t moment() const;
  /// A copy of what was recorded; needs SimDeviceOptions::record.
  [[nodiscard]] Recording recording() const;
  /// Forgets the past: everything written so far counts as durable, and recording starts anew.
  void restart_recording();

  void add_fault(const FaultRule& rule);
  void clear_faults();
  /// How many I/Os a rule has hit so far.
  [[nodiscard]] std::uint64_t faults_hit() const;
  /// Changes the medium behind everybody's back; in all crash states too.
  void damage(std::uint64_t offset, ConstBytes bytes);
  void flip_bit_at_rest(std::uint64_t offset, unsigned bit);
  /// Keeps the content of now for FaultRule::Action::kStale; before the first call that is the
  /// content at the start.
  void remember_stale();

  /// How many operations (requests, flushes, discards) were begun, failing ones too.
  [[nodiscard]] std::uint64_t operations() const;
  void cut_power();
  /// Cuts the power in the midst of operation number `operation`, counted from 0 like operations():
  /// it is begun and never completes.
  void cut_power_at(std::uint64_t operation);
  [[nodiscard]] bool power_is_cut() const;
  /// What a power cut now could lose, or could have lost: the order of the fates below.
  [[nodiscard]] std::vector<CacheModel::OpenWrite> open_writes() const;
  /// The medium that a cut now leaves. @param fates  one for each of open_writes().
  [[nodiscard]] SparseImage after_power_cut(std::span<const WriteFate> fates) const;
  /// Switches on again with that medium, all of it durable; faults stay, recording starts anew.
  void restore_power(const SparseImage& medium);

 private:
  enum class Power : std::uint8_t { kOn, kFailsNow, kOff };

  // All of these under mutex_.
  [[nodiscard]] Power begin_operation();
  [[nodiscard]] Result<void> run(const IoRequest& request, std::uint64_t batch);
  [[nodiscard]] Result<void> run_read(const IoRequest& request);
  [[nodiscard]] Result<void> run_write(const IoRequest& request, std::uint64_t batch);
  void fail_write(const IoRequest& request, const FaultRule& fault);
  void put(const IoRequest& request, std::uint64_t offset, std::uint64_t bytes,
           std::uint64_t batch);
  void record(DeviceEvent event);
  void start_over(const SparseImage& medium);

  const SimDeviceOptions options_;
  const DeviceGeometry geometry_;
  mutable std::mutex mutex_;
  SparseImage contents_;
  SparseImage stale_;
  CacheModel model_;
  Recording recording_;
  FaultPlan faults_;
  std::uint64_t batches_ = DeviceEvent::kNeverCompletes;
  std::uint64_t operations_ = 0;
  std::optional<std::uint64_t> cut_at_;
  bool power_is_cut_ = false;
};

}  // namespace cordwood
