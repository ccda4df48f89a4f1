#include "volume/options.hpp"

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

Result<void> parse_switch(std::string_view text, TreePolicy& policy) {
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
  return make_error(Errc::kInvalid, "unknown switch: there are split and search_hint");
}

}  // namespace

Result<TreePolicy> parse_policy(std::string_view text, TreePolicy base) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    TRY(parse_switch(text.substr(0, comma), base));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return base;
}

std::string policy_text(const TreePolicy& policy) {
  return std::string("split=") + name_of(kSplitPolicies, policy.split) +
         ",search_hint=" + name_of(kSearchHints, policy.search_hint);
}

}  // namespace cordwood
