// The content of an image: inodes, names, extents. Writing it out is image_builder_write.cpp.

#include "support/image_builder.hpp"

#include <cstring>

#include "base/check.hpp"
#include "base/random.hpp"

namespace cordwood::test {

namespace {

std::vector<std::byte> le_bytes(std::uint64_t value) {
  std::vector<std::byte> bytes(8);
  store_le(bytes.data(), value);
  return bytes;
}

}  // namespace

std::vector<std::byte> bytes_of(std::string_view text) {
  const ConstBytes bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

ImageBuilder::ImageBuilder(const ImageShape& shape) : shape_(shape) {
  const auto layout = Layout::compute(shape.device_bytes, shape.block_bytes, shape.node_bytes);
  CW_CHECK(layout.has_value());
  layout_ = *layout;
  superblock_.block_bytes = shape.block_bytes;
  superblock_.node_bytes = shape.node_bytes;
  superblock_.name_hash_bits = shape.name_hash_bits;
  for (std::size_t i = 0; i < superblock_.uuid.size(); ++i) {
    superblock_.uuid[i] = static_cast<std::uint8_t>(0xa0 + i);
  }
  superblock_.generation = shape.generation;
  superblock_.device_blocks = layout_.device_blocks;
  superblock_.mount_state = static_cast<std::uint32_t>(MountState::kClean);
  superblock_.log_first_block = layout_.log.first.value;
  superblock_.log_blocks = layout_.log.count;
  superblock_.log_sequence = 1;
  superblock_.next_inode = kRootInode.value;
  superblock_.created_seconds = 1'700'000'000;
  superblock_.written_seconds = superblock_.created_seconds;
  std::memcpy(superblock_.label.data(), "built", 5);
  device_ = std::make_unique<MemoryDevice>(shape.device_bytes);
  next_block_ = layout_.first_free.value;
  next_node_ += shape.skip_ids;
  add_inode(FileType::kDirectory, 2);
}

BlockRun ImageBuilder::allocate(std::uint64_t blocks) {
  const BlockRun run{{next_block_}, blocks};
  CW_CHECK(layout_.allocatable(run));
  next_block_ += blocks;
  for (std::uint64_t i = 0; i < blocks; ++i) used.insert(run.first.value + i);
  return run;
}

InodeNumber ImageBuilder::add_inode(FileType type, std::uint32_t links) {
  const InodeNumber number{superblock_.next_inode++};
  InodeItem item;
  item.mode = make_mode(type, 0755);
  item.links = links;
  item.next_dir_index = type == FileType::kDirectory ? kFirstDirIndex : 0;
  put(make_key(number, ItemType::kInode), std::as_bytes(std::span(&item, 1)));
  return number;
}

void ImageBuilder::add_name(InodeNumber child, InodeNumber parent, std::string_view name) {
  const FileType type = inode(child).type();
  std::uint64_t index = 0;
  change_inode(parent, [&](InodeItem& item) {
    index = item.next_dir_index++;
    item.size += name.size();
    if (type == FileType::kDirectory) ++item.links;
  });
  std::vector<std::byte> entry(kDirIndexHeaderBytes + name.size());
  DirIndexItem{child, type, name}.store(entry.data());
  put(make_key(parent, ItemType::kDirIndex, index), entry);
  append(make_key(parent, ItemType::kDirHash, hash(name)), le_bytes(index));
  const InodeRefItem ref{parent.value, index};
  append(make_key(child, ItemType::kInodeRef, inode_ref_hash(parent, index)),
         std::as_bytes(std::span(&ref, 1)));
}

InodeNumber ImageBuilder::add_directory(InodeNumber parent, std::string_view name) {
  const InodeNumber number = add_inode(FileType::kDirectory, 2);
  add_name(number, parent, name);
  return number;
}

InodeNumber ImageBuilder::add_file(InodeNumber parent, std::string_view name, FileType type) {
  const InodeNumber number = add_inode(type, 1);
  add_name(number, parent, name);
  return number;
}

InodeNumber ImageBuilder::add_symlink(InodeNumber parent, std::string_view name,
                                      std::string_view target) {
  const InodeNumber number = add_file(parent, name, FileType::kSymlink);
  add_inline(number, target);
  return number;
}

void ImageBuilder::add_link(InodeNumber inode, InodeNumber parent, std::string_view name) {
  change_inode(inode, [](InodeItem& item) { ++item.links; });
  add_name(inode, parent, name);
}

InodeNumber ImageBuilder::add_nameless(FileType type) { return add_inode(type, 0); }

void ImageBuilder::add_orphan(InodeNumber inode) {
  put(make_key({0}, ItemType::kOrphan, inode.value), {});
}

void ImageBuilder::add_inline(InodeNumber inode, std::string_view content) {
  ExtentHeader header;
  header.kind = static_cast<std::uint8_t>(ExtentKind::kInline);
  header.length = static_cast<std::uint32_t>(content.size());
  std::vector<std::byte> item(sizeof header + content.size());
  std::memcpy(item.data(), &header, sizeof header);
  std::memcpy(item.data() + sizeof header, content.data(), content.size());
  put(make_key(inode, ItemType::kExtent, 0), item);
  change_inode(inode, [&](InodeItem& node) { node.size = content.size(); });
}

BlockRun ImageBuilder::add_data(InodeNumber inode, std::uint64_t offset, std::uint64_t blocks) {
  const BlockRun run = add_extent(inode, offset, blocks, ExtentKind::kData);
  change_inode(inode, [&](InodeItem& item) {
    item.size = std::max(item.size, offset + blocks * layout_.block_bytes);
  });
  return run;
}

BlockRun ImageBuilder::add_preallocated(InodeNumber inode, std::uint64_t offset,
                                        std::uint64_t blocks) {
  return add_extent(inode, offset, blocks, ExtentKind::kPreallocated);
}

BlockRun ImageBuilder::add_extent(InodeNumber inode, std::uint64_t offset, std::uint64_t blocks,
                                  ExtentKind kind) {
  const BlockRun run = allocate(blocks);
  ExtentHeader header;
  header.kind = static_cast<std::uint8_t>(kind);
  header.length = static_cast<std::uint32_t>(blocks);
  header.block = run.first.value;
  header.generation = superblock_.generation - 1;
  std::vector<std::byte> item(sizeof header);
  std::memcpy(item.data(), &header, sizeof header);
  if (kind == ExtentKind::kData) {
    std::vector<std::byte> data(blocks * layout_.block_bytes);
    Random(inode.value ^ offset).fill(data);
    const std::uint64_t first = layout_.byte_of(run.first);
    CW_CHECK(device_->write(first, data).has_value());
    for (std::size_t at = 0; at < data.size(); at += kGranuleBytes) {
      const std::size_t bytes = std::min<std::size_t>(kGranuleBytes, data.size() - at);
      const std::uint64_t seed = granule_seed(volume_seed(), first + at, {header.generation});
      const auto sum = le_bytes(checksum(ConstBytes(data).subspan(at, bytes), seed));
      item.insert(item.end(), sum.begin(), sum.end());
    }
  }
  put(make_key(inode, ItemType::kExtent, offset), item);
  change_inode(inode, [&](InodeItem& node) { node.bytes += blocks * layout_.block_bytes; });
  return run;
}

void ImageBuilder::add_xattr(InodeNumber inode, std::string_view name, std::string_view value) {
  const XattrEntry entry{XattrKind::kInline, name, as_bytes(value)};
  std::vector<std::byte> bytes(entry.stored_bytes());
  entry.store(bytes.data());
  append(make_key(inode, ItemType::kXattr, hash(name)), bytes);
}

InodeNumber ImageBuilder::add_large_xattr(InodeNumber inode, std::string_view name,
                                          std::uint64_t blocks) {
  const InodeNumber holder = add_inode(FileType::kRegular, 1);
  change_inode(holder, [](InodeItem& item) { item.flags = kInodeXattrValue; });
  add_data(holder, 0, blocks);
  const auto number = le_bytes(holder.value);
  const XattrEntry entry{XattrKind::kInode, name, number};
  std::vector<std::byte> bytes(entry.stored_bytes());
  entry.store(bytes.data());
  append(make_key(inode, ItemType::kXattr, hash(name)), bytes);
  return holder;
}

InodeItem ImageBuilder::inode(InodeNumber number) const {
  const auto found = items.find(make_key(number, ItemType::kInode));
  CW_CHECK(found != items.end());
  InodeItem item;
  std::memcpy(&item, found->second.data(), sizeof item);
  return item;
}

void ImageBuilder::change_inode(InodeNumber number, const std::function<void(InodeItem&)>& change) {
  InodeItem item = inode(number);
  change(item);
  put(make_key(number, ItemType::kInode), std::as_bytes(std::span(&item, 1)));
}

void ImageBuilder::put(Key key, ConstBytes item) { items[key].assign(item.begin(), item.end()); }

void ImageBuilder::append(Key key, ConstBytes bytes) {
  std::vector<std::byte>& item = items[key];
  item.insert(item.end(), bytes.begin(), bytes.end());
}

std::uint64_t ImageBuilder::hash(std::string_view name) const {
  return NameHasher{volume_seed(), shape_.name_hash_bits}(name);
}

std::vector<Key> ImageBuilder::keys(InodeNumber number, ItemType type) const {
  std::vector<Key> found;
  for (const auto& [key, item] : items) {
    if (key.inode() == number && key.type() == type) found.push_back(key);
  }
  return found;
}

}  // namespace cordwood::test
