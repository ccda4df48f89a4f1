// Threads that change one volume and make it durable at random, with a small log and little that may be
// dirty, so that commits, checkpoints and freezes meet all the time. A thread that stands still for 20
// seconds is an error: a wake-up was lost. Power is cut meanwhile, on copies of the device.

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "bench/bench.hpp"
#include "device/memory_device.hpp"
#include "volume/check.hpp"

namespace cordwood::bench {

namespace {

constexpr std::uint64_t kStandstillSeconds = 20;
constexpr std::uint64_t kDirectories = 4;
constexpr std::uint64_t kNames = 64;

struct Setup {
  double minutes = 1;
  unsigned threads = 6;
  std::uint64_t seed = 1;
  std::uint32_t node_bytes = 4096;
  std::uint64_t log_bytes = 512_KiB;
  std::uint64_t cut_every_seconds = 2;
};

class Worker {
 public:
  Worker(Volume& volume, const std::array<InodeNumber, kDirectories>& directories,
         std::uint64_t seed)
      : volume_(volume), directories_(directories), random_(seed) {}

  void run(const std::atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed)) {
      step();
      steps_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  InodeNumber directory() { return directories_[random_.below(kDirectories)]; }
  std::string name() { return "n" + std::to_string(random_.below(kNames)); }

  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1: {
        const auto made = volume_.create(directory(), name(), {});
        if (allowed(made) && made) last_ = made->inode;
        return;
      }
      case 2: return (void)allowed(volume_.unlink(directory(), name()));
      case 3:
        return (void)allowed(
            volume_.rename(directory(), name(), directory(), name(), RenameMode::kReplace));
      case 4: {
        const std::vector<std::byte> data(random_.below(9000), std::byte{0x11});
        return (void)allowed(volume_.write(last_, random_.below(9000), data));
      }
      case 5: return (void)allowed(volume_.sync());
      case 6: return (void)allowed(volume_.fsync(last_));
      default: return (void)allowed(volume_.fsync(directory()));
    }
  }

  /// Names collide and files vanish all the time: those errors are right. All others end the run.
  template <class T>
  bool allowed(const Result<T>& result) {
    if (result) return true;
    switch (result.error().code) {
      case Errc::kNoEntry:
      case Errc::kExists:
      case Errc::kIsDirectory: return true;
      default: die(result.error());
    }
  }

  Volume& volume_;
  const std::array<InodeNumber, kDirectories>& directories_;
  Random random_;
  InodeNumber last_ = kRootInode;
  std::atomic<std::uint64_t> steps_{0};
};

/// Notices threads that stand still.
class Watch {
 public:
  explicit Watch(const std::vector<std::unique_ptr<Worker>>& workers)
      : workers_(workers), seen_(workers.size()) {}

  /// @return false if one does.
  bool look() {
    const std::uint64_t now = wall_ns();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const std::uint64_t steps = workers_[i]->steps();
      if (steps != seen_[i].steps || seen_[i].since == 0) seen_[i] = {steps, now};
      const std::uint64_t still = (now - seen_[i].since) / 1'000'000'000;
      if (still < kStandstillSeconds) continue;
      fmt::print(stderr, "stress: thread {} stands still since {} s, after {} steps\n", i, still,
                 steps);
      return false;
    }
    return true;
  }

 private:
  struct Seen {
    std::uint64_t steps = 0;
    std::uint64_t since = 0;
  };
  const std::vector<std::unique_ptr<Worker>>& workers_;
  std::vector<Seen> seen_;
};

bool is_clean(BlockDevice& device, const char* when) {
  const CheckReport report = must(check(device));
  if (report.clean()) return true;
  fmt::print(stderr, "stress: {}:\n{}\n", when, render_text(report));
  return false;
}

/// What a power cut at this moment would leave: it must open, replay its log, and be clean.
bool survives_cut(const MemoryDevice& device) {
  const std::unique_ptr<MemoryDevice> cut = device.clone();
  const auto volume = must(Volume::open(*cut));
  must(volume->close());
  return is_clean(*cut, "after a power cut");
}

int run(const Setup& setup) {
  MemoryDevice device(256_MiB);
  FormatOptions format;
  format.node_bytes = setup.node_bytes;
  format.log_bytes = setup.log_bytes;
  format.uuid = {1};
  must(Volume::format(device, format));
  MountOptions options;
  options.cache_bytes = 4_MiB;
  options.dirty_bytes_max = 512_KiB;
  const auto volume = must(Volume::open(device, options));
  std::array<InodeNumber, kDirectories> directories;
  for (std::size_t i = 0; i < kDirectories; ++i) {
    directories[i] = must(volume->make_directory(kRootInode, "d" + std::to_string(i), {})).inode;
  }
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < setup.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(*volume, directories, setup.seed * 1000 + i));
  }
  std::vector<std::thread> threads;
  for (const auto& worker : workers) threads.emplace_back([&] { worker->run(stop); });

  Watch watch(workers);
  bool good = true;
  std::uint64_t cuts = 0;
  const auto seconds = static_cast<std::uint64_t>(setup.minutes * 60);
  for (std::uint64_t second = 1; second <= seconds && good; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    // Threads that stand still cannot be joined.
    if (!watch.look()) _exit(1);
    if (setup.cut_every_seconds != 0 && second % setup.cut_every_seconds == 0) {
      good = survives_cut(device);
      ++cuts;
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const VolumeStatistics statistics = volume->statistics();
  must(volume->close());
  good = is_clean(device, "at the end") && good;
  std::uint64_t steps = 0;
  for (const auto& worker : workers) steps += worker->steps();
  const auto counter = [&](Counter which) {
    return statistics.counters[static_cast<std::size_t>(which)];
  };
  fmt::print(
      "{} steps, {} commits ({} by checkpoint), {} checkpoints, groups up to {}, {} power cuts: "
      "{}\n",
      steps, counter(Counter::kCommits), counter(Counter::kCommitsByCheckpoint),
      counter(Counter::kCheckpoints), statistics.group_sizes.max, cuts,
      good ? "clean" : "NOT CLEAN");
  return good ? 0 : 1;
}

}  // namespace

Command add_stress(CLI::App& app) {
  const auto setup = std::make_shared<Setup>();
  app.add_option("--minutes", setup->minutes, "how long");
  app.add_option("--threads", setup->threads, "threads that change the volume");
  app.add_option("--seed", setup->seed, "of the threads' choices");
  app.add_option("--node", setup->node_bytes, "node size in bytes");
  app.add_option("--log-bytes", setup->log_bytes, "size of the log");
  app.add_option("--cut-every", setup->cut_every_seconds, "seconds between power cuts; 0: none");
  return [setup] { return run(*setup); };
}

}  // namespace cordwood::bench
