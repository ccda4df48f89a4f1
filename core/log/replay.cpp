#include "log/replay.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/checksum.hpp"
#include "format/items.hpp"
#include "log/block_changes.hpp"

namespace cordwood {

// ---- looking ----

namespace {

/// A record that was read, as far as the plan needs it.
struct Seen {
  LogRecordHeader header;
  LogPosition end;  ///< behind it
};

/// Whether the bytes of an extent are the ones that its checksums were made from.
Result<bool> extent_is_whole(BlockDevice& device, const Layout& layout, std::uint64_t volume_seed,
                             const ExtentItem& extent) {
  const std::uint64_t start = layout.byte_of(extent.run.first);
  const std::uint64_t bytes = extent.run.count * layout.block_bytes;
  const AlignedBuffer content = allocate_aligned(bytes);
  TRY(device.read(start, Bytes(content.get(), bytes)));
  for (std::uint64_t at = 0; at < bytes; at += kGranuleBytes) {
    const ConstBytes granule(content.get() + at, std::min(kGranuleBytes, bytes - at));
    const std::uint64_t expected =
        load_le<std::uint64_t>(extent.checksums.data() + at / kGranuleBytes * 8);
    const std::uint64_t seed = granule_seed(volume_seed, start + at, extent.generation);
    if (checksum(granule, seed) != expected) return false;
  }
  return true;
}

/// The records of the log whose extents' data may not have reached the device.
class TailCheck {
 public:
  TailCheck(BlockDevice& device, const Layout& layout, const Superblock& superblock,
            ReplayBase& base)
      : device_(device), layout_(layout), superblock_(superblock), base_(base) {}

  /// A record was read: remembers which extents it names.
  /// @errors corrupt with Place::kLogRecord: one of them is malformed
  Result<void> add(const LogRecord& record) {
    const std::uint64_t sequence = record.header().sequence;
    const auto named =
        for_each_extent(record, [&](Key, ConstBytes, const ExtentItem& extent) -> Result<bool> {
          named_.try_emplace(name_of(extent), sequence);
          return true;
        });
    if (!named) return corrupt(Place::kLogRecord, sequence, named.error().what);
    return {};
  }

  /// How many of the records are to be believed though none behind them says that they were durable.
  Result<std::size_t> count_whole(const std::vector<Seen>& seen, std::uint64_t durable_sequence) {
    LogReader reader(device_, layout_, superblock_);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i].header.sequence < durable_sequence) {
        reader.skip_to(seen[i].end);
        continue;
      }
      const std::optional<LogRecord> record = TRY(reader.next());
      if (!record || !TRY(is_whole(*record))) return i;
    }
    return seen.size();
  }

 private:
  /// Blocks and generation. An extent that grew at its end is another one.
  using ExtentName = std::array<std::uint64_t, 3>;
  static ExtentName name_of(const ExtentItem& extent) {
    return {extent.run.first.value, extent.run.count, extent.generation.value};
  }

  /// Visits the extents with data until the visitor returns false. Returns whether it never did.
  template <class Visit>
  Result<bool> for_each_extent(const LogRecord& record, Visit&& visit) {
    Result<bool> go_on = true;
    record.for_each_item([&](Key key, ConstBytes data) {
      if (key.type() != ItemType::kExtent) return true;
      const auto extent = ExtentItem::parse(data, key, layout_);
      if (!extent) {
        go_on = extent.error();
      } else if (extent->kind == ExtentKind::kData) {
        go_on = visit(key, data, *extent);
      }
      return go_on && *go_on;
    });
    return go_on;
  }

  Result<bool> is_whole(const LogRecord& record) {
    const auto visit = [&](Key key, ConstBytes data, const ExtentItem& extent) -> Result<bool> {
      if (named_before(extent, record.header().sequence) || TRY(base_.holds(key, data)))
        return true;
      return extent_is_whole(device_, layout_, superblock_.volume_seed(), extent);
    };
    return for_each_extent(record, visit);
  }

  // A record takes along what shares a chunk with a change. The data of an extent that was there
  // before has been durable for long; if it is damaged now, that is no reason to drop the record.
  [[nodiscard]] bool named_before(const ExtentItem& extent, std::uint64_t sequence) const {
    const auto found = named_.find(name_of(extent));
    return found != named_.end() && found->second < sequence;
  }

  BlockDevice& device_;
  const Layout& layout_;
  const Superblock& superblock_;
  ReplayBase& base_;
  std::map<ExtentName, std::uint64_t> named_;  ///< sequence of the first record that has it
};

void fill_plan(ReplayPlan& plan, const std::vector<Seen>& seen, std::size_t count) {
  while (count > 0 && (seen[count - 1].header.flags & kLogBatchContinues) != 0) --count;
  plan.cut_records = seen.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    const LogRecordHeader& header = seen[i].header;
    ++plan.records;
    if ((header.flags & kLogBatchContinues) == 0) ++plan.batches;
    plan.items += header.item_count;
    plan.tombstones += header.tombstone_count;
    plan.bytes += header.record_bytes;
    plan.end = seen[i].end;
    plan.next_inode = std::max(plan.next_inode, header.next_inode);
    plan.inode_count = header.inode_count;
  }
}

}  // namespace

Result<ReplayPlan> plan_replay(BlockDevice& device, const Layout& layout,
                               const Superblock& superblock, ReplayBase& base) {
  ReplayPlan plan;
  plan.begin = plan.end = {superblock.log_sequence, superblock.log_block};
  plan.next_inode = superblock.next_inode;
  plan.inode_count = superblock.inode_count;
  LogReader reader(device, layout, superblock);
  TailCheck tail(device, layout, superblock, base);
  std::vector<Seen> seen;
  std::uint64_t durable_sequence = 0;
  while (true) {
    const auto record = reader.next();
    Result<void> sound;
    if (!record) {
      sound = record.error();
    } else if (*record) {
      sound = tail.add(**record);
    }
    if (!sound && sound.error().code != Errc::kCorrupt) return sound.error();
    if (!sound) plan.damage = sound.error();
    if (!sound || !*record) break;
    seen.push_back({(*record)->header(), reader.position()});
    durable_sequence = std::max(durable_sequence, seen.back().header.durable_sequence);
  }
  // A volume that was closed has nothing in its log.
  const bool closed = superblock.mount_state == static_cast<std::uint32_t>(MountState::kClean);
  if (!plan.damage && !(closed && seen.empty()) && TRY(reader.end_was_durable())) {
    plan.damage =
        corrupt(Place::kLogRecord, reader.position().sequence,
                "a record of the log is damaged that was durable: what follows it is lost");
  }
  const std::size_t count = TRY(tail.count_whole(seen, durable_sequence));
  fill_plan(plan, seen, count);
  if (count < seen.size()) {
    plan.cut_reason = "their data had not reached the device";
  } else if (plan.cut_records != 0) {
    plan.cut_reason = "their batch is not complete";
  }
  return plan;
}

// ---- doing ----

namespace {

/// Applies records to the tree.
class Replay {
 public:
  Replay(const Layout& layout, BTree& tree, NodeCache& cache, Space& space)
      : layout_(layout),
        tree_(tree),
        space_(space),
        blocks_each_(tree.nodes_for_items(1) * cache.blocks_per_dirty_node()),
        reservation_(space, 0) {}

  Result<void> apply(const LogRecord& record) {
    for (const LogTombstone& tombstone : record.tombstones()) TRY(erase(tombstone.range()));
    Result<void> done;
    record.for_each_item([&](Key key, ConstBytes data) {
      done = put(key, data);
      return done.has_value();
    });
    return done;
  }

  /// All records were applied: the blocks follow.
  Result<void> settle_blocks() {
    reservation_.release();
    const BlockChanges::Net net = TRY(blocks_.net());
    for (const BlockRun& run : net.taken) TRY(space_.claim(run, ReserveClass::kReplay));
    for (const BlockRun& run : net.freed) TRY(space_.free(run));
    return {};
  }

 private:
  /// What the live volume did once fits, so the replay may take what it needs.
  Reservation& reserved() {
    if (reservation_.blocks() < blocks_each_) {
      const std::uint64_t blocks = 64 * blocks_each_;
      CW_CHECK(space_.try_reserve(blocks, ReserveClass::kReplay));
      reservation_.add(blocks);
    }
    return reservation_;
  }

  Result<BlockRun> blocks_of(Key key, ConstBytes data) const {
    if (key.type() != ItemType::kExtent) return BlockRun{};
    const ExtentItem extent = TRY(ExtentItem::parse(data, key, layout_));
    return extent.kind == ExtentKind::kInline ? BlockRun{} : extent.run;
  }

  Result<void> erase(const KeyRange& range) {
    constexpr std::size_t kStep = 256;
    std::vector<Key> keys;
    do {
      keys.clear();
      Result<void> valid;
      TRY(tree_.scan(range.first, range.last.next(), [&](Key key, ConstBytes data) {
        const auto run = blocks_of(key, data);
        if (!run) {
          valid = run.error();
          return false;
        }
        blocks_.drop(*run);
        keys.push_back(key);
        return keys.size() < kStep;
      }));
      TRY(valid);
      for (const Key key : keys) TRY(tree_.erase(reserved(), key));
    } while (keys.size() == kStep);
    return {};
  }

  Result<void> put(Key key, ConstBytes data) {
    if (key.type() == ItemType::kExtent) {
      Result<BlockRun> before = BlockRun{};
      TRY(tree_.read(key, [&](ConstBytes old) { before = blocks_of(key, old); }));
      blocks_.drop(TRY(before));
      blocks_.add(TRY(blocks_of(key, data)));
    }
    return tree_.put(reserved(), key, data, &hint_);
  }

  const Layout& layout_;
  BTree& tree_;
  Space& space_;
  std::uint64_t blocks_each_;
  Reservation reservation_;
  BlockChanges blocks_;
  Hint hint_;
};

}  // namespace

Result<void> apply_replay(const ReplayPlan& plan, BlockDevice& device, const Layout& layout,
                          const Superblock& superblock, BTree& tree, NodeCache& cache,
                          Space& space) {
  Replay replay(layout, tree, cache, space);
  LogReader reader(device, layout, superblock);
  while (reader.position() != plan.end) {
    const std::optional<LogRecord> record = TRY(reader.next());
    if (!record) {
      return make_error(Errc::kIo, Place::kLogRecord, reader.position().sequence,
                        "the log reads differently the second time");
    }
    TRY(replay.apply(*record));
  }
  return replay.settle_blocks();
}

}  // namespace cordwood
