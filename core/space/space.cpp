#include "space/space.hpp"

#include <algorithm>
#include <utility>

#include "space/space_state.hpp"

namespace cordwood {

namespace {

/// Data begins an eighth into the volume, and in another group than the metadata if there is one.
BlockNumber data_place(const Layout& layout) {
  const std::uint64_t place = layout.first_free.value + (layout.tail - layout.first_free) / 8;
  const std::uint64_t next_group = round_up<std::uint64_t>(place, kGroupBlocks);
  return {next_group < layout.tail.value ? next_group : place};
}

}  // namespace

Space::State::State(BlockDevice& device_used, const Layout& layout_used, std::uint64_t volume_seed,
                    GroupTable table, Counters& counters_used, Tracer tracer_used)
    : device(device_used),
      layout(layout_used),
      counters(counters_used),
      tracer(tracer_used),
      groups(device, layout, volume_seed, std::move(table), counters),
      search(groups) {
  stream_places[static_cast<std::size_t>(AllocationStream::kMetadata)] = layout.first_free.value;
  stream_places[static_cast<std::size_t>(AllocationStream::kData)] = data_place(layout).value;
  const auto blocks = static_cast<std::int64_t>(groups.table().free_blocks());
  free = blocks;
  available = blocks;
}

Space::Space(std::unique_ptr<State> state) : state_(std::move(state)) {}
Space::~Space() = default;

Result<std::unique_ptr<Space>> Space::open(BlockDevice& device, const Layout& layout,
                                           std::uint64_t volume_seed, GroupPageRef root,
                                           Counters& counters, Tracer tracer) {
  if (layout.device_blocks * layout.block_bytes > device.geometry().bytes) {
    return corrupt(Place::kByte, device.geometry().bytes, "the device ends before the volume does");
  }
  PageBatch batch(device, &counters);
  GroupTable table = TRY(GroupTable::read(batch, layout, volume_seed, root));
  return std::unique_ptr<Space>(new Space(
      std::make_unique<State>(device, layout, volume_seed, std::move(table), counters, tracer)));
}

Result<GroupPageRef> Space::format(BlockDevice& device, const Layout& layout,
                                   std::uint64_t volume_seed) {
  GroupTable table(layout, volume_seed);
  PageBatch batch(device, nullptr);
  TRY(table.write_all(batch));
  return table.root();
}

// ---- counts and promises

std::uint64_t Space::free_blocks() const { return static_cast<std::uint64_t>(state_->free.load()); }

std::uint64_t Space::available_blocks() const {
  const std::int64_t blocks = state_->available.load() - state_->emergency_blocks.load();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(blocks, 0));
}

std::uint64_t Space::pending_free_blocks() const { return state_->pending.load(); }

std::uint64_t Space::reserved_blocks() const {
  // Read in this order, so that a reservation that is used up between the two shows as still held.
  const std::int64_t free = state_->free.load();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(free - state_->available.load(), 0));
}

void Space::set_emergency_blocks(std::uint64_t blocks) {
  state_->emergency_blocks = static_cast<std::int64_t>(blocks);
}

std::uint64_t Space::emergency_blocks() const {
  return static_cast<std::uint64_t>(state_->emergency_blocks.load());
}

bool Space::State::take_available(std::uint64_t blocks, ReserveClass reserve_class) {
  if (blocks > kMaxDeviceBlocks) return false;
  const auto wanted = static_cast<std::int64_t>(blocks);
  if (reserve_class == ReserveClass::kReplay) {
    available.fetch_sub(wanted, std::memory_order_acq_rel);
    return true;
  }
  const std::int64_t left_alone =
      reserve_class == ReserveClass::kNormal ? emergency_blocks.load(std::memory_order_relaxed) : 0;
  std::int64_t now = available.load(std::memory_order_relaxed);
  do {
    if (now - wanted < left_alone) return false;
  } while (!available.compare_exchange_weak(now, now - wanted, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
  return true;
}

bool Space::try_reserve(std::uint64_t blocks, ReserveClass reserve_class) {
  return state_->take_available(blocks, reserve_class);
}

void Space::unreserve(std::uint64_t blocks) { state_->add_available(blocks); }

// ---- inspection

std::vector<Space::GroupInfo> Space::groups() const {
  const GroupSet& groups = state_->groups;
  std::vector<GroupInfo> infos;
  infos.reserve(static_cast<std::size_t>(groups.count()));
  for (std::uint64_t index = 0; index < groups.count(); ++index) {
    GroupInfo info;
    info.group = index;
    info.blocks = group_window(state_->layout, index).blocks;
    if (Group* const group = groups.loaded(index)) {
      const std::lock_guard lock(group->mutex());
      info.free_blocks = group->free_blocks();
      info.longest_free_run = longest_clear_run(group->busy()).count;
      info.pending_free = group->pending_blocks();
      info.loaded = true;
    } else {
      const GroupDescriptor& descriptor = groups.table().descriptor(index);
      info.free_blocks = descriptor.free_blocks;
      info.longest_free_run = descriptor.longest_free_run;
    }
    infos.push_back(info);
  }
  return infos;
}

Result<std::vector<std::uint64_t>> Space::bitmap(std::uint64_t group) {
  if (group >= state_->groups.count()) {
    return make_error(Errc::kInvalid, Place::kGroup, group, "no such allocation group");
  }
  Group& loaded = *TRY(state_->groups.load(group));
  const std::lock_guard lock(loaded.mutex());
  return std::vector<std::uint64_t>(loaded.busy().begin(), loaded.busy().end());
}

}  // namespace cordwood
