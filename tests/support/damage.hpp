#pragma once

#include <cstdint>
#include <string>

#include "device/sparse_image.hpp"
#include "support/model_fs.hpp"
#include "support/workload_config.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

/// What became of a damaged image.
struct DamageOutcome {
  std::string wrong;     ///< what must not be: wrong data, or damage that only one side saw
  bool named = false;    ///< `check` found it
  bool refused = false;  ///< opening or reading said so
};

/// What the damage may do at worst.
enum class DamageKind : std::uint8_t {
  kChecksummed,  ///< checksums tell: everything that is read is an error or right
  kForged,       ///< the checksums fit: anything may be read, but nothing may crash or hang
};

/// Checks, opens, walks, reads everything in, and changes a damaged image.
[[nodiscard]] DamageOutcome try_damaged(const SparseImage& image, const ModelFs& model,
                                        const WorkloadConfig& config, DamageKind kind,
                                        bool change_it);

/// Walks a whole volume without knowing what it holds; reads everything. For images that lie.
/// @return how many objects it saw.
[[nodiscard]] std::uint64_t walk_blindly(Volume& volume);

}  // namespace cordwood::test
