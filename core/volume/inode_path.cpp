#include "volume/inode_path.hpp"

#include <optional>
#include <vector>

#include "format/items.hpp"

namespace cordwood {

namespace {

/// A path of more directories than this is a circle (or nobody's business).
constexpr std::size_t kDepthMax = 4096;

struct Reference {
  InodeNumber parent;
  std::uint64_t index = 0;
};

Result<std::optional<Reference>> first_reference(ImageReader& reader, InodeNumber inode) {
  std::optional<Reference> found;
  const auto scanned = reader.scan(make_key(inode, ItemType::kInodeRef),
                                   make_key(inode, ItemType::kXattr), [&](Key, ConstBytes bytes) {
                                     if (bytes.size() < sizeof(InodeRefItem)) return true;
                                     found = Reference{{load_le<std::uint64_t>(bytes.data())},
                                                       load_le<std::uint64_t>(bytes.data() + 8)};
                                     return false;
                                   });
  if (!scanned) return scanned.error();
  return found;
}

}  // namespace

Result<std::string> path_of(ImageReader& reader, InodeNumber inode) {
  if (inode == kRootInode) return std::string("/");
  std::vector<std::string> names;  // from the inode up
  while (inode != kRootInode) {
    if (names.size() == kDepthMax) {
      return corrupt(Place::kInode, inode.value, "no path leads to the root");
    }
    const auto reference = TRY(first_reference(reader, inode));
    if (!reference && names.empty()) return std::string();
    if (!reference) return corrupt(Place::kInode, inode.value, "a directory has no name");
    if (reference->parent.value == 0 || reference->parent.value >= kInodeLimit) {
      return corrupt(Place::kInode, inode.value, "reference to no inode");
    }
    const Key key = make_key(reference->parent, ItemType::kDirIndex, reference->index);
    const auto item = TRY(reader.find(key));
    if (!item) return corrupt(Place::kInode, inode.value, "a name is not in its directory");
    const auto entry = TRY(DirIndexItem::parse(*item, key));
    names.emplace_back(entry.name);
    inode = reference->parent;
  }
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) path.append("/").append(*name);
  return path;
}

}  // namespace cordwood
