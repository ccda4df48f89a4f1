#pragma once

#include <cstddef>

namespace cordwood {

/// Where large, long-lived memory comes from. A host can offer better than the heap: huge pages save
/// the node cache most page faults and address translations.
/// @threads any.
class PageMemory {
 public:
  virtual ~PageMemory() = default;
  /// Memory aligned to 4096 bytes, content undefined; throws std::bad_alloc.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  /// Takes back what allocate() of the same size returned.
  virtual void release(std::byte* memory, std::size_t bytes) noexcept = 0;
};

/// The heap.
[[nodiscard]] PageMemory& heap_page_memory();

/// A piece of it that is released when it goes.
class PageBlock {
 public:
  PageBlock(PageMemory& memory, std::size_t bytes)
      : memory_(&memory), data_(memory.allocate(bytes)), bytes_(bytes) {}
  PageBlock(PageBlock&& other) noexcept
      : memory_(other.memory_), data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  PageBlock& operator=(PageBlock&&) = delete;
  ~PageBlock() {
    if (data_ != nullptr) memory_->release(data_, bytes_);
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  PageMemory* memory_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace cordwood
