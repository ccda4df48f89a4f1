#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "format/items.hpp"
#include "volume/check_state.hpp"
#include "volume/data_verify.hpp"

namespace cordwood {

/// Checks the items of a tree, fed in key order: each by itself, and those of one inode together.
/// What lies between different inodes is NameCheck's.
class ItemCheck {
 public:
  /// @param data  verifies the data of extents; null: not asked for.
  ItemCheck(CheckState& state, DataVerifier* data) : state_(state), data_(data) {}

  void item(Key key, ConstBytes bytes);
  /// The items with keys in [low, high) could not be seen.
  void gap(Key low, Key high);
  /// After the last item.
  void finish();

 private:
  /// What has been seen of the inode whose items are passing.
  struct Inode {
    InodeNumber number;
    std::optional<InodeItem> item;
    bool unseen = false;  ///< items are missing or malformed: totals mean nothing
    bool orphan = false;
    std::uint64_t names = 0;
    // Directories:
    std::uint64_t subdirectories = 0;
    std::uint64_t name_bytes = 0;
    std::uint64_t entries = 0;
    std::uint64_t index_max = 0;
    std::vector<std::uint64_t> shared_hashes;  ///< hashes that several names of it have
    std::vector<std::pair<std::uint64_t, std::uint64_t>> shared_names;  ///< {strong hash, index}
    // Files:
    bool has_inline = false;
    std::uint64_t inline_bytes = 0;
    std::uint64_t extents = 0;
    std::uint64_t extents_end = 0;  ///< of the last extent
    std::uint64_t data_end = 0;     ///< of the last extent that is not preallocated
    std::uint64_t block_bytes = 0;
  };

  void begin_inode(InodeNumber number);
  void end_inode();
  void malformed(Key key, const char* what);
  bool fits_type(Key key);

  void inode_item(Key key, ConstBytes bytes);
  void inode_refs(Key key, ConstBytes bytes);
  void xattrs(Key key, ConstBytes bytes);
  void dir_hash(Key key, ConstBytes bytes);
  void dir_index(Key key, ConstBytes bytes);
  void extent(Key key, ConstBytes bytes);
  void orphan(Key key, ConstBytes bytes);

  // Totals, when all items of an inode have passed (check_inode.cpp).
  void check_directory(const InodeItem& item);
  void check_links(const InodeItem& item);
  void check_content(const InodeItem& item);
  void check_shared_names();
  void check_root();
  void check_orphans();
  void check_counts();

  CheckState& state_;
  DataVerifier* data_;
  std::optional<Inode> inode_;
  std::vector<std::uint64_t> orphans_;  ///< inode numbers, rising
  std::vector<bool> orphans_met_;       ///< their inodes exist
  std::uint64_t inode_count_ = 0;
  bool root_seen_ = false;
};

}  // namespace cordwood
