#include "volume/volume.hpp"

#include <utility>

#include "volume/engine.hpp"
#include "volume/superblock_slots.hpp"

namespace cordwood {

// ---- handles ----

InodeHandle::InodeHandle(InodeHandle&& other) noexcept
    : volume_(std::exchange(other.volume_, nullptr)), inode_(other.inode_) {}

InodeHandle& InodeHandle::operator=(InodeHandle&& other) noexcept {
  if (this != &other) {
    (void)close();
    volume_ = std::exchange(other.volume_, nullptr);
    inode_ = other.inode_;
  }
  return *this;
}

InodeHandle::~InodeHandle() { (void)close(); }

Result<void> InodeHandle::close() {
  Volume* const volume = std::exchange(volume_, nullptr);
  if (volume == nullptr) return {};
  return volume->engine_->filesystem->close_inode(inode_);
}

// ---- opening and closing ----

namespace {

/// Whether the device and this program can serve the volume; and how it is laid out.
Result<Layout> check_opened(const Superblock& superblock, const DeviceGeometry& geometry) {
  const std::uint64_t bytes = volume_bytes(superblock);
  const Layout layout = TRY(Layout::compute(bytes, superblock.block_bytes, superblock.node_bytes,
                                            log_ring_bytes(superblock)));
  if (layout.device_blocks != superblock.device_blocks ||
      layout.log.first.value != superblock.log_first_block ||
      layout.log.count != superblock.log_blocks) {
    return corrupt(Place::kNone, 0, "superblock: sizes do not fit together");
  }
  if (geometry.bytes < bytes) {
    return make_error(Errc::kCorrupt, Place::kByte, geometry.bytes,
                      "the device ends before its volume does: is it truncated?");
  }
  if (geometry.sector_bytes > superblock.block_bytes) {
    return make_error(Errc::kInvalid, Place::kValue, geometry.sector_bytes,
                      "the device's sectors are larger than the volume's blocks");
  }
  return layout;
}

}  // namespace

Result<std::unique_ptr<Volume>> Volume::open(BlockDevice& device, const MountOptions& options) {
  const SuperblockSlots slots = TRY(SuperblockSlots::read(device));
  const Superblock superblock = *slots.slots[TRY(slots.best())].superblock;
  const Layout layout = TRY(check_opened(superblock, device.geometry()));
  auto engine = std::make_unique<Engine>(device, options, superblock, layout);
  TRY(engine->start());
  // A feature unknown here that only writers must know.
  if (superblock.read_only_features != 0) engine->options.read_only = true;
  if (engine->options.read_only) engine->checkpointer->set_read_only();
  TRY(engine->finish_replay());
  TRY(engine->filesystem->mount());
  return std::unique_ptr<Volume>(new Volume(std::move(engine)));
}

Volume::Volume(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

Volume::~Volume() { (void)close(); }

Result<void> Volume::close() { return engine_->checkpointer->checkpoint(MountState::kClean); }

// ---- durability ----

Result<void> Volume::fsync(InodeNumber inode) { return engine_->filesystem->fsync(inode); }

Result<void> Volume::fdatasync(InodeNumber inode) { return engine_->filesystem->fdatasync(inode); }

Result<void> Volume::sync() { return engine_->filesystem->sync(); }

Result<void> Volume::checkpoint() { return engine_->checkpointer->checkpoint(); }

// ---- names ----

Result<Attributes> Volume::lookup(InodeNumber parent, std::string_view name) {
  return engine_->filesystem->lookup(parent, name);
}

Result<Attributes> Volume::create(InodeNumber parent, std::string_view name, const NewInode& what) {
  return engine_->filesystem->create(parent, name, what);
}

Result<Attributes> Volume::make_directory(InodeNumber parent, std::string_view name,
                                          const NewInode& what) {
  return engine_->filesystem->make_directory(parent, name, what);
}

Result<Attributes> Volume::make_symlink(InodeNumber parent, std::string_view name,
                                        std::string_view target, const NewInode& what) {
  return engine_->filesystem->make_symlink(parent, name, target, what);
}

Result<std::string> Volume::read_symlink(InodeNumber inode) {
  return engine_->filesystem->read_symlink(inode);
}

Result<Attributes> Volume::link(InodeNumber inode, InodeNumber parent, std::string_view name) {
  return engine_->filesystem->link(inode, parent, name);
}

Result<void> Volume::unlink(InodeNumber parent, std::string_view name) {
  return engine_->filesystem->unlink(parent, name);
}

Result<void> Volume::remove_directory(InodeNumber parent, std::string_view name) {
  return engine_->filesystem->remove_directory(parent, name);
}

Result<void> Volume::rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                            std::string_view new_name, RenameMode mode) {
  return engine_->filesystem->rename(parent, name, new_parent, new_name, mode);
}

Result<void> Volume::read_directory(InodeNumber directory, std::uint64_t cookie,
                                    const std::function<bool(const DirectoryEntry&)>& visitor) {
  return engine_->filesystem->read_directory(directory, cookie, visitor);
}

// ---- attributes ----

Result<Attributes> Volume::attributes(InodeNumber inode) {
  return engine_->filesystem->attributes(inode);
}

Result<Attributes> Volume::set_attributes(InodeNumber inode, const AttributeChanges& changes) {
  return engine_->filesystem->set_attributes(inode, changes);
}

Result<std::vector<std::byte>> Volume::xattr(InodeNumber inode, std::string_view name) {
  return engine_->filesystem->xattr(inode, name);
}

Result<std::vector<std::string>> Volume::list_xattrs(InodeNumber inode) {
  return engine_->filesystem->list_xattrs(inode);
}

Result<void> Volume::set_xattr(InodeNumber inode, std::string_view name, ConstBytes value,
                               XattrMode mode) {
  return engine_->filesystem->set_xattr(inode, name, value, mode);
}

Result<void> Volume::remove_xattr(InodeNumber inode, std::string_view name) {
  return engine_->filesystem->remove_xattr(inode, name);
}

// ---- data ----

Result<std::size_t> Volume::read(InodeNumber inode, std::uint64_t offset, Bytes into) {
  return engine_->filesystem->read(inode, offset, into);
}

Result<std::size_t> Volume::write(InodeNumber inode, std::uint64_t offset, ConstBytes from) {
  return engine_->filesystem->write(inode, offset, from);
}

Result<std::size_t> Volume::append(InodeNumber inode, ConstBytes from) {
  return engine_->filesystem->append(inode, from);
}

Result<std::uint64_t> Volume::seek_data(InodeNumber inode, std::uint64_t offset) {
  return engine_->filesystem->seek_data(inode, offset);
}

Result<std::uint64_t> Volume::seek_hole(InodeNumber inode, std::uint64_t offset) {
  return engine_->filesystem->seek_hole(inode, offset);
}

Result<InodeHandle> Volume::open_inode(InodeNumber inode) {
  TRY(engine_->filesystem->open_inode(inode));
  return InodeHandle(this, inode);
}

// ---- state ----

VolumeUsage Volume::usage() const {
  const Space& space = *engine_->space;
  VolumeUsage usage;
  usage.block_bytes = engine_->layout.block_bytes;
  usage.blocks = engine_->layout.device_blocks;
  usage.free_blocks = space.free_blocks();
  usage.available_blocks = space.available_blocks();
  usage.pending_free_blocks = space.pending_free_blocks();
  usage.inodes = engine_->filesystem->inode_count();
  return usage;
}

VolumeStatistics Volume::statistics() const {
  VolumeStatistics statistics;
  statistics.counters = engine_->counters.values();
  statistics.nodes = engine_->table->node_count();
  statistics.leaf_fill_permille = engine_->tree->resident_leaf_fill_permille();
  statistics.dirty_bytes = engine_->cache->dirty_bytes();
  statistics.cached_nodes = engine_->cache->resident_nodes();
  statistics.table_levels = engine_->table->levels();
  statistics.tree_levels = std::uint64_t{engine_->tree->root().level} + 1;
  statistics.generation = engine_->cache->generation();
  statistics.log_bytes = engine_->log->capacity_bytes();
  statistics.log_used_bytes = engine_->log->used_bytes();
  statistics.gate_closed_ns = engine_->checkpointer->gate_closed_ns();
  statistics.group_sizes = engine_->committer->group_sizes();
  return statistics;
}

Superblock Volume::superblock() const { return engine_->checkpointer->superblock(); }

const ReplayPlan& Volume::replay() const { return engine_->replay; }

const MountOptions& Volume::options() const { return engine_->options; }

std::optional<Error> Volume::failure() const { return engine_->checkpointer->failure(); }

}  // namespace cordwood
