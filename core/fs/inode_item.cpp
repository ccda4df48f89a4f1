#include "fs/inode_item.hpp"

namespace cordwood {

InodeItem new_inode_item(FileType type, const NewInode& what, Timestamp now) {
  InodeItem item;
  item.mode = make_mode(type, what.permissions);
  item.links = type == FileType::kDirectory ? 2 : 1;
  item.uid = what.uid;
  item.gid = what.gid;
  if (type == FileType::kCharDevice || type == FileType::kBlockDevice) item.rdev = what.rdev;
  if (type == FileType::kDirectory) item.next_dir_index = kFirstDirIndex;
  set_access(item, now);
  set_modify(item, now);
  set_change(item, now);
  item.birth_seconds = now.seconds;
  item.birth_nanoseconds = now.nanoseconds;
  return item;
}

Attributes attributes_of(InodeNumber inode, const InodeItem& item) {
  Attributes shown;
  shown.inode = inode;
  shown.mode = item.mode;
  shown.links = item.links;
  shown.uid = item.uid;
  shown.gid = item.gid;
  shown.size = item.size;
  shown.bytes = item.bytes;
  shown.rdev = item.rdev;
  shown.access = {item.access_seconds, item.access_nanoseconds};
  shown.modify = {item.modify_seconds, item.modify_nanoseconds};
  shown.change = {item.change_seconds, item.change_nanoseconds};
  shown.birth = {item.birth_seconds, item.birth_nanoseconds};
  return shown;
}

}  // namespace cordwood
