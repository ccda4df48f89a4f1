#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "format/key.hpp"
#include "format/layout.hpp"
#include "format/node.hpp"

namespace cordwood {

/// What an inode is. Values are frozen and equal the upper four bits of a POSIX mode.
enum class FileType : std::uint8_t {
  kFifo = 1,
  kCharDevice = 2,
  kDirectory = 4,
  kBlockDevice = 6,
  kRegular = 8,
  kSymlink = 10,
  kSocket = 12,
};
[[nodiscard]] constexpr FileType file_type_of(std::uint32_t mode) {
  return static_cast<FileType>((mode >> 12) & 0xf);
}
[[nodiscard]] constexpr bool is_file_type(std::uint32_t value) {
  return value == 1 || value == 2 || value == 4 || value == 6 || value == 8 || value == 10 ||
         value == 12;
}
[[nodiscard]] constexpr std::uint32_t make_mode(FileType type, std::uint32_t permissions) {
  return (static_cast<std::uint32_t>(type) << 12) | (permissions & 07777);
}

/// Inode flags. Values are frozen.
inline constexpr std::uint32_t kInodeXattrValue = 1;  ///< holds a large xattr value; has no name

/// The item (inode, kInode, 0): 96 bytes.
struct InodeItem {
  std::uint32_t mode = 0;   ///< POSIX: type and permissions
  std::uint32_t links = 0;  ///< names; for a directory 2 + sub-directories
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;   ///< bytes; for a directory the sum of its names' lengths
  std::uint64_t bytes = 0;  ///< bytes of blocks that its extents take (0 when inline)
  std::uint32_t rdev = 0;   ///< Linux encoding, for devices
  std::uint32_t flags = 0;
  std::uint64_t next_dir_index = 0;  ///< directories: above every index ever used
  std::int64_t access_seconds = 0;
  std::int64_t modify_seconds = 0;
  std::int64_t change_seconds = 0;
  std::int64_t birth_seconds = 0;
  std::uint32_t access_nanoseconds = 0;
  std::uint32_t modify_nanoseconds = 0;
  std::uint32_t change_nanoseconds = 0;
  std::uint32_t birth_nanoseconds = 0;

  [[nodiscard]] FileType type() const { return file_type_of(mode); }
  [[nodiscard]] bool is_directory() const { return type() == FileType::kDirectory; }
};
static_assert(sizeof(InodeItem) == 96);
static_assert(offsetof(InodeItem, size) == 16);
static_assert(offsetof(InodeItem, rdev) == 32);
static_assert(offsetof(InodeItem, next_dir_index) == 40);
static_assert(offsetof(InodeItem, access_seconds) == 48);
static_assert(offsetof(InodeItem, access_nanoseconds) == 80);
static_assert(std::has_unique_object_representations_v<InodeItem>);

/// One name of an inode, seen from the inode: 16 bytes; items hold one or, on a hash collision, more.
struct InodeRefItem {
  std::uint64_t parent = 0;
  std::uint64_t dir_index = 0;
};
static_assert(sizeof(InodeRefItem) == 16);
static_assert(std::has_unique_object_representations_v<InodeRefItem>);

[[nodiscard]] constexpr std::uint64_t inode_ref_hash(InodeNumber parent, std::uint64_t dir_index) {
  return mix_seed(parent.value, dir_index);
}

/// The item (directory, kDirIndex, index): child, type, then the name to the end of the item.
inline constexpr std::size_t kDirIndexHeaderBytes = 9;
inline constexpr std::size_t kMaxNameBytes = 255;
/// Indexes below this are never given to names: readdir uses them for "." and "..".
inline constexpr std::uint64_t kFirstDirIndex = 16;

struct DirIndexItem {
  InodeNumber child;
  FileType type = FileType::kRegular;
  std::string_view name;  ///< points into the parsed bytes

  /// @errors corrupt when too short, of an unknown type, or without a valid name.
  static Result<DirIndexItem> parse(ConstBytes data, Key key);
  /// Writes to `into`, at least kDirIndexHeaderBytes + name.size() long; returns the bytes used.
  std::size_t store(std::byte* into) const;
};

/// Hash of a name or xattr name: XXH3 seeded with the volume, cut to the volume's hash bits.
struct NameHasher {
  std::uint64_t volume_seed = 0;
  std::uint32_t bits = 64;

  [[nodiscard]] std::uint64_t operator()(std::string_view name) const {
    const std::uint64_t hash = checksum(as_bytes(name), volume_seed);
    return bits == 64 ? hash : hash & ((std::uint64_t{1} << bits) - 1);
  }
};

/// How an extent item holds its part of the file. Values are frozen.
enum class ExtentKind : std::uint8_t {
  kInline = 1,        ///< the bytes follow the header; only at file offset 0, and then the only one
  kData = 2,          ///< blocks; one checksum per 4 KiB follows
  kPreallocated = 3,  ///< blocks that read as zeros; no checksums
};

/// First bytes of the item (inode, kExtent, file offset), offset a multiple of 4096.
/// kData: header, then ceil(blocks * block_bytes / 4096) checksums of 8 bytes. Checksum i covers the
/// bytes of the extent from i * 4096, up to 4096 or the extent's end; its seed is kFileData, the byte
/// on the device where they begin, mixed with `generation`.
struct ExtentHeader {
  std::uint8_t kind = 0;
  std::uint8_t reserved[3] = {};
  std::uint32_t length = 0;  ///< inline: bytes; else blocks
  std::uint64_t block = 0;   ///< first block; 0 for inline
  std::uint64_t generation =
      0;  ///< when it was allocated: a stale block of the same place; 0 for inline
};
static_assert(sizeof(ExtentHeader) == 24);
static_assert(offsetof(ExtentHeader, block) == 8);
static_assert(std::has_unique_object_representations_v<ExtentHeader>);

/// Files are checksummed in granules of this many bytes.
inline constexpr std::uint64_t kGranuleBytes = 4096;
inline constexpr std::uint64_t kMaxExtentBytes = 1_MiB;
inline constexpr std::uint64_t kMaxFileBytes = (std::uint64_t{1} << 63) - 1;

/// Largest extent whose checksums fit an item of this node size; a multiple of 4096.
[[nodiscard]] constexpr std::uint64_t max_extent_bytes(std::uint32_t node_bytes) {
  const std::uint64_t sums = (max_item_bytes(node_bytes) - sizeof(ExtentHeader)) / 8;
  return sums * kGranuleBytes < kMaxExtentBytes ? sums * kGranuleBytes : kMaxExtentBytes;
}

/// An extent item, parsed. `inline_bytes` and `checksums` point into the parsed bytes.
struct ExtentItem {
  ExtentKind kind = ExtentKind::kInline;
  std::uint64_t offset = 0;  ///< of its first byte in the file
  BlockRun run;              ///< not for inline
  Generation generation;
  ConstBytes inline_bytes;
  ConstBytes checksums;  ///< 8 bytes each, little-endian

  /// @errors corrupt when the shape is wrong or the blocks lie outside the volume.
  static Result<ExtentItem> parse(ConstBytes data, Key key, const Layout& layout);

  [[nodiscard]] std::uint64_t bytes(const Layout& layout) const {
    return kind == ExtentKind::kInline ? inline_bytes.size() : run.count * layout.block_bytes;
  }
  /// First file offset after it, in whole granules for blocks.
  [[nodiscard]] std::uint64_t end(const Layout& layout) const {
    return offset + (kind == ExtentKind::kInline
                         ? inline_bytes.size()
                         : round_up<std::uint64_t>(bytes(layout), kGranuleBytes));
  }
};

/// Seed of a granule's checksum. @param byte  where it begins on the device.
[[nodiscard]] std::uint64_t granule_seed(std::uint64_t volume_seed, std::uint64_t byte,
                                         Generation generation);

/// How an xattr's value is held. Values are frozen.
enum class XattrKind : std::uint8_t {
  kInline = 1,  ///< the value follows the name
  kInode = 2,   ///< u64 follows: an inode flagged kInodeXattrValue whose data is the value
};
/// One entry of an xattr item: {u8 kind, u8 name bytes, u16 value bytes here, name, value}.
struct XattrEntry {
  XattrKind kind = XattrKind::kInline;
  std::string_view name;
  ConstBytes value;  ///< for kInode the 8 bytes of the inode number

  [[nodiscard]] std::size_t stored_bytes() const { return 4 + name.size() + value.size(); }
  /// Parses the entry at the start of `data`.  @errors corrupt
  static Result<XattrEntry> parse(ConstBytes data, Key key);
  std::size_t store(std::byte* into) const;
};
inline constexpr std::size_t kMaxXattrValueBytes = 65536;

/// Copies a fixed-size item out of its bytes.
/// @errors corrupt when the length differs or a field is out of range.
[[nodiscard]] Result<InodeItem> parse_inode(ConstBytes data, Key key);

}  // namespace cordwood
