#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "device/block_device.hpp"
#include "volume/volume.hpp"

namespace cordwood::cli {

enum class Access : std::uint8_t { kRead, kWrite };

/// Opens the file or block device that holds an image.
/// @errors names the image and says what to do: missing, a directory, no permission, in use.
[[nodiscard]] Outcome<std::unique_ptr<BlockDevice>> open_device(const std::string& image,
                                                                Access access);

/// Runs something on the volume in an image and closes the volume, also after an error, so that
/// what was done until then is durable. Every error names the image.
[[nodiscard]] Outcome<ExitCode> on_volume(const GlobalOptions& options, const std::string& image,
                                          Access access,
                                          const std::function<Outcome<ExitCode>(Volume&)>& action);

/// The same for what also tells about the device.
[[nodiscard]] Outcome<ExitCode> on_volume_and_device(
    const GlobalOptions& options, const std::string& image, Access access,
    const std::function<Outcome<ExitCode>(Volume&, BlockDevice&)>& action);

/// The same for what looks at the device alone, without opening the volume.
[[nodiscard]] Outcome<ExitCode> on_device(
    const std::string& image, const std::function<Outcome<ExitCode>(BlockDevice&)>& action);

/// An error of opening or making the file itself.
[[nodiscard]] Failure device_failure(const std::string& image, const Error& error);

/// Puts the name of the image before what went wrong in it.
[[nodiscard]] Failure in_image(const std::string& image, Failure failure);

/// A path inside an image, as a user wrote it.
/// @errors does not begin with "/".
[[nodiscard]] Outcome<void> check_image_path(std::string_view path);

/// A path inside an image, resolved; errors name the path.
[[nodiscard]] Outcome<Attributes> resolve_path(Volume& volume, std::string_view path,
                                               FollowLast follow);
/// Where a name that is to be made or removed lies; errors name the path.
struct NamePlace {
  InodeNumber parent;
  std::string name;
};
[[nodiscard]] Outcome<NamePlace> resolve_place(Volume& volume, std::string_view path);

/// Parses a size that a user wrote.
/// @errors names the option.
[[nodiscard]] Outcome<std::uint64_t> size_option(std::string_view option, std::string_view text);

}  // namespace cordwood::cli
