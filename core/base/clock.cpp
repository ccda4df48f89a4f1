#include "base/clock.hpp"

#include <chrono>

namespace cordwood {

namespace {

class SystemClock final : public Clock {
 public:
  Timestamp now() override {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
    return {ns / 1'000'000'000, static_cast<std::uint32_t>(ns % 1'000'000'000)};
  }
  std::uint64_t monotonic_ns() override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Timestamp ManualClock::now() {
  now_.nanoseconds += step_ns_;
  if (now_.nanoseconds >= 1'000'000'000) {
    now_.nanoseconds -= 1'000'000'000;
    ++now_.seconds;
  }
  return now_;
}

}  // namespace cordwood
