#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace cordwood {

/// How bad a finding is.
enum class Severity : std::uint8_t {
  kNote,     ///< worth knowing; nothing is wrong
  kWarning,  ///< odd, but no file or directory is affected
  kError,    ///< the volume is damaged
};

/// Everything that a check can find. Each has a stable name; see finding_info().
enum class FindingKind : std::uint8_t {
  kVolumeNotClean,
  kDeviceLarger,
  kDeviceTruncated,
  kSuperblockSlotTorn,
  kSuperblockSlotDamaged,
  kSuperblockSlotOld,
  kSuperblockForeignCopy,
  kSuperblockIdentity,
  kSuperblockWrongSlot,
  kSuperblockLogPlace,
  kSuperblockReserved,
  kSuperblockFreeNodeIds,
  kSuperblockInodeCount,
  kSuperblockFreeBlocks,
  kLogWaiting,
  kLogCut,
  kLogRecordDamaged,
  kLogUnreadable,
  kTablePageUnreadable,
  kTableEntryBad,
  kTableEntryBeyond,
  kTableFreeCount,
  kTablePageMissing,
  kNodeMissing,
  kNodeUnreadable,
  kNodeInvalid,
  kNodeShared,
  kNodeOrphan,
  kNodeGeneration,
  kItemKeyBad,
  kItemMalformed,
  kItemMisplaced,
  kInodeMissing,
  kInodeBeyondNext,
  kInodeFlags,
  kInodeSize,
  kInodeBytes,
  kRootMissing,
  kRootNamed,
  kLinkCount,
  kDirectoryNames,
  kDirectorySize,
  kDirectoryNextIndex,
  kDirectoryUnreachable,
  kNameDuplicate,
  kNameHashMissing,
  kNameHashDangling,
  kNameHashWrong,
  kNameChildMissing,
  kNameRefMissing,
  kNameRefDangling,
  kNameRefKey,
  kNameTypeWrong,
  kExtentOverlap,
  kExtentInlineNotAlone,
  kExtentBeyondEnd,
  kExtentGeneration,
  kXattrHash,
  kXattrDuplicate,
  kXattrValueMissing,
  kXattrValueShared,
  kXattrValueUnused,
  kXattrValueSize,
  kOrphanWithoutInode,
  kOrphanItemMissing,
  kGroupPageUnreadable,
  kGroupDescriptorBad,
  kBitmapUnreadable,
  kBlockDoubleOwned,
  kBlockNotMarked,
  kBlockLeaked,
  kFixedBlockFree,
  kGroupFreeCount,
  kGroupLongestRun,
  kDataUnreadable,
  kDataChecksum,
  kPartsNotCompared,
};
inline constexpr std::size_t kFindingKinds =
    static_cast<std::size_t>(FindingKind::kPartsNotCompared) + 1;

/// What is fixed for a kind of finding.
struct FindingInfo {
  FindingKind kind;
  const char* name;  ///< stable: scripts and tests rely on it
  Severity severity;
  Place place;          ///< what `where` counts
  const char* meaning;  ///< one sentence
};
[[nodiscard]] const FindingInfo& finding_info(FindingKind kind);
[[nodiscard]] const char* severity_name(Severity severity);
/// The word for what a place counts: "inode", "table_page".
[[nodiscard]] const char* place_word(Place place);

/// One thing that a check found.
struct Finding {
  FindingKind kind = FindingKind::kVolumeNotClean;
  std::uint64_t where = 0;   ///< number of the place: finding_info(kind).place tells of what
  std::uint64_t detail = 0;  ///< a second number, 0 if none: level, index, offset or length
  std::string sentence;      ///< for people, without a final period

  [[nodiscard]] const FindingInfo& info() const { return finding_info(kind); }
};

/// Collects findings; keeps only the first few of each kind, but counts all.
class Findings {
 public:
  explicit Findings(std::uint32_t per_kind_max = 20) : per_kind_max_(per_kind_max) {}

  /// Whether the next finding of this kind would still be kept.
  [[nodiscard]] bool wants(FindingKind kind) const { return count(kind) < per_kind_max_; }
  void add(FindingKind kind, std::uint64_t where, std::uint64_t detail, std::string sentence);

  [[nodiscard]] const std::vector<Finding>& kept() const { return kept_; }
  [[nodiscard]] std::uint64_t count(FindingKind kind) const {
    return counts_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::uint64_t count(Severity severity) const;

 private:
  std::uint32_t per_kind_max_;
  std::vector<Finding> kept_;
  std::array<std::uint64_t, kFindingKinds> counts_{};
};

namespace detail {
inline void append(std::string& to, std::string_view text) { to += text; }
inline void append(std::string& to, std::uint64_t number) { to += std::to_string(number); }
template <class Tag>
void append(std::string& to, Distinct<Tag> id) {
  to += std::to_string(id.value);
}
}  // namespace detail

/// Joins texts, numbers and ids to a sentence.
template <class... Parts>
[[nodiscard]] std::string sentence(const Parts&... parts) {
  std::string text;
  (detail::append(text, parts), ...);
  return text;
}

}  // namespace cordwood
