#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "device/sparse_image.hpp"
#include "fuzz/fuzz_input.hpp"
#include "fuzz/log_sample.hpp"

namespace cordwood::test {

/// A sample with what a fuzz input does to its log.
class PatchedLog {
 public:
  explicit PatchedLog(const LogSample& sample)
      : sample_(sample), ring_(sample.ring), superblock_(sample.superblock) {}

  /// Takes patches off the input until it ends.
  void apply(FuzzInput& input);
  /// Makes the checksums of all records right that a reader may come across.
  void fix_checksums();
  /// Whether something beside the bytes of the ring was changed: only then may a state be shown that
  /// never was.
  [[nodiscard]] bool superblock_changed() const { return superblock_changed_; }
  [[nodiscard]] SparseImage image() const;

 private:
  void set_field(FuzzInput& input, const std::vector<LogField>& fields);
  void set_in_item(FuzzInput& input);
  void overwrite(FuzzInput& input);
  void copy_record(FuzzInput& input);
  void craft_record(FuzzInput& input);
  void set_superblock(FuzzInput& input);
  void put(std::uint64_t offset, std::uint64_t value, std::size_t bytes);
  [[nodiscard]] std::uint64_t get(std::uint64_t offset, std::size_t bytes) const;

  const LogSample& sample_;
  std::vector<std::byte> ring_;    ///< rotated, as in the sample
  std::set<std::uint64_t> moved_;  ///< where else records begin
  Superblock superblock_;
  bool superblock_changed_ = false;
};

}  // namespace cordwood::test
