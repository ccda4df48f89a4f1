#include "fuzz/crafted_record.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "format/items.hpp"
#include "node/leaf.hpp"

namespace cordwood::test {

namespace {

using Items = std::map<Key, std::vector<std::byte>>;

Key key_at(const LogSample& sample, const LogField& item) {
  return load_key(sample.ring.data() + item.offset - kRecordHeaderBytes);
}

Key any_key(FuzzInput& input, const LogSample& sample) {
  Key key = key_at(sample, sample.items[input.below(sample.items.size())]);
  const std::uint8_t how = input.byte();
  if ((how & 1) != 0) key.lo = input.instead_of(key.lo);
  if ((how & 2) != 0) key.hi = (key.hi & ~std::uint64_t{0xff}) | (how >> 5);
  if ((how & 4) != 0) key.hi = (input.instead_of(key.hi >> 8) << 8) | (key.hi & 0xff);
  if ((how & 24) == 24) key.hi = input.instead_of(key.hi);
  return key;
}

std::vector<std::byte> extent(FuzzInput& input, const LogSample& sample) {
  ExtentHeader header;
  header.kind = static_cast<std::uint8_t>(1 + input.byte() % 4);
  header.length = static_cast<std::uint32_t>(input.byte() + 1u);
  header.block = sample.layout.first_free.value + input.below(sample.layout.device_blocks);
  header.generation = input.byte();
  std::vector<std::byte> data(sizeof header);
  std::memcpy(data.data(), &header, sizeof header);
  if (header.kind == static_cast<std::uint8_t>(ExtentKind::kData)) {
    const std::uint64_t bytes = std::uint64_t{header.length} * sample.layout.block_bytes;
    data.resize(data.size() + divide_up<std::uint64_t>(bytes, kGranuleBytes) * 8);
  } else if (header.kind == static_cast<std::uint8_t>(ExtentKind::kInline)) {
    data.resize(data.size() + header.length);
  }
  return data;
}

std::vector<std::byte> any_data(FuzzInput& input, const LogSample& sample) {
  const std::uint8_t how = input.byte();
  if (how % 4 == 0) return extent(input, sample);
  if (how % 4 == 1) {
    std::vector<std::byte> data(input.byte());
    for (std::byte& byte : data) byte = std::byte{input.byte()};
    return data;
  }
  const LogField& item = sample.items[input.below(sample.items.size())];
  const std::byte* const from = sample.ring.data() + item.offset;
  std::vector<std::byte> data(from, from + item.bytes);
  if (how % 4 == 2 && data.size() >= 8) {
    std::byte* const at = data.data() + input.below(data.size() - 7);
    store_le(at, input.instead_of(load_le<std::uint64_t>(at)));
  }
  return data;
}

Items any_items(FuzzInput& input, const LogSample& sample) {
  Items items;
  const std::size_t largest = max_item_bytes(sample.layout.node_bytes);
  for (unsigned left = input.byte() % 24; left > 0 && !input.ended(); --left) {
    const Key key = any_key(input, sample);
    std::vector<std::byte> data = any_data(input, sample);
    data.resize(std::min(data.size(), largest));
    if (key < kMaxKey) items[key] = std::move(data);
  }
  return items;
}

std::vector<LogTombstone> any_tombstones(FuzzInput& input, const LogSample& sample) {
  std::vector<Key> ends;
  for (unsigned left = input.byte() % 4 * 2; left > 0; --left)
    ends.push_back(any_key(input, sample));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<LogTombstone> tombstones;
  for (std::size_t i = 0; i + 1 < ends.size() && ends[i + 1] < kMaxKey; i += 2) {
    tombstones.push_back({ends[i].lo, ends[i].hi, ends[i + 1].lo, ends[i + 1].hi});
  }
  return tombstones;
}

}  // namespace

std::vector<std::byte> craft(FuzzInput& input, const LogSample& sample, LogRecordHeader header) {
  const std::uint8_t flags = input.byte();
  const Items items = any_items(input, sample);
  const std::vector<LogTombstone> tombstones = any_tombstones(input, sample);
  std::vector<std::byte> record(sizeof header + kMaxLogLeafBytes);
  std::uint64_t end = sizeof header;
  LogIndexEntry entry;
  std::uint32_t count = 0;
  if (!items.empty()) {
    Leaf leaf(record.data() + end, kMaxLogLeafBytes - 8);
    leaf.initialize(header.volume_id, 1);
    for (const auto& [key, data] : items) {
      if (item_footprint(static_cast<std::uint32_t>(data.size())) > leaf.contiguous_free_bytes())
        break;
      leaf.insert(leaf.count(), key, data);
    }
    count = leaf.count();
    const Key first = leaf.key(0);
    entry = {first.lo, first.hi, static_cast<std::uint32_t>(end), leaf.shrink_to_content()};
    end += entry.bytes;
  }
  header.flags = flags % 16 == 0 ? kLogBatchContinues : 0;
  header.index_offset = end;
  header.leaf_count = items.empty() ? 0 : 1;
  header.item_count = count;
  header.tombstone_count = static_cast<std::uint32_t>(tombstones.size());
  const std::size_t index_bytes = header.leaf_count * sizeof entry;
  const std::size_t tombstone_bytes = tombstones.size() * sizeof(LogTombstone);
  const std::uint64_t used = end + index_bytes + tombstone_bytes;
  header.record_bytes = round_up<std::uint64_t>(used, sample.layout.block_bytes);
  record.resize(end);
  record.resize(header.record_bytes);
  std::memcpy(record.data(), &header, sizeof header);
  if (index_bytes != 0) std::memcpy(record.data() + end, &entry, index_bytes);
  if (tombstone_bytes != 0) {
    std::memcpy(record.data() + end + index_bytes, tombstones.data(), tombstone_bytes);
  }
  return record;
}

}  // namespace cordwood::test
