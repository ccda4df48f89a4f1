#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.hpp"
#include "base/result.hpp"

namespace cordwood {

/// One way in which a device misbehaves: which I/Os it concerns, when, and what happens to them.
/// Each request of a batch is an I/O of its own.
struct FaultRule {
  static constexpr std::uint64_t kForever = UINT64_MAX;

  enum class On : std::uint8_t { kRead, kWrite, kFlush };
  enum class Action : std::uint8_t {
    kFail,       ///< reports `code`
    kFlipBit,    ///< read: one bit of the answer is wrong, the medium is right
    kStale,      ///< read: the answer is what SimDevice::remember_stale() saw
    kMisdirect,  ///< write: goes to `target` instead, and reports success
    kLose,       ///< write: goes nowhere, and reports success
  };
  /// What of a failed write is on the medium all the same.
  enum class Landed : std::uint8_t { kNothing, kAll, kHead };

  On on = On::kRead;
  Action action = Action::kFail;

  std::uint64_t begin = 0;         ///< only I/Os that touch the bytes begin .. end - 1
  std::uint64_t end = UINT64_MAX;  ///< a flush touches every byte
  std::uint64_t skip = 0;          ///< so many matching I/Os pass first
  std::uint64_t times = 1;         ///< then so many are hit; the rest passes again
  std::uint32_t one_in = 1;        ///< of those, one in so many at random; 0 counts as 1

  Errc code = Errc::kIo;             ///< kFail
  Landed landed = Landed::kNothing;  ///< kFail on a write
  std::uint64_t target = 0;          ///< kMisdirect: byte offset, in whole sectors
  /// kFlipBit: which one, from the request's start; else one at random.
  std::optional<std::uint64_t> bit = std::nullopt;
};

/// The rules that are in force, each with its count.
/// @threads one at a time.
class FaultPlan {
 public:
  explicit FaultPlan(std::uint64_t seed) : random_(seed) {}

  void add(const FaultRule& rule);
  void clear() { rules_.clear(); }

  /// Counts an I/O in every rule that it matches, and says which rule hits it, if any: the one
  /// added first.
  [[nodiscard]] std::optional<FaultRule> hit(FaultRule::On on, std::uint64_t offset,
                                             std::uint64_t bytes);

  /// How many I/Os have been hit since the start. A loop over "fail the k-th I/O" ends when a run
  /// does not raise it.
  [[nodiscard]] std::uint64_t hits() const { return hits_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  struct Counted {
    FaultRule rule;
    std::uint64_t matched = 0;
  };

  std::vector<Counted> rules_;
  std::uint64_t hits_ = 0;
  Random random_;
};

}  // namespace cordwood
