#include <algorithm>
#include <array>

#include "fs/filesystem.hpp"
#include "fs/inode_item.hpp"
#include "fs/name_check.hpp"

namespace cordwood {

namespace {

/// Bytes of a symlink's target at most, as Linux has it.
constexpr std::size_t kMaxTargetBytes = 4095;

Result<void> check_directory(const Inode& inode) {
  if (!inode.is_directory()) {
    return make_error(Errc::kNotDirectory, Place::kInode, inode.number.value, "no directory");
  }
  return {};
}

/// Whether something may be added.
Result<void> check_live_directory(const Inode& inode) {
  TRY(check_directory(inode));
  if (inode.item().links == 0) return make_error(Errc::kNoEntry, "the directory was removed");
  return {};
}

Error no_name() { return make_error(Errc::kNoEntry, "there is no such name"); }

Error dangling(InodeNumber child) {
  return corrupt(Place::kInode, child.value, "a name leads to an inode that is not there");
}

}  // namespace

Result<Attributes> Filesystem::lookup(InodeNumber parent, std::string_view name) {
  TRY(check_name(name));
  const SharedInode directory = TRY(inodes_.get_shared(parent));
  TRY(check_directory(*directory));
  const auto entry = TRY(names_.find(parent, name));
  if (!entry) return no_name();
  Result<InodeItem> item = current_item(entry->child);
  if (!item && item.error().code == Errc::kNoEntry) return dangling(entry->child);
  return attributes_of(entry->child, TRY(std::move(item)));
}

// ---- making ----

Result<Attributes> Filesystem::create(InodeNumber parent, std::string_view name,
                                      const NewInode& what) {
  if (!is_file_type(static_cast<std::uint32_t>(what.type)) || what.type == FileType::kDirectory ||
      what.type == FileType::kSymlink) {
    return make_error(Errc::kInvalid, "this type of inode is not made by create");
  }
  return make_child(parent, name, new_inode_item(what.type, what, context_.clock.now()));
}

Result<Attributes> Filesystem::make_directory(InodeNumber parent, std::string_view name,
                                              const NewInode& what) {
  return make_child(parent, name, new_inode_item(FileType::kDirectory, what, context_.clock.now()));
}

Result<Attributes> Filesystem::make_symlink(InodeNumber parent, std::string_view name,
                                            std::string_view target, const NewInode& what) {
  if (target.empty() || target.find('\0') != std::string_view::npos) {
    return make_error(Errc::kInvalid, "the target is empty or holds NUL");
  }
  if (target.size() > kMaxTargetBytes) {
    return make_error(Errc::kNameTooLong, "a target has at most 4095 bytes");
  }
  InodeItem item = new_inode_item(FileType::kSymlink, what, context_.clock.now());
  item.size = target.size();
  NewData data;
  if (target.size() <= context_.inline_max) {
    Extent extent;
    extent.kind = ExtentKind::kInline;
    const ConstBytes content = as_bytes(target);
    extent.inline_bytes.assign(content.begin(), content.end());
    data.item = extent.encode();
  } else {
    TRY(check_name(name));  // before anything is written for it
    data.placed = TRY(placer_.place_bytes(as_bytes(target)));
    item.bytes = data.placed.blocks() * context_.layout.block_bytes;
    data.item = data.placed.extents().front().encode();
  }
  return make_child(parent, name, item, std::move(data));
}

/// The way of every new inode into the tree; the one that has to be fast.
Result<Attributes> Filesystem::make_child(InodeNumber parent, std::string_view name,
                                          InodeItem child, NewData data) {
  TRY(check_name(name));
  const ExclusiveInode directory = TRY(inodes_.get_exclusive(parent));
  TRY(check_live_directory(*directory));
  InodeItem changed = directory->item();
  DirectoryName entry;
  entry.index = changed.next_dir_index++;
  entry.child = TRY(numbers_.peek(directory->numbers));
  entry.type = child.type();
  changed.size += name.size();
  if (entry.type == FileType::kDirectory) {
    if (changed.links >= kMaxLinks) return make_error(Errc::kTooManyLinks, "too many directories");
    ++changed.links;
  }
  const Timestamp now{child.birth_seconds, child.birth_nanoseconds};
  set_modify(changed, now);
  set_change(changed, now);

  Operation operation = TRY(context_.checkpointer.begin({6, 0, ReserveClass::kNormal}));
  Reservation& reservation = operation.reservation;
  TRY(inodes_.prepare(reservation, *directory));
  TRY(names_.prefault_entry(parent, entry.index, &directory->index_hint));
  TRY(context_.tree.prefault(inode_key(entry.child), &directory->child_hint));
  // The first change, and the answer to whether the name is there: it changes nothing if it fails.
  TRY(names_.claim(reservation, parent, name, entry.index));
  TRY(apply(operation, [&]() -> Result<void> {
    TRY(insert_child(operation, *directory, name, entry, child, data.item));
    data.placed.commit();
    ++directory->numbers.next;
    count_.add(1);
    return inodes_.store(reservation, *directory, changed);
  }));
  return attributes_of(entry.child, child);
}

Result<void> Filesystem::insert_child(Operation& operation, Inode& directory, std::string_view name,
                                      const DirectoryName& entry, const InodeItem& child,
                                      ConstBytes extent) {
  TRY(names_.add(operation.reservation, directory.number, name, entry, &directory.index_hint));
  const InodeRefItem reference{directory.number.value, entry.index};
  const std::uint64_t reference_hash = inode_ref_hash(directory.number, entry.index);
  const std::array<NewItem, 3> items = {
      NewItem{inode_key(entry.child), item_bytes(child)},
      NewItem{make_key(entry.child, ItemType::kInodeRef, reference_hash),
              std::as_bytes(std::span(&reference, 1))},
      NewItem{extent_key(entry.child, 0), extent},
  };
  return context_.tree.insert_run(
      operation.reservation, std::span(items).first(extent.empty() ? 2 : 3), &directory.child_hint);
}

Result<std::string> Filesystem::read_symlink(InodeNumber inode) {
  const SharedInode link = TRY(inodes_.get_shared(inode));
  if (link->item().type() != FileType::kSymlink) {
    return make_error(Errc::kInvalid, "this is no symbolic link");
  }
  if (link->item().size > kMaxTargetBytes) {
    return corrupt(Place::kInode, inode.value, "target of a symbolic link is too long");
  }
  std::string target(link->item().size, '\0');
  TRY(data_.read(*link, 0, Bytes(reinterpret_cast<std::byte*>(target.data()), target.size())));
  return target;
}

Result<Attributes> Filesystem::link(InodeNumber inode, InodeNumber parent, std::string_view name) {
  TRY(check_name(name));
  const ExclusiveInode directory = TRY(inodes_.get_exclusive(parent));
  TRY(check_live_directory(*directory));
  {
    // Before its lock: a directory may stand above this one, and must not be waited for.
    const InodeRef found = TRY(inodes_.get(inode));
    if (found->is_directory()) {
      return make_error(Errc::kNotPermitted, "a directory has one name only");
    }
  }
  const ExclusiveInode target = TRY(inodes_.get_exclusive(inode));
  InodeItem item = target->item();
  if (item.links == 0) return make_error(Errc::kNoEntry, "the last name is gone already");
  if (item.links >= kMaxLinks) return make_error(Errc::kTooManyLinks, "too many names");
  const Timestamp now = context_.clock.now();
  ++item.links;
  set_change(item, now);
  InodeItem changed = directory->item();
  const DirectoryName entry{changed.next_dir_index++, inode, item.type()};
  changed.size += name.size();
  set_modify(changed, now);
  set_change(changed, now);

  Operation operation = TRY(context_.checkpointer.begin({5, 0, ReserveClass::kNormal}));
  Reservation& reservation = operation.reservation;
  TRY(inodes_.prepare(reservation, *directory));
  TRY(inodes_.prepare(reservation, *target));
  TRY(names_.prefault_entry(parent, entry.index, &directory->index_hint));
  TRY(names_.prefault_reference(inode, parent, entry.index));
  TRY(names_.claim(reservation, parent, name, entry.index));
  TRY(apply(operation, [&]() -> Result<void> {
    TRY(names_.add(reservation, parent, name, entry, &directory->index_hint));
    TRY(names_.add_reference(reservation, inode, parent, entry.index));
    TRY(inodes_.store(reservation, *target, item));
    return inodes_.store(reservation, *directory, changed);
  }));
  return attributes_of(inode, item);
}

// ---- removing ----

Result<void> Filesystem::unlink(InodeNumber parent, std::string_view name) {
  return remove_name(parent, name, Removed::kFile);
}

Result<void> Filesystem::remove_directory(InodeNumber parent, std::string_view name) {
  return remove_name(parent, name, Removed::kDirectory);
}

Result<void> Filesystem::remove_name(InodeNumber parent, std::string_view name, Removed what) {
  TRY(check_name(name));
  ExclusiveInode directory = TRY(inodes_.get_exclusive(parent));
  TRY(check_directory(*directory));
  const auto entry = TRY(names_.find(parent, name));
  if (!entry) return no_name();
  const bool is_directory = entry->type == FileType::kDirectory;
  if (is_directory && what == Removed::kFile) {
    return make_error(Errc::kIsDirectory, "a directory is removed in another way");
  }
  if (!is_directory && what == Removed::kDirectory) {
    return make_error(Errc::kNotDirectory, "no directory");
  }
  const ExclusiveInode child = TRY(lock_child(*directory, *entry));
  if (is_directory && !TRY(names_.empty(entry->child))) {
    return make_error(Errc::kNotEmpty, "the directory still has entries");
  }
  Farewell farewell = TRY(orphans_.plan(*child));
  Result<void> taken = take_name(*directory, name, *entry, *child, farewell);
  if (!taken && taken.error().code == Errc::kNoSpace && farewell.kind == Farewell::Kind::kGoes) {
    // A volume too full to delete everything at once may still have room for small steps.
    farewell.kind = Farewell::Kind::kOrphaned;
    taken = take_name(*directory, name, *entry, *child, farewell);
  }
  TRY(std::move(taken));
  if (farewell.kind != Farewell::Kind::kOrphaned) return {};
  directory.lock.unlock();  // a long deletion keeps nobody from the directory
  return finish_farewell(*child);
}

/// The operation of remove_name().
Result<void> Filesystem::take_name(Inode& directory, std::string_view name,
                                   const DirectoryName& entry, Inode& child,
                                   const Farewell& farewell) {
  const Timestamp now = context_.clock.now();
  InodeItem changed = directory.item();
  changed.size -= std::min<std::uint64_t>(changed.size, name.size());
  if (child.is_directory()) --changed.links;
  set_modify(changed, now);
  set_change(changed, now);
  Operation operation =
      TRY(context_.checkpointer.begin({3 + farewell.items(), 0, ReserveClass::kEmergency}));
  Reservation& reservation = operation.reservation;
  TRY(inodes_.prepare(reservation, directory));
  if (farewell.kind != Farewell::Kind::kGoes) TRY(inodes_.prepare(reservation, child));
  TRY(names_.prefault(directory.number, name, entry));
  return apply(operation, [&]() -> Result<void> {
    TRY(names_.remove(reservation, directory.number, name, entry.index));
    TRY(orphans_.drop_name(operation, child, farewell, directory.number, entry.index, now));
    return inodes_.store(reservation, directory, changed);
  });
}

/// The child of a locked directory, with its lock.
Result<ExclusiveInode> Filesystem::lock_child(const Inode& directory, const DirectoryName& entry) {
  // In a damaged volume a directory may be its own child; its lock must not be taken twice.
  if (entry.child == directory.number) {
    return corrupt(Place::kInode, directory.number.value, "a directory holds itself");
  }
  Result<ExclusiveInode> child = inodes_.get_exclusive(entry.child);
  if (!child && child.error().code == Errc::kNoEntry) {
    return dangling(entry.child);
  }
  if (child && (*child)->item().type() != entry.type) {
    return corrupt(Place::kInode, entry.child.value, "a name and its inode differ in type");
  }
  return child;
}

/// Deletes an inode that lost its last name, unless it is open. The name is gone already, so a lack of
/// space only postpones the rest to the next mount.
Result<void> Filesystem::finish_farewell(Inode& inode) {
  const Result<void> done = orphans_.delete_unreachable(inode);
  return done || done.error().code == Errc::kNoSpace ? Result<void>{} : done;
}

}  // namespace cordwood
