// The log on its own: how long an fsync of a directory takes that many changes are behind, and what it
// writes. Two programs: the seed's million files, and a matrix of sizes and policies.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "bench/bench_device.hpp"
#include "huge_pages.hpp"

namespace cordwood::bench {

namespace {

/// A volume with room for everything that a run makes, in the cache and in the log.
struct Rig {
  std::unique_ptr<BenchDevice> device;
  std::unique_ptr<Volume> volume;
  InodeNumber directory;

  Rig(const DeviceChoice& choice, std::uint32_t node_bytes, std::uint32_t block_bytes,
      const std::string& policy) {
    device = must(BenchDevice::open(choice));
    FormatOptions format;
    format.node_bytes = node_bytes;
    format.block_bytes = block_bytes;
    format.log_bytes = choice.bytes / 4;
    format.uuid = {1};
    must(Volume::format(*device, format));
    MountOptions options;
    options.cache_bytes = 2_GiB;
    options.dirty_bytes_max = std::size_t{1} << 40;
    options.memory = &huge_page_memory();
    options.policy = must(parse_policy(policy));
    volume = must(Volume::open(*device, options));
    directory = must(volume->make_directory(kRootInode, "files", {})).inode;
    must(volume->sync());
  }
  ~Rig() { (void)volume->close(); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  void create(std::uint64_t number) {
    must(volume->create(directory, "file-" + std::to_string(number), {}));
  }
};

/// Figures of one run by name; medians are taken name by name.
using Figures = std::map<std::string, double>;

double median_of(const std::vector<Figures>& runs, const std::string& name) {
  std::vector<double> values;
  for (const Figures& run : runs) values.push_back(run.at(name));
  return median(values);
}

/// What the fsync of the directory took and wrote, under names that begin with `prefix`.
void measure_fsync(Rig& rig, const std::string& prefix, Figures& figures) {
  const CounterValues before = rig.volume->statistics().counters;
  const Stopwatch watch;
  must(rig.volume->fsync(rig.directory));
  figures[prefix + " ms"] = watch.wall_ms();
  figures[prefix + " cpu ms"] = watch.cpu_ms();
  const CounterValues after = rig.volume->statistics().counters;
  figures[prefix + " capture ms"] = grown(before, after, Counter::kCaptureNs) / 1e6;
  figures[prefix + " log bytes"] = grown(before, after, Counter::kLogBytesWritten);
  figures[prefix + " checkpoints"] = grown(before, after, Counter::kCheckpoints);
}

// ---- seed-log ----

struct SeedSetup {
  std::uint64_t files = 1'000'000;
  std::uint64_t deletes = 1'000;
  unsigned repeats = 5;
  std::vector<std::uint32_t> nodes = {16384, 65536};
  DeviceChoice device;
  bool json = false;
};

Figures run_seed(const SeedSetup& setup, std::uint32_t node_bytes, const std::string& copy) {
  Figures figures;
  Rig rig(setup.device, node_bytes, kDefaultBlockBytes, "log_copy=" + copy);
  const Stopwatch creating;
  for (std::uint64_t i = 0; i < setup.files; ++i) rig.create(i);
  figures["create ms"] = creating.wall_ms();
  measure_fsync(rig, "fsync", figures);
  const std::uint64_t step = setup.files / setup.deletes;
  for (std::uint64_t i = 0; i < setup.deletes; ++i) {
    must(rig.volume->unlink(rig.directory, "file-" + std::to_string(i * step)));
  }
  measure_fsync(rig, "delete fsync", figures);
  figures["checkpoints"] = figures["fsync checkpoints"] + figures["delete fsync checkpoints"];
  return figures;
}

int run_seeds(const SeedSetup& setup) {
  const std::vector<std::string> copies = {"bulk", "per_item"};
  Report report;
  for (const std::uint32_t node_bytes : setup.nodes) {
    std::map<std::string, std::vector<Figures>> runs;
    for (unsigned repeat = 0; repeat < setup.repeats; ++repeat) {
      // Either comes first in turn.
      for (std::size_t i = 0; i < copies.size(); ++i) {
        const std::string& copy = copies[(i + repeat) % copies.size()];
        runs[copy].push_back(run_seed(setup, node_bytes, copy));
      }
    }
    for (const std::string& copy : copies) {
      report.number("node bytes", node_bytes);
      report.text("log_copy", copy);
      for (const char* const name :
           {"create ms", "fsync ms", "fsync cpu ms", "fsync capture ms", "fsync log bytes",
            "delete fsync ms", "delete fsync cpu ms", "delete fsync log bytes", "checkpoints"}) {
        const bool is_time = std::string(name).find("ms") != std::string::npos;
        report.number(name, median_of(runs[copy], name), is_time ? 2 : 0);
      }
      const auto ratio = [&](const char* name) {
        return median_of(runs[copy], name) / median_of(runs[copies[0]], name);
      };
      report.number("fsync, of bulk's", ratio("fsync cpu ms"), 2);
      report.number("capture, of bulk's", ratio("fsync capture ms"), 2);
      report.end_row();
    }
  }
  report.print(setup.json);
  return 0;
}

// ---- matrix ----

struct MatrixSetup {
  std::uint64_t files = 200'000;
  std::uint64_t fsync_every = 1'000;
  unsigned repeats = 3;
  DeviceChoice device;
  bool json = false;
};

Figures run_matrix(const MatrixSetup& setup, std::uint32_t node_bytes, std::uint32_t block_bytes,
                   const std::string& policy) {
  Rig rig(setup.device, node_bytes, block_bytes, policy);
  const CounterValues before = rig.volume->statistics().counters;
  const Stopwatch watch;
  for (std::uint64_t i = 1; i <= setup.files; ++i) {
    rig.create(i);
    if (i % setup.fsync_every == 0) must(rig.volume->fsync(rig.directory));
  }
  const double wall_ms = watch.wall_ms();
  const double cpu_ms = watch.cpu_ms();
  const CounterValues after = rig.volume->statistics().counters;
  const auto files = static_cast<double>(setup.files);
  Figures figures;
  figures["creates/s"] = files / wall_ms * 1e3;
  figures["cpu ns/create"] = cpu_ms / files * 1e6;
  figures["log bytes/create"] = grown(before, after, Counter::kLogBytesWritten) / files;
  figures["capture % of cpu"] = grown(before, after, Counter::kCaptureNs) / cpu_ms / 1e4;
  figures["checkpoints"] = grown(before, after, Counter::kCheckpoints);
  return figures;
}

int run_matrices(const MatrixSetup& setup) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes = {
      {4096, 4096}, {4096, 512}, {65536, 4096}, {65536, 512}};
  const std::vector<std::string> policies = {"whole_threshold=25", "whole_threshold=50",
                                             "whole_threshold=75", "whole_threshold=100",
                                             "log_dirty=whole"};
  std::map<std::string, std::vector<Figures>> runs;
  const auto name_of = [](const auto& size, const std::string& policy) {
    return std::to_string(size.first) + "/" + std::to_string(size.second) + " " + policy;
  };
  for (unsigned repeat = 0; repeat < setup.repeats; ++repeat) {
    for (const std::string& policy : policies) {
      for (const auto& size : sizes) {
        runs[name_of(size, policy)].push_back(run_matrix(setup, size.first, size.second, policy));
      }
    }
  }
  Report report;
  for (const std::string& policy : policies) {
    for (const auto& size : sizes) {
      const auto median_here = [&](const char* name, const auto& of) {
        return median_of(runs[name_of(of, policy)], name);
      };
      report.text("policy", policy);
      report.number("node bytes", size.first);
      report.number("block bytes", size.second);
      report.number("creates/s", median_here("creates/s", size));
      report.number("cpu ns/create", median_here("cpu ns/create", size));
      report.number("log bytes/create", median_here("log bytes/create", size), 1);
      report.number("of 4k node's",
                    median_here("log bytes/create", size) /
                        median_here("log bytes/create", std::pair{4096u, size.second}),
                    3);
      report.number("capture % of cpu", median_here("capture % of cpu", size), 2);
      report.number("checkpoints", median_here("checkpoints", size));
      report.end_row();
    }
  }
  report.print(setup.json);
  return 0;
}

}  // namespace

Command add_seed_log(CLI::App& app) {
  const auto setup = std::make_shared<SeedSetup>();
  app.add_option("--files", setup->files,
                 "files to create; the log takes about 230 bytes for each");
  app.add_option("--deletes", setup->deletes, "files to delete, spread evenly");
  app.add_option("--repeats", setup->repeats, "interleaved runs; the median counts");
  app.add_option("--nodes", setup->nodes, "node sizes in bytes");
  app.add_option("--image", setup->device.image, "a file to run on instead of memory; made anew");
  app.add_option("--device-bytes", setup->device.bytes, "a quarter of it is the log");
  app.add_flag("--json", setup->json);
  return [setup] { return run_seeds(*setup); };
}

Command add_matrix(CLI::App& app) {
  const auto setup = std::make_shared<MatrixSetup>();
  app.add_option("--files", setup->files, "files to create in each run");
  app.add_option("--fsync-every", setup->fsync_every, "files between two fsyncs of the directory");
  app.add_option("--repeats", setup->repeats, "interleaved runs; the median counts");
  app.add_option("--image", setup->device.image, "a file to run on instead of memory; made anew");
  app.add_option("--device-bytes", setup->device.bytes, "a quarter of it is the log");
  app.add_flag("--json", setup->json);
  return [setup] { return run_matrices(*setup); };
}

}  // namespace cordwood::bench
