#include "transfer/export.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cordwood {

namespace {

/// Makes a name of the host, in place of one that is not a directory.
/// @param make  tries once and returns a descriptor, 0 or -1 with errno; called again when the old
///              name is gone.
template <class Make>
Outcome<int> make_or_replace(int directory, const char* name, const char* action,
                             const Make& make) {
  int made = make();
  if (made < 0 && errno == EEXIST) {
    // A directory is refused by this call: EISDIR.
    if (::unlinkat(directory, name, 0) != 0) return host_failure(errno, "replace");
    made = make();
  }
  if (made < 0) return host_failure(errno, action);
  return made;
}

}  // namespace

Exporter::Exporter(Volume& volume, int target, TransferReport& report)
    : volume_(volume),
      target_(target),
      report_(report),
      copier_(volume,
              [this](std::uint64_t bytes) {
                report_.counts.data_bytes += bytes;
                report_.progress();
              }),
      is_root_(::geteuid() == 0) {}

bool Exporter::run(std::string_view source) {
  host_path_.clear();
  directories_seen_.clear();
  Outcome<void> result = begin(source);
  if (result) result = walk();
  if (!result) fail(result.error());
  levels_.clear();
  host_ = {};
  return !stopped_;
}

Outcome<void> Exporter::begin(std::string_view source) {
  const SplitPath split = split_path(source);
  path_ = source;
  while (!path_.empty() && path_.back() == '/') path_.pop_back();
  const FollowLast follow = split.name.empty() ? FollowLast::kYes : FollowLast::kNo;
  const Attributes attributes = TRY(about("", volume_.resolve(source, follow)));
  if (!split.name.empty()) return export_entry(split.name, attributes, target_);
  if (!attributes.is_directory()) {
    return volume_failure(make_error(Errc::kNotDirectory, "has no content to export"));
  }
  return enter(TRY(open_no_follow(target_, ".", O_RDONLY | O_DIRECTORY)), attributes);
}

Outcome<void> Exporter::walk() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    path_.resize(level.path_bytes);
    host_path_.resize(level.host_path_bytes);
    // After a stop no entry is taken, but the directories above still get their attributes.
    std::optional<DirectoryReader::Entry> entry;
    if (!stopped_) {
      auto next = level.reader.next();
      if (!next) {
        fail(volume_failure(next.error(), "read directory"));
        continue;
      }
      entry = std::move(*next);
    }
    if (entry) {
      path_.append("/").append(entry->name);
      const auto attributes = about("", volume_.attributes(entry->inode));
      const auto done = attributes ? export_entry(entry->name, *attributes, host_.fd())
                                   : Outcome<void>(attributes.error());
      if (!done) fail(done.error());
      report_.progress();
      continue;
    }
    const auto finished = set_attributes(level.attributes, {host_.fd(), nullptr});
    if (!finished) fail(finished.error());
    levels_.pop_back();
    TRY(host_.leave());
  }
  return {};
}

Outcome<void> Exporter::enter(UniqueFd directory, const Attributes& attributes) {
  if (!directories_seen_.insert(attributes.inode.value).second) {
    return volume_failure(
        corrupt(Place::kInode, attributes.inode.value, "directory is reached by two paths"));
  }
  TRY(host_.enter(std::move(directory)));
  levels_.push_back({attributes, DirectoryReader(volume_, attributes.inode), path_.size(),
                     host_path_.size(), nullptr});
  ++report_.counts.directories;
  return {};
}

Outcome<void> Exporter::export_entry(const std::string& name, const Attributes& attributes,
                                     int directory) {
  if (attributes.is_directory()) return descend(name, attributes, directory);
  if (TRY(link_if_known(name, attributes, directory))) return {};
  if (attributes.type() == FileType::kRegular) return export_file(name, attributes, directory);
  return export_plain(name, attributes, directory);
}

Outcome<void> Exporter::descend(const std::string& name, const Attributes& attributes,
                                int directory) {
  // Private until its own permissions are set, after its content.
  if (::mkdirat(directory, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return host_failure(errno, "make directory");
  }
  UniqueFd child = TRY(open_no_follow(directory, name.c_str(), O_RDONLY | O_DIRECTORY));
  host_path_.append("/").append(name);
  return enter(std::move(child), attributes);
}

Outcome<void> Exporter::export_file(const std::string& name, const Attributes& attributes,
                                    int directory) {
  const UniqueFd file(TRY(make_or_replace(directory, name.c_str(), "create", [&] {
    return ::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
  })));
  const auto copied = copier_.out_of_volume(attributes.inode, attributes.size, file.get());
  if (!copied) {
    // Half a file must not pass for a whole one.
    ::unlinkat(directory, name.c_str(), 0);
    return copied.error();
  }
  TRY(set_attributes(attributes, {file.get(), nullptr}));
  remember_links(name, attributes);
  ++report_.counts.files;
  report_.counts.bytes += attributes.size;
  return {};
}

Outcome<void> Exporter::export_plain(const std::string& name, const Attributes& attributes,
                                     int directory) {
  std::string symlink_target;
  const bool symlink = attributes.type() == FileType::kSymlink;
  if (symlink) symlink_target = TRY(about("", volume_.read_symlink(attributes.inode)));
  TRY(make_or_replace(directory, name.c_str(), symlink ? "make symlink" : "make special file", [&] {
    if (symlink) return ::symlinkat(symlink_target.c_str(), directory, name.c_str());
    const mode_t mode = (attributes.mode & static_cast<std::uint32_t>(S_IFMT)) | 0600;
    return ::mknodat(directory, name.c_str(), mode, decode_device(attributes.rdev));
  }));
  TRY(set_attributes(attributes, {directory, name.c_str()}));
  remember_links(name, attributes);
  report_.counts.add(attributes.type());
  return {};
}

Outcome<bool> Exporter::link_if_known(const std::string& name, const Attributes& attributes,
                                      int directory) {
  if (attributes.links < 2) return false;
  const auto known = linked_.find(attributes.inode.value);
  if (known == linked_.end()) return false;
  const FirstName& first = known->second;
  const int from = TRY(open_exported(first.directory));
  TRY(make_or_replace(directory, name.c_str(), "link", [&] {
    return ::linkat(from, first.name.c_str(), directory, name.c_str(), 0);
  }));
  ++report_.counts.hard_links;
  if (--known->second.names_left == 0) linked_.erase(known);
  return true;
}

void Exporter::remember_links(const std::string& name, const Attributes& attributes) {
  if (attributes.links < 2) return;
  std::shared_ptr<const std::string> directory;
  if (levels_.empty()) {
    directory = std::make_shared<const std::string>();
  } else {
    // All names of a directory share one copy of its path.
    auto& shared = levels_.back().shared_path;
    if (!shared) shared = std::make_shared<const std::string>(host_path_);
    directory = shared;
  }
  linked_[attributes.inode.value] = {std::move(directory), name, attributes.links - 1};
}

/// Opens a directory that was made before, one component at a time: its path may be longer than a
/// system call takes, and none of it may be a symlink that someone put there.
Outcome<int> Exporter::open_exported(const std::shared_ptr<const std::string>& path) {
  if (opened_path_ == path) return opened_.get();
  UniqueFd directory = TRY(open_no_follow(target_, ".", O_PATH | O_DIRECTORY));
  std::size_t start = 0;
  while (start < path->size()) {
    std::size_t end = path->find('/', start + 1);
    if (end == std::string::npos) end = path->size();
    const std::string name = path->substr(start + 1, end - start - 1);
    directory = TRY(open_no_follow(directory.get(), name.c_str(), O_PATH | O_DIRECTORY));
    start = end;
  }
  opened_ = std::move(directory);
  opened_path_ = path;
  return opened_.get();
}

Outcome<void> Exporter::set_attributes(const Attributes& attributes, const XattrTarget& to) {
  const bool owned = TRY(set_owner(attributes, to));
  TRY(copy_xattrs(attributes.inode, to));
  if (attributes.type() != FileType::kSymlink) {
    mode_t permissions = attributes.mode & 07777;
    // A set-id bit must not pass to another owner.
    if (!owned) permissions &= ~static_cast<mode_t>(S_ISUID | S_ISGID);
    const int changed = to.name == nullptr ? ::fchmod(to.fd, permissions)
                                           : ::fchmodat(to.fd, to.name, permissions, 0);
    if (changed != 0) return host_failure(errno, "set permissions");
  }
  const struct timespec times[2] = {timespec_of(attributes.access), timespec_of(attributes.modify)};
  const int set = to.name == nullptr ? ::futimens(to.fd, times)
                                     : ::utimensat(to.fd, to.name, times, AT_SYMLINK_NOFOLLOW);
  if (set != 0) return host_failure(errno, "set times");
  return {};
}

Outcome<bool> Exporter::set_owner(const Attributes& attributes, const XattrTarget& to) {
  const char* const name = to.name == nullptr ? "" : to.name;
  constexpr int kFlags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
  if (!is_root_) {
    struct stat found {};
    if (::fstatat(to.fd, name, &found, kFlags) != 0) return host_failure(errno, "stat");
    if (found.st_uid == attributes.uid && found.st_gid == attributes.gid) return true;
  }
  if (::fchownat(to.fd, name, attributes.uid, attributes.gid, kFlags) == 0) return true;
  if (is_root_ || errno != EPERM) return host_failure(errno, "set owner");
  ++report_.counts.owners_not_kept;
  return false;
}

Outcome<void> Exporter::copy_xattrs(InodeNumber from, const XattrTarget& to) {
  const auto names = TRY(about("list xattrs", volume_.list_xattrs(from)));
  for (const std::string& name : names) {
    const auto value = about("read xattr " + name, volume_.xattr(from, name));
    const auto set = value ? set_host_xattr(to, name, *value) : Outcome<void>(value.error());
    if (!set) {
      fail(set.error());
      continue;
    }
    ++report_.counts.xattrs;
  }
  return {};
}

void Exporter::fail(const Failure& failure) {
  report_.fail(path_.empty() ? "/" : path_, failure);
  if (failure.fatal) stopped_ = true;
}

}  // namespace cordwood
