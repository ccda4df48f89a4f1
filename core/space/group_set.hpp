#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/layout.hpp"
#include "space/group.hpp"
#include "space/group_table.hpp"
#include "trace/counters.hpp"

namespace cordwood {

/// All groups of a volume: loads their bitmaps on first use, and knows for each a bound of its
/// longest free run without touching it. A group that was never used costs some 60 bytes.
/// @threads any, unless said otherwise.
class GroupSet {
 public:
  GroupSet(BlockDevice& device, const Layout& layout, std::uint64_t volume_seed, GroupTable table,
           Counters& counters);

  [[nodiscard]] std::uint64_t count() const { return layout_.group_count; }
  /// The table that the next checkpoint changes. @threads the checkpoint thread; descriptors of
  /// groups that are not loaded: any.
  [[nodiscard]] GroupTable& table() { return table_; }
  [[nodiscard]] const GroupTable& table() const { return table_; }

  /// The group; reads and verifies its bitmap if this is the first use.
  /// @errors corrupt (Place::kGroup) when the bitmap is not what the descriptor says; I/O.
  Result<Group*> load(std::uint64_t group);
  /// The group if it is loaded, else null.
  [[nodiscard]] Group* loaded(std::uint64_t group) const {
    return slot(group).group.load(std::memory_order_acquire);
  }

  /// No free run of the group is longer than this.
  [[nodiscard]] std::uint32_t longest_free_run_bound(std::uint64_t group) const {
    return longest_bounds_[static_cast<std::size_t>(group)].load(std::memory_order_acquire);
  }
  /// Two-sided: after the group's longest run was measured. @threads caller holds the group's
  /// mutex.
  void set_longest_free_run_bound(std::uint64_t group, std::uint32_t blocks) {
    longest_bounds_[static_cast<std::size_t>(group)].store(blocks, std::memory_order_release);
  }
  /// After a run became free. @threads caller holds the group's mutex.
  void raise_longest_free_run_bound(std::uint64_t group, std::uint32_t blocks) {
    if (blocks > longest_free_run_bound(group)) set_longest_free_run_bound(group, blocks);
  }

  /// Where a slot of a group's bitmap lies, and the checksum its content must have there.
  [[nodiscard]] std::uint64_t bitmap_checksum(ConstBytes page, std::uint64_t place) const;

 private:
  struct Slot {
    std::atomic<Group*> group{nullptr};
    std::unique_ptr<Group> owner;
  };
  Slot& slot(std::uint64_t group) { return slots_[static_cast<std::size_t>(group)]; }
  [[nodiscard]] const Slot& slot(std::uint64_t group) const {
    return slots_[static_cast<std::size_t>(group)];
  }
  Result<BitmapWords> read_bitmap(std::uint64_t group, const GroupWindow& window);

  BlockDevice& device_;
  const Layout layout_;
  const std::uint64_t volume_seed_;
  Counters& counters_;
  GroupTable table_;
  std::vector<Slot> slots_;
  std::vector<std::atomic<std::uint32_t>>
      longest_bounds_;  ///< side by side: searches read them all
  /// Loading is rare, but must not make groups wait for each other's I/O.
  std::array<std::mutex, 16> load_mutexes_;
};

}  // namespace cordwood
