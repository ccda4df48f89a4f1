#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/open_image.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "volume/check.hpp"
#include "volume/describe_log.hpp"
#include "volume/json_parts.hpp"

namespace cordwood::cli {

namespace {

std::string label_of(const Superblock& superblock) {
  const std::string_view field(superblock.label.data(), superblock.label.size());
  return std::string(field.substr(0, field.find('\0')));
}

const char* state_name(const Volume& volume) {
  if (volume.superblock().mount_state == static_cast<std::uint32_t>(MountState::kClean)) {
    return "clean";
  }
  return volume.replay().records == 0 ? "not closed: shown is its last checkpoint"
                                      : "not closed: shown is its last checkpoint with the log";
}

/// Opened for reading, a volume has its log applied in memory only: on the device it still waits.
boost::json::object log_json(const Volume& volume) {
  return {{"bytes", volume.statistics().log_bytes},
          {"records_waiting", volume.replay().records},
          {"bytes_waiting", volume.replay().bytes},
          {"replay", to_json(volume.replay())}};
}

std::string log_text(const Volume& volume) {
  const ReplayPlan& plan = volume.replay();
  std::string text = size_text(volume.statistics().log_bytes);
  if (plan.records > 0) {
    text += fmt::format(", {} records of {} wait for a replay", count_text(plan.records),
                        size_text(plan.bytes));
  }
  if (plan.damage) text += ", damaged: " + plan.damage->message();
  return text;
}

boost::json::object usage_json(const VolumeUsage& usage) {
  return {
      {"block_bytes", usage.block_bytes},
      {"blocks", usage.blocks},
      {"used_blocks", usage.blocks - usage.free_blocks},
      {"free_blocks", usage.free_blocks},
      {"available_blocks", usage.available_blocks},
      {"pending_free_blocks", usage.pending_free_blocks},
      {"inodes", usage.inodes},
  };
}

boost::json::object info_json(const std::string& image, const BlockDevice& device,
                              const Volume& volume) {
  const Superblock superblock = volume.superblock();
  const VolumeStatistics statistics = volume.statistics();
  boost::json::object object;
  put_text(object, "image", image);
  put_text(object, "device", device.description());
  put_text(object, "label", label_of(superblock));
  object["uuid"] = uuid_text(superblock.uuid);
  object["format_version"] = superblock.format_version;
  object["clean"] = superblock.mount_state == static_cast<std::uint32_t>(MountState::kClean);
  object["generation"] = superblock.generation;
  object["created_seconds"] = superblock.created_seconds;
  object["written_seconds"] = superblock.written_seconds;
  object["bytes"] = superblock.device_blocks * superblock.block_bytes;
  object["block_bytes"] = superblock.block_bytes;
  object["node_bytes"] = superblock.node_bytes;
  object["nodes"] = statistics.nodes;
  object["tree_levels"] = statistics.tree_levels;
  object["table_levels"] = statistics.table_levels;
  object["log"] = log_json(volume);
  object["usage"] = usage_json(volume.usage());
  object["policy"] = policy_text(volume.options().policy);
  return object;
}

std::string info_text(const std::string& image, const BlockDevice& device, const Volume& volume) {
  const Superblock superblock = volume.superblock();
  const VolumeStatistics statistics = volume.statistics();
  const VolumeUsage usage = volume.usage();
  const std::string label = label_of(superblock);
  std::string text = fmt::format("{}\n", printable(image));
  const auto line = [&text](const char* name, const std::string& value) {
    text += fmt::format("  {:<12} {}\n", name, value);
  };
  line("device", printable(device.description()));
  line("label", label.empty() ? "-" : printable(label));
  line("uuid", uuid_text(superblock.uuid));
  line("format", fmt::format("version {}", superblock.format_version));
  line("state", fmt::format("{}, generation {}", state_name(volume), superblock.generation));
  line("created", time_text({superblock.created_seconds, 0}));
  line("written", time_text({superblock.written_seconds, 0}));
  line("size", fmt::format("{} in blocks of {}", size_text(usage.blocks * usage.block_bytes),
                           size_text(superblock.block_bytes)));
  line("used",
       fmt::format("{} ({})", size_text((usage.blocks - usage.free_blocks) * usage.block_bytes),
                   percent_text(usage.blocks - usage.free_blocks, usage.blocks)));
  line("available", size_text(usage.available_blocks * usage.block_bytes));
  line("inodes", count_text(usage.inodes));
  line("tree", fmt::format("{} nodes of {}, {} levels", count_text(statistics.nodes),
                           size_text(superblock.node_bytes), statistics.tree_levels));
  line("node table", fmt::format("{} levels", statistics.table_levels));
  line("log", log_text(volume));
  return text;
}

std::string usage_text(const std::string& image, const VolumeUsage& usage) {
  const std::uint64_t used = usage.blocks - usage.free_blocks;
  return fmt::format(
      "{:>10} {:>10} {:>10} {:>7} {:>12}  {}\n{:>10} {:>10} {:>10} {:>7} {:>12}  {}\n", "size",
      "used", "available", "use", "inodes", "image", size_text(usage.blocks * usage.block_bytes),
      size_text(used * usage.block_bytes), size_text(usage.available_blocks * usage.block_bytes),
      percent_text(used, usage.blocks), count_text(usage.inodes), printable(image));
}

void add_info(Commands& commands) {
  const auto image = std::make_shared<std::string>();
  CLI::App* const command = commands.add("info", "Show what a volume is");
  command->add_option("IMAGE", *image)->required();
  commands.set_action(command, [image](const GlobalOptions& global) {
    return on_volume_and_device(global, *image, Access::kRead,
                                [&](Volume& volume, BlockDevice& device) -> Outcome<ExitCode> {
                                  if (global.json) {
                                    print_json(info_json(*image, device, volume));
                                  } else {
                                    print_text(info_text(*image, device, volume));
                                  }
                                  return ExitCode::kFine;
                                });
  });
}

void add_df(Commands& commands) {
  const auto image = std::make_shared<std::string>();
  CLI::App* const command = commands.add("df", "Show the space of a volume");
  command->add_option("IMAGE", *image)->required();
  commands.set_action(command, [image](const GlobalOptions& global) {
    return on_volume(global, *image, Access::kRead, [&](Volume& volume) -> Outcome<ExitCode> {
      if (global.json) {
        print_json(usage_json(volume.usage()));
      } else {
        print_text(usage_text(*image, volume.usage()));
      }
      return ExitCode::kFine;
    });
  });
}

}  // namespace

void add_info_commands(Commands& commands) {
  add_info(commands);
  add_df(commands);
}

}  // namespace cordwood::cli
