#include "cli/walk.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

namespace cordwood::cli {

namespace {

struct Level {
  DirectoryReader reader;
  std::size_t path_bytes = 0;
};

}  // namespace

void walk_volume(Volume& volume, InodeNumber directory, std::string path,
                 DirectoryReader::Order order,
                 const std::function<Outcome<Descend>(const Visit&)>& visitor,
                 const std::function<void(const std::string& path, const Failure&)>& on_failure) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  std::unordered_set<std::uint64_t> seen{directory.value};
  std::vector<Level> levels;
  levels.push_back({DirectoryReader(volume, directory, order), path.size()});
  while (!levels.empty()) {
    Level& level = levels.back();
    path.resize(level.path_bytes);
    const auto next = level.reader.next();
    if (!next) {
      on_failure(path.empty() ? "/" : path, volume_failure(next.error()));
      continue;
    }
    if (!*next) {
      levels.pop_back();
      continue;
    }
    const DirectoryReader::Entry& entry = **next;
    path.append("/").append(entry.name);
    const bool last = level.reader.at_end();
    const auto descend = visitor({path, entry, levels.size() - 1, last});
    if (!descend) {
      on_failure(path, descend.error());
    } else if (*descend == Descend::kYes && entry.type == FileType::kDirectory) {
      if (seen.insert(entry.inode.value).second) {
        levels.push_back({DirectoryReader(volume, entry.inode, order), path.size()});
      } else {
        on_failure(path, volume_failure(corrupt(Place::kInode, entry.inode.value,
                                                "directory is reached by two paths")));
      }
    }
  }
}

}  // namespace cordwood::cli
