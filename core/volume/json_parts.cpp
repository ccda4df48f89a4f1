#include "volume/json_parts.hpp"

#include <array>

namespace cordwood {

namespace json = boost::json;

std::string hex64(std::uint64_t value) {
  std::array<std::byte, 8> big_endian{};
  for (std::size_t i = 0; i < 8; ++i) {
    big_endian[i] = static_cast<std::byte>(value >> (56 - 8 * i));
  }
  return "0x" + hex_text(big_endian);
}

void put_text(json::object& object, std::string_view key, std::string_view text) {
  const std::string readable = lossy_utf8(text);
  object[key] = readable;
  if (readable != text) object[std::string(key) + "_hex"] = hex_text(as_bytes(text));
}

json::object error_json(const Error& error) { return {{"error", error.message()}}; }

const char* file_type_name(FileType type) {
  switch (type) {
    case FileType::kFifo: return "fifo";
    case FileType::kCharDevice: return "char_device";
    case FileType::kDirectory: return "directory";
    case FileType::kBlockDevice: return "block_device";
    case FileType::kRegular: return "file";
    case FileType::kSymlink: return "symlink";
    case FileType::kSocket: return "socket";
  }
  return "unknown";
}

json::value entry_json(const TableEntry& entry) {
  if (entry.place.empty()) return nullptr;
  return json::object{{"block", entry.place.block().value},
                      {"fragmented", entry.place.fragmented()},
                      {"free_count", entry.place.free_count()},
                      {"checksum", hex64(entry.checksum)}};
}

json::object place_json(const ContentPlace& place) {
  json::array runs;
  for (const BlockRun& run : place.runs) {
    runs.push_back(json::array{run.first.value, run.count});
  }
  json::array lists;
  for (const BlockNumber list : place.lists) lists.push_back(list.value);
  return {{"runs", std::move(runs)}, {"lists", std::move(lists)}};
}

std::uint64_t bytes_used(const ImageNode& node) {
  if (node.is_leaf()) return node.leaf().used_bytes();
  return std::uint64_t{node.inner().count()} * (kKeyBytes + sizeof(std::uint64_t));
}

std::uint64_t bytes_usable(const ImageNode& node) {
  const auto node_bytes = static_cast<std::uint32_t>(node.bytes.size());
  if (node.is_leaf()) return node_bytes - kNodeHeaderBytes;
  return std::uint64_t{inner_capacity(node_bytes)} * (kKeyBytes + sizeof(std::uint64_t));
}

}  // namespace cordwood
