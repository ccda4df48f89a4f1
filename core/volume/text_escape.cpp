#include "volume/text_escape.hpp"

#include <cstdint>

namespace cordwood {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

void append_hex(std::string& to, unsigned char byte) {
  to += kDigits[byte >> 4];
  to += kDigits[byte & 0xf];
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint32_t code = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    code = first & 0x1f;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    code = first & 0x0f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    code = first & 0x07;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_sequence(text);
    // U+0080 to U+009F are control characters too: C2 80 to C2 9F.
    const bool control =
        first < 0x20 || first == 0x7f ||
        (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || control) {
      result += "\\x";
      append_hex(result, first);
      text.remove_prefix(1);
      continue;
    }
    if (first == '"' || first == '\\') result += '\\';
    result += text.substr(0, length);
    text.remove_prefix(length);
  }
  return result + '"';
}

std::string lossy_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    result += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string hex_text(ConstBytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) append_hex(text, std::to_integer<unsigned char>(byte));
  return text;
}

}  // namespace cordwood
