#include "transfer/report.hpp"

#include <utility>

namespace cordwood {

void TransferCounts::add(FileType type) {
  switch (type) {
    case FileType::kRegular: ++files; break;
    case FileType::kDirectory: ++directories; break;
    case FileType::kSymlink: ++symlinks; break;
    case FileType::kFifo:
    case FileType::kSocket:
    case FileType::kCharDevice:
    case FileType::kBlockDevice: ++specials; break;
  }
}

void TransferReport::fail(std::string path, const Failure& failure) {
  // One entry that is refused (exit code 2 by itself) is a finding among many that went well.
  const bool whole = failure.fatal || failure.exit == ExitCode::kDamaged;
  exit_ = worse(exit_, whole ? failure.exit : ExitCode::kFindings);
  ++failure_count_;
  const FailedEntry entry{std::move(path), failure.what};
  observer_.on_failure(entry);
  if (failures_.size() < kFailuresKept) failures_.push_back(entry);
}

}  // namespace cordwood
