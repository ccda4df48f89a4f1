#pragma once

#include <cstdint>
#include <string_view>

#include "failure.hpp"
#include "volume/volume.hpp"

namespace cordwood::cli {

/// What directories that are made on the way get.
struct DirectoryDefaults {
  std::uint32_t permissions = 0755;
};

/// Gives the directory that a path names and makes what is missing, as mkdir -p does.
/// @errors something on the way is no directory; names the path.
[[nodiscard]] Outcome<InodeNumber> make_directories(Volume& volume, std::string_view path,
                                                    const DirectoryDefaults& defaults);

/// What a new object of the command line starts with: it belongs to the caller.
[[nodiscard]] NewInode new_inode_of_caller(FileType type, std::uint32_t permissions);

}  // namespace cordwood::cli
