#include "base/thread_slot.hpp"

#include <catch2/catch.hpp>

#ifndef __EMSCRIPTEN__
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>
#endif

using namespace cordwood;

TEST_CASE("thread slot: stays the same within a thread", "[base]") {
  const std::size_t slot = thread_slot();
  CHECK(slot < kThreadSlots);
  CHECK(thread_slot() == slot);
}

#ifndef __EMSCRIPTEN__

namespace {

// Starts `count` threads that all live at the same time and returns their slots.
std::vector<std::size_t> slots_of_live_threads(std::size_t count) {
  std::mutex mutex;
  std::condition_variable all_here;
  std::vector<std::size_t> slots;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      const std::size_t slot = thread_slot();
      std::unique_lock lock(mutex);
      slots.push_back(slot);
      all_here.notify_all();
      all_here.wait(lock, [&] { return slots.size() == count; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return slots;
}

}  // namespace

TEST_CASE("thread slot: live threads below the limit have slots of their own", "[base][threads]") {
  (void)thread_slot();  // The main thread holds one of the 63.
  for (int round = 0; round < 5; ++round) {
    const std::vector<std::size_t> slots = slots_of_live_threads(kSharedThreadSlot - 1);
    const std::set<std::size_t> distinct(slots.begin(), slots.end());
    CHECK(distinct.size() == slots.size());
    CHECK(distinct.count(kSharedThreadSlot) == 0);
    CHECK(distinct.count(thread_slot()) == 0);
  }
}

TEST_CASE("thread slot: threads beyond the limit share the last", "[base][threads]") {
  (void)thread_slot();
  const std::size_t beyond = 7;
  const std::vector<std::size_t> slots = slots_of_live_threads(kSharedThreadSlot - 1 + beyond);
  std::size_t sharing = 0;
  for (const std::size_t slot : slots) sharing += slot == kSharedThreadSlot ? 1 : 0;
  CHECK(sharing == beyond);
}

TEST_CASE("thread slot: the next owner sees the last one's plain updates", "[base][threads]") {
  // Under the thread sanitizer this fails if handing a slot on does not synchronise.
  std::vector<std::uint64_t> plain_counters(kThreadSlots);
  std::mutex shared_slot_mutex;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        std::thread([&] {
          const std::size_t slot = thread_slot();
          std::unique_lock lock(shared_slot_mutex, std::defer_lock);
          if (slot == kSharedThreadSlot) lock.lock();
          ++plain_counters[slot];
        }).join();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::uint64_t total = 0;
  for (const std::uint64_t counter : plain_counters) total += counter;
  CHECK(total == 400);
}

#endif
