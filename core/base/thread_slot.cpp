#include "base/thread_slot.hpp"

#include <atomic>
#include <cstdint>

namespace cordwood {

namespace {

std::atomic<std::uint64_t> slots_taken{0};

struct SlotOwner {
  std::size_t slot = kSharedThreadSlot;

  SlotOwner() {
    std::uint64_t taken = slots_taken.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t free = ~taken & ~(std::uint64_t{1} << kSharedThreadSlot);
      if (free == 0) return;
      const auto lowest = static_cast<std::size_t>(__builtin_ctzll(free));
      // Acquire pairs with the release below: the next owner sees the last one's plain updates.
      if (slots_taken.compare_exchange_weak(taken, taken | (std::uint64_t{1} << lowest),
                                            std::memory_order_acquire)) {
        slot = lowest;
        return;
      }
    }
  }
  ~SlotOwner() {
    if (slot != kSharedThreadSlot) {
      slots_taken.fetch_and(~(std::uint64_t{1} << slot), std::memory_order_release);
    }
  }
};

}  // namespace

std::size_t thread_slot() {
  thread_local SlotOwner owner;
  return owner.slot;
}

}  // namespace cordwood
