#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "volume/block_owners.hpp"
#include "volume/check.hpp"
#include "volume/image_reader.hpp"
#include "volume/sparse_bitmap.hpp"

namespace cordwood {

/// Inodes of which some items could not be seen, as ranges of inode numbers in rising order: what
/// is said about them elsewhere cannot be compared.
class UnseenInodes {
 public:
  /// @pre first is not below that of an earlier call: inodes are met in order.
  void add(std::uint64_t first, std::uint64_t last) {
    if (!ranges_.empty() && first <= ranges_.back().last) {
      ranges_.back().last = std::max(ranges_.back().last, last);
      return;
    }
    ranges_.push_back({first, last});
  }
  [[nodiscard]] bool contains(std::uint64_t inode) const {
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), inode,
        [](std::uint64_t number, const Range& range) { return number < range.first; });
    return after != ranges_.begin() && inode <= std::prev(after)->last;
  }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    std::uint64_t first;
    std::uint64_t last;
  };
  std::vector<Range> ranges_;
};

/// What the parts of a check share. Each part adds what it learns for the later ones.
struct CheckState {
  CheckState(ImageReader& image, const CheckOptions& wishes, CheckReport& answer)
      : reader(image), options(wishes), report(answer) {}

  ImageReader& reader;
  const CheckOptions& options;
  CheckReport& report;

  BlockClaims claims;
  SparseBitmap table_ids;        ///< node ids with an entry in the table
  SparseBitmap visited_ids;      ///< node ids that the tree named
  std::uint64_t node_count = 0;  ///< in table_ids
  UnseenInodes unseen;
  bool table_complete = true;   ///< every page of the node table was read
  bool claims_complete = true;  ///< everything that owns blocks was seen
  bool tree_complete = true;    ///< every node of the tree was read

  template <class... Parts>
  void find(FindingKind kind, std::uint64_t where, std::uint64_t detail, const Parts&... parts) {
    // Wrong images may have millions of findings: only those that are kept are put in words.
    report.findings.add(kind, where, detail,
                        report.findings.wants(kind) ? sentence(parts...) : std::string());
  }
  /// Tells the caller how far it is. @return false when the check is to stop.
  bool advance(const char* phase, std::uint64_t done, std::uint64_t total) {
    if (report.cancelled || !options.progress) return !report.cancelled;
    report.cancelled = !options.progress({phase, done, total});
    return !report.cancelled;
  }
};

/// The parts, in the order in which they run.
void check_superblocks(CheckState& state);
void check_log(CheckState& state);
void check_table(CheckState& state);
void check_tree(CheckState& state);
void check_space(CheckState& state);

}  // namespace cordwood
