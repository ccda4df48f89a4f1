// Paths: resolve() and resolve_parent() of Volume.

#include <string>

#include "fs/filesystem.hpp"
#include "volume/engine.hpp"

namespace cordwood {

namespace {

/// Symbolic links that one path may lead through, as Linux has it.
constexpr int kLinksMax = 40;

Error not_absolute() { return make_error(Errc::kInvalid, "a path begins with \"/\""); }

std::size_t after_slashes(std::string_view path, std::size_t at) {
  const std::size_t next = path.find_first_not_of('/', at);
  return next == std::string_view::npos ? path.size() : next;
}

}  // namespace

Result<Attributes> Volume::resolve(std::string_view path, FollowLast follow) {
  if (path.empty() || path.front() != '/') return not_absolute();
  Filesystem& fs = *engine_->filesystem;
  std::string rest(path);
  std::size_t position = after_slashes(rest, 0);
  Attributes at = TRY(fs.attributes(kRootInode));
  int links = 0;
  while (position < rest.size()) {
    if (!at.is_directory())
      return make_error(Errc::kNotDirectory, "a part of the path is no directory");
    const std::size_t end = std::min(rest.find('/', position), rest.size());
    const std::string name = rest.substr(position, end - position);
    position = after_slashes(rest, end);
    if (name == ".") continue;
    if (name == "..") {
      at = TRY(fs.attributes(TRY(fs.parent_of(at.inode))));
      continue;
    }
    Attributes next = TRY(fs.lookup(at.inode, name));
    const bool last = position == rest.size();
    if (next.type() != FileType::kSymlink || (last && follow == FollowLast::kNo)) {
      at = next;
      continue;
    }
    if (++links > kLinksMax) {
      return make_error(Errc::kSymlinkLoop, "the path leads through too many symbolic links");
    }
    rest = TRY(fs.read_symlink(next.inode)) + "/" + rest.substr(position);
    position = after_slashes(rest, 0);
    if (rest.front() == '/') at = TRY(fs.attributes(kRootInode));
  }
  return at;
}

Result<std::pair<InodeNumber, std::string>> Volume::resolve_parent(std::string_view path) {
  if (path.empty() || path.front() != '/') return not_absolute();
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  if (name.empty()) return make_error(Errc::kInvalid, "the root directory has no name");
  const Attributes parent = TRY(resolve(path.substr(0, slash + 1), FollowLast::kYes));
  if (!parent.is_directory()) {
    return make_error(Errc::kNotDirectory, "a part of the path is no directory");
  }
  return std::pair<InodeNumber, std::string>(parent.inode, name);
}

}  // namespace cordwood
