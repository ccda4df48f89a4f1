#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host_file.hpp"
#include "host_xattr.hpp"
#include "transfer/file_copy.hpp"
#include "transfer/host_directory_stack.hpp"
#include "transfer/report.hpp"
#include "volume/volume.hpp"

namespace cordwood {

struct ImportOptions {
  bool one_filesystem = false;  ///< directories where another filesystem is mounted stay empty
  /// The image's own file, which is left out when it lies inside a source.
  dev_t image_device = 0;
  ino_t image_inode = 0;
};

/// Copies trees of the host into a volume: content with holes, types, permissions, owners, times to
/// the nanosecond, xattrs, hard links (also between sources of one Importer). Change and birth times
/// cannot be kept: they say when the copy was made.
///
/// What exists is merged: a directory takes the entries, anything else is replaced by a source that
/// is not a directory. An entry that fails is reported and left out; the rest goes on, unless the
/// volume itself takes nothing more. Works without recursion, with a bounded number of descriptors.
/// Entries of a directory are taken in byte order, so that the same tree gives the same volume.
class Importer {
 public:
  Importer(Volume& volume, ImportOptions options, TransferReport& report);

  /// Imports one source into a directory of the volume. As with cp and rsync, "dir" makes
  /// target/dir, while "dir/" and "dir/." put the content and the attributes of dir on the target.
  /// @return false when nothing further can succeed; the report holds why.
  bool run(std::string_view source, InodeNumber target);

 private:
  /// A directory that is being imported. Its plain entries are done; those that are directories wait
  /// for their turn, so that the files of one directory get neighbouring inode numbers.
  struct Level {
    InodeNumber inode;
    struct stat found {};
    std::vector<std::string> directories;
    std::size_t next_directory = 0;
    std::size_t path_bytes = 0;  ///< length of path_ up to this directory
  };
  using HostObject = std::pair<dev_t, ino_t>;
  /// An object with several names: where it went, and how many names are still to come.
  struct LinkedObject {
    InodeNumber inode;
    std::uint64_t names_left = 0;
  };

  Outcome<void> begin(std::string_view source, InodeNumber target);
  Outcome<void> walk();
  Outcome<void> descend(const std::string& name);
  Outcome<void> enter(UniqueFd directory, const struct stat& found, InodeNumber inode);
  void finish_levels(std::size_t down_to);

  /// @return whether it is a directory, which the caller descends into.
  Outcome<bool> take_entry(int directory, const char* name, InodeNumber target);
  Outcome<void> import_plain(int directory, const char* name, const struct stat& found,
                             InodeNumber target);
  Outcome<void> import_file(int directory, const char* name, InodeNumber target);
  Outcome<InodeNumber> make_plain(int directory, const char* name, const struct stat& found,
                                  InodeNumber target);
  Outcome<InodeNumber> make_directory(const char* name, const struct stat& found,
                                      InodeNumber target);
  Outcome<bool> link_if_known(const struct stat& found, const char* name, InodeNumber target);
  void remember_links(const struct stat& found, InodeNumber inode);
  Outcome<void> copy_xattrs(const XattrTarget& from, InodeNumber to);
  Outcome<void> set_attributes(const struct stat& found, InodeNumber inode);

  void fail(const Failure& failure);

  Volume& volume_;
  ImportOptions options_;
  TransferReport& report_;
  FileCopier copier_;
  HostDirectoryStack host_;
  std::vector<Level> levels_;
  std::string path_;  ///< of what is being imported, for messages
  std::map<HostObject, LinkedObject> linked_;
  dev_t device_ = 0;  ///< of the source's first directory
  bool stopped_ = false;
};

}  // namespace cordwood
