#include "format/log.hpp"

#include "base/checksum.hpp"
#include "format/seed.hpp"

namespace cordwood {

bool is_log_record(const LogRecordHeader& header, LogPosition position, std::uint64_t volume_id,
                   const Layout& layout) {
  return header.magic == kLogMagic && header.volume_id == volume_id &&
         header.sequence == position.sequence && header.record_bytes >= sizeof header &&
         header.record_bytes <= kMaxLogRecordBytes &&
         header.record_bytes % layout.block_bytes == 0 &&
         header.record_bytes / layout.block_bytes <= layout.log.count;
}

std::uint64_t log_record_checksum(ConstBytes record, std::uint64_t volume_seed,
                                  std::uint64_t place) {
  return checksum(record.subspan(sizeof(LogRecordHeader::checksum)),
                  checksum_seed(volume_seed, Structure::kLogRecord, place));
}

}  // namespace cordwood
