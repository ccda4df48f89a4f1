#include "fs/removal.hpp"

#include <algorithm>
#include <optional>

#include "fs/inode_item.hpp"
#include "fs/xattr_list.hpp"

namespace cordwood {

namespace {

/// Whether a value of an xattr item lies in another inode.
Result<bool> names_inodes(ConstBytes data, Key key) {
  const XattrList list = TRY(XattrList::parse(data, key));
  return std::any_of(list.entries().begin(), list.entries().end(),
                     [](const auto& entry) { return entry.kind == XattrKind::kInode; });
}

}  // namespace

Result<Removal> collect_removal(const FsContext& context, Key from, Key end, std::size_t limit) {
  Removal removal;
  removal.complete = true;
  std::optional<Error> error;
  TRY(context.tree.scan(from, end, [&](Key key, ConstBytes data) {
    if (removal.keys.size() == limit) {
      removal.complete = false;
      return false;
    }
    if (key.type() == ItemType::kXattr) {
      const Result<bool> large = names_inodes(data, key);
      if (!large) error = large.error();
      if (!large || *large) {
        removal.complete = false;
        removal.meets_large_xattr = true;
        return false;
      }
    }
    if (key.type() == ItemType::kExtent) {
      const Result<ExtentItem> extent = ExtentItem::parse(data, key, context.layout);
      if (!extent) {
        error = extent.error();
        return false;
      }
      if (extent->kind != ExtentKind::kInline) {
        removal.runs.push_back(extent->run);
        removal.blocks += extent->run.count;
      }
    }
    removal.keys.push_back(key);
    return true;
  }));
  if (error) return *error;
  return removal;
}

Result<void> apply_removal(const FsContext& context, Operation& operation, const Removal& removal) {
  for (const BlockRun& run : removal.runs) TRY(context.space.free(run));
  for (const Key key : removal.keys) TRY(context.tree.erase(operation.reservation, key));
  return {};
}

Result<Removal> collect_value_inode(const FsContext& context, InodeNumber inode) {
  // Its item, and an extent for each granule at worst.
  constexpr std::size_t kItemsMax = 1 + kMaxXattrValueBytes / kGranuleBytes;
  Removal removal =
      TRY(collect_removal(context, inode_key(inode), inode_key(inode + 1), kItemsMax));
  if (!removal.complete) {
    return corrupt(Place::kInode, inode.value, "inode of an xattr value holds too much");
  }
  return removal;
}

}  // namespace cordwood
