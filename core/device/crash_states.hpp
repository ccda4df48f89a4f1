#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "device/cache_model.hpp"
#include "device/device_event.hpp"
#include "device/write_fate.hpp"

namespace cordwood {

/// Which states to build at a cut with n open writes.
struct CrashPolicy {
  enum class Cuts : std::uint8_t {
    /// Just before each event that makes something durable, and at the end. Covers every state of
    /// the medium, because a cut further back is the same as losing the writes after it.
    kBarriers,
    /// After every event: the same states, each at the earliest cut where it may occur, so that it
    /// is compared with the least that was promised and the least that was asked for.
    kEveryEvent,
  };
  Cuts cuts = Cuts::kBarriers;

  /// All 2^n subsets when n is at most this; at most 20.
  unsigned all_subsets_up_to = 10;
  /// Beyond it: none, all, each prefix, each suffix, each one missing, each one alone, and this
  /// many subsets at random.
  unsigned random_subsets = 200;
  /// For each of the families above that has n members, at most this many, spread evenly.
  unsigned family_max = 1000;
  /// Says which writes are metadata; then only those, and only the others, are subsets as well.
  std::function<bool(const CacheModel::OpenWrite&)> is_metadata;

  /// Tears one write a state: at its sector edges, its head or its tail being new; with all, none
  /// or the earlier ones of the other writes there. At most this many such states a cut; more are
  /// sampled at random. 0 turns tearing off.
  unsigned torn_states_max = 64;
  /// Torn states also leave a sector that is neither old nor new.
  bool garbage = false;

  std::uint64_t seed = 1;
};

/// Goes through the states that a power cut may leave, for all cuts of a recording.
///
///     CrashStates states(recording, policy);
///     while (states.next()) {
///       INFO(states.id());
///       MemoryDevice device(states.build());
///       ...
///     }
///
/// No state of one cut comes twice. @threads one at a time; different objects may share a
/// recording.
class CrashStates {
 public:
  /// @param recording  outlives this object and does not change.
  CrashStates(const Recording& recording, CrashPolicy policy);

  /// Moves to the first or next state. False at the end.
  bool next();
  /// Leaves out what is left of the current cut.
  void skip_cut() { at_ = choices_.size(); }

  [[nodiscard]] const CrashChoice& choice() const;
  /// @see CrashChoice::id
  [[nodiscard]] std::string id() const { return choice().id(); }
  [[nodiscard]] SparseImage build() const;
  /// The model at the current cut, for questions about what is open there.
  [[nodiscard]] const CacheModel& model() const { return model_; }

  /// Builds a state from its id.
  /// @errors kInvalid if the id does not fit the recording.
  [[nodiscard]] static Result<SparseImage> replay(const Recording& recording, std::string_view id);

 private:
  bool next_cut();
  [[nodiscard]] bool is_barrier(const DeviceEvent& event) const;

  const Recording& recording_;
  CrashPolicy policy_;
  CacheModel model_;
  Random random_;
  std::vector<CrashChoice> choices_;
  std::size_t at_ = 0;
  bool started_ = false;
};

/// Fates at random: each write lost or kept, now and then torn. For fuzzing and for the explorer.
/// @param torn_one_in  how rarely a write of several sectors is torn; 0 for never.
[[nodiscard]] std::vector<WriteFate> random_fates(const std::vector<CacheModel::OpenWrite>& open,
                                                  Random& random, unsigned torn_one_in);

}  // namespace cordwood
