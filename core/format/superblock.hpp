#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "format/group.hpp"
#include "format/layout.hpp"
#include "format/table.hpp"

namespace cordwood {

inline constexpr std::uint64_t kSuperblockMagic = 0x444f4f5744524f43;  // "CORDWOOD"
inline constexpr std::uint32_t kFormatVersion = 1;

/// Whether the volume was closed properly. Values are frozen; 0 is never written.
enum class MountState : std::uint32_t { kClean = 1, kMounted = 2 };

/// The root of everything: 4 KiB, written last in each checkpoint. Checkpoint g goes to slots g mod 2
/// at the start and at the end of the device, so a torn write never harms the last one.
struct Superblock {
  std::uint64_t magic = kSuperblockMagic;
  std::uint32_t format_version = kFormatVersion;
  std::uint32_t block_bytes = 0;
  std::uint32_t node_bytes = 0;
  std::uint32_t name_hash_bits = 64;
  std::array<std::uint8_t, 16> uuid{};
  std::uint64_t generation = 0;
  std::uint64_t device_blocks = 0;
  std::uint64_t incompatible_features = 0;  ///< unknown bit: do not open
  std::uint64_t read_only_features = 0;     ///< unknown bit: open read-only
  std::uint64_t compatible_features = 0;    ///< unknown bit: no matter
  std::uint64_t root_node = 0;
  std::uint32_t root_level = 0;
  std::uint32_t mount_state = 0;
  TableEntry table_root;
  std::uint32_t table_levels = 0;
  std::uint32_t reserved0 = 0;
  std::uint64_t next_node_id = 0;   ///< above every id ever used
  std::uint64_t free_node_ids = 0;  ///< ids below it whose table entry is empty (0 is not counted)
  GroupPageRef group_root;
  std::uint64_t free_blocks = 0;
  std::uint64_t log_first_block = 0;
  std::uint64_t log_blocks = 0;
  std::uint64_t log_sequence = 0;  ///< the first log record that this checkpoint does not include
  std::uint64_t next_inode = 0;
  std::uint64_t inode_count = 0;
  std::int64_t created_seconds = 0;
  std::int64_t written_seconds = 0;
  std::array<char, 64> label{};  ///< UTF-8, zero padded
  std::uint64_t log_block = 0;   ///< where that record would be, in blocks from the ring's start
  std::array<std::uint8_t, 3800> reserved1{};
  std::uint64_t checksum = 0;  ///< of all bytes before it, seeded with the slot's place

  [[nodiscard]] std::uint64_t volume_seed() const;
  [[nodiscard]] std::uint64_t volume_id() const {
    return load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(uuid.data()));
  }

  /// Checks one slot's 4 KiB.
  /// @param place  byte offset on the device where they were read.
  /// @errors not_cordwood: no superblock; version: a format or feature unknown here;
  ///         corrupt: checksum or field wrong.
  static Result<Superblock> parse(ConstBytes page, std::uint64_t place);
  /// Writes the 4 KiB for one slot, checksum included.
  void store(Bytes page, std::uint64_t place) const;
};
static_assert(sizeof(Superblock) == kPageBytes);
static_assert(offsetof(Superblock, uuid) == 24);
static_assert(offsetof(Superblock, generation) == 40);
static_assert(offsetof(Superblock, root_node) == 80);
static_assert(offsetof(Superblock, table_root) == 96);
static_assert(offsetof(Superblock, next_node_id) == 120);
static_assert(offsetof(Superblock, group_root) == 136);
static_assert(offsetof(Superblock, free_blocks) == 152);
static_assert(offsetof(Superblock, label) == 216);
static_assert(offsetof(Superblock, log_block) == 280);
static_assert(offsetof(Superblock, checksum) == 4088);
static_assert(std::is_trivially_copyable_v<Superblock>);
static_assert(std::has_unique_object_representations_v<Superblock>);

}  // namespace cordwood
