#include "file_device.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "io/aligned_buffer.hpp"
#include "io/uring_queue.hpp"
#include "unit/device/patterns.hpp"
#include "unit/native/temporary_directory.hpp"

using namespace cordwood;
using Catch::Matchers::Contains;

namespace {

using IoPath = FileOptions::IoPath;

/// Each way to reach a file. Where the kernel refuses io_uring (some containers), its part falls
/// back like a user's call would.
FileOptions generate_options() {
  static const IoPath uring = UringQueue::create({}) ? IoPath::kUring : IoPath::kAuto;
  const auto io_path = GENERATE(uring, IoPath::kSyscalls);
  const auto caching = GENERATE(FileCaching::kDirect, FileCaching::kBuffered);
  return {.io_path = io_path, .caching = caching};
}

std::unique_ptr<FileDevice> create(const std::string& path, std::uint64_t bytes,
                                   const FileOptions& options = {}) {
  auto device = FileDevice::create(path, bytes, FileDevice::Content::kKeep, options);
  REQUIRE(device);
  return std::move(*device);
}

/// Memory at any distance from an aligned address.
class Memory {
 public:
  Memory(std::size_t bytes, std::size_t shift)
      : buffer_(round_up(bytes + shift, AlignedBuffer::kAlignment)),
        bytes_(buffer_.bytes().subspan(shift, bytes)) {}
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  AlignedBuffer buffer_;
  Bytes bytes_;
};

}  // namespace

TEST_CASE("file device: random batches agree with an array, and survive reopening", "[native]") {
  constexpr std::size_t kBytes = 4_MiB;
  const FileOptions options = generate_options();
  TemporaryDirectory directory;
  std::vector<std::byte> plain(kBytes);
  {
    const auto device = create(directory / "image", kBytes, options);
    INFO(device->description());
    const std::size_t sector = device->geometry().sector_bytes;
    REQUIRE(device->geometry().bytes == kBytes);
    Random random(11);
    for (int round = 0; round < 60; ++round) {
      std::vector<Memory> memory;
      std::vector<IoRequest> batch;
      // Slices of the device in order, so that no two requests of a batch overlap.
      for (std::uint64_t at = 0; at < kBytes;) {
        const std::uint64_t rest = (kBytes - at) / sector;
        const std::uint64_t size = std::min(rest, random.between(1, 40)) * sector;
        const std::size_t shift = random.one_in(2) ? 0 : random.below(64);
        if (random.one_in(4)) {
          Bytes bytes = memory.emplace_back(size, shift).bytes();
          if (random.one_in(2)) {
            random.fill(bytes);
            batch.push_back(IoRequest::write(at, bytes, random.one_in(20)));
          } else {
            batch.push_back(IoRequest::read(at, bytes));
          }
        }
        at += size;
      }
      REQUIRE(device->submit(batch));
      for (const IoRequest& request : batch) {
        std::byte* const model = plain.data() + request.offset;
        if (request.kind == IoRequest::Kind::kWrite) {
          std::memcpy(model, request.data, request.bytes);
        } else {
          REQUIRE(std::memcmp(model, request.data, request.bytes) == 0);
        }
      }
      if (round % 10 == 0) REQUIRE(device->flush());
    }
  }
  const auto again = FileDevice::open(directory / "image", FileOpenMode::kReadOnly, options);
  REQUIRE(again);
  CHECK(read_back(**again, 0, kBytes) == plain);
}

TEST_CASE("file device: requests larger than a transfer, batches larger than a ring", "[native]") {
  const FileOptions options = generate_options();
  const std::size_t shift = GENERATE(0, 1, 512);
  TemporaryDirectory directory;
  const auto device = create(directory / "image", 16_MiB, options);
  INFO(device->description() << ", memory shifted by " << shift);

  SECTION("one large request") {
    const Memory source(5_MiB + 4096, shift);
    const Memory target(5_MiB + 4096, shift);
    Random(1).fill(source.bytes());
    REQUIRE(device->write(3 * 4096, source.bytes()));
    REQUIRE(device->read(3 * 4096, target.bytes()));
    CHECK(std::memcmp(source.bytes().data(), target.bytes().data(), 5_MiB + 4096) == 0);
  }
  SECTION("many small requests") {
    const Memory source(4_MiB, shift);
    const Memory target(4_MiB, shift);
    Random(2).fill(source.bytes());
    std::vector<IoRequest> writes;
    std::vector<IoRequest> reads;
    for (std::size_t at = 0; at < 4_MiB; at += 4096) {
      writes.push_back(IoRequest::write(at * 2, source.bytes().subspan(at, 4096)));
      reads.push_back(IoRequest::read(at * 2, target.bytes().subspan(at, 4096)));
    }
    REQUIRE(device->submit(writes));
    REQUIRE(device->submit(reads));
    CHECK(std::memcmp(source.bytes().data(), target.bytes().data(), 4_MiB) == 0);
  }
  SECTION("nothing") {
    REQUIRE(device->submit({}));
    REQUIRE(device->write(0, {}));
  }
}

TEST_CASE("file device: refuses what is not in whole sectors or outside", "[native]") {
  TemporaryDirectory directory;
  const auto device = create(directory / "image", 1_MiB);
  std::vector<std::byte> buffer(8192);
  for (const std::uint64_t offset : {std::uint64_t{100}, 1_MiB - 4096, 1_MiB, UINT64_MAX - 4095}) {
    const Result<void> result = device->read(offset, buffer);
    REQUIRE(!result);
    CHECK(result.error().code == Errc::kInvalid);
    CHECK(result.error().where == offset);
  }
}

TEST_CASE("file device: an image whose size is no multiple of a page", "[native]") {
  const FileOptions options = generate_options();
  TemporaryDirectory directory;
  const auto device = create(directory / "image", 4096 * 3 + 512, options);
  INFO(device->description());
  if (device->geometry().sector_bytes == 512) {
    CHECK(device->geometry().bytes == 4096 * 3 + 512);
    const auto data = pattern(1024, 3);
    REQUIRE(device->write(4096 * 3 - 512, data));
    CHECK(read_back(*device, 4096 * 3 - 512, 1024) == data);
  } else {
    CHECK(device->geometry().bytes == 4096 * 3);
  }
}

TEST_CASE("file device: a file that has become shorter gives an error, not zeros", "[native]") {
  const FileOptions options = generate_options();
  TemporaryDirectory directory;
  const auto device = create(directory / "image", 1_MiB, options);
  const auto data = pattern(4096, 1);
  REQUIRE(device->write(0, data));
  REQUIRE(device->flush());
  std::filesystem::resize_file(directory / "image", 64_KiB);
  std::vector<std::byte> first(4096);
  std::vector<std::byte> second(4096);
  std::vector<std::byte> third(4096);
  const std::vector<IoRequest> batch = {
      IoRequest::read(512_KiB, first), IoRequest::read(256_KiB, second), IoRequest::read(0, third)};
  const Result<void> result = device->submit(batch);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::kIo);
  CHECK(result.error().place == Place::kByte);
  CHECK(result.error().where == 512_KiB);
  CHECK_THAT(result.error().what, Contains("shorter"));
  CHECK(third == data);
}

TEST_CASE("file device: a full file system is no_space, at the place", "[native]") {
  TemporaryDirectory directory;
  Mount small("-t tmpfs -o size=1m none", directory / "small");
  if (!small.mounted()) {
    WARN("not run: it mounts a small file system, which takes root");
    return;
  }
  {
    const FileOptions options = generate_options();
    const auto device = create(directory / "small/image", 8_MiB, options);
    const Result<void> result = device->write(4096, pattern(2_MiB, 1));
    REQUIRE(!result);
    CHECK(result.error().code == Errc::kNoSpace);
    CHECK(result.error().where == 4096);
  }
  // Nothing of a closed device lingers: neither the file nor its lock.
  CHECK(small.unmount());
}

TEST_CASE("file device: discard frees space or does nothing, and keeps the rest", "[native]") {
  TemporaryDirectory directory;
  const auto device = create(directory / "image", 1_MiB);
  const auto data = pattern(1_MiB, 1);
  REQUIRE(device->write(0, data));
  REQUIRE(device->discard(256_KiB, 256_KiB));
  REQUIRE(device->discard(0, 0));
  CHECK(read_back(*device, 0, 256_KiB) ==
        std::vector<std::byte>(data.begin(), data.begin() + 256_KiB));
  CHECK(read_back(*device, 512_KiB, 512_KiB) ==
        std::vector<std::byte>(data.begin() + 512_KiB, data.end()));
  CHECK(device->geometry().bytes == 1_MiB);
  CHECK(!device->discard(1_MiB, 512));
}

TEST_CASE("file device: says which path is in use, and takes the one that is asked for",
          "[native]") {
  TemporaryDirectory directory;
  (void)create(directory / "image", 1_MiB);
  const auto description = [&](const FileOptions& options) {
    const auto device = FileDevice::open(directory / "image", FileOpenMode::kReadWrite, options);
    REQUIRE(device);
    return (*device)->description();
  };
  CHECK_THAT(description({.io_path = IoPath::kSyscalls}), Contains("pread/pwrite"));
  CHECK_THAT(description({.caching = FileCaching::kBuffered}), Contains("buffered"));
  CHECK_THAT(description({}), Contains("image, 1048576 bytes, "));
  ::setenv("CORDWOOD_IO_PATH", "syscalls", 1);
  CHECK_THAT(description({}), Contains("pread/pwrite"));
  ::unsetenv("CORDWOOD_IO_PATH");

  const auto uring =
      FileDevice::open(directory / "image", FileOpenMode::kReadWrite, {.io_path = IoPath::kUring});
  if (uring) {
    CHECK_THAT((*uring)->description(), Contains("io_uring"));
  } else {
    CHECK(uring.error().code == Errc::kNotSupported);
  }
}

TEST_CASE("file device: sectors larger than wanted turn direct transfers off", "[native]") {
  TemporaryDirectory directory;
  (void)create(directory / "image", 1_MiB);
  const auto device =
      FileDevice::open(directory / "image", FileOpenMode::kReadWrite, {.sector_bytes_max = 512});
  REQUIRE(device);
  CHECK((*device)->geometry().sector_bytes == 512);
}

TEST_CASE("file device: threads share it, more of them than there are rings", "[native][threads]") {
  const FileOptions options = generate_options();
  TemporaryDirectory directory;
  constexpr std::uint64_t kThreads = 20;
  constexpr std::uint64_t kShare = 256_KiB;
  const auto device = create(directory / "image", kThreads * kShare, options);
  std::vector<int> failures(kThreads, 0);
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      Random random(id);
      for (int round = 0; round < 20; ++round) {
        const std::uint64_t offset = id * kShare + random.below(32) * 4096;
        const auto data = pattern(4096 * random.between(1, 32), random.next());
        if (!device->write(offset, data, random.one_in(10))) ++failures[id];
        if (round % 10 == 0 && !device->flush()) ++failures[id];
        if (read_back(*device, offset, data.size()) != data) ++failures[id];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : failures) CHECK(count == 0);
}
