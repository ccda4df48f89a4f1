#include <fmt/format.h>
#include <fnmatch.h>

#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "cli/walk.hpp"
#include "volume/json_parts.hpp"

namespace cordwood::cli {

namespace {

constexpr std::size_t kAnyDepth = std::numeric_limits<std::size_t>::max();

struct TreeArguments {
  std::string image;
  std::string path = "/";
  std::size_t depth = kAnyDepth;
};

struct FindArguments {
  std::string image;
  std::string path = "/";
  std::string name;
  std::string type;
  std::string size;
  std::size_t depth = kAnyDepth;
  bool null_separated = false;
};

/// Reports what a walk could not read, as it meets it.
class WalkFailures {
 public:
  void operator()(const std::string& path, const Failure& failure) {
    std::fflush(stdout);
    std::fprintf(stderr, "cordwood: %s: %s\n", printable(path).c_str(),
                 printable(failure.line()).c_str());
    exit_ = worse(exit_, failure.exit);
  }
  [[nodiscard]] ExitCode exit() const { return exit_; }

 private:
  ExitCode exit_ = ExitCode::kFine;
};

/// Draws the branches before a name. Remembers for each level whether more entries follow there.
class TreeLines {
 public:
  std::string before(std::size_t depth, bool last) {
    more_.resize(depth);
    std::string line;
    for (const bool more : more_) line += more ? "│   " : "    ";
    more_.push_back(!last);
    return line + (last ? "└── " : "├── ");
  }

 private:
  std::vector<bool> more_;
};

Outcome<ExitCode> show_tree(Volume& volume, const TreeArguments& arguments,
                            const GlobalOptions& global) {
  const Attributes start = TRY(resolve_path(volume, arguments.path, FollowLast::kYes));
  if (!start.is_directory()) {
    return volume_failure(make_error(Errc::kNotDirectory, "has nothing below it"), arguments.path);
  }
  WalkFailures failures;
  TreeLines lines;
  std::optional<JsonArrayPrinter> array;
  if (global.json) array.emplace();
  if (!array) print_text(printable(arguments.path) + "\n");
  std::uint64_t directories = 0;
  std::uint64_t others = 0;
  walk_volume(
      volume, start.inode, arguments.path, DirectoryReader::Order::kByName,
      [&](const Visit& visit) -> Outcome<Descend> {
        ++(visit.entry.type == FileType::kDirectory ? directories : others);
        const bool symlink = visit.entry.type == FileType::kSymlink;
        std::string target;
        if (symlink) target = TRY(about("", volume.read_symlink(visit.entry.inode)));
        if (array) {
          boost::json::object object;
          put_text(object, "path", visit.path);
          object["depth"] = visit.depth + 1;
          object["type"] = file_type_name(visit.entry.type);
          object["inode"] = visit.entry.inode.value;
          if (symlink) put_text(object, "target", target);
          array->add(object);
        } else {
          print_text(lines.before(visit.depth, visit.last) + printable(visit.entry.name) +
                     (symlink ? " -> " + printable(target) : "") + "\n");
        }
        return visit.depth + 1 < arguments.depth ? Descend::kYes : Descend::kNo;
      },
      [&](const std::string& path, const Failure& failure) { failures(path, failure); });
  if (array) {
    array->finish();
  } else {
    print_text(fmt::format("\n{} directories, {} other entries\n", count_text(directories),
                           count_text(others)));
  }
  return failures.exit();
}

/// What find looks for. Unset conditions let everything pass.
struct Conditions {
  std::string name;
  std::optional<FileType> type;
  std::uint64_t size_min = 0;
  std::uint64_t size_max = std::numeric_limits<std::uint64_t>::max();
  bool by_size = false;

  [[nodiscard]] bool match_entry(const std::string& entry_name, FileType entry_type) const {
    if (type && entry_type != *type) return false;
    return name.empty() || ::fnmatch(name.c_str(), entry_name.c_str(), 0) == 0;
  }
  [[nodiscard]] bool match_size(std::uint64_t size) const {
    return size >= size_min && size <= size_max;
  }
};

Outcome<Conditions> conditions_of(const FindArguments& arguments) {
  static const std::map<std::string, FileType> kTypes = {
      {"f", FileType::kRegular},     {"d", FileType::kDirectory}, {"l", FileType::kSymlink},
      {"p", FileType::kFifo},        {"s", FileType::kSocket},    {"c", FileType::kCharDevice},
      {"b", FileType::kBlockDevice},
  };
  Conditions conditions;
  conditions.name = arguments.name;
  if (!arguments.type.empty()) {
    const auto found = kTypes.find(arguments.type);
    if (found == kTypes.end()) {
      return refused("--type " + arguments.type, "give one of f d l p s c b");
    }
    conditions.type = found->second;
  }
  if (arguments.size.empty()) return conditions;
  conditions.by_size = true;
  const char sign = arguments.size[0];
  const bool bounded = sign == '+' || sign == '-';
  const auto size = TRY(size_option("--size", arguments.size.substr(bounded ? 1 : 0)));
  if (sign != '-') conditions.size_min = size;
  if (sign != '+') conditions.size_max = size;
  return conditions;
}

/// "c" of "/a/b/c/"; "/" of the root.
std::string last_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.size() == 1 ? path : path.substr(path.rfind('/') + 1);
}

std::string path_line(const std::string& path, const FindArguments& arguments) {
  return arguments.null_separated ? path + '\0' : printable(path) + "\n";
}

Outcome<ExitCode> find(Volume& volume, const FindArguments& arguments, const Conditions& conditions,
                       const GlobalOptions& global) {
  const Attributes start = TRY(resolve_path(volume, arguments.path, FollowLast::kNo));
  WalkFailures failures;
  std::optional<JsonArrayPrinter> array;
  if (global.json) array.emplace();
  const auto consider = [&](const std::string& path, const std::string& name, InodeNumber inode,
                            FileType type) -> Outcome<void> {
    if (!conditions.match_entry(name, type)) return {};
    if (!conditions.by_size && !array) {
      print_text(path_line(path, arguments));
      return {};
    }
    const Attributes attributes = TRY(about("", volume.attributes(inode)));
    if (!conditions.match_size(attributes.size)) return {};
    if (!array) {
      print_text(path_line(path, arguments));
      return {};
    }
    boost::json::object object;
    put_text(object, "path", path);
    for (const auto& field : attributes_json(attributes)) object.insert(field);
    array->add(object);
    return {};
  };
  const auto first = consider(arguments.path, last_name(arguments.path), start.inode, start.type());
  if (!first) failures(arguments.path, first.error());
  if (start.is_directory() && arguments.depth > 0) {
    walk_volume(
        volume, start.inode, arguments.path, DirectoryReader::Order::kStored,
        [&](const Visit& visit) -> Outcome<Descend> {
          TRY(consider(visit.path, visit.entry.name, visit.entry.inode, visit.entry.type));
          return visit.depth + 1 < arguments.depth ? Descend::kYes : Descend::kNo;
        },
        [&](const std::string& path, const Failure& failure) { failures(path, failure); });
  }
  if (array) array->finish();
  return failures.exit();
}

void add_tree(Commands& commands) {
  const auto arguments = std::make_shared<TreeArguments>();
  CLI::App* const command = commands.add("tree", "Draw everything below a directory of a volume");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->path, "directory (/)");
  command->add_option("-L,--depth", arguments->depth, "levels to show")->check(CLI::PositiveNumber);
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    TRY(check_image_path(arguments->path));
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return show_tree(volume, *arguments, global); });
  });
}

void add_find(Commands& commands) {
  const auto arguments = std::make_shared<FindArguments>();
  CLI::App* const command = commands.add("find", "Print the paths below a place that match");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("PATH", arguments->path, "where to begin (/)");
  command->add_option("--name", arguments->name, "shell pattern for the name, as \"*.h\"");
  command->add_option("--type", arguments->type,
                      "f file, d directory, l symlink, p fifo, s socket, c and b devices");
  command->add_option("--size", arguments->size, "+1M: at least, -1M: at most, 1M: exactly");
  command->add_option("--max-depth", arguments->depth, "levels to go down");
  command->add_flag("-0,--null", arguments->null_separated,
                    "exact bytes, each path followed by a NUL");
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    TRY(check_image_path(arguments->path));
    const Conditions conditions = TRY(conditions_of(*arguments));
    return on_volume(global, arguments->image, Access::kRead,
                     [&](Volume& volume) { return find(volume, *arguments, conditions, global); });
  });
}

}  // namespace

void add_walk_commands(Commands& commands) {
  add_tree(commands);
  add_find(commands);
}

}  // namespace cordwood::cli
