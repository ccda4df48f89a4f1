#include "format/items.hpp"

#include "base/checksum.hpp"
#include "format/seed.hpp"

namespace cordwood {

namespace {

Error bad_item(Key key, const char* what) {
  return corrupt(Place::kInode, key.inode().value, what);
}

}  // namespace

Result<InodeItem> parse_inode(ConstBytes data, Key key) {
  if (data.size() != sizeof(InodeItem)) return bad_item(key, "inode item has a wrong length");
  InodeItem item;
  std::memcpy(&item, data.data(), sizeof item);
  if (!is_file_type(item.mode >> 12)) return bad_item(key, "inode has an unknown type");
  if (item.size > kMaxFileBytes) return bad_item(key, "inode has an impossible size");
  constexpr std::uint32_t kSecond = 1'000'000'000;
  if (item.access_nanoseconds >= kSecond || item.modify_nanoseconds >= kSecond ||
      item.change_nanoseconds >= kSecond || item.birth_nanoseconds >= kSecond) {
    return bad_item(key, "inode has an impossible time");
  }
  return item;
}

Result<DirIndexItem> DirIndexItem::parse(ConstBytes data, Key key) {
  if (data.size() <= kDirIndexHeaderBytes || data.size() > kDirIndexHeaderBytes + kMaxNameBytes) {
    return bad_item(key, "directory entry has a wrong length");
  }
  DirIndexItem item;
  item.child = {load_le<std::uint64_t>(data.data())};
  const auto type = std::to_integer<std::uint8_t>(data[8]);
  if (!is_file_type(type)) return bad_item(key, "directory entry has an unknown type");
  if (item.child.value == 0 || item.child.value >= kInodeLimit) {
    return bad_item(key, "directory entry names an impossible inode");
  }
  item.type = static_cast<FileType>(type);
  item.name = as_text(data.subspan(kDirIndexHeaderBytes));
  if (item.name.find('/') != std::string_view::npos ||
      item.name.find('\0') != std::string_view::npos || item.name == "." || item.name == "..") {
    return bad_item(key, "directory entry has a forbidden name");
  }
  return item;
}

std::size_t DirIndexItem::store(std::byte* into) const {
  store_le(into, child.value);
  into[8] = static_cast<std::byte>(type);
  std::memcpy(into + kDirIndexHeaderBytes, name.data(), name.size());
  return kDirIndexHeaderBytes + name.size();
}

Result<ExtentItem> ExtentItem::parse(ConstBytes data, Key key, const Layout& layout) {
  if (data.size() < sizeof(ExtentHeader)) return bad_item(key, "extent is too short");
  ExtentHeader header;
  std::memcpy(&header, data.data(), sizeof header);
  ExtentItem item;
  item.kind = static_cast<ExtentKind>(header.kind);
  item.offset = key.lo;
  item.generation = {header.generation};
  const ConstBytes rest = data.subspan(sizeof header);
  if (item.kind == ExtentKind::kInline) {
    if (key.lo != 0 || rest.size() != header.length || header.block != 0) {
      return bad_item(key, "inline extent has a wrong shape");
    }
    item.inline_bytes = rest;
    return item;
  }
  item.run = {{header.block}, header.length};
  const std::uint64_t bytes = item.run.count * layout.block_bytes;
  if (key.lo % kGranuleBytes != 0 || key.lo > kMaxFileBytes || header.length == 0 ||
      bytes > kMaxExtentBytes) {
    return bad_item(key, "extent has a wrong place or length");
  }
  if (header.block >= kMaxDeviceBlocks || !layout.allocatable(item.run)) {
    return bad_item(key, "extent lies outside the volume's blocks");
  }
  if (item.kind == ExtentKind::kData) {
    if (rest.size() != 8 * divide_up(bytes, kGranuleBytes)) {
      return bad_item(key, "extent has a wrong number of checksums");
    }
    item.checksums = rest;
    return item;
  }
  if (item.kind != ExtentKind::kPreallocated || !rest.empty()) {
    return bad_item(key, "extent is of an unknown kind");
  }
  return item;
}

std::uint64_t granule_seed(std::uint64_t volume_seed, std::uint64_t byte, Generation generation) {
  return mix_seed(checksum_seed(volume_seed, Structure::kFileData, byte), generation.value);
}

Result<XattrEntry> XattrEntry::parse(ConstBytes data, Key key) {
  constexpr std::size_t kHeader = 4;
  if (data.size() < kHeader) return bad_item(key, "xattr entry is too short");
  XattrEntry entry;
  entry.kind = static_cast<XattrKind>(data[0]);
  const auto name_bytes = std::to_integer<std::size_t>(data[1]);
  const std::size_t value_bytes = load_le<std::uint16_t>(data.data() + 2);
  if (name_bytes == 0 || data.size() < kHeader + name_bytes + value_bytes) {
    return bad_item(key, "xattr entry has a wrong length");
  }
  if (entry.kind != XattrKind::kInline && !(entry.kind == XattrKind::kInode && value_bytes == 8)) {
    return bad_item(key, "xattr entry is of an unknown kind");
  }
  entry.name = as_text(data.subspan(kHeader, name_bytes));
  entry.value = data.subspan(kHeader + name_bytes, value_bytes);
  return entry;
}

std::size_t XattrEntry::store(std::byte* into) const {
  into[0] = static_cast<std::byte>(kind);
  into[1] = static_cast<std::byte>(name.size());
  store_le(into + 2, static_cast<std::uint16_t>(value.size()));
  std::memcpy(into + 4, name.data(), name.size());
  if (!value.empty()) std::memcpy(into + 4 + name.size(), value.data(), value.size());
  return stored_bytes();
}

}  // namespace cordwood
