// Creates empty files in one directory through the library: files per second by node size, with the
// sizes interleaved and the medians of several runs.

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bench/bench.hpp"
#include "device/memory_device.hpp"
#include "huge_pages.hpp"
#include "trace/counters.hpp"
#include "volume/volume.hpp"

namespace cordwood::bench {

namespace {

struct Setup {
  std::uint64_t files = 1'000'000;
  unsigned repeats = 3;
  std::vector<std::uint32_t> node_bytes = {4096, 16384, 65536};
  std::string policy;
  std::size_t cache_bytes = 1_GiB;
};

struct Run {
  double create_seconds = 0;
  double cpu_seconds =
      0;  ///< of the process while it created: other work on the machine hardly counts
  double checkpoint_seconds = 0;
  VolumeStatistics statistics;
  std::uint64_t bytes_written = 0;
};

double seconds_since(std::uint64_t begin) {
  return static_cast<double>(system_clock().monotonic_ns() - begin) / 1e9;
}

Run create_files(const Setup& setup, std::uint32_t node_bytes) {
  MemoryDevice device(4_GiB);
  FormatOptions format;
  format.node_bytes = node_bytes;
  format.uuid = {1};
  must(Volume::format(device, format));
  MountOptions options;
  options.cache_bytes = setup.cache_bytes;
  options.memory = &huge_page_memory();
  options.policy = must(parse_policy(setup.policy));
  auto volume = must(Volume::open(device, options));
  const InodeNumber directory = must(volume->make_directory(kRootInode, "files", NewInode{})).inode;
  Run run;
  const std::uint64_t begin = system_clock().monotonic_ns();
  const std::clock_t cpu_begin = std::clock();
  std::string name;
  for (std::uint64_t i = 0; i < setup.files; ++i) {
    name = "file-";
    name += std::to_string(i);
    must(volume->create(directory, name, NewInode{}));
  }
  run.create_seconds = seconds_since(begin);
  run.cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const std::uint64_t sync_begin = system_clock().monotonic_ns();
  must(volume->sync());
  run.checkpoint_seconds = seconds_since(sync_begin);
  run.statistics = volume->statistics();
  run.bytes_written = device.counters().bytes_written;
  must(volume->close());
  return run;
}

int run(const Setup& setup) {
  std::vector<std::vector<Run>> runs(setup.node_bytes.size());
  for (unsigned repeat = 0; repeat < setup.repeats; ++repeat) {
    for (std::size_t i = 0; i < setup.node_bytes.size(); ++i) {
      runs[i].push_back(create_files(setup, setup.node_bytes[i]));
    }
  }
  fmt::print("{} files in one directory, median of {} interleaved runs\n\n", setup.files,
             setup.repeats);
  fmt::print(
      "| node bytes | files/s | ns/file | CPU ns/file | files/s with sync | bytes written/file | "
      "fill % | "
      "splits | append splits | pushes | hint hits/file | checkpoints |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  const auto files = static_cast<double>(setup.files);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<double> create;
    std::vector<double> cpu;
    std::vector<double> total;
    for (const Run& run : runs[i]) {
      create.push_back(run.create_seconds);
      cpu.push_back(run.cpu_seconds);
      total.push_back(run.create_seconds + run.checkpoint_seconds);
    }
    const Run& last = runs[i].back();
    const auto counter = [&](Counter which) {
      return last.statistics.counters[static_cast<std::size_t>(which)];
    };
    fmt::print(
        "| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.1f} | {} | {} | {} | {:.2f} | {} "
        "|\n",
        setup.node_bytes[i], files / median(create), median(create) / files * 1e9,
        median(cpu) / files * 1e9, files / median(total),
        static_cast<double>(last.bytes_written) / files,
        static_cast<double>(last.statistics.leaf_fill_permille) / 10, counter(Counter::kSplits),
        counter(Counter::kAppendSplits), counter(Counter::kPushes),
        static_cast<double>(counter(Counter::kHintHits)) / files, counter(Counter::kCheckpoints));
  }
  return 0;
}

}  // namespace

Command add_create(CLI::App& app) {
  const auto setup = std::make_shared<Setup>();
  app.add_option("--files", setup->files, "files to create in each run");
  app.add_option("--repeats", setup->repeats, "runs for each node size; the median counts");
  app.add_option("--nodes", setup->node_bytes, "node sizes in bytes");
  app.add_option("--policy", setup->policy, "for example split=push_needed,search_hint=off");
  app.add_option("--cache", setup->cache_bytes, "node cache in bytes");
  return [setup] { return run(*setup); };
}

}  // namespace cordwood::bench
