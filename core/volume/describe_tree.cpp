// Nodes, the tree and inodes as JSON.

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "volume/describe.hpp"
#include "volume/inode_path.hpp"
#include "volume/json_parts.hpp"
#include "volume/sparse_bitmap.hpp"

namespace cordwood {

namespace json = boost::json;

namespace {

constexpr std::size_t kLostMax = 100;

/// Looks for the parent of a node among all inner nodes.
class ParentSearch final : public TreeVisitor {
 public:
  ParentSearch(NodeId child, std::uint8_t level) : child_(child), level_(level) {}

  bool admit(const NodeRequest& request) override { return request.level > level_; }
  bool node(const ImageNode& node) override {
    if (node.request.level != level_ + 1) return true;
    const std::uint32_t index = node.inner().index_of(child_);
    if (index == node.inner().count()) return true;
    found = node.child(index);
    return false;
  }

  std::optional<NodeRequest> found;

 private:
  NodeId child_;
  std::uint8_t level_;
};

/// What the tree demands of a node of this id and level; nothing when the tree does not name it.
std::optional<NodeRequest> find_in_tree(ImageReader& reader, NodeId id, std::uint8_t level) {
  if (reader.root().id == id) return reader.root();
  ParentSearch search(id, level);
  reader.walk(search);
  return search.found;
}

json::array items_json(const ImageNode& node, const Layout& layout) {
  const Leaf leaf = node.leaf();
  json::array items;
  for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
    const ConstBytes item = leaf.item(slot);
    items.push_back(json::object{{"slot", slot},
                                 {"offset", item.data() - node.bytes.data() - kRecordHeaderBytes},
                                 {"bytes", item.size()},
                                 {"key", describe_key(leaf.key(slot))},
                                 {"item", describe_item(leaf.key(slot), item, layout)}});
  }
  return items;
}

json::array children_json(const ImageNode& node) {
  json::array children;
  for (std::uint32_t i = 0; i < node.inner().count(); ++i) {
    const NodeRequest child = node.child(i);
    children.push_back(json::object{{"key", describe_key(child.low)}, {"child", child.id.value}});
  }
  return children;
}

/// Counts per level and, up to a limit, the nested shape. Nodes come parents first, in key order, so
/// the chain of ancestors of the node under way is all that has to be kept open.
class TreeDescription final : public TreeVisitor {
 public:
  explicit TreeDescription(std::uint64_t nodes_max) : nodes_max_(nodes_max) {}

  bool admit(const NodeRequest& request) override { return !seen_.insert(request.id.value); }

  bool node(const ImageNode& node) override {
    const std::uint64_t used = bytes_used(node);
    const std::uint64_t usable = bytes_usable(node);
    Level& level = levels_[node.request.level];
    ++level.nodes;
    level.bytes_used += used;
    level.bytes += usable;
    if (node.is_leaf()) {
      const std::uint64_t tenth = std::min<std::uint64_t>(permille(used, usable) / 100, 9);
      ++histogram_[tenth];
    }
    if (nodes_ >= nodes_max_) {
      ++left_out_;
      return true;
    }
    ++nodes_;
    const std::uint32_t count = node.is_leaf() ? node.leaf().count() : node.inner().count();
    open(node.request.level, {{"id", node.request.id.value},
                              {"level", node.request.level},
                              {"low", describe_key(node.request.low)},
                              {"count", count},
                              {"fill_permille", permille(used, usable)}});
    return true;
  }

  bool lost(const NodeRequest& request, NodeLoss, const Error& error) override {
    json::object object = error_json(error);
    object["id"] = request.id.value;
    object["level"] = request.level;
    if (lost_.size() < kLostMax) lost_.push_back(std::move(object));
    return true;
  }

  json::object finish() {
    close(0);
    json::array levels;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      levels.push_back(
          json::object{{"level", level->first},
                       {"nodes", level->second.nodes},
                       {"bytes_used", level->second.bytes_used},
                       {"bytes", level->second.bytes},
                       {"fill_permille", permille(level->second.bytes_used, level->second.bytes)}});
    }
    json::value root = nullptr;
    if (root_) root = std::move(*root_);
    return {{"levels", std::move(levels)},
            {"leaf_fill", leaf_fill()},
            {"root", std::move(root)},
            {"nodes_left_out", left_out_},
            {"lost", std::move(lost_)}};
  }

  json::object leaf_fill() {
    const Level& leaves = levels_[0];
    json::array histogram;
    for (const std::uint64_t count : histogram_) histogram.push_back(count);
    return {{"leaves", leaves.nodes},
            {"bytes_used", leaves.bytes_used},
            {"bytes", leaves.bytes},
            {"fill_permille", permille(leaves.bytes_used, leaves.bytes)},
            {"histogram", std::move(histogram)}};
  }

 private:
  struct Level {
    std::uint64_t nodes = 0;
    std::uint64_t bytes_used = 0;
    std::uint64_t bytes = 0;
  };
  struct Open {
    std::uint8_t level = 0;
    json::object object;
    json::array children;
  };

  void open(std::uint8_t level, json::object object) {
    close(level + 1u);
    open_.push_back({level, std::move(object), {}});
  }
  /// Gives every open node below `level` to its parent.
  void close(std::uint32_t level) {
    // 0 means all: the end of the walk.
    while (!open_.empty() && (level == 0 || open_.back().level < level)) {
      Open done = std::move(open_.back());
      open_.pop_back();
      if (done.level > 0) done.object["children"] = std::move(done.children);
      if (open_.empty()) {
        root_ = std::move(done.object);
      } else {
        open_.back().children.push_back(std::move(done.object));
      }
    }
  }

  std::uint64_t nodes_max_;
  std::uint64_t nodes_ = 0;
  std::uint64_t left_out_ = 0;
  std::map<std::uint32_t, Level> levels_;
  std::array<std::uint64_t, 10> histogram_{};
  std::vector<Open> open_;
  std::optional<json::object> root_;
  json::array lost_;
  SparseBitmap seen_;
};

}  // namespace

Result<json::object> describe_node(ImageReader& reader, NodeId id) {
  const TableEntry entry = TRY(reader.entry(id));
  if (entry.place.empty()) {
    return make_error(Errc::kNoEntry, Place::kNode, id.value, "the node id is free");
  }
  const ContentPlace place = TRY(reader.locate(entry.place, Structure::kNode));
  std::vector<std::byte> raw(reader.layout().node_bytes);
  const auto read = reader.read_content(place, entry.checksum, raw, Place::kNode, id.value);
  if (!read) return read.error();
  const auto level = std::to_integer<std::uint8_t>(raw[offsetof(NodeHeader, level)]);
  if (level > kMaxLevel) return corrupt(Place::kNode, id.value, "impossible level");
  const auto wanted = find_in_tree(reader, id, level);
  NodeRequest request{id, level, kMinKey, kMaxKey};
  if (wanted) {
    request = *wanted;
  } else if (level > 0) {
    request.low = load_key(raw.data() + kNodeHeaderBytes);
  }
  NodeRead verified = reader.read_node(request);
  if (!verified.node) return verified.node.error();
  const ImageNode& node = *verified.node;
  json::object object{{"id", id.value},
                      {"level", level},
                      {"generation", node.header().generation},
                      {"checksum", hex64(entry.checksum)},
                      {"place", place_json(place)},
                      {"in_tree", wanted.has_value()},
                      {"low", nullptr},
                      {"high", nullptr},
                      {"count", node.header().count},
                      {"bytes_used", bytes_used(node)},
                      {"free_bytes", bytes_usable(node) - bytes_used(node)},
                      {"fill_permille", permille(bytes_used(node), bytes_usable(node))}};
  if (wanted) {
    object["low"] = describe_key(wanted->low);
    object["high"] = describe_key(wanted->high);
  }
  if (node.is_leaf()) {
    object["items"] = items_json(node, reader.layout());
  } else {
    object["children"] = children_json(node);
  }
  return object;
}

json::object describe_tree(ImageReader& reader, std::uint64_t nodes_max) {
  TreeDescription tree(nodes_max);
  reader.walk(tree);
  return tree.finish();
}

json::object describe_leaf_fill(ImageReader& reader) {
  TreeDescription tree(0);
  reader.walk(tree);
  return tree.leaf_fill();
}

Result<json::object> describe_inode(ImageReader& reader, InodeNumber inode, std::size_t items_max) {
  if (inode.value == 0 || inode.value >= kInodeLimit) {
    return make_error(Errc::kInvalid, Place::kInode, inode.value, "no such inode number");
  }
  json::array items;
  std::uint64_t left_out = 0;
  const Key low = make_key(inode, ItemType{0});
  const Key high = make_key(inode + 1, ItemType{0});
  const auto scanned = reader.scan(low, high, [&](Key key, ConstBytes bytes) {
    if (items.size() >= items_max) {
      ++left_out;
      return true;
    }
    items.push_back(json::object{{"key", describe_key(key)},
                                 {"item", describe_item(key, bytes, reader.layout())}});
    return true;
  });
  if (!scanned) return scanned.error();
  if (items.empty() && left_out == 0) {
    return make_error(Errc::kNoEntry, Place::kInode, inode.value, "there is no such inode");
  }
  json::object object{{"inode", inode.value}, {"path", nullptr}};
  if (const auto path = path_of(reader, inode); path && !path->empty()) {
    put_text(object, "path", *path);
  }
  object["items"] = std::move(items);
  object["items_left_out"] = left_out;
  return object;
}

}  // namespace cordwood
