#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "base/bytes.hpp"

namespace cordwood {

/// Memory that any device takes as it is: aligned to a page.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  AlignedBuffer() = default;
  /// @param bytes  a multiple of kAlignment. Empty if there is no memory.
  explicit AlignedBuffer(std::size_t bytes)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes))),
        bytes_(memory_ ? bytes : 0) {}

  [[nodiscard]] Bytes bytes() const { return {memory_.get(), bytes_}; }
  [[nodiscard]] bool empty() const { return bytes_ == 0; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace cordwood
