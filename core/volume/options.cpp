#include "volume/options.hpp"

#include <charconv>
#include <system_error>
#include <utility>

namespace cordwood {

namespace {

constexpr std::pair<const char*, SplitPolicy> kSplitPolicies[] = {
    {"never_push", SplitPolicy::kNeverPush},
    {"push_full", SplitPolicy::kPushFull},
    {"push_needed", SplitPolicy::kPushNeeded},
    {"adaptive", SplitPolicy::kAdaptive},
};
constexpr std::pair<const char*, SearchHint> kSearchHints[] = {
    {"off", SearchHint::kOff},
    {"on", SearchHint::kOn},
};

constexpr std::pair<const char*, LogCopy> kLogCopies[] = {
    {"bulk", LogCopy::kBulk},
    {"per_item", LogCopy::kPerItem},
};
constexpr std::pair<const char*, LogDirty> kLogDirties[] = {
    {"chunks", LogDirty::kChunks},
    {"whole", LogDirty::kWhole},
};

/// Sets `value` to what `word` names. Returns false when it names nothing.
template <class Value, std::size_t kCount>
bool choose(const std::pair<const char*, Value> (&choices)[kCount], std::string_view word,
            Value& value) {
  for (const auto& [name, meaning] : choices) {
    if (word != name) continue;
    value = meaning;
    return true;
  }
  return false;
}

template <class Value, std::size_t kCount>
const char* name_of(const std::pair<const char*, Value> (&choices)[kCount], Value value) {
  for (const auto& [name, meaning] : choices) {
    if (meaning == value) return name;
  }
  return "?";
}

bool parse_percent(std::string_view word, std::uint32_t& value) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > 100) {
    return false;
  }
  value = number;
  return true;
}

Result<void> parse_switch(std::string_view text, Policy& policy) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view{} : text.substr(equals + 1);
  if (name == "split") {
    if (choose(kSplitPolicies, value, policy.split)) return {};
    return make_error(Errc::kInvalid,
                      "split is one of never_push, push_full, push_needed, adaptive");
  }
  if (name == "search_hint") {
    if (choose(kSearchHints, value, policy.search_hint)) return {};
    return make_error(Errc::kInvalid, "search_hint is one of on, off");
  }
  if (name == "log_copy") {
    if (choose(kLogCopies, value, policy.copy)) return {};
    return make_error(Errc::kInvalid, "log_copy is one of bulk, per_item");
  }
  if (name == "log_dirty") {
    if (choose(kLogDirties, value, policy.dirty)) return {};
    return make_error(Errc::kInvalid, "log_dirty is one of chunks, whole");
  }
  if (name == "whole_threshold") {
    if (parse_percent(value, policy.whole_threshold)) return {};
    return make_error(Errc::kInvalid, "whole_threshold is a percentage from 1 to 100");
  }
  return make_error(
      Errc::kInvalid,
      "unknown switch: there are split, search_hint, log_copy, log_dirty and whole_threshold");
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, Policy base) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    TRY(parse_switch(text.substr(0, comma), base));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return base;
}

std::string policy_text(const Policy& policy) {
  return std::string("split=") + name_of(kSplitPolicies, policy.split) +
         ",search_hint=" + name_of(kSearchHints, policy.search_hint) +
         ",log_copy=" + name_of(kLogCopies, policy.copy) +
         ",log_dirty=" + name_of(kLogDirties, policy.dirty) +
         ",whole_threshold=" + std::to_string(policy.whole_threshold);
}

}  // namespace cordwood
