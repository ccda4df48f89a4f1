// Threads that create small files and make each durable: how groups form, and what a commit costs.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench.hpp"
#include "bench/bench_device.hpp"
#include "huge_pages.hpp"

namespace cordwood::bench {

namespace {

struct Setup {
  std::vector<unsigned> threads = {1, 2, 8, 32};
  std::vector<std::size_t> file_bytes = {0, 4096};
  double seconds = 1;
  unsigned repeats = 3;
  std::uint32_t node_bytes = kDefaultNodeBytes;
  std::string policy;
  std::size_t inline_max = MountOptions{}.inline_max;
  DeviceChoice device;
  bool json = false;
};

struct Run {
  double per_second = 0;
  double cpu_us = 0;  ///< of all threads together, for each file
  double commands = 0;
  double bytes = 0;
  VolumeStatistics statistics;
};

/// Creates, writes and fsyncs files in a directory of its own until told to stop.
struct Worker {
  std::uint64_t files = 0;
  std::uint64_t cpu_ns = 0;

  void run(Volume& volume, InodeNumber directory, std::size_t file_bytes,
           const std::atomic<bool>& stop) {
    const std::vector<std::byte> data(file_bytes, std::byte{0x33});
    const std::uint64_t begin = thread_cpu_ns();
    while (!stop.load(std::memory_order_relaxed)) {
      const InodeNumber inode =
          must(volume.create(directory, "f" + std::to_string(files), {})).inode;
      if (file_bytes != 0) must(volume.write(inode, 0, data));
      must(volume.fsync(inode));
      ++files;
    }
    cpu_ns = thread_cpu_ns() - begin;
  }
};

Run measure(const Setup& setup, unsigned threads, std::size_t file_bytes) {
  const auto device = must(BenchDevice::open(setup.device));
  FormatOptions format;
  format.node_bytes = setup.node_bytes;
  format.uuid = {1};
  must(Volume::format(*device, format));
  MountOptions options;
  options.cache_bytes = 1_GiB;
  options.memory = &huge_page_memory();
  options.policy = must(parse_policy(setup.policy));
  options.inline_max = static_cast<std::uint32_t>(setup.inline_max);
  const auto volume = must(Volume::open(*device, options));
  std::vector<InodeNumber> directories;
  for (unsigned i = 0; i < threads; ++i) {
    directories.push_back(
        must(volume->make_directory(kRootInode, "d" + std::to_string(i), {})).inode);
  }
  must(volume->sync());

  std::atomic<bool> stop{false};
  std::vector<Worker> workers(threads);
  std::vector<std::thread> running;
  const std::uint64_t commands = device->commands();
  const std::uint64_t bytes = device->bytes_written();
  const Stopwatch watch;
  for (unsigned i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { workers[i].run(*volume, directories[i], file_bytes, stop); });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(setup.seconds));
  stop = true;
  for (std::thread& thread : running) thread.join();
  const double seconds = watch.wall_ms() / 1e3;

  Run run;
  double files = 0;
  for (const Worker& worker : workers) {
    files += static_cast<double>(worker.files);
    run.cpu_us += static_cast<double>(worker.cpu_ns) / 1e3;
  }
  run.per_second = files / seconds;
  run.cpu_us /= files;
  run.commands = static_cast<double>(device->commands() - commands) / files;
  run.bytes = static_cast<double>(device->bytes_written() - bytes) / files;
  run.statistics = volume->statistics();
  must(volume->close());
  return run;
}

template <class Get>
double median_by(const std::vector<Run>& runs, Get get) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(static_cast<double>(get(run)));
  return median(values);
}

void report_runs(Report& report, const std::vector<Run>& runs) {
  report.number("fsyncs/s", median_by(runs, [](const Run& r) { return r.per_second; }));
  report.number("cpu us/file", median_by(runs, [](const Run& r) { return r.cpu_us; }), 2);
  report.number("commands/fsync", median_by(runs, [](const Run& r) { return r.commands; }), 2);
  report.number("bytes/fsync", median_by(runs, [](const Run& r) { return r.bytes; }));
  const auto summary = [&](const char* name, auto get) {
    report.number(name, median_by(runs, [&](const Run& r) { return get(r.statistics); }));
  };
  summary("group p50", [](const VolumeStatistics& s) { return s.group_sizes.p50; });
  summary("group max", [](const VolumeStatistics& s) { return s.group_sizes.max; });
  summary("gate closed ns p50", [](const VolumeStatistics& s) { return s.gate_closed_ns.p50; });
  summary("p99", [](const VolumeStatistics& s) { return s.gate_closed_ns.p99; });
  summary("max", [](const VolumeStatistics& s) { return s.gate_closed_ns.max; });
  summary("checkpoints", [](const VolumeStatistics& s) {
    return s.counters[static_cast<std::size_t>(Counter::kCheckpoints)];
  });
}

int run(const Setup& setup) {
  Report report;
  for (const std::size_t bytes : setup.file_bytes) {
    std::vector<std::vector<Run>> runs(setup.threads.size());
    for (unsigned repeat = 0; repeat < setup.repeats; ++repeat) {
      for (std::size_t i = 0; i < setup.threads.size(); ++i) {
        runs[i].push_back(measure(setup, setup.threads[i], bytes));
      }
    }
    for (std::size_t i = 0; i < setup.threads.size(); ++i) {
      report.number("file bytes", static_cast<double>(bytes));
      report.number("threads", setup.threads[i]);
      report_runs(report, runs[i]);
      report.end_row();
    }
  }
  report.print(setup.json);
  return 0;
}

}  // namespace

Command add_fsync_threads(CLI::App& app) {
  const auto setup = std::make_shared<Setup>();
  app.add_option("--threads", setup->threads, "numbers of threads");
  app.add_option("--bytes", setup->file_bytes, "sizes of files");
  app.add_option("--seconds", setup->seconds, "length of each run");
  app.add_option("--repeats", setup->repeats, "interleaved runs; the median counts");
  app.add_option("--node", setup->node_bytes, "node size in bytes");
  app.add_option("--policy", setup->policy, "for example log_dirty=whole");
  app.add_option("--inline-max", setup->inline_max, "files up to this size live in the leaf");
  app.add_option("--image", setup->device.image, "a file to run on instead of memory; made anew");
  app.add_option("--device-bytes", setup->device.bytes, "size of the device");
  app.add_option("--cache", setup->device.cache, "of the memory device: none, volatile, fua");
  app.add_option("--flush-us", setup->device.flush_us, "how long a flush or FUA write takes");
  app.add_flag("--json", setup->json);
  return [setup] { return run(*setup); };
}

}  // namespace cordwood::bench
