// The operations of Executor on data, attributes and xattrs.

#include <algorithm>
#include <cstring>

#include "format/items.hpp"
#include "support/executor.hpp"

namespace cordwood::test {

namespace {

/// No operation of a file asks for more.
constexpr std::uint64_t kBytesMax = 8_MiB;

AttributeChanges changes_of(const Operation& operation) {
  AttributeChanges changes;
  switch (operation.kind) {
    case Operation::Kind::kTruncate: changes.size = operation.offset; break;
    case Operation::Kind::kChangeMode: changes.permissions = operation.mode & 07777; break;
    case Operation::Kind::kChangeOwner:
      changes.uid = operation.mode;
      changes.gid = operation.number;
      break;
    default: {
      const Timestamp time{static_cast<std::int64_t>(operation.seed), operation.number};
      if ((operation.mode & 1) != 0) changes.access = time;
      if ((operation.mode & 2) != 0) changes.modify = time;
    }
  }
  return changes;
}

}  // namespace

void Executor::write(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const bool append = operation.kind == Operation::Kind::kAppend;
  const std::vector<std::byte> data = pattern(operation.seed, std::min(operation.bytes, kBytesMax));
  const std::uint64_t offset = append ? model_.find(*inode)->content.size() : operation.offset;
  const Allowed allowed = model_.allow_write(*inode, offset, data.size());
  const auto count = append ? volume_->append(*inode, data) : volume_->write(*inode, offset, data);
  if (!succeeded(allowed, count)) return;
  const bool may_be_short = config_.no_space != 0 && *count > 0;
  if (*count > data.size() || (*count < data.size() && !may_be_short)) {
    fail("wrote " + std::to_string(*count) + " bytes");
    return;
  }
  model_.write(*inode, offset, ConstBytes(data).first(*count), clock_.now());
  expect_attributes(*inode);
}

void Executor::read(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const std::size_t bytes = std::min(operation.bytes, kBytesMax);
  std::vector<std::byte> actual(bytes, std::byte{0xee});
  const auto count = volume_->read(*inode, operation.offset, actual);
  if (!succeeded(model_.allow_read(*inode), count)) return;
  std::vector<std::byte> expected(bytes);
  const std::size_t there = model_.find(*inode)->content.read(operation.offset, expected);
  if (*count != there) {
    return fail("read " + std::to_string(*count) + " bytes, should be " + std::to_string(there));
  }
  if (there == 0 || std::memcmp(actual.data(), expected.data(), there) == 0) return;
  const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first;
  fail("wrong byte at " + std::to_string(operation.offset + (at - actual.begin())));
}

void Executor::seek(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode || model_.find(*inode)->type() != FileType::kRegular) return;
  const FileContent& content = model_.find(*inode)->content;
  const std::uint64_t from = operation.offset;
  const auto data = volume_->seek_data(*inode, from);
  const auto hole = volume_->seek_hole(*inode, from);
  if (from >= content.size()) {
    (void)succeeded({Errc::kNoData}, data);
    (void)succeeded({Errc::kNoData}, hole);
    return;
  }
  const std::uint64_t nonzero = content.next_nonzero(from);
  if (!data) {
    if (data.error().code != Errc::kNoData) {
      (void)succeeded({}, data);
    } else if (nonzero != content.size())
      fail("seek_data misses data at " + std::to_string(nonzero));
  } else if (*data < from || *data >= content.size() || *data > nonzero) {
    fail("seek_data gives " + std::to_string(*data) + ", data is at " + std::to_string(nonzero));
  }
  if (!succeeded({}, hole)) return;
  if (*hole < from || *hole > content.size()) {
    fail("seek_hole gives " + std::to_string(*hole));
  } else if (*hole < content.size() && content.next_nonzero(*hole) == *hole) {
    fail("seek_hole gives " + std::to_string(*hole) + " where there is data");
  }
}

void Executor::change(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const AttributeChanges changes = changes_of(operation);
  const Allowed allowed = model_.allow_set_attributes(*inode, changes);
  const auto done = volume_->set_attributes(*inode, changes);
  if (!succeeded(allowed, done)) return expect_attributes(*inode);
  model_.set_attributes(*inode, changes, clock_.now());
  expect(compare_attributes(model_.find(*inode)->attributes(), *done));
}

void Executor::set_xattr(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const std::vector<std::byte> value =
      pattern(operation.seed, std::min<std::uint64_t>(operation.bytes, kMaxXattrValueBytes + 1));
  const auto mode = static_cast<XattrMode>(operation.mode % 3);
  const Allowed allowed = model_.allow_set_xattr(*inode, operation.path2, value.size(), mode);
  if (!succeeded(allowed, volume_->set_xattr(*inode, operation.path2, value, mode))) return;
  model_.set_xattr(*inode, operation.path2, value, clock_.now());
  expect_attributes(*inode);
}

void Executor::get_xattr(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const auto actual = volume_->xattr(*inode, operation.path2);
  if (!succeeded(model_.allow_xattr(*inode, operation.path2), actual)) return;
  if (*actual != *model_.find(*inode)->xattrs.find(operation.path2)->second) {
    fail("xattr has a wrong value");
  }
}

void Executor::remove_xattr(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  const Allowed allowed = model_.allow_xattr(*inode, operation.path2);
  if (!succeeded(allowed, volume_->remove_xattr(*inode, operation.path2))) return;
  model_.remove_xattr(*inode, operation.path2, clock_.now());
  expect_attributes(*inode);
}

}  // namespace cordwood::test
