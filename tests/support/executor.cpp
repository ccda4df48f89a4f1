#include "support/executor.hpp"

#include <algorithm>

#include "format/items.hpp"
#include "support/findings.hpp"

namespace cordwood::test {

namespace {

constexpr std::uint32_t kStepNs = 1'000'003;
constexpr std::size_t kGoneMax = 16;
/// Every so many steps paths are also walked by the volume.
constexpr std::uint64_t kWalkEvery = 4;

}  // namespace

Executor::Executor(BlockDevice& device, const WorkloadConfig& config)
    : device_(device), config_(config), model_(clock_.now()) {}

std::string Executor::start() {
  model_ = ModelFs(clock_.now());
  if (auto done = Volume::format(device_, config_.format_options(&clock_)); !done) {
    return "format: " + done.error().message();
  }
  std::string wrong = resume(model_);
  if (wrong.empty() && config_.fragment != 0) wrong = fragment();
  return wrong;
}

/// Two files grow in turns until the volume is full; then one of them goes.
std::string Executor::fragment() {
  for (const char* path : {"/kept", "/gone"}) {
    Operation create;
    create.kind = Operation::Kind::kCreate;
    create.path = path;
    create.mode = make_mode(FileType::kRegular, 0644);
    if (std::string wrong = apply(create); !wrong.empty()) return wrong;
  }
  Operation write;
  write.kind = Operation::Kind::kWrite;
  write.bytes = kGranuleBytes;
  for (std::uint64_t i = 0; out_of_space_ == 0; ++i) {
    write.path = i % 2 == 0 ? "/kept" : "/gone";
    write.offset = i / 2 * kGranuleBytes;
    write.seed = i + 1;
    if (std::string wrong = apply(write); !wrong.empty()) return wrong;
  }
  out_of_space_ = 0;
  Operation unlink;
  unlink.kind = Operation::Kind::kUnlink;
  unlink.path = "/gone";
  if (std::string wrong = apply(unlink); !wrong.empty()) return wrong;
  return apply(Operation{});
}

std::string Executor::resume(const ModelFs& model) {
  model_ = model;
  auto volume = Volume::open(device_, config_.mount_options(&clock_));
  if (!volume) return "open: " + volume.error().message();
  volume_ = *std::move(volume);
  return {};
}

std::string Executor::apply(const Operation& operation) {
  problem_.clear();
  clock_.advance(kStepNs);
  ++steps_;
  run(operation);
  return std::exchange(problem_, {});
}

std::string Executor::check() {
  if (const Result<void> done = volume_->checkpoint(); !done) {
    return "checkpoint: " + done.error().message();
  }
  const auto unnamed = std::count_if(model_.inodes().begin(), model_.inodes().end(),
                                     [](const auto& entry) { return entry.second->links == 0; });
  return findings(device_, static_cast<std::uint64_t>(unnamed));
}

std::string Executor::finish() {
  if (volume_ == nullptr) return {};
  const Result<void> closed = close_volume();
  return closed ? std::string{} : "close: " + closed.error().message();
}

void Executor::fail(std::string what) {
  if (problem_.empty()) problem_ = std::move(what);
}

void Executor::expect(std::string difference) {
  if (!difference.empty()) fail(std::move(difference));
}

bool Executor::judge(const Allowed& allowed, const std::optional<Error>& error) {
  if (!error) {
    if (!allowed.empty()) {
      fail("succeeded, should be refused with " + std::string(errc_name(allowed.front())));
      return false;
    }
    return true;
  }
  if (std::find(allowed.begin(), allowed.end(), error->code) != allowed.end()) return false;
  if (excused(*error)) return false;
  std::string should = allowed.empty() ? "succeed" : "be refused with";
  for (const Errc code : allowed) should += std::string(" ") + errc_name(code);
  fail("refused with \"" + error->message() + "\", should " + should);
  return false;
}

bool Executor::excused(const Error& error) {
  if (error.code == Errc::kNoSpace && config_.no_space != 0 && may_need_space_) {
    ++out_of_space_;
    return true;
  }
  const bool damage =
      error.code == Errc::kIo || error.code == Errc::kFailed || error.code == Errc::kCorrupt;
  if (tolerance_ != Tolerance::kDamage || !damage) return false;
  ++refused_;
  return true;
}

/// Getting rid of something must always work, and so must what promised space before.
bool Executor::may_need_space(const Operation& operation) const {
  using Kind = Operation::Kind;
  switch (operation.kind) {
    case Kind::kUnlink:
    case Kind::kRemoveDirectory:
    case Kind::kRemoveXattr:
    case Kind::kClose:
    case Kind::kSync:
    case Kind::kFsync:
    case Kind::kCheckpoint:
    case Kind::kCheck:
    case Kind::kRemount: return false;
    case Kind::kTruncate: {
      const auto inode = model_.resolve(operation.path);
      return !inode || model_.find(*inode)->content.size() < operation.offset;
    }
    default: return true;
  }
}

void Executor::run(const Operation& operation) {
  using Kind = Operation::Kind;
  may_need_space_ = may_need_space(operation);
  switch (operation.kind) {
    case Kind::kCreate: return create(operation);
    case Kind::kMakeDirectory: return make_directory(operation);
    case Kind::kSymlink: return symlink(operation);
    case Kind::kLink: return link(operation);
    case Kind::kUnlink: return unlink(operation);
    case Kind::kRemoveDirectory: return remove_directory(operation);
    case Kind::kRename: return rename(operation);
    case Kind::kWrite:
    case Kind::kAppend: return write(operation);
    case Kind::kRead: return read(operation);
    case Kind::kSeek: return seek(operation);
    case Kind::kSetXattr: return set_xattr(operation);
    case Kind::kGetXattr: return get_xattr(operation);
    case Kind::kRemoveXattr: return remove_xattr(operation);
    case Kind::kTruncate:
    case Kind::kChangeMode:
    case Kind::kChangeOwner:
    case Kind::kChangeTimes: return change(operation);
    case Kind::kLookup: return lookup(operation);
    case Kind::kReadLink: return read_link(operation);
    case Kind::kResolve: return resolve(operation);
    case Kind::kReadDirectory: return read_directory(operation);
    case Kind::kStale: return stale(operation);
    case Kind::kOpen: return open(operation);
    case Kind::kClose: return close(operation);
    case Kind::kRemount: return remount(operation);
    case Kind::kListXattrs: {
      const auto inode = target(operation.path);
      if (!inode) return;
      return compare([&](Comparer& comparer) { return comparer.xattrs(*model_.find(*inode)); });
    }
    case Kind::kAttributes: {
      if (const auto inode = target(operation.path)) expect_attributes(*inode);
      return;
    }
    case Kind::kClock:
      return clock_.set({static_cast<std::int64_t>(operation.seed), operation.number});
    case Kind::kSync: return (void)succeeded({}, volume_->sync());
    case Kind::kCheckpoint: return (void)succeeded({}, volume_->checkpoint());
    case Kind::kFsync: return fsync(operation);
    case Kind::kCheck: return expect(check());
    case Kind::kCompare: return compare([](Comparer& comparer) { return comparer.all(); });
    case Kind::kCount: break;
  }
}

// ---- paths ----

std::optional<InodeNumber> Executor::target(std::string_view path) {
  if (!path.empty() && path.front() == '@') {
    const std::uint32_t slot = path.size() > 1 ? static_cast<std::uint32_t>(path[1] - '0') : 0;
    if (slot >= kHandleSlots || !handles_[slot]) return std::nullopt;
    const InodeNumber start = handles_[slot].inode();
    if (path.size() <= 3) return start;
    const auto found = model_.resolve_from(start, path.substr(3), FollowLast::kNo);
    return found ? std::optional(*found) : std::nullopt;
  }
  const auto found = model_.resolve(path);
  if (!found || steps_ % kWalkEvery == 0) {
    const auto actual = volume_->resolve(path);
    const Allowed allowed = found ? Allowed{} : Allowed{found.error().code};
    if (succeeded(allowed, actual) && actual->inode != *found) {
      fail("resolve gives inode " + std::to_string(actual->inode.value) + ", should be " +
           std::to_string(found->value));
    }
  }
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<Executor::Name> Executor::name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view parent_path = slash == 0 ? "/" : path.substr(0, slash);
  const std::string name(path.substr(slash + 1));
  const auto parent = target(parent_path);
  if (!parent) return std::nullopt;
  const bool plain = !name.empty() && name != "." && name != ".." && name.size() <= kMaxNameBytes;
  if (plain && path.front() == '/' && steps_ % kWalkEvery == 0 &&
      model_.find(*parent)->is_directory()) {
    const auto actual = volume_->resolve_parent(path);
    if (succeeded({}, actual) && (actual->first != *parent || actual->second != name)) {
      fail("resolve_parent is wrong");
    }
  }
  return Name{*parent, name};
}

void Executor::expect_attributes(InodeNumber inode) {
  const ModelInode* expected = model_.find(inode);
  if (expected == nullptr) return;
  const auto actual = volume_->attributes(inode);
  if (succeeded({}, actual)) expect(compare_attributes(expected->attributes(), *actual));
}

void Executor::note_if_gone(InodeNumber inode) {
  if (model_.find(inode) != nullptr) return;
  gone_.push_front(inode);
  if (gone_.size() > kGoneMax) gone_.pop_back();
}

void Executor::stale(const Operation& operation) {
  if (gone_.empty()) return;
  const InodeNumber inode = gone_[operation.number % gone_.size()];
  if (model_.find(inode) != nullptr) return;  // its number was given to another one
  const Allowed allowed{Errc::kNoEntry, Errc::kStale};
  (void)succeeded(allowed, volume_->attributes(inode));
  (void)succeeded(allowed, volume_->set_attributes(inode, {}));
  (void)succeeded(allowed, volume_->open_inode(inode));
  std::array<std::byte, 8> buffer{};
  (void)succeeded(allowed, volume_->read(inode, 0, buffer));
  (void)succeeded(allowed, volume_->write(inode, 0, buffer));
}

void Executor::fsync(const Operation& operation) {
  const auto inode = target(operation.path);
  if (!inode) return;
  (void)succeeded({}, operation.mode == 1 ? volume_->fdatasync(*inode) : volume_->fsync(*inode));
}

// ---- handles and mounts ----

void Executor::open(const Operation& operation) {
  InodeHandle& slot = handles_[operation.number % kHandleSlots];
  if (slot) return;
  const auto inode = target(operation.path);
  if (!inode) return;
  auto handle = volume_->open_inode(*inode);
  if (!succeeded({}, handle)) return;
  slot = *std::move(handle);
  model_.open(*inode);
}

void Executor::close(const Operation& operation) {
  InodeHandle& slot = handles_[operation.number % kHandleSlots];
  if (!slot) return;
  const InodeNumber inode = slot.inode();
  if (!succeeded({}, slot.close())) return;
  model_.close(inode);
  note_if_gone(inode);
}

Result<void> Executor::close_volume() {
  for (InodeHandle& slot : handles_) {
    if (!slot) continue;
    const InodeNumber inode = slot.inode();
    TRY(slot.close());
    model_.close(inode);
    note_if_gone(inode);
  }
  const Result<void> closed = volume_->close();
  const CounterValues counted = volume_->statistics().counters;
  for (std::size_t i = 0; i < counted.size(); ++i) counters_[i] += counted[i];
  volume_.reset();
  return closed;
}

void Executor::remount(const Operation& operation) {
  if (!succeeded({}, close_volume())) return;
  auto volume = Volume::open(device_, config_.mount_options(&clock_, operation.number));
  if (succeeded({}, volume)) volume_ = *std::move(volume);
}

void Executor::abandon() {
  for (InodeHandle& slot : handles_) slot = InodeHandle();
  volume_.reset();
}

}  // namespace cordwood::test
