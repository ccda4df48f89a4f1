#include "space/group_set.hpp"

#include <cstring>
#include <utility>

#include "base/checksum.hpp"
#include "format/seed.hpp"

namespace cordwood {

GroupSet::GroupSet(BlockDevice& device, const Layout& layout, std::uint64_t volume_seed,
                   GroupTable table, Counters& counters)
    : device_(device),
      layout_(layout),
      volume_seed_(volume_seed),
      counters_(counters),
      table_(std::move(table)),
      slots_(static_cast<std::size_t>(layout.group_count)),
      longest_bounds_(static_cast<std::size_t>(layout.group_count)) {
  for (std::uint64_t group = 0; group < count(); ++group) {
    set_longest_free_run_bound(group, table_.descriptor(group).longest_free_run);
  }
}

std::uint64_t GroupSet::bitmap_checksum(ConstBytes page, std::uint64_t place) const {
  return checksum(page, checksum_seed(volume_seed_, Structure::kBitmap, place));
}

Result<Group*> GroupSet::load(std::uint64_t group) {
  if (Group* const already = loaded(group)) return already;
  const std::lock_guard lock(load_mutexes_[group % load_mutexes_.size()]);
  if (Group* const meanwhile = loaded(group)) return meanwhile;
  const GroupWindow window = group_window(layout_, group);
  const BitmapWords words = TRY(read_bitmap(group, window));
  Slot& entry = slot(group);
  entry.owner = std::make_unique<Group>(window, words);
  entry.group.store(entry.owner.get(), std::memory_order_release);
  return entry.owner.get();
}

Result<BitmapWords> GroupSet::read_bitmap(std::uint64_t group, const GroupWindow& window) {
  const GroupDescriptor& descriptor = table_.descriptor(group);
  if (descriptor.written == 0) return initial_bitmap(window);

  const std::uint64_t place = layout_.bitmap_byte(group, descriptor.slot);
  PageBatch batch(device_, &counters_);
  TRY(batch.read({&place, 1}));
  if (bitmap_checksum(batch.page(0), place) != descriptor.bitmap_checksum) {
    return corrupt(Place::kGroup, group, "allocation bitmap checksum mismatch");
  }
  BitmapWords words;
  std::memcpy(words.data(), batch.page(0).data(), sizeof words);
  if (!fixed_blocks_set(words, window)) {
    return corrupt(Place::kGroup, group, "allocation bitmap shows fixed blocks as free");
  }
  if (count_clear(words) != descriptor.free_blocks ||
      longest_clear_run(words).count != descriptor.longest_free_run) {
    return corrupt(Place::kGroup, group, "allocation bitmap and descriptor disagree");
  }
  return words;
}

}  // namespace cordwood
