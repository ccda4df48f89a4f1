#include "volume/scrub.hpp"

#include <catch2/catch.hpp>

#include "device/memory_device.hpp"
#include "spoiled.hpp"

namespace cordwood::test {

TEST_CASE("scrub: a right image is clean and read whole", "[scrub]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  BuiltImage image = builder.build();
  const auto report = scrub(*image.device);
  REQUIRE(report);
  CHECK(report->clean());
  CHECK(report->files.empty());
  CHECK(report->check.statistics.data_bytes_verified == 4 * 8 * 4096);
}

TEST_CASE("scrub: names the files that are hit and where", "[scrub]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  const InodeNumber odd = builder.add_file(content.docs, "odd \x1b\xff name");
  const BlockRun odd_run = builder.add_data(odd, 0, 4);
  const BlockRun run = builder.add_data(content.data_file, 262144, 4);
  BuiltImage image = builder.build();
  flip(*image.device, image.layout.byte_of(run.first + 2) + 9);
  flip(*image.device, image.layout.byte_of(odd_run.first) + 1);
  flip(*image.device, image.layout.byte_of(odd_run.first + 3) + 1);
  const auto report = scrub(*image.device);
  REQUIRE(report);
  CHECK_FALSE(report->clean());
  CHECK(report->bytes_damaged == 3 * 4096);
  REQUIRE(report->files.size() == 2);
  CHECK(report->files[0].path == "/docs/large.bin");
  REQUIRE(report->files[0].pieces.size() == 1);
  CHECK(report->files[0].pieces[0].offset == 262144 + 2 * 4096);
  CHECK(report->files[0].pieces[0].bytes == 4096);
  CHECK(report->files[0].pieces[0].device_byte == image.layout.byte_of(run.first + 2));
  CHECK(report->files[0].pieces[0].readable);
  CHECK(report->files[1].bytes_damaged == 2 * 4096);
  const std::string text = render_text(*report);
  CHECK(text.find("damaged: \"/docs/odd \\x1b\\xff name\" (inode 12), 8192 bytes") !=
        std::string::npos);
}

TEST_CASE("scrub: a bounded list counts the rest", "[scrub]") {
  ImageBuilder builder;
  std::vector<BlockRun> runs;
  for (int i = 0; i < 20; ++i) {
    const InodeNumber file = builder.add_file(kRootInode, "file" + std::to_string(i));
    runs.push_back(builder.add_data(file, 0, 2));
  }
  BuiltImage image = builder.build();
  for (const BlockRun& run : runs) {
    flip(*image.device, image.layout.byte_of(run.first));
    flip(*image.device, image.layout.byte_of(run.first + 1));
  }
  ScrubOptions options;
  options.files_max = 3;
  options.pieces_max = 1;
  const auto report = scrub(*image.device, options);
  REQUIRE(report);
  CHECK(report->files.size() == 3);
  CHECK(report->files[0].pieces.size() == 1);
  CHECK(report->files[0].bytes_damaged == 8192);
  CHECK(report->file_count == 20);
  CHECK(report->bytes_damaged == 40 * 4096);
}

namespace {

/// Fails reads that touch one byte.
class BadSpot final : public BlockDevice {
 public:
  BadSpot(BlockDevice& below, std::uint64_t byte) : below_(below), byte_(byte) {}

  [[nodiscard]] DeviceGeometry geometry() const override { return below_.geometry(); }
  [[nodiscard]] std::string description() const override { return "bad spot"; }
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override {
    Result<void> result = below_.submit(requests);
    for (const IoRequest& request : requests) {
      if (request.offset <= byte_ && byte_ < request.offset + request.bytes) {
        std::fill(request.data, request.data + request.bytes, std::byte{0xee});
        result = make_error(Errc::kIo, Place::kByte, request.offset, "bad spot");
      }
    }
    return result;
  }
  [[nodiscard]] Result<void> flush() override { return below_.flush(); }
  [[nodiscard]] Result<void> discard(std::uint64_t, std::uint64_t) override { return {}; }

 private:
  BlockDevice& below_;
  std::uint64_t byte_;
};

}  // namespace

TEST_CASE("scrub: read errors hit only what lies there", "[scrub]") {
  ImageBuilder builder;
  const SampleContent content(builder);
  const BlockRun run = builder.add_data(content.data_file, 262144, 4);
  BuiltImage image = builder.build();
  SECTION("data") {
    BadSpot device(*image.device, image.layout.byte_of(run.first + 1));
    const auto report = scrub(device);
    REQUIRE(report);
    CHECK(names_of(report->check, false) == std::set<std::string>{"data_unreadable"});
    REQUIRE(report->files.size() == 1);
    CHECK(report->files[0].path == "/docs/large.bin");
    CHECK(report->files[0].bytes_damaged == 4 * 4096);
    CHECK_FALSE(report->files[0].pieces[0].readable);
  }
  SECTION("a node among those read with it") {
    BadSpot device(*image.device, image.layout.byte_of(image.nodes[2].runs[0].first));
    const auto report = scrub(device);
    REQUIRE(report);
    CHECK(names_of(report->check, false) == std::set<std::string>{"node_unreadable"});
    CHECK(report->check.statistics.nodes == image.nodes.size() - 1);
  }
  SECTION("a superblock") {
    BadSpot device(*image.device, superblock_byte(3, 8_MiB));
    const auto report = scrub(device);
    REQUIRE(report);
    CHECK(names_of(report->check, false) == std::set<std::string>{"superblock_slot_damaged"});
  }
  SECTION("a bitmap") {
    BadSpot device(*image.device, image.layout.bitmap_byte(0, 0));
    const auto report = scrub(device);
    REQUIRE(report);
    CHECK(names_of(report->check, false) == std::set<std::string>{"bitmap_unreadable"});
  }
}

}  // namespace cordwood::test
