#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "format/items.hpp"
#include "volume/image_reader.hpp"

namespace cordwood {

/// A piece of a file that is not what was written there.
struct DataDamage {
  InodeNumber inode;
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;   ///< one granule, or what cannot be read of an extent
  std::uint64_t device_byte = 0;
  bool readable = false;  ///< false: an I/O error; true: the checksum differs
  Error error;            ///< when it is not readable
};

/// Reads the data of extents in large batches and compares each granule with its checksum.
/// @threads one at a time.
class DataVerifier {
 public:
  /// @param damage  called for each piece that is not right; may be after a later add().
  DataVerifier(ImageReader& reader, std::function<void(const DataDamage&)> damage)
      : reader_(reader), damage_(std::move(damage)) {}

  /// Takes up an extent of kind kData; reads when enough have come together.
  void add(InodeNumber inode, const ExtentItem& extent);
  /// Reads what is left.
  void finish() { flush(); }
  /// Bytes read and compared, right or not.
  [[nodiscard]] std::uint64_t bytes_verified() const { return bytes_verified_; }

 private:
  static constexpr std::size_t kBatchBytes = 8_MiB;
  struct Waiting {
    InodeNumber inode;
    std::uint64_t offset = 0;
    BlockRun run;
    Generation generation;
    std::vector<std::byte> checksums;
    std::size_t at = 0;  ///< in buffer_
  };

  void flush();
  void verify(const Waiting& waiting, ConstBytes data);

  ImageReader& reader_;
  std::function<void(const DataDamage&)> damage_;
  std::vector<std::byte> buffer_;
  std::vector<Waiting> waiting_;
  std::size_t filled_ = 0;
  std::uint64_t bytes_verified_ = 0;
};

}  // namespace cordwood
