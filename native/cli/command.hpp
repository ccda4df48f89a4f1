#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "failure.hpp"

namespace cordwood::cli {

/// What every command understands.
struct GlobalOptions {
  bool json = false;
  std::string policy;          ///< as parse_policy() reads it; empty: the defaults
  std::string cache = "256M";  ///< a size
  bool discard_log =
      false;  ///< open a volume whose log is damaged, without what follows the damage
};

/// What the command line asked for; runs after all of it was parsed.
using Action = std::function<Outcome<ExitCode>(const GlobalOptions&)>;

/// Where the groups of commands put theirs.
class Commands {
 public:
  explicit Commands(CLI::App& app) : app_(&app) {}

  /// Adds a command.
  CLI::App* add(const std::string& name, const std::string& description);
  /// Says what a command does when it was chosen.
  void set_action(CLI::App* command, Action action);
  /// Of the command that was chosen; empty when none was.
  [[nodiscard]] const Action& chosen() const { return chosen_; }

 private:
  CLI::App* app_;
  Action chosen_;
};

// One function for each group, defined in the file of that name.
void add_mkfs_command(Commands& commands);
void add_info_commands(Commands& commands);      // info, df
void add_listing_commands(Commands& commands);   // ls, stat
void add_walk_commands(Commands& commands);      // tree, find
void add_content_commands(Commands& commands);   // cat, put, get
void add_name_commands(Commands& commands);      // mkdir, rm, mv, ln
void add_transfer_commands(Commands& commands);  // import, export
void add_check_commands(Commands& commands);     // check, scrub
void add_replay_command(Commands& commands);
void add_dump_commands(Commands& commands);  // dump super, table, groups, log, node, tree, inode

}  // namespace cordwood::cli
