#include "base/checksum.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <vector>

using namespace cordwood;

namespace {

std::vector<std::byte> pattern(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8));
  return bytes;
}

}  // namespace

// Checksums are on the disk: these values are frozen, and the same for every instruction set. The
// lengths take each of XXH3's paths (0, 1-3, 4-8, 9-16, 17-128, 129-240, one block, several).
TEST_CASE("checksum: values that volumes depend on", "[base]") {
  struct Known {
    std::size_t bytes;
    std::uint64_t seed;
    std::uint64_t sum;
  };
  const Known known[] = {
      {0, 0, 0x2d06800538d394c2},
      {0, 0x9e3779b97f4a7c15, 0x602b0e2cd6662c8b},
      {1, 0, 0xc44bdff4074eecdb},
      {3, 0, 0x6811538b444fc6dc},
      {4, 0, 0xed503340c589a28b},
      {8, 0, 0xe5b43ab074c9c13b},
      {9, 0, 0x089b8d25b20fb877},
      {16, 0, 0x0a0ec5ae8679cb7f},
      {16, 0x9e3779b97f4a7c15, 0x95d332b0c4696f0c},
      {17, 0, 0x57c52d21ce492c1e},
      {128, 0, 0x696069c4f1e6a91a},
      {129, 0, 0xb1ada52285757beb},
      {240, 0, 0xb80284837259eee4},
      {240, 0x9e3779b97f4a7c15, 0x26b5e6752d334ea4},
      {241, 0, 0x44dbd3180a664e27},
      {512, 0, 0xa101ec38f0b35779},
      {1024, 0, 0xc6c700c409d40c4b},
      {4096, 0, 0x1e0a232f4ec7fa9e},
      {4096, 0x9e3779b97f4a7c15, 0x343aec18c54644c8},
      {16384, 0, 0x92022eab05556583},
      {65536, 0, 0x513812aaf46c6769},
      {65536, 0x9e3779b97f4a7c15, 0xfec9dcdccbc68cbf},
  };
  for (const Known& k : known) {
    INFO("bytes " << k.bytes << " seed " << k.seed);
    CHECK(checksum(pattern(k.bytes), k.seed) == k.sum);
  }
}

TEST_CASE("checksum: memory alignment does not matter", "[base]") {
  const std::vector<std::byte> bytes = pattern(4096);
  const std::uint64_t expected = checksum(bytes, 7);
  for (std::size_t shift = 1; shift < 64; ++shift) {
    std::vector<std::byte> moved(bytes.size() + shift);
    std::copy(bytes.begin(), bytes.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    REQUIRE(checksum(ConstBytes(moved).subspan(shift), 7) == expected);
  }
}

TEST_CASE("checksum: every flipped bit of a sector shows", "[base]") {
  std::vector<std::byte> bytes = pattern(512);
  std::set<std::uint64_t> sums{checksum(bytes, 1)};
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1u << (bit % 8))};
    bytes[bit / 8] ^= mask;
    sums.insert(checksum(bytes, 1));
    bytes[bit / 8] ^= mask;
  }
  CHECK(sums.size() == bytes.size() * 8 + 1);
}

TEST_CASE("checksum: the seed tells equal bytes at different places apart", "[base]") {
  const std::vector<std::byte> bytes = pattern(4096);
  std::set<std::uint64_t> sums;
  for (std::uint64_t place = 0; place < 1000; ++place) {
    sums.insert(checksum(bytes, mix_seed(0x1234, place)));
  }
  CHECK(sums.size() == 1000);
}

TEST_CASE("checksum: mixing is not symmetric and spreads small numbers", "[base]") {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t a = 0; a < 100; ++a) {
    for (std::uint64_t b = 0; b < 100; ++b) seeds.insert(mix_seed(a, b));
  }
  CHECK(seeds.size() == 100 * 100);
}
