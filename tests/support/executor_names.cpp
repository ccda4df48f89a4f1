// The operations of Executor on names.

#include "support/executor.hpp"

namespace cordwood::test {

namespace {

NewInode new_inode(const Operation& operation) {
  NewInode what;
  what.type = file_type_of(operation.mode);
  what.permissions = operation.mode & 07777;
  what.uid = operation.number;
  what.gid = operation.number / 2;
  what.rdev = operation.number;
  return what;
}

}  // namespace

void Executor::create(const Operation& operation) {
  const auto place = name_of(operation.path);
  if (!place) return;
  const NewInode what = new_inode(operation);
  const Allowed allowed = model_.allow_create(place->parent, place->name);
  const auto made = volume_->create(place->parent, place->name, what);
  if (!succeeded(allowed, made)) return;
  if (model_.find(made->inode) != nullptr) return fail("the new inode's number is in use");
  model_.create(place->parent, place->name, made->inode, what.type, what, clock_.now());
  expect(compare_attributes(model_.find(made->inode)->attributes(), *made));
  expect_attributes(place->parent);
}

void Executor::make_directory(const Operation& operation) {
  const auto place = name_of(operation.path);
  if (!place) return;
  const NewInode what = new_inode(operation);
  const Allowed allowed = model_.allow_create(place->parent, place->name);
  const auto made = volume_->make_directory(place->parent, place->name, what);
  if (!succeeded(allowed, made)) return;
  if (model_.find(made->inode) != nullptr) return fail("the new inode's number is in use");
  model_.create(place->parent, place->name, made->inode, FileType::kDirectory, what, clock_.now());
  expect(compare_attributes(model_.find(made->inode)->attributes(), *made));
  expect_attributes(place->parent);
}

void Executor::symlink(const Operation& operation) {
  const auto place = name_of(operation.path);
  if (!place) return;
  NewInode what = new_inode(operation);
  what.permissions = 0777;
  const Allowed allowed = model_.allow_symlink(place->parent, place->name, operation.path2);
  const auto made = volume_->make_symlink(place->parent, place->name, operation.path2, what);
  if (!succeeded(allowed, made)) return;
  if (model_.find(made->inode) != nullptr) return fail("the new inode's number is in use");
  model_.symlink(place->parent, place->name, made->inode, operation.path2, what, clock_.now());
  expect(compare_attributes(model_.find(made->inode)->attributes(), *made));
}

void Executor::link(const Operation& operation) {
  const auto inode = target(operation.path);
  const auto place = name_of(operation.path2);
  if (!inode || !place) return;
  const Allowed allowed = model_.allow_link(*inode, place->parent, place->name);
  const auto made = volume_->link(*inode, place->parent, place->name);
  if (!succeeded(allowed, made)) return;
  model_.link(*inode, place->parent, place->name, clock_.now());
  expect(compare_attributes(model_.find(*inode)->attributes(), *made));
}

void Executor::unlink(const Operation& operation) {
  const auto place = name_of(operation.path);
  if (!place) return;
  const InodeNumber inode = model_.child(place->parent, place->name);
  const Allowed allowed = model_.allow_unlink(place->parent, place->name);
  if (!succeeded(allowed, volume_->unlink(place->parent, place->name))) return;
  model_.unlink(place->parent, place->name, clock_.now());
  note_if_gone(inode);
  expect_attributes(inode);
  expect_attributes(place->parent);
}

void Executor::remove_directory(const Operation& operation) {
  const auto place = name_of(operation.path);
  if (!place) return;
  const InodeNumber inode = model_.child(place->parent, place->name);
  const Allowed allowed = model_.allow_remove_directory(place->parent, place->name);
  if (!succeeded(allowed, volume_->remove_directory(place->parent, place->name))) return;
  model_.remove_directory(place->parent, place->name, clock_.now());
  note_if_gone(inode);
  expect_attributes(inode);
  expect_attributes(place->parent);
}

void Executor::rename(const Operation& operation) {
  const auto from = name_of(operation.path);
  const auto to = name_of(operation.path2);
  if (!from || !to) return;
  const auto mode = static_cast<RenameMode>(operation.mode % 3);
  const InodeNumber moved = model_.child(from->parent, from->name);
  const InodeNumber replaced = model_.child(to->parent, to->name);
  const Allowed allowed = model_.allow_rename(from->parent, from->name, to->parent, to->name, mode);
  const auto done = volume_->rename(from->parent, from->name, to->parent, to->name, mode);
  if (!succeeded(allowed, done)) return;
  model_.rename(from->parent, from->name, to->parent, to->name, mode, clock_.now());
  if (replaced.value != 0) {
    note_if_gone(replaced);
    expect_attributes(replaced);
  }
  expect_attributes(moved);
  expect_attributes(from->parent);
  expect_attributes(to->parent);
}

void Executor::lookup(const Operation& operation) {
  const auto place = name_of(operation.path);
  // "." and ".." may be answered or refused; resolve has them.
  if (!place || place->name == "." || place->name == "..") return;
  const Allowed allowed = model_.allow_lookup(place->parent, place->name);
  const auto found = volume_->lookup(place->parent, place->name);
  if (!succeeded(allowed, found)) return;
  const InodeNumber inode = model_.child(place->parent, place->name);
  expect(compare_attributes(model_.find(inode)->attributes(), *found));
}

void Executor::resolve(const Operation& operation) {
  const auto follow = operation.mode == 1 ? FollowLast::kYes : FollowLast::kNo;
  const auto expected = model_.resolve(operation.path, follow);
  const auto actual = volume_->resolve(operation.path, follow);
  const Allowed allowed = expected ? Allowed{} : Allowed{expected.error().code};
  if (!succeeded(allowed, actual)) return;
  expect(compare_attributes(model_.find(*expected)->attributes(), *actual));
}

void Executor::read_directory(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const ModelInode* directory = model_.find(*inode);
  if (directory->is_directory()) {
    return compare(
        [&](Comparer& comparer) { return comparer.directory(*directory, operation.number); });
  }
  const auto listed =
      volume_->read_directory(*inode, 0, [](const DirectoryEntry&) { return true; });
  (void)succeeded({Errc::kNotDirectory}, listed);
}

void Executor::read_link(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const ModelInode* link = model_.find(*inode);
  const bool is_link = link->type() == FileType::kSymlink;
  const auto actual = volume_->read_symlink(*inode);
  if (!succeeded(is_link ? Allowed{} : Allowed{Errc::kInvalid}, actual)) return;
  if (*actual != link->target) fail("wrong symlink target");
}

}  // namespace cordwood::test
