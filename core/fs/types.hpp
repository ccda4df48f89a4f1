#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "format/items.hpp"

namespace cordwood {

/// What stat shows of an inode.
struct Attributes {
  InodeNumber inode;
  std::uint32_t mode = 0;  ///< type and permissions as POSIX has them
  std::uint32_t links = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::uint64_t bytes = 0;  ///< of allocated blocks
  std::uint32_t rdev = 0;
  Timestamp access;
  Timestamp modify;
  Timestamp change;
  Timestamp birth;

  [[nodiscard]] FileType type() const { return file_type_of(mode); }
  [[nodiscard]] bool is_directory() const { return type() == FileType::kDirectory; }
};

/// What a new inode starts with.
struct NewInode {
  FileType type = FileType::kRegular;  ///< ignored by make_directory and make_symlink
  std::uint32_t permissions = 0644;    ///< lower 12 bits of the mode
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t rdev = 0;  ///< devices only, Linux encoding
};

/// What set_attributes changes; unset fields stay.
struct AttributeChanges {
  std::optional<std::uint32_t> permissions;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::optional<std::uint64_t> size;
  std::optional<Timestamp> access;
  std::optional<Timestamp> modify;
};

enum class RenameMode : std::uint8_t { kReplace, kNoReplace, kExchange };
enum class XattrMode : std::uint8_t { kEither, kCreate, kReplace };
enum class FollowLast : std::uint8_t { kNo, kYes };

/// One entry of a directory. `cookie` resumes behind it.
struct DirectoryEntry {
  std::uint64_t cookie = 0;
  InodeNumber inode;
  FileType type = FileType::kRegular;
  std::string_view name;  ///< valid during the visit
};

/// The most names an inode may have.
inline constexpr std::uint32_t kMaxLinks = 0xffffffff - 1;

}  // namespace cordwood
