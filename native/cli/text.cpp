#include "cli/text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <ctime>
#include <limits>

#include "volume/text_escape.hpp"

namespace cordwood::cli {

namespace {

constexpr std::string_view kSuffixes = "KMGTPE";

std::optional<std::tm> local_time(Timestamp time) {
  const auto seconds = static_cast<std::time_t>(time.seconds);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return std::nullopt;
  return parts;
}

std::string formatted(const std::tm& parts, const char* format) {
  char text[128];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string escaped(unsigned char byte) {
  switch (byte) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    case '\\': return "\\\\";
    default: return fmt::format("\\x{:02x}", byte);
  }
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest == text.data()) return std::nullopt;
  std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  if (suffix.empty() || suffix == "B") return number;
  const auto power = kSuffixes.find(static_cast<char>(std::toupper(suffix[0])));
  if (power == std::string_view::npos) return std::nullopt;
  suffix.remove_prefix(1);
  if (!suffix.empty() && suffix != "B" && suffix != "iB") return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1023.95 && unit + 1 < kSuffixes.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}iB", amount, kSuffixes[unit]);
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string time_text(Timestamp time) {
  const auto parts = local_time(time);
  if (!parts) return fmt::format("@{}.{:09}", time.seconds, time.nanoseconds);
  return fmt::format("{}.{:09} {}", formatted(*parts, "%Y-%m-%d %H:%M:%S"), time.nanoseconds,
                     formatted(*parts, "%z"));
}

std::string short_time_text(Timestamp time) {
  const auto parts = local_time(time);
  if (!parts) return fmt::format("@{}", time.seconds);
  return formatted(*parts, "%Y-%m-%d %H:%M");
}

std::string mode_text(std::uint32_t mode) {
  std::string text = "?rwxrwxrwx";
  switch (file_type_of(mode)) {
    case FileType::kFifo: text[0] = 'p'; break;
    case FileType::kCharDevice: text[0] = 'c'; break;
    case FileType::kDirectory: text[0] = 'd'; break;
    case FileType::kBlockDevice: text[0] = 'b'; break;
    case FileType::kRegular: text[0] = '-'; break;
    case FileType::kSymlink: text[0] = 'l'; break;
    case FileType::kSocket: text[0] = 's'; break;
  }
  for (std::size_t bit = 0; bit < 9; ++bit) {
    if ((mode & (0400U >> bit)) == 0) text[1 + bit] = '-';
  }
  const auto special = [&](std::uint32_t bit, std::size_t place, char with, char without) {
    if ((mode & bit) != 0) text[place] = text[place] == 'x' ? with : without;
  };
  special(04000, 3, 's', 'S');
  special(02000, 6, 's', 'S');
  special(01000, 9, 't', 'T');
  return text;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  while (!name.empty()) {
    const std::size_t length = utf8_sequence(name);
    const auto first = static_cast<unsigned char>(name[0]);
    // U+0080 to U+009F are control characters too: some terminals act on them.
    const bool control = length == 2 && first == 0xc2 && static_cast<unsigned char>(name[1]) < 0xa0;
    if (length == 0 || control || first < 0x20 || first == 0x7f || first == '\\') {
      text += escaped(first);
      name.remove_prefix(1);
    } else {
      text += name.substr(0, length);
      name.remove_prefix(length);
    }
  }
  return text;
}

}  // namespace cordwood::cli
