#include "device/cache_model.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "unit/device/patterns.hpp"

using namespace cordwood;

namespace {

using Kind = WriteFate::Kind;
constexpr WriteFate kKept{Kind::kKept, 0};
constexpr WriteFate kLost{Kind::kLost, 0};

/// Writes sectors filled with one value, as a history of events.
class History {
 public:
  explicit History(bool volatile_cache = true, bool fua = true)
      : model_(SparseImage(64_KiB), {64_KiB, 512, volatile_cache, fua, true}) {}

  std::uint64_t begin_write(std::uint64_t sector, int value, std::size_t sectors = 1,
                            bool fua = false) {
    DeviceEvent event;
    event.fua = fua;
    event.offset = sector * 512;
    event.bytes = sectors * 512;
    event.batch = ++batch_;
    event.data = std::make_shared<const std::vector<std::byte>>(sectors * 512,
                                                                static_cast<std::byte>(value));
    model_.apply(event);
    return batch_;
  }
  void complete(std::uint64_t batch) {
    DeviceEvent event;
    event.kind = DeviceEvent::Kind::kComplete;
    event.batch = batch;
    model_.apply(event);
  }
  void write(std::uint64_t sector, int value, std::size_t sectors = 1, bool fua = false) {
    complete(begin_write(sector, value, sectors, fua));
  }
  void flush(std::uint64_t called_at) {
    DeviceEvent event;
    event.kind = DeviceEvent::Kind::kFlush;
    event.called_at = called_at;
    model_.apply(event);
  }
  void flush() { flush(model_.events()); }
  void fail_flush() {
    DeviceEvent event;
    event.kind = DeviceEvent::Kind::kFlushFailed;
    model_.apply(event);
  }

  /// The values of the first sectors after a power cut now.
  [[nodiscard]] std::vector<int> after(const std::vector<WriteFate>& fates, std::size_t sectors) {
    const SparseImage image = model_.after_power_cut(fates);
    std::vector<int> values;
    for (std::size_t i = 0; i < sectors; ++i) {
      values.push_back(std::to_integer<int>(read_back(image, i * 512, 512).front()));
    }
    return values;
  }

  CacheModel& model() { return model_; }

 private:
  CacheModel model_;
  std::uint64_t batch_ = 0;
};

using Values = std::vector<int>;

}  // namespace

TEST_CASE("cache model: writes are open until a flush", "[device]") {
  History history;
  history.write(0, 1);
  history.write(1, 2);
  REQUIRE(history.model().open_count() == 2);
  CHECK(history.after({kLost, kLost}, 2) == Values{0, 0});
  CHECK(history.after({kLost, kKept}, 2) == Values{0, 2});
  CHECK(history.after({kKept, kKept}, 2) == Values{1, 2});
  history.flush();
  CHECK(history.model().open_count() == 0);
  CHECK(history.after({}, 2) == Values{1, 2});
}

TEST_CASE("cache model: of two surviving writes to one place the younger wins", "[device]") {
  History history;
  history.write(0, 1);
  history.write(0, 2);
  CHECK(history.after({kKept, kKept}, 1) == Values{2});
  CHECK(history.after({kKept, kLost}, 1) == Values{1});
  CHECK(history.after({kLost, kKept}, 1) == Values{2});
}

TEST_CASE("cache model: FUA makes one write durable and leaves older ones open", "[device]") {
  History history;
  history.write(0, 1, 2);
  history.write(0, 2, 1, true);
  REQUIRE(history.model().open_count() == 1);
  CHECK(history.after({kLost}, 2) == Values{2, 0});
  // The older write must not come back over the younger one.
  CHECK(history.after({kKept}, 2) == Values{2, 1});
}

TEST_CASE("cache model: a FUA write under way may be lost or torn", "[device]") {
  History history;
  const std::uint64_t batch = history.begin_write(0, 1, 2, true);
  CHECK(history.after({kLost}, 2) == Values{0, 0});
  CHECK(history.after({{Kind::kTail, 1}}, 2) == Values{0, 1});
  history.complete(batch);
  CHECK(history.after({}, 2) == Values{1, 1});
}

TEST_CASE("cache model: FUA means nothing to a device without it", "[device]") {
  History history(true, false);
  history.write(0, 1, 1, true);
  CHECK(history.model().open_count() == 1);
}

TEST_CASE("cache model: without a volatile cache a completed write is durable", "[device]") {
  History history(false, false);
  history.write(0, 1);
  CHECK(history.model().open_count() == 0);
  history.begin_write(1, 2);
  CHECK(history.model().open_count() == 1);
  CHECK(history.after({kLost}, 2) == Values{1, 0});
}

TEST_CASE("cache model: a flush does not cover what was under way when it was called", "[device]") {
  History history;
  history.write(0, 1);
  const std::uint64_t called_at = history.model().events();
  const std::uint64_t batch = history.begin_write(1, 2);
  history.complete(batch);
  history.flush(called_at);
  REQUIRE(history.model().open_count() == 1);
  CHECK(history.after({kLost}, 2) == Values{1, 0});
  history.flush();
  CHECK(history.model().open_count() == 0);
}

TEST_CASE("cache model: a write that never completes stays open over flushes", "[device]") {
  History history;
  history.begin_write(0, 1);
  history.write(1, 2);
  history.flush();
  REQUIRE(history.model().open_count() == 1);
  CHECK(history.after({kLost}, 2) == Values{0, 2});
}

TEST_CASE("cache model: what a failed flush left out stays open for ever", "[device]") {
  History history;
  history.write(0, 1);
  history.fail_flush();
  history.write(1, 2);
  history.flush();
  REQUIRE(history.model().open_count() == 1);
  CHECK(history.after({kLost}, 2) == Values{0, 2});
  CHECK(history.after({kKept}, 2) == Values{1, 2});
}

TEST_CASE("cache model: tears at sector edges", "[device]") {
  History history;
  history.write(0, 9, 4);
  history.flush();
  history.write(0, 1, 4);
  CHECK(history.after({{Kind::kHead, 1}}, 4) == Values{1, 9, 9, 9});
  CHECK(history.after({{Kind::kHead, 3}}, 4) == Values{1, 1, 1, 9});
  CHECK(history.after({{Kind::kTail, 1}}, 4) == Values{9, 1, 1, 1});
  CHECK(history.after({{Kind::kHead, 99}}, 4) == Values{1, 1, 1, 1});
  CHECK(history.after({{Kind::kTail, 99}}, 4) == Values{9, 9, 9, 9});

  const SparseImage garbage =
      history.model().after_power_cut(std::vector<WriteFate>{{Kind::kGarbage, 2}});
  const auto sector = read_back(garbage, 2 * 512, 512);
  CHECK(std::count(sector.begin(), sector.end(), sector.front()) < 512);
  CHECK(read_back(garbage, 512, 1).front() == std::byte{1});
  CHECK(read_back(garbage, 3 * 512, 1).front() == std::byte{9});

  bool saw_new = false;
  bool saw_old = false;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    for (const int value : history.after({{Kind::kMixed, seed}}, 4)) {
      REQUIRE((value == 1 || value == 9));
      (value == 1 ? saw_new : saw_old) = true;
    }
  }
  CHECK(saw_new);
  CHECK(saw_old);
}
