#include "cli/make_directories.hpp"

#include <unistd.h>

#include <string>

namespace cordwood::cli {

NewInode new_inode_of_caller(FileType type, std::uint32_t permissions) {
  NewInode what;
  what.type = type;
  what.permissions = permissions;
  what.uid = ::geteuid();
  what.gid = ::getegid();
  return what;
}

Outcome<InodeNumber> make_directories(Volume& volume, std::string_view path,
                                      const DirectoryDefaults& defaults) {
  std::size_t end = 0;
  Attributes here = TRY(about("/", volume.resolve("/")));
  while (end < path.size()) {
    const std::size_t start = path.find_first_not_of('/', end);
    if (start == std::string_view::npos) break;
    end = std::min(path.find('/', start), path.size());
    const std::string_view up_to_here = path.substr(0, end);
    auto next = volume.resolve(up_to_here, FollowLast::kYes);
    if (!next && next.error().code == Errc::kNoEntry) {
      next = volume.make_directory(here.inode, path.substr(start, end - start),
                                   new_inode_of_caller(FileType::kDirectory, defaults.permissions));
    }
    here = TRY(about(up_to_here, std::move(next)));
    if (!here.is_directory()) {
      return volume_failure(make_error(Errc::kNotDirectory, "is in the way"), up_to_here);
    }
  }
  return here.inode;
}

}  // namespace cordwood::cli
