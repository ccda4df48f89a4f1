#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/make_directories.hpp"
#include "cli/open_image.hpp"
#include "cli/progress.hpp"
#include "host_file.hpp"
#include "transfer/file_copy.hpp"

namespace cordwood::cli {

namespace {

struct CatArguments {
  std::string image;
  std::vector<std::string> paths;
};

struct CopyArguments {
  std::string image;
  std::string source;
  std::string target;
};

Outcome<Attributes> resolve_file(Volume& volume, const std::string& path) {
  const Attributes file = TRY(resolve_path(volume, path, FollowLast::kYes));
  if (file.is_directory()) {
    return volume_failure(make_error(Errc::kIsDirectory, "has no content of its own"), path);
  }
  if (file.type() != FileType::kRegular) {
    return refused(path + ": is no regular file", "see what it is with cordwood stat");
  }
  return file;
}

/// Names what a copy was about; an error of the host stays about the host.
Failure with_path(const std::string& path, Failure failure) {
  failure.what = path + ": " + failure.what;
  return failure;
}

Outcome<ExitCode> cat(Volume& volume, const CatArguments& arguments) {
  FileCopier copier(volume);
  for (const std::string& path : arguments.paths) {
    const Attributes file = TRY(resolve_file(volume, path));
    const auto copied = copier.stream_out_of_volume(file.inode, STDOUT_FILENO);
    if (!copied) return with_path(path, copied.error());
  }
  return ExitCode::kFine;
}

// ---- put ----

/// Where a file of the host goes: into a directory that exists, or under the name that was given.
Outcome<NamePlace> put_place(Volume& volume, const CopyArguments& arguments) {
  const auto found = volume.resolve(arguments.target, FollowLast::kYes);
  if (!found || !found->is_directory()) return resolve_place(volume, arguments.target);
  const std::string name = split_path(arguments.source).name;
  if (name.empty() || arguments.source == "-") {
    return refused(arguments.target + ": is a directory", "give the name of the file as well");
  }
  return NamePlace{found->inode, name};
}

/// A name in the same directory that nothing has: what is put appears whole, under its own name,
/// or not at all.
Outcome<std::pair<std::string, Attributes>> create_temporary(Volume& volume, InodeNumber parent,
                                                             const NewInode& what) {
  for (unsigned attempt = 0;; ++attempt) {
    const std::string name = fmt::format(".cordwood-put-{}-{}", ::getpid(), attempt);
    auto made = volume.create(parent, name, what);
    if (!made && made.error().code == Errc::kExists && attempt < 1000) continue;
    return std::pair{name, TRY(about("create", std::move(made)))};
  }
}

struct OpenSource {
  UniqueFd fd;
  struct stat found {};
  bool stream = false;  ///< standard input or a pipe: no size, no attributes to keep
};

Outcome<OpenSource> open_source(const std::string& path) {
  OpenSource source;
  if (path == "-") {
    source.fd = UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  } else {
    source.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!source.fd.valid()) return host_failure(errno, path);
  source.found = TRY(stat_of(source.fd.get()));
  if (S_ISDIR(source.found.st_mode)) {
    return refused(path + ": is a directory", "use cordwood import for trees");
  }
  source.stream = path == "-" || !S_ISREG(source.found.st_mode);
  return source;
}

Outcome<void> fill(Volume& volume, const OpenSource& source, InodeNumber target) {
  CopyProgress progress;
  FileCopier copier(volume, progress.on_piece());
  if (source.stream) {
    TRY(copier.stream_into_volume(source.fd.get(), target));
    return {};
  }
  TRY(copier.into_volume(source.fd.get(), source.found, target));
  AttributeChanges times;
  times.access = timestamp_of(source.found.st_atim);
  times.modify = timestamp_of(source.found.st_mtim);
  TRY(about("set times", volume.set_attributes(target, times)));
  return {};
}

Outcome<ExitCode> put(Volume& volume, const CopyArguments& arguments) {
  const OpenSource source = TRY(open_source(arguments.source));
  const NamePlace place = TRY(put_place(volume, arguments));
  NewInode what = new_inode_of_caller(FileType::kRegular, 0644);
  if (!source.stream) {
    what.permissions = source.found.st_mode & 07777;
    what.uid = source.found.st_uid;
    what.gid = source.found.st_gid;
  }
  const auto [temporary, made] = TRY(create_temporary(volume, place.parent, what));
  Outcome<void> done = fill(volume, source, made.inode);
  if (done) {
    done = about("", volume.rename(place.parent, temporary, place.parent, place.name));
  }
  if (!done) {
    (void)volume.unlink(place.parent, temporary);
    return with_path(arguments.target, done.error());
  }
  return ExitCode::kFine;
}

// ---- get ----

/// The host path that a file of the volume goes to.
std::string get_path(const CopyArguments& arguments) {
  struct stat found {};
  if (::stat(arguments.target.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return arguments.target;
  }
  return arguments.target + "/" + split_path(arguments.source).name;
}

Outcome<void> write_file(Volume& volume, const Attributes& file, int fd) {
  CopyProgress progress;
  FileCopier copier(volume, progress.on_piece());
  TRY(copier.out_of_volume(file.inode, file.size, fd));
  if (::fchmod(fd, file.mode & 0777) != 0) return host_failure(errno, "set permissions");
  const struct timespec times[2] = {timespec_of(file.access), timespec_of(file.modify)};
  if (::futimens(fd, times) != 0) return host_failure(errno, "set times");
  return {};
}

/// Writes under another name and renames, so that the target is whole or untouched.
Outcome<void> get_file(Volume& volume, const Attributes& file, const std::string& path) {
  const std::string temporary =
      path.substr(0, path.rfind('/') + 1) + fmt::format(".cordwood-get-{}", ::getpid());
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return host_failure(errno, path);
  Outcome<void> done = write_file(volume, file, fd.get());
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) done = host_failure(errno, "rename");
  if (done) return {};
  ::unlink(temporary.c_str());
  return with_path(path, done.error());
}

Outcome<ExitCode> get(Volume& volume, const CopyArguments& arguments) {
  const Attributes file = TRY(resolve_file(volume, arguments.source));
  FileCopier copier(volume);
  if (arguments.target == "-") {
    TRY(copier.stream_out_of_volume(file.inode, STDOUT_FILENO));
    return ExitCode::kFine;
  }
  const std::string path = get_path(arguments);
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    // A pipe or a device is written to and not replaced.
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) return host_failure(errno, path);
    TRY(copier.stream_out_of_volume(file.inode, fd.get()));
    return ExitCode::kFine;
  }
  TRY(get_file(volume, file, path));
  return ExitCode::kFine;
}

void add_cat(Commands& commands) {
  const auto arguments = std::make_shared<CatArguments>();
  CLI::App* const command = commands.add("cat", "Write files of a volume to standard output");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->paths)->required();
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    for (const std::string& path : arguments->paths) TRY(check_image_path(path));
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return cat(volume, *arguments); });
  });
}

void add_put(Commands& commands) {
  const auto arguments = std::make_shared<CopyArguments>();
  CLI::App* const command = commands.add(
      "put", "Copy one file of the host into a volume; an older one is replaced in one step");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("FILE", arguments->source, "file of the host, - for standard input")
      ->required();
  command->add_option("PATH", arguments->target, "file or directory in the volume")->required();
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    TRY(check_image_path(arguments->target));
    return on_volume(global, arguments->image, Access::kWrite,
                     [&](Volume& volume) { return put(volume, *arguments); });
  });
}

void add_get(Commands& commands) {
  const auto arguments = std::make_shared<CopyArguments>();
  CLI::App* const command = commands.add("get", "Copy one file of a volume to the host");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->source, "file in the volume")->required();
  command
      ->add_option("FILE", arguments->target,
                   "file or directory of the host, - for standard output")
      ->required();
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    TRY(check_image_path(arguments->source));
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return get(volume, *arguments); });
  });
}

}  // namespace

void add_content_commands(Commands& commands) {
  add_cat(commands);
  add_put(commands);
  add_get(commands);
}

}  // namespace cordwood::cli
