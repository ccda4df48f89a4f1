#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "fs/types.hpp"

namespace cordwood::test {

/// One step of a workload. Objects are named by path, so that a sequence still means something when
/// steps before it are left out; "@3" is what handle 3 holds, "@3/x" a name in it.
struct Operation {
  enum class Kind : std::uint8_t {
    kCreate,         ///< path, mode: FileType << 12 | permissions, number: uid and rdev
    kMakeDirectory,  ///< path, mode: permissions
    kSymlink,        ///< path, path2: target
    kLink,           ///< path: existing, path2: new name
    kUnlink,         ///< path
    kRemoveDirectory,
    kRename,         ///< path, path2, mode: RenameMode
    kWrite,          ///< path, offset, bytes, seed
    kAppend,         ///< path, bytes, seed
    kTruncate,       ///< path, offset: new size
    kRead,           ///< path, offset, bytes
    kSeek,           ///< path, offset
    kSetXattr,       ///< path, path2: name, bytes, seed, mode: XattrMode
    kGetXattr,       ///< path, path2
    kRemoveXattr,    ///< path, path2
    kListXattrs,     ///< path
    kChangeMode,     ///< path, mode
    kChangeOwner,    ///< path, mode: uid, number: gid
    kChangeTimes,    ///< path, seed: seconds, number: nanoseconds, mode: 1 access, 2 modify
    kLookup,         ///< path
    kAttributes,     ///< path
    kReadLink,       ///< path
    kResolve,        ///< path, mode: 1 follows the last link
    kReadDirectory,  ///< path, number: entries a call, 0 for all
    kStale,          ///< number: which of the inodes that went away lately
    kOpen,           ///< path, number: slot
    kClose,          ///< number: slot
    kClock,          ///< seed: seconds, number: nanoseconds
    kSync,
    kRemount,  ///< number: variation of the mount options, 0 for the usual ones
    kCheck,
    kCompare,
    kFsync,  ///< path, mode: 1 fdatasync
    kCheckpoint,
    kCount,
  };

  Kind kind = Kind::kSync;
  std::string path;
  std::string path2;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  std::uint32_t mode = 0;
  std::uint32_t number = 0;
};

inline constexpr std::uint32_t kHandleSlots = 8;

/// One line: "write path=/a/b offset=100 bytes=20 seed=7"; fields that are zero are left out.
[[nodiscard]] std::string to_text(const Operation& operation);
[[nodiscard]] std::string to_text(const std::vector<Operation>& operations);
/// @errors kInvalid, also for lines that to_text() does not make.
[[nodiscard]] Result<Operation> parse_operation(std::string_view line);

/// Escapes what does not print, '%' and '=' as %XX.
[[nodiscard]] std::string escape(std::string_view bytes);
[[nodiscard]] Result<std::string> unescape(std::string_view text);

/// The bytes that a write with this seed writes; all zero for seed 0.
[[nodiscard]] std::vector<std::byte> pattern(std::uint64_t seed, std::size_t bytes);

}  // namespace cordwood::test
