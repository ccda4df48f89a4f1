#include "support/operation.hpp"

#include <array>
#include <charconv>

#include "base/random.hpp"

namespace cordwood::test {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Operation::Kind::kCount)> kNames{
    "create",   "mkdir",     "symlink",  "link",    "unlink",  "rmdir",     "rename",
    "write",    "append",    "truncate", "read",    "seek",    "setxattr",  "getxattr",
    "rmxattr",  "listxattr", "chmod",    "chown",   "utimens", "lookup",    "stat",
    "readlink", "resolve",   "readdir",  "stale",   "open",    "close",     "clock",
    "sync",     "remount",   "check",    "compare", "fsync",   "checkpoint"};

Error bad_line() { return make_error(Errc::kInvalid, "not an operation"); }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

template <class T>
void put_number(std::string& text, const char* key, T value) {
  if (value != 0) text += std::string(" ") + key + '=' + std::to_string(value);
}

template <class T>
Result<void> take_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return bad_line();
  return {};
}

Result<void> take_field(Operation& operation, std::string_view key, std::string_view value) {
  if (key == "path") {
    operation.path = TRY(unescape(value));
  } else if (key == "path2") {
    operation.path2 = TRY(unescape(value));
  } else if (key == "offset") {
    TRY(take_number(value, operation.offset));
  } else if (key == "bytes") {
    TRY(take_number(value, operation.bytes));
  } else if (key == "seed") {
    TRY(take_number(value, operation.seed));
  } else if (key == "mode") {
    TRY(take_number(value, operation.mode));
  } else if (key == "number") {
    TRY(take_number(value, operation.number));
  } else {
    return bad_line();
  }
  return {};
}

std::string_view take_word(std::string_view& line) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
  return word;
}

}  // namespace

std::string escape(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    if (value > ' ' && value < 0x7f && c != '%' && c != '=') {
      text += c;
    } else {
      text += {'%', kDigits[value >> 4], kDigits[value & 15]};
    }
  }
  return text;
}

Result<std::string> unescape(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) {
      return bad_line();
    }
    bytes += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return bytes;
}

std::string to_text(const Operation& operation) {
  std::string text = kNames[static_cast<std::size_t>(operation.kind)];
  if (!operation.path.empty()) text += " path=" + escape(operation.path);
  if (!operation.path2.empty()) text += " path2=" + escape(operation.path2);
  put_number(text, "offset", operation.offset);
  put_number(text, "bytes", operation.bytes);
  put_number(text, "seed", operation.seed);
  put_number(text, "mode", operation.mode);
  put_number(text, "number", operation.number);
  return text;
}

std::string to_text(const std::vector<Operation>& operations) {
  std::string text;
  for (const Operation& operation : operations) text += to_text(operation) + '\n';
  return text;
}

Result<Operation> parse_operation(std::string_view line) {
  Operation operation;
  const std::string_view name = take_word(line);
  std::size_t kind = 0;
  while (kind < kNames.size() && name != kNames[kind]) ++kind;
  if (kind == kNames.size()) return bad_line();
  operation.kind = static_cast<Operation::Kind>(kind);
  while (!line.empty()) {
    const std::string_view word = take_word(line);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return bad_line();
    TRY(take_field(operation, word.substr(0, equals), word.substr(equals + 1)));
  }
  return operation;
}

std::vector<std::byte> pattern(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  if (seed != 0) Random(seed).fill(data);
  return data;
}

}  // namespace cordwood::test
