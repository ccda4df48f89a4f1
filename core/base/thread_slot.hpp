#pragma once

#include <cstddef>

namespace cordwood {

/// Sharded state is indexed by a small number that each thread keeps while it lives.
inline constexpr std::size_t kThreadSlots = 64;
/// Threads beyond the first 63 share the last slot, which therefore needs atomic updates.
inline constexpr std::size_t kSharedThreadSlot = kThreadSlots - 1;

/// This thread's slot, 0..63. Slots below 63 belong to one live thread at a time.
[[nodiscard]] std::size_t thread_slot();

}  // namespace cordwood
