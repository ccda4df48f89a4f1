#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "failure.hpp"
#include "volume/types.hpp"

namespace cordwood {

/// What an import or export has done.
struct TransferCounts {
  std::uint64_t files = 0;  ///< regular files, each once however many names it has
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0;
  std::uint64_t specials = 0;    ///< fifos, sockets, devices
  std::uint64_t hard_links = 0;  ///< further names of something counted above
  std::uint64_t xattrs = 0;
  std::uint64_t bytes = 0;       ///< sum of the sizes of the files
  std::uint64_t data_bytes = 0;  ///< ... of which were copied: the rest are holes
  /// Owners that only root may give away, kept back without counting as a failure.
  std::uint64_t owners_not_kept = 0;

  [[nodiscard]] std::uint64_t entries() const {
    return files + directories + symlinks + specials + hard_links;
  }
  /// Counts one more object that is not a further name of another.
  void add(FileType type);
};

/// One entry that did not make it.
struct FailedEntry {
  std::string path;
  std::string reason;
};

/// Told how a transfer goes; does nothing by default.
class TransferObserver {
 public:
  virtual ~TransferObserver() = default;
  virtual void on_progress(const TransferCounts&) {}
  virtual void on_failure(const FailedEntry&) {}
};

/// The result of a transfer that goes on after an entry that failed.
class TransferReport {
 public:
  /// Failures kept word for word; beyond it they are only counted and told to the observer.
  static constexpr std::size_t kFailuresKept = 1000;

  TransferCounts counts;

  explicit TransferReport(TransferObserver& observer) : observer_(observer) {}

  void fail(std::string path, const Failure& failure);
  void progress() { observer_.on_progress(counts); }

  [[nodiscard]] std::uint64_t failure_count() const { return failure_count_; }
  [[nodiscard]] const std::vector<FailedEntry>& failures() const { return failures_; }
  /// kFine without failures, else kFindings, or worse when one of them was worse: damage anywhere,
  /// or the volume took nothing more.
  [[nodiscard]] ExitCode exit() const { return exit_; }

 private:
  TransferObserver& observer_;
  std::uint64_t failure_count_ = 0;
  std::vector<FailedEntry> failures_;
  ExitCode exit_ = ExitCode::kFine;
};

}  // namespace cordwood
