#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "format/items.hpp"
#include "fs/context.hpp"

namespace cordwood {

/// Where a name leads.
struct DirectoryName {
  std::uint64_t index = 0;  ///< directory index: place in listings
  InodeNumber child;
  FileType type = FileType::kRegular;
};

/// The items that make up directories:
///
///     (directory, kDirHash, hash of the name)   indexes of the names with that hash
///     (directory, kDirIndex, index)             child, type, name
///     (child, kInodeRef, hash of both)          directory and index: the way back
///
/// @threads the caller holds the directory's lock, exclusive for changes.
class DirectoryItems {
 public:
  explicit DirectoryItems(const FsContext& context) : context_(context) {}

  [[nodiscard]] std::uint64_t hash(std::string_view name) const { return context_.hasher(name); }

  /// @errors corrupt: hash and index disagree; I/O.
  Result<std::optional<DirectoryName>> find(InodeNumber directory, std::string_view name) const;
  Result<bool> empty(InodeNumber directory) const;

  /// Enters an index under the name's hash. Does nothing at all if it fails.
  /// @errors kExists: the name is there; kNoSpace: too many names with that hash; corrupt, I/O.
  Result<void> claim(Reservation& reservation, InodeNumber directory, std::string_view name,
                     std::uint64_t index);
  /// Adds the entry itself; claim() comes first.
  Result<void> add(Reservation& reservation, InodeNumber directory, std::string_view name,
                   const DirectoryName& entry, Hint* hint);
  /// Removes both items of a name.
  Result<void> remove(Reservation& reservation, InodeNumber directory, std::string_view name,
                      std::uint64_t index);

  Result<void> add_reference(Reservation& reservation, InodeNumber child, InodeNumber directory,
                             std::uint64_t index);
  Result<void> remove_reference(Reservation& reservation, InodeNumber child, InodeNumber directory,
                                std::uint64_t index);

  /// Load the leaves that a later change needs, so that it will not meet an error.
  Result<void> prefault(InodeNumber directory, std::string_view name, const DirectoryName& entry);
  Result<void> prefault_entry(InodeNumber directory, std::uint64_t index, Hint* hint);
  Result<void> prefault_reference(InodeNumber child, InodeNumber directory, std::uint64_t index);

 private:
  const FsContext& context_;
};

}  // namespace cordwood
