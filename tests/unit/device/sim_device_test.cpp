#include "device/sim_device.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "device/crash_states.hpp"
#include "device/memory_device.hpp"
#include "unit/device/patterns.hpp"

#ifndef __EMSCRIPTEN__
#include <thread>
#endif

using namespace cordwood;

namespace {

using Kind = WriteFate::Kind;

std::vector<WriteFate> all(const SimDevice& device, Kind kind) {
  return std::vector<WriteFate>(device.open_writes().size(), {kind, 0});
}

}  // namespace

TEST_CASE("sim device: behaves like a device as long as nothing is wrong", "[device]") {
  SimDevice device(1_MiB);
  MemoryDevice plain(1_MiB);
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t sectors = random.between(1, 40);
    const std::uint64_t offset = random.below(2048 - sectors) * 512;
    if (random.one_in(3)) {
      const auto data = pattern(sectors * 512, random.next());
      REQUIRE(device.write(offset, data));
      REQUIRE(plain.write(offset, data));
    } else {
      REQUIRE(read_back(device, offset, sectors * 512) == read_back(plain, offset, sectors * 512));
    }
    if (random.one_in(20)) REQUIRE(device.flush());
  }
  CHECK(!device.contents().first_difference(plain.snapshot()));
  CHECK(!device.after_power_cut(all(device, Kind::kKept)).first_difference(plain.snapshot()));
  std::vector<std::byte> buffer(512);
  CHECK(device.read(1_MiB, buffer).error().code == Errc::kInvalid);
}

TEST_CASE("sim device: pulling the plug by hand", "[device]") {
  SimDevice device(64_KiB);
  const auto durable = pattern(512, 1);
  const auto cached = pattern(1024, 2);
  REQUIRE(device.write(0, durable));
  REQUIRE(device.flush());
  REQUIRE(device.write(512, cached));
  REQUIRE(device.discard(4096, 512));
  const auto open = device.open_writes();
  REQUIRE(open.size() == 2);
  CHECK(open[0].offset == 512);
  CHECK(open[0].sectors == 2);
  CHECK(open[0].completed);
  CHECK(open[1].discard);

  device.cut_power();
  std::vector<std::byte> buffer(512);
  CHECK(device.read(0, buffer).error().code == Errc::kIo);
  CHECK(buffer.front() == std::byte{0xee});
  CHECK(device.write(0, cached).error().code == Errc::kIo);
  CHECK(device.flush().error().code == Errc::kIo);
  CHECK(device.discard(0, 512).error().code == Errc::kIo);
  REQUIRE(device.open_writes().size() == 2);

  const std::vector<WriteFate> fates = {{Kind::kHead, 1}, {Kind::kLost, 0}};
  device.restore_power(device.after_power_cut(fates));
  CHECK(read_back(device, 0, 512) == durable);
  CHECK(read_back(device, 512, 512) ==
        std::vector<std::byte>(cached.begin(), cached.begin() + 512));
  CHECK(read_back(device, 1024, 512) == std::vector<std::byte>(512));
  CHECK(device.open_writes().empty());
  CHECK(device.recording().events.empty());
}

TEST_CASE("sim device: the power goes at a given operation, which is begun", "[device]") {
  for (std::uint64_t cut = 0; cut < 5; ++cut) {
    SimDevice device(64_KiB);
    device.cut_power_at(cut);
    const auto data = pattern(512, 1);
    std::vector<bool> succeeded;
    succeeded.push_back(device.write(0, data).has_value());
    succeeded.push_back(device.flush().has_value());
    const std::vector<IoRequest> batch = {IoRequest::write(512, data),
                                          IoRequest::write(1024, data)};
    succeeded.push_back(device.submit(batch).has_value());
    succeeded.push_back(device.flush().has_value());
    const std::vector<bool> expected = {cut > 0, cut > 1, cut > 3, cut > 4};
    INFO("cut at " << cut);
    CHECK(succeeded == expected);
    CHECK(device.power_is_cut());
    CHECK(device.operations() == 5);
    const std::size_t open[] = {1, 1, 1, 2, 2};
    CHECK(device.open_writes().size() == open[cut]);
  }
}

TEST_CASE("sim device: discarded bytes turn into what nobody hopes for", "[device]") {
  SimDevice device(64_KiB);
  REQUIRE(device.write(0, pattern(4096, 1)));
  REQUIRE(device.flush());
  REQUIRE(device.discard(512, 1024));
  CHECK(read_back(device, 512, 1024) == std::vector<std::byte>(1024, std::byte{0xdd}));
  CHECK(device.open_writes().size() == 1);
  REQUIRE(device.flush());
  CHECK(device.open_writes().empty());
  SimDevice without(64_KiB, {.discard = false});
  REQUIRE(without.discard(0, 512));
  CHECK(without.moment() == 0);
}

TEST_CASE("sim device: without recording it keeps only what is open", "[device]") {
  SimDevice device(64_KiB, {.record = false});
  for (int i = 0; i < 10; ++i) REQUIRE(device.write(0, pattern(512, 1)));
  CHECK(device.open_writes().size() == 10);
  REQUIRE(device.flush());
  CHECK(device.open_writes().empty());
  CHECK(device.moment() == 21);
}

TEST_CASE("sim device: fails the k-th I/O once, for a while or for ever", "[device]") {
  SimDevice device(64_KiB);
  const auto data = pattern(512, 1);
  const auto outcomes = [&] {
    std::vector<bool> result;
    for (int i = 0; i < 5; ++i) result.push_back(device.write(0, data).has_value());
    return result;
  };
  SECTION("once") {
    device.add_fault({.on = FaultRule::On::kWrite, .skip = 2});
    CHECK(outcomes() == std::vector<bool>{true, true, false, true, true});
    CHECK(device.faults_hit() == 1);
  }
  SECTION("for a while") {
    device.add_fault({.on = FaultRule::On::kWrite, .skip = 1, .times = 2});
    CHECK(outcomes() == std::vector<bool>{true, false, false, true, true});
  }
  SECTION("for ever, until healed") {
    device.add_fault({.on = FaultRule::On::kWrite, .skip = 3, .times = FaultRule::kForever});
    CHECK(outcomes() == std::vector<bool>{true, true, true, false, false});
    device.clear_faults();
    CHECK(outcomes() == std::vector<bool>(5, true));
  }
  SECTION("others pass") {
    device.add_fault({.on = FaultRule::On::kRead, .times = FaultRule::kForever});
    CHECK(outcomes() == std::vector<bool>(5, true));
    std::vector<std::byte> buffer(512);
    const auto result = device.read(0, buffer);
    REQUIRE(!result);
    CHECK(result.error().code == Errc::kIo);
    CHECK(result.error().where == 0);
  }
  SECTION("with another error") {
    device.add_fault({.on = FaultRule::On::kWrite, .code = Errc::kNoSpace});
    CHECK(device.write(0, data).error().code == Errc::kNoSpace);
  }
  SECTION("now and then") {
    device.add_fault({.on = FaultRule::On::kWrite, .times = FaultRule::kForever, .one_in = 4});
    int failed = 0;
    for (int i = 0; i < 400; ++i) failed += device.write(0, data) ? 0 : 1;
    CHECK(failed > 50);
    CHECK(failed < 150);
  }
}

TEST_CASE("sim device: a fault may be tied to a place, and the rest of a batch still runs",
          "[device]") {
  SimDevice device(64_KiB);
  device.add_fault(
      {.on = FaultRule::On::kWrite, .begin = 4096, .end = 8192, .times = FaultRule::kForever});
  const auto data = pattern(1024, 1);
  REQUIRE(device.write(4096 - 1024, data));
  REQUIRE(device.write(8192, data));
  CHECK(!device.write(4096 - 512, data));
  CHECK(!device.write(8192 - 512, data));
  const std::vector<IoRequest> batch = {IoRequest::write(4096, data), IoRequest::write(5120, data),
                                        IoRequest::write(16384, data)};
  const Result<void> result = device.submit(batch);
  REQUIRE(!result);
  CHECK(result.error().where == 4096);
  CHECK(read_back(device, 16384, 1024) == data);
  CHECK(read_back(device, 4096, 1024) == std::vector<std::byte>(1024));
}

TEST_CASE("sim device: a failed write may be there all the same, but never for certain",
          "[device]") {
  SimDevice device(64_KiB);
  const auto data = pattern(1024, 1);
  using Landed = FaultRule::Landed;
  const auto landed = GENERATE(Landed::kNothing, Landed::kHead, Landed::kAll);
  device.add_fault({.on = FaultRule::On::kWrite, .landed = landed});
  CHECK(!device.write(0, data));
  const std::size_t bytes = landed == Landed::kAll ? 1024 : landed == Landed::kHead ? 512 : 0;
  std::vector<std::byte> expected(1024);
  std::copy_n(data.begin(), bytes, expected.begin());
  CHECK(read_back(device, 0, 1024) == expected);
  REQUIRE(device.flush());
  CHECK(device.open_writes().size() == (bytes > 0 ? 1 : 0));
}

TEST_CASE("sim device: after a failed flush the writes before it are never certain", "[device]") {
  SimDevice device(64_KiB);
  REQUIRE(device.write(0, pattern(512, 1)));
  device.add_fault({.on = FaultRule::On::kFlush});
  CHECK(device.flush().error().code == Errc::kIo);
  REQUIRE(device.flush());
  REQUIRE(device.open_writes().size() == 1);
  CHECK(read_back(device.after_power_cut(all(device, Kind::kLost)), 0, 512) ==
        std::vector<std::byte>(512));
}

TEST_CASE("sim device: wrong data with a good status", "[device]") {
  SimDevice device(64_KiB);
  const auto first = pattern(512, 1);
  const auto second = pattern(512, 2);
  REQUIRE(device.write(0, first));

  SECTION("a bit flips on the way") {
    device.add_fault({.action = FaultRule::Action::kFlipBit, .bit = 17});
    auto expected = first;
    expected[2] ^= std::byte{2};
    CHECK(read_back(device, 0, 512) == expected);
    CHECK(read_back(device, 0, 512) == first);
    device.add_fault({.action = FaultRule::Action::kFlipBit});
    CHECK(read_back(device, 0, 512) != first);
  }
  SECTION("a bit flips at rest") {
    REQUIRE(device.flush());
    device.flip_bit_at_rest(3, 7);
    auto expected = first;
    expected[3] ^= std::byte{0x80};
    CHECK(read_back(device, 0, 512) == expected);
    CHECK(read_back(device.after_power_cut({}), 0, 512) == expected);
    CHECK(read_back(*CrashStates::replay(device.recording(), "4:"), 0, 512) == expected);
  }
  SECTION("a write goes elsewhere") {
    device.add_fault(
        {.on = FaultRule::On::kWrite, .action = FaultRule::Action::kMisdirect, .target = 8192});
    REQUIRE(device.write(0, second));
    CHECK(read_back(device, 0, 512) == first);
    CHECK(read_back(device, 8192, 512) == second);
  }
  SECTION("a write goes nowhere") {
    device.add_fault({.on = FaultRule::On::kWrite, .action = FaultRule::Action::kLose});
    REQUIRE(device.write(0, second));
    REQUIRE(device.flush());
    CHECK(read_back(device, 0, 512) == first);
    CHECK(read_back(device.after_power_cut({}), 0, 512) == first);
  }
  SECTION("a read gives what was there before") {
    device.remember_stale();
    REQUIRE(device.write(0, second));
    device.add_fault({.action = FaultRule::Action::kStale});
    CHECK(read_back(device, 0, 512) == first);
    CHECK(read_back(device, 0, 512) == second);
  }
}

TEST_CASE("sim device: recording may start anew", "[device]") {
  SimDevice device(64_KiB);
  REQUIRE(device.write(0, pattern(512, 1)));
  device.restart_recording();
  CHECK(device.open_writes().empty());
  REQUIRE(device.write(512, pattern(512, 2)));
  const Recording recording = device.recording();
  CHECK(recording.events.size() == 2);
  CHECK(read_back(*CrashStates::replay(recording, "2:-"), 0, 512) == pattern(512, 1));
}

#ifndef __EMSCRIPTEN__

TEST_CASE("sim device: threads write and flush at once; a flush covers what had completed",
          "[device][threads]") {
  SimDevice device(1_MiB, {.fua = true});
  std::vector<int> failures(4, 0);
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      for (std::uint64_t round = 0; round < 50; ++round) {
        const std::uint64_t offset = (id * 50 + round) * 512;
        if (!device.write(offset, pattern(512, offset), round % 7 == 0)) ++failures[id];
        if (!device.flush()) ++failures[id];
        for (const auto& open : device.open_writes()) {
          if (open.offset == offset) ++failures[id];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : failures) CHECK(count == 0);
  const SparseImage image = device.after_power_cut(all(device, Kind::kLost));
  for (std::uint64_t i = 0; i < 200; ++i) {
    REQUIRE(read_back(image, i * 512, 512) == pattern(512, i * 512));
  }
}

#endif
