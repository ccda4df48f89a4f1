#include "volume/check_names.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace cordwood {

namespace {

using Side = SetComparison::Side;

/// Tuples that one detailed pass looks at: bounds its memory, 32 bytes each.
constexpr std::uint64_t kTuplesMax = std::uint64_t{1} << 20;

/// The buckets of a relation that differ, as many as fit.
struct Buckets {
  std::array<bool, SetComparison::kBuckets> wanted{};
  bool any = false;
  bool all = true;  ///< none had to be left out
};

Buckets differing_buckets(const SetComparison& relation, std::uint64_t& room) {
  Buckets buckets;
  for (std::uint64_t bucket = 0; bucket < SetComparison::kBuckets; ++bucket) {
    if (!relation.differs(bucket)) continue;
    if (relation.count(bucket) > room) {
      buckets.all = false;
      continue;
    }
    room -= relation.count(bucket);
    buckets.wanted[bucket] = true;
    buckets.any = true;
  }
  return buckets;
}

/// What one side has and the other has not, and the sides themselves, all sorted.
struct Differences {
  std::vector<Tuple> left;
  std::vector<Tuple> right;
  std::vector<Tuple> only_left;
  std::vector<Tuple> only_right;

  void compare() {
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    std::set_difference(left.begin(), left.end(), right.begin(), right.end(),
                        std::back_inserter(only_left));
    std::set_difference(right.begin(), right.end(), left.begin(), left.end(),
                        std::back_inserter(only_right));
  }
  /// Takes a tuple of only_right that agrees with `tuple` in the first `count` numbers: false when
  /// there is none. @cost a binary search: there may be a million of both.
  bool take_right(const Tuple& tuple, std::size_t count) {
    const auto length = static_cast<std::ptrdiff_t>(count);
    taken_.resize(only_right.size());
    auto at = std::lower_bound(only_right.begin(), only_right.end(), tuple,
                               [&](const Tuple& a, const Tuple& b) {
                                 return std::lexicographical_compare(a.begin(), a.begin() + length,
                                                                     b.begin(), b.begin() + length);
                               });
    for (; at != only_right.end(); ++at) {
      if (!std::equal(tuple.begin(), tuple.begin() + length, at->begin())) return false;
      const auto index = static_cast<std::size_t>(at - only_right.begin());
      if (taken_[index]) continue;
      taken_[index] = true;
      return true;
    }
    return false;
  }
  [[nodiscard]] bool taken(std::size_t index) const {
    return index < taken_.size() && taken_[index];
  }

 private:
  std::vector<bool> taken_;
};

/// Collects the tuples of the buckets that differ.
class Collector final : public TreeVisitor {
 public:
  Collector(const ImageReader& reader, const std::array<Buckets, kRelations>& buckets)
      : feeder_(reader), buckets_(buckets) {}

  bool admit(const NodeRequest& request) override { return !seen_.insert(request.id.value); }
  bool node(const ImageNode& node) override {
    if (!node.is_leaf()) return true;
    const Leaf leaf = node.leaf();
    for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
      feeder_.feed(leaf.key(slot), leaf.item(slot),
                   [this](Relation relation, Side side, std::uint64_t group, const Tuple& tuple) {
                     const auto index = static_cast<std::size_t>(relation);
                     if (!buckets_[index].wanted[SetComparison::bucket_of(group)]) return;
                     Differences& to = differences[index];
                     (side == Side::kLeft ? to.left : to.right).push_back(tuple);
                   });
    }
    return true;
  }

  std::array<Differences, kRelations> differences;

 private:
  RelationFeeder feeder_;
  const std::array<Buckets, kRelations>& buckets_;
  SparseBitmap seen_;
};

void tell_hashes(CheckState& state, Differences& found) {
  const auto seen = [&](const Tuple& tuple) { return !state.unseen.contains(tuple[0]); };
  for (const Tuple& entry : found.only_left) {
    if (!seen(entry)) continue;
    if (found.take_right(entry, 2)) {
      state.find(FindingKind::kNameHashWrong, entry[0], entry[1], "directory ", entry[0],
                 ": the entry at index ", entry[1], " is not listed under its hash ", entry[2],
                 ", but under another");
    } else {
      state.find(FindingKind::kNameHashMissing, entry[0], entry[1], "directory ", entry[0],
                 ": the entry at index ", entry[1], " is not listed under its hash ", entry[2]);
    }
  }
  for (std::size_t i = 0; i < found.only_right.size(); ++i) {
    const Tuple& hash = found.only_right[i];
    if (found.taken(i) || !seen(hash)) continue;
    state.find(FindingKind::kNameHashDangling, hash[0], hash[1], "directory ", hash[0], ": hash ",
               hash[2], " lists index ", hash[1], ", where no such name is");
  }
}

/// An entry whose child does not refer back to it.
void tell_lost_child(CheckState& state, const Tuple& entry) {
  const InodeNumber child{entry[2]};
  const auto item = state.reader.find(make_key(child, ItemType::kInode));
  if (item && !*item) {
    state.find(FindingKind::kNameChildMissing, entry[0], entry[1], "directory ", entry[0],
               ": the entry at index ", entry[1], " leads to inode ", child,
               ", which does not exist");
  } else {
    state.find(FindingKind::kNameRefMissing, child.value, entry[0], "inode ", child,
               " does not know its name at index ", entry[1], " of directory ", entry[0]);
  }
}

void tell_names(CheckState& state, Differences& found) {
  const auto seen = [&](const Tuple& tuple) {
    return !state.unseen.contains(tuple[0]) && !state.unseen.contains(tuple[2]) &&
           tuple[2] != kRootInode.value;
  };
  std::vector<Tuple> unknown;
  for (const Tuple& entry : found.only_left) {
    if (!seen(entry)) continue;
    if (found.take_right(entry, 3)) {
      state.find(FindingKind::kNameTypeWrong, entry[0], entry[1], "directory ", entry[0],
                 ": the entry at index ", entry[1], " says that inode ", entry[2], " has type ",
                 entry[3], ", but it has another");
      continue;
    }
    unknown.push_back(entry);
  }
  // In the order of the children, one leaf answers for many of them.
  std::sort(unknown.begin(), unknown.end(),
            [](const Tuple& a, const Tuple& b) { return a[2] < b[2]; });
  for (const Tuple& entry : unknown) tell_lost_child(state, entry);
  for (std::size_t i = 0; i < found.only_right.size(); ++i) {
    const Tuple& ref = found.only_right[i];
    if (found.taken(i) || !seen(ref)) continue;
    state.find(FindingKind::kNameRefDangling, ref[2], ref[0], "inode ", ref[2],
               " claims the name at index ", ref[1], " of directory ", ref[0],
               ", which is not there or another's");
  }
}

void tell_values(CheckState& state, Differences& found) {
  for (const Tuple& xattr : found.only_left) {
    if (state.unseen.contains(xattr[0])) continue;
    if (std::binary_search(found.right.begin(), found.right.end(), xattr)) {
      state.find(FindingKind::kXattrValueShared, xattr[0], 0, "inode ", xattr[0],
                 " holds the value of two extended attributes");
    } else {
      state.find(FindingKind::kXattrValueMissing, xattr[0], 0,
                 "an extended attribute has its value in inode ", xattr[0],
                 ", which does not hold one");
    }
  }
  // Any item that could not be seen may be the xattr that refers to it.
  if (!state.unseen.empty()) return;
  for (const Tuple& value : found.only_right) {
    state.find(FindingKind::kXattrValueUnused, value[0], 0, "inode ", value[0],
               " holds an extended attribute's value, but none refers to it");
  }
}

}  // namespace

void NameCheck::item(Key key, ConstBytes bytes) {
  feeder_.feed(key, bytes,
               [this](Relation relation, Side side, std::uint64_t group, const Tuple& tuple) {
                 relations_[static_cast<std::size_t>(relation)].add(side, group, tuple);
                 if (relation != Relation::kName || side != Side::kRight) return;
                 if (tuple[3] != static_cast<std::uint64_t>(FileType::kDirectory)) return;
                 parents_.emplace_back(tuple[2], tuple[0]);
               });
}

void NameCheck::finish() {
  name_differences();
  check_reachable();
}

void NameCheck::name_differences() {
  std::array<Buckets, kRelations> buckets;
  std::uint64_t room = kTuplesMax;
  bool any = false;
  bool all = true;
  for (std::size_t i = 0; i < kRelations; ++i) {
    buckets[i] = differing_buckets(relations_[i], room);
    any = any || buckets[i].any;
    all = all && buckets[i].all;
  }
  if (!all) {
    state_.find(FindingKind::kPartsNotCompared, 0, 0,
                "too many names and references differ: some of them are not told");
  }
  if (!any) return;
  Collector collector(state_.reader, buckets);
  state_.reader.walk(collector);
  for (Differences& differences : collector.differences) differences.compare();
  tell_hashes(state_, collector.differences[static_cast<std::size_t>(Relation::kHash)]);
  tell_names(state_, collector.differences[static_cast<std::size_t>(Relation::kName)]);
  tell_values(state_, collector.differences[static_cast<std::size_t>(Relation::kValue)]);
}

/// Follows every directory to the root. A parent that is no directory is told elsewhere: here only
/// circles are of interest.
void NameCheck::check_reachable() {
  enum : std::uint8_t { kUnknown, kOnThisWay, kReachable, kLost };
  std::vector<std::uint8_t> states(parents_.size(), kUnknown);
  std::vector<std::size_t> way;
  for (std::size_t start = 0; start < parents_.size(); ++start) {
    way.clear();
    std::uint8_t verdict = kReachable;
    std::size_t at = start;
    for (;;) {
      if (states[at] != kUnknown) {
        verdict = states[at] == kOnThisWay ? std::uint8_t{kLost} : states[at];
        break;
      }
      states[at] = kOnThisWay;
      way.push_back(at);
      const std::uint64_t parent = parents_[at].second;
      const auto found = std::lower_bound(parents_.begin(), parents_.end(),
                                          std::pair<std::uint64_t, std::uint64_t>{parent, 0});
      const bool known = found != parents_.end() && found->first == parent;
      if (parent == kRootInode.value || !known) break;
      at = static_cast<std::size_t>(found - parents_.begin());
    }
    for (const std::size_t passed : way) {
      states[passed] = verdict;
      if (verdict != kLost) continue;
      state_.find(FindingKind::kDirectoryUnreachable, parents_[passed].first,
                  parents_[passed].second, "directory ", parents_[passed].first, " lies in ",
                  parents_[passed].second, ", and no path leads there from the root");
    }
  }
}

}  // namespace cordwood
