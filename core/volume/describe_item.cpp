// Keys and items as JSON.

#include "volume/describe.hpp"
#include "volume/json_parts.hpp"

namespace cordwood {

namespace json = boost::json;

namespace {

/// Inline bytes and checksums beyond this many are only counted.
constexpr std::size_t kListMax = 16;

const char* item_type_name(ItemType type) {
  switch (type) {
    case ItemType::kInode: return "inode";
    case ItemType::kInodeRef: return "inode_ref";
    case ItemType::kXattr: return "xattr";
    case ItemType::kDirHash: return "dir_hash";
    case ItemType::kDirIndex: return "dir_index";
    case ItemType::kExtent: return "extent";
    case ItemType::kOrphan: return "orphan";
  }
  return "unknown";
}

json::object time_json(std::int64_t seconds, std::uint32_t nanoseconds) {
  return {{"seconds", seconds}, {"nanoseconds", nanoseconds}};
}

json::object inode_json(const InodeItem& item) {
  return {
      {"type", file_type_name(item.type())},
      {"mode", item.mode & 07777},
      {"links", item.links},
      {"uid", item.uid},
      {"gid", item.gid},
      {"size", item.size},
      {"bytes", item.bytes},
      {"rdev", item.rdev},
      {"flags", item.flags},
      {"next_dir_index", item.next_dir_index},
      {"access", time_json(item.access_seconds, item.access_nanoseconds)},
      {"modify", time_json(item.modify_seconds, item.modify_nanoseconds)},
      {"change", time_json(item.change_seconds, item.change_nanoseconds)},
      {"birth", time_json(item.birth_seconds, item.birth_nanoseconds)},
  };
}

json::object refs_json(ConstBytes bytes) {
  json::array refs;
  for (std::size_t at = 0; at + sizeof(InodeRefItem) <= bytes.size(); at += sizeof(InodeRefItem)) {
    refs.push_back(json::object{{"parent", load_le<std::uint64_t>(bytes.data() + at)},
                                {"index", load_le<std::uint64_t>(bytes.data() + at + 8)}});
  }
  return {{"refs", std::move(refs)}};
}

json::object xattr_json(Key key, ConstBytes bytes) {
  json::array entries;
  while (!bytes.empty()) {
    const auto parsed = XattrEntry::parse(bytes, key);
    if (!parsed) return error_json(parsed.error());
    json::object entry;
    put_text(entry, "name", parsed->name);
    if (parsed->kind == XattrKind::kInode) {
      entry["value_inode"] = load_le<std::uint64_t>(parsed->value.data());
    } else {
      put_text(entry, "value", as_text(parsed->value));
    }
    entries.push_back(std::move(entry));
    bytes = bytes.subspan(parsed->stored_bytes());
  }
  return {{"entries", std::move(entries)}};
}

json::object dir_hash_json(Key key, ConstBytes bytes) {
  json::array indexes;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    indexes.push_back(load_le<std::uint64_t>(bytes.data() + at));
  }
  return {{"hash", hex64(key.lo)}, {"indexes", std::move(indexes)}};
}

json::object dir_index_json(Key key, ConstBytes bytes) {
  const auto entry = DirIndexItem::parse(bytes, key);
  if (!entry) return error_json(entry.error());
  json::object object{
      {"index", key.lo}, {"child", entry->child.value}, {"type", file_type_name(entry->type)}};
  put_text(object, "name", entry->name);
  return object;
}

json::object extent_json(Key key, ConstBytes bytes, const Layout& layout) {
  const auto extent = ExtentItem::parse(bytes, key, layout);
  if (!extent) return error_json(extent.error());
  json::object object{{"offset", extent->offset}};
  if (extent->kind == ExtentKind::kInline) {
    object["kind"] = "inline";
    object["bytes"] = extent->inline_bytes.size();
    object["content_hex"] =
        hex_text(extent->inline_bytes.first(std::min(kListMax, extent->inline_bytes.size())));
    return object;
  }
  object["kind"] = extent->kind == ExtentKind::kData ? "data" : "preallocated";
  object["bytes"] = extent->bytes(layout);
  object["block"] = extent->run.first.value;
  object["blocks"] = extent->run.count;
  object["generation"] = extent->generation.value;
  json::array checksums;
  for (std::size_t at = 0; at < extent->checksums.size() && at < 8 * kListMax; at += 8) {
    checksums.push_back(json::string(hex64(load_le<std::uint64_t>(extent->checksums.data() + at))));
  }
  object["checksum_count"] = extent->checksums.size() / 8;
  object["checksums"] = std::move(checksums);
  return object;
}

}  // namespace

json::object describe_key(Key key) {
  return {
      {"inode", key.inode().value}, {"type", item_type_name(key.type())}, {"lo", hex64(key.lo)}};
}

json::object describe_item(Key key, ConstBytes bytes, const Layout& layout) {
  switch (key.type()) {
    case ItemType::kInode: {
      const auto item = parse_inode(bytes, key);
      return item ? inode_json(*item) : error_json(item.error());
    }
    case ItemType::kInodeRef: return refs_json(bytes);
    case ItemType::kXattr: return xattr_json(key, bytes);
    case ItemType::kDirHash: return dir_hash_json(key, bytes);
    case ItemType::kDirIndex: return dir_index_json(key, bytes);
    case ItemType::kExtent: return extent_json(key, bytes, layout);
    case ItemType::kOrphan: return {{"inode", key.lo}};
  }
  return {{"error", "unknown type of item"}, {"bytes_hex", hex_text(bytes)}};
}

}  // namespace cordwood
