// The log as dump, check and a dry run see it: without opening the volume, and deciding as it would.

#include "volume/describe_log.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "format/log.hpp"
#include "support/log_rig.hpp"
#include "volume/check.hpp"

namespace cordwood::test {

namespace {

namespace json = boost::json;

const json::value& at(const json::value& value, std::string_view pointer) {
  return value.at_pointer(pointer);
}
std::uint64_t number(const json::value& value) { return value.to_number<std::uint64_t>(); }

/// What is said of an image from outside. The mount must say the same.
struct Described {
  explicit Described(const SparseImage& image) : device(image) {
    auto reader = ImageReader::open(device);
    REQUIRE(reader);
    value = describe_log(*reader);
    const auto plan = plan_replay(*reader);
    REQUIRE(plan);
    CHECK(at(value, "/plan") == to_json(*plan));
    MountOptions options;
    options.discard_log = true;
    const AfterCrash after(image, options);
    REQUIRE(after.volume);
    CHECK(to_json((*after.volume)->replay()) == to_json(*plan));
  }
  [[nodiscard]] std::uint64_t count(FindingKind kind) {
    const auto report = check(device);
    REQUIRE(report);
    return report->findings.count(kind);
  }
  MemoryDevice device;
  json::value value;
};

/// Changes a record's header so that its checksum is right.
template <class Change>
void forge(LogRig& volume, SparseImage& image, LogPosition place, Change change) {
  const Superblock superblock = volume->superblock();
  LogRecordHeader header;
  std::vector<std::byte> record(4096);
  image.read(volume.byte_of(place), record);
  std::memcpy(&header, record.data(), sizeof header);
  change(header);
  std::memcpy(record.data(), &header, sizeof header);
  store_le(record.data(),
           log_record_checksum(record, superblock.volume_seed(), volume.byte_of(place)));
  image.write(volume.byte_of(place), record);
}

}  // namespace

TEST_CASE("describe log: records, end and plan", "[log][describe]") {
  LogRig volume;
  const LogPosition first = volume.head();
  volume.fsync(volume.file("one"));
  const LogPosition second = volume.head();
  volume.fsync(volume.file("two"));
  SparseImage image = volume.image();

  SECTION("all is well") {
    Described log(image);
    REQUIRE(at(log.value, "/records").as_array().size() == 2);
    CHECK(number(at(log.value, "/records/0/sequence")) == first.sequence);
    CHECK(number(at(log.value, "/records/1/byte")) == volume.byte_of(second));
    CHECK(at(log.value, "/records/1/counts").as_bool());
    CHECK(number(at(log.value, "/plan/records")) == 2);
    CHECK(at(log.value, "/end/found").as_string() == "no record");
    CHECK(log.count(FindingKind::kLogWaiting) == 1);
    CHECK(log.count(FindingKind::kLogRecordDamaged) == 0);
  }
  SECTION("the last one is torn") {
    image.flip_bit(volume.byte_of(second) + 500, 1);
    Described log(image);
    CHECK(at(log.value, "/records").as_array().size() == 1);
    CHECK(at(log.value, "/plan/damage").is_null());
    CHECK(log.count(FindingKind::kLogRecordDamaged) == 0);
  }
  SECTION("the first one is damaged") {
    image.flip_bit(volume.byte_of(first) + 500, 1);
    Described log(image);
    CHECK(at(log.value, "/records").as_array().empty());
    REQUIRE(at(log.value, "/behind_damage").as_array().size() == 1);
    CHECK(number(at(log.value, "/behind_damage/0/sequence")) == second.sequence);
    CHECK(log.count(FindingKind::kLogRecordDamaged) == 1);
    CHECK(log.count(FindingKind::kLogWaiting) == 0);
  }
  SECTION("one contradicts itself though its checksum is right") {
    forge(volume, image, second, [](LogRecordHeader& header) { ++header.item_count; });
    Described log(image);
    CHECK(at(log.value, "/records").as_array().size() == 1);
    CHECK(at(log.value, "/end/found").as_string().find("miscounted") != std::string::npos);
    CHECK(log.count(FindingKind::kLogRecordDamaged) == 1);
  }
  SECTION("limits leave out, and say so") {
    MemoryDevice device(image);
    auto reader = ImageReader::open(device);
    REQUIRE(reader);
    const json::value value = describe_log(*reader, {1, 2});
    CHECK(at(value, "/records").as_array().size() == 1);
    CHECK(number(at(value, "/records_left_out")) == 1);
    CHECK(at(value, "/records/0/leaves/0/items").as_array().size() == 2);
    CHECK(number(at(value, "/records/0/items_left_out")) + 2 ==
          number(at(value, "/records/0/item_count")));
  }
}

TEST_CASE("describe log: data that was there before the log need not be whole", "[log][describe]") {
  LogRig volume;
  const InodeNumber file = volume.file("data");
  const std::vector<std::byte> data(20'000, std::byte{0x5a});
  REQUIRE(volume->write(file, 0, data));
  std::uint64_t byte = 0;
  const auto find_data = [&] {
    REQUIRE(volume->engine().tree->scan(
        make_key(file, ItemType::kExtent), make_key(file, ItemType::kOrphan),
        [&](Key key, ConstBytes item) {
          const auto extent = ExtentItem::parse(item, key, volume->engine().layout);
          byte = volume->engine().layout.byte_of(extent->run.first);
          return false;
        }));
    REQUIRE(byte != 0);
  };
  SECTION("it was") {
    REQUIRE(volume->checkpoint());
    REQUIRE(volume->set_xattr(file, "user.a", as_bytes("b")));
    volume.fsync(file);
    find_data();
    SparseImage image = volume.image();
    image.fill(byte, 512, std::byte{0});
    Described log(image);
    CHECK(number(at(log.value, "/plan/records")) == 1);
    CHECK(log.count(FindingKind::kLogCut) == 0);
  }
  SECTION("it came with the record") {
    volume.fsync(file);
    find_data();
    SparseImage image = volume.image();
    image.fill(byte, 512, std::byte{0});
    Described log(image);
    CHECK(number(at(log.value, "/plan/cut_records")) == 1);
    CHECK_FALSE(at(log.value, "/records/0/counts").as_bool());
    CHECK(log.count(FindingKind::kLogCut) == 1);
  }
}

}  // namespace cordwood::test
