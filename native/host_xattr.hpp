#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "failure.hpp"

namespace cordwood {

/// Names one object of the host for its xattrs: an open descriptor, or a name in an open directory
/// when the object cannot be opened for reading (a symlink, a fifo, a device).
struct XattrTarget {
  int fd = -1;                 ///< the object, or the directory when `name` is not null
  const char* name = nullptr;  ///< not followed when it is a symlink
};

/// Names of all xattrs that the caller may see; none where the filesystem has no xattrs.
[[nodiscard]] Outcome<std::vector<std::string>> list_host_xattrs(const XattrTarget& target);
[[nodiscard]] Outcome<std::vector<std::byte>> host_xattr(const XattrTarget& target,
                                                         const std::string& name);
[[nodiscard]] Outcome<void> set_host_xattr(const XattrTarget& target, const std::string& name,
                                           ConstBytes value);

}  // namespace cordwood
