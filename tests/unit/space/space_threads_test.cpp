// Many threads, and a checkpoint that goes on beside them.

#ifndef __EMSCRIPTEN__

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "unit/space/space_rig.hpp"

using namespace cordwood;

namespace {

constexpr int kThreads = 4;

/// What all threads share. A writer that waits is let in before new readers, so that checkpoints
/// happen however busy the others are.
struct Arena {
  explicit Arena(SpaceRig& shared) : rig(shared) {}

  SpaceRig& rig;
  std::shared_mutex gate;
  std::atomic<bool> closing{false};
  std::atomic<bool> stop{false};
  std::atomic<int> mistakes{0};

  std::shared_lock<std::shared_mutex> enter() {
    while (closing) std::this_thread::yield();
    return std::shared_lock(gate);
  }
};

/// One thread's life; returns the blocks that it still uses.
std::vector<BlockRun> work(Arena& arena, std::uint64_t seed, int steps) {
  Space& space = *arena.rig.space;
  Random random(seed);
  std::vector<BlockRun> used;
  for (int step = 0; step < steps; ++step) {
    if (random.one_in(2) && !used.empty()) {
      const std::size_t index = static_cast<std::size_t>(random.below(used.size()));
      const auto inside = arena.enter();
      if (!space.free(used[index])) ++arena.mistakes;
      used[index] = used.back();
      used.pop_back();
      continue;
    }
    const std::uint64_t want = random.between(1, 40);
    if (!space.try_reserve(want, ReserveClass::kNormal)) continue;
    // A promise is a promise: single blocks, wherever they are, must always be found.
    for (std::uint64_t left = want; left != 0;) {
      const Result<BlockRun> run = space.allocate(
          left, 1, random.one_in(2) ? AllocationStream::kData : AllocationStream::kMetadata);
      if (!run) {
        ++arena.mistakes;
        space.unreserve(left);
        break;
      }
      left -= run->count;
      if (random.one_in(5)) {
        space.cancel(*run);
      } else if (random.one_in(10)) {
        space.put_back(*run);
        space.unreserve(run->count);
      } else {
        const auto inside = arena.enter();
        space.commit(*run);
        used.push_back(*run);
      }
    }
  }
  return used;
}

void checkpoint_often(Arena& arena) {
  Space& space = *arena.rig.space;
  BlockRun root;  // the checkpoint itself places and drops things too
  while (!arena.stop) {
    {
      arena.closing = true;
      const std::unique_lock closed(arena.gate);
      space.freeze();
      arena.closing = false;
    }
    const bool reserved = space.try_reserve(3, ReserveClass::kEmergency);
    if (reserved) {
      const Result<BlockRun> run = space.allocate(3, 1, AllocationStream::kMetadata);
      if (!run) {
        ++arena.mistakes;
      } else {
        space.unreserve(3 - run->count);
        space.commit_frozen(*run);
        if (root.count != 0 && !space.free_frozen(root)) ++arena.mistakes;
        root = *run;
      }
    }
    const Result<GroupPageRef> written = space.write_out({++arena.rig.generation});
    if (!written) {
      ++arena.mistakes;
      return;
    }
    arena.rig.root = *written;
    (void)space.groups();
    space.release_frozen();
  }
  if (root.count != 0 && !space.free(root)) ++arena.mistakes;
}

void run_threads(std::uint64_t bytes, std::uint64_t filler_blocks, int steps) {
  SpaceRig rig(bytes, 512);
  const std::uint64_t all = rig.space->free_blocks();
  if (filler_blocks != 0) {
    REQUIRE(rig.space->claim({rig.layout.first_free, all - filler_blocks}));
  }
  const std::uint64_t free = rig.space->free_blocks();
  Arena arena(rig);
  std::vector<std::vector<BlockRun>> used(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { used[i] = work(arena, 1000 + i, steps); });
  }
  std::thread checkpoints([&] { checkpoint_often(arena); });
  for (std::thread& thread : threads) thread.join();
  arena.stop = true;
  checkpoints.join();
  CHECK(arena.mistakes == 0);

  rig.checkpoint();
  std::uint64_t still_used = 0;
  for (const auto& runs : used) {
    for (const BlockRun& run : runs) still_used += run.count;
  }
  CHECK(rig.space->free_blocks() == free - still_used);
  CHECK(rig.space->reserved_blocks() == 0);
  CHECK(rig.space->pending_free_blocks() == 0);
  const std::vector<std::uint64_t> bitmaps = all_bitmaps(*rig.space, rig.layout);
  rig.reopen();
  CHECK(all_bitmaps(*rig.space, rig.layout) == bitmaps);
  for (const auto& runs : used) {
    for (const BlockRun& run : runs) REQUIRE(rig.space->free(run));
  }
  rig.checkpoint();
  CHECK(rig.space->free_blocks() == free);
}

}  // namespace

TEST_CASE("space: threads and checkpoints side by side", "[space][threads]") {
  run_threads(48_MiB, 0, 100'000);
}

TEST_CASE("space: threads on an almost full volume", "[space][threads]") {
  run_threads(48_MiB, 300, 30'000);
}

TEST_CASE("space: threads load the same bitmaps", "[space][threads]") {
  SpaceRig rig(256_MiB, 512);
  for (std::uint64_t group = 1; group < rig.layout.group_count; ++group) {
    REQUIRE(rig.space->claim({{group * kGroupBlocks}, 1}));
  }
  rig.checkpoint();
  rig.reopen();
  std::atomic<int> mistakes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t group = 0; group < rig.layout.group_count; ++group) {
        if (!rig.space->bitmap(group)) ++mistakes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(mistakes == 0);
  CHECK(rig.counters.value(Counter::kDeviceReads) == 2 + rig.layout.group_count - 1);
}

#endif
