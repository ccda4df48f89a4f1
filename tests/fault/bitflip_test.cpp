#include <cstdio>
#include <string>

#include "base/random.hpp"
#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/damage.hpp"
#include "support/runner.hpp"
#include "support/sample_image.hpp"
#include "support/tracking_device.hpp"
#include "volume/check.hpp"

// One flipped bit anywhere: detected and named, or harmless. CORDWOOD_FLIP_STRIDE says how many bytes
// lie between two that are tried; 1 tries every byte that a mount, a walk and a check read.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kStride = 301;
#else
constexpr std::uint64_t kStride = 41;
#endif

WorkloadConfig config_of(std::uint32_t node_bytes, std::uint32_t block_bytes) {
  WorkloadConfig config;
  config.device_bytes = 4_MiB;
  config.node_bytes = node_bytes;
  config.block_bytes = block_bytes;
  return config;
}

/// Every byte that somebody reads, but for the log ring: it is empty, and was only searched.
std::map<std::uint64_t, std::uint64_t> bytes_in_use(const SampleImage& sample,
                                                    const WorkloadConfig& config) {
  MemoryDevice memory(sample.image);
  TrackingDevice device(memory);
  CheckOptions options;
  options.verify_data = true;
  REQUIRE(check(device, options));
  MountOptions mount = config.mount_options(nullptr);
  mount.read_only = true;
  auto volume = Volume::open(device, mount);
  REQUIRE(volume);
  (void)walk_blindly(**volume);
  const Superblock superblock = (*volume)->superblock();
  volume->reset();
  const std::uint64_t ring = superblock.log_first_block * superblock.block_bytes;
  std::map<std::uint64_t, std::uint64_t> ranges = device.ranges_read();
  ranges.erase(ranges.lower_bound(ring),
               ranges.lower_bound(ring + superblock.log_blocks * superblock.block_bytes));
  return ranges;
}

struct Totals {
  std::uint64_t flips = 0;
  std::uint64_t named = 0;
  std::uint64_t refused = 0;
};

void flip_all(const WorkloadConfig& config, std::uint64_t stride, std::uint64_t seed,
              Totals& totals) {
  const SampleImage sample = sample_image(config, 50);
  INFO(sample.problem);
  REQUIRE(sample.problem.empty());
  Random random(seed);
  for (const auto& [begin, end] : bytes_in_use(sample, config)) {
    for (std::uint64_t byte = begin + random.below(stride); byte < end; byte += stride) {
      const auto bit = static_cast<unsigned>(random.below(8));
      SparseImage image = sample.image;
      image.flip_bit(byte, bit);
      const DamageOutcome outcome =
          try_damaged(image, sample.model, config, DamageKind::kChecksummed, byte % 5 == 0);
      INFO(to_text(config) << "\nbit " << bit << " of byte " << byte << ": " << outcome.wrong);
      REQUIRE(outcome.wrong.empty());
      ++totals.flips;
      totals.named += outcome.named ? 1 : 0;
      totals.refused += outcome.refused ? 1 : 0;
    }
  }
}

void print(const char* what, const Totals& totals) {
  std::printf("%s: %llu flips, %llu named by check, %llu refused by the volume\n", what,
              static_cast<unsigned long long>(totals.flips),
              static_cast<unsigned long long>(totals.named),
              static_cast<unsigned long long>(totals.refused));
}

}  // namespace

TEST_CASE("bit flips: a sample of all bytes in use", "[fault]") {
  const std::uint64_t stride = environment_number("CORDWOOD_FLIP_STRIDE", kStride);
  Totals totals;
  flip_all(config_of(4096, 4096), stride, 1, totals);
  flip_all(config_of(4096, 512), stride, 2, totals);
  flip_all(config_of(65536, 512), 4 * stride, 3, totals);
  print("bit flips", totals);
  CHECK(totals.named > totals.flips / 2);
}

TEST_CASE("bit flips: every byte in use", "[fault][slow]") {
  Totals totals;
  flip_all(config_of(4096, 512), 1, 4, totals);
  print("bit flips, every byte", totals);
}

}  // namespace cordwood::test
