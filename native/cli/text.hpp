#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "volume/types.hpp"

namespace cordwood::cli {

/// Parses "4096", "16K", "1G", "2TiB": a whole number and a suffix of powers of 1024.
/// @return none for anything else, and for what does not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// "512 B", "16.0 KiB", "1.5 GiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);
/// "1,234,567".
[[nodiscard]] std::string count_text(std::uint64_t count);
/// A share of a whole: "12.3 %"; "-" of nothing.
[[nodiscard]] std::string percent_text(std::uint64_t part, std::uint64_t whole);

/// Local time to the nanosecond as stat shows it; "@seconds.nanoseconds" for years that the C library
/// cannot show.
[[nodiscard]] std::string time_text(Timestamp time);
/// Local time to the minute as ls shows it.
[[nodiscard]] std::string short_time_text(Timestamp time);

/// "drwxr-xr-x".
[[nodiscard]] std::string mode_text(std::uint32_t mode);

[[nodiscard]] bool is_utf8(std::string_view bytes);
/// A name on one line that a terminal can show, and back again: control characters, backslashes and
/// bytes that are not UTF-8 become \n, \\, \xNN.
[[nodiscard]] std::string printable(std::string_view name);

}  // namespace cordwood::cli
