#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "device/memory_device.hpp"
#include "format/group.hpp"
#include "format/items.hpp"
#include "format/key.hpp"
#include "format/layout.hpp"
#include "format/superblock.hpp"
#include "format/table.hpp"

namespace cordwood::test {

/// Shape of an image that is built by hand.
struct ImageShape {
  std::uint64_t device_bytes = 8_MiB;
  std::uint32_t block_bytes = 4096;
  std::uint32_t node_bytes = 4096;
  std::uint32_t name_hash_bits = 64;
  std::uint32_t leaf_items_max = 8;      ///< few, so that small content makes a tree with levels
  std::uint32_t inner_children_max = 4;  ///< likewise; at least 2
  std::uint32_t skip_ids = 0;            ///< leave so many node ids free before the first node
  bool fragment_nodes = false;           ///< nodes lie on single blocks, named by fragment lists
  bool fragment_table = false;           ///< so do table pages
  std::uint64_t generation = 7;
};

/// What was built, and where.
struct BuiltImage {
  struct Node {
    NodeId id;
    std::uint8_t level = 0;
    std::vector<BlockRun> runs;
    std::vector<BlockNumber> lists;
  };
  std::unique_ptr<MemoryDevice> device;
  Layout layout;
  Superblock superblock;        ///< of slot `superblock.generation % 2`
  std::vector<Node> nodes;      ///< leaves in key order first, the root last
  std::vector<BlockRun> table;  ///< pages, contiguous ones
};

/// Builds volumes with format and node functions only: right ones, and ones that are wrong in a single
/// thing while every checksum fits. Content is put together by the add_ calls, which keep all counts
/// right; then `items`, `used` and the hooks may be used to spoil it; build() writes it out.
class ImageBuilder {
 public:
  using Bitmap = std::array<std::uint64_t, kGroupBlocks / 64>;
  using TablePage = std::array<TableEntry, kEntriesPerTablePage>;

  /// Begins with an empty root directory.
  explicit ImageBuilder(const ImageShape& shape = {});

  InodeNumber add_directory(InodeNumber parent, std::string_view name);
  InodeNumber add_file(InodeNumber parent, std::string_view name,
                       FileType type = FileType::kRegular);
  InodeNumber add_symlink(InodeNumber parent, std::string_view name, std::string_view target);
  /// Another name for an inode that is no directory.
  void add_link(InodeNumber inode, InodeNumber parent, std::string_view name);
  /// An inode without any name or orphan item.
  InodeNumber add_nameless(FileType type = FileType::kRegular);
  void add_orphan(InodeNumber inode);
  void add_inline(InodeNumber inode, std::string_view content);
  /// Writes `blocks` blocks of data to the device and their extent to the file.
  BlockRun add_data(InodeNumber inode, std::uint64_t offset, std::uint64_t blocks);
  BlockRun add_preallocated(InodeNumber inode, std::uint64_t offset, std::uint64_t blocks);
  void add_xattr(InodeNumber inode, std::string_view name, std::string_view value);
  /// @return the inode that holds the value.
  InodeNumber add_large_xattr(InodeNumber inode, std::string_view name, std::uint64_t blocks);

  [[nodiscard]] InodeItem inode(InodeNumber number) const;
  void change_inode(InodeNumber number, const std::function<void(InodeItem&)>& change);
  void put(Key key, ConstBytes item);
  /// Appends to an item, or makes it.
  void append(Key key, ConstBytes bytes);
  void erase(Key key) { items.erase(key); }
  [[nodiscard]] std::uint64_t hash(std::string_view name) const;
  /// Keys of an inode's items of one type.
  [[nodiscard]] std::vector<Key> keys(InodeNumber number, ItemType type) const;
  /// Takes blocks; they are marked as used.
  BlockRun allocate(std::uint64_t blocks);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::uint64_t volume_seed() const { return superblock_.volume_seed(); }

  [[nodiscard]] BuiltImage build();

  // What to spoil.
  std::map<Key, std::vector<std::byte>> items;
  std::set<std::uint64_t> used;  ///< blocks that the bitmaps show as used, without fixed ones
  std::function<void(NodeId, std::uint8_t level, Bytes)> edit_node;
  std::function<void(std::uint32_t level, std::uint64_t index, TablePage&)> edit_table_page;
  std::function<void(std::uint64_t group, Bitmap&)> edit_bitmap;
  std::function<void(std::uint64_t group, GroupDescriptor&)> edit_descriptor;
  std::function<void(std::uint32_t slot, Superblock&)> edit_superblock;

 private:
  struct Child {
    Key low;
    NodeId id;
  };

  InodeNumber add_inode(FileType type, std::uint32_t links);
  void add_name(InodeNumber child, InodeNumber parent, std::string_view name);
  BlockRun add_extent(InodeNumber inode, std::uint64_t offset, std::uint64_t blocks,
                      ExtentKind kind);
  std::vector<Child> write_leaves(BuiltImage& image);
  std::vector<Child> write_inner(BuiltImage& image, std::uint8_t level,
                                 const std::vector<Child>& below);
  void write_node(BuiltImage& image, NodeId id, std::uint8_t level, std::vector<std::byte> bytes);
  TableEntry place(BuiltImage& image, ConstBytes bytes, Structure structure, bool fragment,
                   BuiltImage::Node* node);
  void write_table(BuiltImage& image);
  void write_groups(BuiltImage& image);
  void write_superblocks(BuiltImage& image);

  ImageShape shape_;
  Layout layout_;
  Superblock superblock_;
  std::unique_ptr<MemoryDevice> device_;
  std::map<std::uint64_t, TableEntry> entries_;  ///< by node id
  std::uint64_t next_block_ = 0;
  std::uint64_t next_node_ = 1;
};

[[nodiscard]] std::vector<std::byte> bytes_of(std::string_view text);

}  // namespace cordwood::test
