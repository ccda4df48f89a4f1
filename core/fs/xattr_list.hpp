#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "format/items.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// The extended attributes of an inode whose names share one hash: the content of one item, copied.
class XattrList {
 public:
  struct Entry {
    XattrKind kind = XattrKind::kInline;
    std::string name;
    std::vector<std::byte> value;  ///< kInode: the 8 bytes of the inode number

    /// The inode that holds the value; 0 when it is inline.
    [[nodiscard]] InodeNumber value_inode() const {
      return {kind == XattrKind::kInode ? load_le<std::uint64_t>(value.data()) : 0};
    }
  };

  /// @errors corrupt
  static Result<XattrList> parse(ConstBytes data, Key key);
  /// The list of a key; empty when there is no item.
  static Result<XattrList> read(BTree& tree, Key key);

  [[nodiscard]] std::vector<Entry>& entries() { return entries_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] Entry* find(std::string_view name);
  [[nodiscard]] std::vector<std::byte> encode() const;
  [[nodiscard]] std::size_t stored_bytes() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace cordwood
