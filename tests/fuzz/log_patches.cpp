#include "fuzz/log_patches.hpp"

#include <algorithm>
#include <cstring>

#include "format/log.hpp"
#include "fuzz/crafted_record.hpp"

namespace cordwood::test {

void PatchedLog::apply(FuzzInput& input) {
  while (!input.ended()) {
    switch (input.byte() % 12) {
      case 0:
      case 1: set_field(input, sample_.header_fields); break;
      case 2: set_field(input, sample_.index_fields); break;
      case 3: set_field(input, sample_.tombstone_fields); break;
      case 4: set_field(input, sample_.leaf_fields); break;
      case 5: set_field(input, sample_.record_headers); break;
      case 6:
      case 7: set_in_item(input); break;
      case 8: overwrite(input); break;
      case 9: copy_record(input); break;
      case 10: craft_record(input); break;
      default: set_superblock(input); break;
    }
  }
}

void PatchedLog::put(std::uint64_t offset, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes && offset + i < ring_.size(); ++i) {
    ring_[offset + i] = std::byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

std::uint64_t PatchedLog::get(std::uint64_t offset, std::size_t bytes) const {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes && offset + i < ring_.size(); ++i) {
    value |= std::uint64_t{std::to_integer<std::uint8_t>(ring_[offset + i])} << (8 * i);
  }
  return value;
}

void PatchedLog::set_field(FuzzInput& input, const std::vector<LogField>& fields) {
  if (fields.empty()) return;
  const LogField& field = fields[input.below(fields.size())];
  put(field.offset, input.instead_of(get(field.offset, field.bytes)), field.bytes);
}

void PatchedLog::set_in_item(FuzzInput& input) {
  const LogField& item = sample_.items[input.below(sample_.items.size())];
  const std::uint64_t at = item.offset + input.below(item.bytes);
  const std::size_t bytes = std::size_t{1} << (input.byte() % 4);
  put(at, input.instead_of(get(at, bytes)), bytes);
}

void PatchedLog::overwrite(FuzzInput& input) {
  const std::uint64_t at = input.take(3) % ring_.size();
  const std::uint64_t bytes = input.byte() + 1u;
  const std::uint8_t value = input.byte();
  for (std::uint64_t i = 0; i < bytes && at + i < ring_.size(); ++i)
    ring_[at + i] = std::byte{value};
}

/// A record as it is now goes to the place of another one, or to any block of the ring.
void PatchedLog::copy_record(FuzzInput& input) {
  const LogField source = sample_.records[input.below(sample_.records.size())];
  const LogField target = sample_.records[input.below(sample_.records.size())];
  const std::uint8_t how = input.byte();
  std::uint64_t at = target.offset;
  if ((how & 1) != 0) {
    const std::uint32_t block = sample_.layout.block_bytes;
    at = input.below(ring_.size() / block) * block;
    moved_.insert(at);
  }
  const std::uint64_t sequence = get(at + offsetof(LogRecordHeader, sequence), 8);
  const std::uint64_t bytes = std::min<std::uint64_t>(source.bytes, ring_.size() - at);
  std::memmove(ring_.data() + at, ring_.data() + source.offset, bytes);
  if ((how & 2) != 0) put(at + offsetof(LogRecordHeader, sequence), sequence, 8);
}

/// A well-formed record with any items takes a record's place, or follows the last one.
void PatchedLog::craft_record(FuzzInput& input) {
  const std::uint64_t number = input.below(sample_.records.size() + 1);
  const bool behind = number == sample_.records.size();
  const LogField& place = sample_.records[behind ? number - 1 : number];
  const std::uint64_t at = behind ? place.offset + place.bytes : place.offset;
  LogRecordHeader header;
  std::memcpy(&header, ring_.data() + place.offset, sizeof header);
  header.sequence = sample_.superblock.log_sequence + number;
  const std::vector<std::byte> record = craft(input, sample_, header);
  if (at + record.size() > ring_.size()) return;
  std::copy(record.begin(), record.end(), ring_.begin() + static_cast<std::ptrdiff_t>(at));
  moved_.insert(at);
}

void PatchedLog::set_superblock(FuzzInput& input) {
  superblock_changed_ = true;
  std::uint64_t* const fields[] = {&superblock_.log_sequence, &superblock_.log_block,
                                   &superblock_.next_inode, &superblock_.inode_count};
  std::uint64_t& field = *fields[input.byte() % std::size(fields)];
  field = input.instead_of(field);
  if (input.byte() % 4 == 0) {
    superblock_.mount_state = static_cast<std::uint32_t>(MountState::kClean);
  }
}

void PatchedLog::fix_checksums() {
  std::set<std::uint64_t> starts = moved_;
  for (const LogField& record : sample_.records) starts.insert(record.offset);
  const Layout& layout = sample_.layout;
  for (const std::uint64_t at : starts) {
    const std::uint64_t bytes = get(at + offsetof(LogRecordHeader, record_bytes), 8);
    if (bytes < sizeof(LogRecordHeader) || bytes > ring_.size() - at) continue;
    const std::uint64_t block =
        (sample_.superblock.log_block + at / layout.block_bytes) % layout.log.count;
    const std::uint64_t place = layout.byte_of(layout.log.first + block);
    const ConstBytes record(ring_.data() + at, bytes);
    put(at, log_record_checksum(record, sample_.superblock.volume_seed(), place), 8);
  }
}

SparseImage PatchedLog::image() const {
  SparseImage image = sample_.image;
  const Layout& layout = sample_.layout;
  const std::uint64_t ring = layout.byte_of(layout.log.first);
  const std::uint64_t split = sample_.superblock.log_block * layout.block_bytes;
  constexpr std::size_t kPiece = 512;
  for (std::uint64_t at = 0; at < ring_.size(); at += kPiece) {
    if (std::memcmp(&ring_[at], &sample_.ring[at], kPiece) == 0) continue;
    image.write(ring + (at + split) % ring_.size(), {&ring_[at], kPiece});
  }
  if (superblock_changed_) {
    std::vector<std::byte> page(kPageBytes);
    for (std::uint32_t copy = 0; copy < 2; ++copy) {
      const std::uint64_t place = superblock_byte(
          static_cast<std::uint32_t>(superblock_.generation % 2) + 2 * copy, image.bytes());
      superblock_.store(page, place);
      image.write(place, page);
    }
  }
  return image;
}

}  // namespace cordwood::test
