#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/text.hpp"

namespace cordwood::cli {

namespace {
constexpr std::chrono::milliseconds kInterval{100};
}

ProgressLine::ProgressLine()
    : terminal_(::isatty(STDERR_FILENO) == 1), next_(Clock::now() + 3 * kInterval) {}

bool ProgressLine::due() {
  if (!terminal_) return false;
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = now + kInterval;
  return true;
}

void ProgressLine::show(const std::string& text) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

std::function<void(std::uint64_t)> CopyProgress::on_piece() {
  return [this](std::uint64_t bytes) {
    bytes_ += bytes;
    if (line_.due()) line_.show(size_text(bytes_));
  };
}

void TransferProgress::on_progress(const TransferCounts& counts) {
  if (!line_.due()) return;
  line_.show(
      fmt::format("{} entries, {}", count_text(counts.entries()), size_text(counts.data_bytes)));
}

void TransferProgress::on_failure(const FailedEntry& entry) {
  line_.clear();
  std::fprintf(stderr, "cordwood: %s: %s\n", printable(entry.path).c_str(),
               printable(entry.reason).c_str());
}

}  // namespace cordwood::cli
