#include "fs/filesystem.hpp"

#include "fs/inode_item.hpp"

namespace cordwood {

Filesystem::Filesystem(const FsContext& context, Start start)
    : context_(context),
      numbers_(start.next_inode),
      count_(start.inode_count),
      inodes_(context_.tree),
      names_(context_),
      data_(context_, inodes_),
      placer_(context_),
      orphans_(context_, inodes_, names_, data_, count_) {}

Result<void> Filesystem::format(const FsContext& context, const InodeItem& root) {
  Operation operation = TRY(context.checkpointer.begin({1, 0, ReserveClass::kNormal}));
  return apply(operation, [&] {
    return context.tree.insert(operation.reservation, inode_key(kRootInode), item_bytes(root));
  });
}

Result<void> Filesystem::mount() {
  const Result<InodeRef> root = inodes_.get(kRootInode);
  if (!root && root.error().code != Errc::kNoEntry) return root.error();
  if (!root || !(*root)->is_directory()) {
    return corrupt(Place::kInode, kRootInode.value, "the root directory is missing");
  }
  if (context_.checkpointer.read_only()) return {};
  return orphans_.clean_up();
}

CutParticipant::Counts Filesystem::before_cut() {
  const Result<void> written = inodes_.write_changed();
  // The leaves are in memory, so this does not happen; if it does, the cut must not be used.
  if (!written) context_.checkpointer.fail(written.error());
  return {numbers_.next(), count_.value()};
}

// ---- durability ----

Result<void> Filesystem::fsync(InodeNumber inode) {
  return context_.committer.make_durable(TRY(inodes_.get(inode))->last_change());
}

Result<void> Filesystem::fdatasync(InodeNumber inode) {
  return context_.committer.make_durable(TRY(inodes_.get(inode))->last_data_change());
}

Result<void> Filesystem::sync() {
  return context_.committer.make_durable(context_.tree.last_change());
}

// ---- handles ----

Result<void> Filesystem::open_inode(InodeNumber inode) {
  const ExclusiveInode opened = TRY(inodes_.get_exclusive(inode));
  ++opened->opens;
  return {};
}

Result<void> Filesystem::close_inode(InodeNumber inode) {
  const ExclusiveInode closed = TRY(inodes_.get_exclusive(inode));
  --closed->opens;
  return orphans_.delete_unreachable(*closed);
}

// ---- data ----

namespace {

Result<void> check_file(const Inode& inode) {
  if (inode.is_directory()) return make_error(Errc::kIsDirectory, "a directory holds no data");
  if (inode.item().type() != FileType::kRegular) {
    return make_error(Errc::kInvalid, "only regular files hold data");
  }
  return {};
}

}  // namespace

Result<ExclusiveInode> Filesystem::file_exclusive(InodeNumber inode) {
  ExclusiveInode file = TRY(inodes_.get_exclusive(inode));
  TRY(check_file(*file));
  return file;
}

Result<SharedInode> Filesystem::file_shared(InodeNumber inode) {
  SharedInode file = TRY(inodes_.get_shared(inode));
  TRY(check_file(*file));
  return file;
}

Result<std::size_t> Filesystem::read(InodeNumber inode, std::uint64_t offset, Bytes into) {
  const SharedInode file = TRY(file_shared(inode));
  return data_.read(*file, offset, into);
}

Result<std::size_t> Filesystem::write(InodeNumber inode, std::uint64_t offset, ConstBytes from) {
  const ExclusiveInode file = TRY(file_exclusive(inode));
  return data_.write(*file, offset, from);
}

Result<std::size_t> Filesystem::append(InodeNumber inode, ConstBytes from) {
  const ExclusiveInode file = TRY(file_exclusive(inode));
  return data_.write(*file, file->item().size, from);
}

Result<std::uint64_t> Filesystem::seek_data(InodeNumber inode, std::uint64_t offset) {
  const SharedInode file = TRY(file_shared(inode));
  return data_.seek_data(*file, offset);
}

Result<std::uint64_t> Filesystem::seek_hole(InodeNumber inode, std::uint64_t offset) {
  const SharedInode file = TRY(file_shared(inode));
  return data_.seek_hole(*file, offset);
}

}  // namespace cordwood
