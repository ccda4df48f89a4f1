#include "log/ring.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace cordwood {

void LogRing::advance(std::uint64_t record_bytes) {
  CW_CHECK(record_bytes <= free_bytes());
  head_.block += record_bytes / layout_.block_bytes;
  ++head_.sequence;
}

void LogRing::add_requests(IoRequest::Kind kind, LogPosition position, Bytes record, bool fua,
                           std::vector<IoRequest>& requests) const {
  const std::uint64_t start = position.block % block_count();
  const std::uint64_t to_end = (block_count() - start) * layout_.block_bytes;
  const std::size_t first = std::min<std::uint64_t>(record.size(), to_end);
  requests.push_back({kind, fua, byte_of(position), record.data(), first});
  if (first < record.size()) {
    requests.push_back({kind, fua, layout_.byte_of(layout_.log.first), record.data() + first,
                        record.size() - first});
  }
}

}  // namespace cordwood
