#include "volume/content_probe.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "format/layout.hpp"
#include "format/superblock.hpp"

namespace cordwood {

namespace {

/// The first bytes of a device (fewer if it is short) and its Cordwood superblock slots.
struct Sample {
  std::vector<std::byte> head;

  [[nodiscard]] bool has(std::size_t offset, std::string_view magic) const {
    return offset + magic.size() <= head.size() &&
           as_text(ConstBytes(head).subspan(offset, magic.size())) == magic;
  }
  template <class T>
  [[nodiscard]] T number(std::size_t offset) const {
    return offset + sizeof(T) <= head.size() ? load_le<T>(head.data() + offset) : T{0};
  }
};

/// A magic number at a fixed place.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char* name;
};

using namespace std::string_view_literals;

/// Filesystems and volume managers come before archives, and those before partition tables: a
/// hybrid ISO image carries a partition table too, and a FAT boot sector looks like one.
constexpr Magic kMagics[] = {
    {0, "XFSB"sv, "XFS"},
    {65536 + 64, "_BHRfS_M"sv, "btrfs"},
    {3, "NTFS    "sv, "NTFS"},
    {3, "EXFAT   "sv, "exFAT"},
    {54, "FAT12   "sv, "FAT"},
    {54, "FAT16   "sv, "FAT"},
    {82, "FAT32   "sv, "FAT"},
    {32769, "CD001"sv, "ISO 9660"},
    {32769, "BEA01"sv, "UDF"},
    {0, "LUKS\xba\xbe"sv, "LUKS"},
    {16384, "SKUL\xba\xbe"sv, "LUKS"},
    {4096 - 10, "SWAPSPACE2"sv, "swap"},
    {4096 - 10, "SWAP-SPACE"sv, "swap"},
    {8192 - 10, "SWAPSPACE2"sv, "swap"},
    {16384 - 10, "SWAPSPACE2"sv, "swap"},
    {65536 - 10, "SWAPSPACE2"sv, "swap"},
    {0, "LABELONE"sv, "LVM"},
    {512, "LABELONE"sv, "LVM"},
    {1024, "LABELONE"sv, "LVM"},
    {1536, "LABELONE"sv, "LVM"},
    {4096, "\xfc\x4e\x2b\xa9"sv, "Linux RAID"},
    {0, "\xfc\x4e\x2b\xa9"sv, "Linux RAID"},
    {1024, "\x10\x20\xf5\xf2"sv, "F2FS"},
    {4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca"sv, "bcachefs"},
    {4096 + 24, "\xc6\x85\x73\xf6\x66\xce\x90\xa9"sv, "bcachefs"},
    {65536 + 52, "ReIsEr"sv, "ReiserFS"},
    {32768, "JFS1"sv, "JFS"},
    {32, "NXSB"sv, "APFS"},
    {1024, "H+"sv, "HFS+"},
    {1024, "HX"sv, "HFS+"},
    {1024, "\xe2\xe1\xf5\xe0"sv, "EROFS"},
    {0, "hsqs"sv, "SquashFS"},
    {8, "littlefs"sv, "littlefs"},
    {0, "PK\x03\x04"sv, "zip archive"},
    {0, "PK\x05\x06"sv, "zip archive"},
    {0, "\x1f\x8b\x08"sv, "gzip file"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "xz file"},
    {0, "\x28\xb5\x2f\xfd"sv, "zstd file"},
    {0, "BZh"sv, "bzip2 file"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "7z archive"},
    {257, "ustar"sv, "tar archive"},
    {0,
     "\x7f"
     "ELF"sv,
     "ELF program"},
    {0, "QFI\xfb"sv, "qcow2 image"},
    {0, "SQLite format 3\0"sv, "SQLite database"},
    {0, "%PDF-"sv, "PDF file"},
    {0, "\x89PNG\r\n\x1a\n"sv, "PNG picture"},
    {0, "\xff\xd8\xff"sv, "JPEG picture"},
    {512, "EFI PART"sv, "GPT partition table"},
    {4096, "EFI PART"sv, "GPT partition table"},
};

/// ext2, ext3 and ext4 share one magic number and differ in their features.
const char* extended_filesystem(const Sample& sample) {
  constexpr std::size_t kSuperblock = 1024;
  if (sample.number<std::uint16_t>(kSuperblock + 0x38) != 0xef53) return nullptr;
  constexpr std::uint32_t kHasJournal = 0x4;
  constexpr std::uint32_t kExtentsOr64BitOrFlexible = 0x40 | 0x80 | 0x200;
  if ((sample.number<std::uint32_t>(kSuperblock + 0x60) & kExtentsOr64BitOrFlexible) != 0) {
    return "ext4";
  }
  return (sample.number<std::uint32_t>(kSuperblock + 0x5c) & kHasJournal) != 0 ? "ext3" : "ext2";
}

/// The signature alone is weak (any boot sector has it), so the four entries must make sense too.
bool has_mbr(const Sample& sample) {
  if (sample.number<std::uint16_t>(510) != 0xaa55) return false;
  bool used = false;
  for (std::size_t entry = 446; entry < 510; entry += 16) {
    const auto status = sample.number<std::uint8_t>(entry);
    if (status != 0 && status != 0x80) return false;
    used = used || sample.number<std::uint8_t>(entry + 4) != 0;
  }
  return used;
}

/// Reads a range of which the device may have only a part, in whole sectors.
Result<std::vector<std::byte>> read_clipped(BlockDevice& device, std::uint64_t offset,
                                            std::uint64_t bytes) {
  const DeviceGeometry geometry = device.geometry();
  const std::uint64_t sector = geometry.sector_bytes;
  const std::uint64_t begin = offset / sector * sector;
  const std::uint64_t limit = geometry.bytes / sector * sector;
  const std::uint64_t end = std::min(round_up(offset + bytes, sector), limit);
  if (begin >= end) return std::vector<std::byte>();
  std::vector<std::byte> data(end - begin);
  if (const auto read = device.read(begin, data); !read) return read.error();
  data.erase(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(offset - begin));
  return data;
}

Result<bool> has_cordwood(BlockDevice& device, const Sample& sample) {
  for (std::uint32_t slot = 0; slot < kSuperblockSlots; ++slot) {
    if (device.geometry().bytes < kMinDeviceBytes) return false;
    const std::uint64_t place = superblock_byte(slot, device.geometry().bytes);
    if (slot < 2) {
      if (sample.number<std::uint64_t>(place) == kSuperblockMagic) return true;
      continue;
    }
    const auto data = TRY(read_clipped(device, place, sizeof(std::uint64_t)));
    if (data.size() >= 8 && load_le<std::uint64_t>(data.data()) == kSuperblockMagic) return true;
  }
  return false;
}

}  // namespace

Result<std::string> identify_content(BlockDevice& device) {
  constexpr std::uint64_t kHeadBytes = 128_KiB;
  const Sample sample{TRY(read_clipped(device, 0, kHeadBytes))};
  if (TRY(has_cordwood(device, sample))) return std::string("Cordwood");
  if (const char* name = extended_filesystem(sample); name != nullptr) return std::string(name);
  for (const Magic& magic : kMagics) {
    if (sample.has(magic.offset, magic.bytes)) return std::string(magic.name);
  }
  if (has_mbr(sample)) return std::string("MBR partition table");
  return std::string();
}

}  // namespace cordwood
