#include "format/superblock.hpp"

#include <cstring>

#include "base/checksum.hpp"
#include "format/key.hpp"
#include "format/node.hpp"
#include "format/seed.hpp"

namespace cordwood {

namespace {

constexpr std::size_t kChecksummedBytes = offsetof(Superblock, checksum);

/// The seed before the uuid is known to be right: it does not depend on the volume.
std::uint64_t slot_seed(std::uint64_t place) {
  return checksum_seed(0, Structure::kSuperblock, place);
}

}  // namespace

std::uint64_t Superblock::volume_seed() const {
  return cordwood::checksum(std::as_bytes(std::span(uuid)), 0);
}

Result<Superblock> Superblock::parse(ConstBytes page, std::uint64_t place) {
  const auto bad = [place](const char* what) { return corrupt(Place::kByte, place, what); };
  if (page.size() != kPageBytes) return bad("superblock is too short");
  Superblock sb;
  std::memcpy(&sb, page.data(), sizeof sb);
  if (sb.magic != kSuperblockMagic) {
    return make_error(Errc::kNotCordwood, Place::kByte, place, "no superblock");
  }
  // A newer format may have another checksum, so its version is looked at first.
  if (sb.format_version != kFormatVersion) {
    return make_error(Errc::kVersion, Place::kValue, sb.format_version,
                      "format version is not 1: use a newer version of this program");
  }
  if (sb.checksum != cordwood::checksum(page.first(kChecksummedBytes), slot_seed(place))) {
    return bad("superblock checksum mismatch");
  }
  if (sb.incompatible_features != 0) {
    return make_error(Errc::kVersion, Place::kValue, sb.incompatible_features,
                      "unknown incompatible features: use a newer version of this program");
  }
  if (sb.name_hash_bits == 0 || sb.name_hash_bits > 64) return bad("superblock: name hash bits");
  if (sb.mount_state != 1 && sb.mount_state != 2) return bad("superblock: mount state");
  if (sb.root_node == 0 || sb.root_node >= sb.next_node_id || sb.root_level > kMaxLevel ||
      sb.next_node_id > kNodeIdLimit || sb.free_node_ids >= sb.next_node_id ||
      sb.table_levels != cordwood::table_levels(sb.next_node_id)) {
    return bad("superblock: tree root or node ids");
  }
  if (sb.next_inode <= kRootInode.value || sb.next_inode > kInodeLimit) {
    return bad("superblock: inode numbers");
  }
  if (sb.device_blocks == 0 || sb.device_blocks > kMaxDeviceBlocks) {
    return bad("superblock: device size");
  }
  if (sb.log_blocks == 0 || sb.log_blocks > sb.device_blocks || sb.log_block >= sb.log_blocks) {
    return bad("superblock: log");
  }
  return sb;
}

void Superblock::store(Bytes page, std::uint64_t place) const {
  std::memcpy(page.data(), this, sizeof *this);
  store_le(page.data() + kChecksummedBytes,
           cordwood::checksum(page.first(kChecksummedBytes), slot_seed(place)));
}

}  // namespace cordwood
