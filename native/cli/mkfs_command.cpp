#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "file_device.hpp"
#include "volume/check.hpp"
#include "volume/content_probe.hpp"
#include "volume/json_parts.hpp"
#include "volume/options.hpp"

namespace cordwood::cli {

namespace {

constexpr std::uint64_t kNewImageBytes = 1_GiB;

struct MkfsOptions {
  std::string image;
  std::string node = "16K";
  std::string block = "4K";
  std::string size;
  std::string log_size;  ///< empty: as the device's size gives it
  std::string label;
  bool force = false;
};

/// What the image was before, so that a failure can leave it so.
struct Before {
  bool exists = false;
  bool block_device = false;
  std::uint64_t bytes = 0;  ///< of a regular file
};

Outcome<Before> look_at(const std::string& image) {
  struct stat found {};
  if (::stat(image.c_str(), &found) != 0) {
    if (errno == ENOENT) return Before{};
    return host_failure(errno, image);
  }
  if (S_ISDIR(found.st_mode)) {
    return refused(image + ": is a directory", "name a file or a block device");
  }
  if (!S_ISREG(found.st_mode) && !S_ISBLK(found.st_mode)) {
    return refused(image + ": is neither a file nor a block device", "name one of these");
  }
  return Before{true, S_ISBLK(found.st_mode), static_cast<std::uint64_t>(found.st_size)};
}

Outcome<std::array<std::uint8_t, 16>> random_uuid() {
  std::array<std::uint8_t, 16> uuid{};
  if (::getrandom(uuid.data(), uuid.size(), 0) != static_cast<ssize_t>(uuid.size())) {
    return host_failure(errno, "random numbers");
  }
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);  // version 4: random
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

Outcome<FormatOptions> format_options(const MkfsOptions& options) {
  FormatOptions format;
  const auto block = TRY(size_option("-b", options.block));
  const auto node = TRY(size_option("-n", options.node));
  if (block > kMaxBlockBytes)
    return refused("-b " + options.block + ": a block is 512 to 4096 bytes");
  if (node > kMaxNodeBytes) return refused("-n " + options.node + ": a node is 4K to 64K");
  if (!options.log_size.empty()) {
    format.log_bytes = TRY(size_option("--log-size", options.log_size));
    if (format.log_bytes == 0) {
      return refused("--log-size 0: a volume always has a log", "leave it out for a usual size");
    }
  }
  format.block_bytes = static_cast<std::uint32_t>(block);
  format.node_bytes = static_cast<std::uint32_t>(node);
  if (options.label.size() > 63 || !is_utf8(options.label)) {
    return refused("--label: at most 63 bytes of UTF-8");
  }
  format.label = options.label;
  format.uuid = TRY(random_uuid());
  format.root_uid = ::geteuid();
  format.root_gid = ::getegid();
  return format;
}

/// The first 64 KiB are not used by a volume. What they hold of another filesystem would make other
/// programs take the image for that.
Outcome<void> wipe_start(BlockDevice& device) {
  const std::vector<std::byte> zeros(64_KiB);
  return about("wipe", device.write(0, zeros));
}

/// Makes sure that nothing of value is overwritten, before anything is changed.
Outcome<void> check_content(const MkfsOptions& options, const Before& before) {
  if (before.bytes == 0 && !before.block_device) return {};
  const auto device = TRY(open_device(options.image, Access::kWrite));
  const auto content = identify_content(*device);
  if (!content) return in_image(options.image, volume_failure(content.error()));
  if (content->empty() || options.force) return {};
  return refused(fmt::format("{}: holds {}", options.image, *content),
                 "give --force to overwrite it");
}

Outcome<std::uint64_t> wanted_bytes(const MkfsOptions& options, const Before& before) {
  if (!options.size.empty()) {
    if (before.block_device) {
      return refused(options.image + ": a block device keeps its size", "leave out --size");
    }
    return size_option("--size", options.size);
  }
  if (!before.exists) return kNewImageBytes;
  if (!before.block_device) return before.bytes;
  const auto device = TRY(open_device(options.image, Access::kWrite));
  return device->geometry().bytes;
}

/// Opens what is to be formatted, in the size that it is to have.
Outcome<std::unique_ptr<BlockDevice>> device_to_format(const MkfsOptions& options,
                                                       const FormatOptions& format,
                                                       const Before& before, std::uint64_t bytes) {
  FileOptions file;
  file.sector_bytes_max = format.block_bytes;
  const bool keep = before.block_device || (before.exists && before.bytes == bytes);
  auto device = keep
                    ? FileDevice::open(options.image, FileOpenMode::kReadWrite, file)
                    : FileDevice::create(options.image, bytes, FileDevice::Content::kDiscard, file);
  if (!device) return device_failure(options.image, device.error());
  return std::unique_ptr<BlockDevice>(std::move(*device));
}

void report(const GlobalOptions& global, const MkfsOptions& options, const FormatOptions& format,
            std::uint64_t bytes, std::uint64_t log_bytes) {
  if (global.json) {
    boost::json::object object;
    put_text(object, "image", options.image);
    object["uuid"] = uuid_text(format.uuid);
    put_text(object, "label", format.label);
    object["bytes"] = bytes;
    object["block_bytes"] = format.block_bytes;
    object["node_bytes"] = format.node_bytes;
    object["log_bytes"] = log_bytes;
    print_json(object);
    return;
  }
  print_text(fmt::format("{}: {}, blocks of {}, nodes of {}, a log of {}, uuid {}\n",
                         printable(options.image), size_text(bytes), size_text(format.block_bytes),
                         size_text(format.node_bytes), size_text(log_bytes),
                         uuid_text(format.uuid)));
}

Outcome<ExitCode> mkfs(const MkfsOptions& options, const GlobalOptions& global) {
  const FormatOptions format = TRY(format_options(options));
  const Before before = TRY(look_at(options.image));
  const std::uint64_t bytes = TRY(wanted_bytes(options, before));
  const auto layout =
      Layout::compute(bytes, format.block_bytes, format.node_bytes, format.log_bytes);
  if (!layout) {
    Failure failure = in_image(options.image, volume_failure(layout.error()));
    failure.advice = "choose other sizes: --size, -n, -b, --log-size";
    return failure;
  }
  if (before.exists) TRY(check_content(options, before));
  auto device = TRY(device_to_format(options, format, before, bytes));
  auto written = before.exists ? wipe_start(*device) : Outcome<void>();
  if (written) written = about("", Volume::format(*device, format));
  device.reset();
  if (!written) {
    if (!before.exists) ::unlink(options.image.c_str());
    return in_image(options.image, written.error());
  }
  report(global, options, format, bytes, layout->log.count * layout->block_bytes);
  return ExitCode::kFine;
}

}  // namespace

void add_mkfs_command(Commands& commands) {
  const auto options = std::make_shared<MkfsOptions>();
  CLI::App* const command =
      commands.add("mkfs", "Make an empty volume in a file or on a block device");
  command->add_option("IMAGE", options->image, "file, made if missing, or block device")
      ->required();
  command->add_option("-n,--node", options->node, "node size, 4K to 64K (16K)");
  command->add_option("-b,--block", options->block, "block size, 512 to 4K (4K)");
  command->add_option("--size", options->size,
                      "size of the file: 1G for a new one, else what it has");
  command->add_option("--log-size", options->log_size,
                      "size of the log, 256K to a quarter of the volume (a 64th, at most 64M)");
  command->add_option("--label", options->label, "name of the volume, at most 63 bytes");
  command->add_flag("--force", options->force, "overwrite an image that holds something");
  commands.set_action(command,
                      [options](const GlobalOptions& global) { return mkfs(*options, global); });
}

}  // namespace cordwood::cli
