#include "base/clock.hpp"

#include <catch2/catch.hpp>

using namespace cordwood;

TEST_CASE("clock: timestamps compare by time, also before 1970", "[base]") {
  CHECK(Timestamp{-1, 999'999'999} < Timestamp{0, 0});
  CHECK(Timestamp{5, 1} < Timestamp{5, 2});
  CHECK(Timestamp{5, 2} < Timestamp{6, 0});
  CHECK(Timestamp{} == Timestamp{0, 0});
}

TEST_CASE("clock: a manual clock advances by its step at each reading", "[base]") {
  ManualClock clock({100, 999'999'997}, 2);
  CHECK(clock.now() == Timestamp{100, 999'999'999});
  CHECK(clock.now() == Timestamp{101, 1});
  CHECK(clock.now() == Timestamp{101, 3});
  CHECK(clock.monotonic_ns() == 0);
}

TEST_CASE("clock: a step of zero stands still", "[base]") {
  ManualClock clock({7, 0}, 0);
  CHECK(clock.now() == Timestamp{7, 0});
  CHECK(clock.now() == Timestamp{7, 0});
}

TEST_CASE("clock: the system's clocks are sane", "[base]") {
  Clock& clock = system_clock();
  const Timestamp now = clock.now();
  CHECK(now.seconds > 1'600'000'000);
  CHECK(now.nanoseconds < 1'000'000'000);
  const std::uint64_t first = clock.monotonic_ns();
  CHECK(clock.monotonic_ns() >= first);
}
