#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "io/unique_fd.hpp"

namespace cordwood {

enum class FileOpenMode : std::uint8_t { kReadOnly, kReadWrite };

/// Whether transfers go around the host's page cache.
enum class FileCaching : std::uint8_t {
  kDirect,    ///< O_DIRECT where the file takes it, else buffered
  kBuffered,  ///< through the host's page cache
};

/// A file or block device that is open, locked and understood.
struct OpenedFile {
  UniqueFd fd;
  DeviceGeometry geometry;
  bool block_device = false;
  bool direct = false;
  /// Whether the kernel can say that a read would block, so that a ring can run reads in parallel
  /// without a worker thread for each.
  bool reads_without_waiting = false;
  std::uint32_t memory_alignment = 1;  ///< of transfers
};

/// Opens an existing regular file or block device and locks it: shared for reading, else exclusive.
/// @param sector_bytes_max  @see FileOptions
/// @errors one class and sentence for each thing that can be wrong with a path; kBusy if it is in
///         use.
[[nodiscard]] Result<OpenedFile> open_file(const char* path, FileOpenMode mode, FileCaching caching,
                                           std::uint32_t sector_bytes_max);

/// Makes a regular file `bytes` long, or gives an existing one that size; as holes.
/// @param discard_content  whether an existing file may lose bytes; then it loses all of them.
/// @errors kExists if it is longer and may not; kBusy if it is in use; else as open_file().
[[nodiscard]] Result<void> create_file(const char* path, std::uint64_t bytes, bool discard_content);

}  // namespace cordwood
