#include "cli/remove_tree.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

#include "transfer/directory_reader.hpp"

namespace cordwood::cli {

namespace {

struct Level {
  InodeNumber parent;
  std::string name;
  InodeNumber inode;
  DirectoryReader reader;
  std::size_t path_bytes = 0;
};

}  // namespace

Outcome<void> remove_tree(Volume& volume, InodeNumber parent, const std::string& name,
                          const std::string& start_path) {
  std::string path = start_path;
  const Attributes start = TRY(about(path, volume.lookup(parent, name)));
  // On a damaged volume directories may form a loop.
  std::unordered_set<std::uint64_t> seen{start.inode.value};
  std::vector<Level> levels;
  levels.push_back({parent, name, start.inode, DirectoryReader(volume, start.inode), path.size()});
  while (!levels.empty()) {
    Level& level = levels.back();
    path.resize(level.path_bytes);
    const auto entry = TRY(about(path, level.reader.next()));
    if (!entry) {
      TRY(about(path, volume.remove_directory(level.parent, level.name)));
      levels.pop_back();
      continue;
    }
    path.append("/").append(entry->name);
    if (entry->type != FileType::kDirectory) {
      TRY(about(path, volume.unlink(level.inode, entry->name)));
      continue;
    }
    if (!seen.insert(entry->inode.value).second) {
      return volume_failure(
          corrupt(Place::kInode, entry->inode.value, "directory is reached by two paths"), path);
    }
    levels.push_back({level.inode, entry->name, entry->inode, DirectoryReader(volume, entry->inode),
                      path.size()});
  }
  return {};
}

}  // namespace cordwood::cli
