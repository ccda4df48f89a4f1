#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/findings.hpp"
#include "support/numbered.hpp"
#include "support/operation.hpp"
#include "support/runner.hpp"
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
constexpr std::uint64_t kSteps = 12'000;
#endif
constexpr std::size_t kRecordBytes = 64;
constexpr std::size_t kPinned = 40;
constexpr std::size_t kMazeRooms = 8;

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

/// The first thing that went wrong in any thread.
class Problem {
 public:
  void report(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (what_.empty()) what_ = what;
    there_is_.store(true, std::memory_order_relaxed);
  }
  template <class T>
  bool ok(const Result<T>& result, const char* call) {
    if (!result) report(std::string(call) + ": " + result.error().message());
    return static_cast<bool>(result);
  }
  [[nodiscard]] bool there_is() const { return there_is_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string what() const {
    const std::lock_guard lock(mutex_);
    return what_;
  }

 private:
  mutable std::mutex mutex_;
  std::string what_;
  std::atomic<bool> there_is_{false};
};

/// Where the threads meet.
struct Places {
  InodeNumber shared;    ///< everybody creates and removes here
  InodeNumber other;     ///< and moves things to here
  InodeNumber maze;      ///< directories that are moved into each other
  InodeNumber appended;  ///< a file to which everybody appends records
  InodeNumber blocks;    ///< a file whose blocks everybody overwrites
  std::vector<InodeNumber> rooms;
  std::atomic<std::int64_t> contended{0};  ///< creations less removals of names all compete for
  std::atomic<std::int64_t> links{0};      ///< names of `appended` made less removed
};

class Worker {
 public:
  Worker(Volume& volume, Places& places, Problem& problem, std::size_t index, std::uint64_t seed)
      : volume_(volume), places_(places), problem_(problem), index_(index), random_(seed + index) {}

  void run(std::uint64_t steps) {
    const auto made = volume_.make_directory(kRootInode, numbered("own-", index_), {});
    if (!problem_.ok(made, "mkdir")) return;
    own_ = made->inode;
    for (std::uint64_t step = 0; step < steps && !problem_.there_is(); ++step) one_step();
  }

  /// Compares the worker's own directory with what it did there.
  void verify() {
    std::set<std::string> seen;
    problem_.ok(volume_.read_directory(own_, 0,
                                       [&](const DirectoryEntry& entry) {
                                         seen.insert(std::string(entry.name));
                                         return true;
                                       }),
                "readdir");
    if (seen.size() != files_.size() + 2) problem_.report("own directory has other entries");
    for (const auto& [name, content] : files_) expect_content(name, content);
  }

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] const std::set<std::string>& shared_names() const { return shared_names_; }

 private:
  void one_step() {
    switch (random_.below(16)) {
      case 0:
      case 1: return create_own();
      case 2:
      case 3: return write_own();
      case 4: return remove_own();
      case 5: return rename_own();
      case 6: return read_own();
      case 7: return create_shared();
      case 8: return remove_shared();
      case 9: return move_shared();
      case 10: return compete();
      case 11: return append_record();
      case 12: return overwrite_block();
      case 13: return list_shared();
      case 14: return move_room();
      default: return link_and_unlink();
    }
  }

  std::string any_name() { return numbered("f", random_.below(60)); }

  void create_own() {
    const std::string name = any_name();
    const auto made = volume_.create(own_, name, {});
    if (files_.count(name) != 0) {
      if (made || made.error().code != Errc::kExists) problem_.report("own create over a file");
      return;
    }
    if (problem_.ok(made, "create")) files_[name] = {};
  }

  void write_own() {
    const auto at = files_.find(any_name());
    if (at == files_.end()) return;
    const auto inode = volume_.lookup(own_, at->first);
    if (!problem_.ok(inode, "lookup")) return;
    const auto data = pattern(random_.next(), random_.one_in(4) ? 9000 : random_.below(700));
    const std::uint64_t offset = random_.below(at->second.size() + 1);
    if (!problem_.ok(volume_.write(inode->inode, offset, data), "write")) return;
    std::vector<std::byte>& content = at->second;
    content.resize(std::max<std::size_t>(content.size(), offset + data.size()));
    std::copy(data.begin(), data.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
    if (content.size() > 60'000) {
      AttributeChanges changes;
      changes.size = 100;
      if (problem_.ok(volume_.set_attributes(inode->inode, changes), "truncate"))
        content.resize(100);
    }
  }

  void remove_own() {
    const auto at = files_.find(any_name());
    if (at == files_.end()) return;
    if (problem_.ok(volume_.unlink(own_, at->first), "unlink")) files_.erase(at);
  }

  void rename_own() {
    const auto at = files_.find(any_name());
    const std::string to = any_name();
    if (at == files_.end() || at->first == to) return;
    if (!problem_.ok(volume_.rename(own_, at->first, own_, to), "rename")) return;
    std::vector<std::byte> content = std::move(at->second);
    files_.erase(at);
    files_[to] = std::move(content);
  }

  void read_own() {
    const auto at = files_.find(any_name());
    if (at != files_.end()) expect_content(at->first, at->second);
  }

  void expect_content(const std::string& name, const std::vector<std::byte>& content) {
    const auto inode = volume_.lookup(own_, name);
    if (!problem_.ok(inode, "lookup")) return;
    if (inode->size != content.size()) return problem_.report("own file has a wrong size");
    std::vector<std::byte> actual(content.size() + 10);
    const auto count = volume_.read(inode->inode, 0, actual);
    if (!problem_.ok(count, "read")) return;
    if (*count != content.size() || !std::equal(content.begin(), content.end(), actual.begin())) {
      problem_.report("own file has a wrong content");
    }
  }

  void create_shared() {
    const std::string name = std::to_string(index_) + "-" + std::to_string(counter_++);
    if (problem_.ok(volume_.create(places_.shared, name, {}), "shared create")) {
      shared_names_.insert(name);
    }
  }

  void remove_shared() {
    if (shared_names_.empty()) return;
    const auto at = random_.one_in(2) ? shared_names_.begin() : std::prev(shared_names_.end());
    if (problem_.ok(volume_.unlink(places_.shared, *at), "shared unlink")) shared_names_.erase(at);
  }

  /// There and back, so that the name is where remove_shared() looks for it.
  void move_shared() {
    if (shared_names_.empty()) return;
    const std::string& name = *shared_names_.begin();
    if (!problem_.ok(volume_.rename(places_.shared, name, places_.other, name), "move")) return;
    if (volume_.lookup(places_.shared, name)) problem_.report("moved, but still there");
    problem_.ok(volume_.rename(places_.other, name, places_.shared, name), "move back");
  }

  /// Of all that create or remove one name at once, one succeeds.
  void compete() {
    const std::string name = "contended-" + std::to_string(random_.below(4));
    const auto made = volume_.create(places_.shared, name, {});
    if (made) {
      places_.contended.fetch_add(1);
    } else if (made.error().code != Errc::kExists) {
      return problem_.report("contended create: " + made.error().message());
    }
    const auto removed = volume_.unlink(places_.shared, name);
    if (removed) {
      places_.contended.fetch_sub(1);
    } else if (removed.error().code != Errc::kNoEntry) {
      problem_.report("contended unlink: " + removed.error().message());
    }
  }

  void append_record() {
    if (records_ > 2'000) return;
    std::vector<std::byte> record(kRecordBytes, static_cast<std::byte>(index_ + 1));
    store_le(record.data(), records_);
    if (problem_.ok(volume_.append(places_.appended, record), "append")) ++records_;
  }

  void overwrite_block() {
    const std::vector<std::byte> block(4096, static_cast<std::byte>(index_ + 1));
    problem_.ok(volume_.write(places_.blocks, random_.below(16) * 4096, block), "overwrite");
    std::vector<std::byte> actual(4096);
    problem_.ok(volume_.read(places_.blocks, random_.below(16) * 4096, actual), "read block");
  }

  /// Entries that are there all the time come exactly once, whatever else happens.
  void list_shared() {
    std::map<std::string, int> pinned;
    problem_.ok(volume_.read_directory(places_.shared, 0,
                                       [&](const DirectoryEntry& entry) {
                                         if (entry.name.substr(0, 6) == "pinned") {
                                           ++pinned[std::string(entry.name)];
                                         }
                                         return true;
                                       }),
                "shared readdir");
    const bool once = std::all_of(pinned.begin(), pinned.end(),
                                  [](const auto& entry) { return entry.second == 1; });
    if (pinned.size() != kPinned || !once) problem_.report("a listing misses or repeats an entry");
  }

  /// Moves a directory into another; that may be refused as a loop, or the name may be gone.
  void move_room() {
    const std::size_t room = random_.below(kMazeRooms);
    const std::string name = numbered("room-", room);
    const auto parent = [&](std::uint64_t choice) {
      return choice == kMazeRooms ? places_.maze : places_.rooms[choice];
    };
    const auto moved = volume_.rename(parent(random_.below(kMazeRooms + 1)), name,
                                      parent(random_.below(kMazeRooms + 1)), name);
    if (moved || moved.error().code == Errc::kInvalid || moved.error().code == Errc::kNoEntry) {
      return;
    }
    problem_.report("moving rooms: " + moved.error().message());
  }

  void link_and_unlink() {
    const std::string name = numbered("link-", index_) + "-" + std::to_string(counter_++);
    if (!problem_.ok(volume_.link(places_.appended, places_.other, name), "link")) return;
    places_.links.fetch_add(1);
    if (random_.one_in(8)) return;
    if (problem_.ok(volume_.unlink(places_.other, name), "unlink link")) places_.links.fetch_sub(1);
  }

  Volume& volume_;
  Places& places_;
  Problem& problem_;
  std::size_t index_;
  Random random_;
  InodeNumber own_;
  std::map<std::string, std::vector<std::byte>> files_;
  std::set<std::string> shared_names_;
  std::uint64_t counter_ = 0;
  std::uint64_t records_ = 0;
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
