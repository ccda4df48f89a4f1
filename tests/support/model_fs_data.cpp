// Attributes, xattrs and data of the model; names are in model_fs.cpp.

#include <utility>

#include "format/items.hpp"
#include "support/model_fs.hpp"

namespace cordwood::test {

namespace {

constexpr std::uint32_t kSecondNs = 1'000'000'000;

bool is_bad_time(const std::optional<Timestamp>& time) {
  return time.has_value() && time->nanoseconds >= kSecondNs;
}

const Allowed kGone{Errc::kNoEntry, Errc::kStale};

}  // namespace

Allowed ModelFs::allow_set_attributes(InodeNumber inode, const AttributeChanges& changes) const {
  const ModelInode* target = find(inode);
  if (target == nullptr) return kGone;
  Allowed errors;
  if (is_bad_time(changes.access) || is_bad_time(changes.modify)) errors.push_back(Errc::kInvalid);
  if (changes.size.has_value()) {
    if (target->is_directory()) errors.push_back(Errc::kIsDirectory);
    if (target->type() != FileType::kRegular) errors.push_back(Errc::kInvalid);
    if (*changes.size > kMaxFileBytes) {
      errors.push_back(Errc::kFileTooBig);
      errors.push_back(Errc::kInvalid);
    }
  }
  return errors;
}

void ModelFs::set_attributes(InodeNumber inode, const AttributeChanges& changes, Timestamp now) {
  ModelInode& target = own(inode);
  if (changes.permissions.has_value()) {
    target.mode = make_mode(target.type(), *changes.permissions);
  }
  if (changes.uid.has_value()) target.uid = *changes.uid;
  if (changes.gid.has_value()) target.gid = *changes.gid;
  if (changes.size.has_value()) {
    target.content.resize(*changes.size);
    target.modify = now;
  }
  if (changes.access.has_value()) target.access = *changes.access;
  if (changes.modify.has_value()) target.modify = *changes.modify;
  target.change = now;
}

Allowed ModelFs::allow_set_xattr(InodeNumber inode, std::string_view name, std::size_t value_bytes,
                                 XattrMode mode) const {
  const ModelInode* target = find(inode);
  if (target == nullptr) return kGone;
  Allowed errors;
  if (name.empty()) errors.insert(errors.end(), {Errc::kInvalid, Errc::kRange});
  if (name.size() > kMaxNameBytes) {
    errors.insert(errors.end(), {Errc::kInvalid, Errc::kRange, Errc::kNameTooLong});
  }
  if (name.find('\0') != std::string_view::npos) errors.push_back(Errc::kInvalid);
  if (value_bytes > kMaxXattrValueBytes) errors.push_back(Errc::kRange);
  const bool there = target->xattrs.find(name) != target->xattrs.end();
  if (mode == XattrMode::kCreate && there) errors.push_back(Errc::kExists);
  if (mode == XattrMode::kReplace && !there) errors.push_back(Errc::kNoData);
  return errors;
}

void ModelFs::set_xattr(InodeNumber inode, std::string_view name, ConstBytes value, Timestamp now) {
  ModelInode& target = own(inode);
  target.xattrs.insert_or_assign(std::string(name), std::make_shared<const std::vector<std::byte>>(
                                                        value.begin(), value.end()));
  target.change = now;
}

Allowed ModelFs::allow_xattr(InodeNumber inode, std::string_view name) const {
  const ModelInode* target = find(inode);
  if (target == nullptr) return kGone;
  if (target->xattrs.find(name) != target->xattrs.end()) return {};
  if (name.empty() || name.size() > kMaxNameBytes) {
    return {Errc::kNoData, Errc::kInvalid, Errc::kRange, Errc::kNameTooLong};
  }
  return {Errc::kNoData};
}

void ModelFs::remove_xattr(InodeNumber inode, std::string_view name, Timestamp now) {
  ModelInode& target = own(inode);
  target.xattrs.erase(target.xattrs.find(name));
  target.change = now;
}

Allowed ModelFs::allow_read(InodeNumber inode) const {
  const ModelInode* target = find(inode);
  if (target == nullptr) return kGone;
  if (target->is_directory()) return {Errc::kIsDirectory};
  if (target->type() != FileType::kRegular) return {Errc::kInvalid};
  return {};
}

Allowed ModelFs::allow_write(InodeNumber inode, std::uint64_t offset, std::uint64_t bytes) const {
  Allowed errors = allow_read(inode);
  if (offset > kMaxFileBytes || bytes > kMaxFileBytes - offset) {
    errors.insert(errors.end(), {Errc::kFileTooBig, Errc::kInvalid});
  }
  return errors;
}

void ModelFs::write(InodeNumber inode, std::uint64_t offset, ConstBytes from, Timestamp now) {
  if (from.empty()) return;
  ModelInode& target = own(inode);
  target.content.write(offset, from);
  target.modify = target.change = now;
}

}  // namespace cordwood::test
