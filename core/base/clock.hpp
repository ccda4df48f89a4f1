#pragma once

#include <compare>
#include <cstdint>

namespace cordwood {

/// A moment as POSIX counts it: seconds since 1970 (negative before) and nanoseconds 0..999,999,999.
struct Timestamp {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;

  friend constexpr auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

/// Where the engine gets the time from. Comes from outside, so that the same script gives the same
/// image everywhere.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall clock, for inode times. @threads any.
  [[nodiscard]] virtual Timestamp now() = 0;
  /// Monotonic, for durations, in nanoseconds. @threads any.
  [[nodiscard]] virtual std::uint64_t monotonic_ns() = 0;
};

/// The system's clocks.
[[nodiscard]] Clock& system_clock();

/// Moves only when told or, by `step_ns`, at each reading; for tests and deterministic replays.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Timestamp start = {}, std::uint32_t step_ns = 1)
      : now_(start), step_ns_(step_ns) {}
  Timestamp now() override;
  std::uint64_t monotonic_ns() override { return 0; }

 private:
  Timestamp now_;
  std::uint32_t step_ns_;
};

}  // namespace cordwood
