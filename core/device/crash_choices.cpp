#include "device/crash_choices.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.hpp"

namespace cordwood {

namespace {

using Kind = WriteFate::Kind;
using Fates = std::vector<WriteFate>;
using OpenWrites = std::vector<CacheModel::OpenWrite>;

constexpr WriteFate kKept{Kind::kKept, 0};

class Chooser {
 public:
  Chooser(const CacheModel& model, const CrashPolicy& policy, Random& random, bool only_newest)
      : cut_(model.events()),
        open_(model.open_writes()),
        policy_(policy),
        random_(random),
        only_newest_(only_newest && !open_.empty()) {}

  std::vector<CrashChoice> run() {
    CW_CHECK(policy_.all_subsets_up_to <= 20);
    if (open_.size() <= policy_.all_subsets_up_to) {
      add_all_subsets();
    } else {
      add_families();
    }
    if (policy_.torn_states_max > 0) add_torn();
    return std::move(choices_);
  }

 private:
  [[nodiscard]] std::size_t count() const { return open_.size(); }

  /// Writes first .. end - 1 kept, the others lost.
  [[nodiscard]] Fates range_kept(std::size_t first, std::size_t end) const {
    Fates fates(count());
    for (std::size_t i = first; i < end; ++i) fates[i] = kKept;
    return fates;
  }

  void add(Fates fates) {
    if (only_newest_ && fates.back().kind == Kind::kLost) return;
    CrashChoice choice{cut_, std::move(fates)};
    if (seen_.insert(choice.id()).second) choices_.push_back(std::move(choice));
  }

  void add_all_subsets() {
    for (std::uint32_t subset = 0; subset < (1u << count()); ++subset) {
      Fates fates(count());
      for (std::size_t i = 0; i < count(); ++i) {
        if ((subset >> i) & 1) fates[i] = kKept;
      }
      add(std::move(fates));
    }
  }

  /// Calls act(i) for i in 0 .. size - 1, or for an even spread of them if there are too many.
  template <class Act>
  void for_spread(std::size_t size, Act act) {
    const std::size_t steps = std::min<std::size_t>(size, std::max(policy_.family_max, 1u));
    for (std::size_t step = 0; step < steps; ++step) act(step * size / steps);
  }

  void add_families() {
    add(range_kept(0, 0));
    add(range_kept(0, count()));
    for_spread(count(), [&](std::size_t i) { add(range_kept(0, i)); });
    for_spread(count(), [&](std::size_t i) { add(range_kept(i, count())); });
    for_spread(count(), [&](std::size_t i) {
      Fates fates = range_kept(0, count());
      fates[i] = {};
      add(std::move(fates));
    });
    for_spread(count(), [&](std::size_t i) { add(range_kept(i, i + 1)); });
    if (policy_.is_metadata) {
      add_class(true);
      add_class(false);
    }
    for (unsigned i = 0; i < policy_.random_subsets; ++i) {
      add(random_fates(open_, random_, policy_.torn_states_max > 0 ? 8 : 0));
    }
  }

  void add_class(bool metadata) {
    Fates fates(count());
    for (std::size_t i = 0; i < count(); ++i) {
      if (policy_.is_metadata(open_[i]) == metadata) fates[i] = kKept;
    }
    add(std::move(fates));
  }

  /// One write torn in each way at one edge, among three kinds of company.
  void add_torn_at(std::size_t write, std::uint32_t edge) {
    const bool whole_sectors = edge > 0;
    for (const Kind kind : {Kind::kHead, Kind::kTail, Kind::kGarbage}) {
      if (kind == Kind::kGarbage ? !policy_.garbage : !whole_sectors) continue;
      for (Fates fates : {range_kept(0, write), range_kept(0, count()), range_kept(0, 0)}) {
        fates[write] = {kind, edge};
        add(std::move(fates));
      }
    }
  }

  void add_torn() {
    // An edge at 0 is the start of the first sector: only garbage can be there.
    const std::uint64_t first_edge = policy_.garbage ? 0 : 1;
    std::vector<std::pair<std::size_t, std::uint64_t>> tearable;  // write, edges before its first
    std::uint64_t edges = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      if (open_[i].discard || open_[i].sectors <= first_edge) continue;
      tearable.emplace_back(i, edges);
      edges += open_[i].sectors - first_edge;
    }
    const auto add_edge = [&](std::uint64_t number) {
      auto at =
          std::upper_bound(tearable.begin(), tearable.end(), number,
                           [](std::uint64_t n, const auto& entry) { return n < entry.second; });
      --at;
      add_torn_at(at->first, static_cast<std::uint32_t>(number - at->second + first_edge));
    };
    const std::size_t states_an_edge = policy_.garbage ? 9 : 6;
    const std::size_t end = choices_.size() + policy_.torn_states_max;
    if (edges * states_an_edge <= policy_.torn_states_max) {
      for (std::uint64_t edge = 0; edge < edges; ++edge) add_edge(edge);
      return;
    }
    for (unsigned tries = 0; tries < policy_.torn_states_max && choices_.size() < end; ++tries) {
      add_edge(random_.below(edges));
    }
    if (choices_.size() > end) choices_.resize(end);
  }

  std::uint64_t cut_;
  OpenWrites open_;
  const CrashPolicy& policy_;
  Random& random_;
  bool only_newest_;
  std::unordered_set<std::string> seen_;
  std::vector<CrashChoice> choices_;
};

WriteFate random_tear(const CacheModel::OpenWrite& write, Random& random) {
  constexpr Kind kKinds[] = {Kind::kHead, Kind::kTail, Kind::kMixed};
  const Kind kind = kKinds[random.below(3)];
  const std::uint64_t detail =
      kind == Kind::kMixed ? random.below(1u << 16) : random.between(1, write.sectors - 1);
  return {kind, static_cast<std::uint32_t>(detail)};
}

}  // namespace

std::vector<CrashChoice> crash_choices(const CacheModel& model, const CrashPolicy& policy,
                                       Random& random, bool only_newest) {
  return Chooser(model, policy, random, only_newest).run();
}

std::vector<WriteFate> random_fates(const std::vector<CacheModel::OpenWrite>& open, Random& random,
                                    unsigned torn_one_in) {
  Fates fates;
  fates.reserve(open.size());
  for (const CacheModel::OpenWrite& write : open) {
    const bool tearable = torn_one_in > 0 && write.sectors > 1 && !write.discard;
    if (tearable && random.one_in(torn_one_in)) {
      fates.push_back(random_tear(write, random));
    } else {
      fates.push_back(random.one_in(2) ? kKept : WriteFate{});
    }
  }
  return fates;
}

}  // namespace cordwood
