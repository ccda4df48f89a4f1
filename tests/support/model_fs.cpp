#include "support/model_fs.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "format/items.hpp"

namespace cordwood::test {

namespace {

constexpr int kLinksFollowedMax = 40;

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

/// What is wrong with a name that a call makes or removes.
Allowed check_name(std::string_view name) {
  Allowed errors;
  if (name.empty()) errors.push_back(Errc::kNoEntry);
  if (name.size() > kMaxNameBytes) errors.push_back(Errc::kNameTooLong);
  if (is_dots(name) || name.find('/') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos) {
    errors.push_back(Errc::kInvalid);
  }
  return errors;
}

void append(Allowed& errors, const Allowed& more) {
  errors.insert(errors.end(), more.begin(), more.end());
}

Error error_of(Errc code) { return make_error(code, "model"); }

}  // namespace

std::uint64_t ModelInode::size() const {
  switch (type()) {
    case FileType::kDirectory: return name_bytes;
    case FileType::kSymlink: return target.size();
    default: return content.size();
  }
}

Attributes ModelInode::attributes() const {
  Attributes shown;
  shown.inode = number;
  shown.mode = mode;
  shown.links = links;
  shown.uid = uid;
  shown.gid = gid;
  shown.size = size();
  shown.rdev = rdev;
  shown.access = access;
  shown.modify = modify;
  shown.change = change;
  shown.birth = birth;
  return shown;
}

ModelFs::ModelFs(Timestamp now, std::uint32_t root_mode) {
  NewInode what;
  what.permissions = root_mode;
  insert(kRootInode, FileType::kDirectory, what, now).parent = kRootInode;
}

const ModelInode* ModelFs::find(InodeNumber inode) const {
  const auto found = inodes_.find(inode.value);
  return found == inodes_.end() ? nullptr : found->second.get();
}

ModelInode& ModelFs::own(InodeNumber inode) {
  const auto found = inodes_.find(inode.value);
  CW_CHECK(found != inodes_.end());
  if (found->second.use_count() > 1) found->second = std::make_shared<ModelInode>(*found->second);
  return *found->second;
}

ModelInode& ModelFs::insert(InodeNumber number, FileType type, const NewInode& what,
                            Timestamp now) {
  auto inode = std::make_shared<ModelInode>();
  inode->number = number;
  inode->mode = make_mode(type, what.permissions);
  inode->links = type == FileType::kDirectory ? 2 : 1;
  inode->uid = what.uid;
  inode->gid = what.gid;
  const bool device = type == FileType::kCharDevice || type == FileType::kBlockDevice;
  inode->rdev = device ? what.rdev : 0;
  inode->access = inode->modify = inode->change = inode->birth = now;
  const auto [place, fresh] = inodes_.emplace(number.value, std::move(inode));
  CW_CHECK(fresh);
  return *place->second;
}

// ---- paths ----

Result<InodeNumber> ModelFs::resolve(std::string_view path, FollowLast follow) const {
  if (path.empty() || path.front() != '/') return error_of(Errc::kInvalid);
  return resolve_from(kRootInode, path.substr(1), follow);
}

Result<InodeNumber> ModelFs::resolve_from(InodeNumber directory, std::string_view path,
                                          FollowLast follow) const {
  InodeNumber at = directory;
  std::string rest(path);
  int followed = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    const ModelInode* here = find(at);
    if (here == nullptr) return error_of(Errc::kNoEntry);
    if (!here->is_directory()) return error_of(Errc::kNotDirectory);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = here->parent;
      continue;
    }
    if (name.size() > kMaxNameBytes) return error_of(Errc::kNameTooLong);
    const auto entry = here->entries.find(name);
    if (entry == here->entries.end()) return error_of(Errc::kNoEntry);
    const ModelInode* next = find(entry->second);
    const bool last = rest.find_first_not_of('/') == std::string::npos;
    if (next->type() == FileType::kSymlink && (!last || follow == FollowLast::kYes)) {
      if (++followed > kLinksFollowedMax) return error_of(Errc::kSymlinkLoop);
      if (next->target.front() == '/') at = kRootInode;
      rest = next->target + (rest.empty() ? "" : "/" + rest);
      continue;
    }
    at = entry->second;
  }
  return at;
}

InodeNumber ModelFs::child(InodeNumber parent, std::string_view name) const {
  const ModelInode* directory = find(parent);
  if (directory == nullptr) return {};
  const auto entry = directory->entries.find(name);
  return entry == directory->entries.end() ? InodeNumber{} : entry->second;
}

// ---- what is wrong with names ----

Allowed ModelFs::check_new_name(InodeNumber parent, std::string_view name) const {
  Allowed errors = check_name(name);
  const ModelInode* directory = find(parent);
  if (directory == nullptr) {
    append(errors, {Errc::kNoEntry, Errc::kStale});
  } else if (!directory->is_directory()) {
    errors.push_back(Errc::kNotDirectory);
  } else if (directory->links == 0) {
    errors.push_back(Errc::kNoEntry);
  } else if (child(parent, name).value != 0) {
    errors.push_back(Errc::kExists);
  }
  return errors;
}

Allowed ModelFs::check_old_name(InodeNumber parent, std::string_view name) const {
  Allowed errors = check_name(name);
  const ModelInode* directory = find(parent);
  if (directory == nullptr) {
    append(errors, {Errc::kNoEntry, Errc::kStale});
  } else if (!directory->is_directory()) {
    errors.push_back(Errc::kNotDirectory);
  } else if (child(parent, name).value == 0) {
    errors.push_back(Errc::kNoEntry);
  }
  return errors;
}

Allowed ModelFs::allow_lookup(InodeNumber parent, std::string_view name) const {
  return check_old_name(parent, name);
}

// ---- entries ----

void ModelFs::add_entry(InodeNumber parent, std::string_view name, InodeNumber inode,
                        Timestamp now) {
  ModelInode& directory = own(parent);
  const bool fresh = directory.entries.emplace(std::string(name), inode).second;
  CW_CHECK(fresh);
  directory.name_bytes += name.size();
  directory.modify = directory.change = now;
}

void ModelFs::remove_entry(InodeNumber parent, std::string_view name, Timestamp now) {
  ModelInode& directory = own(parent);
  const auto entry = directory.entries.find(name);
  CW_CHECK(entry != directory.entries.end());
  directory.entries.erase(entry);
  directory.name_bytes -= name.size();
  directory.modify = directory.change = now;
}

void ModelFs::drop_link(InodeNumber inode, Timestamp now) {
  ModelInode& target = own(inode);
  target.links = target.is_directory() ? 0 : target.links - 1;
  target.change = now;
  forget_if_dead(inode);
}

void ModelFs::forget_if_dead(InodeNumber inode) {
  const ModelInode* target = find(inode);
  if (target->links == 0 && target->handles == 0) inodes_.erase(inode.value);
}

Allowed ModelFs::allow_create(InodeNumber parent, std::string_view name) const {
  return check_new_name(parent, name);
}

void ModelFs::create(InodeNumber parent, std::string_view name, InodeNumber number, FileType type,
                     const NewInode& what, Timestamp now) {
  insert(number, type, what, now);
  add_entry(parent, name, number, now);
  if (type == FileType::kDirectory) {
    own(number).parent = parent;
    ++own(parent).links;
  }
}

Allowed ModelFs::allow_symlink(InodeNumber parent, std::string_view name,
                               std::string_view target) const {
  Allowed errors = check_new_name(parent, name);
  if (target.empty()) append(errors, {Errc::kInvalid, Errc::kNoEntry});
  if (target.size() > 4095) append(errors, {Errc::kInvalid, Errc::kNameTooLong});
  if (target.find('\0') != std::string_view::npos) errors.push_back(Errc::kInvalid);
  return errors;
}

void ModelFs::symlink(InodeNumber parent, std::string_view name, InodeNumber number,
                      std::string_view target, const NewInode& what, Timestamp now) {
  insert(number, FileType::kSymlink, what, now).target = target;
  add_entry(parent, name, number, now);
}

Allowed ModelFs::allow_link(InodeNumber inode, InodeNumber parent, std::string_view name) const {
  Allowed errors = check_new_name(parent, name);
  const ModelInode* target = find(inode);
  if (target == nullptr) {
    append(errors, {Errc::kNoEntry, Errc::kStale});
  } else if (target->is_directory()) {
    errors.push_back(Errc::kNotPermitted);
  } else if (target->links == 0) {
    errors.push_back(Errc::kNoEntry);
  }
  return errors;
}

void ModelFs::link(InodeNumber inode, InodeNumber parent, std::string_view name, Timestamp now) {
  ModelInode& target = own(inode);
  ++target.links;
  target.change = now;
  add_entry(parent, name, inode, now);
}

Allowed ModelFs::allow_unlink(InodeNumber parent, std::string_view name) const {
  Allowed errors = check_old_name(parent, name);
  const ModelInode* target = find(child(parent, name));
  if (target != nullptr && target->is_directory()) errors.push_back(Errc::kIsDirectory);
  return errors;
}

void ModelFs::unlink(InodeNumber parent, std::string_view name, Timestamp now) {
  const InodeNumber target = child(parent, name);
  remove_entry(parent, name, now);
  drop_link(target, now);
}

Allowed ModelFs::allow_remove_directory(InodeNumber parent, std::string_view name) const {
  Allowed errors = check_old_name(parent, name);
  const ModelInode* target = find(child(parent, name));
  if (target == nullptr) return errors;
  if (!target->is_directory()) {
    errors.push_back(Errc::kNotDirectory);
  } else if (!target->entries.empty()) {
    errors.push_back(Errc::kNotEmpty);
  }
  return errors;
}

void ModelFs::remove_directory(InodeNumber parent, std::string_view name, Timestamp now) {
  const InodeNumber target = child(parent, name);
  remove_entry(parent, name, now);
  --own(parent).links;
  drop_link(target, now);
}

// ---- rename ----

bool ModelFs::is_inside(InodeNumber directory, InodeNumber ancestor) const {
  for (InodeNumber at = directory;;) {
    if (at == ancestor) return true;
    const ModelInode* here = find(at);
    if (here == nullptr || here->parent == at) return false;
    at = here->parent;
  }
}

Allowed ModelFs::check_replace(const ModelInode& source, const ModelInode& target) const {
  Allowed errors;
  if (source.is_directory() && !target.is_directory()) errors.push_back(Errc::kNotDirectory);
  if (!source.is_directory() && target.is_directory()) errors.push_back(Errc::kIsDirectory);
  if (target.is_directory() && !target.entries.empty()) errors.push_back(Errc::kNotEmpty);
  return errors;
}

Allowed ModelFs::allow_rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                              std::string_view new_name, RenameMode mode) const {
  Allowed errors = check_old_name(parent, name);
  const ModelInode* source = find(child(parent, name));
  const ModelInode* target = find(child(new_parent, new_name));
  if (mode == RenameMode::kExchange) {
    append(errors, check_old_name(new_parent, new_name));
  } else {
    Allowed new_errors = check_new_name(new_parent, new_name);
    if (mode == RenameMode::kReplace && target != nullptr) {
      new_errors.erase(std::remove(new_errors.begin(), new_errors.end(), Errc::kExists),
                       new_errors.end());
    }
    append(errors, new_errors);
  }
  if (source == nullptr || (target == source && mode != RenameMode::kNoReplace)) return errors;
  if (source->is_directory() && is_inside(new_parent, source->number)) {
    errors.push_back(Errc::kInvalid);
  }
  if (target == nullptr) return errors;
  if (mode == RenameMode::kReplace) append(errors, check_replace(*source, *target));
  if (mode == RenameMode::kExchange && target->is_directory() &&
      is_inside(parent, target->number)) {
    errors.push_back(Errc::kInvalid);
  }
  return errors;
}

void ModelFs::rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                     std::string_view new_name, RenameMode mode, Timestamp now) {
  const InodeNumber source = child(parent, name);
  const InodeNumber target = child(new_parent, new_name);
  if (source == target) return;
  const bool source_is_directory = find(source)->is_directory();
  const bool target_is_directory = target.value != 0 && find(target)->is_directory();
  remove_entry(parent, name, now);
  if (target.value != 0) remove_entry(new_parent, new_name, now);
  add_entry(new_parent, new_name, source, now);
  own(source).change = now;
  if (source_is_directory) {
    own(source).parent = new_parent;
    --own(parent).links;
    ++own(new_parent).links;
  }
  if (target.value == 0) return;
  if (mode == RenameMode::kReplace) {
    if (target_is_directory) --own(new_parent).links;
    drop_link(target, now);
    return;
  }
  add_entry(parent, name, target, now);
  own(target).change = now;
  if (target_is_directory) {
    own(target).parent = parent;
    --own(new_parent).links;
    ++own(parent).links;
  }
}

// ---- handles ----

void ModelFs::open(InodeNumber inode) { ++own(inode).handles; }

void ModelFs::close(InodeNumber inode) {
  ModelInode& target = own(inode);
  CW_CHECK(target.handles > 0);
  --target.handles;
  forget_if_dead(inode);
}

void ModelFs::close_all() {
  for (auto it = inodes_.begin(); it != inodes_.end();) {
    if (it->second->links == 0) {
      it = inodes_.erase(it);
      continue;
    }
    if (it->second->handles != 0) own({it->first}).handles = 0;
    ++it;
  }
}

}  // namespace cordwood::test
