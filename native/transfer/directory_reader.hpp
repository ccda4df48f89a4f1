#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "volume/volume.hpp"

namespace cordwood {

/// Gives the entries of a directory of a volume one by one, "." and ".." left out.
class DirectoryReader {
 public:
  enum class Order : std::uint8_t {
    kStored,  ///< as the directory has them, some hundred at a time in memory
    kByName,  ///< in byte order, all of them in memory
  };
  struct Entry {
    std::string name;
    InodeNumber inode;
    FileType type = FileType::kRegular;
  };

  DirectoryReader(Volume& volume, InodeNumber directory, Order order = Order::kStored)
      : volume_(&volume), directory_(directory), order_(order) {}

  /// The next entry; none at the end.
  /// @errors those of Volume::read_directory; kCorrupt for a name that no directory may hold, since
  ///         it would lead out of the tree that is being copied.
  Result<std::optional<Entry>> next();
  /// Whether no entry is left; an error may still be.
  bool at_end();

 private:
  void fill();

  Volume* volume_;
  InodeNumber directory_;
  Order order_;
  std::vector<Entry> entries_;
  std::size_t position_ = 0;
  std::uint64_t cookie_ = 0;
  bool complete_ = false;       ///< nothing more is to be read
  std::optional<Error> error_;  ///< why reading ended early; given out once, after the entries
};

}  // namespace cordwood
