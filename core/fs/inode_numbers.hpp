#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/thread_slot.hpp"
#include "format/key.hpp"

namespace cordwood {

/// Inode numbers set aside for one directory, so that its files sit together in the tree and tasks in
/// different directories touch different leaves. Belongs to the directory's lock.
struct NumberRun {
  std::uint64_t next = 0;
  std::uint64_t end = 0;
  std::uint64_t count =
      0;  ///< how many the last run had; a directory that keeps creating gets more
};

/// Hands out inode numbers; none is ever used twice.
/// @threads any.
class InodeNumbers {
 public:
  explicit InodeNumbers(std::uint64_t next) : next_(next) {}

  /// Above every number handed out.
  [[nodiscard]] std::uint64_t next() const { return next_.load(std::memory_order_relaxed); }

  /// A number that does not belong to a run.
  /// @errors kNoSpace: all are used up.
  [[nodiscard]] Result<InodeNumber> take() { return InodeNumber{TRY(take(1))}; }

  /// Makes sure that the run holds a number; it is used by incrementing run.next.
  /// @errors kNoSpace: all are used up.
  [[nodiscard]] Result<InodeNumber> peek(NumberRun& run) {
    if (run.next == run.end) [[unlikely]] {
      const std::uint64_t count = run.count == 0            ? kFirstRun
                                  : run.count < kLongestRun ? 2 * run.count
                                                            : kLongestRun;
      const std::uint64_t first = TRY(take(count));
      run = {first, first + count, count};
    }
    return InodeNumber{run.next};
  }

 private:
  static constexpr std::uint64_t kFirstRun = 32;
  static constexpr std::uint64_t kLongestRun = 4096;

  Result<std::uint64_t> take(std::uint64_t count) {
    std::uint64_t first = next_.load(std::memory_order_relaxed);
    do {
      if (count > kInodeLimit - first) return make_error(Errc::kNoSpace, "out of inode numbers");
    } while (!next_.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
    return first;
  }

  std::atomic<std::uint64_t> next_;
};

/// How many inode items the tree holds, sharded by thread: a create costs no shared cache line.
/// @threads any; exact while nobody changes it.
class InodeCount {
 public:
  explicit InodeCount(std::uint64_t start) : start_(start) {}

  void add(std::int64_t change) {
    const std::size_t slot = thread_slot();
    std::atomic<std::int64_t>& cell = shards_[slot].count;
    if (slot == kSharedThreadSlot) {
      cell.fetch_add(change, std::memory_order_relaxed);
    } else {
      cell.store(cell.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t sum = start_;
    for (const Shard& shard : shards_) {
      sum += static_cast<std::uint64_t>(shard.count.load(std::memory_order_relaxed));
    }
    return sum;
  }

 private:
  struct alignas(64) Shard {
    std::atomic<std::int64_t> count{0};
  };
  std::uint64_t start_;
  std::array<Shard, kThreadSlots> shards_;
};

}  // namespace cordwood
