#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "file_device.hpp"
#include "unit/device/patterns.hpp"
#include "unit/native/temporary_directory.hpp"

using namespace cordwood;

namespace {

/// A loop device over a file; nothing where there are none to be had.
class LoopDevice {
 public:
  LoopDevice(const std::string& image, std::uint64_t bytes, unsigned sector_bytes) {
    std::ofstream{image};
    std::filesystem::resize_file(image, bytes);
    const std::string command = "losetup --find --show --sector-size " +
                                std::to_string(sector_bytes) + " " + image + " 2>/dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), ::pclose);
    char line[64] = {};
    if (output && std::fgets(line, sizeof line, output.get()) != nullptr) path_ = line;
    while (!path_.empty() && path_.back() == '\n') path_.pop_back();
  }
  ~LoopDevice() {
    if (exists()) run_command("losetup --detach " + path_);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  [[nodiscard]] bool exists() const { return !path_.empty(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("block device: sectors, size, transfers, discard, one owner", "[native]") {
  TemporaryDirectory directory;
  const unsigned sector = GENERATE(512u, 4096u);
  const auto io_path = GENERATE(FileOptions::IoPath::kAuto, FileOptions::IoPath::kSyscalls);
  const LoopDevice loop(directory / "backing", 8_MiB + 512, sector);
  if (!loop.exists()) {
    WARN("not run: it needs a loop device, which takes root");
    return;
  }
  {
    const auto opened =
        FileDevice::open(loop.path(), FileOpenMode::kReadWrite, {.io_path = io_path});
    REQUIRE(opened);
    FileDevice& device = **opened;
    INFO(device.description());
    CHECK(device.geometry().sector_bytes == sector);
    CHECK(device.geometry().bytes / sector == (8_MiB + 512) / sector);

    const auto data = pattern(300 * 4096, 1);
    REQUIRE(device.write(4096, data, true));
    REQUIRE(device.flush());
    CHECK(read_back(device, 4096, data.size()) == data);
    REQUIRE(device.discard(4096, 4096));
    CHECK(read_back(device, 8192, 4096) ==
          std::vector<std::byte>(data.begin() + 4096, data.begin() + 8192));

    const auto second = FileDevice::open(loop.path(), FileOpenMode::kReadWrite);
    REQUIRE(!second);
    CHECK(second.error().code == Errc::kBusy);
    CHECK(!FileDevice::open(loop.path(), FileOpenMode::kReadOnly));
    CHECK(!FileDevice::create(loop.path(), 1_MiB));
  }
  const auto again = FileDevice::open(loop.path(), FileOpenMode::kReadOnly);
  REQUIRE(again);
  CHECK(FileDevice::open(loop.path(), FileOpenMode::kReadOnly));
}

TEST_CASE("block device: a mounted one is in use", "[native]") {
  TemporaryDirectory directory;
  const LoopDevice loop(directory / "backing", 16_MiB, 512);
  const bool formatted = loop.exists() && run_command("mkfs.ext4 -q " + loop.path());
  Mount mount(loop.path(), directory / "mount");
  if (!formatted || !mount.mounted()) {
    WARN("not run: it mounts a loop device, which takes root");
    return;
  }
  const auto device = FileDevice::open(loop.path(), FileOpenMode::kReadWrite);
  REQUIRE(!device);
  CHECK(device.error().code == Errc::kBusy);
}

TEST_CASE("block device: once a flush has failed, no later one succeeds", "[native]") {
  TemporaryDirectory directory;
  Mount small("-t tmpfs -o size=1m none", directory / "small");
  if (!small.mounted()) {
    WARN("not run: it mounts a small file system, which takes root");
    return;
  }
  // The backing file cannot grow to what is written, which shows when the page cache is flushed.
  const LoopDevice loop(directory / "small/backing", 8_MiB, 512);
  if (!loop.exists()) {
    WARN("not run: it needs a loop device, which takes root");
    return;
  }
  const FileOptions options = {.caching = FileCaching::kBuffered};
  {
    const auto device = FileDevice::open(loop.path(), FileOpenMode::kReadWrite, options);
    REQUIRE(device);
    CHECK((*device)->geometry().volatile_cache);
    REQUIRE((*device)->write(0, pattern(4_MiB, 1)));
    REQUIRE(!(*device)->flush());
    // The kernel has told the error once and would now report success.
    CHECK((*device)->flush().error().code == Errc::kIo);
    CHECK((*device)->write(0, pattern(512, 1), true).error().code == Errc::kIo);
  }
  const auto again = FileDevice::open(loop.path(), FileOpenMode::kReadWrite, options);
  REQUIRE(again);
  CHECK((*again)->flush());
}
