#include <map>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "device/memory_device.hpp"
#include "format/superblock.hpp"
#include "log/batch.hpp"
#include "log/block_changes.hpp"
#include "log/reader.hpp"
#include "log/ring.hpp"
#include "support/catch.hpp"

namespace cordwood::test {

namespace {

constexpr std::uint64_t kVolume = 0x1234;
constexpr std::uint64_t kRecordMax = 64_KiB;

struct Order {
  bool operator()(Key a, Key b) const { return a < b; }
};
using Items = std::map<Key, std::vector<std::byte>, Order>;

/// A leaf with its changes.
struct ChangedLeaf {
  explicit ChangedLeaf(std::uint32_t node_bytes)
      : bytes(node_bytes), leaf(bytes.data(), node_bytes, &chunks) {
    leaf.initialize(kVolume, 7);
  }
  std::vector<std::byte> bytes;
  ChunkBitmap chunks;
  ErasedKeys erased;
  Leaf leaf;
};

/// Leaves in key order, filled at random; some items count as changed, some keys as erased.
std::vector<std::unique_ptr<ChangedLeaf>> random_leaves(Random& random, std::uint32_t node_bytes,
                                                        Items& changed, std::vector<Key>& erased) {
  std::vector<std::unique_ptr<ChangedLeaf>> leaves;
  std::uint64_t lo = 0;
  const std::uint64_t number = random.between(1, 12);
  for (std::uint64_t n = 0; n < number; ++n) {
    auto next = std::make_unique<ChangedLeaf>(node_bytes);
    Leaf& leaf = next->leaf;
    while (true) {
      const std::vector<std::byte> data(
          random.one_in(20) ? random.below(max_item_bytes(node_bytes)) : random.below(80),
          static_cast<std::byte>(lo));
      if (leaf.contiguous_free_bytes() < item_footprint(data.size())) break;
      leaf.insert(leaf.count(), {9, lo}, data);
      lo += random.between(1, 5);
    }
    next->chunks.clear();
    for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
      if (random.one_in(8)) {
        const Bytes item = leaf.mutable_item(slot);
        if (!item.empty()) item[0] = std::byte{0xee};
        const Key key = leaf.key(slot);
        changed[key].assign(item.begin(), item.end());
      } else if (leaf.count() > 2 && random.one_in(12)) {
        const Key key = leaf.key(slot);
        erased.push_back(key);
        leaf.erase(slot);
        next->erased.add(leaf, key);
        --slot;
      }
    }
    leaves.push_back(std::move(next));
  }
  return leaves;
}

}  // namespace

TEST_CASE("log batch: records have every change, and read back", "[log]") {
  const std::uint32_t node_bytes = GENERATE(4096u, 16384u, 65536u);
  const std::uint32_t block_bytes = GENERATE(512u, 4096u);
  const LogCopy copy = GENERATE(LogCopy::kBulk, LogCopy::kPerItem);
  const LogDirty dirty = GENERATE(LogDirty::kChunks, LogDirty::kWhole);
  CAPTURE(node_bytes, block_bytes, copy, dirty);
  const Layout layout = *Layout::compute(64_MiB, block_bytes, node_bytes);
  LogBuffers buffers(kRecordMax);
  Random random(node_bytes + block_bytes);
  for (int round = 0; round < 12; ++round) {
    Items changed;
    std::vector<Key> erased;
    auto leaves = random_leaves(random, node_bytes, changed, erased);
    Items before;
    for (const auto& leaf : leaves) {
      for (std::uint32_t slot = 0; slot < leaf->leaf.count(); ++slot) {
        const ConstBytes item = leaf->leaf.item(slot);
        before[leaf->leaf.key(slot)].assign(item.begin(), item.end());
      }
    }
    LogBatchBuilder builder(buffers, layout, kVolume, UINT64_MAX, {copy, dirty, 90});
    for (const auto& leaf : leaves) builder.add(leaf->leaf, leaf->erased);
    LogBatch batch = builder.finish();
    REQUIRE(!builder.overflowed());

    Items found;
    std::vector<KeyRange> tombstones;
    for (LogRecordImage& image : batch.records) {
      CHECK(image.record_bytes % block_bytes == 0);
      // The ring fills in what depends on the moment of writing.
      store_le(image.bytes.get() + offsetof(LogRecordHeader, next_inode), std::uint64_t{2});
      auto record = LogRecord::parse(std::move(image.bytes), layout);
      INFO((record ? "" : record.error().message()));
      REQUIRE(record);
      for (const LogTombstone& tombstone : record->tombstones()) {
        tombstones.push_back(tombstone.range());
      }
      record->for_each_item([&](Key key, ConstBytes data) {
        found[key].assign(data.begin(), data.end());
        return true;
      });
    }
    CHECK(found.size() == batch.items);
    for (const auto& [key, data] : changed) {
      REQUIRE(found.count(key) == 1);
      CHECK(found[key] == data);
    }
    for (const auto& [key, data] : found) CHECK(before.at(key) == data);
    if (dirty == LogDirty::kWhole) CHECK(found.size() == before.size());
    const auto covered = [&](Key key) {
      return std::any_of(tombstones.begin(), tombstones.end(),
                         [&](const KeyRange& range) { return range.contains(key); });
    };
    for (const Key key : erased) CHECK(covered(key));
    // Nothing is erased that is not put again.
    for (const auto& [key, data] : before) CHECK((!covered(key) || found.count(key) == 1));
  }
}

TEST_CASE("log batch: one that is too large says so, and nothing changed makes none", "[log]") {
  const Layout layout = *Layout::compute(64_MiB, 4096, 16384);
  LogBuffers buffers(kRecordMax);
  {
    LogBatchBuilder builder(buffers, layout, kVolume, UINT64_MAX, {});
    ChangedLeaf leaf(16384);
    builder.add(leaf.leaf, leaf.erased);
    CHECK(builder.finish().empty());
  }
  LogBatchBuilder builder(buffers, layout, kVolume, 128_KiB, {});
  for (std::uint64_t lo = 0; !builder.overflowed(); lo += 1000) {
    REQUIRE(lo < 1'000'000);
    ChangedLeaf leaf(16384);
    const std::vector<std::byte> data(100);
    for (std::uint64_t i = 0; i < 100; ++i) leaf.leaf.insert(leaf.leaf.count(), {9, lo + i}, data);
    builder.add(leaf.leaf, leaf.erased);
  }
  CHECK(builder.finish().bytes > 128_KiB);
}

TEST_CASE("log ring: places wrap, and what is taken is counted", "[log]") {
  const Layout layout = *Layout::compute(16_MiB, 4096, 16384);
  const std::uint64_t blocks = layout.log.count;
  LogRing ring(layout, {5, blocks - 1});
  CHECK(ring.free_bytes() == blocks * 4096);
  std::vector<std::byte> record(3 * 4096);
  std::vector<IoRequest> requests;
  ring.add_requests(IoRequest::Kind::kWrite, ring.head(), record, true, requests);
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].offset == layout.byte_of(layout.log.end()) - 4096);
  CHECK(requests[0].bytes == 4096);
  CHECK(requests[1].offset == layout.byte_of(layout.log.first));
  CHECK(requests[1].bytes == 2 * 4096);
  CHECK(requests[1].fua);
  ring.advance(record.size());
  CHECK(ring.used_bytes() == record.size());
  CHECK(ring.wrapped(ring.head()) == LogPosition{6, 2});
  ring.release(ring.head());
  CHECK(ring.used_bytes() == 0);
}

TEST_CASE("log: block changes add up to what was taken and freed", "[log]") {
  BlockChanges changes;
  changes.add({{100}, 10});  // written, then cut short
  changes.drop({{100}, 10});
  changes.add({{100}, 4});
  changes.drop({{50}, 8});  // overwritten in its middle
  changes.add({{50}, 2});
  changes.add({{56}, 2});
  changes.add({{200}, 3});  // written and deleted
  changes.drop({{200}, 3});
  const auto net = changes.net();
  REQUIRE(net);
  CHECK(net->taken == std::vector<BlockRun>{{{100}, 4}});
  CHECK(net->freed == std::vector<BlockRun>{{{52}, 4}});
  changes.add({{103}, 1});
  CHECK(!changes.net());
}

}  // namespace cordwood::test
