#pragma once

#include <functional>
#include <vector>

#include "base/ids.hpp"
#include "device/sparse_image.hpp"
#include "format/superblock.hpp"

namespace cordwood::test {

// Damage that no checksum shows: everything above the changed bytes is made to fit. Only for volumes
// whose node table is one page.

/// Changes the newest superblock, in each of its copies.
void forge_superblock(SparseImage& image, const std::function<void(Superblock&)>& change);

/// Changes a node.
/// @return false when there is none of this id.
bool forge_node(SparseImage& image, NodeId id, const std::function<void(Bytes)>& change);

/// The ids that the node table maps.
[[nodiscard]] std::vector<NodeId> node_ids(const SparseImage& image);

/// A node's bytes. @pre the id is one of node_ids()
[[nodiscard]] std::vector<std::byte> node_bytes(const SparseImage& image, NodeId id);

}  // namespace cordwood::test
