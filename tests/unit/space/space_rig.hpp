#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/memory_device.hpp"
#include "format/layout.hpp"
#include "space/space.hpp"

namespace cordwood {

inline constexpr std::uint64_t kVolumeSeed = 0x5eed;
inline constexpr std::uint32_t kNodeBytes = 4096;

/// A formatted volume's space on a device in memory, and what the superblock would know of it.
struct SpaceRig {
  SpaceRig(std::uint64_t bytes, std::uint32_t block_bytes, TraceSink* sink = nullptr)
      : device(bytes), layout(*Layout::compute(bytes, block_bytes, kNodeBytes)), tracer(sink) {
    const Result<GroupPageRef> formatted = Space::format(device, layout, kVolumeSeed);
    REQUIRE(formatted);
    root = *formatted;
    reopen();
  }

  /// Forgets everything since the last checkpoint.
  void reopen() {
    space.reset();
    Result<std::unique_ptr<Space>> opened =
        Space::open(device, layout, kVolumeSeed, root, counters, tracer);
    REQUIRE(opened);
    space = std::move(*opened);
  }

  BlockRun take(std::uint64_t count, AllocationStream stream = AllocationStream::kData) {
    REQUIRE(space->try_reserve(count, ReserveClass::kNormal));
    const Result<BlockRun> run = space->allocate(count, count, stream);
    REQUIRE(run);
    return *run;
  }
  BlockRun use(std::uint64_t count) {
    const BlockRun run = take(count);
    space->commit(run);
    return run;
  }

  void write_out() {
    const Result<GroupPageRef> written = space->write_out({++generation});
    REQUIRE(written);
    root = *written;
  }
  void checkpoint() {
    space->freeze();
    write_out();
    space->release_frozen();
  }

  MemoryDevice device;
  Layout layout;
  Tracer tracer;
  Counters counters;
  GroupPageRef root;
  std::uint64_t generation = 0;
  std::unique_ptr<Space> space;
};

/// The bitmaps of all groups.
inline std::vector<std::uint64_t> all_bitmaps(Space& space, const Layout& layout) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t group = 0; group < layout.group_count; ++group) {
    const Result<std::vector<std::uint64_t>> bitmap = space.bitmap(group);
    REQUIRE(bitmap);
    words.insert(words.end(), bitmap->begin(), bitmap->end());
  }
  return words;
}

}  // namespace cordwood
