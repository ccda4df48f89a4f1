#include "device/cache_model.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/random.hpp"

namespace cordwood {

void CacheModel::apply(const DeviceEvent& event) {
  switch (event.kind) {
    case DeviceEvent::Kind::kWrite:
    case DeviceEvent::Kind::kDiscard:
      pending_.push_back({event, events_, false, 0, false, false});
      ++open_count_;
      break;
    case DeviceEvent::Kind::kComplete: complete(event.batch); break;
    case DeviceEvent::Kind::kFlush: flush(event.called_at); break;
    case DeviceEvent::Kind::kFlushFailed:
      for (Pending& pending : pending_) pending.abandoned = true;
      break;
    case DeviceEvent::Kind::kDamage:
      pending_.push_back({event, events_, true, events_, false, true});
      fold();
      break;
  }
  ++events_;
}

std::vector<CacheModel::OpenWrite> CacheModel::open_writes() const {
  std::vector<OpenWrite> open;
  open.reserve(open_count_);
  for (const Pending& pending : pending_) {
    if (pending.durable) continue;
    const DeviceEvent& event = pending.event;
    open.push_back({pending.index, event.offset, event.bytes, event.bytes / geometry_.sector_bytes,
                    event.kind == DeviceEvent::Kind::kDiscard, pending.completed});
  }
  return open;
}

SparseImage CacheModel::after_power_cut(std::span<const WriteFate> fates) const {
  CW_CHECK(fates.size() == open_count_);
  SparseImage image = base_;
  std::size_t next = 0;
  // In the order of issue, so that of two writes to one place the younger survivor wins.
  for (const Pending& pending : pending_) {
    const WriteFate kept{WriteFate::Kind::kKept, 0};
    put(image, pending, pending.durable ? kept : fates[next++]);
  }
  return image;
}

SparseImage CacheModel::all_applied() const {
  return after_power_cut(std::vector<WriteFate>(open_count_, {WriteFate::Kind::kKept, 0}));
}

template <class Deque, class Act>
void CacheModel::for_batch(Deque& pending, std::uint64_t batch, Act act) {
  CW_CHECK(batch != DeviceEvent::kNeverCompletes);
  // From the youngest back to the batch before, as batches count up.
  for (auto at = pending.rbegin(); at != pending.rend(); ++at) {
    if (at->event.batch == batch) act(*at);
    if (at->event.batch != DeviceEvent::kNeverCompletes && at->event.batch < batch) break;
  }
}

bool CacheModel::durable_when_complete(const DeviceEvent& event) const {
  return !geometry_.volatile_cache || (event.fua && geometry_.fua);
}

bool CacheModel::completes_durably(std::uint64_t batch) const {
  bool durable = false;
  for_batch(pending_, batch, [&](const Pending& pending) {
    durable = durable || durable_when_complete(pending.event);
  });
  return durable;
}

void CacheModel::complete(std::uint64_t batch) {
  for_batch(pending_, batch, [&](Pending& pending) {
    pending.completed = true;
    pending.completed_at = events_;
    if (durable_when_complete(pending.event)) make_durable(pending);
  });
  fold();
}

void CacheModel::flush(std::uint64_t called_at) {
  for (Pending& pending : pending_) {
    const bool covered = pending.completed && pending.completed_at < called_at;
    if (covered && !pending.abandoned) make_durable(pending);
  }
  fold();
}

void CacheModel::make_durable(Pending& pending) {
  if (pending.durable) return;
  pending.durable = true;
  CW_CHECK(open_count_ > 0);
  --open_count_;
}

void CacheModel::fold() {
  while (!pending_.empty() && pending_.front().durable) {
    put(base_, pending_.front(), {WriteFate::Kind::kKept, 0});
    pending_.pop_front();
  }
}

void CacheModel::put(SparseImage& image, const Pending& pending, WriteFate fate) const {
  const DeviceEvent& event = pending.event;
  const std::uint64_t sector = geometry_.sector_bytes;
  const std::uint64_t sectors = event.bytes / sector;
  const auto put_bytes = [&](std::uint64_t from, std::uint64_t bytes) {
    if (event.kind == DeviceEvent::Kind::kDiscard) {
      image.fill(event.offset + from, bytes, event.fill);
    } else {
      image.write(event.offset + from, ConstBytes(*event.data).subspan(from, bytes));
    }
  };
  const auto put_sectors = [&](std::uint64_t first, std::uint64_t end) {
    put_bytes(first * sector, (end - first) * sector);
  };
  const std::uint64_t edge = std::min<std::uint64_t>(fate.detail, sectors);
  switch (fate.kind) {
    case WriteFate::Kind::kLost: break;
    case WriteFate::Kind::kKept: put_bytes(0, event.bytes); break;
    case WriteFate::Kind::kHead: put_sectors(0, edge); break;
    case WriteFate::Kind::kTail: put_sectors(edge, sectors); break;
    case WriteFate::Kind::kGarbage: {
      put_sectors(0, edge);
      if (edge == sectors) break;
      std::vector<std::byte> garbage(sector);
      Random(split_mix(pending.index) ^ edge).fill(garbage);
      image.write(event.offset + edge * sector, garbage);
      break;
    }
    case WriteFate::Kind::kMixed: {
      Random random(fate.detail);
      for (std::uint64_t i = 0; i < sectors; ++i) {
        if (random.one_in(2)) put_sectors(i, i + 1);
      }
      break;
    }
  }
}

}  // namespace cordwood
