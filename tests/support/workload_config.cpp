#include "support/workload_config.hpp"

#include <charconv>

namespace cordwood::test {

namespace {

/// Calls act(name, field) for every field, so that reading and writing cannot disagree.
template <class Config, class Act>
void for_fields(Config& config, Act act) {
  act("device_bytes", config.device_bytes);
  act("node_bytes", config.node_bytes);
  act("block_bytes", config.block_bytes);
  act("name_hash_bits", config.name_hash_bits);
  act("cache_bytes", config.cache_bytes);
  act("dirty_bytes_max", config.dirty_bytes_max);
  act("inline_max", config.inline_max);
  act("split", config.split);
  act("hint", config.hint);
  act("log", config.log);
  act("log_ahead_bytes", config.log_ahead_bytes);
  act("no_space", config.no_space);
  act("fragment", config.fragment);
  act("names", config.names);
  act("file_bytes", config.file_bytes);
  act("total_bytes", config.total_bytes);
}

}  // namespace

FormatOptions WorkloadConfig::format_options(Clock* clock) const {
  FormatOptions options;
  options.block_bytes = block_bytes;
  options.node_bytes = node_bytes;
  options.name_hash_bits = name_hash_bits;
  options.label = "test";
  for (std::size_t i = 0; i < options.uuid.size(); ++i) {
    options.uuid[i] = static_cast<std::uint8_t>(17 * i + 3);
  }
  options.clock = clock;
  return options;
}

MountOptions WorkloadConfig::mount_options(Clock* clock) const {
  MountOptions options;
  options.policy.split = static_cast<SplitPolicy>(split);
  options.policy.search_hint = static_cast<SearchHint>(hint);
  options.policy.copy = static_cast<LogCopy>(log % 2);
  options.policy.dirty = static_cast<LogDirty>(log / 2 % 2);
  options.log_ahead_bytes = static_cast<std::size_t>(log_ahead_bytes);
  options.cache_bytes = static_cast<std::size_t>(cache_bytes);
  options.dirty_bytes_max = static_cast<std::size_t>(dirty_bytes_max);
  options.inline_max = inline_max;
  options.clock = clock;
  return options;
}

MountOptions WorkloadConfig::mount_options(Clock* clock, std::uint32_t variation) const {
  MountOptions options = mount_options(clock);
  if (variation == 0) return options;
  options.policy.split = static_cast<SplitPolicy>(variation % 4);
  options.policy.search_hint = static_cast<SearchHint>(variation / 4 % 2);
  if (variation / 8 % 2 == 1) options.cache_bytes = 40 * std::size_t{node_bytes};
  if (variation / 16 % 2 == 1) options.inline_max = inline_max / 2;
  return options;
}

std::string to_text(const WorkloadConfig& config) {
  std::string text = "config";
  for_fields(config, [&text](const char* name, auto value) {
    text += std::string(" ") + name + '=' + std::to_string(value);
  });
  return text;
}

Result<WorkloadConfig> parse_config(std::string_view line) {
  const Error bad = make_error(Errc::kInvalid, "not a workload's config");
  constexpr std::string_view kHead = "config";
  if (line.substr(0, kHead.size()) != kHead) return bad;
  line.remove_prefix(kHead.size());
  WorkloadConfig config;
  while (!line.empty()) {
    line.remove_prefix(1);
    const std::size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    line = space == std::string_view::npos ? std::string_view{} : line.substr(space);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return bad;
    const std::string_view value = word.substr(equals + 1);
    bool known = false;
    for_fields(config, [&](const char* name, auto& field) {
      if (word.substr(0, equals) != name) return;
      known = std::from_chars(value.data(), value.data() + value.size(), field).ec == std::errc{};
    });
    if (!known) return bad;
  }
  return config;
}

}  // namespace cordwood::test
