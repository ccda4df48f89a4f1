#include "device/write_fate.hpp"

#include <optional>

namespace cordwood {

namespace {

constexpr std::string_view kLetters = "-+htgm";  // in the order of WriteFate::Kind
/// No recording has more open writes; a mistyped count must not ask for gigabytes.
constexpr std::uint64_t kFatesMax = 1u << 24;

bool comes_in_runs(WriteFate::Kind kind) {
  return kind == WriteFate::Kind::kLost || kind == WriteFate::Kind::kKept;
}

/// Takes a decimal number off the front of `text`; none if it has no digit there or is too large.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    const auto digit = static_cast<std::uint64_t>(text[digits] - '0');
    if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

}  // namespace

std::string CrashChoice::id() const {
  std::string text = std::to_string(cut) + ':';
  for (std::size_t i = 0; i < fates.size();) {
    const WriteFate fate = fates[i];
    text += kLetters[static_cast<std::size_t>(fate.kind)];
    std::size_t run = 1;
    if (comes_in_runs(fate.kind)) {
      while (i + run < fates.size() && fates[i + run] == fate) ++run;
      if (run > 1) text += std::to_string(run);
    } else {
      text += std::to_string(fate.detail);
    }
    i += run;
  }
  return text;
}

Result<CrashChoice> CrashChoice::parse(std::string_view id) {
  const Error bad = make_error(Errc::kInvalid, "not the id of a crash state");
  CrashChoice choice;
  const auto cut = take_number(id);
  if (!cut || id.empty() || id.front() != ':') return bad;
  choice.cut = *cut;
  id.remove_prefix(1);
  while (!id.empty()) {
    const std::size_t letter = kLetters.find(id.front());
    if (letter == std::string_view::npos) return bad;
    id.remove_prefix(1);
    const auto kind = static_cast<WriteFate::Kind>(letter);
    const auto number = take_number(id);
    if (comes_in_runs(kind)) {
      const std::uint64_t run = number.value_or(1);
      if (run == 0 || run > kFatesMax - choice.fates.size()) return bad;
      choice.fates.insert(choice.fates.end(), static_cast<std::size_t>(run), {kind, 0});
    } else {
      if (!number || *number > UINT32_MAX) return bad;
      choice.fates.push_back({kind, static_cast<std::uint32_t>(*number)});
    }
  }
  return choice;
}

}  // namespace cordwood
