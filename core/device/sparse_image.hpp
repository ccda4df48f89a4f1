#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/bytes.hpp"

namespace cordwood {

/// The content of a device in memory: sparse, and copied by sharing.
///
/// A copy costs one pointer. Pages (and the two index levels above them) are shared until one side
/// writes; then that side gets its own. So a crash state costs what it changes, and a 1 TiB image
/// costs what was written to it. Bytes never written read as zero.
///
/// @invariant an image changes a part in place only if the part carries the image's own mark;
///            copying an image gives both sides new marks, so whatever they share stays as it is.
/// @threads reads, and copies from one image, may run at once; a write excludes everything else.
///          Different images are independent, however much they share.
class SparseImage {
 public:
  static constexpr std::size_t kPageBytes = 16_KiB;

  explicit SparseImage(std::uint64_t bytes = 0) : bytes_(bytes), mark_(new_mark()) {}
  SparseImage(const SparseImage& other);
  SparseImage& operator=(const SparseImage& other);
  ~SparseImage() = default;

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Memory held by pages that are not all untouched; shared ones count in every image.
  [[nodiscard]] std::uint64_t bytes_allocated() const;

  /// `offset` + size is at most bytes(), here and below.
  void read(std::uint64_t offset, Bytes into) const;
  void write(std::uint64_t offset, ConstBytes from);
  /// Sets a range to one value; zero frees whole pages.
  void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value);
  void flip_bit(std::uint64_t offset, unsigned bit);

  /// Whether a write of the range would reach only pages that are this image's own, so that it
  /// changes bytes but no structure.
  [[nodiscard]] bool writes_in_place(std::uint64_t offset, std::uint64_t bytes) const;

  /// The first byte at which two images of one size differ.
  /// @cost nothing for pages that are shared.
  [[nodiscard]] std::optional<std::uint64_t> first_difference(const SparseImage& other) const;

 private:
  static constexpr std::size_t kChapterPages = 128;

  struct Page {
    std::uint64_t mark = 0;
    std::array<std::byte, kPageBytes> bytes{};
  };
  struct Chapter {
    std::uint64_t mark = 0;
    std::array<std::shared_ptr<Page>, kChapterPages> pages;
  };
  struct Root {
    std::uint64_t mark = 0;
    std::map<std::uint64_t, std::shared_ptr<Chapter>> chapters;
  };

  static std::uint64_t new_mark();
  template <class Part>
  static Part& own(std::shared_ptr<Part>& part, std::uint64_t mark);

  [[nodiscard]] const Page* find_page(std::uint64_t index) const;
  Page& page_to_write(std::uint64_t index);
  void drop_pages(std::uint64_t first, std::uint64_t end);

  std::uint64_t bytes_ = 0;
  std::shared_ptr<Root> root_;
  /// Atomic because copying renews the mark of a source that other threads may be copying too.
  mutable std::atomic<std::uint64_t> mark_;
};

}  // namespace cordwood
