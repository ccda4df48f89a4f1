#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/findings.hpp"
#include "support/numbered.hpp"
#include "support/runner.hpp"
#include "support/thread_worker.hpp"
#include "support/workload_config.hpp"
#include "volume/volume.hpp"

// Several threads on one volume, with checkpoints all the time; meant for the thread sanitizer.
// CORDWOOD_THREAD_OPS says how many steps each thread takes.

namespace cordwood::test {

namespace {

constexpr std::size_t kThreads = 4;
#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kSteps = 2'500;
#else
constexpr std::uint64_t kSteps = 60'000;
#endif

/// Counts on at each reading; unlike TestClock, threads may share it.
class SharedClock final : public Clock {
 public:
  Timestamp now() override {
    const std::uint64_t ns = ns_.fetch_add(1, std::memory_order_relaxed);
    return {static_cast<std::int64_t>(1'700'000'000 + ns / 1'000'000'000),
            static_cast<std::uint32_t>(ns % 1'000'000'000)};
  }
  std::uint64_t monotonic_ns() override { return ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> ns_{0};
};

void prepare(Volume& volume, Places& places) {
  const auto directory = [&volume](InodeNumber parent, const std::string& name) {
    const auto made = volume.make_directory(parent, name, {});
    REQUIRE(made);
    return made->inode;
  };
  places.shared = directory(kRootInode, "shared");
  places.other = directory(kRootInode, "other");
  places.maze = directory(kRootInode, "maze");
  for (std::size_t i = 0; i < kMazeRooms; ++i) {
    places.rooms.push_back(directory(places.maze, numbered("room-", i)));
  }
  for (std::size_t i = 0; i < kPinned; ++i) {
    REQUIRE(volume.create(places.shared, numbered("pinned-", i), {}));
  }
  const auto appended = volume.create(kRootInode, "appended", {});
  const auto blocks = volume.create(kRootInode, "blocks", {});
  REQUIRE(appended);
  REQUIRE(blocks);
  places.appended = appended->inode;
  places.blocks = blocks->inode;
}

std::set<std::string> names_in(Volume& volume, InodeNumber directory) {
  std::set<std::string> names;
  REQUIRE(volume.read_directory(directory, 0, [&](const DirectoryEntry& entry) {
    names.insert(std::string(entry.name));
    return true;
  }));
  names.erase(".");
  names.erase("..");
  return names;
}

std::size_t rooms_below(Volume& volume, InodeNumber directory) {
  std::size_t count = 0;
  for (const std::string& name : names_in(volume, directory)) {
    const auto room = volume.lookup(directory, name);
    REQUIRE(room);
    count += 1 + rooms_below(volume, room->inode);
  }
  return count;
}

/// What the threads did together has to add up.
void verify_shared(Volume& volume, Places& places, const std::vector<Worker>& workers) {
  std::set<std::string> names = names_in(volume, places.shared);
  std::int64_t contended = 0;
  for (int i = 0; i < 4; ++i) {
    contended += static_cast<std::int64_t>(names.erase(numbered("contended-", i)));
  }
  CHECK(contended == places.contended.load());
  for (std::size_t i = 0; i < kPinned; ++i) names.erase(numbered("pinned-", i));
  std::set<std::string> expected;
  std::uint64_t records = 0;
  for (const Worker& worker : workers) {
    expected.insert(worker.shared_names().begin(), worker.shared_names().end());
    records += worker.records();
  }
  CHECK(names == expected);
  CHECK(rooms_below(volume, places.maze) == kMazeRooms);

  const auto appended = volume.attributes(places.appended);
  REQUIRE(appended);
  CHECK(appended->links == 1 + places.links.load());
  REQUIRE(appended->size == records * kRecordBytes);
  std::vector<std::byte> bytes(appended->size);
  REQUIRE(volume.read(places.appended, 0, bytes));
  std::vector<std::uint64_t> next(workers.size());
  for (std::size_t at = 0; at < bytes.size(); at += kRecordBytes) {
    const auto writer = std::to_integer<std::size_t>(bytes[at + 8]) - 1;
    REQUIRE(writer < workers.size());
    REQUIRE(load_le<std::uint64_t>(bytes.data() + at) == next[writer]++);
  }

  std::vector<std::byte> blocks(16 * 4096);
  const auto count = volume.read(places.blocks, 0, blocks);
  REQUIRE(count);
  for (std::size_t at = 0; at < *count; at += 4096) {
    REQUIRE(std::all_of(blocks.begin() + static_cast<std::ptrdiff_t>(at),
                        blocks.begin() + static_cast<std::ptrdiff_t>(at + 4096),
                        [&](std::byte byte) { return byte == blocks[at]; }));
  }
}

void run_threads(const WorkloadConfig& config, std::uint64_t seed, std::uint64_t steps) {
  SharedClock clock;
  MemoryDevice device(config.device_bytes);
  REQUIRE(Volume::format(device, config.format_options(&clock)));
  auto volume = Volume::open(device, config.mount_options(&clock));
  REQUIRE(volume);
  Places places;
  prepare(**volume, places);
  Problem problem;
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < kThreads; ++i) {
    workers.emplace_back(**volume, places, problem, i, seed);
  }
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&] { worker.run(steps); });
  std::thread syncer([&] {
    while (!done.load() && !problem.there_is()) {
      if (!problem.ok((*volume)->sync(), "sync")) break;
      (void)(*volume)->usage();
      (void)(*volume)->statistics();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  syncer.join();
  INFO(problem.what());
  REQUIRE(!problem.there_is());
  for (Worker& worker : workers) worker.verify();
  INFO(problem.what());
  REQUIRE(!problem.there_is());
  verify_shared(**volume, places, workers);
  REQUIRE((*volume)->close());
  volume->reset();
  const std::string found = findings(device);
  INFO(found);
  REQUIRE(found.empty());
  volume = Volume::open(device, config.mount_options(&clock));
  REQUIRE(volume);
  verify_shared(**volume, places, workers);
  REQUIRE((*volume)->close());
}

}  // namespace

TEST_CASE("threads: one volume, many threads, checkpoints all the time", "[threads][model]") {
  const std::uint64_t steps = environment_number("CORDWOOD_THREAD_OPS", kSteps);
  WorkloadConfig config;
  config.device_bytes = 128_MiB;
  SECTION("small nodes, small cache, small dirty limit") {
    config.node_bytes = 4096;
    config.block_bytes = 512;
    config.cache_bytes = 1_MiB;
    config.dirty_bytes_max = 256_KiB;
    run_threads(config, 1, steps);
  }
  SECTION("usual sizes") { run_threads(config, 2, steps); }
  SECTION("large nodes, no hints") {
    config.node_bytes = 65536;
    config.hint = 0;
    config.split = 2;
    run_threads(config, 3, steps);
  }
}

}  // namespace cordwood::test
