// Random operations against SpaceModel, with checkpoints and reopening at any moment.

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "base/random.hpp"
#include "unit/space/space_model.hpp"
#include "unit/space/space_rig.hpp"

using namespace cordwood;

namespace {

class Player {
 public:
  Player(std::uint64_t bytes, std::uint32_t block_bytes, std::uint64_t seed)
      : rig_(bytes, block_bytes), model_(rig_.layout), random_(seed), durable_(model_.used()) {}

  void play(int steps) {
    for (int step = 0; step < steps; ++step) {
      INFO("step " << step);
      // Phases of filling and of emptying, so that both a full and a free volume are met.
      fill_ = step / 500 % 3 != 2;
      one_step();
      compare_counts();
      if (step % 256 == 255) compare_bitmaps();
    }
  }

 private:
  enum class Phase { kOpen, kFrozen, kWritten };

  void one_step() {
    const std::uint64_t dice = random_.below(100);
    if (dice < (fill_ ? 35 : 10)) return allocate();
    if (dice < 55) return settle();
    if (dice < 80) return drop();
    if (dice < 83) return drop_wrongly();
    if (dice < 86) return claim();
    if (dice < 89) return promise();
    if (dice < 99)
      return phase_ == Phase::kOpen && random_.below(3) != 0 ? allocate() : checkpoint();
    if (random_.one_in(4)) reopen();
  }

  std::uint64_t random_block() {
    return random_.between(rig_.layout.first_free.value, rig_.layout.tail.value - 1);
  }
  std::uint64_t random_length() {
    switch (random_.below(8)) {
      case 0: return 1;
      case 1: return random_.between(1, 40'000);
      case 2: return random_.between(1, 3000);
      default: return random_.between(1, 100);
    }
  }

  void allocate() {
    const std::uint64_t want = random_length();
    const std::uint64_t at_least = random_.one_in(2) ? want : random_.between(1, want);
    const auto stream = random_.one_in(2) ? AllocationStream::kData : AllocationStream::kMetadata;
    const BlockNumber goal{random_.one_in(4) ? random_block() : 0};
    if (!rig_.space->try_reserve(want, ReserveClass::kNormal)) {
      REQUIRE(model_.free_count() < want + promised_);
      return;
    }
    const std::vector<std::uint64_t> longest = model_.longest_free_runs();
    const std::uint64_t best = *std::max_element(longest.begin(), longest.end());
    const Result<BlockRun> run = rig_.space->allocate(want, at_least, stream, goal);
    if (best < at_least) {
      REQUIRE(!run);
      REQUIRE(run.error().code == Errc::kNoSpace);
      rig_.space->unreserve(want);
      return;
    }
    REQUIRE(run);
    REQUIRE(run->count == std::min(want, best));
    REQUIRE(model_.all(*run, [&](std::uint64_t block) { return model_.is_free(block); }));
    rig_.space->unreserve(want - run->count);
    model_.place(*run);
    in_flight_.push_back(*run);
  }

  /// Commits or gives back a part of an in-flight run.
  void settle() {
    if (in_flight_.empty()) return;
    const std::size_t index = static_cast<std::size_t>(random_.below(in_flight_.size()));
    BlockRun& whole = in_flight_[index];
    const BlockRun run{whole.first,
                       random_.one_in(3) ? random_.between(1, whole.count) : whole.count};
    switch (random_.below(6)) {
      case 0:
        rig_.space->cancel(run);
        model_.cancel(run);
        break;
      case 1:
        rig_.space->put_back(run);
        model_.cancel(run);
        promised_ += run.count;
        break;
      case 2:
        if (phase_ == Phase::kFrozen) {
          rig_.space->commit_frozen(run);
          model_.commit(run, true);
          break;
        }
        [[fallthrough]];
      default: rig_.space->commit(run); model_.commit(run, false);
    }
    whole = {run.end(), whole.count - run.count};
    if (whole.count == 0) {
      whole = in_flight_.back();
      in_flight_.pop_back();
    }
  }

  void drop() {
    const bool frozen = phase_ == Phase::kFrozen && random_.one_in(2);
    const auto may_drop = [&](std::uint64_t block) {
      return frozen ? model_.in_frozen(block) : model_.is_used(block);
    };
    BlockRun run{{random_block()}, 0};
    const std::uint64_t length = random_length();
    while (run.count < length && may_drop(run.end().value)) ++run.count;
    if (run.count == 0) return;
    REQUIRE((frozen ? rig_.space->free_frozen(run) : rig_.space->free(run)));
    model_.drop(run, frozen);
  }

  void drop_wrongly() {
    const BlockRun run{{random_block()}, random_.between(1, 50)};
    const bool frozen = phase_ == Phase::kFrozen && random_.one_in(2);
    if (model_.all(run, [&](std::uint64_t block) {
          return frozen ? model_.in_frozen(block) : model_.is_used(block);
        })) {
      return;
    }
    const Result<void> result = frozen ? rig_.space->free_frozen(run) : rig_.space->free(run);
    REQUIRE(!result);
    REQUIRE(result.error().code == Errc::kCorrupt);
  }

  void claim() {
    const BlockRun run{{random_block()}, random_.between(1, 20)};
    const bool free = model_.all(run, [&](std::uint64_t block) { return model_.is_free(block); });
    const Result<void> result = rig_.space->claim(run);
    if (free && model_.free_count() >= promised_ + run.count) {
      REQUIRE(result);
      model_.claim(run);
    } else {
      REQUIRE(!result);
      REQUIRE(result.error().code == (free ? Errc::kNoSpace : result.error().code));
    }
  }

  void promise() {
    if (promised_ != 0 && random_.below(4) != 0) {
      const std::uint64_t blocks = random_.between(1, promised_);
      rig_.space->unreserve(blocks);
      promised_ -= blocks;
      return;
    }
    const std::uint64_t blocks = random_.between(1, 200);
    const bool enough = model_.free_count() >= promised_ + blocks;
    REQUIRE(rig_.space->try_reserve(blocks, ReserveClass::kNormal) == enough);
    if (enough) promised_ += blocks;
  }

  void checkpoint() {
    switch (phase_) {
      case Phase::kOpen:
        rig_.space->freeze();
        model_.freeze();
        phase_ = Phase::kFrozen;
        break;
      case Phase::kFrozen:
        durable_root_ = rig_.root;
        rig_.write_out();
        REQUIRE(rig_.space->frozen_free_blocks() == model_.free_count_in(model_.frozen_used()));
        phase_ = Phase::kWritten;
        break;
      case Phase::kWritten:
        rig_.space->release_frozen();
        durable_ = model_.frozen_used();
        model_.release();
        phase_ = Phase::kOpen;
        break;
    }
  }

  /// As after a crash: the superblock of a checkpoint that was written out may or may not be there.
  void reopen() {
    if (phase_ == Phase::kWritten) {
      if (random_.one_in(2)) {
        durable_ = model_.frozen_used();
      } else {
        rig_.root = durable_root_;
      }
    }
    rig_.reopen();
    model_.reopen(durable_);
    in_flight_.clear();
    promised_ = 0;
    phase_ = Phase::kOpen;
    compare_bitmaps();
  }

  void compare_counts() {
    const std::uint64_t free = model_.free_count();
    REQUIRE(rig_.space->free_blocks() == free);
    REQUIRE(rig_.space->reserved_blocks() == promised_);
    REQUIRE(rig_.space->available_blocks() == free - promised_);
    REQUIRE(rig_.space->pending_free_blocks() == model_.pending_count());
  }

  void compare_bitmaps() {
    REQUIRE(all_bitmaps(*rig_.space, rig_.layout) == model_.bitmaps());
    const std::vector<std::uint64_t> longest = model_.longest_free_runs();
    std::uint64_t free = 0;
    std::uint64_t pending = 0;
    for (const Space::GroupInfo& group : rig_.space->groups()) {
      REQUIRE(group.longest_free_run == longest[group.group]);
      free += group.free_blocks;
      pending += group.pending_free;
    }
    REQUIRE(free == model_.free_count());
    REQUIRE(pending == model_.pending_count());
  }

  SpaceRig rig_;
  SpaceModel model_;
  Random random_;
  SpaceModel::Blocks durable_;  ///< what the last durable checkpoint refers to
  GroupPageRef durable_root_;
  std::vector<BlockRun> in_flight_;
  std::uint64_t promised_ = 0;
  Phase phase_ = Phase::kOpen;
  bool fill_ = true;
};

}  // namespace

TEST_CASE("space: agrees with a model, one group", "[space]") {
  const std::uint32_t block_bytes = GENERATE(512, 1024, 4096);
  const std::uint64_t seed = GENERATE(range(1, 6));
  INFO("block " << block_bytes << " seed " << seed);
  Player(4_MiB, block_bytes, seed).play(5000);
}

TEST_CASE("space: agrees with a model, several groups", "[space]") {
  const std::uint64_t seed = GENERATE(1, 2);
  INFO("seed " << seed);
  Player(48_MiB + 8192, 512, seed).play(2000);
}

TEST_CASE("space: agrees with a model for longer", "[space][slow]") {
  const std::uint64_t seed = GENERATE(range(100, 112));
  INFO("seed " << seed);
  Player(4_MiB, 512, seed).play(20'000);
  Player(40_MiB, 512, seed).play(2000);
}
