#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/render_json.hpp"
#include "volume/describe.hpp"
#include "volume/describe_log.hpp"

namespace cordwood::cli {

namespace {

struct DumpArguments {
  std::vector<std::string> words;  ///< IMAGE WHAT [NUMBER], or WHAT IMAGE [NUMBER]
  std::uint64_t count_max = 0;     ///< 0: the default of each description
};

struct DumpRequest {
  std::string image;
  std::string what;
  std::uint64_t number = 0;
};

bool is_kind(const std::string& word) {
  static const std::vector<std::string> kKinds = {"super", "table", "groups", "log",
                                                  "node",  "tree",  "inode"};
  return std::find(kKinds.begin(), kKinds.end(), word) != kKinds.end();
}

Outcome<DumpRequest> request_of(const DumpArguments& arguments) {
  const auto& words = arguments.words;
  DumpRequest request;
  if (is_kind(words[1])) {
    request = {words[0], words[1]};
  } else if (is_kind(words[0])) {
    request = {words[1], words[0]};
  } else {
    return refused(
        "dump: there is no " + words[1],
        "give one of super, table, groups, log, node ID, tree, inode INO; see cordwood dump "
        "--help");
  }
  const bool numbered = request.what == "node" || request.what == "inode";
  if (numbered != (words.size() == 3)) {
    return refused("dump " + request.what + (numbered ? " needs a number" : " takes no number"),
                   "see cordwood dump --help");
  }
  if (!numbered) return request;
  const std::string& text = words[2];
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, request.number);
  if (error != std::errc() || rest != end) {
    return refused("dump " + request.what + " " + text + ": is no number",
                   "see the numbers with cordwood dump tree or cordwood stat");
  }
  return request;
}

std::uint64_t count_or(const DumpArguments& arguments, std::uint64_t otherwise) {
  return arguments.count_max == 0 ? otherwise : arguments.count_max;
}

LogDescriptionLimits log_limits(const DumpArguments& arguments) {
  LogDescriptionLimits limits;
  if (arguments.count_max != 0) limits.records_max = limits.items_max = arguments.count_max;
  return limits;
}

/// A number that nothing has is the caller's mistake, whatever it would mean inside a volume.
Failure no_such(const std::string& subject) {
  return refused(subject + ": there is none",
                 "see the numbers with cordwood dump IMAGE tree or cordwood stat");
}

Outcome<boost::json::object> describe_numbered(ImageReader& reader, const DumpRequest& request,
                                               const DumpArguments& arguments) {
  const std::string subject = request.what + " " + std::to_string(request.number);
  const bool node = request.what == "node";
  if (request.number == 0) return no_such(subject);
  if (node && request.number >= reader.superblock().next_node_id) return no_such(subject);
  auto described = node ? describe_node(reader, NodeId{request.number})
                        : describe_inode(reader, InodeNumber{request.number},
                                         static_cast<std::size_t>(count_or(arguments, 1000)));
  if (!described && described.error().code == Errc::kNoEntry) return no_such(subject);
  return about(subject, std::move(described));
}

Outcome<boost::json::object> describe(ImageReader& reader, const DumpRequest& request,
                                      const DumpArguments& arguments) {
  if (request.what == "super") return describe_superblocks(reader);
  if (request.what == "table") return describe_table(reader, count_or(arguments, 64));
  if (request.what == "groups") return describe_groups(reader, 0, count_or(arguments, 64));
  if (request.what == "log") return describe_log(reader, log_limits(arguments));
  if (request.what == "tree") return describe_tree(reader, count_or(arguments, 1000));
  return describe_numbered(reader, request, arguments);
}

Outcome<ExitCode> dump(BlockDevice& device, const DumpRequest& request,
                       const DumpArguments& arguments, const GlobalOptions& global) {
  ImageOptions options;
  options.allow_truncated = true;
  ImageReader reader = TRY(about("", ImageReader::open(device, options)));
  const boost::json::object description = TRY(describe(reader, request, arguments));
  if (global.json) {
    print_json(description);
  } else {
    print_text(render(description));
  }
  return ExitCode::kFine;
}

}  // namespace

void add_dump_commands(Commands& commands) {
  const auto arguments = std::make_shared<DumpArguments>();
  CLI::App* const command = commands.add(
      "dump",
      "Show structures as they lie in an image, also in a damaged one:\n"
      "dump IMAGE super|table|groups|log|tree, dump IMAGE node ID, dump IMAGE inode INO");
  command->add_option("WORDS", arguments->words, "image, what to show, its number")
      ->required()
      ->expected(2, 3);
  command->add_option("--count", arguments->count_max,
                      "how many pages, groups, records, nodes or items to show");
  commands.set_action(command, [arguments](const GlobalOptions& global) -> Outcome<ExitCode> {
    const DumpRequest request = TRY(request_of(*arguments));
    return on_device(request.image, [&](BlockDevice& device) {
      return dump(device, request, *arguments, global);
    });
  });
}

}  // namespace cordwood::cli
