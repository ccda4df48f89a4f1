#include <cstdio>
#include <cstring>
#include <string>

#include "base/random.hpp"
#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/damage.hpp"
#include "support/forge.hpp"
#include "support/runner.hpp"
#include "support/sample_image.hpp"
#include "volume/check.hpp"

// Images that nobody wrote: cut short, random, and lying ones whose checksums fit. Nothing may crash,
// hang or ask for endless memory. CORDWOOD_FORGERIES says how many lies each test tells.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kForgeries = 500;
#else
constexpr std::uint64_t kForgeries = 4000;
#endif

WorkloadConfig config_of(std::uint32_t node_bytes, std::uint32_t block_bytes) {
  WorkloadConfig config;
  config.device_bytes = 4_MiB;
  config.node_bytes = node_bytes;
  config.block_bytes = block_bytes;
  config.cache_bytes = 4_MiB;
  return config;
}

SampleImage sample_of(const WorkloadConfig& config) {
  SampleImage sample = sample_image(config, 50);
  INFO(sample.problem);
  REQUIRE(sample.problem.empty());
  return sample;
}

void try_forged(const SparseImage& image, const SampleImage& sample, const WorkloadConfig& config,
                const std::string& what) {
  const DamageOutcome outcome = try_damaged(image, sample.model, config, DamageKind::kForged, true);
  // That the volume and `check` disagree is allowed here: some lies are consistent.
  const bool disagree = outcome.refused && !outcome.named;
  INFO(what << ": " << outcome.wrong);
  REQUIRE((outcome.wrong.empty() || disagree));
}

SparseImage first_bytes(const SparseImage& image, std::uint64_t bytes) {
  SparseImage cut(bytes);
  std::vector<std::byte> buffer(bytes);
  image.read(0, buffer);
  cut.write(0, buffer);
  return cut;
}

}  // namespace

TEST_CASE("garbage: images of noise and foreign bytes are refused", "[fault]") {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    std::vector<std::byte> noise(4_MiB);
    if (round != 0) random.fill(noise);
    if (round >= 10) {  // noise that begins like a volume
      constexpr std::uint64_t kMagic = kSuperblockMagic;
      std::memcpy(noise.data() + superblock_byte(0, noise.size()), &kMagic, sizeof kMagic);
    }
    SparseImage image(noise.size());
    image.write(0, noise);
    MemoryDevice device(image);
    const auto volume = Volume::open(device);
    REQUIRE(!volume);
    const Errc code = volume.error().code;
    INFO(volume.error().message());
    CHECK((code == Errc::kNotCordwood || code == Errc::kVersion || code == Errc::kCorrupt));
    CHECK(!check(device));
    CHECK(!device.snapshot().first_difference(image));
  }
}

TEST_CASE("garbage: an image that was cut short", "[fault]") {
  const WorkloadConfig config = config_of(4096, 512);
  const SampleImage sample = sample_of(config);
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{512}, std::uint64_t{65'536}, std::uint64_t{68'608},
        std::uint64_t{1_MiB}, std::uint64_t{2_MiB}, std::uint64_t{4_MiB - 8192},
        std::uint64_t{4_MiB - 4096}, std::uint64_t{4_MiB - 512}}) {
    CAPTURE(bytes);
    MemoryDevice device(first_bytes(sample.image, bytes));
    const auto volume = Volume::open(device, config.mount_options(nullptr));
    CHECK(!volume);
    const auto report = check(device);
    CHECK((!report || !report->clean()));
  }
}

TEST_CASE("garbage: sizes that no volume can have", "[fault]") {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{512}, std::uint64_t{3_MiB}}) {
    CAPTURE(bytes);
    MemoryDevice device(bytes);
    CHECK(!Volume::format(device, {}));
  }
  MemoryDevice device(16_MiB);
  FormatOptions options;
  options.node_bytes = 2048;
  CHECK(!Volume::format(device, options));
  options.node_bytes = 128 * 1024;
  CHECK(!Volume::format(device, options));
  options.node_bytes = 5000;
  CHECK(!Volume::format(device, options));
  options = {};
  options.block_bytes = 256;
  CHECK(!Volume::format(device, options));
  options = {};
  options.label.assign(64, 'x');
  CHECK(!Volume::format(device, options));
  CHECK(device.counters().writes == 0);
}

TEST_CASE("garbage: superblocks that lie", "[fault]") {
  const std::uint64_t forgeries = environment_number("CORDWOOD_FORGERIES", kForgeries);
  Random random(2);
  const WorkloadConfig config = config_of(4096, 512);
  const SampleImage sample = sample_of(config);
  constexpr std::size_t kFieldsEnd = offsetof(Superblock, label);
  for (std::uint64_t i = 0; i < forgeries; ++i) {
    const std::size_t at = 8 + 4 * random.below((kFieldsEnd - 8) / 4);
    const std::uint64_t how = random.below(8);
    const std::uint64_t drawn = random.next();
    SparseImage image = sample.image;
    forge_superblock(image, [&](Superblock& superblock) {
      auto* bytes = reinterpret_cast<std::byte*>(&superblock) + at;
      auto value = load_le<std::uint32_t>(bytes);
      switch (how) {
        case 0: value = 0; break;
        case 1: value = UINT32_MAX; break;
        case 2: ++value; break;
        case 3: --value; break;
        case 4: value ^= 1u << (drawn % 32); break;
        case 5: value = static_cast<std::uint32_t>(drawn % 300); break;
        default: value = static_cast<std::uint32_t>(drawn);
      }
      store_le(bytes, value);
    });
    try_forged(image, sample, config,
               "superblock byte " + std::to_string(at) + " changed in way " + std::to_string(how));
  }
}

TEST_CASE("garbage: nodes that lie", "[fault]") {
  const std::uint64_t forgeries = environment_number("CORDWOOD_FORGERIES", kForgeries);
  for (const std::uint32_t node_bytes : {4096u, 65536u}) {
    Random random(node_bytes);
    const WorkloadConfig config = config_of(node_bytes, 512);
    const SampleImage sample = sample_of(config);
    const std::vector<NodeId> ids = node_ids(sample.image);
    REQUIRE(!ids.empty());
    for (std::uint64_t i = 0; i < forgeries / 2; ++i) {
      const NodeId id = ids[random.below(ids.size())];
      SparseImage image = sample.image;
      std::string what = "node " + std::to_string(id.value) + ':';
      REQUIRE(forge_node(image, id, [&](Bytes bytes) {
        for (std::uint64_t n = random.between(1, 3); n > 0; --n) {
          // The header, the slots and the records' heads decide most.
          std::uint64_t at = random.below(bytes.size());
          if (random.one_in(2)) at = random.below(64 + 2 * 40);
          const auto value = static_cast<std::byte>(random.one_in(2) ? random.below(256) : 0xff);
          bytes[at] = random.one_in(3) ? bytes[at] ^ std::byte{1} : value;
          what += " byte " + std::to_string(at);
        }
      }));
      try_forged(image, sample, config, what);
    }
  }
}

TEST_CASE("garbage: nodes in each other's place", "[fault]") {
  const WorkloadConfig config = config_of(4096, 4096);
  const SampleImage sample = sample_of(config);
  const std::vector<NodeId> ids = node_ids(sample.image);
  for (const NodeId from : ids) {
    for (const NodeId to : ids) {
      if (from == to) continue;
      const std::vector<std::byte> other = node_bytes(sample.image, from);
      for (const bool fix_id : {false, true}) {
        SparseImage image = sample.image;
        REQUIRE(forge_node(image, to, [&](Bytes bytes) {
          std::memcpy(bytes.data(), other.data(), bytes.size());
          if (fix_id) store_le(bytes.data() + offsetof(NodeHeader, node_id), to.value);
        }));
        try_forged(image, sample, config,
                   "node " + std::to_string(from.value) + " in place of " +
                       std::to_string(to.value) + (fix_id ? ", with its id" : ""));
      }
    }
  }
}

TEST_CASE("garbage: inner nodes that lead back up", "[fault]") {
  const WorkloadConfig config = config_of(4096, 4096);
  const SampleImage sample = sample_of(config);
  int inner = 0;
  for (const NodeId id : node_ids(sample.image)) {
    const std::vector<std::byte> bytes = node_bytes(sample.image, id);
    NodeHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.level == 0) continue;
    ++inner;
    // Wherever a child's id may stand.
    for (std::size_t at = sizeof header; at + 8 <= bytes.size(); at += 8) {
      const auto value = load_le<std::uint64_t>(bytes.data() + at);
      if (value == 0 || value >= kEntriesPerTablePage) continue;
      SparseImage image = sample.image;
      REQUIRE(forge_node(image, id, [&](Bytes forged) { store_le(forged.data() + at, id.value); }));
      try_forged(image, sample, config, "inner node leads to itself");
    }
  }
  CHECK(inner > 0);
}

}  // namespace cordwood::test
