#include "checkpoint/gate.hpp"

#include <thread>

#include "base/check.hpp"

namespace cordwood {

void Gate::enter() {
  std::atomic<std::uint32_t>& inside = shards_[thread_slot()].inside;
  while (true) {
    // Sequentially consistent on purpose: either close() sees us inside, or we see it closed.
    inside.fetch_add(1, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return;
    inside.fetch_sub(1, std::memory_order_seq_cst);
    while (closed_.load(std::memory_order_acquire)) std::this_thread::yield();
  }
}

void Gate::leave() {
  // The slot cannot have changed: an operation begins and ends in one thread.
  shards_[thread_slot()].inside.fetch_sub(1, std::memory_order_release);
}

void Gate::close() {
  CW_CHECK(!closed_.load(std::memory_order_relaxed));
  closed_.store(true, std::memory_order_seq_cst);
  for (const Shard& shard : shards_) {
    while (shard.inside.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }
}

void Gate::open() { closed_.store(false, std::memory_order_release); }

}  // namespace cordwood
