#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/layout.hpp"
#include "trace/counters.hpp"

namespace cordwood {

/// Memory of one 4 KiB page, aligned as devices like it best.
struct alignas(kPageBytes) PageBuffer {
  std::byte bytes[kPageBytes];
};

/// Reads or writes many scattered pages with few calls of the device.
/// @threads one.
class PageBatch {
 public:
  /// Pages that go to the device in one call.
  static constexpr std::size_t kPagesMax = 64;

  /// @param counters  may be null.
  PageBatch(BlockDevice& device, Counters* counters) : device_(device), counters_(counters) {}

  /// Reads `places.size()` <= kPagesMax pages; page(i) then holds the one from byte places[i].
  [[nodiscard]] Result<void> read(std::span<const std::uint64_t> places);
  [[nodiscard]] ConstBytes page(std::size_t index) const { return buffers_[index].bytes; }

  /// Memory, zeroed, of a page that flush() at the latest writes to this byte. Valid until the next
  /// call.
  [[nodiscard]] Result<Bytes> add(std::uint64_t place);
  /// Writes what was added.
  [[nodiscard]] Result<void> flush();

 private:
  BlockDevice& device_;
  Counters* counters_;
  std::vector<PageBuffer> buffers_;
  std::vector<std::uint64_t> waiting_;  ///< where the first buffers go
};

}  // namespace cordwood
