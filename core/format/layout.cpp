#include "format/layout.hpp"

#include <algorithm>

#include "format/group.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kSuperblockByte = 64_KiB;
constexpr std::uint64_t kHeadBytes = 1_MiB;
constexpr std::uint64_t kTailBytes = 2 * std::uint64_t{kPageBytes};
constexpr std::uint64_t kMinLogBytes = 256_KiB;
constexpr std::uint64_t kDefaultLogBytesMax = 64_MiB;

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// The end of the device that is whole 4 KiB pages, so that the copies at the end are aligned.
std::uint64_t usable_bytes(std::uint64_t device_bytes) {
  return device_bytes / kPageBytes * kPageBytes;
}

}  // namespace

std::uint64_t superblock_byte(std::uint32_t slot, std::uint64_t device_bytes) {
  const std::uint64_t within = std::uint64_t{slot % 2} * kPageBytes;
  if (slot < 2) return kSuperblockByte + within;
  return usable_bytes(device_bytes) - kTailBytes + within;
}

Result<Layout> Layout::compute(std::uint64_t device_bytes, std::uint32_t block_bytes,
                               std::uint32_t node_bytes, std::uint64_t log_bytes) {
  const auto invalid = [](std::uint64_t value, const char* what) {
    return make_error(Errc::kInvalid, Place::kValue, value, what);
  };
  if (!is_power_of_two(block_bytes) || block_bytes < kMinBlockBytes ||
      block_bytes > kMaxBlockBytes) {
    return invalid(block_bytes, "block size must be a power of two from 512 to 4096 bytes");
  }
  if (!is_power_of_two(node_bytes) || node_bytes < kMinNodeBytes || node_bytes > kMaxNodeBytes) {
    return invalid(node_bytes, "node size must be a power of two from 4096 to 65536 bytes");
  }
  if (device_bytes < kMinDeviceBytes) {
    return invalid(device_bytes, "a volume needs at least 4 MiB (4194304 bytes)");
  }
  Layout layout;
  layout.block_bytes = block_bytes;
  layout.node_bytes = node_bytes;
  const std::uint64_t bytes = usable_bytes(device_bytes);
  layout.device_blocks = bytes / block_bytes;
  if (layout.device_blocks > kMaxDeviceBlocks) {
    return invalid(device_bytes, "too large: a volume has at most 2^46 blocks");
  }
  layout.group_count = divide_up(layout.device_blocks, kGroupBlocks);
  if (log_bytes == 0) {
    log_bytes = std::clamp(round_up<std::uint64_t>(bytes / 64, kPageBytes), kMinLogBytes,
                           kDefaultLogBytesMax);
  } else if (log_bytes < kMinLogBytes || log_bytes > bytes / 4 || log_bytes % kPageBytes != 0) {
    return invalid(
        log_bytes,
        "the log takes whole pages of 4096 bytes, from 256 KiB to a quarter of the device");
  }
  layout.log = {{kHeadBytes / block_bytes}, log_bytes / block_bytes};
  layout.group_page_count = cordwood::group_page_count(layout.group_count);
  layout.group_pages_byte = kHeadBytes + log_bytes;
  layout.bitmaps_byte = layout.group_page_byte(layout.group_page_count, 0);
  layout.first_free = {layout.bitmap_byte(layout.group_count, 0) / block_bytes};
  layout.tail = {(bytes - kTailBytes) / block_bytes};
  return layout;
}

}  // namespace cordwood
