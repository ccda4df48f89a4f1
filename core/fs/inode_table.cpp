#include "fs/inode_table.hpp"

#include <cstring>
#include <optional>

#include "base/check.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

Error no_inode(InodeNumber number) {
  return make_error(Errc::kNoEntry, Place::kInode, number.value, "there is no such inode");
}

}  // namespace

InodeRef InodeTable::find(InodeNumber number) {
  Shard& shard = shard_of(number);
  const std::lock_guard<std::mutex> hold(shard.mutex);
  const auto found = shard.inodes.find(number.value);
  if (found == shard.inodes.end()) return {};
  Inode& inode = *found->second;
  // One that is still being loaded is as good as none: the tree has its state.
  if (!inode.loaded_.load(std::memory_order_acquire)) return {};
  inode.references_.fetch_add(1, std::memory_order_relaxed);
  return InodeRef(&inode);
}

InodeRef InodeTable::find_or_add(InodeNumber number) {
  Shard& shard = shard_of(number);
  const std::lock_guard<std::mutex> hold(shard.mutex);
  std::unique_ptr<Inode>& place = shard.inodes[number.value];
  if (place == nullptr) {
    place = std::make_unique<Inode>(number);
    place->references_.store(1, std::memory_order_relaxed);
    Inode* const added = place.get();
    if (shard.inodes.size() >= shard.sweep_at) sweep(shard);
    return InodeRef(added);
  }
  place->references_.fetch_add(1, std::memory_order_relaxed);
  if (!place->used_.load(std::memory_order_relaxed)) {
    place->used_.store(true, std::memory_order_relaxed);
  }
  return InodeRef(place.get());
}

// Second chance: an inode goes when nobody refers to it and nobody asked for it since the last sweep.
void InodeTable::sweep(Shard& shard) {
  for (auto at = shard.inodes.begin(); at != shard.inodes.end();) {
    Inode& inode = *at->second;
    // What only memory knows keeps it too. Nobody changes that while there is no reference.
    const bool needed = inode.references_.load(std::memory_order_acquire) != 0 ||
                        inode.opens != 0 || inode.truncating;
    if (!needed && (!inode.used_.load(std::memory_order_relaxed) || inode.gone())) {
      at = shard.inodes.erase(at);
    } else {
      inode.used_.store(false, std::memory_order_relaxed);
      ++at;
    }
  }
  shard.sweep_at = shard.inodes.size() + kKeptPerShard;
}

Result<void> InodeTable::load(Inode& inode) {
  std::optional<InodeItem> item;
  std::uint64_t parent = 0;
  std::optional<Error> error;
  const Key first = inode_key(inode.number);
  const Key end = make_key(inode.number, ItemType::kXattr);
  TRY(tree_.scan(first, end, [&](Key key, ConstBytes data) {
    if (key == first) {
      Result<InodeItem> parsed = parse_inode(data, key);
      if (!parsed) {
        error = parsed.error();
        return false;
      }
      item = *parsed;
      return item->is_directory();  // others have as many parents as names
    }
    if (data.size() < sizeof(InodeRefItem)) {
      error = corrupt(Place::kInode, inode.number.value, "reference to the parent is too short");
      return false;
    }
    parent = load_le<std::uint64_t>(data.data());
    return false;
  }));
  if (error) return *error;
  if (!item) return no_inode(inode.number);
  if (item->is_directory() && item->links != 0) {
    if (inode.number == kRootInode) parent = kRootInode.value;
    if (!is_inode_number({parent})) {
      return corrupt(Place::kInode, inode.number.value, "directory has no parent");
    }
  }
  const std::uint64_t epoch = tree_.last_change().value;
  inode.last_change_.store(epoch, std::memory_order_relaxed);
  inode.last_data_change_.store(epoch, std::memory_order_relaxed);
  inode.set_parent({parent});
  inode.publish(*item);
  inode.directory_ = item->is_directory();
  if (item->links == 0 || (item->flags & kInodeXattrValue) != 0) inode.set_gone();
  inode.loaded_.store(true, std::memory_order_release);
  return {};
}

Result<InodeRef> InodeTable::get_any(InodeNumber number) {
  if (!is_inode_number(number)) return no_inode(number);
  InodeRef ref = find_or_add(number);
  Inode& inode = *ref;
  if (!inode.loaded_.load(std::memory_order_acquire)) {
    // It is in the table already, so whoever changes the inode meanwhile shares this object.
    const std::lock_guard<std::mutex> hold(inode.load_mutex_);
    if (!inode.loaded_.load(std::memory_order_acquire)) TRY(load(inode));
  }
  return ref;
}

Result<InodeRef> InodeTable::get(InodeNumber number) {
  InodeRef ref = TRY(get_any(number));
  if (ref->gone()) return no_inode(number);
  return ref;
}

Result<InodeRef> InodeTable::get_orphan(InodeNumber number) { return get_any(number); }

Result<ExclusiveInode> InodeTable::get_exclusive(InodeNumber number) {
  ExclusiveInode locked{TRY(get(number)), {}};
  locked.lock = std::unique_lock<std::shared_mutex>(locked->lock);
  if (locked->gone()) return no_inode(number);
  return locked;
}

Result<SharedInode> InodeTable::get_shared(InodeNumber number) {
  SharedInode locked{TRY(get(number)), {}};
  locked.lock = std::shared_lock<std::shared_mutex>(locked->lock);
  if (locked->gone()) return no_inode(number);
  return locked;
}

void InodeTable::list_as_changed(Inode& inode) {
  inode.references_.fetch_add(1, std::memory_order_relaxed);  // the caller holds one already
  const std::lock_guard<std::mutex> hold(changed_mutex_);
  changed_.push_back(InodeRef(&inode));
  inode.changed = true;
}

Result<void> InodeTable::prepare(Reservation& reservation, Inode& inode) {
  const Key key = inode_key(inode.number);
  if (!inode.is_directory()) return tree_.prefault(key, &inode.own_hint);
  if (inode.changed) return {};
  TRY(tree_.touch(reservation, key, &inode.own_hint));
  list_as_changed(inode);
  return {};
}

Result<void> InodeTable::store(Reservation& reservation, Inode& inode, const InodeItem& item,
                               Change change) {
  if (inode.is_directory()) {
    CW_DCHECK(inode.changed);
  } else {
    const bool found = TRY(tree_.update(
        reservation, inode_key(inode.number),
        [&](Bytes data) {
          if (data.size() == sizeof item) std::memcpy(data.data(), &item, sizeof item);
        },
        &inode.own_hint));
    if (!found) return corrupt(Place::kInode, inode.number.value, "inode item has vanished");
  }
  const std::uint64_t epoch = tree_.epoch().value;
  inode.last_change_.store(epoch, std::memory_order_release);
  if (change == Change::kAll) inode.last_data_change_.store(epoch, std::memory_order_release);
  inode.publish(item);
  return {};
}

Result<void> InodeTable::write_changed() {
  std::vector<InodeRef> changed;
  {
    const std::lock_guard<std::mutex> hold(changed_mutex_);
    changed.swap(changed_);
  }
  Reservation none;  // prepare() made the leaves dirty in this generation
  for (const InodeRef& inode : changed) {
    inode->changed = false;
    const InodeItem& item = inode->item();
    // Returns false for a directory that was removed meanwhile: then there is nothing to write.
    TRY(tree_.update(
        none, inode_key(inode->number),
        [&](Bytes data) {
          if (data.size() == sizeof item) std::memcpy(data.data(), &item, sizeof item);
        },
        &inode->own_hint));
  }
  return {};
}

}  // namespace cordwood
