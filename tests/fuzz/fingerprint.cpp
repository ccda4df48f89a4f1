#include <algorithm>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "fuzz/log_sample.hpp"

namespace cordwood::test {

namespace {

constexpr std::uint64_t kBytesReadMax = 256_KiB;
constexpr std::size_t kObjectsMax = 10'000;

/// Everything that was seen, mixed in the order in which it was seen.
struct Mix {
  std::uint64_t value = 1;
  void add(std::uint64_t number) { value = mix_seed(value, number); }
  void add(ConstBytes bytes) { value = checksum(bytes, value); }
  void add(const Error& error) { add(~static_cast<std::uint64_t>(error.code)); }
};

void add_xattrs(Mix& mix, Volume& volume, InodeNumber inode) {
  auto names = volume.list_xattrs(inode);
  if (!names) return mix.add(names.error());
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    mix.add(as_bytes(name));
    if (const auto value = volume.xattr(inode, name)) {
      mix.add(*value);
    } else {
      mix.add(value.error());
    }
  }
}

void add_content(Mix& mix, Volume& volume, const Attributes& inode) {
  if (inode.type() == FileType::kSymlink) {
    if (const auto target = volume.read_symlink(inode.inode)) mix.add(as_bytes(*target));
  }
  if (inode.type() != FileType::kRegular) return;
  std::vector<std::byte> data(std::min(inode.size, kBytesReadMax));
  if (const auto read = volume.read(inode.inode, 0, data)) {
    mix.add(ConstBytes(data).first(*read));
  } else {
    mix.add(read.error());
  }
}

}  // namespace

std::uint64_t fingerprint(Volume& volume) {
  Mix mix;
  std::vector<InodeNumber> directories{kRootInode};
  for (std::size_t seen = 0; !directories.empty() && seen < kObjectsMax;) {
    const InodeNumber directory = directories.back();
    directories.pop_back();
    std::vector<InodeNumber> children;
    const auto listed = volume.read_directory(directory, 0, [&](const DirectoryEntry& entry) {
      mix.add(entry.inode.value);
      mix.add(as_bytes(entry.name));
      if (entry.cookie >= kFirstDirIndex) children.push_back(entry.inode);
      return ++seen < kObjectsMax;
    });
    if (!listed) mix.add(listed.error());
    for (const InodeNumber child : children) {
      const auto inode = volume.attributes(child);
      if (!inode) {
        mix.add(inode.error());
        continue;
      }
      mix.add(inode->mode);
      mix.add(inode->size);
      mix.add(inode->links);
      add_content(mix, volume, *inode);
      add_xattrs(mix, volume, child);
      if (inode->is_directory()) directories.push_back(child);
    }
  }
  return mix.value;
}

}  // namespace cordwood::test
