#include "volume/content_probe.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "device/memory_device.hpp"
#include "support/image_builder.hpp"
#include "volume/image_reader.hpp"

namespace cordwood::test {
namespace {

struct Planted {
  std::uint64_t offset;
  std::string bytes;
};

std::string identify(const std::vector<Planted>& planted, std::uint64_t device_bytes = 4_MiB) {
  MemoryDevice device(device_bytes);
  std::vector<std::byte> head(std::min<std::uint64_t>(device_bytes, 128_KiB));
  for (const Planted& part : planted) {
    std::memcpy(head.data() + part.offset, part.bytes.data(), part.bytes.size());
  }
  REQUIRE(device.write(0, head));
  const auto content = identify_content(device);
  REQUIRE(content);
  return *content;
}

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

}  // namespace

TEST_CASE("content probe: nothing is nothing", "[probe]") {
  CHECK(identify({}).empty());
  CHECK(identify({{0, "just some text"}}).empty());
  CHECK(identify({}, 512).empty());
}

TEST_CASE("content probe: filesystems", "[probe]") {
  const Planted magic{1024 + 0x38, bytes({0x53, 0xef})};
  CHECK(identify({magic}) == "ext2");
  CHECK(identify({magic, {1024 + 0x5c, bytes({4})}}) == "ext3");
  CHECK(identify({magic, {1024 + 0x5c, bytes({4})}, {1024 + 0x60, bytes({0x42})}}) == "ext4");
  CHECK(identify({{0, "XFSB"}}) == "XFS");
  CHECK(identify({{65536 + 64, "_BHRfS_M"}}) == "btrfs");
  const Planted boot{510, bytes({0x55, 0xaa})};
  CHECK(identify({boot, {3, "NTFS    "}}) == "NTFS");
  CHECK(identify({boot, {54, "FAT16   "}}) == "FAT");
  CHECK(identify({boot, {82, "FAT32   "}}) == "FAT");
  CHECK(identify({{32769, "CD001"}, boot, {450, bytes({0x17})}}) == "ISO 9660");
  CHECK(identify({{4086, "SWAPSPACE2"}}) == "swap");
  CHECK(identify({{0, "LUKS\xba\xbe"}}) == "LUKS");
  CHECK(identify({{512, "LABELONE"}}) == "LVM");
}

TEST_CASE("content probe: files and partition tables", "[probe]") {
  CHECK(identify({{0, "PK\x03\x04"}}, 512) == "zip archive");
  CHECK(identify({{0, bytes({0x1f, 0x8b, 8})}}) == "gzip file");
  CHECK(identify({{0, bytes({0x7f, 'E', 'L', 'F'})}}) == "ELF program");
  CHECK(identify({{512, "EFI PART"}, {510, bytes({0x55, 0xaa})}, {450, bytes({0xee})}}) ==
        "GPT partition table");
  const Planted boot{510, bytes({0x55, 0xaa})};
  CHECK(identify({boot, {450, bytes({0x83})}}) == "MBR partition table");
  // The signature of a boot sector alone says nothing.
  CHECK(identify({boot}).empty());
  CHECK(identify({boot, {446, bytes({0x33})}, {450, bytes({0x83})}}).empty());
}

TEST_CASE("content probe: Cordwood is known by any of its superblocks", "[probe]") {
  ImageBuilder builder;
  BuiltImage image = builder.build();
  CHECK(*identify_content(*image.device) == "Cordwood");
  REQUIRE(image.device->write(0, std::vector<std::byte>(1_MiB)));
  CHECK(*identify_content(*image.device) == "Cordwood");
  REQUIRE(image.device->write(8_MiB - 8_KiB, std::vector<std::byte>(8_KiB)));
  CHECK(identify_content(*image.device)->empty());
}

TEST_CASE("content probe: opening a foreign device says what it holds", "[probe]") {
  MemoryDevice device(4_MiB);
  std::vector<std::byte> sector(512);
  std::memcpy(sector.data(), "XFSB", 4);
  REQUIRE(device.write(0, sector));
  const auto reader = ImageReader::open(device);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code == Errc::kNotCordwood);
  CHECK(reader.error().message() ==
        "no Cordwood volume: the device holds XFS (not a Cordwood volume)");
}

}  // namespace cordwood::test
