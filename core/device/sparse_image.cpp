#include "device/sparse_image.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace cordwood {

namespace {

/// Calls visit(page index, offset in the page, offset in the range, bytes) for each page touched.
template <class Visit>
void for_each_piece(std::uint64_t offset, std::uint64_t bytes, Visit visit) {
  constexpr std::uint64_t kPageBytes = SparseImage::kPageBytes;
  std::uint64_t done = 0;
  while (done < bytes) {
    const std::uint64_t at = offset + done;
    const std::uint64_t in_page = at % kPageBytes;
    const std::uint64_t piece = std::min(bytes - done, kPageBytes - in_page);
    visit(at / kPageBytes, static_cast<std::size_t>(in_page), static_cast<std::size_t>(done),
          static_cast<std::size_t>(piece));
    done += piece;
  }
}

}  // namespace

SparseImage::SparseImage(const SparseImage& other)
    : bytes_(other.bytes_), root_(other.root_), mark_(new_mark()) {
  other.mark_.store(new_mark(), std::memory_order_relaxed);
}

SparseImage& SparseImage::operator=(const SparseImage& other) {
  if (this == &other) return *this;
  bytes_ = other.bytes_;
  root_ = other.root_;
  mark_.store(new_mark(), std::memory_order_relaxed);
  other.mark_.store(new_mark(), std::memory_order_relaxed);
  return *this;
}

std::uint64_t SparseImage::bytes_allocated() const {
  if (root_ == nullptr) return 0;
  std::uint64_t pages = 0;
  for (const auto& [index, chapter] : root_->chapters) {
    for (const auto& page : chapter->pages) pages += page != nullptr ? 1 : 0;
  }
  return pages * kPageBytes;
}

void SparseImage::read(std::uint64_t offset, Bytes into) const {
  CW_CHECK(into.size() <= bytes_ && offset <= bytes_ - into.size());
  for_each_piece(offset, into.size(),
                 [&](std::uint64_t index, std::size_t in_page, std::size_t done, std::size_t n) {
                   const Page* page = find_page(index);
                   if (page == nullptr) {
                     std::memset(into.data() + done, 0, n);
                   } else {
                     std::memcpy(into.data() + done, page->bytes.data() + in_page, n);
                   }
                 });
}

void SparseImage::write(std::uint64_t offset, ConstBytes from) {
  CW_CHECK(from.size() <= bytes_ && offset <= bytes_ - from.size());
  for_each_piece(offset, from.size(),
                 [&](std::uint64_t index, std::size_t in_page, std::size_t done, std::size_t n) {
                   Page& page = page_to_write(index);
                   std::memcpy(page.bytes.data() + in_page, from.data() + done, n);
                 });
}

void SparseImage::fill(std::uint64_t offset, std::uint64_t bytes, std::byte value) {
  CW_CHECK(bytes <= bytes_ && offset <= bytes_ - bytes);
  const auto set = [&](std::uint64_t from, std::uint64_t count) {
    for_each_piece(from, count,
                   [&](std::uint64_t index, std::size_t in_page, std::size_t, std::size_t n) {
                     if (value == std::byte{0} && find_page(index) == nullptr) return;
                     Page& page = page_to_write(index);
                     std::memset(page.bytes.data() + in_page, std::to_integer<int>(value), n);
                   });
  };
  const std::uint64_t first_page = divide_up(offset, std::uint64_t{kPageBytes});
  const std::uint64_t end_page = (offset + bytes) / kPageBytes;
  if (value != std::byte{0} || first_page >= end_page) return set(offset, bytes);
  set(offset, first_page * kPageBytes - offset);
  drop_pages(first_page, end_page);
  set(end_page * kPageBytes, offset + bytes - end_page * kPageBytes);
}

void SparseImage::flip_bit(std::uint64_t offset, unsigned bit) {
  CW_CHECK(offset < bytes_ && bit < 8);
  Page& page = page_to_write(offset / kPageBytes);
  page.bytes[offset % kPageBytes] ^= static_cast<std::byte>(1u << bit);
}

bool SparseImage::writes_in_place(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t mark = mark_.load(std::memory_order_relaxed);
  if (root_ == nullptr || root_->mark != mark) return false;
  bool in_place = true;
  for_each_piece(offset, bytes, [&](std::uint64_t index, std::size_t, std::size_t, std::size_t) {
    const auto found = root_->chapters.find(index / kChapterPages);
    if (found == root_->chapters.end() || found->second->mark != mark) {
      in_place = false;
      return;
    }
    const Page* page = found->second->pages[index % kChapterPages].get();
    in_place = in_place && page != nullptr && page->mark == mark;
  });
  return in_place;
}

std::optional<std::uint64_t> SparseImage::first_difference(const SparseImage& other) const {
  CW_CHECK(bytes_ == other.bytes_);
  if (root_ == other.root_) return std::nullopt;
  static const Page kZeroPage;
  const auto compare_chapter = [&](std::uint64_t chapter) -> std::optional<std::uint64_t> {
    for (std::uint64_t i = 0; i < kChapterPages; ++i) {
      const std::uint64_t index = chapter * kChapterPages + i;
      const Page* mine = find_page(index);
      const Page* theirs = other.find_page(index);
      if (mine == theirs) continue;
      const auto& a = (mine != nullptr ? mine : &kZeroPage)->bytes;
      const auto& b = (theirs != nullptr ? theirs : &kZeroPage)->bytes;
      const auto at = std::mismatch(a.begin(), a.end(), b.begin());
      if (at.first != a.end()) {
        return index * kPageBytes + static_cast<std::uint64_t>(at.first - a.begin());
      }
    }
    return std::nullopt;
  };

  std::map<std::uint64_t, bool> chapters;
  for (const Root* root : {root_.get(), other.root_.get()}) {
    if (root == nullptr) continue;
    for (const auto& [index, chapter] : root->chapters) chapters[index] = true;
  }
  for (const auto& [index, present] : chapters) {
    if (const auto found = compare_chapter(index)) return found;
  }
  return std::nullopt;
}

std::uint64_t SparseImage::new_mark() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <class Part>
Part& SparseImage::own(std::shared_ptr<Part>& part, std::uint64_t mark) {
  // A part that is its own already is left alone: writes in place may run at once.
  if (part != nullptr && part->mark == mark) return *part;
  part = part == nullptr ? std::make_shared<Part>() : std::make_shared<Part>(*part);
  part->mark = mark;
  return *part;
}

const SparseImage::Page* SparseImage::find_page(std::uint64_t index) const {
  if (root_ == nullptr) return nullptr;
  const auto found = root_->chapters.find(index / kChapterPages);
  if (found == root_->chapters.end()) return nullptr;
  return found->second->pages[index % kChapterPages].get();
}

SparseImage::Page& SparseImage::page_to_write(std::uint64_t index) {
  const std::uint64_t mark = mark_.load(std::memory_order_relaxed);
  Root& root = own(root_, mark);
  Chapter& chapter = own(root.chapters[index / kChapterPages], mark);
  return own(chapter.pages[index % kChapterPages], mark);
}

void SparseImage::drop_pages(std::uint64_t first, std::uint64_t end) {
  if (root_ == nullptr) return;
  const std::uint64_t mark = mark_.load(std::memory_order_relaxed);
  auto& chapters = own(root_, mark).chapters;
  // By the chapters that exist: the range may be a whole device of terabytes.
  auto at = chapters.lower_bound(first / kChapterPages);
  while (at != chapters.end() && at->first * kChapterPages < end) {
    const std::uint64_t chapter_first = at->first * kChapterPages;
    if (first <= chapter_first && chapter_first + kChapterPages <= end) {
      at = chapters.erase(at);
      continue;
    }
    Chapter& chapter = own(at->second, mark);
    for (std::uint64_t i = 0; i < kChapterPages; ++i) {
      const std::uint64_t index = chapter_first + i;
      if (first <= index && index < end) chapter.pages[i].reset();
    }
    ++at;
  }
}

}  // namespace cordwood
