#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/bytes.hpp"

namespace cordwood::test {

/// The bytes of a model file: sparse, up to 8 EiB, and copied by sharing pages.
class FileContent {
 public:
  static constexpr std::uint64_t kPage = 4096;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  void write(std::uint64_t offset, ConstBytes from);
  /// Cuts, or extends with a hole.
  void resize(std::uint64_t size);
  /// Returns the bytes read: fewer than asked for at the end of the file.
  std::size_t read(std::uint64_t offset, Bytes into) const;
  /// First byte at or behind `offset` that is not zero; size() when there is none.
  [[nodiscard]] std::uint64_t next_nonzero(std::uint64_t offset) const;
  /// Bytes of the pages that were ever written and not cut off.
  [[nodiscard]] std::uint64_t bytes_held() const {
    return pages_ == nullptr ? 0 : pages_->size() * kPage;
  }

 private:
  using Page = std::array<std::byte, kPage>;
  using Pages = std::map<std::uint64_t, std::shared_ptr<Page>>;

  Pages& own_pages();
  static Page& own_page(std::shared_ptr<Page>& page);

  std::uint64_t size_ = 0;
  std::shared_ptr<Pages> pages_;
};

}  // namespace cordwood::test
