#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace cordwood::test {

/// Stands still until it is told otherwise, so that the times of each operation can be predicted.
class TestClock final : public Clock {
 public:
  explicit TestClock(Timestamp start = {1'700'000'000, 0}) : now_(start) {}

  Timestamp now() override { return now_; }
  std::uint64_t monotonic_ns() override { return ticks_; }

  void set(Timestamp now) { now_ = now; }
  void advance(std::uint32_t ns) {
    ticks_ += ns;
    const std::uint64_t sum = std::uint64_t{now_.nanoseconds} + ns;
    now_.seconds += static_cast<std::int64_t>(sum / 1'000'000'000);
    now_.nanoseconds = static_cast<std::uint32_t>(sum % 1'000'000'000);
  }

 private:
  Timestamp now_;
  std::uint64_t ticks_ = 0;
};

}  // namespace cordwood::test
