// The tree of an image: reading nodes and walking over them.

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "volume/image_reader.hpp"

namespace cordwood {

namespace {

constexpr std::size_t kBatchBytes = 2_MiB;
constexpr std::size_t kNodeCacheBytes = 8_MiB;

/// Visits only the nodes on the way to a range, and hands over the items in it.
class RangeScan final : public TreeVisitor {
 public:
  RangeScan(Key low, Key high, FunctionRef<bool(Key, ConstBytes)> visitor)
      : low_(low), high_(high), visitor_(visitor) {}

  bool node(const ImageNode& node) override {
    if (!node.is_leaf()) return true;
    const Leaf leaf = node.leaf();
    for (std::uint32_t slot = leaf.find(low_).slot; slot < leaf.count(); ++slot) {
      const Key key = leaf.key(slot);
      if (key >= high_ || !visitor_(key, leaf.item(slot))) return false;
    }
    return true;
  }
  bool lost(const NodeRequest&, NodeLoss, const Error& error) override {
    error_ = error;
    return false;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  Key low_;
  Key high_;
  FunctionRef<bool(Key, ConstBytes)> visitor_;
  std::optional<Error> error_;
};

bool meets(const NodeRequest& request, Key low, Key high) {
  return request.low < high && low < request.high;
}

}  // namespace

Leaf ImageNode::leaf() const {
  CW_CHECK(is_leaf());
  return Leaf(const_cast<std::byte*>(bytes.data()), static_cast<std::uint32_t>(bytes.size()));
}

Inner ImageNode::inner() const {
  CW_CHECK(!is_leaf());
  return Inner(const_cast<std::byte*>(bytes.data()), static_cast<std::uint32_t>(bytes.size()));
}

NodeHeader ImageNode::header() const {
  NodeHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

NodeRequest ImageNode::child(std::uint32_t index) const {
  const Inner node = inner();
  return {node.child(index), static_cast<std::uint8_t>(request.level - 1), node.key(index),
          index + 1 < node.count() ? node.key(index + 1) : request.high};
}

NodeRequest ImageReader::root() const {
  return {{superblock().root_node},
          static_cast<std::uint8_t>(superblock().root_level),
          kMinKey,
          kMaxKey};
}

NodeRead ImageReader::finish_node(const NodeRequest& request, Result<void> read,
                                  std::vector<std::byte> bytes, const TableEntry& entry,
                                  std::uint64_t seed) const {
  if (!read) return {read.error(), NodeLoss::kUnreadable};
  if (checksum(bytes, seed) != entry.checksum) {
    return {corrupt(Place::kNode, request.id.value, "checksum mismatch"), NodeLoss::kUnreadable};
  }
  ImageNode node{request, std::move(bytes)};
  Result<void> right =
      verify_node_header(node.bytes.data(), superblock().volume_id(), request.id, request.level);
  if (right && request.level > 0) {
    right = Inner::verify(node.bytes.data(), layout_.node_bytes, request.low, request.high,
                          request.level, superblock().next_node_id);
  } else if (right) {
    right = node.leaf().verify(request.low, request.high, true);
  }
  if (!right) return {right.error(), NodeLoss::kInvalid};
  return {std::move(node), NodeLoss::kInvalid};
}

NodeRead ImageReader::read_node(const NodeRequest& request) {
  return std::move(read_nodes({&request, 1}).front());
}

std::vector<NodeRead> ImageReader::read_nodes(std::span<const NodeRequest> requests) {
  struct Pending {
    TableEntry entry;
    ContentPlace place;
    std::vector<std::byte> bytes;
  };
  std::vector<NodeRead> answers(requests.size());
  std::vector<Pending> pending(requests.size());
  std::vector<IoRequest> reads;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto entry = this->entry(requests[i].id);
    if (!entry) {
      answers[i] = {entry.error(), NodeLoss::kUnreadable};
      continue;
    }
    if (entry->place.empty()) {
      answers[i] = {corrupt(Place::kNode, requests[i].id.value, "the node table has no such node"),
                    NodeLoss::kMissing};
      continue;
    }
    auto place = locate(entry->place, Structure::kNode);
    if (!place) {
      answers[i] = {place.error(), NodeLoss::kUnreadable};
      continue;
    }
    pending[i] = {*entry, *std::move(place), std::vector<std::byte>(layout_.node_bytes)};
    std::uint64_t done = 0;
    for (const BlockRun& run : pending[i].place.runs) {
      const std::uint64_t bytes = run.count * layout_.block_bytes;
      reads.push_back(IoRequest::read(layout_.byte_of(run.first),
                                      Bytes(pending[i].bytes).subspan(done, bytes)));
      done += bytes;
    }
  }
  // A batch tells only its first failure, so after one each node is read again by itself.
  const bool all_read = reads.empty() || device_->submit(reads).has_value();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (pending[i].bytes.empty()) continue;
    Result<void> read;
    if (!all_read) {
      read = read_content(pending[i].place, pending[i].entry.checksum, pending[i].bytes,
                          Place::kNode, requests[i].id.value);
    }
    answers[i] = finish_node(requests[i], read, std::move(pending[i].bytes), pending[i].entry,
                             pending[i].place.seed);
  }
  return answers;
}

bool ImageReader::walk(TreeVisitor& visitor, const NodeRequest& start, Key low, Key high) {
  if (!meets(start, low, high) || !visitor.admit(start)) return true;
  const NodeRead read = read_node(start);
  if (!read.node) return visitor.lost(start, read.loss, read.node.error());
  if (!visitor.node(*read.node)) return false;
  return read.node->is_leaf() || walk_children(visitor, *read.node, low, high);
}

bool ImageReader::walk_children(TreeVisitor& visitor, const ImageNode& parent, Key low, Key high) {
  const std::uint32_t count = parent.inner().count();
  if (parent.request.level > 1) {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!walk(visitor, parent.child(i), low, high)) return false;
    }
    return true;
  }
  const std::size_t batch = std::max<std::size_t>(kBatchBytes / layout_.node_bytes, 1);
  std::vector<NodeRequest> leaves;
  for (std::uint32_t i = 0; i < count; ++i) {
    const NodeRequest leaf = parent.child(i);
    if (meets(leaf, low, high) && visitor.admit(leaf)) leaves.push_back(leaf);
    if (leaves.size() < batch && i + 1 < count) continue;
    if (!walk_leaves(visitor, leaves)) return false;
    leaves.clear();
  }
  return true;
}

bool ImageReader::walk_leaves(TreeVisitor& visitor, std::span<const NodeRequest> leaves) {
  const std::vector<NodeRead> reads = read_nodes(leaves);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const bool go_on = reads[i].node
                           ? visitor.node(*reads[i].node)
                           : visitor.lost(leaves[i], reads[i].loss, reads[i].node.error());
    if (!go_on) return false;
  }
  return true;
}

Result<std::shared_ptr<const ImageNode>> ImageReader::cached_node(const NodeRequest& request) {
  const auto found = node_cache_.find(request.id.value);
  if (found != node_cache_.end()) {
    const NodeRequest& held = found->second->request;
    // On a damaged image two parents may name one node, and only one of them can be right.
    if (held.level == request.level && held.low == request.low && held.high == request.high) {
      return found->second;
    }
  }
  NodeRead read = read_node(request);
  if (!read.node) return read.node.error();
  auto node = std::make_shared<const ImageNode>(*std::move(read.node));
  if (node_cache_.size() >= kNodeCacheBytes / layout_.node_bytes) node_cache_.clear();
  node_cache_[request.id.value] = node;
  return node;
}

Result<std::optional<std::vector<std::byte>>> ImageReader::find(Key key) {
  NodeRequest request = root();
  for (;;) {
    const auto node = TRY(cached_node(request));
    if (node->is_leaf()) {
      const Leaf leaf = node->leaf();
      const SlotPosition at = leaf.find(key);
      if (!at.found) return std::optional<std::vector<std::byte>>();
      const ConstBytes item = leaf.item(at.slot);
      return std::optional(std::vector<std::byte>(item.begin(), item.end()));
    }
    request = node->child(node->inner().find(key));
  }
}

Result<void> ImageReader::scan(Key low, Key high, FunctionRef<bool(Key, ConstBytes)> visitor) {
  RangeScan scan(low, high, visitor);
  walk(scan, root(), low, high);
  if (scan.error()) return *scan.error();
  return {};
}

}  // namespace cordwood
