#include "base/page_memory.hpp"

#include <new>

namespace cordwood {

namespace {

constexpr std::align_val_t kAlignment{4096};

class HeapPageMemory final : public PageMemory {
 public:
  std::byte* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new[](bytes, kAlignment));
  }
  void release(std::byte* memory, std::size_t) noexcept override {
    ::operator delete[](memory, kAlignment);
  }
};

}  // namespace

PageMemory& heap_page_memory() {
  static HeapPageMemory memory;
  return memory;
}

}  // namespace cordwood
