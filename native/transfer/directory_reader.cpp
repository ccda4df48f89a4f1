#include "transfer/directory_reader.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cordwood {

namespace {

constexpr std::size_t kBatchEntries = 512;

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

bool is_name(std::string_view name) {
  return !name.empty() && !is_dots(name) && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

void DirectoryReader::fill() {
  entries_.clear();
  position_ = 0;
  complete_ = true;
  const bool at_start = cookie_ == 0;
  const auto visited =
      volume_->read_directory(directory_, cookie_, [&](const DirectoryEntry& entry) {
        cookie_ = entry.cookie;
        if (at_start && is_dots(entry.name)) return true;
        if (!is_name(entry.name)) {
          error_ = corrupt(Place::kInode, directory_.value, "directory holds an impossible name");
          return false;
        }
        entries_.push_back({std::string(entry.name), entry.inode, entry.type});
        complete_ = order_ == Order::kByName || entries_.size() < kBatchEntries;
        return complete_;
      });
  // What was read before an error is given out first.
  if (!visited) error_ = visited.error();
  if (error_) complete_ = true;
  if (order_ == Order::kByName) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
  }
}

bool DirectoryReader::at_end() {
  if (position_ == entries_.size() && !complete_) fill();
  return position_ == entries_.size();
}

Result<std::optional<DirectoryReader::Entry>> DirectoryReader::next() {
  if (!at_end()) return std::optional<Entry>(std::move(entries_[position_++]));
  if (error_) return *std::exchange(error_, std::nullopt);
  return std::optional<Entry>();
}

}  // namespace cordwood
