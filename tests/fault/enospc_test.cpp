#include <algorithm>
#include <string>

#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/compare.hpp"
#include "support/executor.hpp"
#include "support/sample_image.hpp"

namespace cordwood::test {

namespace {

using Kind = Operation::Kind;

enum class Way { kData, kSmallFiles, kNames, kXattrs };

const char* name_of(Way way) {
  switch (way) {
    case Way::kData: return "data";
    case Way::kSmallFiles: return "small files";
    case Way::kNames: return "names";
    default: return "xattrs";
  }
}

/// A volume and the model beside it; every operation is compared.
class FullVolume {
 public:
  explicit FullVolume(const WorkloadConfig& config)
      : config_(config), device_(config.device_bytes), executor_(device_, config) {
    require(executor_.start());
    run(op_on(Kind::kCheckpoint, ""));
  }
  ~FullVolume() { executor_.abandon(); }

  void run(const Operation& operation) {
    INFO(to_text(operation));
    require(executor_.apply(operation));
  }
  /// Whether there was room for it.
  bool fits(const Operation& operation) {
    const std::uint64_t before = executor_.out_of_space();
    run(operation);
    return executor_.out_of_space() == before;
  }
  /// The file holds all that was asked for.
  bool holds(const std::string& path, std::uint64_t bytes) {
    return model().resolve(path) && size_of(path) == bytes;
  }
  std::uint64_t size_of(const std::string& path) {
    return model().find(*model().resolve(path))->content.size();
  }
  void check() {
    require(executor_.check());
    require(compare_volume(model(), volume()));
  }
  void remount() { run(op_on(Kind::kRemount, "")); }

  /// Removes everything below the root, deepest first, as `rm -r` does.
  void remove_all() { remove_below("", kRootInode); }

  [[nodiscard]] const ModelFs& model() const { return executor_.model(); }
  [[nodiscard]] Volume& volume() { return executor_.volume(); }

 private:
  static void require(const std::string& wrong) {
    INFO(wrong);
    REQUIRE(wrong.empty());
  }

  void remove_below(const std::string& path, InodeNumber directory) {
    const auto entries = model().find(directory)->entries;
    for (const auto& [name, inode] : entries) {
      const std::string child = path + '/' + name;
      if (model().find(inode)->is_directory()) {
        remove_below(child, inode);
        run(op_on(Kind::kRemoveDirectory, child));
      } else {
        run(op_on(Kind::kUnlink, child));
      }
    }
  }

  WorkloadConfig config_;
  MemoryDevice device_;
  Executor executor_;
};

void fill_with_data(FullVolume& full) {
  std::uint64_t seed = 1;
  for (std::uint64_t bytes :
       {std::uint64_t{300'000}, std::uint64_t{20'000}, std::uint64_t{5'000}}) {
    for (bool room = true; room; ++seed) {
      const std::string path = "/data-" + std::to_string(seed);
      room = full.fits(op_create(path)) && full.fits(op_write(path, 0, bytes, seed)) &&
             full.holds(path, bytes);
    }
  }
}

void fill_with_small_files(FullVolume& full) {
  std::string directory;
  for (std::uint64_t i = 0;; ++i) {
    if (i % 500 == 0) {
      directory = "/small-" + std::to_string(i);
      if (!full.fits(op_mkdir(directory))) return;
    }
    const std::string path = directory + "/file-" + std::to_string(i);
    if (!full.fits(op_create(path)) || !full.fits(op_write(path, 0, 200 + i % 900, i + 1))) return;
  }
}

void fill_with_names(FullVolume& full) {
  full.run(op_create("/one"));
  full.run(op_mkdir("/names"));
  for (std::uint64_t i = 0;; ++i) {
    std::string name = "/names/" + std::to_string(i) + '-';
    name.resize(std::string("/names/").size() + 255, 'n');
    if (!full.fits(op_on(Kind::kLink, "/one", name))) return;
  }
}

void fill_with_xattrs(FullVolume& full) {
  for (std::uint64_t i = 0;; ++i) {
    const std::string path = "/with-xattrs-" + std::to_string(i);
    if (!full.fits(op_create(path))) return;
    for (std::uint64_t n = 0; n < 8; ++n) {
      const std::uint64_t bytes = n == 0 ? 60'000 : 100 * n;
      if (!full.fits(op_xattr(path, "user." + std::to_string(n), bytes, i + n + 1))) return;
    }
  }
}

/// One file of as many extents as there is room for: a hole follows each granule.
void fill_with_extents(FullVolume& full, const std::string& path) {
  full.run(op_create(path));
  for (std::uint64_t i = 0; full.fits(op_write(path, i * 8192, 4096, i + 1)); ++i) {
  }
}

void fill(FullVolume& full, Way way) {
  switch (way) {
    case Way::kData: return fill_with_data(full);
    case Way::kSmallFiles: return fill_with_small_files(full);
    case Way::kNames: return fill_with_names(full);
    case Way::kXattrs: return fill_with_xattrs(full);
  }
}

/// Blocks that are free for good, or taken by what is needed even by an empty volume: a node table
/// never becomes smaller, and a tree of few items may keep a few nodes.
std::uint64_t free_or_structural(Volume& volume) {
  const Superblock superblock = volume.superblock();
  std::uint64_t pages = 0;
  for (std::uint64_t below = superblock.next_node_id; below > 1 || pages == 0;) {
    below = divide_up<std::uint64_t>(below, kEntriesPerTablePage);
    pages += below;
  }
  const std::uint64_t nodes = volume.statistics().nodes;
  const VolumeUsage usage = volume.usage();
  return usage.free_blocks + pages * (kPageBytes / superblock.block_bytes) +
         nodes * (superblock.node_bytes / superblock.block_bytes);
}

struct Sizes {
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
  std::uint64_t device_bytes;
};

WorkloadConfig config_of(const Sizes& sizes) {
  WorkloadConfig config;
  config.node_bytes = sizes.node_bytes;
  config.block_bytes = sizes.block_bytes;
  config.device_bytes = sizes.device_bytes;
  config.no_space = 1;
  return config;
}

}  // namespace

TEST_CASE("enospc: filled in four ways, everything is readable and can be removed", "[fault]") {
  const Sizes sizes =
      GENERATE(Sizes{4096, 4096, 8_MiB}, Sizes{4096, 512, 5_MiB}, Sizes{16384, 4096, 12_MiB},
               Sizes{65536, 512, 16_MiB}, Sizes{65536, 4096, 24_MiB});
  const Way way = GENERATE(Way::kData, Way::kSmallFiles, Way::kNames, Way::kXattrs);
  CAPTURE(sizes.node_bytes, sizes.block_bytes, name_of(way));
  FullVolume full(config_of(sizes));
  const std::uint64_t empty_inodes = full.volume().usage().inodes;
  const std::uint64_t empty = free_or_structural(full.volume());

  fill(full, way);
  full.check();
  full.remount();
  full.check();

  full.remove_all();
  full.run(op_on(Kind::kCheckpoint, ""));
  CHECK(full.volume().usage().pending_free_blocks == 0);
  CHECK(full.volume().usage().inodes == empty_inodes);
  CHECK(free_or_structural(full.volume()) == empty);
  full.check();
  full.remount();
  CHECK(free_or_structural(full.volume()) == empty);

  // What came back can be used.
  fill(full, way);
  full.check();
}

TEST_CASE("enospc: whatever gives space back works on a full volume", "[fault]") {
  const Sizes sizes =
      GENERATE(Sizes{4096, 4096, 8_MiB}, Sizes{4096, 512, 5_MiB}, Sizes{65536, 512, 16_MiB});
  CAPTURE(sizes.node_bytes, sizes.block_bytes);
  FullVolume full(config_of(sizes));
  full.run(op_create("/inline"));
  full.run(op_write("/inline", 0, 1'500, 1));
  full.run(op_create("/whole"));
  full.run(op_write("/whole", 0, 100'000, 2));
  full.run(op_create("/xattr"));
  full.run(op_xattr("/xattr", "user.large", 50'000, 3));
  full.run(op_xattr("/xattr", "user.small", 500, 4));
  fill_with_extents(full, "/extents");
  // To the last block, so that the removal can count on nothing but the reserve.
  fill_with_small_files(full);
  SECTION("truncate, to a byte within a block") { full.run(op_truncate("/extents", 1'001)); }
  SECTION("truncate by a little") {
    const std::uint64_t size = full.size_of("/extents");
    for (std::uint64_t cut = 1; cut < 40; ++cut) {
      full.run(op_truncate("/extents", size - cut * 8'192 - 100));
    }
  }
  SECTION("truncate of an unshared file") { full.run(op_truncate("/whole", 50'001)); }
  SECTION("truncate of inline bytes") { full.run(op_truncate("/inline", 700)); }
  SECTION("unlink") { full.run(op_on(Kind::kUnlink, "/extents")); }
  SECTION("unlink of what is open, and close") {
    full.run(op_on(Kind::kOpen, "/extents"));
    full.run(op_on(Kind::kUnlink, "/extents"));
    full.run(op_on(Kind::kClose, ""));
  }
  SECTION("removal of xattrs") {
    full.run(op_on(Kind::kRemoveXattr, "/xattr", "user.large"));
    full.run(op_on(Kind::kRemoveXattr, "/xattr", "user.small"));
  }
  SECTION("many removals without a sync") { full.remove_all(); }
  full.check();
  full.remount();
  full.check();
  full.remove_all();
  full.check();
}

TEST_CASE("enospc: a rename on a full volume loses nothing", "[fault]") {
  FullVolume full(config_of({4096, 512, 5_MiB}));
  full.run(op_mkdir("/to"));
  fill_with_small_files(full);
  const auto entries = full.model().find(kRootInode)->entries;
  for (const auto& [name, inode] : entries) {
    std::string long_name(200, 'r');
    (void)full.fits(op_on(Kind::kRename, "/" + name, "/to/" + name + long_name));
  }
  full.check();
}

TEST_CASE("enospc: filled and emptied thirty times, nothing runs out", "[fault]") {
  const bool sync_between = GENERATE(false, true);
  CAPTURE(sync_between);
  WorkloadConfig config = config_of({16384, 4096, 16_MiB});
  config.no_space = 0;  // no call may end with it
  FullVolume full(config);
  const std::uint64_t bytes = full.volume().usage().available_blocks * 4096 / 10 * 8;
  for (std::uint64_t round = 1; round <= 30; ++round) {
    CAPTURE(round);
    full.run(op_create("/most"));
    constexpr std::uint64_t kPiece = 1'000'000;
    for (std::uint64_t at = 0; at < bytes; at += kPiece) {
      full.run(op_write("/most", at, std::min(kPiece, bytes - at), round));
    }
    if (sync_between) full.run(op_on(Kind::kCheckpoint, ""));
    full.run(op_on(Kind::kUnlink, "/most"));
    if (sync_between) full.run(op_on(Kind::kCheckpoint, ""));
  }
  full.check();
}

TEST_CASE("enospc: overwriting what fits keeps fitting", "[fault]") {
  WorkloadConfig config = config_of({4096, 4096, 8_MiB});
  config.no_space = 0;
  FullVolume full(config);
  const std::uint64_t bytes = full.volume().usage().available_blocks * 4096 / 10 * 4;
  full.run(op_create("/half"));
  for (std::uint64_t round = 1; round <= 20; ++round) {
    CAPTURE(round);
    for (std::uint64_t at = 0; at < bytes; at += 100'000) {
      full.run(op_write("/half", at, std::min<std::uint64_t>(100'000, bytes - at), round));
    }
  }
  full.check();
}

}  // namespace cordwood::test
