// Free space: what the bitmaps say against what is owned, and the counts of the group table.

#include <algorithm>

#include "volume/check_state.hpp"
#include "volume/image_groups.hpp"

namespace cordwood {

namespace {

/// Calls visit(first bit, bits) for each run of set bits.
template <class Visit>
void for_each_run(const GroupBitmap& bitmap, Visit&& visit) {
  std::uint64_t first = 0;
  std::uint64_t bits = 0;
  for (std::uint64_t word = 0; word < bitmap.size(); ++word) {
    if (bitmap[word] == 0 && bits == 0) continue;
    for (std::uint64_t bit = 0; bit < 64; ++bit) {
      if ((bitmap[word] >> bit & 1) != 0) {
        if (bits == 0) first = word * 64 + bit;
        ++bits;
      } else if (bits != 0) {
        visit(first, bits);
        bits = 0;
      }
    }
  }
  if (bits != 0) visit(first, bits);
}

class SpaceCheck {
 public:
  explicit SpaceCheck(CheckState& state) : state_(state), groups_(state.reader) {}

  void run() {
    groups_.walk(
        [this](std::uint64_t group, const GroupDescriptor& descriptor) {
          check_group(group, descriptor);
          return state_.advance("space", group + 1, state_.reader.layout().group_count);
        },
        [this](const LostGroupPage& lost) {
          complete_ = false;
          state_.find(FindingKind::kGroupPageUnreadable, lost.first_group, lost.group_count,
                      "page ", lost.page, " of the group table, for ", lost.group_count,
                      " groups: ", lost.error.message());
          return true;
        });
    const std::uint64_t stated = state_.reader.superblock().free_blocks;
    if (complete_ && !state_.report.cancelled && stated != free_blocks_) {
      state_.find(FindingKind::kSuperblockFreeBlocks, 0, 0, "the superblock counts ", stated,
                  " free blocks, the bitmaps have ", free_blocks_);
    }
  }

 private:
  void check_group(std::uint64_t group, const GroupDescriptor& descriptor) {
    if (const auto valid = validate(descriptor, group);
        !valid || descriptor.generation > state_.reader.superblock().generation) {
      complete_ = false;
      state_.find(FindingKind::kGroupDescriptorBad, group, descriptor.generation, "group ", group,
                  ": ", valid ? "newer than the superblock" : valid.error().what);
      return;
    }
    const auto bitmap = groups_.bitmap(group, descriptor);
    if (!bitmap) {
      complete_ = false;
      state_.find(FindingKind::kBitmapUnreadable, group, descriptor.slot, "group ", group, ": ",
                  bitmap.error().message());
      return;
    }
    compare(group, *bitmap);
    check_counts(group, descriptor, *bitmap);
  }

  void compare(std::uint64_t group, const GroupBitmap& bitmap) {
    const GroupBitmap fixed = groups_.initial_bitmap(group);
    const SparseBitmap::Chunk* owned = state_.claims.owned().find_chunk(group);
    GroupBitmap fixed_free;
    GroupBitmap not_marked;
    GroupBitmap leaked;
    for (std::size_t word = 0; word < bitmap.size(); ++word) {
      const std::uint64_t owned_word = owned == nullptr ? 0 : (*owned)[word];
      fixed_free[word] = fixed[word] & ~bitmap[word];
      not_marked[word] = owned_word & ~bitmap[word];
      leaked[word] = bitmap[word] & ~(owned_word | fixed[word]);
    }
    tell(FindingKind::kFixedBlockFree, group, fixed_free, " of a fixed structure are marked free");
    tell(FindingKind::kBlockNotMarked, group, not_marked, " are in use, but marked free");
    // An owner that could not be read would own some of these.
    if (state_.claims_complete) {
      tell(FindingKind::kBlockLeaked, group, leaked, " are marked used, but belong to nobody");
    }
  }

  void tell(FindingKind kind, std::uint64_t group, const GroupBitmap& bits, const char* what) {
    for_each_run(bits, [&](std::uint64_t first, std::uint64_t count) {
      const std::uint64_t block = group * kGroupBlocks + first;
      state_.find(kind, block, count, "blocks ", block, " to ", block + count - 1, what);
    });
  }

  void check_counts(std::uint64_t group, const GroupDescriptor& descriptor,
                    const GroupBitmap& bitmap) {
    GroupBitmap free;
    for (std::size_t word = 0; word < bitmap.size(); ++word) free[word] = ~bitmap[word];
    std::uint64_t count = 0;
    std::uint64_t longest = 0;
    for_each_run(free, [&](std::uint64_t, std::uint64_t bits) {
      count += bits;
      longest = std::max(longest, bits);
    });
    free_blocks_ += count;
    if (count != descriptor.free_blocks) {
      state_.find(FindingKind::kGroupFreeCount, group, descriptor.free_blocks, "group ", group,
                  " counts ", std::uint64_t{descriptor.free_blocks},
                  " free blocks, its bitmap has ", count);
    }
    if (longest != descriptor.longest_free_run) {
      state_.find(FindingKind::kGroupLongestRun, group, descriptor.longest_free_run, "group ",
                  group, " says that its longest free run has ",
                  std::uint64_t{descriptor.longest_free_run}, " blocks, it has ", longest);
    }
  }

  CheckState& state_;
  ImageGroups groups_;
  std::uint64_t free_blocks_ = 0;
  bool complete_ = true;
};

/// Puts names to both sides of a conflict: only the late comer is known, so everything that owns
/// blocks is gone through once more.
void tell_contested(CheckState& state) {
  const std::vector<ContestedRun>& contested = state.claims.contested();
  if (contested.empty()) return;
  std::vector<std::string> others(contested.size());
  for_each_owner(state.reader, [&](BlockRun run, const BlockOwner& owner) {
    for (std::size_t i = 0; i < contested.size(); ++i) {
      const ContestedRun& conflict = contested[i];
      const bool overlaps = run.first < conflict.run.end() && conflict.run.first < run.end();
      if (!overlaps || !others[i].empty()) continue;
      if (owner.text() != conflict.owner.text()) others[i] = owner.text();
    }
    return true;
  });
  for (std::size_t i = 0; i < contested.size(); ++i) {
    const ContestedRun& conflict = contested[i];
    state.find(FindingKind::kBlockDoubleOwned, conflict.run.first.value, conflict.run.count,
               "blocks ", conflict.run.first, " to ", conflict.run.end().value - 1, " belong to ",
               conflict.owner.text(), " and to ",
               others[i].empty() ? std::string("the same once more") : others[i]);
  }
  for (std::uint64_t i = contested.size(); i < state.claims.contested_count(); ++i) {
    state.report.findings.add(FindingKind::kBlockDoubleOwned, 0, 0, "more such blocks");
  }
}

}  // namespace

void check_space(CheckState& state) {
  state.report.statistics.owned_blocks = state.claims.count();
  tell_contested(state);
  SpaceCheck(state).run();
}

}  // namespace cordwood
