#include "lab/volume_state.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checksum.hpp"

namespace cordwood {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string time(const Timestamp& when) {
  return std::to_string(when.seconds) + "." + number(when.nanoseconds);
}

void append(std::string& line, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) line += word;
}

}  // namespace

/// Reads one object after the other.
class StateReader {
 public:
  StateReader(Volume& volume, VolumeState& state) : volume_(volume), state_(state) {}

  Result<void> run() {
    TRY(add(kRootInode));
    while (!pending_.empty()) {
      const Directory directory = std::move(pending_.back());
      pending_.pop_back();
      TRY(list(directory));
    }
    return {};
  }

 private:
  struct Directory {
    InodeNumber inode;
    std::string path;
  };
  struct Entry {
    InodeNumber inode;
    FileType type = FileType::kRegular;
    std::string name;
    std::uint64_t cookie = 0;
  };

  Result<void> list(const Directory& directory) {
    std::vector<Entry> entries;
    TRY(volume_.read_directory(directory.inode, 0, [&](const DirectoryEntry& entry) {
      entries.push_back({entry.inode, entry.type, std::string(entry.name), entry.cookie});
      return true;
    }));
    for (const Entry& entry : entries) {
      const std::string path = directory.path + "/" + entry.name;
      std::string line;
      append(line, {"inode ", number(entry.inode.value), " cookie ", number(entry.cookie)});
      state_.names_[path] = std::move(line);
      if (entry.name == "." || entry.name == "..") continue;
      if (entry.type == FileType::kDirectory) pending_.push_back({entry.inode, path});
      if (state_.inodes_.count(entry.inode.value) == 0) TRY(add(entry.inode));
    }
    return {};
  }

  Result<void> add(InodeNumber inode) {
    const Attributes is = TRY(volume_.attributes(inode));
    VolumeState::Inode& told = state_.inodes_[inode.value];
    append(told.attributes,
           {"mode ", number(is.mode), " links ", number(is.links), " owner ", number(is.uid), ":",
            number(is.gid), " rdev ", number(is.rdev), " times ", time(is.access), " ",
            time(is.modify), " ", time(is.change), " ", time(is.birth)});
    std::vector<std::string> names = TRY(volume_.list_xattrs(inode));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::vector<std::byte> value = TRY(volume_.xattr(inode, name));
      append(told.attributes,
             {" xattr ", name, " ", number(value.size()), ":", number(checksum(value, 0))});
    }
    append(told.data, {"size ", number(is.size), " bytes ", number(is.bytes)});
    if (is.type() == FileType::kSymlink) {
      append(told.data, {" target ", TRY(volume_.read_symlink(inode))});
    }
    if (is.type() == FileType::kRegular) TRY(add_content(inode, is.size, told.data));
    return {};
  }

  Result<void> add_content(InodeNumber inode, std::uint64_t size, std::string& line) {
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < size;) {
      Result<std::uint64_t> start = volume_.seek_data(inode, at);
      if (!start && start.error().code == Errc::kNoData) break;
      const std::uint64_t begin = TRY(std::move(start));
      at = TRY(volume_.seek_hole(inode, begin));
      append(line, {" data ", number(begin), "-", number(at)});
      for (std::uint64_t from = begin; from < at; from += bytes.size()) {
        bytes.resize(std::min<std::uint64_t>(at - from, 1_MiB));
        TRY(volume_.read(inode, from, bytes));
        append(line, {":", number(checksum(bytes, 0))});
      }
    }
    return {};
  }

  Volume& volume_;
  VolumeState& state_;
  std::vector<Directory> pending_{{kRootInode, ""}};
};

Result<VolumeState> VolumeState::read(Volume& volume) {
  VolumeState state;
  TRY(StateReader(volume, state).run());
  return state;
}

std::string VolumeState::inode(InodeNumber inode) const {
  const auto found = inodes_.find(inode.value);
  if (found == inodes_.end()) return {};
  return found->second.attributes + " " + found->second.data;
}

std::string VolumeState::data(InodeNumber inode) const {
  const auto found = inodes_.find(inode.value);
  return found == inodes_.end() ? std::string() : found->second.data;
}

std::string VolumeState::difference(const VolumeState& other) const {
  for (const auto& [path, line] : names_) {
    const auto found = other.names_.find(path);
    if (found == other.names_.end()) return path + ": is there, and is not";
    if (found->second != line) return path + ": " + line + ", and " + found->second;
  }
  for (const auto& [path, line] : other.names_) {
    if (names_.count(path) == 0) return path + ": is not there, and is";
  }
  for (const auto& [number, told] : inodes_) {
    const std::string left = inode({number});
    const std::string right = other.inode({number});
    if (left != right) return "inode " + std::to_string(number) + ": " + left + ", and " + right;
  }
  return {};
}

}  // namespace cordwood
