#include "device/crash_states.hpp"

#include <utility>

#include "base/check.hpp"
#include "device/crash_choices.hpp"

namespace cordwood {

CrashStates::CrashStates(const Recording& recording, CrashPolicy policy)
    : recording_(recording),
      policy_(std::move(policy)),
      model_(recording.initial, recording.geometry),
      random_(policy_.seed) {}

bool CrashStates::next() {
  if (started_ && at_ < choices_.size()) ++at_;
  while (!started_ || at_ >= choices_.size()) {
    if (!next_cut()) return false;
  }
  return true;
}

const CrashChoice& CrashStates::choice() const {
  CW_CHECK(at_ < choices_.size());
  return choices_[at_];
}

SparseImage CrashStates::build() const { return model_.after_power_cut(choice().fates); }

Result<SparseImage> CrashStates::replay(const Recording& recording, std::string_view id) {
  const CrashChoice choice = TRY(CrashChoice::parse(id));
  if (choice.cut > recording.events.size()) {
    return make_error(Errc::kInvalid, "the crash state is of a longer recording");
  }
  CacheModel model(recording.initial, recording.geometry);
  for (std::uint64_t i = 0; i < choice.cut; ++i) model.apply(recording.events[i]);
  if (choice.fates.size() != model.open_count()) {
    return make_error(Errc::kInvalid, "the crash state is of another recording");
  }
  return model.after_power_cut(choice.fates);
}

/// Applies events up to the next cut that the policy wants, and makes its choices.
bool CrashStates::next_cut() {
  const std::vector<DeviceEvent>& events = recording_.events;
  const bool every_event = policy_.cuts == CrashPolicy::Cuts::kEveryEvent;
  bool only_newest = false;
  if (every_event) {
    if (started_) {
      if (model_.events() == events.size()) return false;
      const DeviceEvent& event = events[model_.events()];
      const bool barrier = is_barrier(event);
      model_.apply(event);
      only_newest = event.changes_bytes();
      // A completion that makes nothing durable changes neither the medium nor a promise.
      if (!only_newest && !barrier) {
        at_ = choices_.size();
        return true;
      }
    }
  } else {
    if (started_ && model_.events() == events.size()) return false;
    // At least one event, or the same barrier would be found again.
    if (started_) model_.apply(events[model_.events()]);
    while (model_.events() < events.size() && !is_barrier(events[model_.events()])) {
      model_.apply(events[model_.events()]);
    }
  }
  started_ = true;
  choices_ = crash_choices(model_, policy_, random_, only_newest);
  at_ = 0;
  return true;
}

/// Whether the next event makes something durable, or says that it will never be.
bool CrashStates::is_barrier(const DeviceEvent& event) const {
  switch (event.kind) {
    case DeviceEvent::Kind::kFlush:
    case DeviceEvent::Kind::kFlushFailed: return true;
    case DeviceEvent::Kind::kComplete: return model_.completes_durably(event.batch);
    default: return false;
  }
}

}  // namespace cordwood
