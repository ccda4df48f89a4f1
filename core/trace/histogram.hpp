#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cordwood {

/// Percentiles of a histogram; values are upper bounds of their buckets, at most an eighth too large.
struct HistogramSummary {
  std::uint64_t count = 0;
  std::uint64_t p50 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t max = 0;  ///< exact
};

/// Counts values in buckets, eight for each power of two. @threads any; a summary taken meanwhile may
/// lack what is being added.
class Histogram {
 public:
  void add(std::uint64_t value) {
    buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
    std::uint64_t seen = max_.load(std::memory_order_relaxed);
    while (value > seen && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] HistogramSummary summary() const {
    HistogramSummary result;
    for (const auto& bucket : buckets_) result.count += bucket.load(std::memory_order_relaxed);
    result.max = max_.load(std::memory_order_relaxed);
    result.p50 = percentile(result, 50);
    result.p99 = percentile(result, 99);
    return result;
  }

 private:
  static constexpr std::size_t kSubBits = 3;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) {
    if (value < (1u << kSubBits)) return static_cast<std::size_t>(value);
    const auto shift = static_cast<std::size_t>(std::bit_width(value)) - kSubBits - 1;
    return ((shift + 1) << kSubBits) + ((value >> shift) & ((1u << kSubBits) - 1));
  }
  /// The largest value of a bucket.
  [[nodiscard]] static std::uint64_t top_of(std::size_t bucket) {
    if (bucket < (1u << kSubBits)) return bucket;
    const std::size_t shift = (bucket >> kSubBits) - 1;
    const std::uint64_t sub = bucket & ((1u << kSubBits) - 1);
    return ((((std::uint64_t{1} << kSubBits) + sub + 1) << shift)) - 1;
  }
  [[nodiscard]] std::uint64_t percentile(const HistogramSummary& whole, unsigned percent) const {
    if (whole.count == 0) return 0;
    std::uint64_t left = (whole.count * percent + 99) / 100;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      const std::uint64_t here = buckets_[i].load(std::memory_order_relaxed);
      if (here >= left) return top_of(i) < whole.max ? top_of(i) : whole.max;
      left -= here;
    }
    return whole.max;
  }

  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> max_{0};
};

}  // namespace cordwood
