#include <catch2/catch.hpp>

#include <vector>

#include "spoiled.hpp"

// Wrong content in right nodes: each cause must give exactly the findings that name it.

namespace cordwood::test {
namespace {

using Content = SampleContent;

/// The only (or first) key of an inode's items of one type.
Key first_key(const ImageBuilder& builder, InodeNumber inode, ItemType type) {
  return builder.keys(inode, type).at(0);
}

void put_u64(ImageBuilder& builder, Key key, std::size_t at, std::uint64_t value) {
  store_le(builder.items.at(key).data() + at, value);
}

/// Puts an item under another key.
void move_item(ImageBuilder& builder, Key from, Key to) {
  builder.put(to, builder.items.at(from));
  builder.erase(from);
}

/// Enters a name and its hash, without a reference from the child and without counting.
void put_name(ImageBuilder& builder, InodeNumber directory, std::uint64_t index,
              std::string_view name, InodeNumber child, FileType type) {
  std::vector<std::byte> entry(kDirIndexHeaderBytes + name.size());
  DirIndexItem{child, type, name}.store(entry.data());
  builder.put(make_key(directory, ItemType::kDirIndex, index), entry);
  std::vector<std::byte> number(8);
  store_le(number.data(), index);
  builder.append(make_key(directory, ItemType::kDirHash, builder.hash(name)), number);
  builder.change_inode(directory, [&](InodeItem& item) {
    item.size += name.size();
    item.next_dir_index = std::max(item.next_dir_index, index + 1);
  });
}

void put_ref(ImageBuilder& builder, InodeNumber child, InodeNumber parent, std::uint64_t index) {
  const InodeRefItem ref{parent.value, index};
  builder.append(make_key(child, ItemType::kInodeRef, inode_ref_hash(parent, index)),
                 std::as_bytes(std::span(&ref, 1)));
}

std::vector<Spoiled> item_cases() {
  const auto put = [](Key key, std::size_t bytes) -> Spoil {
    return [=](ImageBuilder& builder, const Content&) {
      builder.put(key, std::vector<std::byte>(bytes));
    };
  };
  const auto truncate = [](InodeNumber Content::*which, ItemType type) -> Spoil {
    return [=](ImageBuilder& builder, const Content& content) {
      builder.items.at(first_key(builder, content.*which, type)).pop_back();
    };
  };
  return {
      {"item_key_bad", put({3 << 8 | 9, 0}, 0)},
      {"item_key_bad", put({3 << 8 | 0, 0}, 0)},
      {"item_key_bad", put({0 << 8 | 2, 0}, 96)},
      {"item_key_bad", put({3 << 8 | 1, 5}, 96)},
      {"item_key_bad", put({3 << 8 | 7, 3}, 0)},
      {"item_malformed", truncate(&Content::sub, ItemType::kInode)},
      {"item_malformed", truncate(&Content::linked, ItemType::kInodeRef)},
      {"item_malformed", truncate(&Content::docs, ItemType::kDirHash)},
      {"item_malformed", truncate(&Content::docs, ItemType::kXattr)},
      {"item_malformed", truncate(&Content::inline_file, ItemType::kExtent)},
      {"item_malformed", truncate(&Content::data_file, ItemType::kExtent)},
      {"item_malformed", put({2 << 8 | 5, 20}, kDirIndexHeaderBytes)},
      {"item_malformed",
       [](ImageBuilder& builder, const Content& content) {
         builder.put(make_key({0}, ItemType::kOrphan, content.orphan.value), bytes_of("x"));
       }},
      {"item_misplaced", [](ImageBuilder& builder,
                            const Content& content) { builder.add_inline(content.docs, "x"); }},
      {"item_misplaced",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_preallocated(content.fifo, 0, 1);
       }},
      {"item_misplaced",
       [](ImageBuilder& builder, const Content& content) {
         put_name(builder, content.data_file, 16, "odd", content.fifo, FileType::kFifo);
       }},
      {"inode_missing superblock_inode_count",
       [](ImageBuilder& builder, const Content& content) {
         builder.erase(make_key(content.linked, ItemType::kInode));
         builder.edit_superblock = [](std::uint32_t, Superblock& s) { s.inode_count += 1; };
       }},
      {"inode_flags",
       [](ImageBuilder& builder, const Content& content) {
         builder.change_inode(content.fifo, [](InodeItem& item) { item.flags = 2; });
       }},
  };
}

std::vector<Spoiled> inode_cases() {
  using Item = InodeItem;
  return {
      {"inode_size", inode_change(&Content::inline_file, [](Item& i) { i.size = 3; })},
      {"inode_size", inode_change(&Content::symlink, [](Item& i) { i.size += 1; })},
      {"inode_size", inode_change(&Content::symlink, [](Item& i) { i.size = 0; })},
      {"inode_size", inode_change(&Content::fifo, [](Item& i) { i.size = 1; })},
      {"inode_bytes", inode_change(&Content::data_file, [](Item& i) { i.bytes += 512; })},
      {"inode_bytes", inode_change(&Content::inline_file, [](Item& i) { i.bytes = 4096; })},
      {"extent_beyond_end", inode_change(&Content::data_file, [](Item& i) { i.size = 70000; })},
      {"link_count", inode_change(&Content::linked, [](Item& i) { i.links = 1; })},
      {"link_count", inode_change(&Content::docs, [](Item& i) { i.links = 2; })},
      {"link_count", inode_change(&Content::holder, [](Item& i) { i.links = 2; })},
      {"link_count", inode_change(&Content::orphan, [](Item& i) { i.links = 1; })},
      {"directory_size", inode_change(&Content::docs, [](Item& i) { i.size = 4096; })},
      {"directory_next_index",
       inode_change(&Content::docs, [](Item& i) { i.next_dir_index = 17; })},
      {"directory_next_index", inode_change(&Content::sub, [](Item& i) { i.next_dir_index = 0; })},
      {"xattr_value_size",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_large_xattr(content.sub, "user.huge", 17);
       }},
      {"root_missing name_ref_dangling",
       [](ImageBuilder& builder, const Content&) {
         builder.change_inode(kRootInode, [](Item& i) { i.mode = make_mode(FileType::kFifo, 0); });
         builder.items.erase(builder.items.lower_bound(make_key(kRootInode, ItemType::kInodeRef)),
                             builder.items.lower_bound(make_key({2}, ItemType::kInode)));
         builder.change_inode(kRootInode, [](Item& i) { i.links = 0, i.size = 0; });
         builder.add_orphan(kRootInode);
       }},
      {"orphan_without_inode",
       [](ImageBuilder& builder, const Content&) { builder.add_orphan({1234}); }},
      {"orphan_item_missing",
       [](ImageBuilder& builder, const Content& content) {
         builder.erase(make_key({0}, ItemType::kOrphan, content.orphan.value));
       }},
  };
}

std::vector<Spoiled> name_cases() {
  return {
      {"root_named link_count",
       [](ImageBuilder& builder, const Content& content) {
         put_name(builder, content.docs, 30, "up", kRootInode, FileType::kDirectory);
       }},
      {"directory_names",
       [](ImageBuilder& builder, const Content& content) {
         put_name(builder, kRootInode, 30, "again", content.sub, FileType::kDirectory);
         put_ref(builder, content.sub, kRootInode, 30);
         builder.change_inode(kRootInode, [](InodeItem& item) { ++item.links; });
       }},
      {"directory_names",
       [](ImageBuilder& builder, const Content&) {
         builder.change_inode(builder.add_nameless(FileType::kDirectory),
                              [](InodeItem& item) { item.links = 2; });
       }},
      {"directory_unreachable",
       [](ImageBuilder& builder, const Content&) {
         // Two directories that lie in each other.
         const InodeNumber one = builder.add_nameless(FileType::kDirectory);
         const InodeNumber other = builder.add_nameless(FileType::kDirectory);
         for (const auto& [child, parent] : {std::pair{one, other}, std::pair{other, one}}) {
           put_name(builder, parent, 16, "circle", child, FileType::kDirectory);
           put_ref(builder, child, parent, 16);
           builder.change_inode(child, [](InodeItem& item) { item.links = 3; });
         }
       }},
      {"name_duplicate",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_link(content.linked, kRootInode, "one");
       }},
      {"name_hash_missing",
       [](ImageBuilder& builder, const Content& content) {
         builder.erase(make_key(content.docs, ItemType::kDirHash, builder.hash("two")));
       }},
      {"name_hash_dangling",
       [](ImageBuilder& builder, const Content& content) {
         std::vector<std::byte> index(8);
         store_le(index.data(), std::uint64_t{77});
         builder.append(make_key(content.docs, ItemType::kDirHash, builder.hash("two")), index);
       }},
      {"name_hash_wrong",
       [](ImageBuilder& builder, const Content& content) {
         const std::uint64_t hash = builder.hash("two");
         move_item(builder, make_key(content.docs, ItemType::kDirHash, hash),
                   make_key(content.docs, ItemType::kDirHash, hash + 1));
       }},
      {"name_child_missing",
       [](ImageBuilder& builder, const Content& content) {
         put_name(builder, content.docs, 30, "ghost", {9999}, FileType::kRegular);
       }},
      {"name_ref_missing",
       [](ImageBuilder& builder, const Content& content) {
         put_name(builder, content.docs, 30, "more", content.linked, FileType::kRegular);
       }},
      {"name_ref_dangling",
       [](ImageBuilder& builder, const Content& content) {
         put_ref(builder, content.linked, content.docs, 1000);
         builder.change_inode(content.linked, [](InodeItem& item) { ++item.links; });
       }},
      {"name_ref_key",
       [](ImageBuilder& builder, const Content& content) {
         const Key key = first_key(builder, content.linked, ItemType::kInodeRef);
         move_item(builder, key, {key.hi, key.lo + 1});
       }},
      {"name_type_wrong",
       [](ImageBuilder& builder, const Content& content) {
         const Key key = first_key(builder, content.sub, ItemType::kDirIndex);
         builder.items.at(key)[8] = static_cast<std::byte>(FileType::kSocket);
       }},
      {"item_key_bad",
       [](ImageBuilder& builder, const Content& content) {
         put_name(builder, content.docs, 3, "low", content.linked, FileType::kRegular);
         put_ref(builder, content.linked, content.docs, 3);
         builder.change_inode(content.linked, [](InodeItem& item) { ++item.links; });
       }},
  };
}

std::vector<Spoiled> extent_and_xattr_cases() {
  return {
      {"extent_overlap",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_data(content.data_file, 4096, 2);
       }},
      {"extent_inline_not_alone",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_data(content.inline_file, 4096, 1);
       }},
      {"extent_generation",
       [](ImageBuilder& builder, const Content& content) {
         put_u64(builder, first_key(builder, content.sparse_file, ItemType::kExtent), 16, 99);
       }},
      {"data_checksum",
       [](ImageBuilder& builder, const Content& content) {
         put_u64(builder, first_key(builder, content.data_file, ItemType::kExtent), 24, 1);
       }},
      {"xattr_hash",
       [](ImageBuilder& builder, const Content& content) {
         const Key key = first_key(builder, content.data_file, ItemType::kXattr);
         move_item(builder, key, {key.hi, key.lo + 1});
       }},
      {"xattr_duplicate",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_xattr(content.data_file, "user.colour", "red");
       }},
      {"xattr_value_missing xattr_value_unused",
       [](ImageBuilder& builder, const Content& content) {
         const Key key = first_key(builder, content.docs, ItemType::kXattr);
         put_u64(builder, key, builder.items.at(key).size() - 8, content.linked.value);
       }},
      {"xattr_value_missing",
       [](ImageBuilder& builder, const Content& content) {
         const InodeNumber holder = builder.add_large_xattr(content.sub, "user.gone", 1);
         const Key data = first_key(builder, holder, ItemType::kExtent);
         builder.used.erase(load_le<std::uint64_t>(builder.items.at(data).data() + 8));
         builder.erase(data);
         builder.erase(make_key(holder, ItemType::kInode));
       }},
      {"xattr_value_shared xattr_value_unused",
       [](ImageBuilder& builder, const Content& content) {
         builder.add_large_xattr(content.sub, "user.copy", 1);
         const Key key = first_key(builder, content.sub, ItemType::kXattr);
         put_u64(builder, key, builder.items.at(key).size() - 8, content.holder.value);
       }},
      {"xattr_value_unused",
       [](ImageBuilder& builder, const Content& content) {
         builder.erase(first_key(builder, content.docs, ItemType::kXattr));
       }},
      {"inode_flags name_ref_dangling",
       [](ImageBuilder& builder, const Content& content) {
         put_ref(builder, content.holder, content.docs, 1000);
       }},
  };
}

void require_all(const std::vector<Spoiled>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO("case " << i);
    require_findings(cases[i]);
  }
}

}  // namespace

TEST_CASE("check: finds what is wrong with items", "[check]") { require_all(item_cases()); }
TEST_CASE("check: finds what is wrong with inodes", "[check]") { require_all(inode_cases()); }
TEST_CASE("check: finds what is wrong with names", "[check]") { require_all(name_cases()); }
TEST_CASE("check: finds what is wrong with extents and xattrs", "[check]") {
  require_all(extent_and_xattr_cases());
}

}  // namespace cordwood::test
