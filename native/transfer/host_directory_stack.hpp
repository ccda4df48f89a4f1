#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "host_file.hpp"

namespace cordwood {

/// The chain of open host directories from the start of a walk down to where it is.
///
/// A tree may be deeper than a process may hold descriptors, and its paths longer than a system call
/// takes. So only the deepest directories stay open; an upper one is opened again through ".." when
/// the walk comes back, and must then still be the directory that it was.
/// @invariant the deepest directory is open.
class HostDirectoryStack {
 public:
  static constexpr std::size_t kOpenMax = 64;

  /// Goes down.
  Outcome<void> enter(UniqueFd directory);
  /// Goes up; the stack may become empty.
  /// @errors the parent was moved while the walk was below it: the stack is unusable afterwards.
  Outcome<void> leave();

  [[nodiscard]] int fd() const { return levels_.back().fd.get(); }
  [[nodiscard]] std::size_t depth() const { return levels_.size(); }

 private:
  struct Level {
    UniqueFd fd;
    dev_t device = 0;
    ino_t inode = 0;
  };
  std::vector<Level> levels_;
};

}  // namespace cordwood
