// The on-disk form of inner nodes, and the header that all nodes share.

#include <cstring>

#include "node/inner.hpp"

namespace cordwood {

void Inner::pack(std::byte* target) const {
  const std::uint32_t total = count();
  std::memset(target, 0, node_bytes_);
  const auto copy = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t at = from; at < to; at += 8) store_le(target + at, word(at));
  };
  copy(0, kNodeHeaderBytes);
  copy(key_at(0), key_at(total));
  copy(child_at(0), child_at(total));
}

void Inner::load(const std::byte* source) {
  for (std::uint32_t at = 0; at < node_bytes_; at += 8) {
    store_word(at, load_le<std::uint64_t>(source + at));
  }
}

Result<void> Inner::verify(const std::byte* data, std::uint32_t node_bytes, Key low, Key high,
                           std::uint8_t level, std::uint64_t id_limit) {
  const auto id = load_le<std::uint64_t>(data + offsetof(NodeHeader, node_id));
  const auto fault = [id](const char* what) { return corrupt(Place::kNode, id, what); };
  const auto total = load_le<std::uint32_t>(data + offsetof(NodeHeader, count));
  const std::uint32_t most = inner_capacity(node_bytes);
  if (std::to_integer<std::uint8_t>(data[offsetof(NodeHeader, level)]) != level) {
    return fault("inner node: level is not one below its parent's");
  }
  if (total == 0 || total > most) return fault("inner node: impossible count");
  if (!all_zero(data + offsetof(NodeHeader, heap_top), data + kNodeHeaderBytes)) {
    return fault("inner node: unused header fields not zero");
  }

  const std::byte* keys = data + kNodeHeaderBytes;
  const std::byte* children = keys + kKeyBytes * std::size_t{most};
  if (load_key(keys) != low) return fault("inner node: first key is not its low fence");
  Key previous = low;
  for (std::uint32_t index = 0; index < total; ++index) {
    const Key key = load_key(keys + kKeyBytes * std::size_t{index});
    if (index > 0 && key <= previous) return fault("inner node: keys out of order");
    if (key >= high) return fault("inner node: key outside the node's range");
    previous = key;
    const auto child = load_le<std::uint64_t>(children + 8 * std::size_t{index});
    if (child == 0 || child >= id_limit || child == id) {
      return fault("inner node: impossible child id");
    }
  }
  if (!all_zero(keys + kKeyBytes * std::size_t{total}, children) ||
      !all_zero(children + 8 * std::size_t{total}, data + node_bytes)) {
    return fault("inner node: unused space not zero");
  }
  return {};
}

Result<void> verify_node_header(const std::byte* data, std::uint64_t volume_id, NodeId id,
                                std::uint8_t level) {
  const auto fault = [id](const char* what) { return corrupt(Place::kNode, id.value, what); };
  if (load_le<std::uint32_t>(data + offsetof(NodeHeader, magic)) != kNodeMagic) {
    return fault("not a node");
  }
  if (load_le<std::uint64_t>(data + offsetof(NodeHeader, volume_id)) != volume_id) {
    return fault("node of another volume");
  }
  if (load_le<std::uint64_t>(data + offsetof(NodeHeader, node_id)) != id.value) {
    return fault("another node lies at its place");
  }
  if (std::to_integer<std::uint8_t>(data[offsetof(NodeHeader, level)]) != level) {
    return fault("node of another level than its parent says");
  }
  if (!all_zero(data + offsetof(NodeHeader, reserved0), data + offsetof(NodeHeader, volume_id)) ||
      !all_zero(data + offsetof(NodeHeader, reserved1), data + kNodeHeaderBytes)) {
    return fault("reserved bytes of a node header are not zero");
  }
  return {};
}

}  // namespace cordwood
