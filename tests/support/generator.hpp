#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/random.hpp"
#include "support/model_fs.hpp"
#include "support/operation.hpp"
#include "support/workload_config.hpp"

namespace cordwood::test {

/// Draws operations at random, fit for the state that a model is in: mostly ones that succeed.
///
/// The weights change in phases, so that the tree grows, is churned, and shrinks again. The same
/// seed and the same states give the same operations.
class Generator {
 public:
  /// @param handle  what a handle slot holds, 0 for nothing.
  Generator(const WorkloadConfig& config, std::uint64_t seed,
            std::function<InodeNumber(std::uint32_t)> handle)
      : config_(config), random_(seed), handle_(std::move(handle)) {}

  [[nodiscard]] Operation next(const ModelFs& model);

  /// The n-th name of this workload: short, long, or of bytes that nobody would choose.
  [[nodiscard]] static std::string name(std::uint64_t n);

 private:
  struct Picked {
    std::string path;
    InodeNumber inode;  ///< 0: no such entry
  };

  void begin_phase(const ModelFs& model);
  [[nodiscard]] Operation::Kind pick_kind();
  [[nodiscard]] std::string any_name();
  /// A directory, by a random walk from the root, or now and then from a handle.
  [[nodiscard]] Picked directory(const ModelFs& model);
  /// An entry of a directory; without entries a name that is not there.
  [[nodiscard]] Picked entry(const ModelFs& model, const Picked& directory);
  [[nodiscard]] Picked existing(const ModelFs& model);
  [[nodiscard]] Picked existing_of(const ModelFs& model, FileType type);
  [[nodiscard]] std::string new_path(const ModelFs& model);
  [[nodiscard]] std::uint64_t size_near_edges();
  [[nodiscard]] std::uint64_t offset_in(const ModelFs& model, InodeNumber inode);
  [[nodiscard]] Timestamp time();

  void fill_names(const ModelFs& model, Operation& operation);
  void fill_data(const ModelFs& model, Operation& operation);
  void fill_attributes(const ModelFs& model, Operation& operation);
  void fill_state(const ModelFs& model, Operation& operation);

  WorkloadConfig config_;
  Random random_;
  std::function<InodeNumber(std::uint32_t)> handle_;
  std::uint32_t phase_ = 0;
  std::uint64_t phase_left_ = 0;
  bool too_much_data_ = false;
};

}  // namespace cordwood::test
