#include "support/compare.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "support/operation.hpp"

namespace cordwood::test {

namespace {

/// Larger files are read through seek_data and seek_hole.
constexpr std::uint64_t kReadWholeMax = 2_MiB;
constexpr std::size_t kReadBytes = 256_KiB;

std::string about(const ModelInode& inode) {
  return "inode " + std::to_string(inode.number.value) + ": ";
}

template <class T>
void compare_field(std::string& difference, const char* name, T expected, T actual) {
  if (expected == actual) return;
  difference += std::string(" ") + name + " is " + std::to_string(actual) + ", should be " +
                std::to_string(expected) + ';';
}

void compare_time(std::string& difference, const char* name, const Timestamp& expected,
                  const Timestamp& actual) {
  if (expected == actual) return;
  difference +=
      std::string(" ") + name + " is " + to_text(actual) + ", should be " + to_text(expected) + ';';
}

struct Listed {
  std::uint64_t cookie;
  InodeNumber inode;
  FileType type;
  std::string name;
};

Result<std::vector<Listed>> list(Volume& volume, InodeNumber directory,
                                 std::uint32_t entries_a_call, std::size_t entries_max) {
  std::vector<Listed> listed;
  std::uint64_t cookie = 0;
  for (;;) {
    std::uint32_t seen = 0;
    TRY(volume.read_directory(directory, cookie, [&](const DirectoryEntry& entry) {
      listed.push_back({entry.cookie, entry.inode, entry.type, std::string(entry.name)});
      ++seen;
      return seen != entries_a_call && listed.size() < entries_max;
    }));
    if (entries_a_call == 0 || seen < entries_a_call || listed.size() >= entries_max) break;
    cookie = listed.back().cookie;
  }
  return listed;
}

}  // namespace

std::string to_text(const Timestamp& time) {
  return std::to_string(time.seconds) + "s" + std::to_string(time.nanoseconds) + "ns";
}

std::string compare_attributes(const Attributes& expected, const Attributes& actual) {
  std::string difference;
  compare_field(difference, "number", expected.inode.value, actual.inode.value);
  compare_field(difference, "mode", expected.mode, actual.mode);
  compare_field(difference, "links", expected.links, actual.links);
  compare_field(difference, "uid", expected.uid, actual.uid);
  compare_field(difference, "gid", expected.gid, actual.gid);
  compare_field(difference, "size", expected.size, actual.size);
  compare_field(difference, "rdev", expected.rdev, actual.rdev);
  compare_time(difference, "access", expected.access, actual.access);
  compare_time(difference, "modify", expected.modify, actual.modify);
  compare_time(difference, "change", expected.change, actual.change);
  compare_time(difference, "birth", expected.birth, actual.birth);
  if (expected.type() == FileType::kRegular) {
    // How a file is held is the volume's affair, but an empty one holds nothing, and no file more
    // than the granules that it reaches.
    const bool possible =
        expected.size == 0 ? actual.bytes == 0 : actual.bytes / 4096 <= expected.size / 4096 + 1;
    if (!possible) difference += " bytes is " + std::to_string(actual.bytes) + ';';
  }
  if (difference.empty()) return {};
  return "inode " + std::to_string(expected.inode.value) + ':' + difference;
}

std::string compare_volume(const ModelFs& model, Volume& volume) {
  return Comparer(model, volume).all();
}

std::string Comparer::refusal(const ModelInode& inode, const std::string& call,
                              const Error& error) {
  if (tolerance_ == Tolerance::kDamage &&
      (error.code == Errc::kCorrupt || error.code == Errc::kIo)) {
    ++refused_;
    return {};
  }
  return about(inode) + call + ": " + error.message();
}

std::string Comparer::all() {
  for (const auto& [number, inode] : model_.inodes()) {
    if (std::string wrong = this->inode(*inode); !wrong.empty()) return wrong;
  }
  return {};
}

std::string Comparer::inode(const ModelInode& inode) {
  const auto actual = volume_.attributes(inode.number);
  std::string wrong = actual ? compare_attributes(inode.attributes(), *actual)
                             : refusal(inode, "attributes", actual.error());
  if (wrong.empty()) wrong = xattrs(inode);
  if (wrong.empty()) wrong = content(inode);
  if (wrong.empty() && inode.is_directory()) wrong = directory(inode, 0);
  if (wrong.empty() && inode.is_directory()) wrong = lookups(inode);
  return wrong;
}

std::string Comparer::lookups(const ModelInode& directory) {
  for (const auto& [name, child] : directory.entries) {
    const auto found = volume_.lookup(directory.number, name);
    if (!found) {
      std::string wrong = refusal(directory, "lookup \"" + escape(name) + '"', found.error());
      if (!wrong.empty()) return wrong;
    } else if (found->inode != child) {
      return about(directory) + "lookup \"" + escape(name) + "\" is wrong";
    }
  }
  return {};
}

std::string Comparer::directory(const ModelInode& directory, std::uint32_t entries_a_call) {
  const std::size_t entries_max = directory.entries.size() + 20;
  const auto listed = list(volume_, directory.number, entries_a_call, entries_max);
  const bool removed = directory.links == 0;
  if (!listed) {
    if (removed && listed.error().code == Errc::kNoEntry) return {};
    return refusal(directory, "listing", listed.error());
  }
  std::set<std::string_view> seen;
  std::uint64_t cookie = 0;
  for (const Listed& entry : *listed) {
    const std::string which = about(directory) + "entry \"" + escape(entry.name) + "\" ";
    if (entry.cookie <= cookie) return which + "has a cookie that does not grow";
    cookie = entry.cookie;
    if (!seen.insert(entry.name).second) return which + "comes twice";
    InodeNumber expected = model_.child(directory.number, entry.name);
    if (entry.name == ".") expected = directory.number;
    if (entry.name == "..") expected = removed ? entry.inode : directory.parent;
    if (expected.value == 0) return which + "should not exist";
    if (entry.inode != expected) {
      return which + "is inode " + std::to_string(entry.inode.value) + ", should be " +
             std::to_string(expected.value);
    }
    const ModelInode* child = model_.find(expected);
    if (child != nullptr && entry.type != child->type()) return which + "has a wrong type";
  }
  if (removed && listed->empty()) return {};
  if (listed->size() < 2 || (*listed)[0].name != "." || (*listed)[1].name != "..") {
    return about(directory) + "listing does not begin with . and ..";
  }
  for (const auto& [name, inode] : directory.entries) {
    if (seen.count(name) == 0)
      return about(directory) + "entry \"" + escape(name) + "\" is missing";
  }
  return {};
}

std::string Comparer::xattrs(const ModelInode& inode) {
  auto listed = volume_.list_xattrs(inode.number);
  if (!listed) return refusal(inode, "listing xattrs", listed.error());
  std::sort(listed->begin(), listed->end());
  std::vector<std::string> expected;
  for (const auto& [name, value] : inode.xattrs) expected.push_back(name);
  if (*listed != expected) {
    std::string text = about(inode) + "xattrs are";
    for (const std::string& name : *listed) text += ' ' + escape(name);
    text += ", should be";
    for (const std::string& name : expected) text += ' ' + escape(name);
    return text;
  }
  for (const auto& [name, value] : inode.xattrs) {
    const auto actual = volume_.xattr(inode.number, name);
    if (!actual) {
      std::string wrong = refusal(inode, "xattr " + escape(name), actual.error());
      if (!wrong.empty()) return wrong;
    } else if (*actual != *value) {
      return about(inode) + "xattr " + escape(name) + " has a wrong value";
    }
  }
  return {};
}

std::string Comparer::content(const ModelInode& inode) {
  if (inode.type() == FileType::kSymlink) {
    const auto target = volume_.read_symlink(inode.number);
    if (!target) return refusal(inode, "read_symlink", target.error());
    if (*target != inode.target) return about(inode) + "wrong symlink target";
    return {};
  }
  if (inode.type() != FileType::kRegular) return {};
  if (inode.content.size() > kReadWholeMax) return sparse(inode);
  return range(inode, 0, inode.content.size() + 1);
}

std::string Comparer::range(const ModelInode& inode, std::uint64_t offset, std::uint64_t end) {
  std::vector<std::byte> actual;
  std::vector<std::byte> expected;
  while (offset < end) {
    const std::size_t want = std::min<std::uint64_t>(kReadBytes, end - offset);
    actual.assign(want, std::byte{0xee});
    expected.resize(want);
    const std::size_t there = inode.content.read(offset, expected);
    const Result<std::size_t> count = volume_.read(inode.number, offset, actual);
    if (!count) {
      std::string wrong = refusal(inode, "read at " + std::to_string(offset), count.error());
      if (!wrong.empty()) return wrong;
    } else if (*count != there) {
      return about(inode) + "read " + std::to_string(*count) + " bytes at " +
             std::to_string(offset) + ", should be " + std::to_string(there);
    } else if (there != 0 && std::memcmp(actual.data(), expected.data(), there) != 0) {
      const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first;
      return about(inode) + "wrong byte at " + std::to_string(offset + (at - actual.begin()));
    }
    offset += want;
  }
  return {};
}

std::string Comparer::sparse(const ModelInode& inode) {
  const std::uint64_t size = inode.content.size();
  std::uint64_t at = 0;
  while (at < size) {
    const Result<std::uint64_t> data = volume_.seek_data(inode.number, at);
    if (!data && data.error().code != Errc::kNoData) {
      return refusal(inode, "seek_data", data.error());
    }
    const std::uint64_t begin = data ? *data : size;
    if (begin < at || begin > size || inode.content.next_nonzero(at) < begin) {
      return about(inode) + "seek_data(" + std::to_string(at) + ") is " + std::to_string(begin) +
             ", but there is data at " + std::to_string(inode.content.next_nonzero(at));
    }
    if (begin == size) break;
    const Result<std::uint64_t> hole = volume_.seek_hole(inode.number, begin);
    if (!hole) return refusal(inode, "seek_hole", hole.error());
    if (*hole <= begin || *hole > size) {
      return about(inode) + "seek_hole(" + std::to_string(begin) + ") is " + std::to_string(*hole) +
             " where data begins";
    }
    if (std::string wrong = range(inode, begin, *hole); !wrong.empty()) return wrong;
    at = *hole;
  }
  return {};
}

}  // namespace cordwood::test
