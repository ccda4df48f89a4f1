#include "volume/scrub.hpp"

#include <map>
#include <unordered_set>

#include "volume/inode_path.hpp"
#include "volume/text_escape.hpp"

namespace cordwood {

namespace {

/// Gathers damaged pieces by file.
class DamageList {
 public:
  explicit DamageList(const ScrubOptions& options) : options_(options) {}

  void add(const DataDamage& damage) {
    bytes_ += damage.bytes;
    inodes_.insert(damage.inode.value);
    const auto found = files_.find(damage.inode.value);
    if (found == files_.end() && files_.size() >= options_.files_max) return;
    DamagedFile& file = files_[damage.inode.value];
    file.inode = damage.inode;
    file.bytes_damaged += damage.bytes;
    if (file.pieces.size() < options_.pieces_max) file.pieces.push_back(damage);
  }
  void move_to(ScrubReport& report) {
    report.file_count = inodes_.size();
    report.bytes_damaged = bytes_;
    for (auto& [inode, file] : files_) report.files.push_back(std::move(file));
  }

 private:
  const ScrubOptions& options_;
  std::map<std::uint64_t, DamagedFile> files_;
  std::unordered_set<std::uint64_t> inodes_;
  std::uint64_t bytes_ = 0;
};

/// Paths are looked up when everything has been read: the way up may be damaged itself.
void add_paths(BlockDevice& device, const ImageOptions& options, ScrubReport& report) {
  if (report.files.empty()) return;
  ImageOptions image = options;
  image.allow_truncated = true;
  auto reader = ImageReader::open(device, image);
  if (!reader) return;
  for (DamagedFile& file : report.files) {
    if (auto path = path_of(*reader, file.inode)) file.path = *std::move(path);
  }
}

}  // namespace

Result<ScrubReport> scrub(BlockDevice& device, const ScrubOptions& options) {
  DamageList damages(options);
  CheckOptions wanted;
  wanted.verify_data = true;
  wanted.findings_per_kind_max = options.findings_per_kind_max;
  wanted.image = options.image;
  wanted.progress = options.progress;
  wanted.damage = [&damages](const DataDamage& damage) { damages.add(damage); };
  ScrubReport report;
  report.check = TRY(check(device, wanted));
  damages.move_to(report);
  add_paths(device, options.image, report);
  return report;
}

std::string render_text(const ScrubReport& report) {
  std::string text;
  for (const DamagedFile& file : report.files) {
    text += sentence("damaged: ", file.path.empty() ? std::string("(no path)") : quoted(file.path),
                     " (inode ", file.inode, "), ", file.bytes_damaged, " bytes\n");
  }
  if (report.file_count > report.files.size()) {
    text += sentence("and ", report.file_count - report.files.size(), " more damaged files\n");
  }
  text += sentence(report.check.statistics.data_bytes_verified, " bytes of data read, ",
                   report.bytes_damaged, " bytes damaged in ", report.file_count, " files\n");
  return text + render_text(report.check);
}

}  // namespace cordwood
