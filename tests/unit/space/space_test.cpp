#include "space/space.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "unit/space/space_rig.hpp"

using namespace cordwood;

namespace {

std::uint64_t window_blocks(const Layout& layout) { return layout.tail - layout.first_free; }

Errc code_of(const Result<void>& result) {
  REQUIRE(!result);
  return result.error().code;
}

class EventList final : public TraceSink {
 public:
  void on_event(const Event& event) override { events.push_back(event); }
  std::vector<Event> events;
};

}  // namespace

TEST_CASE("space: a fresh volume is free but for the fixed structures", "[space]") {
  const std::uint32_t block_bytes = GENERATE(512, 4096);
  const std::uint64_t bytes = GENERATE(4_MiB, 64_MiB, 600_MiB);
  SpaceRig rig(bytes, block_bytes);
  CHECK(rig.space->free_blocks() == window_blocks(rig.layout));
  CHECK(rig.space->available_blocks() == window_blocks(rig.layout));
  CHECK(rig.space->reserved_blocks() == 0);
  CHECK(rig.space->pending_free_blocks() == 0);
  CHECK(rig.space->frozen_free_blocks() == window_blocks(rig.layout));
  CHECK(rig.space->groups().size() == rig.layout.group_count);
  for (const Space::GroupInfo& group : rig.space->groups()) CHECK(!group.loaded);
}

TEST_CASE("space: promises leave the emergency reserve to those who may use it", "[space]") {
  SpaceRig rig(4_MiB, 4096);
  Space& space = *rig.space;
  const std::uint64_t all = space.free_blocks();
  space.set_emergency_blocks(10);
  CHECK(space.emergency_blocks() == 10);
  CHECK(space.available_blocks() == all - 10);
  CHECK(!space.try_reserve(all - 9, ReserveClass::kNormal));
  CHECK(space.try_reserve(all - 10, ReserveClass::kNormal));
  CHECK(!space.try_reserve(1, ReserveClass::kNormal));
  CHECK(space.available_blocks() == 0);
  CHECK(!space.try_reserve(11, ReserveClass::kEmergency));
  CHECK(space.try_reserve(10, ReserveClass::kEmergency));
  CHECK(!space.try_reserve(1, ReserveClass::kEmergency));
  CHECK(space.reserved_blocks() == all);
  CHECK(space.free_blocks() == all);
  CHECK(space.try_reserve(0, ReserveClass::kEmergency));
  CHECK(!space.try_reserve(UINT64_MAX, ReserveClass::kEmergency));
  space.unreserve(all);
  CHECK(space.available_blocks() == all - 10);
  CHECK(space.reserved_blocks() == 0);
}

TEST_CASE("space: a block's way from free to free", "[space]") {
  SpaceRig rig(4_MiB, 512);
  Space& space = *rig.space;
  const std::uint64_t all = space.free_blocks();

  REQUIRE(space.try_reserve(8, ReserveClass::kNormal));
  const BlockRun run = *space.allocate(8, 8, AllocationStream::kData);
  CHECK(run.count == 8);
  CHECK(space.free_blocks() == all - 8);
  CHECK(space.available_blocks() == all - 8);
  CHECK(space.reserved_blocks() == 0);

  SECTION("cancelled, it is free") {
    space.cancel(run);
    CHECK(space.free_blocks() == all);
    CHECK(space.available_blocks() == all);
  }
  SECTION("put back, it is free and still promised") {
    space.put_back(run);
    CHECK(space.free_blocks() == all);
    CHECK(space.available_blocks() == all - 8);
    CHECK(space.reserved_blocks() == 8);
    CHECK(*space.allocate(8, 8, AllocationStream::kData) == run);
  }
  SECTION("in flight, a checkpoint does not see it") {
    rig.checkpoint();
    CHECK(space.frozen_free_blocks() == all);
    rig.reopen();
    CHECK(rig.space->free_blocks() == all);
  }
  SECTION("committed and freed, it waits for its checkpoint") {
    space.commit(run);
    rig.checkpoint();
    CHECK(space.frozen_free_blocks() == all - 8);
    REQUIRE(space.free(run));
    CHECK(space.pending_free_blocks() == 8);
    CHECK(space.free_blocks() == all - 8);
    space.freeze();
    rig.write_out();
    CHECK(space.frozen_free_blocks() == all);
    CHECK(space.free_blocks() == all - 8);
    CHECK(space.frozen_pending_runs(10) == std::vector<BlockRun>{run});
    space.release_frozen();
    CHECK(space.free_blocks() == all);
    CHECK(space.available_blocks() == all);
    CHECK(space.pending_free_blocks() == 0);
  }
}

TEST_CASE("space: what happens after a freeze stays out of its bitmaps", "[space]") {
  SpaceRig rig(4_MiB, 512);
  Space& space = *rig.space;
  const std::uint64_t all = space.free_blocks();
  const BlockRun kept = rig.use(4);
  const BlockRun dropped_before = rig.use(5);
  const BlockRun dropped_after = rig.use(6);
  const BlockRun in_flight_over_it = rig.take(7);
  REQUIRE(space.free(dropped_before));

  space.freeze();
  const BlockRun late = rig.use(8);
  const BlockRun late_and_dropped = rig.use(9);
  REQUIRE(space.free(late_and_dropped));
  REQUIRE(space.free(dropped_after));
  space.commit(in_flight_over_it);
  const BlockRun of_checkpoint = rig.take(10, AllocationStream::kMetadata);
  space.commit_frozen(of_checkpoint);
  REQUIRE(space.free_frozen({kept.first, 1}));
  CHECK(code_of(space.free_frozen(late)) == Errc::kCorrupt);
  rig.write_out();
  CHECK(space.frozen_free_blocks() == all - 3 - 6 - 10);
  space.release_frozen();
  CHECK(space.pending_free_blocks() == 9 + 6);
  CHECK(space.free_blocks() == all - 3 - 6 - 7 - 8 - 9 - 10);

  SECTION("a crash now finds the frozen state") {
    rig.reopen();
    CHECK(rig.space->free_blocks() == all - 3 - 6 - 10);
    CHECK(code_of(rig.space->free(late)) == Errc::kCorrupt);
    CHECK(rig.space->free(dropped_after));
  }
  SECTION("the next checkpoint has the rest") {
    rig.checkpoint();
    CHECK(space.frozen_free_blocks() == all - 3 - 7 - 8 - 10);
    CHECK(space.free_blocks() == all - 3 - 7 - 8 - 10);
    rig.reopen();
    CHECK(rig.space->free_blocks() == all - 3 - 7 - 8 - 10);
    CHECK(rig.space->free(late));
  }
}

TEST_CASE("space: a free of blocks that are not in use is refused and changes nothing", "[space]") {
  SpaceRig rig(48_MiB, 512);  // three groups
  Space& space = *rig.space;
  const BlockRun run = rig.use(16);
  const auto refused = [&](BlockRun what) {
    const std::uint64_t pending = space.pending_free_blocks();
    const Result<void> result = space.free(what);
    CHECK(code_of(result) == Errc::kCorrupt);
    CHECK(result.error().place == Place::kBlock);
    CHECK(space.pending_free_blocks() == pending);
  };
  refused({run.first, 17});
  refused({run.first, 0});
  refused({{0}, 1});
  refused({{rig.layout.first_free.value - 1}, 2});
  refused({rig.layout.tail, 1});
  refused({{rig.layout.tail.value - 1}, 2});
  refused({{UINT64_MAX}, 1});
  refused({run.first, UINT64_MAX});
  refused({rig.layout.first_free, window_blocks(rig.layout)});
  const BlockRun in_flight = rig.take(3);
  refused(in_flight);

  REQUIRE(space.free({run.first + 4, 4}));
  refused(run);
  refused({run.first + 7, 2});
  space.freeze();
  refused({run.first + 4, 1});
  CHECK(code_of(space.free_frozen({run.first + 4, 1})) == Errc::kCorrupt);
  rig.write_out();
  refused({run.first + 4, 1});
  space.release_frozen();
  refused({run.first + 4, 1});
  REQUIRE(space.free({run.first, 4}));
  REQUIRE(space.free({run.first + 8, 8}));
}

TEST_CASE("space: runs may be dropped and claimed across groups, all or nothing", "[space]") {
  SpaceRig rig(48_MiB, 512);
  Space& space = *rig.space;
  const std::uint64_t all = space.free_blocks();
  const BlockRun run{{kGroupBlocks - 10}, kGroupBlocks + 20};  // the middle group and some
  REQUIRE(space.claim({{2 * kGroupBlocks}, 1}));
  CHECK(code_of(space.claim(run)) == Errc::kCorrupt);
  CHECK(code_of(space.claim({{0}, 1})) == Errc::kCorrupt);
  CHECK(space.free_blocks() == all - 1);
  CHECK(space.available_blocks() == all - 1);
  REQUIRE(space.free({{2 * kGroupBlocks}, 1}));
  rig.checkpoint();

  REQUIRE(space.claim(run));
  CHECK(space.free_blocks() == all - run.count);
  CHECK(code_of(space.free({run.first, run.count + 1})) == Errc::kCorrupt);
  rig.checkpoint();
  rig.reopen();
  CHECK(rig.space->free_blocks() == all - run.count);
  REQUIRE(rig.space->free(run));
  CHECK(rig.space->pending_free_blocks() == run.count);
  rig.checkpoint();
  CHECK(rig.space->free_blocks() == all);
}

TEST_CASE("space: a claim does not take what is promised", "[space]") {
  SpaceRig rig(4_MiB, 4096);
  Space& space = *rig.space;
  REQUIRE(space.try_reserve(space.free_blocks() - 3, ReserveClass::kNormal));
  CHECK(code_of(space.claim({rig.layout.first_free, 4})) == Errc::kNoSpace);
  CHECK(space.claim({rig.layout.first_free, 3}));
  CHECK(space.available_blocks() == 0);
}

TEST_CASE("space: allocation on a full and on a fragmented volume", "[space]") {
  const std::uint64_t bytes = GENERATE(4_MiB, 48_MiB);
  SpaceRig rig(bytes, 512);
  Space& space = *rig.space;
  const std::uint64_t all = space.free_blocks();
  REQUIRE(space.try_reserve(all, ReserveClass::kNormal));
  std::vector<BlockRun> runs;
  for (std::uint64_t left = all; left != 0; left -= runs.back().count) {
    const Result<BlockRun> run = space.allocate(left, 1, AllocationStream::kData);
    REQUIRE(run);
    runs.push_back(*run);
    space.commit(*run);
  }
  CHECK(space.free_blocks() == 0);
  CHECK(runs.size() <= 2 * rig.layout.group_count);
  CHECK(!space.try_reserve(1, ReserveClass::kEmergency));

  // Every eighth block free, and one hole of five.
  std::uint64_t freed = 0;
  for (std::uint64_t block = rig.layout.first_free.value + 8; block < rig.layout.tail.value;
       block += 8, ++freed) {
    REQUIRE(space.free({{block}, 1}));
  }
  const BlockRun hole{{rig.layout.first_free.value + 16}, 5};
  REQUIRE(space.free({hole.first + 1, 4}));
  CHECK(space.pending_free_blocks() == freed + 4);
  rig.checkpoint();
  CHECK(space.available_blocks() == freed + 4);

  REQUIRE(space.try_reserve(freed + 4, ReserveClass::kNormal));
  const Result<BlockRun> none = space.allocate(6, 6, AllocationStream::kData);
  REQUIRE(!none);
  CHECK(none.error().code == Errc::kNoSpace);
  CHECK(!space.allocate(100'000, 40'000, AllocationStream::kData));
  CHECK(space.reserved_blocks() == freed + 4);
  const BlockRun longest = *space.allocate(8, 2, AllocationStream::kData);
  CHECK(longest == hole);
  for (std::uint64_t i = 1; i < freed; ++i) {
    const Result<BlockRun> run = space.allocate(8, 1, AllocationStream::kMetadata);
    REQUIRE(run);
    REQUIRE(run->count == 1);
  }
  CHECK(space.free_blocks() == 0);
  CHECK(!space.allocate(1, 1, AllocationStream::kMetadata));
}

TEST_CASE("space: streams keep apart, go on where they were, and goals are heard", "[space]") {
  const std::uint64_t bytes = GENERATE(16_MiB, 160_MiB);
  SpaceRig rig(bytes, 512);
  Space& space = *rig.space;
  REQUIRE(space.try_reserve(10'000, ReserveClass::kNormal));
  const auto next = [&](std::uint64_t count, AllocationStream stream, BlockNumber goal = {}) {
    return *space.allocate(count, 1, stream, goal);
  };
  const BlockRun metadata = next(8, AllocationStream::kMetadata);
  const BlockRun data = next(8, AllocationStream::kData);
  CHECK(metadata.first == rig.layout.first_free);
  CHECK(data.first.value >= metadata.first.value + window_blocks(rig.layout) / 8);
  if (rig.layout.group_count > 1) CHECK(data.first.value % kGroupBlocks == 0);
  CHECK(next(8, AllocationStream::kMetadata).first == metadata.end());
  CHECK(next(8, AllocationStream::kData).first == data.end());

  const BlockNumber goal{rig.layout.tail.value - 20};
  const BlockRun there = next(8, AllocationStream::kData, goal);
  CHECK(there.first == goal);
  CHECK(next(8, AllocationStream::kData, there.first).first == there.end());
  CHECK(next(8, AllocationStream::kData).first == data.end() + 8);  // the stream's place stayed
  // No eight blocks are left behind the goal: the search goes around the end of the device.
  CHECK(next(8, AllocationStream::kData, goal).first == metadata.end() + 8);
  CHECK(next(8, AllocationStream::kData, rig.layout.tail).first == data.end() + 16);

  // The unneeded rest of a long run is where the stream goes on.
  const BlockRun run = next(100, AllocationStream::kMetadata);
  const BlockRun rest{run.first + 30, 70};
  space.put_back(rest);
  CHECK(next(8, AllocationStream::kMetadata).first == rest.first);
}

TEST_CASE("space: next fit goes around the end of the device", "[space]") {
  SpaceRig rig(48_MiB, 512);
  Space& space = *rig.space;
  const std::uint64_t chunk = 1000;
  std::vector<BlockRun> runs;
  while (space.try_reserve(chunk, ReserveClass::kNormal)) {
    const Result<BlockRun> run = space.allocate(chunk, chunk, AllocationStream::kMetadata);
    if (!run) {
      space.unreserve(chunk);
      break;
    }
    space.commit(*run);
    runs.push_back(*run);
  }
  CHECK(runs.size() >= window_blocks(rig.layout) / chunk - rig.layout.group_count);
  REQUIRE(space.free(runs[3]));
  rig.checkpoint();
  CHECK(rig.take(chunk, AllocationStream::kMetadata) == runs[3]);
}

TEST_CASE("space: released blocks are offered for discard, merged, the longest first", "[space]") {
  SpaceRig rig(48_MiB, 512);
  Space& space = *rig.space;
  const BlockRun across{{kGroupBlocks - 50}, 100};
  REQUIRE(space.claim({{kGroupBlocks - 100}, 300}));
  REQUIRE(space.free({across.first, 30}));
  REQUIRE(space.free({across.first + 30, 70}));
  REQUIRE(space.free({across.end() + 5, 2}));
  REQUIRE(space.free({across.end() + 10, 3}));
  space.freeze();
  rig.write_out();
  CHECK(space.frozen_pending_runs(3) ==
        std::vector<BlockRun>{across, {across.end() + 5, 2}, {across.end() + 10, 3}});
  CHECK(space.frozen_pending_runs(2) == std::vector<BlockRun>{across, {across.end() + 10, 3}});
  CHECK(space.frozen_pending_runs(0).empty());
  space.release_frozen();
  CHECK(space.pending_free_blocks() == 0);
}

TEST_CASE("space: a checkpoint writes what changed and nothing else", "[space]") {
  SpaceRig rig(1_GiB, 512);  // 64 groups, one page of descriptors
  Space& space = *rig.space;
  const auto written = [&] { return rig.counters.value(Counter::kSpaceBytesWritten); };
  rig.use(8);
  rig.checkpoint();
  CHECK(written() == 2 * kPageBytes);
  CHECK(rig.counters.value(Counter::kDeviceWrites) == 2);
  const GroupPageRef root = rig.root;
  rig.checkpoint();
  CHECK(written() == 2 * kPageBytes);
  CHECK(rig.root.checksum == root.checksum);
  CHECK(rig.root.slot == root.slot);
  rig.take(8);
  space.cancel(rig.take(8));
  rig.checkpoint();
  CHECK(written() == 2 * kPageBytes);
  CHECK(rig.counters.value(Counter::kBytesRead) == kPageBytes);
}

TEST_CASE("space: traces where blocks go", "[space]") {
  EventList list;
  SpaceRig rig(4_MiB, 512, &list);
  const BlockRun run = rig.use(5);
  REQUIRE(rig.space->free({run.first + 1, 3}));
  REQUIRE(list.events.size() == 2);
  CHECK(list.events[0].kind == EventKind::kAllocate);
  CHECK(list.events[0].a == run.first.value);
  CHECK(list.events[0].b == 5);
  CHECK(list.events[1].kind == EventKind::kFree);
  CHECK(list.events[1].a == run.first.value + 1);
  CHECK(list.events[1].b == 3);
}
