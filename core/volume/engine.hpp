#pragma once

#include <memory>
#include <optional>

#include "checkpoint/checkpointer.hpp"
#include "device/block_device.hpp"
#include "format/layout.hpp"
#include "format/superblock.hpp"
#include "frame/node_cache.hpp"
#include "frame/node_table.hpp"
#include "frame/placement.hpp"
#include "fs/filesystem.hpp"
#include "space/space.hpp"
#include "trace/counters.hpp"
#include "trace/trace.hpp"
#include "tree/btree.hpp"
#include "volume/volume.hpp"

namespace cordwood {

/// The layers of a volume, lowest first; each refers to those above it in this list.
struct Volume::Engine {
  Engine(BlockDevice& block_device, const MountOptions& mount_options, const Superblock& current,
         const Layout& its_layout);
  ~Engine();

  /// Sets up the layers on the state that the superblock names.
  /// @errors corrupt: group table damaged; I/O.
  Result<void> start();
  /// The same for a volume that is only being made: the superblock names no tree yet, so an empty one
  /// begins here.
  Result<void> start_empty();

  BlockDevice& device;
  MountOptions options;
  Superblock opened;  ///< as it was when the engine started
  Layout layout;
  Clock& clock;
  Tracer trace;
  Counters counters;
  std::unique_ptr<Space> space;
  std::optional<Placement> placement;
  std::optional<NodeTable> table;
  std::optional<NodeCache> cache;
  std::optional<BTree> tree;
  std::optional<Checkpointer> checkpointer;
  std::optional<FsContext> context;
  std::optional<Filesystem> filesystem;

 private:
  Result<void> start_nodes();
  void start_tree(TreeRoot root);
  [[nodiscard]] std::uint64_t emergency_blocks() const;
};

}  // namespace cordwood
