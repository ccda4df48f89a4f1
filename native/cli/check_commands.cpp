#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/text.hpp"
#include "volume/check.hpp"
#include "volume/describe.hpp"
#include "volume/scrub.hpp"

namespace cordwood::cli {

namespace {

struct CheckArguments {
  std::string image;
  bool data = false;
  std::uint32_t findings_max = 20;
};

/// Notes are no findings: a volume that was not closed is as right as any other.
ExitCode exit_of(const CheckReport& report) {
  const bool found =
      report.findings.count(Severity::kError) > 0 || report.findings.count(Severity::kWarning) > 0;
  return found ? ExitCode::kFindings : ExitCode::kFine;
}

std::function<bool(const CheckProgress&)> show_on(ProgressLine& line) {
  return [&line](const CheckProgress& progress) {
    if (line.due()) {
      line.show(fmt::format("{}: {}", progress.phase, percent_text(progress.done, progress.total)));
    }
    return true;
  };
}

template <class Report>
void print_report(const Report& report, const GlobalOptions& global) {
  if (global.json) {
    print_json(to_json(report));
  } else {
    print_text(render_text(report));
  }
}

Outcome<ExitCode> run_check(BlockDevice& device, const CheckArguments& arguments,
                            const GlobalOptions& global) {
  ProgressLine line;
  CheckOptions options;
  options.verify_data = arguments.data;
  options.findings_per_kind_max = arguments.findings_max;
  options.progress = show_on(line);
  const CheckReport report = TRY(about("", check(device, options)));
  line.clear();
  print_report(report, global);
  return exit_of(report);
}

Outcome<ExitCode> run_scrub(BlockDevice& device, const CheckArguments& arguments,
                            const GlobalOptions& global) {
  ProgressLine line;
  ScrubOptions options;
  options.findings_per_kind_max = arguments.findings_max;
  options.progress = show_on(line);
  const ScrubReport report = TRY(about("", scrub(device, options)));
  line.clear();
  print_report(report, global);
  return exit_of(report.check);
}

using Run = Outcome<ExitCode> (*)(BlockDevice&, const CheckArguments&, const GlobalOptions&);

/// Adds what both commands have.
void finish_command(Commands& commands, CLI::App* command,
                    const std::shared_ptr<CheckArguments>& arguments, Run run) {
  command->add_option("IMAGE", arguments->image)->required();
  command->add_option("--findings", arguments->findings_max, "findings of each kind to show (20)");
  commands.set_action(command, [arguments, run](const GlobalOptions& global) {
    return on_device(arguments->image,
                     [&](BlockDevice& device) { return run(device, *arguments, global); });
  });
}

}  // namespace

void add_check_commands(Commands& commands) {
  const auto check_arguments = std::make_shared<CheckArguments>();
  CLI::App* const check_command =
      commands.add("check", "Check the structure of a volume; changes nothing (also: fsck)");
  check_command->alias("fsck");
  check_command->add_flag("--data", check_arguments->data,
                          "read all files and compare their checksums as well");
  finish_command(commands, check_command, check_arguments, run_check);

  const auto scrub_arguments = std::make_shared<CheckArguments>();
  CLI::App* const scrub_command = commands.add(
      "scrub", "Read everything, compare all checksums, name the damaged files; changes nothing");
  finish_command(commands, scrub_command, scrub_arguments, run_scrub);
}

}  // namespace cordwood::cli
