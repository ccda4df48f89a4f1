#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "host_file.hpp"
#include "host_xattr.hpp"
#include "transfer/directory_reader.hpp"
#include "transfer/file_copy.hpp"
#include "transfer/host_directory_stack.hpp"
#include "transfer/report.hpp"
#include "volume/volume.hpp"

namespace cordwood {

/// Copies trees of a volume to the host, with everything that Importer keeps.
///
/// What exists is merged: a directory takes the entries, anything else is replaced by a source that
/// is not a directory. No symlink of the host is followed below the target. Without root, owners that
/// differ from the caller are counted and left. Works without recursion, with a bounded number of
/// descriptors; ends even on a damaged volume whose directories form a loop.
class Exporter {
 public:
  /// @param target  a directory of the host, open for reading; the caller keeps it.
  Exporter(Volume& volume, int target, TransferReport& report);

  /// Exports one object of the volume: "/a/b" makes target/b, while "/a/b/", "/a/b/." and "/" put
  /// the content and the attributes of the directory on the target itself.
  /// @return false when nothing further can succeed; the report holds why.
  bool run(std::string_view source);

 private:
  struct Level {
    Attributes attributes;
    DirectoryReader reader;
    std::size_t path_bytes = 0;                      ///< length of path_ up to this directory
    std::size_t host_path_bytes = 0;                 ///< ... and of host_path_
    std::shared_ptr<const std::string> shared_path;  ///< host_path_, once a name here needs it
  };
  /// Where the first name of an object with several went: a path from the target, which may be
  /// longer than a system call takes.
  struct FirstName {
    std::shared_ptr<const std::string> directory;
    std::string name;
    std::uint64_t names_left = 0;
  };

  Outcome<void> begin(std::string_view source);
  Outcome<void> walk();
  Outcome<void> enter(UniqueFd directory, const Attributes& attributes);

  Outcome<void> export_entry(const std::string& name, const Attributes& attributes, int directory);
  Outcome<void> export_file(const std::string& name, const Attributes& attributes, int directory);
  Outcome<void> export_plain(const std::string& name, const Attributes& attributes, int directory);
  Outcome<void> descend(const std::string& name, const Attributes& attributes, int directory);
  Outcome<bool> link_if_known(const std::string& name, const Attributes& attributes, int directory);
  void remember_links(const std::string& name, const Attributes& attributes);
  Outcome<int> open_exported(const std::shared_ptr<const std::string>& path);

  Outcome<void> copy_xattrs(InodeNumber from, const XattrTarget& to);
  /// Owner, xattrs, permissions, times, in the order in which none undoes another.
  Outcome<void> set_attributes(const Attributes& attributes, const XattrTarget& to);
  /// @return false when the caller may not give it that owner.
  Outcome<bool> set_owner(const Attributes& attributes, const XattrTarget& to);

  void fail(const Failure& failure);

  Volume& volume_;
  int target_;
  TransferReport& report_;
  FileCopier copier_;
  HostDirectoryStack host_;
  std::vector<Level> levels_;
  std::string path_;       ///< in the volume, for messages
  std::string host_path_;  ///< of the current directory, from the target
  std::map<std::uint64_t, FirstName> linked_;
  UniqueFd opened_;  ///< what open_exported() gave last
  std::shared_ptr<const std::string> opened_path_;
  std::unordered_set<std::uint64_t> directories_seen_;
  bool is_root_ = false;
  bool stopped_ = false;
};

}  // namespace cordwood
