#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "file_device.hpp"
#include "unit/device/patterns.hpp"
#include "unit/native/temporary_directory.hpp"

using namespace cordwood;
using Catch::Matchers::Contains;

namespace {

using Content = FileDevice::Content;
constexpr FileOpenMode kReadWrite = FileOpenMode::kReadWrite;
constexpr FileOpenMode kReadOnly = FileOpenMode::kReadOnly;

/// The error of opening; fails the test if it opens.
Error error_of(const std::string& path, FileOpenMode mode = kReadWrite) {
  const auto device = FileDevice::open(path, mode);
  REQUIRE(!device);
  return device.error();
}

void expect(const Error& error, Errc code, const char* part) {
  INFO(error.message());
  CHECK(error.code == code);
  CHECK_THAT(error.what, Contains(part));
}

/// The code of opening the file in another process; kExists stands for success.
Errc open_elsewhere(const std::string& path, FileOpenMode mode) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto device = FileDevice::open(path, mode);
    ::_exit(static_cast<int>(device ? Errc::kExists : device.error().code));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return static_cast<Errc>(WEXITSTATUS(status));
}

void make_socket(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(fd);
}

}  // namespace

TEST_CASE("file open: each wrong path has its own error", "[native]") {
  TemporaryDirectory directory;
  std::ofstream(directory / "empty");
  std::ofstream(directory / "tiny") << "x";
  REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
  make_socket(directory / "socket");
  std::filesystem::create_symlink("loop", directory / "loop");
  for (const FileOpenMode mode : {kReadOnly, kReadWrite}) {
    expect(error_of(directory / "missing", mode), Errc::kNoEntry, "no such file");
    expect(error_of(directory / "empty/x", mode), Errc::kNotDirectory, "not a directory");
    expect(error_of(directory / "", mode), Errc::kIsDirectory, "a directory");
    expect(error_of(directory / "fifo", mode), Errc::kNotSupported, "FIFO");
    expect(error_of(directory / "socket", mode), Errc::kNotSupported, "socket");
    expect(error_of("/dev/null", mode), Errc::kNotSupported, "character device");
    expect(error_of(directory / "empty", mode), Errc::kInvalid, "empty file");
    expect(error_of(directory / "tiny", mode), Errc::kInvalid, "shorter than one sector");
    expect(error_of(directory / "loop", mode), Errc::kSymlinkLoop, "symbolic links");
    expect(error_of(directory / std::string(300, 'x'), mode), Errc::kNameTooLong, "too long");
  }
}

TEST_CASE("file open: without permission", "[native]") {
  TemporaryDirectory directory;
  REQUIRE(FileDevice::create(directory / "image", 1_MiB));
  REQUIRE(::chmod((directory / "image").c_str(), 0444) == 0);
  REQUIRE(::chmod((directory / "").c_str(), 0755) == 0);
  const bool root = ::geteuid() == 0;
  if (root) REQUIRE(::seteuid(65534) == 0);
  const auto for_writing = FileDevice::open(directory / "image", kReadWrite);
  const auto for_reading = FileDevice::open(directory / "image", kReadOnly);
  if (root) REQUIRE(::seteuid(0) == 0);
  REQUIRE(!for_writing);
  expect(for_writing.error(), Errc::kAccess, "open it read-only");
  CHECK(for_reading);
}

TEST_CASE("file open: read-only takes no writes and leaves the file alone", "[native]") {
  TemporaryDirectory directory;
  const auto data = pattern(4096, 1);
  REQUIRE((*FileDevice::create(directory / "image", 1_MiB))->write(0, data));
  const auto device = FileDevice::open(directory / "image", kReadOnly);
  REQUIRE(device);
  const Result<void> result = (*device)->write(0, pattern(4096, 2));
  REQUIRE(!result);
  CHECK(result.error().code == Errc::kReadOnly);
  REQUIRE((*device)->flush());
  CHECK(!(*device)->geometry().discard);
  REQUIRE((*device)->discard(0, 4096));
  CHECK(read_back(**device, 0, 4096) == data);
  CHECK_THAT((*device)->description(), Contains("read-only"));
}

TEST_CASE("file open: one writer or many readers, in this process and in others", "[native]") {
  TemporaryDirectory directory;
  const std::string path = directory / "image";
  {
    const auto writer = FileDevice::create(path, 1_MiB);
    REQUIRE(writer);
    expect(error_of(path), Errc::kBusy, "in use by another process");
    expect(error_of(path, kReadOnly), Errc::kBusy, "unmount or close it first");
    CHECK(open_elsewhere(path, kReadWrite) == Errc::kBusy);
    CHECK(open_elsewhere(path, kReadOnly) == Errc::kBusy);
    const auto again = FileDevice::create(path, 2_MiB, Content::kDiscard);
    REQUIRE(!again);
    CHECK(again.error().code == Errc::kBusy);
    CHECK(std::filesystem::file_size(path) == 1_MiB);
  }
  {
    const auto reader = FileDevice::open(path, kReadOnly);
    REQUIRE(reader);
    CHECK(FileDevice::open(path, kReadOnly));
    CHECK(open_elsewhere(path, kReadOnly) == Errc::kExists);
    CHECK(open_elsewhere(path, kReadWrite) == Errc::kBusy);
  }
  CHECK(open_elsewhere(path, kReadWrite) == Errc::kExists);
}

TEST_CASE("file create: new, longer, shorter, emptied", "[native]") {
  TemporaryDirectory directory;
  const std::string path = directory / "image";
  const auto data = pattern(4096, 1);
  REQUIRE((*FileDevice::create(path, 1_MiB))->write(0, data));
  CHECK(std::filesystem::file_size(path) == 1_MiB);

  const auto longer = FileDevice::create(path, 2_MiB);
  REQUIRE(longer);
  CHECK((*longer)->geometry().bytes == 2_MiB);
  CHECK(read_back(**longer, 0, 4096) == data);
}

TEST_CASE("file create: never shortens unless told to", "[native]") {
  TemporaryDirectory directory;
  const std::string path = directory / "image";
  const auto data = pattern(4096, 1);
  REQUIRE((*FileDevice::create(path, 1_MiB))->write(0, data));
  const auto refused = FileDevice::create(path, 512_KiB);
  REQUIRE(!refused);
  expect(refused.error(), Errc::kExists, "longer");
  CHECK(std::filesystem::file_size(path) == 1_MiB);
  const auto emptied = FileDevice::create(path, 512_KiB, Content::kDiscard);
  REQUIRE(emptied);
  CHECK((*emptied)->geometry().bytes == 512_KiB);
  CHECK(read_back(**emptied, 0, 4096) == std::vector<std::byte>(4096));
}

TEST_CASE("file create: what cannot be made leaves nothing behind", "[native]") {
  TemporaryDirectory directory;
  const auto create_error = [&](const std::string& path, std::uint64_t bytes) {
    const auto device = FileDevice::create(path, bytes);
    REQUIRE(!device);
    return device.error().code;
  };
  CHECK(create_error(directory / "image", 0) == Errc::kInvalid);
  CHECK(create_error(directory / "image", 1000) == Errc::kInvalid);
  CHECK(create_error(directory / "none/image", 1_MiB) == Errc::kNoEntry);
  CHECK(create_error(directory / "", 1_MiB) == Errc::kIsDirectory);
  CHECK(create_error("/dev/null", 1_MiB) == Errc::kNotSupported);
  CHECK(create_error(directory / "image", UINT64_MAX - 511) == Errc::kFileTooBig);
  CHECK(create_error(directory / "image", (std::uint64_t{1} << 62)) == Errc::kFileTooBig);
  CHECK(!std::filesystem::exists(directory / "image"));
}
