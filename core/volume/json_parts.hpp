#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "format/items.hpp"
#include "format/table.hpp"
#include "volume/image_reader.hpp"
#include "volume/text_escape.hpp"

namespace cordwood {

// What the descriptions share (describe.hpp tells the conventions).

/// "0x" and 16 digits.
[[nodiscard]] std::string hex64(std::uint64_t value);
/// Puts a name or label in: `key`, and `key`_hex when it is not UTF-8.
void put_text(boost::json::object& object, std::string_view key, std::string_view text);
/// {"error": "..."}
[[nodiscard]] boost::json::object error_json(const Error& error);
/// "fifo", "directory", "file" ...
[[nodiscard]] const char* file_type_name(FileType type);
/// {"block", "fragmented", "free_count", "checksum"}; null when empty.
[[nodiscard]] boost::json::value entry_json(const TableEntry& entry);
/// {"runs": [[first, count] ...], "lists": [block ...]}
[[nodiscard]] boost::json::object place_json(const ContentPlace& place);
[[nodiscard]] inline std::uint64_t permille(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : part * 1000 / whole;
}
/// Bytes of a node that hold something, of those that could: without the header.
[[nodiscard]] std::uint64_t bytes_used(const ImageNode& node);
[[nodiscard]] std::uint64_t bytes_usable(const ImageNode& node);

}  // namespace cordwood
