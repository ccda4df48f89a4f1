#include "volume/data_verify.hpp"

#include <algorithm>

#include "base/checksum.hpp"

namespace cordwood {

void DataVerifier::add(InodeNumber inode, const ExtentItem& extent) {
  const std::size_t bytes = extent.bytes(reader_.layout());
  if (filled_ + bytes > kBatchBytes) flush();
  // Small volumes need a small buffer: clearing all of it would take longer than checking them.
  if (filled_ + bytes > buffer_.size()) {
    buffer_.resize(std::min(std::max(2 * buffer_.size(), filled_ + bytes), kBatchBytes));
  }
  waiting_.push_back({inode,
                      extent.offset,
                      extent.run,
                      extent.generation,
                      {extent.checksums.begin(), extent.checksums.end()},
                      filled_});
  filled_ += bytes;
}

void DataVerifier::flush() {
  const Layout& layout = reader_.layout();
  std::vector<IoRequest> reads;
  reads.reserve(waiting_.size());
  for (const Waiting& waiting : waiting_) {
    reads.push_back(IoRequest::read(
        layout.byte_of(waiting.run.first),
        Bytes(buffer_).subspan(waiting.at, waiting.run.count * layout.block_bytes)));
  }
  // A batch tells only its first failure, so after one each extent is read again by itself.
  const bool all_read = reads.empty() || reader_.device().submit(reads).has_value();
  for (const Waiting& waiting : waiting_) {
    const std::uint64_t byte = layout.byte_of(waiting.run.first);
    const std::uint64_t bytes = waiting.run.count * layout.block_bytes;
    const Bytes data = Bytes(buffer_).subspan(waiting.at, bytes);
    if (!all_read) {
      if (const auto read = reader_.read_bytes(byte, data); !read) {
        damage_({waiting.inode, waiting.offset, bytes, byte, false, read.error()});
        continue;
      }
    }
    verify(waiting, data);
    bytes_verified_ += bytes;
  }
  waiting_.clear();
  filled_ = 0;
}

void DataVerifier::verify(const Waiting& waiting, ConstBytes data) {
  const std::uint64_t first = reader_.layout().byte_of(waiting.run.first);
  for (std::size_t at = 0; at < data.size(); at += kGranuleBytes) {
    const std::size_t bytes = std::min<std::size_t>(kGranuleBytes, data.size() - at);
    const auto wanted = load_le<std::uint64_t>(waiting.checksums.data() + at / kGranuleBytes * 8);
    const std::uint64_t seed = granule_seed(reader_.volume_seed(), first + at, waiting.generation);
    if (checksum(data.subspan(at, bytes), seed) == wanted) continue;
    damage_({waiting.inode, waiting.offset + at, bytes, first + at, true, {}});
  }
}

}  // namespace cordwood
