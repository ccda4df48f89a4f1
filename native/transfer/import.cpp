#include "transfer/import.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace cordwood {

namespace {

NewInode new_inode(const struct stat& found) {
  NewInode inode;
  inode.type = file_type_of(found.st_mode);
  inode.permissions = found.st_mode & 07777;
  inode.uid = found.st_uid;
  inode.gid = found.st_gid;
  if (S_ISCHR(found.st_mode) || S_ISBLK(found.st_mode)) inode.rdev = encode_device(found.st_rdev);
  return inode;
}

/// Makes a name, in place of one that is not a directory.
/// @param make  tries once; called again when the old name is gone.
template <class Make>
Outcome<Attributes> make_or_replace(Volume& volume, InodeNumber parent, std::string_view name,
                                    const Make& make) {
  Result<Attributes> made = make();
  if (!made && made.error().code == Errc::kExists) {
    const Attributes old = TRY(about("", volume.lookup(parent, name)));
    if (old.is_directory()) return refused("a directory of this name is in the image");
    TRY(about("replace", volume.unlink(parent, name)));
    made = make();
  }
  return about("create", std::move(made));
}

}  // namespace

Importer::Importer(Volume& volume, ImportOptions options, TransferReport& report)
    : volume_(volume),
      options_(options),
      report_(report),
      copier_(volume, [this](std::uint64_t bytes) {
        report_.counts.data_bytes += bytes;
        report_.progress();
      }) {}

bool Importer::run(std::string_view source, InodeNumber target) {
  Outcome<void> result = begin(source, target);
  if (result) result = walk();
  if (!result) fail(result.error());
  finish_levels(0);
  host_ = {};
  return !stopped_;
}

Outcome<void> Importer::begin(std::string_view source, InodeNumber target) {
  const SplitPath split = split_path(source);
  path_ = source;
  while (path_.size() > 0 && path_.back() == '/') path_.pop_back();
  if (split.name.empty()) {
    // A symlink is followed here: the slash behind it asks for what it points to.
    UniqueFd directory(::open(split.parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) return host_failure(errno, "open");
    const struct stat found = TRY(stat_of(directory.get()));
    device_ = found.st_dev;
    TRY(copy_xattrs({directory.get(), nullptr}, target));
    return enter(std::move(directory), found, target);
  }
  UniqueFd parent(::open(split.parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return host_failure(errno, "open");
  const char* const name = split.name.c_str();
  if (!TRY(take_entry(parent.get(), name, target))) return {};
  UniqueFd directory = TRY(open_to_read(parent.get(), name, O_DIRECTORY));
  const struct stat found = TRY(stat_of(directory.get()));
  device_ = found.st_dev;
  const InodeNumber inode = TRY(make_directory(name, found, target));
  TRY(copy_xattrs({directory.get(), nullptr}, inode));
  return enter(std::move(directory), found, inode);
}

Outcome<void> Importer::walk() {
  while (!levels_.empty() && !stopped_) {
    Level& level = levels_.back();
    path_.resize(level.path_bytes);
    if (level.next_directory < level.directories.size()) {
      const std::string name = std::move(level.directories[level.next_directory++]);
      path_.append("/").append(name);
      if (const auto descended = descend(name); !descended) fail(descended.error());
    } else {
      finish_levels(levels_.size() - 1);
      TRY(host_.leave());
    }
  }
  return {};
}

Outcome<void> Importer::descend(const std::string& name) {
  UniqueFd directory = TRY(open_to_read(host_.fd(), name.c_str(), O_DIRECTORY));
  const struct stat found = TRY(stat_of(directory.get()));
  const InodeNumber inode = TRY(make_directory(name.c_str(), found, levels_.back().inode));
  TRY(copy_xattrs({directory.get(), nullptr}, inode));
  if (options_.one_filesystem && found.st_dev != device_) return set_attributes(found, inode);
  return enter(std::move(directory), found, inode);
}

Outcome<void> Importer::enter(UniqueFd directory, const struct stat& found, InodeNumber inode) {
  TRY(host_.enter(std::move(directory)));
  levels_.push_back({inode, found, {}, 0, path_.size()});
  ++report_.counts.directories;
  const NameList names = TRY(NameList::read(host_.fd()));
  Level& level = levels_.back();
  for (std::size_t i = 0; i < names.size() && !stopped_; ++i) {
    path_.append("/").append(names[i]);
    const auto is_directory = take_entry(host_.fd(), names[i], inode);
    if (!is_directory) {
      fail(is_directory.error());
    } else if (*is_directory) {
      level.directories.emplace_back(names[i]);
    }
    path_.resize(level.path_bytes);
    report_.progress();
  }
  return {};
}

/// Sets the attributes of directories that are complete: their times last, after every change inside.
void Importer::finish_levels(std::size_t down_to) {
  while (levels_.size() > down_to) {
    const Level& level = levels_.back();
    path_.resize(level.path_bytes);
    const auto set = set_attributes(level.found, level.inode);
    // After a stop the reason has been told, and this one would only repeat it.
    if (!set && !stopped_) fail(set.error());
    levels_.pop_back();
  }
}

Outcome<bool> Importer::take_entry(int directory, const char* name, InodeNumber target) {
  const struct stat found = TRY(stat_no_follow(directory, name));
  if (S_ISDIR(found.st_mode)) return true;
  if (found.st_dev == options_.image_device && found.st_ino == options_.image_inode) {
    return refused("is the image itself");
  }
  if (TRY(link_if_known(found, name, target))) return false;
  if (S_ISREG(found.st_mode)) {
    TRY(import_file(directory, name, target));
  } else {
    TRY(import_plain(directory, name, found, target));
  }
  return false;
}

Outcome<void> Importer::import_file(int directory, const char* name, InodeNumber target) {
  const UniqueFd file = TRY(open_to_read(directory, name));
  const struct stat found = TRY(stat_of(file.get()));
  if (!S_ISREG(found.st_mode)) return refused("is no regular file any more");
  const Attributes made = TRY(make_or_replace(
      volume_, target, name, [&] { return volume_.create(target, name, new_inode(found)); }));
  const auto size = static_cast<std::uint64_t>(found.st_size);
  const auto copied = copier_.into_volume(file.get(), found, made.inode);
  if (!copied) {
    // Half a file must not pass for a whole one. Should this fail too, the first error says why.
    (void)volume_.unlink(target, name);
    return copied.error();
  }
  TRY(copy_xattrs({file.get(), nullptr}, made.inode));
  TRY(set_attributes(found, made.inode));
  remember_links(found, made.inode);
  ++report_.counts.files;
  report_.counts.bytes += copied->size;
  // Files of procfs and the like have a size of 0 and content all the same.
  if (size != 0 && copied->size != size) fail(refused("changed while it was read"));
  return {};
}

Outcome<void> Importer::import_plain(int directory, const char* name, const struct stat& found,
                                     InodeNumber target) {
  const InodeNumber inode = TRY(make_plain(directory, name, found, target));
  TRY(copy_xattrs({directory, name}, inode));
  TRY(set_attributes(found, inode));
  remember_links(found, inode);
  report_.counts.add(file_type_of(found.st_mode));
  return {};
}

Outcome<InodeNumber> Importer::make_plain(int directory, const char* name, const struct stat& found,
                                          InodeNumber target) {
  std::string symlink_target;
  if (S_ISLNK(found.st_mode)) symlink_target = TRY(read_host_symlink(directory, name));
  const NewInode what = new_inode(found);
  const Attributes made = TRY(make_or_replace(volume_, target, name, [&] {
    return S_ISLNK(found.st_mode) ? volume_.make_symlink(target, name, symlink_target, what)
                                  : volume_.create(target, name, what);
  }));
  return made.inode;
}

Outcome<InodeNumber> Importer::make_directory(const char* name, const struct stat& found,
                                              InodeNumber target) {
  auto made = volume_.make_directory(target, name, new_inode(found));
  if (!made && made.error().code == Errc::kExists) {
    made = volume_.lookup(target, name);
    if (made && !made->is_directory()) {
      return refused("something that is no directory has this name in the image");
    }
  }
  if (!made) return volume_failure(made.error(), "make directory");
  return made->inode;
}

Outcome<bool> Importer::link_if_known(const struct stat& found, const char* name,
                                      InodeNumber target) {
  if (found.st_nlink < 2) return false;
  const auto known = linked_.find({found.st_dev, found.st_ino});
  if (known == linked_.end()) return false;
  const InodeNumber inode = known->second.inode;
  // Replacing a name by itself would drop what is to be linked.
  const auto there = volume_.lookup(target, name);
  if (!there || there->inode != inode) {
    TRY(make_or_replace(volume_, target, name, [&] { return volume_.link(inode, target, name); }));
  }
  ++report_.counts.hard_links;
  if (--known->second.names_left == 0) linked_.erase(known);
  return true;
}

void Importer::remember_links(const struct stat& found, InodeNumber inode) {
  if (found.st_nlink < 2) return;
  linked_[{found.st_dev, found.st_ino}] = {inode, found.st_nlink - 1};
}

Outcome<void> Importer::copy_xattrs(const XattrTarget& from, InodeNumber to) {
  const std::vector<std::string> names = TRY(list_host_xattrs(from));
  for (const std::string& name : names) {
    const auto value = host_xattr(from, name);
    if (!value) {
      fail(value.error());
      continue;
    }
    const auto set = volume_.set_xattr(to, name, *value);
    if (!set) {
      const Failure failure = volume_failure(set.error(), "set xattr " + name);
      if (failure.fatal) return failure;
      fail(failure);
      continue;
    }
    ++report_.counts.xattrs;
  }
  return {};
}

Outcome<void> Importer::set_attributes(const struct stat& found, InodeNumber inode) {
  AttributeChanges changes;
  changes.access = timestamp_of(found.st_atim);
  changes.modify = timestamp_of(found.st_mtim);
  if (S_ISDIR(found.st_mode)) {
    changes.uid = found.st_uid;
    changes.gid = found.st_gid;
  }
  // Writing may have cleared set-id bits, and a directory may have been there before.
  if (!S_ISLNK(found.st_mode)) changes.permissions = found.st_mode & 07777;
  TRY(about("set attributes", volume_.set_attributes(inode, changes)));
  return {};
}

void Importer::fail(const Failure& failure) {
  report_.fail(path_, failure);
  if (failure.fatal) stopped_ = true;
}

}  // namespace cordwood
