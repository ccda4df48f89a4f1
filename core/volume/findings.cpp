#include "volume/findings.hpp"

#include "base/check.hpp"

namespace cordwood {

namespace {

using K = FindingKind;
constexpr Severity kNote = Severity::kNote;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kError = Severity::kError;

constexpr std::array<FindingInfo, kFindingKinds> kInfos = {{
    {K::kVolumeNotClean, "volume_not_clean", kNote, Place::kNone,
     "the volume was not closed; this is its last checkpoint"},
    {K::kDeviceLarger, "device_larger", kNote, Place::kByte,
     "the device goes on behind the end of the volume"},
    {K::kDeviceTruncated, "device_truncated", kError, Place::kByte,
     "the device ends before the volume does"},
    {K::kSuperblockSlotTorn, "superblock_slot_torn", kNote, Place::kByte,
     "a superblock slot is not right, as a power loss may leave it"},
    {K::kSuperblockSlotDamaged, "superblock_slot_damaged", kWarning, Place::kByte,
     "a superblock slot is not right although the volume was closed"},
    {K::kSuperblockSlotOld, "superblock_slot_old", kNote, Place::kByte,
     "a superblock slot is older than it should be"},
    {K::kSuperblockForeignCopy, "superblock_foreign_copy", kWarning, Place::kByte,
     "a superblock slot belongs to another volume"},
    {K::kSuperblockIdentity, "superblock_identity", kError, Place::kByte,
     "superblocks of one volume disagree about what never changes"},
    {K::kSuperblockWrongSlot, "superblock_wrong_slot", kWarning, Place::kByte,
     "a superblock lies in the slot of another generation"},
    {K::kSuperblockLogPlace, "superblock_log_place", kError, Place::kByte,
     "the log ring is not where the sizes put it"},
    {K::kSuperblockReserved, "superblock_reserved", kWarning, Place::kByte,
     "reserved bytes of the superblock are not zero"},
    {K::kSuperblockFreeNodeIds, "superblock_free_node_ids", kError, Place::kNone,
     "the count of free node ids is wrong"},
    {K::kSuperblockInodeCount, "superblock_inode_count", kError, Place::kNone,
     "the count of inodes is wrong"},
    {K::kSuperblockFreeBlocks, "superblock_free_blocks", kError, Place::kNone,
     "the count of free blocks is wrong"},
    {K::kLogWaiting, "log_waiting", kNote, Place::kLogRecord,
     "records of the log wait for the next opening, which replays them"},
    {K::kLogCut, "log_cut", kNote, Place::kLogRecord,
     "the log ends in records that do not count: nobody was told that they are durable"},
    {K::kLogRecordDamaged, "log_record_damaged", kError, Place::kLogRecord,
     "a record of the log that was durable is damaged"},
    {K::kLogUnreadable, "log_unreadable", kError, Place::kNone, "the log cannot be read"},
    {K::kTablePageUnreadable, "table_page_unreadable", kError, Place::kTablePage,
     "a page of the node table cannot be read"},
    {K::kTableEntryBad, "table_entry_bad", kError, Place::kTablePage,
     "an entry of the node table is impossible"},
    {K::kTableEntryBeyond, "table_entry_beyond", kError, Place::kTablePage,
     "the node table has an entry that no node id leads to"},
    {K::kTableFreeCount, "table_free_count", kError, Place::kTablePage,
     "the count of free entries of a table page is wrong"},
    {K::kTablePageMissing, "table_page_missing", kError, Place::kTablePage,
     "a page of the node table is missing"},
    {K::kNodeMissing, "node_missing", kError, Place::kNode,
     "the tree names a node that the node table does not have"},
    {K::kNodeUnreadable, "node_unreadable", kError, Place::kNode, "a node cannot be read"},
    {K::kNodeInvalid, "node_invalid", kError, Place::kNode,
     "a node has the right checksum but a wrong content"},
    {K::kNodeShared, "node_shared", kError, Place::kNode, "a node has two parents"},
    {K::kNodeOrphan, "node_orphan", kError, Place::kNode,
     "a node is in the node table but not in the tree"},
    {K::kNodeGeneration, "node_generation", kError, Place::kNode,
     "a node is newer than the superblock"},
    {K::kItemKeyBad, "item_key_bad", kError, Place::kInode, "an item has an impossible key"},
    {K::kItemMalformed, "item_malformed", kError, Place::kInode, "an item cannot be understood"},
    {K::kItemMisplaced, "item_misplaced", kError, Place::kInode,
     "an inode has an item that does not fit its type"},
    {K::kInodeMissing, "inode_missing", kError, Place::kInode,
     "there are items of an inode that does not exist"},
    {K::kInodeBeyondNext, "inode_beyond_next", kError, Place::kInode,
     "an inode number was never handed out"},
    {K::kInodeFlags, "inode_flags", kError, Place::kInode, "an inode has unknown flags"},
    {K::kInodeSize, "inode_size", kError, Place::kInode,
     "an inode's size does not fit its type or content"},
    {K::kInodeBytes, "inode_bytes", kError, Place::kInode,
     "an inode's count of bytes in blocks is wrong"},
    {K::kRootMissing, "root_missing", kError, Place::kInode,
     "there is no root directory, or it is not a directory"},
    {K::kRootNamed, "root_named", kError, Place::kInode, "the root directory has a name"},
    {K::kLinkCount, "link_count", kError, Place::kInode, "an inode's link count is wrong"},
    {K::kDirectoryNames, "directory_names", kError, Place::kInode,
     "a directory does not have exactly one name"},
    {K::kDirectorySize, "directory_size", kError, Place::kInode,
     "a directory's size is not the sum of the lengths of its names"},
    {K::kDirectoryNextIndex, "directory_next_index", kError, Place::kInode,
     "a directory's next index is not above all that it has used"},
    {K::kDirectoryUnreachable, "directory_unreachable", kError, Place::kInode,
     "no path leads from the root to a directory"},
    {K::kNameDuplicate, "name_duplicate", kError, Place::kInode, "a directory has a name twice"},
    {K::kNameHashMissing, "name_hash_missing", kError, Place::kInode,
     "a name cannot be found by its hash"},
    {K::kNameHashDangling, "name_hash_dangling", kError, Place::kInode,
     "a name's hash leads to an entry that is not there"},
    {K::kNameHashWrong, "name_hash_wrong", kError, Place::kInode,
     "an entry is listed under another hash than its name has"},
    {K::kNameChildMissing, "name_child_missing", kError, Place::kInode,
     "a name leads to an inode that does not exist"},
    {K::kNameRefMissing, "name_ref_missing", kError, Place::kInode,
     "an inode does not know one of its names"},
    {K::kNameRefDangling, "name_ref_dangling", kError, Place::kInode,
     "an inode claims a name that it does not have"},
    {K::kNameRefKey, "name_ref_key", kError, Place::kInode,
     "a reference from an inode to its name has a wrong key"},
    {K::kNameTypeWrong, "name_type_wrong", kError, Place::kInode,
     "a directory entry and its inode disagree about the type"},
    {K::kExtentOverlap, "extent_overlap", kError, Place::kInode,
     "two extents hold the same part of a file"},
    {K::kExtentInlineNotAlone, "extent_inline_not_alone", kError, Place::kInode,
     "a file has inline bytes and extents"},
    {K::kExtentBeyondEnd, "extent_beyond_end", kError, Place::kInode,
     "a file has data behind its end"},
    {K::kExtentGeneration, "extent_generation", kError, Place::kInode,
     "an extent is newer than the superblock"},
    {K::kXattrHash, "xattr_hash", kError, Place::kInode,
     "an extended attribute is stored under another hash than its name has"},
    {K::kXattrDuplicate, "xattr_duplicate", kError, Place::kInode,
     "an inode has an extended attribute twice"},
    {K::kXattrValueMissing, "xattr_value_missing", kError, Place::kInode,
     "the inode that holds an extended attribute's value is not there"},
    {K::kXattrValueShared, "xattr_value_shared", kError, Place::kInode,
     "two extended attributes share the inode of their value"},
    {K::kXattrValueUnused, "xattr_value_unused", kError, Place::kInode,
     "an inode holds an extended attribute's value, but none refers to it"},
    {K::kXattrValueSize, "xattr_value_size", kError, Place::kInode,
     "an extended attribute's value is too large"},
    {K::kOrphanWithoutInode, "orphan_without_inode", kError, Place::kInode,
     "an orphan item names an inode that does not exist"},
    {K::kOrphanItemMissing, "orphan_item_missing", kError, Place::kInode,
     "an inode without names has no orphan item: nothing will ever free it"},
    {K::kGroupPageUnreadable, "group_page_unreadable", kError, Place::kGroup,
     "a page of the group table cannot be read"},
    {K::kGroupDescriptorBad, "group_descriptor_bad", kError, Place::kGroup,
     "a group's descriptor is impossible"},
    {K::kBitmapUnreadable, "bitmap_unreadable", kError, Place::kGroup,
     "a group's bitmap cannot be read"},
    {K::kBlockDoubleOwned, "block_double_owned", kError, Place::kBlock,
     "blocks belong to two owners"},
    {K::kBlockNotMarked, "block_not_marked", kError, Place::kBlock,
     "blocks in use are marked as free: the next write may destroy them"},
    {K::kBlockLeaked, "block_leaked", kError, Place::kBlock,
     "blocks are marked as used but belong to nobody"},
    {K::kFixedBlockFree, "fixed_block_free", kError, Place::kBlock,
     "blocks of the fixed structures are marked as free"},
    {K::kGroupFreeCount, "group_free_count", kError, Place::kGroup,
     "a group's count of free blocks is wrong"},
    {K::kGroupLongestRun, "group_longest_run", kError, Place::kGroup,
     "a group's longest run of free blocks is wrong"},
    {K::kDataUnreadable, "data_unreadable", kError, Place::kInode, "data of a file cannot be read"},
    {K::kDataChecksum, "data_checksum", kError, Place::kInode,
     "data of a file is not what was written"},
    {K::kPartsNotCompared, "parts_not_compared", kNote, Place::kNone,
     "because of other damage some counts and cross references were not compared"},
}};

constexpr bool infos_in_order() {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    if (static_cast<std::size_t>(kInfos[i].kind) != i) return false;
  }
  return true;
}
static_assert(infos_in_order());

}  // namespace

const FindingInfo& finding_info(FindingKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  CW_CHECK(index < kInfos.size());
  return kInfos[index];
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "";
}

const char* place_word(Place place) {
  switch (place) {
    case Place::kNone: return "volume";
    case Place::kByte: return "byte";
    case Place::kBlock: return "block";
    case Place::kNode: return "node";
    case Place::kInode: return "inode";
    case Place::kGroup: return "group";
    case Place::kTablePage: return "table_page";
    case Place::kLogRecord: return "log_record";
    case Place::kValue: return "value";
  }
  return "";
}

void Findings::add(FindingKind kind, std::uint64_t where, std::uint64_t detail,
                   std::string sentence) {
  if (wants(kind)) kept_.push_back({kind, where, detail, std::move(sentence)});
  ++counts_[static_cast<std::size_t>(kind)];
}

std::uint64_t Findings::count(Severity severity) const {
  std::uint64_t total = 0;
  for (const FindingInfo& info : kInfos) {
    if (info.severity == severity) total += count(info.kind);
  }
  return total;
}

}  // namespace cordwood
