#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"

namespace cordwood::cli {

namespace {

constexpr const char* kDescription =
    "Cordwood: a crash-safe copy-on-write filesystem in an image file or on a block device.\n"
    "Paths inside an image begin with '/'. Exit codes: 0 fine, 1 findings or entries that failed,\n"
    "2 wrong usage or refused, 3 I/O error or corruption.";

void print_error(const std::string& line) {
  // One line, whatever bytes the names in it have.
  std::fprintf(stderr, "cordwood: %s\n", printable(line).c_str());
}

int number_of(ExitCode code) { return static_cast<int>(code); }

/// The arguments, last first, as CLI11 takes them.
std::vector<std::string> arguments_of(int count, char** values) {
  std::vector<std::string> arguments;
  for (int i = count - 1; i > 0; --i) {
    std::string argument = values[i];
    const std::string previous = values[i - 1];
    const bool value_of_option = previous.size() > 2 && previous[0] == '-';
    // CLI11 reads "[a,b]" as a list. As a file name it means the same with "./" before it.
    if (!value_of_option && argument.size() > 1 && argument.front() == '[' &&
        argument.back() == ']') {
      argument.insert(0, "./");
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

int report_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "cordwood";
  for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  std::string what = error.what();
  while (!what.empty() && what.back() == '\n') what.pop_back();
  print_error(what + "; see " + command + " --help");
  return number_of(ExitCode::kRefused);
}

int run(int count, char** values) {
  GlobalOptions options;
  CLI::App app(kDescription, "cordwood");
  app.set_version_flag("--version", "cordwood " CORDWOOD_VERSION);
  app.add_flag("--json", options.json, "report as JSON on standard output");
  app.add_option("--policy", options.policy,
                 "switches of tree and log: split=never_push|push_full|push_needed|adaptive, "
                 "search_hint=on|off, log_copy=bulk|per_item, log_dirty=chunks|whole, "
                 "whole_threshold=1..100; several with commas");
  app.add_option("--cache", options.cache, "memory for cached nodes (256M)");
  app.add_flag("--discard-log", options.discard_log,
               "open the volume although its log is damaged, without what follows the damage");
  app.require_subcommand(1);
  Commands commands(app);
  add_mkfs_command(commands);
  add_info_commands(commands);
  add_transfer_commands(commands);
  add_listing_commands(commands);
  add_walk_commands(commands);
  add_content_commands(commands);
  add_name_commands(commands);
  add_check_commands(commands);
  add_replay_command(commands);
  add_dump_commands(commands);

  try {
    app.parse(arguments_of(count, values));
  } catch (const CLI::Success& asked) {
    app.exit(asked);  // prints help or version
    return number_of(ExitCode::kFine);
  } catch (const CLI::ParseError& error) {
    return report_usage_error(app, error);
  }

  const Outcome<ExitCode> result = commands.chosen()(options);
  ExitCode exit = result ? *result : result.error().exit;
  if (!result) print_error(result.error().line());
  if (const auto written = finish_output(); !written) {
    print_error(written.error().line());
    exit = worse(exit, written.error().exit);
  }
  return number_of(exit);
}

}  // namespace

}  // namespace cordwood::cli

int main(int count, char** values) {
  // A file that may not grow so far is an error to report and to clean up after.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cordwood::cli::run(count, values);
  } catch (const std::bad_alloc&) {
    std::fputs("cordwood: out of memory; free some, or give a smaller --cache\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cordwood: %s; please report this\n", error.what());
  }
  return static_cast<int>(cordwood::ExitCode::kDamaged);
}
