#include "transfer/host_directory_stack.hpp"

#include <fcntl.h>

#include <utility>

namespace cordwood {

Outcome<void> HostDirectoryStack::enter(UniqueFd directory) {
  const struct stat found = TRY(stat_of(directory.get()));
  levels_.push_back({std::move(directory), found.st_dev, found.st_ino});
  if (levels_.size() > kOpenMax) levels_[levels_.size() - 1 - kOpenMax].fd = UniqueFd();
  return {};
}

Outcome<void> HostDirectoryStack::leave() {
  const Level left = std::move(levels_.back());
  levels_.pop_back();
  if (levels_.empty() || levels_.back().fd.valid()) return {};
  Level& parent = levels_.back();
  UniqueFd fd = TRY(open_to_read(left.fd.get(), "..", O_DIRECTORY));
  const struct stat found = TRY(stat_of(fd.get()));
  if (found.st_dev != parent.device || found.st_ino != parent.inode) {
    return refused("the directory above was moved meanwhile");
  }
  parent.fd = std::move(fd);
  return {};
}

}  // namespace cordwood
