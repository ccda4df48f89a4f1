#include "cli/open_image.hpp"

#include <csignal>
#include <utility>

#include "cli/text.hpp"
#include "file_device.hpp"
#include "volume/content_probe.hpp"
#include "volume/superblock_slots.hpp"

namespace cordwood::cli {

namespace {

Outcome<std::unique_ptr<FileDevice>> open_file_device(const std::string& image, Access access,
                                                      std::uint32_t sector_bytes_max) {
  FileOptions options;
  options.sector_bytes_max = sector_bytes_max;
  const FileOpenMode mode =
      access == Access::kRead ? FileOpenMode::kReadOnly : FileOpenMode::kReadWrite;
  auto device = FileDevice::open(image, mode, options);
  if (device) return std::move(*device);
  return device_failure(image, device.error());
}

/// The block size of the volume on a device; none when there is no volume to be read.
std::optional<std::uint32_t> block_bytes_on(BlockDevice& device) {
  const auto slots = SuperblockSlots::read(device);
  if (!slots) return std::nullopt;
  const auto best = slots->best();
  if (!best) return std::nullopt;
  return slots->slots[*best].superblock->block_bytes;
}

/// Says what the image holds instead of a volume.
Failure open_failure(const std::string& image, BlockDevice& device, const Error& error) {
  if (error.code != Errc::kNotCordwood) return volume_failure(error, image);
  const auto content = identify_content(device);
  if (!content || content->empty()) return volume_failure(error, image);
  return refused(image + ": holds " + *content + " (" + errc_name(error.code) + ")",
                 "name another image");
}

Outcome<MountOptions> mount_options(const GlobalOptions& options, Access access) {
  MountOptions mount;
  mount.read_only = access == Access::kRead;
  mount.cache_bytes = TRY(size_option("--cache", options.cache));
  auto policy = parse_policy(options.policy);
  if (!policy) return volume_failure(policy.error(), "--policy " + options.policy);
  mount.policy = *policy;
  mount.discard_log = options.discard_log;
  return mount;
}

}  // namespace

Failure device_failure(const std::string& image, const Error& error) {
  Failure failure = volume_failure(error, image);
  // The sentences about files say what to do themselves; what holds for a volume does not for them.
  failure.advice =
      error.code == Errc::kNoEntry ? "check the path, or make it with cordwood mkfs" : "";
  return failure;
}

Failure in_image(const std::string& image, Failure failure) {
  failure.what = image + ": " + failure.what;
  return failure;
}

Outcome<std::unique_ptr<BlockDevice>> open_device(const std::string& image, Access access) {
  auto device = TRY(open_file_device(image, access, 0));
  const std::uint32_t sector_bytes = device->geometry().sector_bytes;
  if (sector_bytes > kMinBlockBytes) {
    // A volume of small blocks on a disk of large sectors goes through the host's cache.
    const auto block_bytes = block_bytes_on(*device);
    if (block_bytes && *block_bytes < sector_bytes) {
      device.reset();
      device = TRY(open_file_device(image, access, *block_bytes));
    }
  }
  return std::unique_ptr<BlockDevice>(std::move(device));
}

Outcome<ExitCode> on_volume_and_device(
    const GlobalOptions& options, const std::string& image, Access access,
    const std::function<Outcome<ExitCode>(Volume&, BlockDevice&)>& action) {
  const MountOptions mount = TRY(mount_options(options, access));
  // Nobody listening any more is no reason to leave a volume without closing it.
  if (access == Access::kWrite) std::signal(SIGPIPE, SIG_IGN);
  const auto device = TRY(open_device(image, access));
  auto opened = Volume::open(*device, mount);
  if (!opened) return open_failure(image, *device, opened.error());
  const std::unique_ptr<Volume> volume = std::move(*opened);
  const auto done = action(*volume, *device);
  const auto closed = volume->close();
  if (!done) return in_image(image, done.error());
  if (!closed) return volume_failure(closed.error(), image);
  return *done;
}

Outcome<ExitCode> on_volume(const GlobalOptions& options, const std::string& image, Access access,
                            const std::function<Outcome<ExitCode>(Volume&)>& action) {
  return on_volume_and_device(options, image, access,
                              [&](Volume& volume, BlockDevice&) { return action(volume); });
}

Outcome<ExitCode> on_device(const std::string& image,
                            const std::function<Outcome<ExitCode>(BlockDevice&)>& action) {
  const auto device = TRY(open_device(image, Access::kRead));
  const auto done = action(*device);
  if (!done) return in_image(image, done.error());
  return *done;
}

Outcome<void> check_image_path(std::string_view path) {
  if (!path.empty() && path.front() == '/') return {};
  const std::string text(path);
  return refused("\"" + text + "\": a path in the image begins with /",
                 path.empty() ? "the root is /" : "write /" + text);
}

Outcome<Attributes> resolve_path(Volume& volume, std::string_view path, FollowLast follow) {
  return about(path, volume.resolve(path, follow));
}

Outcome<NamePlace> resolve_place(Volume& volume, std::string_view path) {
  auto place = TRY(about(path, volume.resolve_parent(path)));
  return NamePlace{place.first, std::move(place.second)};
}

Outcome<std::uint64_t> size_option(std::string_view option, std::string_view text) {
  if (const auto size = parse_size(text)) return *size;
  return refused(std::string(option) + " " + std::string(text) + ": is no size",
                 "give a whole number, also with K, M, G or T, below 16E");
}

}  // namespace cordwood::cli
