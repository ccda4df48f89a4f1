#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "host_file.hpp"
#include "transfer/directory_reader.hpp"
#include "volume/json_parts.hpp"

namespace cordwood::cli {

namespace {

struct ListArguments {
  std::string image;
  std::string path = "/";
  bool detailed = false;
  bool unsorted = false;
};

struct StatArguments {
  std::string image;
  std::vector<std::string> paths;
};

/// The size, or the device numbers where these say more.
std::string size_column(const Attributes& attributes) {
  const FileType type = attributes.type();
  if (type != FileType::kCharDevice && type != FileType::kBlockDevice) {
    return std::to_string(attributes.size);
  }
  const dev_t device = decode_device(attributes.rdev);
  return fmt::format("{}, {}", major(device), minor(device));
}

std::string detailed_line(const Attributes& attributes, const std::string& name,
                          const std::string& symlink_target) {
  std::string line =
      fmt::format("{} {:>3} {:>5} {:>5} {:>12} {} {}", mode_text(attributes.mode), attributes.links,
                  attributes.uid, attributes.gid, size_column(attributes),
                  short_time_text(attributes.modify), printable(name));
  if (!symlink_target.empty()) line += " -> " + printable(symlink_target);
  return line + "\n";
}

Outcome<std::string> symlink_target_of(Volume& volume, const Attributes& attributes,
                                       const std::string& name) {
  if (attributes.type() != FileType::kSymlink) return std::string();
  return about(name, volume.read_symlink(attributes.inode));
}

/// Prints the entries of one listing in the form that was asked for.
class ListPrinter {
 public:
  ListPrinter(Volume& volume, const ListArguments& arguments, const GlobalOptions& global)
      : volume_(volume), detailed_(arguments.detailed), json_(global.json) {
    if (json_) array_.emplace();
  }

  Outcome<void> add(const DirectoryReader::Entry& entry) {
    if (!json_ && !detailed_) {
      print_text(printable(entry.name) + "\n");
      return {};
    }
    const Attributes attributes = TRY(about(entry.name, volume_.attributes(entry.inode)));
    const std::string target = TRY(symlink_target_of(volume_, attributes, entry.name));
    if (!json_) {
      print_text(detailed_line(attributes, entry.name, target));
      return {};
    }
    boost::json::object object;
    put_text(object, "name", entry.name);
    if (!target.empty()) put_text(object, "target", target);
    for (const auto& field : attributes_json(attributes)) object.insert(field);
    array_->add(object);
    return {};
  }

  void finish() {
    if (array_) array_->finish();
  }

 private:
  Volume& volume_;
  bool detailed_;
  bool json_;
  std::optional<JsonArrayPrinter> array_;
};

Outcome<ExitCode> list(Volume& volume, const ListArguments& arguments,
                       const GlobalOptions& global) {
  // As in ls: a symlink to a directory shows the directory, but with -l, or when it leads nowhere,
  // the symlink.
  auto found =
      volume.resolve(arguments.path, arguments.detailed ? FollowLast::kNo : FollowLast::kYes);
  if (!found) found = volume.resolve(arguments.path);
  const Attributes attributes = TRY(about(arguments.path, std::move(found)));
  ListPrinter printer(volume, arguments, global);
  if (!attributes.is_directory()) {
    TRY(printer.add({arguments.path, attributes.inode, attributes.type()}));
    printer.finish();
    return ExitCode::kFine;
  }
  DirectoryReader reader(
      volume, attributes.inode,
      arguments.unsorted ? DirectoryReader::Order::kStored : DirectoryReader::Order::kByName);
  Outcome<void> added;
  while (added) {
    auto entry = reader.next();
    if (!entry) {
      added = volume_failure(entry.error(), arguments.path);
    } else if (!*entry) {
      break;
    } else {
      added = printer.add(**entry);
    }
  }
  printer.finish();
  if (!added) return added.error();
  return ExitCode::kFine;
}

struct NamedXattr {
  std::string name;
  std::vector<std::byte> value;
};

Outcome<std::vector<NamedXattr>> xattrs_of(Volume& volume, InodeNumber inode,
                                           const std::string& path) {
  std::vector<NamedXattr> xattrs;
  for (const std::string& name : TRY(about(path, volume.list_xattrs(inode)))) {
    xattrs.push_back({name, TRY(about(path + ": " + name, volume.xattr(inode, name)))});
  }
  return xattrs;
}

boost::json::object stat_json(const std::string& path, const Attributes& attributes,
                              const std::string& target, const std::vector<NamedXattr>& xattrs) {
  boost::json::object object;
  put_text(object, "path", path);
  if (!target.empty()) put_text(object, "target", target);
  for (const auto& field : attributes_json(attributes)) object.insert(field);
  boost::json::array array;
  for (const NamedXattr& xattr : xattrs) {
    boost::json::object entry;
    put_text(entry, "name", xattr.name);
    entry["bytes"] = xattr.value.size();
    entry["value_hex"] = hex_text(xattr.value);
    array.push_back(std::move(entry));
  }
  object["xattrs"] = std::move(array);
  return object;
}

std::string stat_text(const std::string& path, const Attributes& attributes,
                      const std::string& target, const std::vector<NamedXattr>& xattrs) {
  std::string text = fmt::format(
      "{}{}{}\n  inode {}  {}  links {}\n  mode {:04o} ({})  uid {}  gid {}\n", printable(path),
      target.empty() ? "" : " -> ", printable(target), attributes.inode.value,
      file_type_name(attributes.type()), attributes.links, attributes.mode & 07777,
      mode_text(attributes.mode), attributes.uid, attributes.gid);
  text += fmt::format("  size {}  allocated {} bytes\n", size_column(attributes), attributes.bytes);
  text += fmt::format("  access {}\n  modify {}\n  change {}\n  birth  {}\n",
                      time_text(attributes.access), time_text(attributes.modify),
                      time_text(attributes.change), time_text(attributes.birth));
  for (const NamedXattr& xattr : xattrs) {
    text +=
        fmt::format("  xattr {} = {}\n", printable(xattr.name), printable(as_text(xattr.value)));
  }
  return text;
}

Outcome<ExitCode> show_stat(Volume& volume, const StatArguments& arguments,
                            const GlobalOptions& global) {
  std::vector<boost::json::value> shown;
  for (const std::string& path : arguments.paths) {
    const Attributes attributes = TRY(resolve_path(volume, path, FollowLast::kNo));
    const std::string target = TRY(symlink_target_of(volume, attributes, path));
    const auto xattrs = TRY(xattrs_of(volume, attributes.inode, path));
    if (global.json) {
      shown.emplace_back(stat_json(path, attributes, target, xattrs));
    } else {
      print_text(stat_text(path, attributes, target, xattrs));
    }
  }
  if (!global.json) return ExitCode::kFine;
  JsonArrayPrinter array;
  for (const auto& value : shown) array.add(value);
  array.finish();
  return ExitCode::kFine;
}

void add_list(Commands& commands) {
  const auto arguments = std::make_shared<ListArguments>();
  CLI::App* const command = commands.add("ls", "List a directory of a volume");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->path, "directory or anything else (/)");
  command->add_flag("-l", arguments->detailed, "with mode, links, owner, size, time");
  command->add_flag("-U", arguments->unsorted,
                    "in the order of the directory, in little memory however many there are");
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    TRY(check_image_path(arguments->path));
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return list(volume, *arguments, global); });
  });
}

void add_stat(Commands& commands) {
  const auto arguments = std::make_shared<StatArguments>();
  CLI::App* const command =
      commands.add("stat", "Show all attributes of something in a volume; symlinks as such");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->paths)->required();
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    for (const std::string& path : arguments->paths) TRY(check_image_path(path));
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return show_stat(volume, *arguments, global); });
  });
}

}  // namespace

void add_listing_commands(Commands& commands) {
  add_list(commands);
  add_stat(commands);
}

}  // namespace cordwood::cli
