#include "support/file_content.hpp"

#include <algorithm>
#include <cstring>

namespace cordwood::test {

FileContent::Pages& FileContent::own_pages() {
  if (pages_ == nullptr) {
    pages_ = std::make_shared<Pages>();
  } else if (pages_.use_count() > 1) {
    pages_ = std::make_shared<Pages>(*pages_);
  }
  return *pages_;
}

FileContent::Page& FileContent::own_page(std::shared_ptr<Page>& page) {
  if (page == nullptr) {
    page = std::make_shared<Page>(Page{});
  } else if (page.use_count() > 1) {
    page = std::make_shared<Page>(*page);
  }
  return *page;
}

void FileContent::write(std::uint64_t offset, ConstBytes from) {
  if (from.empty()) return;
  Pages& pages = own_pages();
  size_ = std::max(size_, offset + from.size());
  while (!from.empty()) {
    const std::uint64_t within = offset % kPage;
    const std::size_t count = std::min<std::uint64_t>(kPage - within, from.size());
    std::memcpy(own_page(pages[offset / kPage]).data() + within, from.data(), count);
    offset += count;
    from = from.subspan(count);
  }
}

void FileContent::resize(std::uint64_t size) {
  if (size < size_ && pages_ != nullptr) {
    Pages& pages = own_pages();
    pages.erase(pages.lower_bound(size / kPage + (size % kPage != 0 ? 1 : 0)), pages.end());
    const std::uint64_t within = size % kPage;
    if (const auto last = pages.find(size / kPage); within != 0 && last != pages.end()) {
      Page& page = own_page(last->second);
      std::fill(page.begin() + static_cast<std::ptrdiff_t>(within), page.end(), std::byte{0});
    }
  }
  size_ = size;
}

std::size_t FileContent::read(std::uint64_t offset, Bytes into) const {
  if (offset >= size_) return 0;
  const std::size_t total = std::min<std::uint64_t>(into.size(), size_ - offset);
  for (std::size_t done = 0; done < total;) {
    const std::uint64_t at = offset + done;
    const std::size_t count = std::min<std::uint64_t>(kPage - at % kPage, total - done);
    const Page* page = nullptr;
    if (pages_ != nullptr) {
      if (const auto found = pages_->find(at / kPage); found != pages_->end()) {
        page = found->second.get();
      }
    }
    if (page != nullptr) {
      std::memcpy(into.data() + done, page->data() + at % kPage, count);
    } else {
      std::memset(into.data() + done, 0, count);
    }
    done += count;
  }
  return total;
}

std::uint64_t FileContent::next_nonzero(std::uint64_t offset) const {
  if (pages_ == nullptr || offset >= size_) return size_;
  for (auto it = pages_->lower_bound(offset / kPage); it != pages_->end(); ++it) {
    const std::uint64_t start = it->first * kPage;
    for (std::uint64_t i = start < offset ? offset - start : 0; i < kPage; ++i) {
      if ((*it->second)[i] != std::byte{0}) return start + i;
    }
  }
  return size_;
}

}  // namespace cordwood::test
