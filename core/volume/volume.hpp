#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/superblock.hpp"
#include "fs/types.hpp"
#include "log/replay.hpp"
#include "trace/counters.hpp"
#include "trace/histogram.hpp"
#include "volume/options.hpp"

namespace cordwood {

/// Space and objects of a volume, as statfs shows them.
struct VolumeUsage {
  std::uint64_t block_bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t free_blocks = 0;          ///< free on the medium, reserve included
  std::uint64_t available_blocks = 0;     ///< what a write can still get
  std::uint64_t pending_free_blocks = 0;  ///< free after the next checkpoint
  std::uint64_t inodes = 0;
};

/// What a volume is and has done since it was opened.
struct VolumeStatistics {
  CounterValues counters{};
  std::uint64_t nodes = 0;               ///< in the tree
  std::uint64_t leaf_fill_permille = 0;  ///< of the resident leaves
  std::uint64_t dirty_bytes = 0;
  std::uint64_t cached_nodes = 0;
  std::uint64_t table_levels = 0;
  std::uint64_t tree_levels = 0;
  Generation generation;             ///< the one that is being changed
  std::uint64_t log_bytes = 0;       ///< of the log ring
  std::uint64_t log_used_bytes = 0;  ///< since the last checkpoint
  HistogramSummary gate_closed_ns;   ///< for how long cuts and freezes kept changes out
  HistogramSummary group_sizes;      ///< callers of fsync() that one commit served
};

/// An open inode: it stays usable after its last name is gone, until the handle is closed.
/// Move-only. Closing an unlinked inode frees its space.
class InodeHandle {
 public:
  InodeHandle() = default;
  InodeHandle(InodeHandle&& other) noexcept;
  InodeHandle& operator=(InodeHandle&& other) noexcept;
  ~InodeHandle();

  [[nodiscard]] InodeNumber inode() const { return inode_; }
  [[nodiscard]] explicit operator bool() const { return volume_ != nullptr; }
  /// Closes now and tells what went wrong while freeing an unlinked inode.
  Result<void> close();

 private:
  friend class Volume;
  InodeHandle(class Volume* volume, InodeNumber inode) : volume_(volume), inode_(inode) {}
  class Volume* volume_ = nullptr;
  InodeNumber inode_;
};

/// A Cordwood volume on a device: a whole filesystem behind one object.
///
/// Objects are named by inode number, children by parent and name; resolve() walks a path. Nothing here
/// checks permissions: that is the caller's policy (a FUSE mount lets the kernel do it).
/// Changes are durable after fsync(), sync(), checkpoint(), close(), or when memory pressure made a
/// checkpoint. After a crash the volume is as it was at some moment not older than the last of these,
/// between two operations. After a failed write or flush every change gets kFailed until the
/// volume is opened again; reading goes on.
/// @threads every call may come from any thread at any time, except open, close and the destructor.
class Volume {
 public:
  /// Writes an empty volume over whatever the device holds. Durable when it returns.
  /// @errors kInvalid for sizes that do not fit together, I/O.
  static Result<void> format(BlockDevice& device, const FormatOptions& options);

  /// Opens the volume on a device, which must outlive it. Returns to the last checkpoint, finishes
  /// interrupted deletions.
  /// @errors kNotCordwood, kVersion, kCorrupt, I/O; kReadOnly features force read_only.
  static Result<std::unique_ptr<Volume>> open(BlockDevice& device,
                                              const MountOptions& options = {});

  /// Closes without an answer; call close() first to learn about errors.
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  /// Checkpoints and marks the volume clean. No call is allowed afterwards but the destructor.
  /// @pre no InodeHandle is open and no other call is running.
  Result<void> close();

  // ---- durability ----
  /// Makes what was changed of an inode before the call durable (data, attributes, names; of a directory
  /// its entries), and with it all that was changed earlier anywhere: one write to the log and at most
  /// one flush, shared with other callers. No I/O if it is durable already.
  /// @errors kFailed, I/O: the volume takes no more changes; nothing is known about what was not durable.
  Result<void> fsync(InodeNumber inode);
  /// The same without attributes other than the size.
  Result<void> fdatasync(InodeNumber inode);
  /// Makes everything done before the call durable.
  Result<void> sync();
  /// The same by a checkpoint: the tree itself is written, and the log is empty afterwards.
  Result<void> checkpoint();

  // ---- names ----
  Result<Attributes> lookup(InodeNumber parent, std::string_view name);
  /// Makes an inode of any type but directory and symlink (those have calls of their own).
  /// @errors kExists, kNameTooLong, kInvalid ("/", NUL, "." and ".."), kNoEntry ("" or a removed
  ///         parent), kNotDirectory, kNoSpace.
  Result<Attributes> create(InodeNumber parent, std::string_view name, const NewInode& what);
  Result<Attributes> make_directory(InodeNumber parent, std::string_view name,
                                    const NewInode& what);
  /// @param target  1 to 4095 bytes, no NUL.
  Result<Attributes> make_symlink(InodeNumber parent, std::string_view name,
                                  std::string_view target, const NewInode& what);
  Result<std::string> read_symlink(InodeNumber inode);
  Result<Attributes> link(InodeNumber inode, InodeNumber parent, std::string_view name);
  Result<void> unlink(InodeNumber parent, std::string_view name);
  Result<void> remove_directory(InodeNumber parent, std::string_view name);
  Result<void> rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                      std::string_view new_name, RenameMode mode = RenameMode::kReplace);
  /// Visits entries in the order of their cookies, "." and ".." first, from the one after `cookie`
  /// (0 at the start) until the visitor returns false. Entries that exist all the time are seen exactly
  /// once, whatever comes and goes. The visitor may call the volume; it sees copies.
  Result<void> read_directory(InodeNumber directory, std::uint64_t cookie,
                              const std::function<bool(const DirectoryEntry&)>& visitor);

  // ---- attributes ----
  Result<Attributes> attributes(InodeNumber inode);
  /// Changes what is set; a size change truncates or extends with a hole.
  Result<Attributes> set_attributes(InodeNumber inode, const AttributeChanges& changes);
  /// @errors kNoData when there is none of that name.
  Result<std::vector<std::byte>> xattr(InodeNumber inode, std::string_view name);
  Result<std::vector<std::string>> list_xattrs(InodeNumber inode);
  /// @errors kExists / kNoData by mode, kRange for a value over 64 KiB, kNoSpace.
  Result<void> set_xattr(InodeNumber inode, std::string_view name, ConstBytes value,
                         XattrMode mode = XattrMode::kEither);
  Result<void> remove_xattr(InodeNumber inode, std::string_view name);

  // ---- data ----
  /// Reads up to into.size() bytes; fewer at the end of the file, 0 behind it.
  /// @errors kCorrupt when a checksum does not match: no wrong byte is ever returned.
  Result<std::size_t> read(InodeNumber inode, std::uint64_t offset, Bytes into);
  /// Writes all or fails; returns the count written before the space ran out if that is not 0.
  Result<std::size_t> write(InodeNumber inode, std::uint64_t offset, ConstBytes from);
  /// Writes at the end of the file, atomically with respect to other appends.
  Result<std::size_t> append(InodeNumber inode, ConstBytes from);
  /// First offset >= `offset` that holds data / lies in a hole (the end of the file counts as one).
  /// @errors kNoData at or past the end (lseek's ENXIO).
  Result<std::uint64_t> seek_data(InodeNumber inode, std::uint64_t offset);
  Result<std::uint64_t> seek_hole(InodeNumber inode, std::uint64_t offset);

  /// Keeps an inode alive across unlink.
  Result<InodeHandle> open_inode(InodeNumber inode);

  // ---- paths ----
  /// Walks a path from the root ("/a/b"; "." and ".." understood; symlinks followed except, unless
  /// asked, a last one).
  Result<Attributes> resolve(std::string_view path, FollowLast follow = FollowLast::kNo);
  /// The directory and last name of a path, for calls that make or remove it.
  /// @errors kInvalid for "/" itself.
  Result<std::pair<InodeNumber, std::string>> resolve_parent(std::string_view path);

  // ---- state ----
  [[nodiscard]] VolumeUsage usage() const;
  [[nodiscard]] VolumeStatistics statistics() const;
  /// The superblock of the last checkpoint.
  [[nodiscard]] Superblock superblock() const;
  /// What open() found in the log and did.
  [[nodiscard]] const ReplayPlan& replay() const;
  [[nodiscard]] const MountOptions& options() const;
  /// Whether an earlier failure made the volume refuse changes, and why.
  [[nodiscard]] std::optional<Error> failure() const;

  struct Engine;  ///< the layers below, for tests and the explorer
  [[nodiscard]] Engine& engine() { return *engine_; }

 private:
  friend class InodeHandle;
  explicit Volume(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace cordwood
