// Power cuts while a checkpoint writes its bitmaps, and failing devices.

#include <catch2/catch.hpp>
#include <vector>

#include "device/crash_states.hpp"
#include "device/sim_device.hpp"
#include "unit/space/space_rig.hpp"

using namespace cordwood;

namespace {

/// A volume with several generations behind it, then one more that is written out without its
/// superblock.
struct Story {
  explicit Story(SimDeviceOptions options = {})
      : layout(*Layout::compute(kBytes, 512, kNodeBytes)), device(kBytes, options) {
    const Result<GroupPageRef> formatted = Space::format(device, layout, kVolumeSeed);
    REQUIRE(formatted);
    root = *formatted;
    space = open(device, root);
    for (std::uint64_t generation = 1; generation <= 3; ++generation) {
      change(generation);
      space->freeze();
      const Result<GroupPageRef> written = space->write_out({generation});
      REQUIRE(written);
      REQUIRE(device.flush());
      root = *written;
      if (generation == 3) bitmaps = all_bitmaps(*open(device, root), layout);
      space->release_frozen();
    }
    REQUIRE(device.flush());
    device.restart_recording();
  }

  std::unique_ptr<Space> open(BlockDevice& from, GroupPageRef at) {
    Result<std::unique_ptr<Space>> opened =
        Space::open(from, layout, kVolumeSeed, at, counters, Tracer());
    REQUIRE(opened);
    return std::move(*opened);
  }

  /// Uses blocks in every group, and drops some of what was used before.
  void change(std::uint64_t generation) {
    for (std::uint64_t group = 0; group < layout.group_count; ++group) {
      const BlockNumber first{group * kGroupBlocks + 10'000};
      REQUIRE(space->claim({first + generation * 100, 10 + generation}));
      if (generation > 1) REQUIRE(space->free({first + (generation - 1) * 100 + 3, 4}));
    }
  }

  static constexpr std::uint64_t kBytes = 48_MiB;
  Layout layout;
  SimDevice device;
  Counters counters;
  GroupPageRef root;
  std::unique_ptr<Space> space;
  std::vector<std::uint64_t> bitmaps;  ///< of the state that root names
};

}  // namespace

TEST_CASE("space: a checkpoint without its superblock leaves the old state whole", "[space]") {
  Story story;
  story.change(4);
  story.space->freeze();
  story.change(5);
  const Result<GroupPageRef> written = story.space->write_out({4});
  REQUIRE(written);
  const GroupPageRef new_root = *written;

  const Recording recording = story.device.recording();
  CrashPolicy policy;
  policy.torn_states_max = 200;
  policy.garbage = true;
  CrashStates states(recording, policy);
  std::size_t count = 0;
  while (states.next()) {
    INFO(states.id());
    MemoryDevice device(states.build());
    REQUIRE(all_bitmaps(*story.open(device, story.root), story.layout) == story.bitmaps);
    ++count;
  }
  CHECK(count >= 16);  // three bitmaps and a group page, each there or not

  // All of it on the medium: the new root gives the new state.
  REQUIRE(story.device.flush());
  MemoryDevice device(story.device.contents());
  const std::unique_ptr<Space> space = story.open(device, new_root);
  CHECK(space->free_blocks() == story.space->frozen_free_blocks());
  CHECK(all_bitmaps(*space, story.layout) != story.bitmaps);
}

TEST_CASE("space: a failed write-out may be followed by a crash, or tried again", "[space]") {
  for (std::uint64_t failing = 0; failing < 4; ++failing) {
    INFO("write " << failing);
    Story story;
    story.change(4);
    story.space->freeze();
    FaultRule rule;
    rule.on = FaultRule::On::kWrite;
    rule.skip = failing;
    story.device.add_fault(rule);
    const Result<GroupPageRef> written = story.space->write_out({4});
    REQUIRE(!written);
    REQUIRE(written.error().code == Errc::kIo);

    MemoryDevice device(story.device.contents());
    REQUIRE(all_bitmaps(*story.open(device, story.root), story.layout) == story.bitmaps);

    const Result<GroupPageRef> again = story.space->write_out({4});
    REQUIRE(again);
    MemoryDevice complete(story.device.contents());
    REQUIRE(story.open(complete, *again)->free_blocks() == story.space->frozen_free_blocks());
    REQUIRE(all_bitmaps(*story.open(complete, story.root), story.layout) == story.bitmaps);
  }
}

TEST_CASE("space: a read error when a bitmap is first needed changes nothing", "[space]") {
  Story story;
  const std::unique_ptr<Space> space = story.open(story.device, story.root);
  const std::uint64_t free = space->free_blocks();
  REQUIRE(space->try_reserve(10, ReserveClass::kNormal));
  FaultRule rule;
  rule.on = FaultRule::On::kRead;
  rule.times = FaultRule::kForever;
  story.device.add_fault(rule);
  const Result<BlockRun> run = space->allocate(10, 1, AllocationStream::kData);
  REQUIRE(!run);
  CHECK(run.error().code == Errc::kIo);
  CHECK(!space->free({{10'100}, 1}));
  CHECK(!space->claim({{20'000}, 1}));
  CHECK(!space->claim({{kGroupBlocks - 1}, 2}));
  CHECK(space->free_blocks() == free);
  CHECK(space->reserved_blocks() == 10);
  CHECK(space->pending_free_blocks() == 0);
  story.device.clear_faults();
  CHECK(space->allocate(10, 1, AllocationStream::kData));
}
