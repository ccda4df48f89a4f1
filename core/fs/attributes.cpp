#include <optional>

#include "fs/filesystem.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

constexpr std::uint32_t kSecondNs = 1'000'000'000;

bool is_time(const std::optional<Timestamp>& time) {
  return !time.has_value() || time->nanoseconds < kSecondNs;
}

}  // namespace

/// The item of an inode, without bringing it into memory for that.
Result<InodeItem> Filesystem::current_item(InodeNumber inode) {
  const auto no_inode = [&] {
    return make_error(Errc::kNoEntry, Place::kInode, inode.value, "there is no such inode");
  };
  if (!is_inode_number(inode)) return no_inode();
  if (const InodeRef loaded = inodes_.find(inode)) {
    if (loaded->gone()) return no_inode();
    return loaded->snapshot();
  }
  const Key key = inode_key(inode);
  Result<InodeItem> item = InodeItem{};
  const bool there =
      TRY(context_.tree.read(key, [&](ConstBytes data) { item = parse_inode(data, key); }));
  if (!there || (item && (item->links == 0 || (item->flags & kInodeXattrValue) != 0))) {
    return no_inode();
  }
  return item;
}

Result<Attributes> Filesystem::attributes(InodeNumber inode) {
  return attributes_of(inode, TRY(current_item(inode)));
}

Result<Attributes> Filesystem::set_attributes(InodeNumber inode, const AttributeChanges& changes) {
  if (!is_time(changes.access) || !is_time(changes.modify)) {
    return make_error(Errc::kInvalid, "a time has less than 1000000000 nanoseconds");
  }
  const ExclusiveInode target =
      TRY(changes.size ? file_exclusive(inode) : inodes_.get_exclusive(inode));
  const Timestamp now = context_.clock.now();
  InodeItem item = target->item();
  if (changes.permissions) item.mode = make_mode(item.type(), *changes.permissions);
  if (changes.uid) item.uid = *changes.uid;
  if (changes.gid) item.gid = *changes.gid;
  if (changes.size) {
    item.size = *changes.size;
    set_modify(item, now);
  }
  if (changes.access) set_access(item, *changes.access);
  if (changes.modify) set_modify(item, *changes.modify);
  set_change(item, now);
  if (changes.size) {
    TRY(data_.resize(*target, item));
  } else {
    Operation operation = TRY(context_.checkpointer.begin({1, 0, ReserveClass::kNormal}));
    TRY(inodes_.prepare(operation.reservation, *target));
    TRY(apply(operation, [&] {
      return inodes_.store(operation.reservation, *target, item, InodeTable::Change::kAttributes);
    }));
  }
  return attributes_of(inode, target->item());
}

}  // namespace cordwood
