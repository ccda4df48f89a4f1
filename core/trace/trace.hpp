#pragma once

#include <cstdint>

#include "base/ids.hpp"

namespace cordwood {

/// What happened. Meaning of the numbers of an Event, in order, beside each.
enum class EventKind : std::uint8_t {
  kSplit,           ///< node, new right node, items moved
  kAppendSplit,     ///< node left full, new right node
  kInnerSplit,      ///< node, new right node, level
  kPush,            ///< from node, to node, bytes
  kMerge,           ///< surviving node, freed node
  kRootChange,      ///< old root, new root, new level
  kCompact,         ///< node, bytes joined
  kNodeDirty,       ///< node, generation: first change since a freeze
  kNodeLoad,        ///< node
  kNodeEvict,       ///< node
  kNodeWrite,       ///< node, block, generation: copy-on-write moved it there
  kFreeze,          ///< generation, dirty nodes
  kCheckpointDone,  ///< generation, nodes written, bytes written
  kAllocate,        ///< first block, blocks
  kFree,            ///< first block, blocks: pending until the checkpoint is durable
  kLogWrite,        ///< sequence, first block in the ring, bytes
  kLogDurable,      ///< sequence: the records before it are durable
};

struct Event {
  EventKind kind;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// Receives events as they happen. @threads called from any thread, under latches: must be quick and
/// must not call back into the volume.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_event(const Event& event) = 0;
};

/// What a layer holds to trace with: null by default, one predictable branch when off.
class Tracer {
 public:
  explicit Tracer(TraceSink* sink = nullptr) : sink_(sink) {}
  void operator()(EventKind kind, std::uint64_t a = 0, std::uint64_t b = 0,
                  std::uint64_t c = 0) const {
    if (sink_ != nullptr) [[unlikely]]
      sink_->on_event({kind, a, b, c});
  }

 private:
  TraceSink* sink_;
};

}  // namespace cordwood
