// Link counts, offsets and sizes at the edges of their types.

#include <array>
#include <string>
#include <vector>

#include "format/items.hpp"
#include "support/catch.hpp"
#include "support/mounted.hpp"

namespace cordwood::test {

TEST_CASE("limits: 70,000 names of one file", "[volume][cases]") {
  WorkloadConfig config;
  config.device_bytes = 256_MiB;
  Mounted volume(config);
  constexpr std::uint32_t kNames = 70'000;
  const InodeNumber file = volume.file("file");
  const InodeNumber directory = volume.directory("d");
  for (std::uint32_t i = 0; i < kNames; ++i) {
    const auto linked = volume->link(file, directory, std::to_string(i));
    REQUIRE(linked);
    REQUIRE(linked->links == i + 2);
  }
  volume.reopen();
  CHECK(volume->attributes(file)->links == kNames + 1);
  for (std::uint32_t i = 0; i < kNames; ++i) {
    REQUIRE(volume->unlink(directory, std::to_string(i)));
  }
  CHECK(volume->attributes(file)->links == 1);
  volume.sync_and_check();
}

TEST_CASE("limits: 100,000 sub-directories", "[volume][cases]") {
  WorkloadConfig config;
  config.device_bytes = 256_MiB;
  Mounted volume(config);
  constexpr std::uint32_t kDirectories = 100'000;
  const InodeNumber parent = volume.directory("d");
  for (std::uint32_t i = 0; i < kDirectories; ++i) volume.directory(std::to_string(i), parent);
  CHECK(volume->attributes(parent)->links == kDirectories + 2);
  volume.reopen();
  CHECK(volume->attributes(parent)->links == kDirectories + 2);
  for (std::uint32_t i = 0; i < kDirectories; ++i) {
    REQUIRE(volume->remove_directory(parent, std::to_string(i)));
  }
  CHECK(volume->attributes(parent)->links == 2);
  volume.sync_and_check();
}

TEST_CASE("limits: 1,000 levels of directories", "[volume][cases]") {
  Mounted volume;
  InodeNumber at = kRootInode;
  std::string path;
  for (int i = 0; i < 1000; ++i) {
    at = volume.directory("d", at);
    path += "/d";
  }
  volume.file("leaf", at);
  volume.reopen();
  const auto leaf = volume->resolve(path + "/leaf");
  REQUIRE(leaf);
  CHECK(volume->resolve(path)->inode == at);
  CHECK(error_of(volume->rename(kRootInode, "d", at, "loop")) == Errc::kInvalid);
}

TEST_CASE("limits: a byte at offsets where integers end", "[volume][cases]") {
  Mounted volume;
  const std::array<std::byte, 1> byte{std::byte{0x5a}};
  std::vector<std::uint64_t> offsets;
  for (const int power : {31, 32, 40, 53, 62}) {
    for (const std::uint64_t less : {1u, 0u}) offsets.push_back((std::uint64_t{1} << power) - less);
  }
  offsets.push_back(kMaxFileBytes - 1);
  for (const std::uint64_t offset : offsets) {
    CAPTURE(offset);
    const std::string name = std::to_string(offset);
    const InodeNumber file = volume.file(name);
    REQUIRE(volume->write(file, offset, byte));
    const auto shown = volume->attributes(file);
    REQUIRE(shown);
    CHECK(shown->size == offset + 1);
    CHECK(shown->bytes <= 16'384);
    std::array<std::byte, 4> read{};
    const auto count = volume->read(file, offset - 1, read);
    REQUIRE(count);
    CHECK(*count == 2);
    CHECK(read[0] == std::byte{0});
    CHECK(read[1] == byte[0]);
    CHECK(*volume->read(file, offset + 1, read) == 0);
    const auto data = volume->seek_data(file, 0);
    REQUIRE(data);
    CHECK(*data <= offset);
    CHECK(offset - *data < 1_MiB);
    CHECK(*volume->seek_hole(file, 0) == 0);
    CHECK(error_of(volume->seek_data(file, offset + 1)) == Errc::kNoData);
  }
  volume.reopen();
  for (const std::uint64_t offset : offsets) {
    const InodeNumber file = volume->lookup(kRootInode, std::to_string(offset))->inode;
    CHECK(volume->attributes(file)->size == offset + 1);
  }
}

TEST_CASE("limits: files end at 2^63 - 1 bytes", "[volume][cases]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  const std::array<std::byte, 2> bytes{std::byte{1}, std::byte{2}};
  AttributeChanges changes;
  changes.size = kMaxFileBytes;
  REQUIRE(volume->set_attributes(file, changes));
  CHECK(volume->attributes(file)->size == kMaxFileBytes);
  CHECK(volume->attributes(file)->bytes == 0);
  const auto too_big = [](Errc code) {
    return code == Errc::kFileTooBig || code == Errc::kInvalid;
  };
  CHECK(too_big(error_of(volume->append(file, bytes))));
  CHECK(too_big(error_of(volume->write(file, kMaxFileBytes, bytes))));
  CHECK(too_big(error_of(volume->write(file, kMaxFileBytes - 1, bytes))));
  CHECK(too_big(error_of(volume->write(file, ~std::uint64_t{0}, bytes))));
  changes.size = kMaxFileBytes + 1;
  CHECK(too_big(error_of(volume->set_attributes(file, changes))));
  changes.size = ~std::uint64_t{0};
  CHECK(too_big(error_of(volume->set_attributes(file, changes))));
  std::array<std::byte, 8> buffer{};
  CHECK(*volume->read(file, ~std::uint64_t{0} - 2, buffer) == 0);
  CHECK(error_of(volume->seek_data(file, 0)) == Errc::kNoData);
  CHECK(*volume->seek_hole(file, 5) == 5);
  changes.size = 0;
  REQUIRE(volume->set_attributes(file, changes));
  volume.sync_and_check();
}

TEST_CASE("limits: nothing to write changes nothing", "[volume][cases]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  const auto before = volume->attributes(file);
  volume.clock().advance(5);
  CHECK(*volume->write(file, 99, {}) == 0);
  CHECK(*volume->append(file, {}) == 0);
  CHECK(volume->attributes(file)->size == 0);
  CHECK(volume->attributes(file)->modify == before->modify);
}

TEST_CASE("limits: times before 1970 and after 2038", "[volume][cases]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  const Timestamp times[] = {{0, 0},
                             {-1, 999'999'999},
                             {-62'135'596'800, 1},
                             {2'147'483'648, 5},
                             {253'402'300'800, 999'999'999},
                             {INT64_MIN, 0},
                             {INT64_MAX, 999'999'999}};
  for (const Timestamp& time : times) {
    AttributeChanges changes;
    changes.access = time;
    changes.modify = time;
    REQUIRE(volume->set_attributes(file, changes));
    volume.reopen();
    CHECK(volume->attributes(file)->access == time);
    CHECK(volume->attributes(file)->modify == time);
  }
  AttributeChanges changes;
  changes.modify = Timestamp{0, 1'000'000'000};
  CHECK(error_of(volume->set_attributes(file, changes)) == Errc::kInvalid);
}

}  // namespace cordwood::test
