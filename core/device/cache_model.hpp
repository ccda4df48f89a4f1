#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "device/block_device.hpp"
#include "device/device_event.hpp"
#include "device/sparse_image.hpp"
#include "device/write_fate.hpp"

namespace cordwood {

/// Knows which writes are durable after each event, and what a power cut could leave.
///
/// A write is *open* until it is certain to survive. It becomes durable when
///   - a flush ends that was called after the write had completed, or
///   - it completes, and asked for FUA on a device that has it, or the device has no volatile
///   cache.
/// A write that was reported as failed never completes, so it stays open; so do the writes that a
/// failed flush should have made durable, whatever later flushes say.
///
/// @threads one at a time.
class CacheModel {
 public:
  CacheModel(const SparseImage& initial, const DeviceGeometry& geometry)
      : geometry_(geometry), base_(initial) {}

  /// Takes the next event.
  void apply(const DeviceEvent& event);

  /// How many events it has taken: the `cut` of a choice made now.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::size_t open_count() const { return open_count_; }

  struct OpenWrite {
    std::uint64_t index = 0;  ///< which event it was
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t sectors = 0;
    bool discard = false;
    bool completed = false;  ///< was reported as done
  };
  /// What a power cut now could lose, oldest first.
  [[nodiscard]] std::vector<OpenWrite> open_writes() const;

  /// Whether the completion of a batch would make a write durable, without a flush.
  [[nodiscard]] bool completes_durably(std::uint64_t batch) const;

  /// The medium after a power cut now.
  /// @param fates  one for each of open_writes(). Details beyond a write's length are cut to it.
  /// @cost one copied page for each page that a write since the last flush touches.
  [[nodiscard]] SparseImage after_power_cut(std::span<const WriteFate> fates) const;

  /// The content as it reads with power on: every write applied.
  [[nodiscard]] SparseImage all_applied() const;

 private:
  struct Pending {
    DeviceEvent event;
    std::uint64_t index = 0;
    bool completed = false;
    std::uint64_t completed_at = 0;
    bool abandoned = false;  ///< a failed flush should have covered it
    bool durable = false;    ///< not folded into base_ yet only because an older write is open
  };

  template <class Deque, class Act>
  static void for_batch(Deque& pending, std::uint64_t batch, Act act);
  [[nodiscard]] bool durable_when_complete(const DeviceEvent& event) const;
  void complete(std::uint64_t batch);
  void flush(std::uint64_t called_at);
  void make_durable(Pending& pending);
  void fold();
  void put(SparseImage& image, const Pending& pending, WriteFate fate) const;

  DeviceGeometry geometry_;
  SparseImage base_;  ///< everything that is durable and has no older open write
  std::deque<Pending> pending_;
  std::size_t open_count_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace cordwood
