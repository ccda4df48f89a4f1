#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.hpp"
#include "volume/volume.hpp"

namespace cordwood {

/// What a volume shows to its users, all of it: names, inode numbers, attributes, content, xattrs. Two
/// volumes with equal states cannot be told apart by reading.
class VolumeState {
 public:
  /// Reads everything. @errors of the volume's calls: corrupt, I/O
  static Result<VolumeState> read(Volume& volume);

  /// What it tells of one inode, and of its data and size alone; nothing if no name leads to it.
  [[nodiscard]] std::string inode(InodeNumber inode) const;
  [[nodiscard]] std::string data(InodeNumber inode) const;

  /// How it differs from another state, in words; nothing if it does not.
  [[nodiscard]] std::string difference(const VolumeState& other) const;
  friend bool operator==(const VolumeState& a, const VolumeState& b) {
    return a.names_ == b.names_ && a.inodes_ == b.inodes_;
  }

 private:
  friend class StateReader;
  struct Inode {
    std::string attributes;  ///< and xattrs
    std::string data;        ///< size, and a checksum of the content of each part that is no hole

    friend bool operator==(const Inode& a, const Inode& b) {
      return a.attributes == b.attributes && a.data == b.data;
    }
  };
  std::map<std::string, std::string> names_;  ///< by path: inode and cookie
  std::map<std::uint64_t, Inode> inodes_;
};

}  // namespace cordwood
