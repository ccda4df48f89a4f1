#include "device/crash_states.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "device/sim_device.hpp"
#include "unit/device/patterns.hpp"

using namespace cordwood;

namespace {

/// Ids of all states, in order.
std::vector<std::string> ids_of(const Recording& recording, const CrashPolicy& policy) {
  std::vector<std::string> ids;
  CrashStates states(recording, policy);
  while (states.next()) ids.push_back(states.id());
  return ids;
}

CrashPolicy without_tears() {
  CrashPolicy policy;
  policy.torn_states_max = 0;
  return policy;
}

/// The smallest thing that has to be crash safe: a numbered state in one of two places, and one of
/// two roots that says which. `flush_first` is the rule that a root never names unwritten data.
class ToyStore {
 public:
  static constexpr std::size_t kDataBytes = 2048;

  ToyStore(BlockDevice& device, bool flush_first, bool fua)
      : device_(device), flush_first_(flush_first), fua_(fua) {}

  void commit(std::uint64_t number) {
    const auto data = pattern(kDataBytes, number);
    REQUIRE(device_.write(4096 + number % 2 * kDataBytes, data));
    if (flush_first_) REQUIRE(device_.flush());
    std::vector<std::byte> root(512);
    store_le(root.data(), number);
    store_le(root.data() + 8, checksum(data, 0));
    store_le(root.data() + 16, checksum(Bytes(root).first(16), 1));
    REQUIRE(device_.write(number % 2 * 512, root, fua_));
    if (!fua_) REQUIRE(device_.flush());
  }

  /// The number of the newest state, or nothing if its data is not what its root says.
  static std::optional<std::uint64_t> recover(const SparseImage& image) {
    std::uint64_t newest = 0;
    std::uint64_t data_checksum = 0;
    for (std::uint64_t slot = 0; slot < 2; ++slot) {
      const auto root = read_back(image, slot * 512, 512);
      const bool valid =
          load_le<std::uint64_t>(root.data() + 16) == checksum(ConstBytes(root).first(16), 1);
      const auto number = load_le<std::uint64_t>(root.data());
      if (!valid || number <= newest) continue;
      newest = number;
      data_checksum = load_le<std::uint64_t>(root.data() + 8);
    }
    if (newest == 0) return 0;
    const auto data = read_back(image, 4096 + newest % 2 * kDataBytes, kDataBytes);
    if (checksum(data, 0) != data_checksum) return std::nullopt;
    return newest;
  }

 private:
  BlockDevice& device_;
  bool flush_first_;
  bool fua_;
};

/// Runs the toy through all crash states and counts those it cannot stand.
int wrong_states(bool flush_first, bool fua, CrashPolicy::Cuts cuts) {
  SimDevice device(64_KiB, {.fua = fua});
  ToyStore store(device, flush_first, fua);
  std::map<std::uint64_t, std::uint64_t> promised = {{0, 0}};  // moment, number
  for (std::uint64_t number = 1; number <= 4; ++number) {
    store.commit(number);
    promised[device.moment()] = number;
  }
  const Recording recording = device.recording();
  CrashPolicy policy;
  policy.cuts = cuts;
  policy.garbage = true;
  CrashStates states(recording, policy);
  int wrong = 0;
  while (states.next()) {
    const std::uint64_t floor = std::prev(promised.upper_bound(states.choice().cut))->second;
    const auto got = ToyStore::recover(states.build());
    if (!got || *got < floor || *got > floor + 1) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("crash states: all subsets of a small epoch, each once", "[device]") {
  SimDevice device(64_KiB);
  const auto sector = pattern(512, 1);
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(device.write(i * 512, sector));
  REQUIRE(device.flush());
  REQUIRE(device.write(4096, sector));
  const Recording recording = device.recording();
  // Events: write, complete three times, then flush, then write, complete.
  REQUIRE(recording.events.size() == 9);

  SECTION("at barriers") {
    const auto ids = ids_of(recording, without_tears());
    CHECK(ids == std::vector<std::string>{"6:-3", "6:+-2", "6:-+-", "6:+2-", "6:-2+", "6:+-+",
                                          "6:-+2", "6:+3", "9:-", "9:+"});
  }
  SECTION("at every event") {
    CrashPolicy policy = without_tears();
    policy.cuts = CrashPolicy::Cuts::kEveryEvent;
    const auto ids = ids_of(recording, policy);
    CHECK(ids == std::vector<std::string>{"0:", "1:+", "3:-+", "3:+2", "5:-2+", "5:+-+", "5:-+2",
                                          "5:+3", "7:", "8:+"});
  }
}

TEST_CASE("crash states: an empty recording has one state", "[device]") {
  SimDevice device(64_KiB);
  const Recording recording = device.recording();
  CHECK(ids_of(recording, {}) == std::vector<std::string>{"0:"});
  CrashPolicy policy;
  policy.cuts = CrashPolicy::Cuts::kEveryEvent;
  CHECK(ids_of(recording, policy) == std::vector<std::string>{"0:"});
}

TEST_CASE("crash states: a large epoch is sampled by families", "[device]") {
  SimDevice device(1_MiB);
  for (std::uint64_t i = 0; i < 40; ++i) REQUIRE(device.write(i * 512, pattern(512, i)));
  const Recording recording = device.recording();
  CrashPolicy policy = without_tears();
  policy.random_subsets = 50;
  policy.is_metadata = [](const CacheModel::OpenWrite& write) { return write.offset < 5 * 512; };
  const auto ids = ids_of(recording, policy);
  const std::set<std::string> unique(ids.begin(), ids.end());
  CHECK(unique.size() == ids.size());
  for (const char* id : {"80:-40", "80:+40", "80:+7-33", "80:-7+33", "80:+7-+32", "80:-7+-32",
                         "80:+5-35", "80:-5+35"}) {
    INFO(id);
    CHECK(unique.count(id) == 1);
  }
  // none, all, 39 prefixes, 39 suffixes, 38 with one missing inside, 38 alone inside, 50 at random
  CHECK(ids.size() == 2 + 39 + 39 + 38 + 38 + 50);
  CHECK(ids == ids_of(recording, policy));
  policy.family_max = 4;
  CHECK(ids_of(recording, policy).size() < 80);
}

TEST_CASE("crash states: torn states reach every edge, up to their number", "[device]") {
  SimDevice device(1_MiB);
  REQUIRE(device.write(0, pattern(512, 1)));
  REQUIRE(device.write(4096, pattern(2048, 2)));
  CrashPolicy policy;
  const Recording recording = device.recording();
  const auto ids = ids_of(recording, policy);
  const std::set<std::string> unique(ids.begin(), ids.end());
  CHECK(unique.size() == ids.size());
  for (const char* edge : {"h1", "h2", "h3", "t1", "t2", "t3"}) {
    CHECK(unique.count(std::string("4:+") + edge) == 1);
    CHECK(unique.count(std::string("4:-") + edge) == 1);
  }
  CHECK(ids.size() == 4 + 12);
  policy.garbage = true;
  const auto with_garbage = ids_of(recording, policy);
  for (const char* id : {"4:g0-", "4:g0+", "4:-g3", "4:+g0"}) {
    CHECK(std::count(with_garbage.begin(), with_garbage.end(), id) == 1);
  }
  policy.torn_states_max = 5;
  const auto few = ids_of(recording, policy);
  CHECK(few.size() > 4);
  CHECK(few.size() <= 9);
}

TEST_CASE("crash states: an id replays its state", "[device]") {
  const auto seed = GENERATE(range(1, 5));
  INFO("seed " << seed);
  Random random(static_cast<std::uint64_t>(seed));
  SimDevice device(256_KiB, {.fua = true});
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t sectors = random.between(1, 16);
    const std::uint64_t first = random.below(512 - sectors);
    const auto data = pattern(sectors * 512, random.next());
    switch (random.below(10)) {
      case 0: REQUIRE(device.flush()); break;
      case 1: REQUIRE(device.discard(first * 512, sectors * 512)); break;
      default: REQUIRE(device.write(first * 512, data, random.one_in(8)));
    }
  }
  const Recording recording = device.recording();
  CrashPolicy policy;
  policy.garbage = true;
  policy.random_subsets = 30;
  policy.family_max = 5;
  policy.all_subsets_up_to = 4;
  CrashStates states(recording, policy);
  int count = 0;
  while (states.next()) {
    INFO(states.id());
    const Result<SparseImage> again = CrashStates::replay(recording, states.id());
    REQUIRE(again);
    REQUIRE(!again->first_difference(states.build()));
    ++count;
  }
  CHECK(count > 300);
  CHECK(!CrashStates::replay(recording, "999999:"));
  CHECK(!CrashStates::replay(recording, "5:+77"));
  CHECK(!CrashStates::replay(recording, "nonsense"));
}

TEST_CASE("crash states: a cut can be left early", "[device]") {
  SimDevice device(64_KiB);
  REQUIRE(device.write(0, pattern(512, 1)));
  REQUIRE(device.flush());
  REQUIRE(device.write(512, pattern(512, 1)));
  const Recording recording = device.recording();
  CrashStates states(recording, without_tears());
  REQUIRE(states.next());
  CHECK(states.id() == "2:-");
  states.skip_cut();
  REQUIRE(states.next());
  CHECK(states.id() == "5:-");
}

TEST_CASE("crash states: a sound protocol stands them all, one without a flush does not",
          "[device]") {
  const auto cuts = GENERATE(CrashPolicy::Cuts::kBarriers, CrashPolicy::Cuts::kEveryEvent);
  const bool fua = GENERATE(false, true);
  INFO("FUA " << fua);
  CHECK(wrong_states(true, fua, cuts) == 0);
  CHECK(wrong_states(false, fua, cuts) > 0);
}
