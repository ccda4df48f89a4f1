#include "fs/orphans.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "fs/inode_item.hpp"
#include "fs/xattr_list.hpp"

namespace cordwood {

// ---- dropping a name ----

Result<Farewell> Orphans::plan(Inode& inode) {
  Farewell farewell;
  const bool last = inode.is_directory() || inode.item().links <= 1;
  if (!last) return farewell;
  farewell.kind = Farewell::Kind::kOrphaned;
  if (inode.opens != 0 || inode.truncating) return farewell;
  farewell.removal = TRY(
      collect_removal(context_, inode_key(inode.number), inode_key(inode.number + 1), kStepItems));
  if (farewell.removal.complete) farewell.kind = Farewell::Kind::kGoes;
  return farewell;
}

Result<void> Orphans::drop_name(Operation& operation, Inode& inode, const Farewell& farewell,
                                InodeNumber directory, std::uint64_t index, Timestamp now) {
  InodeItem changed = inode.item();
  changed.links = inode.is_directory() ? 0 : changed.links - 1;
  set_change(changed, now);
  if (farewell.kind == Farewell::Kind::kGoes) {
    TRY(apply_removal(context_, operation, farewell.removal));
    count_.add(-1);
    inode.publish(changed);
    inode.set_gone();
    return {};
  }
  TRY(names_.remove_reference(operation.reservation, inode.number, directory, index));
  if (farewell.kind == Farewell::Kind::kOrphaned && !inode.truncating) {
    TRY(context_.tree.insert(operation.reservation, orphan_key(inode.number), {}));
  }
  return inodes_.store(operation.reservation, inode, changed);
}

// ---- deleting ----

Result<Operation> Orphans::begin_removal(std::uint64_t items) {
  return context_.checkpointer.begin({items, 0, ReserveClass::kEmergency});
}

Result<void> Orphans::delete_unreachable(Inode& inode) {
  if (inode.item().links != 0 || inode.opens != 0) return {};
  inode.set_gone();
  std::size_t limit = kStepItems;
  while (true) {
    const Result<bool> gone = delete_step(inode, limit);
    if (gone && *gone) return {};
    if (gone) continue;
    // A volume too full for a large step may still have room for a small one.
    if (gone.error().code != Errc::kNoSpace || limit <= 2) return gone.error();
    limit /= 4;
  }
}

/// Removes some of the items of an inode; with the last ones it is gone. Returns whether it is.
Result<bool> Orphans::delete_step(Inode& inode, std::size_t limit) {
  const Removal removal = TRY(collect_removal(context_, inode_key(inode.number).next(),
                                              inode_key(inode.number + 1), limit));
  if (removal.keys.empty() && removal.meets_large_xattr) {
    TRY(delete_large_xattr(inode));
    return false;
  }
  InodeItem changed = inode.item();
  changed.bytes -= std::min(changed.bytes, removal.blocks * context_.layout.block_bytes);
  Operation operation = TRY(begin_removal(removal.keys.size() + 2));
  TRY(inodes_.prepare(operation.reservation, inode));
  TRY(context_.tree.prefault(orphan_key(inode.number)));
  TRY(cordwood::apply(operation, [&]() -> Result<void> {
    TRY(apply_removal(context_, operation, removal));
    if (!removal.complete) return inodes_.store(operation.reservation, inode, changed);
    TRY(context_.tree.erase(operation.reservation, inode_key(inode.number)));
    count_.add(-1);
    return context_.tree.erase(operation.reservation, orphan_key(inode.number));
  }));
  return removal.complete;
}

/// Removes one large value of the first xattr item that has any, together with the inode it lies in.
Result<void> Orphans::delete_large_xattr(Inode& inode) {
  std::optional<Key> key;
  TRY(context_.tree.scan(make_key(inode.number, ItemType::kXattr),
                         make_key(inode.number, ItemType::kDirHash), [&](Key found, ConstBytes) {
                           key = found;
                           return false;
                         }));
  if (!key) return corrupt(Place::kInode, inode.number.value, "an xattr item has vanished");
  XattrList list = TRY(XattrList::read(context_.tree, *key));
  auto& entries = list.entries();
  const auto large = std::find_if(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.kind == XattrKind::kInode;
  });
  if (large == entries.end()) {
    return corrupt(Place::kInode, inode.number.value, "an xattr value has vanished");
  }
  const Removal value = TRY(collect_value_inode(context_, large->value_inode()));
  entries.erase(large);
  Operation operation = TRY(begin_removal(value.keys.size() + 1));
  return cordwood::apply(operation, [&]() -> Result<void> {
    TRY(apply_removal(context_, operation, value));
    if (!value.keys.empty()) count_.add(-1);
    if (entries.empty()) return context_.tree.erase(operation.reservation, *key);
    return context_.tree.put(operation.reservation, *key, list.encode());
  });
}

// ---- after a crash ----

Result<void> Orphans::finish(InodeNumber number) {
  Result<InodeRef> found = inodes_.get_orphan(number);
  if (!found && found.error().code == Errc::kNoEntry) {
    return corrupt(Place::kInode, number.value, "an orphan item names an inode that is not there");
  }
  const InodeRef inode = TRY(std::move(found));
  const std::lock_guard<std::shared_mutex> hold(inode->lock);
  if (inode->item().links == 0) {
    const Result<void> deleted = delete_unreachable(*inode);
    // Nobody can see it: it is left to `check`, rather than that the whole volume cannot be mounted.
    const bool damaged = !deleted && deleted.error().code == Errc::kCorrupt;
    return damaged && !context_.checkpointer.failure() ? Result<void>{} : deleted;
  }
  inode->truncating = true;
  return data_.finish_truncate(*inode);
}

Result<void> Orphans::clean_up() {
  constexpr std::size_t kBatch = 256;
  std::vector<InodeNumber> numbers;
  Key next = orphan_key({0});
  do {
    numbers.clear();
    TRY(context_.tree.scan(next, make_key({1}, ItemType::kInode), [&](Key key, ConstBytes) {
      numbers.push_back({key.lo});
      return numbers.size() < kBatch;
    }));
    for (const InodeNumber number : numbers) TRY(finish(number));
    if (!numbers.empty()) next = orphan_key(numbers.back()).next();
  } while (!numbers.empty());
  return {};
}

}  // namespace cordwood
