#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/function_ref.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "device/block_device.hpp"
#include "format/key.hpp"
#include "format/layout.hpp"
#include "format/node.hpp"
#include "format/superblock.hpp"
#include "format/table.hpp"
#include "node/inner.hpp"
#include "node/leaf.hpp"
#include "volume/superblock_slots.hpp"

namespace cordwood {

/// How to look at an image.
struct ImageOptions {
  /// Which superblock to start from (0 to 3); unset: the newest right one. An older one shows the
  /// volume as it was, as far as its blocks have not been reused.
  std::optional<std::uint32_t> superblock_slot;
  /// Looks even when the device is shorter than the volume; what is cut off reads as an error.
  bool allow_truncated = false;
};

/// Which node is meant and what it has to be: enough to verify it.
struct NodeRequest {
  NodeId id;
  std::uint8_t level = 0;
  Key low;   ///< every key of the node is >= low
  Key high;  ///< and < high
};

/// A verified node of an image, in memory of its own.
struct ImageNode {
  NodeRequest request;
  std::vector<std::byte> bytes;  ///< node_bytes

  [[nodiscard]] bool is_leaf() const { return request.level == 0; }
  /// @pre is_leaf(). Only for looking at: nothing writes the bytes back.
  [[nodiscard]] Leaf leaf() const;
  /// @pre !is_leaf()
  [[nodiscard]] Inner inner() const;
  [[nodiscard]] NodeHeader header() const;
  /// The child at `index` with its range. @pre !is_leaf()
  [[nodiscard]] NodeRequest child(std::uint32_t index) const;
};

/// Why a node could not be had.
enum class NodeLoss : std::uint8_t {
  kMissing,     ///< the id has no entry in the node table
  kUnreadable,  ///< the table above it or its blocks are damaged, or an I/O error
  kInvalid,     ///< its checksum is right, but it is not the node that belongs there
};

/// A node, or why it could not be had.
struct NodeRead {
  Result<ImageNode> node = ImageNode{};
  NodeLoss loss = NodeLoss::kUnreadable;  ///< means something only when `node` is an error
};

using TablePage = std::array<TableEntry, kEntriesPerTablePage>;

/// Sees the nodes of a tree in key order.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  /// Asked before a node is read. False leaves out the node and everything below it.
  virtual bool admit(const NodeRequest&) { return true; }
  /// A verified node; a parent comes before its children. False ends the walk.
  virtual bool node(const ImageNode& node) = 0;
  /// A node that could not be had; nothing below it is seen. False ends the walk.
  virtual bool lost(const NodeRequest&, NodeLoss, const Error&) { return true; }
};

/// Reads a volume straight from its device, without mounting it and without the engine: superblock,
/// node table, tree. Everything it returns is verified: checksum, identity, structure.
///
/// The device must not change meanwhile. Nothing is ever written.
/// @invariant memory is bounded (some 16 MiB) and every call ends, whatever the device holds.
/// @threads one at a time.
class ImageReader {
 public:
  /// @errors kNotCordwood (the sentence says what the device holds instead, when that is known),
  ///         kVersion, kCorrupt (no right superblock, sizes that do not fit, or the device is shorter
  ///         than the volume), I/O.
  static Result<ImageReader> open(BlockDevice& device, const ImageOptions& options = {});

  [[nodiscard]] BlockDevice& device() const { return *device_; }
  [[nodiscard]] const SuperblockSlots& slots() const { return slots_; }
  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] const Superblock& superblock() const { return *slots_.slots[slot_].superblock; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::uint64_t volume_seed() const { return volume_seed_; }

  /// Reads bytes of the volume, aligned or not.
  Result<void> read_bytes(std::uint64_t offset, Bytes into) const;

  // ---- the node table ----
  /// Where a node or table page lies. @errors corrupt (fragment lists), I/O.
  Result<ContentPlace> locate(TablePlace place, Structure structure) const;
  /// Reads what lies there and compares its checksum.
  /// @errors corrupt with `kind` and `where` on a mismatch; I/O.
  Result<void> read_content(const ContentPlace& place, std::uint64_t checksum, Bytes into,
                            Place kind, std::uint64_t where) const;
  /// Reads a page of the table without using or filling the cache.
  Result<TablePage> read_table_page(const TableEntry& entry, std::uint64_t index) const;
  /// A page of the table. @param level  0: its entries are nodes. @param index  within the level.
  /// @errors corrupt with Place::kTablePage, also when there is no such page; I/O.
  Result<std::shared_ptr<const TablePage>> table_page(std::uint32_t level, std::uint64_t index);
  /// The validated entry of a node id; empty when the id is free.
  /// @errors corrupt: the id is 0 or not below the superblock's next id, a page is damaged; I/O.
  Result<TableEntry> entry(NodeId id);

  // ---- the tree ----
  [[nodiscard]] NodeRequest root() const;
  [[nodiscard]] NodeRead read_node(const NodeRequest& request);
  /// Reads several nodes at once; answers in the order of the requests.
  [[nodiscard]] std::vector<NodeRead> read_nodes(std::span<const NodeRequest> requests);
  /// Visits the nodes of `start`'s subtree whose ranges meet [low, high).
  /// @return whether the visitor let it run to the end.
  bool walk(TreeVisitor& visitor, const NodeRequest& start, Key low = kMinKey, Key high = kMaxKey);
  bool walk(TreeVisitor& visitor) { return walk(visitor, root()); }

  /// The item with this key. @errors corrupt, I/O: a node on the way.
  Result<std::optional<std::vector<std::byte>>> find(Key key);
  /// Visits the items with keys in [low, high) in order until the visitor returns false.
  /// @errors corrupt, I/O: the first node on the way that could not be had.
  Result<void> scan(Key low, Key high, FunctionRef<bool(Key, ConstBytes)> visitor);

 private:
  explicit ImageReader(BlockDevice& device) : device_(&device) {}

  Result<TableEntry> table_page_entry(std::uint32_t level, std::uint64_t index);
  NodeRead finish_node(const NodeRequest& request, Result<void> read, std::vector<std::byte> bytes,
                       const TableEntry& entry, std::uint64_t seed) const;
  Result<std::shared_ptr<const ImageNode>> cached_node(const NodeRequest& request);
  bool walk_children(TreeVisitor& visitor, const ImageNode& parent, Key low, Key high);
  bool walk_leaves(TreeVisitor& visitor, std::span<const NodeRequest> leaves);

  BlockDevice* device_;
  SuperblockSlots slots_;
  std::uint32_t slot_ = 0;
  Layout layout_;
  std::uint64_t volume_seed_ = 0;
  /// Dropped as a whole when full: simple, and a walk in key order rarely comes back.
  std::unordered_map<std::uint64_t, std::shared_ptr<const TablePage>> table_cache_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const ImageNode>> node_cache_;
};

}  // namespace cordwood
