#pragma once

#include <string>
#include <vector>

#include "device/sparse_image.hpp"
#include "support/model_fs.hpp"
#include "support/operation.hpp"
#include "support/workload_config.hpp"

namespace cordwood::test {

/// A checkpointed volume and what it holds.
struct SampleImage {
  std::string problem;  ///< why it could not be made; empty
  SparseImage image;
  ModelFs model{Timestamp{}};
};

/// A small volume that has every kind of item and structure at least once: files of all shapes,
/// directories, links, large and small xattrs, devices, and an inode that was unlinked while open.
[[nodiscard]] SampleImage sample_image(const WorkloadConfig& config, std::uint32_t names);

/// The operations that make it, without the open handle.
[[nodiscard]] std::vector<Operation> sample_operations(std::uint32_t names);

// Short ways to say an operation.
[[nodiscard]] Operation op_create(std::string path, std::uint32_t mode = 0100644);
[[nodiscard]] Operation op_mkdir(std::string path);
[[nodiscard]] Operation op_write(std::string path, std::uint64_t offset, std::uint64_t bytes,
                                 std::uint64_t seed);
[[nodiscard]] Operation op_truncate(std::string path, std::uint64_t size);
[[nodiscard]] Operation op_xattr(std::string path, std::string name, std::uint64_t bytes,
                                 std::uint64_t seed);
[[nodiscard]] Operation op_on(Operation::Kind kind, std::string path, std::string path2 = {});

}  // namespace cordwood::test
