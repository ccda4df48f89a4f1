#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"

namespace cordwood {

/// Four numbers; what they mean is up to who compares them.
using Tuple = std::array<std::uint64_t, 4>;

/// Tells whether two large sets of tuples are equal, in constant memory: each side adds up a hash of
/// each of its tuples, in any order, in one of many buckets. Where buckets differ, a second pass over
/// the input looks at the tuples of these buckets only.
///
/// Sums of 64-bit hashes find every accidental difference; they are no protection from somebody who
/// chooses tuples to fool them.
class SetComparison {
 public:
  enum class Side : std::uint8_t { kLeft, kRight };
  static constexpr std::size_t kBuckets = 1024;

  /// @param group  tuples of one group fall into one bucket, so that a near miss is seen together.
  void add(Side side, std::uint64_t group, const Tuple& tuple) {
    Sum& sum = sums_[bucket_of(group)][static_cast<std::size_t>(side)];
    sum.count += 1;
    sum.hash += checksum(std::as_bytes(std::span(tuple)), kTupleSeed);
  }
  [[nodiscard]] bool differs(std::uint64_t bucket) const {
    const auto& [left, right] = sums_[bucket];
    return left.count != right.count || left.hash != right.hash;
  }
  /// Tuples of both sides in a bucket.
  [[nodiscard]] std::uint64_t count(std::uint64_t bucket) const {
    return sums_[bucket][0].count + sums_[bucket][1].count;
  }
  [[nodiscard]] static std::uint64_t bucket_of(std::uint64_t group) {
    return mix_seed(group, 0x627563) % kBuckets;
  }

 private:
  static constexpr std::uint64_t kTupleSeed = 0x7475706c65;
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t hash = 0;
  };
  std::vector<std::array<Sum, 2>> sums_ = std::vector<std::array<Sum, 2>>(kBuckets);
};

}  // namespace cordwood
