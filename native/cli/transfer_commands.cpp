#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/make_directories.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "transfer/export.hpp"
#include "transfer/import.hpp"

namespace cordwood::cli {

namespace {

struct ImportArguments {
  std::string image;
  std::vector<std::string> sources;
  std::string to = "/";
  bool one_filesystem = false;
};

struct ExportArguments {
  std::string image;
  std::vector<std::string> paths;  ///< the last one is the target
};

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

double per_second(std::uint64_t amount, double seconds) {
  return seconds <= 0 ? 0 : static_cast<double>(amount) / seconds;
}

/// What was done, in one line, with the kinds that occurred.
std::string summary(const char* verb, const TransferReport& report, double seconds) {
  const TransferCounts& counts = report.counts;
  std::string kinds;
  const auto kind = [&kinds](std::uint64_t count, const char* name) {
    if (count == 0) return;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count_text(count), name);
  };
  kind(counts.files, "files");
  kind(counts.directories, "directories");
  kind(counts.symlinks, "symlinks");
  kind(counts.specials, "special files");
  kind(counts.hard_links, "hard links");
  kind(counts.xattrs, "xattrs");
  return fmt::format("{} {}: {}; {} in {:.2f} s ({:.0f} entries/s, {:.1f} MB/s)\n", verb,
                     count_text(counts.entries()), kinds.empty() ? "nothing" : kinds,
                     size_text(counts.bytes), seconds, per_second(counts.entries(), seconds),
                     per_second(counts.data_bytes, seconds) / 1e6);
}

void print_report(const GlobalOptions& global, const char* verb, const TransferReport& report,
                  double seconds, const Volume& volume) {
  if (global.json) {
    boost::json::object object = transfer_json(report);
    object["seconds"] = seconds;
    object["policy"] = policy_text(volume.options().policy);
    boost::json::object statistics = statistics_json(volume.statistics());
    for (auto& [name, value] : statistics) object[name] = std::move(value);
    print_json(object);
    return;
  }
  print_text(summary(verb, report, seconds));
  if (report.counts.owners_not_kept > 0) {
    print_text(fmt::format("{} owners were not kept: only root can give files away\n",
                           count_text(report.counts.owners_not_kept)));
  }
  if (report.failure_count() > 0) {
    print_text(fmt::format("{} failed, see above\n", count_text(report.failure_count())));
  }
}

/// What was mistyped is found out before anything is made.
Outcome<void> check_sources(const std::vector<std::string>& sources) {
  for (const std::string& source : sources) {
    struct stat found {};
    if (::lstat(source.c_str(), &found) != 0) return host_failure(errno, source);
  }
  return {};
}

Outcome<ExitCode> import_into(Volume& volume, const ImportArguments& arguments,
                              const GlobalOptions& global) {
  const InodeNumber target = TRY(make_directories(volume, arguments.to, DirectoryDefaults{}));
  TransferProgress progress;
  TransferReport report(progress);
  ImportOptions options;
  options.one_filesystem = arguments.one_filesystem;
  struct stat image {};
  if (::stat(arguments.image.c_str(), &image) == 0) {
    options.image_device = image.st_dev;
    options.image_inode = image.st_ino;
  }
  Importer importer(volume, options, report);
  const auto started = SteadyClock::now();
  for (const std::string& source : arguments.sources) {
    if (!importer.run(source, target)) break;
  }
  // The figures are of work that is durable.
  if (report.exit() != ExitCode::kDamaged) TRY(about("", volume.sync()));
  progress.clear();
  print_report(global, "imported", report, Seconds(SteadyClock::now() - started).count(), volume);
  return report.exit();
}

Outcome<UniqueFd> open_target(const std::string& target) {
  if (::mkdir(target.c_str(), 0777) != 0 && errno != EEXIST) {
    return host_failure(errno, target + ": make directory");
  }
  UniqueFd directory(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return host_failure(errno, target);
  return directory;
}

Outcome<ExitCode> export_from(Volume& volume, const ExportArguments& arguments,
                              const GlobalOptions& global) {
  const std::string& target = arguments.paths.back();
  for (std::size_t i = 0; i + 1 < arguments.paths.size(); ++i) {
    // Found out before anything is made on the host.
    TRY(resolve_path(volume, arguments.paths[i], FollowLast::kNo));
  }
  const UniqueFd directory = TRY(open_target(target));
  TransferProgress progress;
  TransferReport report(progress);
  Exporter exporter(volume, directory.get(), report);
  const auto started = SteadyClock::now();
  for (std::size_t i = 0; i + 1 < arguments.paths.size(); ++i) {
    if (!exporter.run(arguments.paths[i])) break;
  }
  progress.clear();
  print_report(global, "exported", report, Seconds(SteadyClock::now() - started).count(), volume);
  return report.exit();
}

void add_import(Commands& commands) {
  const auto arguments = std::make_shared<ImportArguments>();
  CLI::App* const command = commands.add(
      "import",
      "Copy files and trees of the host into a volume.\n"
      "SOURCE makes an entry of that name in the target directory; SOURCE/ and SOURCE/. put the\n"
      "content and the attributes of SOURCE on the target itself.");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("SOURCE", arguments->sources, "files or directories of the host")->required();
  command->add_option("--to", arguments->to, "directory in the volume, made if missing (/)");
  command->add_flag("-x,--one-file-system", arguments->one_filesystem,
                    "leave directories empty where another filesystem is mounted");
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    TRY(check_image_path(arguments->to));
    TRY(check_sources(arguments->sources));
    return on_volume(global, arguments->image, Access::kWrite,
                     [&](Volume& volume) { return import_into(volume, *arguments, global); });
  });
}

void add_export(Commands& commands) {
  const auto arguments = std::make_shared<ExportArguments>();
  CLI::App* const command = commands.add(
      "export",
      "Copy files and trees of a volume to the host: export IMAGE /PATH... TARGET\n"
      "TARGET is a directory, made if missing. /PATH makes an entry of that name in it; /PATH/,\n"
      "/PATH/. and / put the content and the attributes of the directory on TARGET itself.");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATHS", arguments->paths, "paths in the volume, then the target")
      ->required()
      ->expected(2, 1 << 20);
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    for (std::size_t i = 0; i + 1 < arguments->paths.size(); ++i) {
      TRY(check_image_path(arguments->paths[i]));
    }
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return export_from(volume, *arguments, global); });
  });
}

}  // namespace

void add_transfer_commands(Commands& commands) {
  add_import(commands);
  add_export(commands);
}

}  // namespace cordwood::cli
