#pragma once

#include <memory>
#include <optional>

#include "checkpoint/checkpointer.hpp"
#include "checkpoint/committer.hpp"
#include "device/block_device.hpp"
#include "device/flush_tracker.hpp"
#include "format/layout.hpp"
#include "format/superblock.hpp"
#include "frame/node_cache.hpp"
#include "frame/node_table.hpp"
#include "frame/placement.hpp"
#include "fs/filesystem.hpp"
#include "log/log.hpp"
#include "log/replay.hpp"
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

  /// Sets up the layers on the state that the superblock names, and applies the log to it, in memory.
  /// @errors corrupt: group table damaged, or the log, unless that is to be discarded; I/O.
  Result<void> start();
  /// Makes a state that the log led to the new checkpoint, before anything else is changed.
  Result<void> finish_replay();
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
  FlushTracker flushes;
  ReplayPlan replay;
  std::optional<Log> log;
  std::optional<Checkpointer> checkpointer;
  std::optional<Committer> committer;
  std::optional<FsContext> context;
  std::optional<Filesystem> filesystem;

 private:
  Result<void> start_nodes();
  void start_tree(TreeRoot root);
  Result<void> replay_log();
  void start_upper_layers();
  [[nodiscard]] std::uint64_t emergency_blocks() const;
};

}  // namespace cordwood
