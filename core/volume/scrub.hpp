#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "volume/check.hpp"

namespace cordwood {

/// What to scrub, and how much to tell.
struct ScrubOptions {
  std::uint32_t files_max = 1000;  ///< tell so many damaged files; all are counted
  std::uint32_t pieces_max = 100;  ///< tell so many places in each
  std::uint32_t findings_per_kind_max = 20;
  ImageOptions image;
  std::function<bool(const CheckProgress&)> progress;  ///< as for check()
};

/// A file with data that is not what was written.
struct DamagedFile {
  InodeNumber inode;
  std::string path;  ///< one of them; empty when it has none or it cannot be told
  std::uint64_t bytes_damaged = 0;
  std::vector<DataDamage> pieces;  ///< the first few, in no order
};

/// The answer of a scrub.
struct ScrubReport {
  CheckReport check;  ///< of the structure; data_unreadable and data_checksum for the data
  std::vector<DamagedFile> files;  ///< by inode number
  std::uint64_t file_count = 0;
  std::uint64_t bytes_damaged = 0;

  [[nodiscard]] bool clean() const { return check.clean(); }
};

/// Reads everything that a volume holds, all metadata and every block of every file, and compares it
/// with its checksums. A check of the structure comes with it, since that reads the same metadata.
/// Nothing is written, and nobody may change the volume meanwhile.
/// @errors as check().
[[nodiscard]] Result<ScrubReport> scrub(BlockDevice& device, const ScrubOptions& options = {});

/// The report as lines for people: damaged files with their paths, then what check says.
[[nodiscard]] std::string render_text(const ScrubReport& report);

}  // namespace cordwood
