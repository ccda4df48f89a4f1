#include "fs/xattr_list.hpp"

#include "fs/inode_item.hpp"

namespace cordwood {

Result<XattrList> XattrList::parse(ConstBytes data, Key key) {
  XattrList list;
  while (!data.empty()) {
    const XattrEntry entry = TRY(XattrEntry::parse(data, key));
    Entry copy{entry.kind, std::string(entry.name), {entry.value.begin(), entry.value.end()}};
    if (copy.kind == XattrKind::kInode && !is_inode_number(copy.value_inode())) {
      return corrupt(Place::kInode, key.inode().value, "xattr names an impossible inode");
    }
    list.entries_.push_back(std::move(copy));
    data = data.subspan(entry.stored_bytes());
  }
  return list;
}

Result<XattrList> XattrList::read(BTree& tree, Key key) {
  Result<XattrList> list = XattrList{};
  TRY(tree.read(key, [&](ConstBytes data) { list = parse(data, key); }));
  return list;
}

XattrList::Entry* XattrList::find(std::string_view name) {
  for (Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::size_t XattrList::stored_bytes() const {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) {
    bytes += XattrEntry{entry.kind, entry.name, entry.value}.stored_bytes();
  }
  return bytes;
}

std::vector<std::byte> XattrList::encode() const {
  std::vector<std::byte> item(stored_bytes());
  std::size_t used = 0;
  for (const Entry& entry : entries_) {
    used += XattrEntry{entry.kind, entry.name, entry.value}.store(item.data() + used);
  }
  return item;
}

}  // namespace cordwood
