#pragma once

#include <boost/json.hpp>
#include <cstdint>

#include "base/result.hpp"
#include "volume/check.hpp"
#include "volume/image_reader.hpp"
#include "volume/scrub.hpp"

namespace cordwood {

// Descriptions of what lies on a device, as JSON: for people, scripts and the explorer. They show a
// damaged thing as far as it can be shown; an object that could not be read has a field "error".
//
// Conventions: sizes, counts, ids and offsets are numbers. Hashes, checksums and the `lo` of a key,
// which use all 64 bits, are strings "0x" and 16 digits. Names are strings; one that is not UTF-8 has
// U+FFFD in it, and its bytes beside it as `..._hex`. docs/FORMAT.md explains the fields.

/// All four slots: {"chosen": 1, "slots": [{"slot", "byte", "superblock" or "error"} ...]}.
[[nodiscard]] boost::json::object describe_superblocks(const ImageReader& reader);

/// The node table: {"levels", "next_node_id", "free_node_ids", "root", "pages": [{"level", "index",
/// "place", "free", "entries": [...]} ...], "pages_left_out"}; pages from the root down.
/// @param pages_max    describe so many pages.
[[nodiscard]] boost::json::object describe_table(ImageReader& reader, std::uint64_t pages_max = 64);

/// Allocation groups: {"groups": [{"group", "first_block", "blocks", "allocatable", "free_blocks",
/// "longest_free_run", "generation", "slot", "written", "used_runs": [[first, count] ...]} ...]}.
/// @param first       begin with this group. @param groups_max  describe so many.
/// @param runs_max    tell so many runs of used blocks in each.
[[nodiscard]] boost::json::object describe_groups(const ImageReader& reader,
                                                  std::uint64_t first = 0,
                                                  std::uint64_t groups_max = 64,
                                                  std::size_t runs_max = 256);

/// One node with everything in it: {"id", "level", "generation", "place", "low", "high" (null when
/// it is not in the tree), and for a leaf "fill_permille", "free_bytes", "items": [{"slot", "offset",
/// "bytes", "key", "item"} ...], for an inner node "children": [{"key", "child"} ...]}.
/// @errors corrupt, I/O: the node could not be had; kNoEntry: no such id.
/// @cost   a descent; all inner nodes when the node is empty or not in the tree.
[[nodiscard]] Result<boost::json::object> describe_node(ImageReader& reader, NodeId id);

/// The tree's shape: {"levels": [{"level", "nodes", "bytes_used", "bytes", "fill_permille"} ...],
/// "leaf_fill": {see describe_leaf_fill}, "root": {"id", "level", "low", "count", "fill_permille",
/// "children": [...]}, "nodes_left_out", "lost": [...]}.
/// @param nodes_max  put so many nodes into the nested tree, parents first; counts cover all.
[[nodiscard]] boost::json::object describe_tree(ImageReader& reader,
                                                std::uint64_t nodes_max = 1000);

/// How full the leaves are: {"leaves", "bytes_used", "bytes", "fill_permille", "histogram": ten counts
/// of leaves by tenths}.
[[nodiscard]] boost::json::object describe_leaf_fill(ImageReader& reader);

/// All items of an inode: {"inode", "path", "items": [{"key", "item"} ...], "items_left_out"}.
/// @errors corrupt, I/O on the way; kNoEntry: it has none.
[[nodiscard]] Result<boost::json::object> describe_inode(ImageReader& reader, InodeNumber inode,
                                                         std::size_t items_max = 1000);

/// One item's content by its type; {"error"} when it is malformed.
[[nodiscard]] boost::json::object describe_item(Key key, ConstBytes bytes, const Layout& layout);
/// {"inode", "type", "lo"}
[[nodiscard]] boost::json::object describe_key(Key key);

/// {"clean", "uuid", "generation", ..., "findings": [{"name", "severity", "place", "where", "detail",
/// "sentence"} ...], "counts": {name: count}, "statistics": {...}}.
[[nodiscard]] boost::json::object to_json(const CheckReport& report);
/// {"clean", "files": [{"inode", "path", "bytes_damaged", "pieces": [...]} ...], "check": {...}}.
[[nodiscard]] boost::json::object to_json(const ScrubReport& report);

}  // namespace cordwood
