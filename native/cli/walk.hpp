#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "failure.hpp"
#include "transfer/directory_reader.hpp"
#include "volume/volume.hpp"

namespace cordwood::cli {

/// One entry that a walk meets.
struct Visit {
  const std::string& path;  ///< from the root of the volume; valid during the visit
  const DirectoryReader::Entry& entry;
  std::size_t depth = 0;  ///< 0: in the directory where the walk began
  bool last = false;      ///< nothing follows it in its directory
};

enum class Descend : std::uint8_t { kNo, kYes };

/// Visits everything below a directory, parents before children, without recursion: depth is limited
/// by memory alone. A directory that cannot be read to its end is reported and left; so is one that
/// is met twice, as only a damaged volume has it.
///
/// @param path        of the directory, for the paths that the visitor sees.
/// @param visitor     kYes goes into an entry that is a directory.
/// @param on_failure  told the path and what is wrong with it; the walk goes on.
void walk_volume(Volume& volume, InodeNumber directory, std::string path,
                 DirectoryReader::Order order,
                 const std::function<Outcome<Descend>(const Visit&)>& visitor,
                 const std::function<void(const std::string& path, const Failure&)>& on_failure);

}  // namespace cordwood::cli
