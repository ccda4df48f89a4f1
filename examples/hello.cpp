// A volume in memory: make it, write a file, make it durable, read it back, list the root.

#include <array>
#include <cstdio>

#include "device/memory_device.hpp"
#include "volume/volume.hpp"

namespace {

using namespace cordwood;

Result<void> demo() {
  MemoryDevice device(64_MiB);
  FormatOptions format;
  format.label = "hello";
  format.uuid = {1, 2, 3};  // a real program draws it at random
  TRY(Volume::format(device, format));

  auto volume = TRY(Volume::open(device));
  const Attributes file = TRY(volume->create(kRootInode, "hello", NewInode{}));
  TRY(volume->write(file.inode, 0, as_bytes("Hello, tree\n")));
  TRY(volume->fsync(file.inode));  // from here on a crash keeps the file

  std::array<std::byte, 64> buffer;
  const std::size_t bytes = TRY(volume->read(file.inode, 0, buffer));
  std::fwrite(buffer.data(), 1, bytes, stdout);
  TRY(volume->read_directory(kRootInode, 0, [](const DirectoryEntry& entry) {
    std::printf("%llu %.*s\n", static_cast<unsigned long long>(entry.inode.value),
                static_cast<int>(entry.name.size()), entry.name.data());
    return true;
  }));
  return volume->close();
}

}  // namespace

int main() {
  const auto done = demo();
  if (!done) std::fprintf(stderr, "hello: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
