#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "volume/describe_log.hpp"
#include "volume/json_parts.hpp"

namespace cordwood::cli {

namespace {

struct ReplayArguments {
  std::string image;
  bool dry_run = false;
};

/// What is the same for a replay that was done and for one that was only planned.
boost::json::object report_json(const ReplayArguments& arguments, const GlobalOptions& global,
                                const ReplayPlan& plan) {
  boost::json::object object;
  put_text(object, "image", arguments.image);
  object["dry_run"] = arguments.dry_run;
  object["discard_log"] = global.discard_log;
  object["plan"] = to_json(plan);
  return object;
}

std::string plan_text(const ReplayArguments& arguments, const ReplayPlan& plan, const char* verb) {
  const std::string image = printable(arguments.image);
  std::string text = plan.records == 0
                         ? fmt::format("{}: no records to replay\n", image)
                         : fmt::format("{}: {} {}\n", image, verb, records_text(plan));
  if (plan.cut_records > 0) text += cut_text(plan) + "\n";
  return text;
}

/// Tells what opening the volume would do, and ends as it would end.
Outcome<ExitCode> show_plan(BlockDevice& device, const ReplayArguments& arguments,
                            const GlobalOptions& global) {
  ImageReader reader = TRY(about("", ImageReader::open(device)));
  const ReplayPlan plan = TRY(about("", plan_replay(reader)));
  const bool refuses = plan.damage && !global.discard_log;
  if (global.json) {
    boost::json::object object = report_json(arguments, global, plan);
    object["refuses"] = refuses;
    print_json(object);
  } else {
    print_text(plan_text(arguments, plan, refuses ? "before the damage:" : "would replay"));
    if (plan.damage && !refuses) {
      print_text(fmt::format("would give up what follows: {}\n", plan.damage->message()));
    }
    print_text("nothing was changed\n");
  }
  if (refuses) return volume_failure(*plan.damage);
  return ExitCode::kFine;
}

/// Opening has replayed the log already.
Outcome<ExitCode> report_replay(const Volume& volume, const ReplayArguments& arguments,
                                const GlobalOptions& global) {
  if (volume.options().read_only) {
    return refused("a newer program made this volume: this one may only read it",
                   "use that program");
  }
  const ReplayPlan& plan = volume.replay();
  const std::uint64_t generation = volume.superblock().generation;
  if (global.json) {
    boost::json::object object = report_json(arguments, global, plan);
    object["generation"] = generation;
    print_json(object);
    return ExitCode::kFine;
  }
  print_text(plan_text(arguments, plan, "replayed"));
  if (plan.damage) {
    print_text(fmt::format("gave up what follows: {}\n", plan.damage->message()));
  }
  if (plan.records > 0) print_text(fmt::format("checkpoint {} includes it\n", generation));
  return ExitCode::kFine;
}

Outcome<ExitCode> replay(const ReplayArguments& arguments, const GlobalOptions& global) {
  if (arguments.dry_run) {
    return on_device(arguments.image,
                     [&](BlockDevice& device) { return show_plan(device, arguments, global); });
  }
  return on_volume(global, arguments.image, Access::kWrite,
                   [&](Volume& volume) { return report_replay(volume, arguments, global); });
}

}  // namespace

void add_replay_command(Commands& commands) {
  const auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* const command = commands.add(
      "replay",
      "Apply the log of a volume that was not closed, make a checkpoint, and close it.\n"
      "Every command that opens a volume applies the log; this one does nothing else.");
  command->add_option("IMAGE", arguments->image)->required();
  command->add_flag("-n,--dry-run", arguments->dry_run, "say what would be done; change nothing");
  commands.set_action(
      command, [arguments](const GlobalOptions& global) { return replay(*arguments, global); });
}

}  // namespace cordwood::cli
