#include <algorithm>
#include <optional>

#include "fs/filesystem.hpp"
#include "fs/inode_item.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kSelfCookie = 1;
constexpr std::uint64_t kParentCookie = 2;
/// Entries copied before the visitor sees them.
constexpr std::size_t kBatchEntries = 256;

struct CopiedEntry {
  std::uint64_t index = 0;
  InodeNumber child;
  FileType type = FileType::kRegular;
  std::size_t name_end = 0;  ///< in the batch's text
};

/// Some entries of a directory, copied so that the visitor runs without any lock.
struct EntryBatch {
  std::vector<CopiedEntry> entries;
  std::string names;
};

Result<void> copy_entries(BTree& tree, InodeNumber directory, std::uint64_t from, std::uint64_t end,
                          EntryBatch& batch) {
  batch.entries.clear();
  batch.names.clear();
  std::optional<Error> error;
  TRY(tree.scan(make_key(directory, ItemType::kDirIndex, from),
                make_key(directory, ItemType::kDirIndex, end), [&](Key key, ConstBytes data) {
                  const Result<DirIndexItem> item = DirIndexItem::parse(data, key);
                  if (!item) {
                    error = item.error();
                    return false;
                  }
                  batch.names += item->name;
                  batch.entries.push_back({key.lo, item->child, item->type, batch.names.size()});
                  return batch.entries.size() < kBatchEntries;
                }));
  if (error) return *error;
  return {};
}

/// Returns false when the visitor has seen enough.
bool show(const EntryBatch& batch, const std::function<bool(const DirectoryEntry&)>& visitor) {
  const std::string_view names = batch.names;
  std::size_t start = 0;
  for (const CopiedEntry& entry : batch.entries) {
    const std::string_view name = names.substr(start, entry.name_end - start);
    if (!visitor({entry.index, entry.child, entry.type, name})) return false;
    start = entry.name_end;
  }
  return true;
}

}  // namespace

Result<void> Filesystem::read_directory(InodeNumber directory, std::uint64_t cookie,
                                        const std::function<bool(const DirectoryEntry&)>& visitor) {
  std::uint64_t end = 0;
  InodeNumber parent;
  {
    const SharedInode listed = TRY(inodes_.get_shared(directory));
    if (!listed->is_directory()) return make_error(Errc::kNotDirectory, "no directory");
    if (listed->item().links == 0) return make_error(Errc::kNoEntry, "the directory was removed");
    // Entries that are made, or renamed, while the visitor looks come behind: without this limit a
    // visitor that renames what it sees would never end.
    end = listed->item().next_dir_index;
    parent = listed->parent();
  }
  if (cookie < kSelfCookie && !visitor({kSelfCookie, directory, FileType::kDirectory, "."})) {
    return {};
  }
  if (cookie < kParentCookie && !visitor({kParentCookie, parent, FileType::kDirectory, ".."})) {
    return {};
  }
  if (cookie >= end) return {};
  EntryBatch batch;
  std::uint64_t next = cookie < kFirstDirIndex ? kFirstDirIndex : cookie + 1;
  while (next < end) {
    {
      const Result<SharedInode> listed = inodes_.get_shared(directory);
      if (!listed && listed.error().code == Errc::kNoEntry) return {};  // removed meanwhile
      if (!listed) return listed.error();
      TRY(copy_entries(context_.tree, directory, next, end, batch));
    }
    if (batch.entries.empty() || !show(batch, visitor)) return {};
    next = batch.entries.back().index + 1;
  }
  return {};
}

Result<InodeNumber> Filesystem::parent_of(InodeNumber directory) {
  const InodeRef found = TRY(inodes_.get(directory));
  if (!found->is_directory()) return make_error(Errc::kNotDirectory, "no directory");
  return found->parent();
}

}  // namespace cordwood
