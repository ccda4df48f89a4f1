#include "huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace cordwood {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

class HugePageMemory final : public PageMemory {
 public:
  std::byte* allocate(std::size_t bytes) override {
    // Room to align: only whole huge pages are given as such.
    const std::size_t room = bytes + kHugePageBytes;
    void* const mapped =
        mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
    const std::uintptr_t aligned = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    unmap(begin, aligned - begin);
    unmap(aligned + bytes, begin + room - (aligned + bytes));
    void* const memory = reinterpret_cast<void*>(aligned);
    madvise(memory, bytes, MADV_HUGEPAGE);  // advice: ordinary pages serve as well
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory, std::size_t bytes) noexcept override { munmap(memory, bytes); }

 private:
  static void unmap(std::uintptr_t begin, std::size_t bytes) {
    if (bytes != 0) munmap(reinterpret_cast<void*>(begin), bytes);
  }
};

}  // namespace

PageMemory& huge_page_memory() {
  static HugePageMemory memory;
  return memory;
}

}  // namespace cordwood
