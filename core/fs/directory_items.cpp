#include "fs/directory_items.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

Key hash_key(InodeNumber directory, std::uint64_t hash) {
  return make_key(directory, ItemType::kDirHash, hash);
}
Key index_key(InodeNumber directory, std::uint64_t index) {
  return make_key(directory, ItemType::kDirIndex, index);
}
Key reference_key(InodeNumber child, InodeNumber directory, std::uint64_t index) {
  return make_key(child, ItemType::kInodeRef, inode_ref_hash(directory, index));
}

Error bad_directory(InodeNumber directory, const char* what) {
  return corrupt(Place::kInode, directory.value, what);
}

/// The item of several small things of the same size, copied. Nearly always it holds one: no heap then.
class SmallList {
 public:
  explicit SmallList(std::size_t entry_bytes) : entry_bytes_(entry_bytes) {}

  /// Returns false when the length is not that of a list.
  bool assign(ConstBytes data) {
    if (data.empty() || data.size() % entry_bytes_ != 0) return false;
    count_ = data.size() / entry_bytes_;
    if (data.size() <= sizeof few_) {
      std::memcpy(few_.data(), data.data(), data.size());
    } else {
      many_.assign(data.begin(), data.end());
    }
    return true;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] ConstBytes bytes() const {
    return many_.empty() ? ConstBytes(few_.data(), count_ * entry_bytes_) : ConstBytes(many_);
  }
  [[nodiscard]] ConstBytes entry(std::size_t i) const {
    return bytes().subspan(i * entry_bytes_, entry_bytes_);
  }
  void append(ConstBytes entry) {
    to_vector();
    many_.insert(many_.end(), entry.begin(), entry.end());
    ++count_;
  }
  void erase(std::size_t i) {
    to_vector();
    const auto first = many_.begin() + static_cast<std::ptrdiff_t>(i * entry_bytes_);
    many_.erase(first, first + static_cast<std::ptrdiff_t>(entry_bytes_));
    --count_;
  }

 private:
  void to_vector() {
    if (many_.empty())
      many_.assign(few_.begin(), few_.begin() + static_cast<std::ptrdiff_t>(count_ * entry_bytes_));
  }
  std::size_t entry_bytes_;
  std::size_t count_ = 0;
  std::array<std::byte, 32> few_{};
  std::vector<std::byte> many_;
};

/// Reads a list; count() is 0 when there is none.
Result<SmallList> read_list(BTree& tree, Key key, std::size_t entry_bytes) {
  SmallList list(entry_bytes);
  bool good = true;
  TRY(tree.read(key, [&](ConstBytes data) { good = list.assign(data); }));
  if (!good) return corrupt(Place::kInode, key.inode().value, "list item has a wrong length");
  return list;
}

Result<void> append_to_list(BTree& tree, Reservation& reservation, Key key, ConstBytes entry) {
  SmallList list = TRY(read_list(tree, key, entry.size()));
  if (list.count() == 0) return tree.insert(reservation, key, entry);
  if (list.bytes().size() + entry.size() > tree.max_item_bytes()) {
    return make_error(Errc::kNoSpace, "too many names share one hash");
  }
  list.append(entry);
  return tree.put(reservation, key, list.bytes());
}

Result<void> remove_from_list(BTree& tree, Reservation& reservation, Key key, ConstBytes entry) {
  SmallList list = TRY(read_list(tree, key, entry.size()));
  for (std::size_t i = 0; i < list.count(); ++i) {
    if (std::memcmp(list.entry(i).data(), entry.data(), entry.size()) != 0) continue;
    if (list.count() == 1) return tree.erase(reservation, key);
    list.erase(i);
    return tree.put(reservation, key, list.bytes());
  }
  return bad_directory(key.inode(), "list item lacks an entry");
}

std::array<std::byte, sizeof(InodeRefItem)> reference_bytes(InodeNumber directory,
                                                            std::uint64_t index) {
  const InodeRefItem item{directory.value, index};
  std::array<std::byte, sizeof item> bytes;
  std::memcpy(bytes.data(), &item, sizeof item);
  return bytes;
}

std::array<std::byte, 8> index_bytes(std::uint64_t index) {
  std::array<std::byte, 8> bytes;
  store_le(bytes.data(), index);
  return bytes;
}

}  // namespace

Result<std::optional<DirectoryName>> DirectoryItems::find(InodeNumber directory,
                                                          std::string_view name) const {
  const Key key = hash_key(directory, hash(name));
  const SmallList list = TRY(read_list(context_.tree, key, 8));
  for (std::size_t i = 0; i < list.count(); ++i) {
    const std::uint64_t index = load_le<std::uint64_t>(list.entry(i).data());
    const Key place = index_key(directory, index);
    std::optional<DirectoryName> match;
    std::optional<Error> error;
    const bool there = TRY(context_.tree.read(place, [&](ConstBytes data) {
      const Result<DirIndexItem> item = DirIndexItem::parse(data, place);
      if (!item) {
        error = item.error();
      } else if (item->name == name) {
        match = DirectoryName{index, item->child, item->type};
      }
    }));
    if (error) return *error;
    if (!there) return bad_directory(directory, "a hash leads to an entry that does not exist");
    if (match) return match;
  }
  return std::optional<DirectoryName>{};
}

Result<bool> DirectoryItems::empty(InodeNumber directory) const {
  bool empty = true;
  TRY(context_.tree.scan(index_key(directory, 0), extent_key(directory, 0), [&](Key, ConstBytes) {
    empty = false;
    return false;
  }));
  return empty;
}

Result<void> DirectoryItems::claim(Reservation& reservation, InodeNumber directory,
                                   std::string_view name, std::uint64_t index) {
  const Key key = hash_key(directory, hash(name));
  const auto entry = index_bytes(index);
  // Nearly always no other name has this hash: then the insertion is the lookup as well.
  Result<void> inserted = context_.tree.insert(reservation, key, entry);
  if (inserted || inserted.error().code != Errc::kExists) return inserted;
  if (TRY(find(directory, name))) return make_error(Errc::kExists, "the name exists already");
  return append_to_list(context_.tree, reservation, key, entry);
}

Result<void> DirectoryItems::add(Reservation& reservation, InodeNumber directory,
                                 std::string_view name, const DirectoryName& entry, Hint* hint) {
  std::array<std::byte, kDirIndexHeaderBytes + kMaxNameBytes> item;
  const std::size_t bytes = DirIndexItem{entry.child, entry.type, name}.store(item.data());
  return context_.tree.insert(reservation, index_key(directory, entry.index),
                              ConstBytes(item.data(), bytes), hint);
}

Result<void> DirectoryItems::remove(Reservation& reservation, InodeNumber directory,
                                    std::string_view name, std::uint64_t index) {
  TRY(remove_from_list(context_.tree, reservation, hash_key(directory, hash(name)),
                       index_bytes(index)));
  return context_.tree.erase(reservation, index_key(directory, index));
}

Result<void> DirectoryItems::add_reference(Reservation& reservation, InodeNumber child,
                                           InodeNumber directory, std::uint64_t index) {
  return append_to_list(context_.tree, reservation, reference_key(child, directory, index),
                        reference_bytes(directory, index));
}

Result<void> DirectoryItems::remove_reference(Reservation& reservation, InodeNumber child,
                                              InodeNumber directory, std::uint64_t index) {
  return remove_from_list(context_.tree, reservation, reference_key(child, directory, index),
                          reference_bytes(directory, index));
}

Result<void> DirectoryItems::prefault(InodeNumber directory, std::string_view name,
                                      const DirectoryName& entry) {
  TRY(context_.tree.prefault(hash_key(directory, hash(name))));
  TRY(prefault_entry(directory, entry.index, nullptr));
  return prefault_reference(entry.child, directory, entry.index);
}

Result<void> DirectoryItems::prefault_entry(InodeNumber directory, std::uint64_t index,
                                            Hint* hint) {
  return context_.tree.prefault(index_key(directory, index), hint);
}

Result<void> DirectoryItems::prefault_reference(InodeNumber child, InodeNumber directory,
                                                std::uint64_t index) {
  return context_.tree.prefault(reference_key(child, directory, index));
}

}  // namespace cordwood
