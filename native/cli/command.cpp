#include "cli/command.hpp"

#include <utility>

namespace cordwood::cli {

CLI::App* Commands::add(const std::string& name, const std::string& description) {
  CLI::App* const command = app_->add_subcommand(name, description);
  // The options of every command may stand before it or after it.
  command->fallthrough();
  return command;
}

void Commands::set_action(CLI::App* command, Action action) {
  command->callback([this, action = std::move(action)] { chosen_ = action; });
}

}  // namespace cordwood::cli
