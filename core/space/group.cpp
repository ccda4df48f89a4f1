#include "space/group.hpp"

#include "base/check.hpp"

namespace cordwood {

void SparseBits::set(BitRun run) {
  if (page_ == nullptr) page_ = std::make_unique<BitmapWords>();
  set_bits(*page_, run);
  count_ += run.count;
}

void SparseBits::clear(BitRun run) {
  clear_bits(*page_, run);
  count_ -= run.count;
}

const BitmapWords& SparseBits::words() const {
  static constexpr BitmapWords kNone{};
  return page_ == nullptr ? kNone : *page_;
}

Group::Group(const GroupWindow& window, const BitmapWords& busy)
    : window_(window), busy_(busy), free_blocks_(count_clear(busy)) {}

std::uint32_t Group::pending_blocks() const { return pending_[0].count() + pending_[1].count(); }

void Group::place(BitRun run) {
  CW_DCHECK(all_clear(busy_, run));
  set_bits(busy_, run);
  in_flight_.set(run);
  free_blocks_ -= run.count;
}

void Group::commit(BitRun run, Parity parity, bool late) {
  CW_CHECK(in_flight(run));
  in_flight_.clear(run);
  if (late) late_.set(run);
  dirty_[index(parity)] = true;
}

void Group::cancel(BitRun run) {
  CW_CHECK(in_flight(run));
  in_flight_.clear(run);
  clear_bits(busy_, run);
  free_blocks_ += run.count;
}

bool Group::may_drop(BitRun run, bool frozen) const {
  return all_set(busy_, run) && all_clear(in_flight_.words(), run) &&
         all_clear(pending_[0].words(), run) && all_clear(pending_[1].words(), run) &&
         !(frozen && !all_clear(late_.words(), run));
}

void Group::drop(BitRun run, Parity parity) {
  pending_[index(parity)].set(run);
  dirty_[index(parity)] = true;
}

BitmapWords Group::frozen_image(Parity frozen) const {
  const BitmapWords& in_flight = in_flight_.words();
  const BitmapWords& late = late_.words();
  const BitmapWords& dropped = pending(frozen).words();
  BitmapWords image;
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = busy_[i] & ~(in_flight[i] | late[i] | dropped[i]);
  }
  return image;
}

std::uint32_t Group::release(Parity frozen) {
  SparseBits& dropped = pending_[index(frozen)];
  const std::uint32_t released = dropped.count();
  if (released != 0) {
    const BitmapWords& words = dropped.words();
    for (std::size_t i = 0; i < busy_.size(); ++i) busy_[i] &= ~words[i];
    free_blocks_ += released;
  }
  dropped.reset();
  late_.reset();
  in_flight_.trim();
  dirty_[index(frozen)] = false;
  return released;
}

}  // namespace cordwood
