#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/block_device.hpp"
#include "device/sparse_image.hpp"

namespace cordwood {

/// One thing that happened at a device, seen from the medium, in order.
struct DeviceEvent {
  enum class Kind : std::uint8_t {
    kWrite,        ///< a write was handed to the device
    kDiscard,      ///< a discard was; the range turns into `fill`
    kComplete,     ///< all writes and discards of `batch` were reported as done
    kFlush,        ///< a flush was reported as done
    kFlushFailed,  ///< a flush was reported as failed
    kDamage,       ///< bytes of the medium changed by themselves: durable at once
  };

  static constexpr std::uint64_t kNeverCompletes = 0;

  Kind kind = Kind::kWrite;
  bool fua = false;          ///< kWrite: durable once its batch is complete
  std::byte fill{0};         ///< kDiscard
  std::uint64_t offset = 0;  ///< kWrite, kDiscard, kDamage
  std::uint64_t bytes = 0;   ///< likewise
  /// kWrite, kDiscard, kComplete: counts up from 1 in the order of issue; what was reported as
  /// failed although it reached the device has kNeverCompletes.
  std::uint64_t batch = kNeverCompletes;
  /// kFlush: how many events there were when the flush was called. It covers what was complete by
  /// then; a write that was still under way may be left out.
  std::uint64_t called_at = 0;
  std::shared_ptr<const std::vector<std::byte>> data;  ///< kWrite, kDamage

  [[nodiscard]] bool changes_bytes() const {
    return kind == Kind::kWrite || kind == Kind::kDiscard;
  }
};

/// Everything that happened at a device since it had a certain content.
struct Recording {
  SparseImage initial;
  DeviceGeometry geometry;
  std::vector<DeviceEvent> events;
};

}  // namespace cordwood
