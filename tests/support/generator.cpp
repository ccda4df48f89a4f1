#include "support/generator.hpp"

#include <array>
#include <iterator>
#include <utility>

#include "format/items.hpp"

namespace cordwood::test {

namespace {

using Kind = Operation::Kind;

/// How often each kind comes in each phase.
struct Weight {
  Kind kind;
  std::array<std::uint16_t, 5> in_phase;  // grow, churn names, shrink, data, attributes
};
constexpr Weight kWeights[] = {
    {Kind::kCreate, {300, 120, 20, 60, 40}},
    {Kind::kMakeDirectory, {60, 40, 5, 5, 10}},
    {Kind::kSymlink, {30, 20, 3, 5, 5}},
    {Kind::kLink, {40, 60, 5, 5, 10}},
    {Kind::kUnlink, {40, 120, 400, 30, 20}},
    {Kind::kRemoveDirectory, {10, 40, 80, 3, 5}},
    {Kind::kRename, {60, 250, 60, 20, 20}},
    {Kind::kWrite, {120, 60, 20, 300, 60}},
    {Kind::kAppend, {60, 30, 10, 120, 20}},
    {Kind::kTruncate, {10, 20, 40, 100, 10}},
    {Kind::kRead, {40, 40, 20, 200, 40}},
    {Kind::kSeek, {5, 5, 5, 40, 5}},
    {Kind::kSetXattr, {30, 20, 5, 10, 250}},
    {Kind::kGetXattr, {5, 5, 5, 5, 60}},
    {Kind::kRemoveXattr, {5, 10, 20, 5, 150}},
    {Kind::kListXattrs, {5, 5, 5, 5, 60}},
    {Kind::kChangeMode, {10, 10, 5, 10, 60}},
    {Kind::kChangeOwner, {10, 10, 5, 10, 60}},
    {Kind::kChangeTimes, {10, 10, 5, 10, 60}},
    {Kind::kLookup, {60, 80, 40, 20, 20}},
    {Kind::kAttributes, {20, 20, 20, 20, 40}},
    {Kind::kReadLink, {5, 5, 5, 5, 5}},
    {Kind::kResolve, {20, 30, 10, 10, 10}},
    {Kind::kReadDirectory, {10, 20, 20, 5, 5}},
    {Kind::kStale, {5, 10, 20, 10, 5}},
    {Kind::kOpen, {10, 20, 20, 20, 10}},
    {Kind::kClose, {8, 16, 16, 16, 8}},
    {Kind::kClock, {2, 2, 2, 2, 2}},
    {Kind::kSync, {5, 8, 8, 8, 8}},
    {Kind::kRemount, {1, 1, 1, 1, 1}},
    {Kind::kCheck, {1, 1, 1, 1, 1}},
    {Kind::kCompare, {1, 1, 1, 1, 1}},
    {Kind::kFsync, {10, 20, 20, 20, 20}},
    {Kind::kCheckpoint, {2, 4, 4, 4, 4}},
};

constexpr std::uint64_t kPhaseMax = 1500;

}  // namespace

std::string Generator::name(std::uint64_t n) {
  Random random(split_mix(n) ^ 0x6e616d65);
  const std::uint64_t style = random.below(100);
  std::size_t length = 0;
  if (style < 60) return "f" + std::to_string(n);
  if (style < 75) return "a-name-of-some-length-" + std::to_string(n);
  if (style < 86) length = random.between(60, 200);
  if (style >= 86 && style < 93) length = kMaxNameBytes;
  std::string text = std::to_string(n) + '_';
  if (length != 0) {
    while (text.size() < length) text += static_cast<char>('a' + random.below(26));
    return text;
  }
  length = text.size() + random.between(1, 12);
  while (text.size() < length) {
    const char c = static_cast<char>(random.between(1, 255));
    if (c != '/') text += c;
  }
  // The odd bytes in front, so that a leading '.', '-', newline or invalid UTF-8 comes too.
  return std::string(text.rbegin(), text.rend());
}

Operation Generator::next(const ModelFs& model) {
  if (phase_left_ == 0) begin_phase(model);
  --phase_left_;
  Operation operation;
  operation.kind = pick_kind();
  switch (operation.kind) {
    case Kind::kCreate:
    case Kind::kMakeDirectory:
    case Kind::kSymlink:
    case Kind::kLink:
    case Kind::kUnlink:
    case Kind::kRemoveDirectory:
    case Kind::kRename:
    case Kind::kLookup: fill_names(model, operation); break;
    case Kind::kWrite:
    case Kind::kAppend:
    case Kind::kTruncate:
    case Kind::kRead:
    case Kind::kSeek: fill_data(model, operation); break;
    case Kind::kSetXattr:
    case Kind::kGetXattr:
    case Kind::kRemoveXattr:
    case Kind::kListXattrs:
    case Kind::kChangeMode:
    case Kind::kChangeOwner:
    case Kind::kChangeTimes: fill_attributes(model, operation); break;
    default: fill_state(model, operation);
  }
  return operation;
}

void Generator::begin_phase(const ModelFs& model) {
  std::uint64_t bytes = 0;
  for (const auto& [number, inode] : model.inodes()) bytes += inode->content.bytes_held();
  too_much_data_ = bytes > config_.total_bytes;
  // Growing comes more often than shrinking, which is faster; too many files call for the latter.
  constexpr std::array<std::uint32_t, 8> kOrder{0, 0, 1, 1, 2, 3, 3, 4};
  phase_ = kOrder[random_.below(kOrder.size())];
  if (model.inodes().size() > 4 * std::uint64_t{config_.names} || too_much_data_) phase_ = 2;
  phase_left_ = random_.between(kPhaseMax / 10, kPhaseMax);
}

Kind Generator::pick_kind() {
  std::uint64_t total = 0;
  for (const Weight& weight : kWeights) total += weight.in_phase[phase_];
  std::uint64_t at = random_.below(total);
  for (const Weight& weight : kWeights) {
    if (at < weight.in_phase[phase_]) return weight.kind;
    at -= weight.in_phase[phase_];
  }
  return Kind::kSync;
}

std::string Generator::any_name() {
  if (random_.one_in(300)) {
    const std::string bad[] = {"", ".", "..", std::string(256, 'x'), std::string("a\0b", 3)};
    return bad[random_.below(std::size(bad))];
  }
  return name(random_.below(config_.names));
}

Generator::Picked Generator::directory(const ModelFs& model) {
  Picked at{"", kRootInode};
  if (random_.one_in(12)) {
    const auto slot = static_cast<std::uint32_t>(random_.below(kHandleSlots));
    const ModelInode* held = model.find(handle_(slot));
    if (held != nullptr && held->is_directory()) at = {"@" + std::to_string(slot), held->number};
  }
  while (!random_.one_in(3)) {
    bool deeper = false;
    for (int tries = 0; tries < 4 && !deeper; ++tries) {
      const Picked child = entry(model, at);
      const ModelInode* inode = model.find(child.inode);
      deeper = inode != nullptr && inode->is_directory();
      if (deeper) at = child;
    }
    if (!deeper) break;
  }
  return at;
}

Generator::Picked Generator::entry(const ModelFs& model, const Picked& directory) {
  const auto& entries = model.find(directory.inode)->entries;
  const std::string name = this->name(random_.below(config_.names));
  auto at = entries.lower_bound(name);
  if (at == entries.end()) at = entries.begin();
  if (at == entries.end()) return {directory.path + '/' + name, {}};
  return {directory.path + '/' + at->first, at->second};
}

Generator::Picked Generator::existing(const ModelFs& model) {
  const auto slot = static_cast<std::uint32_t>(random_.below(kHandleSlots));
  if (random_.one_in(10) && handle_(slot).value != 0) {
    return {"@" + std::to_string(slot), handle_(slot)};
  }
  return entry(model, directory(model));
}

Generator::Picked Generator::existing_of(const ModelFs& model, FileType type) {
  Picked picked = existing(model);
  for (int tries = 0; tries < 6; ++tries) {
    const ModelInode* inode = model.find(picked.inode);
    // Now and then the wrong type, for its errors.
    if (random_.one_in(50) || (inode != nullptr && inode->type() == type)) break;
    picked = existing(model);
  }
  return picked;
}

std::string Generator::new_path(const ModelFs& model) {
  // Now and then below something that is no directory, or is not there.
  const Picked parent = random_.one_in(100) ? existing(model) : directory(model);
  return parent.path + '/' + any_name();
}

void Generator::fill_names(const ModelFs& model, Operation& operation) {
  constexpr FileType kTypes[] = {FileType::kFifo, FileType::kCharDevice, FileType::kBlockDevice,
                                 FileType::kSocket};
  operation.path = new_path(model);
  switch (operation.kind) {
    case Kind::kCreate: {
      const FileType type = random_.one_in(12) ? kTypes[random_.below(4)] : FileType::kRegular;
      operation.mode = make_mode(type, static_cast<std::uint32_t>(random_.below(010000)));
      operation.number = static_cast<std::uint32_t>(random_.below(1u << 20));
      break;
    }
    case Kind::kMakeDirectory:
      operation.mode = static_cast<std::uint32_t>(random_.below(010000));
      break;
    case Kind::kSymlink:
      operation.path2 = random_.one_in(2) ? existing(model).path : any_name();
      if (random_.one_in(20)) operation.path2.assign(random_.between(1, 4097), 't');
      break;
    case Kind::kLink:
      operation.path2 = std::exchange(operation.path, existing_of(model, FileType::kRegular).path);
      break;
    case Kind::kUnlink: operation.path = existing_of(model, FileType::kRegular).path; break;
    case Kind::kRemoveDirectory:
      operation.path = existing_of(model, FileType::kDirectory).path;
      break;
    case Kind::kRename:
      operation.path2 = random_.one_in(3) ? existing(model).path : operation.path;
      operation.path = existing(model).path;
      operation.mode = static_cast<std::uint32_t>(random_.one_in(2) ? 0 : random_.below(3));
      break;
    default:
      if (!random_.one_in(4)) operation.path = existing(model).path;
  }
}

std::uint64_t Generator::size_near_edges() {
  const std::uint64_t inline_max = config_.inline_max;
  const std::uint64_t edges[] = {0,
                                 1,
                                 inline_max,
                                 inline_max / 2,
                                 config_.block_bytes,
                                 4096,
                                 8192,
                                 65536,
                                 max_extent_bytes(config_.node_bytes)};
  const std::uint64_t edge = edges[random_.below(random_.one_in(4) ? std::size(edges) : 7)];
  if (random_.one_in(3)) return random_.between(1, 3000);
  const std::uint64_t size = edge + random_.below(3);
  return size == 0 ? 0 : size - 1;
}

std::uint64_t Generator::offset_in(const ModelFs& model, InodeNumber inode) {
  const ModelInode* file = model.find(inode);
  const std::uint64_t size = file == nullptr ? 0 : file->content.size();
  if (random_.one_in(400)) {
    constexpr std::uint64_t kFar[] = {std::uint64_t{1} << 31, std::uint64_t{1} << 32,
                                      std::uint64_t{1} << 40, std::uint64_t{1} << 53,
                                      kMaxFileBytes - 5000,   kMaxFileBytes};
    return kFar[random_.below(std::size(kFar))] - random_.below(3);
  }
  switch (random_.below(6)) {
    case 0: return 0;
    case 1: return size;
    case 2: return size + size_near_edges();
    case 3: return size_near_edges();
    case 4: return random_.below(config_.file_bytes);
    default: return random_.below(size + 1);
  }
}

void Generator::fill_data(const ModelFs& model, Operation& operation) {
  const Picked file = existing_of(model, FileType::kRegular);
  operation.path = file.path;
  operation.offset = offset_in(model, file.inode);
  operation.bytes = size_near_edges();
  operation.seed = random_.one_in(10) ? 0 : random_.next();
  const ModelInode* inode = model.find(file.inode);
  const std::uint64_t size = inode == nullptr ? 0 : inode->content.size();
  const bool near = operation.offset <= 2 * config_.file_bytes;
  switch (operation.kind) {
    case Kind::kTruncate:
      if (too_much_data_) operation.offset = random_.below(2);
      break;
    case Kind::kWrite:
      if (!near && !random_.one_in(4)) operation.offset = random_.below(config_.file_bytes);
      break;
    case Kind::kAppend:
      // A large hole would otherwise keep growing by appends to its end.
      if (size > 4 * config_.file_bytes) operation.kind = Kind::kTruncate;
      break;
    case Kind::kRead:
      if (random_.one_in(3)) operation.bytes = random_.below(config_.file_bytes);
      break;
    default: break;
  }
}

Timestamp Generator::time() {
  constexpr std::int64_t kMoments[] = {0, -1, -62'135'596'800, 2'147'483'648, 253'402'300'800};
  std::int64_t seconds = 1'700'000'000 + static_cast<std::int64_t>(random_.below(1'000'000));
  if (random_.one_in(4)) seconds = kMoments[random_.below(std::size(kMoments))];
  return {seconds, static_cast<std::uint32_t>(random_.below(1'000'000'000))};
}

void Generator::fill_attributes(const ModelFs& model, Operation& operation) {
  operation.path = existing(model).path;
  operation.path2 = "user." + name(random_.below(12) + 1'000'000).substr(0, 200);
  operation.seed = random_.next();
  switch (operation.kind) {
    case Kind::kSetXattr:
      operation.mode = static_cast<std::uint32_t>(random_.one_in(3) ? random_.below(3) : 0);
      operation.bytes = random_.one_in(8) ? size_near_edges() : random_.below(300);
      if (random_.one_in(60)) operation.bytes = 65530 + random_.below(8);
      if (random_.one_in(200)) operation.path2 = any_name();
      break;
    case Kind::kChangeMode:
      operation.mode = static_cast<std::uint32_t>(random_.below(010000));
      break;
    case Kind::kChangeOwner:
      operation.mode = static_cast<std::uint32_t>(random_.next());
      operation.number = static_cast<std::uint32_t>(random_.next());
      break;
    case Kind::kChangeTimes: {
      const Timestamp when = time();
      operation.seed = static_cast<std::uint64_t>(when.seconds);
      operation.number = when.nanoseconds;
      operation.mode = static_cast<std::uint32_t>(random_.between(1, 3));
      break;
    }
    default: break;
  }
}

void Generator::fill_state(const ModelFs& model, Operation& operation) {
  switch (operation.kind) {
    case Kind::kAttributes: operation.path = existing(model).path; break;
    case Kind::kReadLink: operation.path = existing_of(model, FileType::kSymlink).path; break;
    case Kind::kResolve:
      operation.path = existing(model).path;
      if (operation.path.front() == '@') operation.path = "/";
      if (random_.one_in(4)) operation.path += random_.one_in(2) ? "/.." : "/.";
      operation.mode = static_cast<std::uint32_t>(random_.below(2));
      break;
    case Kind::kReadDirectory:
      operation.path = directory(model).path;
      if (operation.path.empty()) operation.path = "/";
      if (random_.one_in(20)) operation.path = existing(model).path;
      operation.number = static_cast<std::uint32_t>(random_.one_in(2) ? 0 : random_.between(1, 9));
      break;
    case Kind::kStale: operation.number = static_cast<std::uint32_t>(random_.below(16)); break;
    case Kind::kOpen: operation.path = existing(model).path; [[fallthrough]];
    case Kind::kClose:
      operation.number = static_cast<std::uint32_t>(random_.below(kHandleSlots));
      break;
    case Kind::kClock: {
      const Timestamp when = time();
      operation.seed = static_cast<std::uint64_t>(when.seconds);
      operation.number = when.nanoseconds;
      break;
    }
    case Kind::kFsync:
      operation.path = random_.one_in(4) ? directory(model).path : existing(model).path;
      if (operation.path.empty()) operation.path = "/";
      operation.mode = random_.one_in(4) ? 1 : 0;
      break;
    case Kind::kRemount:
      operation.number = static_cast<std::uint32_t>(random_.one_in(3) ? random_.below(32) : 0);
      break;
    default: break;
  }
}

}  // namespace cordwood::test
