#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "transfer/report.hpp"

namespace cordwood::cli {

/// One line on standard error that says how far a long work is; only where a terminal shows it.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }

  /// Whether it is time for the next text: about ten times a second, never without a terminal.
  [[nodiscard]] bool due();
  void show(const std::string& text);
  /// Takes the line away, for other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

/// Shows how much of one file has been copied.
class CopyProgress {
 public:
  /// For FileCopier, which must not outlive this.
  [[nodiscard]] std::function<void(std::uint64_t)> on_piece();

 private:
  ProgressLine line_;
  std::uint64_t bytes_ = 0;
};

/// Shows an import or export as it goes, and its failures as they come.
class TransferProgress final : public TransferObserver {
 public:
  void on_progress(const TransferCounts& counts) override;
  void on_failure(const FailedEntry& entry) override;
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
};

}  // namespace cordwood::cli
