#include "fuzz/log_sample.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "device/memory_device.hpp"
#include "format/log.hpp"
#include "log/reader.hpp"
#include "support/test_clock.hpp"
#include "volume/superblock_slots.hpp"

namespace cordwood::test {

namespace {

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "the sample: %s\n", result.error().message().c_str());
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct Shape {
  std::uint64_t device_bytes;
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
  bool wraps;  ///< the log begins near the ring's end
  bool full;   ///< files take nearly all space first
};
constexpr Shape kShapes[kLogSamples] = {
    {4_MiB, 4096, 512, false, true},
    {4_MiB, 4096, 4096, true, false},
    {8_MiB, 16384, 1024, true, false},
    {16_MiB, 65536, 4096, false, false},
};

/// Runs a volume that has, in the end, a log of a dozen batches of all kinds of items.
class Story {
 public:
  explicit Story(const Shape& shape) : shape_(shape), device_(shape.device_bytes) {
    FormatOptions format;
    format.node_bytes = shape.node_bytes;
    format.block_bytes = shape.block_bytes;
    format.log_bytes = 256_KiB;
    format.uuid = {7, 7, 7};
    format.clock = &clock_;
    must(Volume::format(device_, format));
    MountOptions mount;
    mount.clock = &clock_;
    mount.cache_bytes = 2_MiB;
    volume_ = must(Volume::open(device_, mount));
  }

  void tell(LogSample& sample) {
    make_base();
    if (shape_.full) fill_up();
    if (shape_.wraps) move_log_to_the_end();
    must(volume_->checkpoint());
    states_ = {fingerprint(*volume_)};
    make_log();
    sample.states = states_;
    sample.image = device_.snapshot();
    must(volume_->close());
  }

 private:
  InodeNumber file(InodeNumber parent, const std::string& name, std::size_t bytes) {
    const InodeNumber inode = must(volume_->create(parent, name, {})).inode;
    if (bytes != 0) write(inode, 0, bytes);
    return inode;
  }
  void write(InodeNumber inode, std::uint64_t offset, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = std::byte((i * 7 + inode.value) % 251);
    must(volume_->write(inode, offset, data));
  }
  void cut(InodeNumber inode) {
    clock_.advance(1000);
    must(volume_->fsync(inode));
    states_.insert(fingerprint(*volume_));
  }

  void make_base() {
    directory_ = must(volume_->make_directory(kRootInode, "d", {})).inode;
    for (int i = 0; i < 40; ++i) file(directory_, "old " + std::to_string(i), 100 * i);
    (void)file(kRootInode, "large", 60'000);
    must(volume_->set_xattr(directory_, "user.x", as_bytes("a value"), XattrMode::kEither));
    must(volume_->make_symlink(kRootInode, "link", "d/old 3", {}));
  }
  void fill_up() {
    constexpr std::uint64_t kLeft = 900_KiB;
    for (int i = 0; volume_->usage().available_blocks * shape_.block_bytes > kLeft; ++i) {
      file(kRootInode, "fill " + std::to_string(i), 16_KiB);
    }
  }
  void move_log_to_the_end() {
    const InodeNumber inode = file(kRootInode, "mover", 0);
    const std::uint64_t count = volume_->superblock().log_blocks;
    while (volume_->superblock().log_block < count * 9 / 10) {
      for (std::size_t i = 1; i < 4; ++i) {
        write(inode, 0, 900 * i);
        must(volume_->fsync(inode));
      }
      must(volume_->checkpoint());
    }
  }

  void make_log() {
    const InodeNumber first = file(kRootInode, "new", 0);
    cut(first);
    write(first, 0, 500);
    cut(first);
    write(first, 0, 9'000);
    cut(first);
    must(volume_->rename(kRootInode, "new", directory_, "old 5"));
    cut(first);
    for (int i = 10; i < 20; ++i) must(volume_->unlink(directory_, "old " + std::to_string(i)));
    cut(directory_);
    const std::string value(3000, 'v');
    must(volume_->set_xattr(first, "user.small", as_bytes("1"), XattrMode::kEither));
    must(volume_->set_xattr(first, "user.large", as_bytes(value), XattrMode::kEither));
    cut(first);
    const InodeNumber below = must(volume_->make_directory(directory_, "below", {})).inode;
    must(volume_->make_symlink(below, "s", "../old 7", {}));
    must(volume_->link(first, below, "second name"));
    cut(below);
    // More than one record takes.
    for (int i = 0; i < kManyFiles; ++i)
      file(below, "many " + std::to_string(i), i % 3 == 0 ? 20 : 0);
    cut(below);
    AttributeChanges shorter;
    shorter.size = 4'500;
    must(volume_->set_attributes(first, shorter));
    must(volume_->unlink(kRootInode, "large"));
    cut(first);
    write(first, 30'000, 3'000);
    cut(first);
  }

  static constexpr int kManyFiles = 220;
  Shape shape_;
  TestClock clock_;
  MemoryDevice device_;
  std::unique_ptr<Volume> volume_;
  InodeNumber directory_;
  std::set<std::uint64_t> states_;
};

void note_fields(std::vector<LogField>& fields, std::uint64_t base, std::uint64_t bytes,
                 std::size_t each) {
  for (std::uint64_t at = 0; at + each <= bytes; at += each) fields.push_back({base + at, each});
}

void note_leaf(LogSample& sample, const LogRecord& record, std::size_t number,
               std::uint64_t start) {
  const std::uint64_t base = start + record.index()[number].offset;
  const Leaf leaf = record.leaf(number);
  note_fields(sample.leaf_fields, base, kNodeHeaderBytes, 4);
  note_fields(sample.leaf_fields, base + kNodeHeaderBytes, kSlotBytes * leaf.count(), kSlotBytes);
  for (std::uint32_t slot = 0; slot < leaf.count(); ++slot) {
    const std::uint64_t at = base + load_le<std::uint16_t>(sample.ring.data() + base +
                                                           kNodeHeaderBytes + kSlotBytes * slot);
    sample.record_headers.push_back({at, 8});
    sample.record_headers.push_back({at + 8, 8});
    sample.record_headers.push_back({at + 16, 2});
    sample.items.push_back({at + kRecordHeaderBytes, leaf.item(slot).size()});
  }
}

void note_record(LogSample& sample, const LogRecord& record, std::uint64_t start) {
  const LogRecordHeader& header = record.header();
  sample.records.push_back({start, header.record_bytes});
  for (const auto& [at, bytes] : std::array<std::pair<std::uint64_t, std::size_t>, 14>{{{8, 4},
                                                                                        {12, 4},
                                                                                        {16, 8},
                                                                                        {24, 8},
                                                                                        {32, 8},
                                                                                        {40, 8},
                                                                                        {48, 8},
                                                                                        {56, 8},
                                                                                        {64, 4},
                                                                                        {68, 4},
                                                                                        {72, 4},
                                                                                        {80, 8},
                                                                                        {88, 8},
                                                                                        {96, 8}}}) {
    sample.header_fields.push_back({start + at, bytes});
  }
  const std::uint64_t index = start + header.index_offset;
  const std::uint64_t index_bytes = header.leaf_count * sizeof(LogIndexEntry);
  note_fields(sample.index_fields, index, index_bytes, 4);
  note_fields(sample.tombstone_fields, index + index_bytes,
              header.tombstone_count * sizeof(LogTombstone), 8);
  for (std::size_t i = 0; i < record.index().size(); ++i) note_leaf(sample, record, i, start);
}

void read_ring(LogSample& sample, BlockDevice& device) {
  const Layout& layout = sample.layout;
  const std::uint64_t bytes = layout.log.count * layout.block_bytes;
  const std::uint64_t split = sample.superblock.log_block * layout.block_bytes;
  sample.ring.resize(bytes);
  const std::uint64_t ring = layout.byte_of(layout.log.first);
  sample.image.read(ring + split, {sample.ring.data(), bytes - split});
  sample.image.read(ring, {sample.ring.data() + bytes - split, split});
  LogReader reader(device, layout, sample.superblock);
  while (true) {
    const std::uint64_t start =
        (reader.position().block - sample.superblock.log_block) * layout.block_bytes;
    const auto record = must(reader.next());
    if (!record) break;
    note_record(sample, *record, start);
  }
}

LogSample make_sample(const Shape& shape) {
  LogSample sample;
  Story(shape).tell(sample);
  MemoryDevice device(sample.image);
  const SuperblockSlots slots = must(SuperblockSlots::read(device));
  sample.superblock = *slots.slots[must(slots.best())].superblock;
  sample.layout = must(Layout::compute(shape.device_bytes, shape.block_bytes, shape.node_bytes,
                                       log_ring_bytes(sample.superblock)));
  read_ring(sample, device);
  return sample;
}

}  // namespace

const LogSample& log_sample(unsigned number) {
  static const std::array<LogSample, kLogSamples> samples = [] {
    std::array<LogSample, kLogSamples> made;
    for (unsigned i = 0; i < kLogSamples; ++i) made[i] = make_sample(kShapes[i]);
    return made;
  }();
  return samples[number % kLogSamples];
}

}  // namespace cordwood::test
