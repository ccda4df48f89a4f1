#pragma once

#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace cordwood {

/// Names on a volume are bytes: not always UTF-8, and some would move the cursor of a terminal.

/// Length of the UTF-8 sequence at the start of `text`; 0 when there is no right one (overlong,
/// surrogate, above U+10FFFF, cut short).
[[nodiscard]] std::size_t utf8_sequence(std::string_view text);
/// Between quotation marks, with \xNN for control characters and what is not UTF-8, and \" and \\.
[[nodiscard]] std::string quoted(std::string_view text);
/// With U+FFFD for each byte that is not UTF-8.
[[nodiscard]] std::string lossy_utf8(std::string_view text);
/// Two lower-case digits a byte.
[[nodiscard]] std::string hex_text(ConstBytes bytes);

}  // namespace cordwood
