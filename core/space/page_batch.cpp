#include "space/page_batch.hpp"

#include "base/check.hpp"

namespace cordwood {

Result<void> PageBatch::read(std::span<const std::uint64_t> places) {
  CW_CHECK(places.size() <= kPagesMax && waiting_.empty());
  buffers_.resize(places.size());
  std::vector<IoRequest> requests;
  requests.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    requests.push_back(IoRequest::read(places[i], buffers_[i].bytes));
  }
  if (counters_ != nullptr) {
    counters_->add(Counter::kDeviceReads, requests.size());
    counters_->add(Counter::kBytesRead, requests.size() * kPageBytes);
  }
  return device_.submit(requests);
}

Result<Bytes> PageBatch::add(std::uint64_t place) {
  if (waiting_.size() == kPagesMax) TRY(flush());
  if (waiting_.empty()) buffers_.clear();
  waiting_.push_back(place);
  return Bytes(buffers_.emplace_back().bytes);
}

Result<void> PageBatch::flush() {
  if (waiting_.empty()) return {};
  std::vector<IoRequest> requests;
  requests.reserve(waiting_.size());
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    requests.push_back(IoRequest::write(waiting_[i], buffers_[i].bytes));
  }
  waiting_.clear();
  if (counters_ != nullptr) {
    counters_->add(Counter::kDeviceWrites, requests.size());
    counters_->add(Counter::kSpaceBytesWritten, requests.size() * kPageBytes);
  }
  return device_.submit(requests);
}

}  // namespace cordwood
