#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/layout.hpp"
#include "format/log.hpp"

namespace cordwood {

/// The blocks of the log ring, as places of records. Positions only grow; where one lies is its value
/// modulo the ring's length.
class LogRing {
 public:
  LogRing(const Layout& layout, LogPosition start) : layout_(layout), head_(start), tail_(start) {}

  [[nodiscard]] std::uint64_t block_count() const { return layout_.log.count; }
  /// Where the next record goes. Its block is counted on beyond the ring's end: see wrapped().
  [[nodiscard]] LogPosition head() const { return head_; }
  [[nodiscard]] LogPosition wrapped(LogPosition position) const {
    return {position.sequence, position.block % block_count()};
  }
  /// Byte on the device where a record at this position begins.
  [[nodiscard]] std::uint64_t byte_of(LogPosition position) const {
    return layout_.byte_of(layout_.log.first + position.block % block_count());
  }
  [[nodiscard]] std::uint64_t used_bytes() const {
    return (head_.block - tail_.block) * layout_.block_bytes;
  }
  [[nodiscard]] std::uint64_t free_bytes() const {
    return block_count() * layout_.block_bytes - used_bytes();
  }

  /// The place of the next record becomes taken. @pre it fits free_bytes()
  void advance(std::uint64_t record_bytes);
  /// Records before this position are not needed any more.
  void release(LogPosition tail) { tail_ = tail; }

  /// Adds the requests that write (or read) a record at a position: two when it wraps.
  void add_requests(IoRequest::Kind kind, LogPosition position, Bytes record, bool fua,
                    std::vector<IoRequest>& requests) const;

 private:
  const Layout& layout_;
  LogPosition head_;
  LogPosition tail_;  ///< first record that the last durable checkpoint does not include
};

}  // namespace cordwood
