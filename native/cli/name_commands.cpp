#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/make_directories.hpp"
#include "cli/open_image.hpp"
#include "cli/remove_tree.hpp"
#include "host_file.hpp"

namespace cordwood::cli {

namespace {

/// A command on names: IMAGE and paths in it.
struct NameArguments {
  std::string image;
  std::vector<std::string> paths;
  int paths_min = 1;
};

struct MkdirArguments : NameArguments {
  bool parents = false;
  std::string mode = "755";
  std::uint32_t permissions = 0;  ///< what `mode` says
};

struct RemoveArguments : NameArguments {
  bool recursive = false;
  bool force = false;
};

struct MoveArguments : NameArguments {
  bool no_replace = false;
  bool exchange = false;
};

struct LinkArguments : NameArguments {
  bool symbolic = false;
};

Outcome<std::uint32_t> parse_mode(const std::string& text) {
  std::uint32_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || rest != end || mode > 07777) {
    return refused("--mode " + text, "give permissions in octal, as 755");
  }
  return mode;
}

Outcome<ExitCode> make_directory_paths(Volume& volume, const MkdirArguments& arguments) {
  for (const std::string& path : arguments.paths) {
    if (arguments.parents) {
      TRY(make_directories(volume, path, {arguments.permissions}));
      continue;
    }
    const NamePlace place = TRY(resolve_place(volume, path));
    const NewInode what = new_inode_of_caller(FileType::kDirectory, arguments.permissions);
    TRY(about(path, volume.make_directory(place.parent, place.name, what)));
  }
  return ExitCode::kFine;
}

Outcome<void> remove_one(Volume& volume, const std::string& path,
                         const RemoveArguments& arguments) {
  const auto found = volume.resolve(path);
  if (!found && found.error().code == Errc::kNoEntry && arguments.force) return {};
  const Attributes what = TRY(about(path, Result<Attributes>(found)));
  if (what.inode == kRootInode) {
    return refused(path + ": is the root directory", "remove what is in it, or use cordwood mkfs");
  }
  const NamePlace place = TRY(resolve_place(volume, path));
  if (!what.is_directory()) return about(path, volume.unlink(place.parent, place.name));
  if (arguments.recursive) return remove_tree(volume, place.parent, place.name, path);
  return volume_failure(make_error(Errc::kIsDirectory, "not removed without -r"), path);
}

Outcome<ExitCode> remove_paths(Volume& volume, const RemoveArguments& arguments) {
  for (const std::string& path : arguments.paths) TRY(remove_one(volume, path, arguments));
  return ExitCode::kFine;
}

/// Where a path as a target of mv or ln points: into a directory that exists, or a name of its own.
Outcome<NamePlace> target_place(Volume& volume, const std::string& target,
                                const std::string& source) {
  const auto found = volume.resolve(target, FollowLast::kYes);
  if (!found || !found->is_directory()) return resolve_place(volume, target);
  const std::string name = split_path(source).name;
  if (name.empty()) return refused(target + ": is a directory", "give the new name as well");
  return NamePlace{found->inode, name};
}

Outcome<ExitCode> move(Volume& volume, const MoveArguments& arguments) {
  const std::string& target = arguments.paths.back();
  const std::size_t sources = arguments.paths.size() - 1;
  if (sources > 1 && !TRY(resolve_path(volume, target, FollowLast::kYes)).is_directory()) {
    return volume_failure(
        make_error(Errc::kNotDirectory, "several things go into a directory only"), target);
  }
  RenameMode mode = RenameMode::kReplace;
  if (arguments.no_replace) mode = RenameMode::kNoReplace;
  if (arguments.exchange) mode = RenameMode::kExchange;
  for (std::size_t i = 0; i < sources; ++i) {
    const std::string& source = arguments.paths[i];
    const NamePlace from = TRY(resolve_place(volume, source));
    // To exchange is to name both sides.
    const NamePlace to = arguments.exchange ? TRY(resolve_place(volume, target))
                                            : TRY(target_place(volume, target, source));
    TRY(about(source + " to " + target,
              volume.rename(from.parent, from.name, to.parent, to.name, mode)));
  }
  return ExitCode::kFine;
}

Outcome<ExitCode> make_link(Volume& volume, const LinkArguments& arguments) {
  const std::string& source = arguments.paths[0];
  const std::string& target = arguments.paths[1];
  const NamePlace place = TRY(target_place(volume, target, source));
  if (arguments.symbolic) {
    TRY(about(target, volume.make_symlink(place.parent, place.name, source,
                                          new_inode_of_caller(FileType::kSymlink, 0777))));
    return ExitCode::kFine;
  }
  const Attributes linked = TRY(resolve_path(volume, source, FollowLast::kNo));
  if (linked.is_directory()) return refused(source + ": is a directory", "make a symlink with -s");
  TRY(about(target, volume.link(linked.inode, place.parent, place.name)));
  return ExitCode::kFine;
}

/// Adds the arguments that all have, and the action, which runs on a writable volume.
/// @param check  looks at the arguments alone, before the image is opened.
template <class Arguments, class Check, class Run>
void finish_command(Commands& commands, CLI::App* command,
                    const std::shared_ptr<Arguments>& arguments, int paths_max,
                    const char* description, Check check, Run run) {
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->paths, description)
      ->required()
      ->expected(arguments->paths_min, paths_max);
  commands.set_action(
      command, [arguments, check, run](const GlobalOptions& global) -> Outcome<ExitCode> {
        TRY(check(*arguments));
        return on_volume(
            global, arguments->image, Access::kWrite,
            [&](Volume& volume) -> Outcome<ExitCode> { return run(volume, *arguments); });
      });
}

constexpr int kManyPaths = 1 << 20;

Outcome<void> check_paths(const NameArguments& arguments) {
  for (const std::string& path : arguments.paths) TRY(check_image_path(path));
  return {};
}

void add_mkdir(Commands& commands) {
  const auto arguments = std::make_shared<MkdirArguments>();
  CLI::App* const command = commands.add("mkdir", "Make directories in a volume");
  command->add_flag("-p,--parents", arguments->parents, "make what is missing above, too");
  command->add_option("-m,--mode", arguments->mode, "permissions in octal (755)");
  finish_command(
      commands, command, arguments, kManyPaths, "paths in the volume",
      [](MkdirArguments& given) -> Outcome<void> {
        given.permissions = TRY(parse_mode(given.mode));
        return check_paths(given);
      },
      make_directory_paths);
}

void add_rm(Commands& commands) {
  const auto arguments = std::make_shared<RemoveArguments>();
  CLI::App* const command = commands.add("rm", "Remove names from a volume");
  command->add_flag("-r,--recursive", arguments->recursive, "directories with all that is in them");
  command->add_flag("-f,--force", arguments->force, "say nothing about names that are not there");
  finish_command(commands, command, arguments, kManyPaths, "paths in the volume", check_paths,
                 remove_paths);
}

void add_mv(Commands& commands) {
  const auto arguments = std::make_shared<MoveArguments>();
  arguments->paths_min = 2;
  CLI::App* const command = commands.add(
      "mv", "Rename in a volume: mv IMAGE /FROM... /TO; into /TO when it is a directory");
  CLI::Option* const no_replace =
      command->add_flag("--no-replace", arguments->no_replace, "refuse when the new name exists");
  command->add_flag("--exchange", arguments->exchange, "swap the two, in one step")
      ->excludes(no_replace);
  finish_command(commands, command, arguments, kManyPaths, "what is renamed, then to what",
                 check_paths, move);
}

void add_ln(Commands& commands) {
  const auto arguments = std::make_shared<LinkArguments>();
  arguments->paths_min = 2;
  CLI::App* const command =
      commands.add("ln", "Make a further name in a volume: ln [-s] IMAGE EXISTING /NEW");
  command->add_flag("-s,--symbolic", arguments->symbolic,
                    "a symlink; EXISTING is then stored as it is written");
  finish_command(
      commands, command, arguments, 2, "what exists, then the new name",
      [](const LinkArguments& given) -> Outcome<void> {
        if (!given.symbolic) TRY(check_image_path(given.paths[0]));
        return check_image_path(given.paths[1]);
      },
      make_link);
}

}  // namespace

void add_name_commands(Commands& commands) {
  add_mkdir(commands);
  add_rm(commands);
  add_mv(commands);
  add_ln(commands);
}

}  // namespace cordwood::cli
