#include "device/memory_device.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "unit/device/patterns.hpp"

#ifndef __EMSCRIPTEN__
#include <thread>
#endif

using namespace cordwood;

TEST_CASE("memory device: reads what was written, and zero elsewhere", "[device]") {
  MemoryDevice device(1024_GiB);
  const auto data = pattern(100 * 512, 1);
  REQUIRE(device.write(777 * 512, data));
  CHECK(read_back(device, 777 * 512, data.size()) == data);
  CHECK(read_back(device, 776 * 512, 512) == std::vector<std::byte>(512));
  CHECK(read_back(device, 1024_GiB - 512, 512) == std::vector<std::byte>(512));
  REQUIRE(device.flush());

  const DeviceCounters counters = device.counters();
  CHECK(counters.writes == 1);
  CHECK(counters.bytes_written == data.size());
  CHECK(counters.reads == 3);
  CHECK(counters.flushes == 1);
}

TEST_CASE("memory device: runs a batch, reads and writes mixed", "[device]") {
  MemoryDevice device(1_MiB);
  const auto a = pattern(4096, 1);
  const auto b = pattern(4096, 2);
  REQUIRE(device.write(0, a));
  std::vector<std::byte> got(4096);
  const std::vector<IoRequest> batch = {IoRequest::read(0, got), IoRequest::write(8192, b, true)};
  REQUIRE(device.submit(batch));
  CHECK(got == a);
  CHECK(read_back(device, 8192, 4096) == b);
  CHECK(device.counters().fua_writes == 1);
  REQUIRE(device.submit({}));
}

TEST_CASE("memory device: refuses what is not in whole sectors or outside", "[device]") {
  MemoryDevice device(1_MiB, {.sector_bytes = 4096});
  CHECK(device.geometry().sector_bytes == 4096);
  const auto expect_invalid = [&](std::uint64_t offset, std::size_t bytes) {
    std::vector<std::byte> buffer(bytes);
    const Result<void> result = device.read(offset, buffer);
    REQUIRE(!result);
    CHECK(result.error().code == Errc::kInvalid);
    CHECK(result.error().place == Place::kByte);
    CHECK(result.error().where == offset);
  };
  expect_invalid(512, 4096);
  expect_invalid(0, 512);
  expect_invalid(1_MiB, 4096);
  expect_invalid(1_MiB - 4096, 8192);
  expect_invalid(UINT64_MAX - 4095, 4096);
  CHECK(!device.discard(0, 2_MiB));
}

TEST_CASE("memory device: snapshot, restore and clone", "[device]") {
  MemoryDevice device(16_MiB);
  const auto before = pattern(1_MiB, 1);
  const auto after = pattern(1_MiB, 2);
  REQUIRE(device.write(5_MiB, before));
  const SparseImage snapshot = device.snapshot();
  const auto clone = device.clone();
  REQUIRE(device.write(5_MiB, after));
  CHECK(read_back(*clone, 5_MiB, 1_MiB) == before);
  CHECK(read_back(device, 5_MiB, 1_MiB) == after);
  device.restore(snapshot);
  CHECK(read_back(device, 5_MiB, 1_MiB) == before);
  REQUIRE(clone->discard(5_MiB, 512_KiB));
  CHECK(read_back(*clone, 5_MiB, 512) == std::vector<std::byte>(512));
  CHECK(read_back(device, 5_MiB, 1_MiB) == before);
}

#ifndef __EMSCRIPTEN__

TEST_CASE("memory device: threads write and read at once, copies in between", "[device][threads]") {
  constexpr std::uint64_t kShare = 1_MiB;
  MemoryDevice device(4 * kShare);
  std::vector<int> failures(4, 0);
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      Random random(id);
      for (int round = 0; round < 200; ++round) {
        // The shares are interleaved by sector, so that threads meet in the same pages.
        const std::uint64_t offset = random.below(kShare / 512) * 4 * 512 + id * 512;
        const auto data = pattern(512, random.next());
        if (!device.write(offset, data)) ++failures[id];
        if (read_back(device, offset, 512) != data) ++failures[id];
        if (id == 0 && round % 10 == 0 && device.clone()->geometry().bytes != 4 * kShare) {
          ++failures[id];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : failures) CHECK(count == 0);
}

TEST_CASE("memory device: many threads on the same bytes leave one of the writes",
          "[device][threads]") {
  MemoryDevice device(1_MiB);
  std::vector<std::thread> threads;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    threads.emplace_back([&, id] {
      const std::vector<std::byte> data(4096, static_cast<std::byte>(id));
      for (int round = 0; round < 300; ++round) (void)device.write(4096, data);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto got = read_back(device, 4096, 4096);
  CHECK(std::count(got.begin(), got.end(), got.front()) == 4096);
}

#endif
