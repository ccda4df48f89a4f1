// Does things to a volume and ends without closing it, as after a power loss: what was made durable
// is in the log then. For tests of the command line, which has no way to leave a volume like that.
//
//     leave_unclosed IMAGE STEP...
//
// Steps: make=NAME (an empty file in the root), write=NAME=BYTES (so many letters, replacing the
// file's start), remove=NAME, fsync=NAME, sync, checkpoint. Ends with 1 and a line when one fails.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "file_device.hpp"
#include "volume/volume.hpp"

namespace {

using namespace cordwood;

/// Takes the text up to the next '=' off the front.
std::string take_word(std::string_view& text) {
  const std::size_t equals = text.find('=');
  const std::string word(text.substr(0, equals));
  text = equals == std::string_view::npos ? std::string_view{} : text.substr(equals + 1);
  return word;
}

Result<void> write_letters(Volume& volume, InodeNumber inode, std::size_t bytes) {
  std::string letters(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) letters[i] = static_cast<char>('a' + i % 26);
  TRY(volume.write(inode, 0, as_bytes(letters)));
  return {};
}

Result<void> run_step(Volume& volume, std::string_view step) {
  const std::string verb = take_word(step);
  if (verb == "sync") return volume.sync();
  if (verb == "checkpoint") return volume.checkpoint();
  const std::string name = take_word(step);
  if (verb == "make") {
    TRY(volume.create(kRootInode, name, NewInode{}));
    return {};
  }
  if (verb == "remove") return volume.unlink(kRootInode, name);
  const InodeNumber inode = TRY(volume.lookup(kRootInode, name)).inode;
  if (verb == "write") return write_letters(volume, inode, std::stoul(take_word(step)));
  if (verb == "fsync") return volume.fsync(inode);
  return make_error(Errc::kInvalid, "no such step");
}

int fail(const char* what, const Error& error) {
  std::fprintf(stderr, "leave_unclosed: %s: %s\n", what, error.message().c_str());
  return EXIT_FAILURE;
}

}  // namespace

int main(int count, char** values) {
  if (count < 2) return EXIT_FAILURE;
  auto device = FileDevice::open(values[1], FileOpenMode::kReadWrite, FileOptions{});
  if (!device) return fail(values[1], device.error());
  auto volume = Volume::open(**device, MountOptions{});
  if (!volume) return fail(values[1], volume.error());
  for (int i = 2; i < count; ++i) {
    if (const auto done = run_step(**volume, values[i]); !done)
      return fail(values[i], done.error());
  }
  ::_exit(EXIT_SUCCESS);  // no destructor: it would close the volume
}
