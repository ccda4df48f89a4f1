#include "device/sparse_image.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "unit/device/patterns.hpp"

using namespace cordwood;

TEST_CASE("sparse image: a terabyte costs what was written to it", "[device]") {
  SparseImage image(1024_GiB);
  CHECK(image.bytes_allocated() == 0);
  const auto data = pattern(4096, 1);
  image.write(0, data);
  image.write(1024_GiB - 4096, data);
  CHECK(image.bytes_allocated() == 2 * SparseImage::kPageBytes);
  CHECK(read_back(image, 1024_GiB - 4096, 4096) == data);
  CHECK(read_back(image, 512_GiB, 4096) == std::vector<std::byte>(4096));
  image.fill(0, 1024_GiB, std::byte{0});
  CHECK(image.bytes_allocated() == 0);
  CHECK(read_back(image, 0, 4096) == std::vector<std::byte>(4096));
}

TEST_CASE("sparse image: copies share until one side writes", "[device]") {
  SparseImage original(1_MiB);
  const auto old_data = pattern(64_KiB, 1);
  const auto new_data = pattern(512, 2);
  original.write(100'000, old_data);
  SparseImage copy = original;
  CHECK(!copy.first_difference(original));

  SECTION("the copy writes") {
    copy.write(120'000, new_data);
    CHECK(read_back(original, 100'000, 64_KiB) == old_data);
    CHECK(read_back(copy, 120'000, 512) == new_data);
  }
  SECTION("the original writes") {
    original.write(120'000, new_data);
    CHECK(read_back(copy, 100'000, 64_KiB) == old_data);
    CHECK(read_back(original, 120'000, 512) == new_data);
  }
  SECTION("the copy of a copy outlives both") {
    SparseImage third = copy;
    copy.write(120'000, new_data);
    original = SparseImage(0);
    CHECK(read_back(third, 100'000, 64_KiB) == old_data);
  }
  SECTION("freeing pages of one side") {
    copy.fill(0, 1_MiB, std::byte{0});
    CHECK(read_back(original, 100'000, 64_KiB) == old_data);
    CHECK(read_back(copy, 100'000, 64_KiB) == std::vector<std::byte>(64_KiB));
  }
}

TEST_CASE("sparse image: says when a write changes no structure", "[device]") {
  SparseImage image(1_MiB);
  CHECK(!image.writes_in_place(0, 512));
  image.write(0, pattern(512, 1));
  CHECK(image.writes_in_place(0, SparseImage::kPageBytes));
  CHECK(!image.writes_in_place(0, SparseImage::kPageBytes + 1));
  const SparseImage copy = image;
  CHECK(!image.writes_in_place(0, 512));
  CHECK(!copy.writes_in_place(0, 512));
  image.write(0, pattern(512, 2));
  CHECK(image.writes_in_place(0, 512));
}

TEST_CASE("sparse image: finds the first difference", "[device]") {
  SparseImage a(64_MiB);
  a.write(40_MiB, pattern(4096, 1));
  SparseImage b = a;
  b.flip_bit(40_MiB + 77, 3);
  CHECK(a.first_difference(b) == 40_MiB + 77);
  b.flip_bit(40_MiB + 77, 3);
  CHECK(!a.first_difference(b));
  // Zeros that were written equal bytes that never were.
  b.write(5_MiB, std::vector<std::byte>(512));
  CHECK(!a.first_difference(b));
  b.fill(3_MiB, 1, std::byte{9});
  CHECK(b.first_difference(a) == 3_MiB);
}

TEST_CASE("sparse image: random writes, fills and copies agree with plain arrays", "[device]") {
  constexpr std::uint64_t kBytes = 5 * SparseImage::kPageBytes + 512;
  const auto seed = GENERATE(range(1, 6));
  INFO("seed " << seed);
  Random random(static_cast<std::uint64_t>(seed));
  std::vector<SparseImage> images(4, SparseImage(kBytes));
  std::vector<std::vector<std::byte>> plain(4, std::vector<std::byte>(kBytes));
  for (int step = 0; step < 400; ++step) {
    const std::size_t target = random.below(4);
    const std::uint64_t offset = random.below(kBytes);
    const std::uint64_t bytes = random.between(0, kBytes - offset);
    switch (random.below(4)) {
      case 0: {
        const auto data = pattern(bytes, random.next());
        images[target].write(offset, data);
        std::copy(data.begin(), data.end(), plain[target].begin() + static_cast<long>(offset));
        break;
      }
      case 1: {
        const auto value = static_cast<std::byte>(random.below(2) * 7);
        images[target].fill(offset, bytes, value);
        std::fill_n(plain[target].begin() + static_cast<long>(offset), bytes, value);
        break;
      }
      case 2: {
        const std::size_t source = random.below(4);
        images[target] = images[source];
        plain[target] = std::vector<std::byte>(plain[source]);
        break;
      }
      default: {
        std::vector<std::byte> got(bytes);
        images[target].read(offset, got);
        REQUIRE(
            std::equal(got.begin(), got.end(), plain[target].begin() + static_cast<long>(offset)));
      }
    }
  }
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(read_back(images[i], 0, kBytes) == plain[i]);
}
