#include <algorithm>
#include <optional>

#include "fs/filesystem.hpp"
#include "fs/inode_item.hpp"
#include "fs/name_check.hpp"

namespace cordwood {

namespace {

/// What is left of an item for a name and its value, if they are to stay in it.
std::size_t inline_entry_max(const BTree& tree) { return tree.max_item_bytes() / 2; }

Key xattr_key(InodeNumber inode, std::uint64_t hash) {
  return make_key(inode, ItemType::kXattr, hash);
}

Error no_attribute() { return make_error(Errc::kNoData, "there is no such attribute"); }

}  // namespace

/// One change of the list of attributes with a common hash.
struct Filesystem::XattrChange {
  Key key;
  XattrList list;           ///< as it will be
  bool existed = false;     ///< there is an item already
  Removal dropped;          ///< inode of the value that goes, if that was a large one
  InodeNumber value_inode;  ///< new inode for a large value, else 0
  InodeItem value_item;
  DetachedExtents value;
};

Result<std::vector<std::byte>> Filesystem::xattr(InodeNumber inode, std::string_view name) {
  TRY(check_xattr_name(name));
  const SharedInode owner = TRY(inodes_.get_shared(inode));
  XattrList list = TRY(XattrList::read(context_.tree, xattr_key(inode, names_.hash(name))));
  XattrList::Entry* entry = list.find(name);
  if (entry == nullptr) return no_attribute();
  if (entry->kind == XattrKind::kInline) return std::move(entry->value);
  const InodeNumber holder = entry->value_inode();
  Result<InodeItem> item = make_error(Errc::kNoEntry, "");
  const Key key = inode_key(holder);
  TRY(context_.tree.read(key, [&](ConstBytes data) { item = parse_inode(data, key); }));
  if (!item && item.error().code != Errc::kNoEntry) return item.error();
  if (!item || (item->flags & kInodeXattrValue) == 0 || item->size > kMaxXattrValueBytes) {
    return corrupt(Place::kInode, holder.value, "inode of an xattr value is not one");
  }
  std::vector<std::byte> value(item->size);
  TRY(data_.read_content(holder, 0, value));
  return value;
}

Result<std::vector<std::string>> Filesystem::list_xattrs(InodeNumber inode) {
  const SharedInode owner = TRY(inodes_.get_shared(inode));
  std::vector<std::string> names;
  std::optional<Error> error;
  TRY(context_.tree.scan(xattr_key(inode, 0), make_key(inode, ItemType::kDirHash),
                         [&](Key key, ConstBytes data) {
                           const Result<XattrList> list = XattrList::parse(data, key);
                           if (!list) {
                             error = list.error();
                             return false;
                           }
                           for (const auto& entry : list->entries()) names.push_back(entry.name);
                           return true;
                         }));
  if (error) return *error;
  return names;
}

Result<void> Filesystem::set_xattr(InodeNumber inode, std::string_view name, ConstBytes value,
                                   XattrMode mode) {
  TRY(check_xattr_name(name));
  if (value.size() > kMaxXattrValueBytes) {
    return make_error(Errc::kRange, "a value has at most 65536 bytes");
  }
  const ExclusiveInode owner = TRY(inodes_.get_exclusive(inode));
  XattrChange change;
  change.key = xattr_key(inode, names_.hash(name));
  change.list = TRY(XattrList::read(context_.tree, change.key));
  change.existed = !change.list.entries().empty();
  XattrList::Entry* entry = change.list.find(name);
  if (entry != nullptr && mode == XattrMode::kCreate) {
    return make_error(Errc::kExists, "the attribute exists already");
  }
  if (entry == nullptr && mode == XattrMode::kReplace) return no_attribute();
  if (entry == nullptr) {
    change.list.entries().push_back({XattrKind::kInline, std::string(name), {}});
    entry = &change.list.entries().back();
  } else if (entry->kind == XattrKind::kInode) {
    change.dropped = TRY(collect_value_inode(context_, entry->value_inode()));
  }
  const bool small =
      XattrEntry{XattrKind::kInline, name, value}.stored_bytes() <= inline_entry_max(context_.tree);
  entry->kind = small ? XattrKind::kInline : XattrKind::kInode;
  entry->value.assign(value.begin(), value.end());
  if (!small) TRY(place_value(change, *entry));
  if (change.list.stored_bytes() > context_.tree.max_item_bytes()) {
    return make_error(Errc::kNoSpace, "too many attributes share one hash");
  }
  return change_xattr(*owner, change);
}

/// Writes a large value to blocks of an inode of its own, and makes the entry name it.
Result<void> Filesystem::place_value(XattrChange& change, XattrList::Entry& entry) {
  NewInode what;
  what.permissions = 0600;
  change.value_inode = TRY(numbers_.take());
  change.value = TRY(placer_.place_bytes(entry.value));
  change.value_item = new_inode_item(FileType::kRegular, what, context_.clock.now());
  change.value_item.flags = kInodeXattrValue;
  change.value_item.size = entry.value.size();
  change.value_item.bytes = change.value.blocks() * context_.layout.block_bytes;
  entry.value.resize(8);
  store_le(entry.value.data(), change.value_inode.value);
  return {};
}

Result<void> Filesystem::remove_xattr(InodeNumber inode, std::string_view name) {
  TRY(check_xattr_name(name));
  const ExclusiveInode owner = TRY(inodes_.get_exclusive(inode));
  XattrChange change;
  change.key = xattr_key(inode, names_.hash(name));
  change.list = TRY(XattrList::read(context_.tree, change.key));
  change.existed = true;
  XattrList::Entry* entry = change.list.find(name);
  if (entry == nullptr) return no_attribute();
  if (entry->kind == XattrKind::kInode) {
    change.dropped = TRY(collect_value_inode(context_, entry->value_inode()));
  }
  auto& entries = change.list.entries();
  entries.erase(entries.begin() + (entry - entries.data()));
  return change_xattr(*owner, change);
}

Result<void> Filesystem::change_xattr(Inode& owner, XattrChange& change) {
  InodeItem item = owner.item();
  set_change(item, context_.clock.now());
  const std::uint64_t items = 3 + change.dropped.keys.size() + change.value.extents().size();
  const ReserveClass reserve_class =
      change.list.entries().empty() ? ReserveClass::kEmergency : ReserveClass::kNormal;
  Operation operation = TRY(context_.checkpointer.begin({items, 0, reserve_class}));
  Reservation& reservation = operation.reservation;
  TRY(inodes_.prepare(reservation, owner));
  TRY(context_.tree.prefault(change.key));
  if (change.value_inode.value != 0) TRY(context_.tree.prefault(inode_key(change.value_inode)));
  return apply(operation, [&]() -> Result<void> {
    TRY(apply_removal(context_, operation, change.dropped));
    if (!change.dropped.keys.empty()) count_.add(-1);
    if (change.value_inode.value != 0) {
      TRY(context_.tree.insert(reservation, inode_key(change.value_inode),
                               item_bytes(change.value_item)));
      for (const Extent& extent : change.value.extents()) {
        TRY(context_.tree.insert(reservation, extent_key(change.value_inode, extent.offset),
                                 extent.encode()));
      }
      change.value.commit();
      count_.add(1);
    }
    if (change.list.entries().empty()) {
      TRY(context_.tree.erase(reservation, change.key));
    } else {
      TRY(context_.tree.put(reservation, change.key, change.list.encode()));
    }
    return inodes_.store(reservation, owner, item, InodeTable::Change::kAttributes);
  });
}

}  // namespace cordwood
