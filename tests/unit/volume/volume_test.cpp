#include "volume/volume.hpp"

#include <cstring>

#include "base/random.hpp"
#include "format/items.hpp"
#include "support/catch.hpp"
#include "support/mounted.hpp"
#include "volume/engine.hpp"

namespace cordwood::test {

namespace {

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  std::vector<std::byte> bytes(count);
  Random random(seed);
  random.fill(bytes);
  return bytes;
}

std::vector<std::byte> content_of(Volume& volume, InodeNumber file) {
  std::vector<std::byte> bytes(volume.attributes(file)->size);
  const auto count = volume.read(file, 0, bytes);
  REQUIRE(count);
  REQUIRE(*count == bytes.size());
  return bytes;
}

FormatOptions default_format() {
  FormatOptions options;
  options.uuid = {1, 2, 3, 4};
  return options;
}

void resize(Volume& volume, InodeNumber file, std::uint64_t size) {
  AttributeChanges changes;
  changes.size = size;
  REQUIRE(volume.set_attributes(file, changes));
}

}  // namespace

// ---- making and opening ----

TEST_CASE("volume: a fresh one holds an empty root and is clean", "[volume]") {
  const std::uint32_t block_bytes = GENERATE(512u, 1024u, 4096u);
  const std::uint32_t node_bytes = GENERATE(4096u, 16384u, 65536u);
  CAPTURE(block_bytes, node_bytes);
  WorkloadConfig config;
  config.block_bytes = block_bytes;
  config.node_bytes = node_bytes;
  Mounted volume(config);
  volume.require_clean();
  const auto root = volume->attributes(kRootInode);
  REQUIRE(root);
  CHECK(root->is_directory());
  CHECK(root->links == 2);
  CHECK(root->size == 0);
  CHECK(volume.names(kRootInode).empty());
  CHECK(volume->usage().inodes == 1);
  CHECK(volume->usage().free_blocks > 0);
  CHECK(volume->superblock().generation == 1);
  CHECK(volume->statistics().generation.value == 2);
}

TEST_CASE("volume: opening writes nothing, and neither does closing without a change", "[volume]") {
  Mounted volume;
  const std::uint64_t before = volume.device().counters().writes;
  volume.reopen();
  CHECK(volume->attributes(kRootInode));
  volume.reopen();
  CHECK(volume.device().counters().writes == before);
}

TEST_CASE("volume: sizes that do not fit are refused", "[volume]") {
  MemoryDevice device(16_MiB);
  FormatOptions options = default_format();
  SECTION("node below block") {
    options.block_bytes = 4096;
    options.node_bytes = 2048;
  }
  SECTION("odd block") { options.block_bytes = 1000; }
  SECTION("long label") { options.label = std::string(64, 'x'); }
  SECTION("no hash bits") { options.name_hash_bits = 0; }
  CHECK(error_of(Volume::format(device, options)) == Errc::kInvalid);
  CHECK(error_of(Volume::open(device)) == Errc::kNotCordwood);
}

TEST_CASE("volume: sectors larger than a block are refused", "[volume]") {
  MemoryDeviceOptions sectors;
  sectors.sector_bytes = 4096;
  MemoryDevice coarse(16_MiB, sectors);
  FormatOptions options = default_format();
  options.block_bytes = 512;
  CHECK(error_of(Volume::format(coarse, options)) == Errc::kInvalid);
  MemoryDevice fine(16_MiB);
  REQUIRE(Volume::format(fine, options));
  MemoryDevice moved(fine.snapshot(), sectors);
  CHECK(error_of(Volume::open(moved)) == Errc::kInvalid);
}

TEST_CASE("volume: opens from whatever superblock is left", "[volume]") {
  MemoryDevice device(16_MiB);
  REQUIRE(Volume::format(device, default_format()));
  {
    auto volume = *Volume::open(device);
    REQUIRE(volume->create(kRootInode, "second generation", {}));
    REQUIRE(volume->close());
  }
  const auto wipe = [&](std::uint32_t slot) {
    REQUIRE(device.write(superblock_byte(slot, 16_MiB), std::vector<std::byte>(4096)));
  };
  SECTION("the copy at the end") {
    wipe(0);
    wipe(1);
    auto volume = Volume::open(device);
    REQUIRE(volume);
    CHECK((*volume)->superblock().generation == 2);
    CHECK((*volume)->lookup(kRootInode, "second generation"));
  }
  SECTION("the one before") {
    wipe(0);
    wipe(2);
    auto volume = Volume::open(device);
    REQUIRE(volume);
    CHECK((*volume)->superblock().generation == 1);
    CHECK(error_of((*volume)->lookup(kRootInode, "second generation")) == Errc::kNoEntry);
  }
  SECTION("none") {
    for (std::uint32_t slot = 0; slot < 4; ++slot) wipe(slot);
    CHECK(error_of(Volume::open(device)) == Errc::kNotCordwood);
  }
}

TEST_CASE("volume: a truncated image is refused, a grown one opened", "[volume]") {
  MemoryDevice device(16_MiB);
  REQUIRE(Volume::format(device, default_format()));
  std::vector<std::byte> bytes(8_MiB);
  REQUIRE(device.read(0, bytes));
  MemoryDevice shorter(8_MiB);
  REQUIRE(shorter.write(0, bytes));
  const auto refused = Volume::open(shorter);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("truncated") != std::string::npos);
  bytes.resize(16_MiB);
  REQUIRE(device.read(0, bytes));
  MemoryDevice longer(32_MiB);
  REQUIRE(longer.write(0, bytes));
  CHECK(Volume::open(longer));
}

TEST_CASE("volume: format leaves nothing of an older volume", "[volume]") {
  MemoryDevice device(16_MiB);
  REQUIRE(Volume::format(device, default_format()));
  for (int i = 0; i < 3; ++i) {
    auto volume = *Volume::open(device);
    REQUIRE(volume->create(kRootInode, std::to_string(i), {}));
    REQUIRE(volume->close());
  }
  FormatOptions options = default_format();
  options.uuid = {9};
  options.label = "second";
  REQUIRE(Volume::format(device, options));
  auto volume = *Volume::open(device);
  CHECK(volume->superblock().generation == 1);
  CHECK(volume->superblock().uuid[0] == 9);
  CHECK(std::string(volume->superblock().label.data()) == "second");
  CHECK(error_of(volume->lookup(kRootInode, "0")) == Errc::kNoEntry);
}

TEST_CASE("volume: read-only changes nothing", "[volume]") {
  MemoryDevice device(16_MiB);
  REQUIRE(Volume::format(device, default_format()));
  MountOptions options;
  options.read_only = true;
  const std::uint64_t before = device.counters().writes;
  {
    auto volume = *Volume::open(device, options);
    CHECK(error_of(volume->create(kRootInode, "x", {})) == Errc::kReadOnly);
    CHECK(error_of(volume->set_attributes(kRootInode, {})) == Errc::kReadOnly);
    CHECK(volume->attributes(kRootInode));
    CHECK(volume->close());
  }
  CHECK(device.counters().writes == before);
}

TEST_CASE("volume: policies are parsed, and told as they were given", "[volume]") {
  const auto policy = parse_policy("split=push_needed,search_hint=off");
  REQUIRE(policy);
  CHECK(policy->split == SplitPolicy::kPushNeeded);
  CHECK(policy->search_hint == SearchHint::kOff);
  CHECK(policy_text(*policy) ==
        "split=push_needed,search_hint=off,log_copy=bulk,log_dirty=chunks,whole_threshold=75");
  const auto log = parse_policy("log_copy=per_item,log_dirty=whole,whole_threshold=100");
  REQUIRE(log);
  CHECK(log->copy == LogCopy::kPerItem);
  CHECK(log->dirty == LogDirty::kWhole);
  CHECK(log->whole_threshold == 100);
  CHECK(policy_text(*parse_policy("", *policy)) == policy_text(*policy));
  CHECK(parse_policy("split=never_push")->search_hint == SearchHint::kOn);
  for (const char* bad :
       {"split", "split=", "split=foo", "hint=on", "search_hint=1", "=,", "log_copy=all",
        "log_dirty=", "whole_threshold=0", "whole_threshold=101", "whole_threshold=5x"}) {
    CAPTURE(bad);
    CHECK(error_of(parse_policy(bad)) == Errc::kInvalid);
  }
}

// ---- names ----

TEST_CASE("volume: names come and go", "[volume]") {
  Mounted volume;
  const InodeNumber directory = volume.directory("d");
  const InodeNumber file = volume.file("f", directory);
  CHECK(volume->lookup(directory, "f")->inode == file);
  CHECK(error_of(volume->create(directory, "f", {})) == Errc::kExists);
  CHECK(error_of(volume->create(file, "x", {})) == Errc::kNotDirectory);
  CHECK(error_of(volume->remove_directory(kRootInode, "d")) == Errc::kNotEmpty);
  CHECK(error_of(volume->unlink(kRootInode, "d")) == Errc::kIsDirectory);
  CHECK(error_of(volume->remove_directory(directory, "f")) == Errc::kNotDirectory);
  CHECK(volume->attributes(kRootInode)->links == 3);
  REQUIRE(volume->unlink(directory, "f"));
  CHECK(error_of(volume->attributes(file)) == Errc::kNoEntry);
  REQUIRE(volume->remove_directory(kRootInode, "d"));
  CHECK(error_of(volume->create(directory, "x", {})) == Errc::kNoEntry);
  CHECK(volume->attributes(kRootInode)->links == 2);
  CHECK(volume->usage().inodes == 1);
  volume.reopen();
  CHECK(volume.names(kRootInode).empty());
}

TEST_CASE("volume: ten thousand files in a directory, on all sizes", "[volume]") {
  WorkloadConfig config;
  config.block_bytes = GENERATE(512u, 4096u);
  config.node_bytes = GENERATE(4096u, 65536u);
  CAPTURE(config.block_bytes, config.node_bytes);
  Mounted volume(config);
  const InodeNumber directory = volume.directory("d");
  constexpr int kFiles = 10'000;
  std::vector<InodeNumber> files;
  for (int i = 0; i < kFiles; ++i) files.push_back(volume.file(std::to_string(i), directory));
  volume.reopen();
  std::uint64_t cookie = 0;
  int seen = 0;
  REQUIRE(volume->read_directory(directory, 2, [&](const DirectoryEntry& entry) {
    CHECK(entry.cookie > cookie);
    cookie = entry.cookie;
    CHECK(entry.name == std::to_string(seen));
    CHECK(entry.inode == files[static_cast<std::size_t>(seen)]);
    ++seen;
    return true;
  }));
  CHECK(seen == kFiles);
  for (int i = 0; i < kFiles; i += 2) REQUIRE(volume->unlink(directory, std::to_string(i)));
  volume.reopen();
  CHECK(volume.names(directory).size() == kFiles / 2);
  CHECK(volume->usage().inodes == 2 + kFiles / 2);
}

TEST_CASE("volume: names whose hashes collide", "[volume]") {
  WorkloadConfig config;
  config.name_hash_bits = 1;
  Mounted volume(config);
  std::vector<std::string> names;
  std::optional<Error> error;
  for (int i = 0; !error; ++i) {
    const auto made = volume->create(kRootInode, "name " + std::to_string(i), {});
    if (made) {
      names.push_back("name " + std::to_string(i));
    } else {
      error = made.error();
    }
  }
  CHECK(error->code == Errc::kNoSpace);
  CHECK(names.size() > 100);
  volume.reopen();
  for (const std::string& name : names) REQUIRE(volume->lookup(kRootInode, name));
  REQUIRE(volume->rename(kRootInode, names[0], kRootInode, names[1]));
  for (std::size_t i = 1; i < names.size(); i += 2) {
    REQUIRE(volume->unlink(kRootInode, names[i]));
    CHECK(error_of(volume->lookup(kRootInode, names[i])) == Errc::kNoEntry);
  }
  volume.reopen();
  CHECK(volume.names(kRootInode).size() == (names.size() - 1) / 2);
}

TEST_CASE("volume: rename replaces, refuses and exchanges", "[volume]") {
  Mounted volume;
  const InodeNumber a = volume.directory("a");
  const InodeNumber b = volume.directory("b", a);
  const InodeNumber file = volume.file("f", a);
  const InodeNumber other = volume.file("g", b);
  CHECK(error_of(volume->rename(kRootInode, "a", b, "x")) == Errc::kInvalid);
  CHECK(error_of(volume->rename(a, "b", kRootInode, "a")) == Errc::kNotEmpty);
  CHECK(error_of(volume->rename(a, "f", kRootInode, "a")) == Errc::kIsDirectory);
  CHECK(error_of(volume->rename(b, "g", kRootInode, "a")) == Errc::kIsDirectory);
  CHECK(error_of(volume->rename(a, "b", a, "f")) == Errc::kNotDirectory);
  CHECK(error_of(volume->rename(a, "f", b, "g", RenameMode::kNoReplace)) == Errc::kExists);
  CHECK(error_of(volume->rename(a, "f", b, "h", RenameMode::kExchange)) == Errc::kNoEntry);
  CHECK(error_of(volume->rename(a, "b", kRootInode, "a", RenameMode::kExchange)) == Errc::kInvalid);

  REQUIRE(volume->rename(a, "f", b, "g"));
  CHECK(volume->lookup(b, "g")->inode == file);
  CHECK(error_of(volume->attributes(other)) == Errc::kNoEntry);
  REQUIRE(volume->rename(a, "b", kRootInode, "c"));
  CHECK(volume->resolve("/c/../c/g")->inode == file);
  CHECK(volume->attributes(a)->links == 2);
  CHECK(volume->attributes(kRootInode)->links == 4);
  REQUIRE(volume->rename(b, "g", kRootInode, "a", RenameMode::kExchange));
  CHECK(volume->lookup(kRootInode, "a")->inode == file);
  CHECK(volume->lookup(b, "g")->inode == a);
  CHECK(volume->attributes(b)->links == 3);
  CHECK(volume->attributes(kRootInode)->links == 3);
  volume.reopen();
  CHECK(volume->resolve("/c/g/..")->inode == b);
}

TEST_CASE("volume: links count, and two names of one inode renamed stay", "[volume]") {
  Mounted volume;
  const InodeNumber file = volume.file("a");
  CHECK(volume->link(file, kRootInode, "b")->links == 2);
  CHECK(error_of(volume->link(kRootInode, kRootInode, "c")) == Errc::kNotPermitted);
  const Timestamp before = volume->attributes(file)->change;
  volume.clock().advance(5);
  REQUIRE(volume->rename(kRootInode, "a", kRootInode, "b"));
  CHECK(volume->attributes(file)->links == 2);
  CHECK(volume->attributes(file)->change == before);
  REQUIRE(volume->unlink(kRootInode, "a"));
  CHECK(volume->attributes(file)->links == 1);
  volume.reopen();
  CHECK(volume->lookup(kRootInode, "b")->inode == file);
}

TEST_CASE("volume: symbolic links, short and long", "[volume]") {
  Mounted volume;
  for (const std::size_t length : {1u, 100u, 2048u, 2049u, 4095u}) {
    CAPTURE(length);
    const std::string target(length, 'x');
    const auto made = volume->make_symlink(kRootInode, std::to_string(length), target, {});
    REQUIRE(made);
    CHECK(made->size == length);
    CHECK(*volume->read_symlink(made->inode) == target);
  }
  CHECK_FALSE(volume->make_symlink(kRootInode, "long", std::string(4096, 'x'), {}));
  CHECK_FALSE(volume->make_symlink(kRootInode, "empty", "", {}));
  volume.reopen();
  CHECK(*volume->read_symlink(volume->lookup(kRootInode, "4095")->inode) == std::string(4095, 'x'));
  REQUIRE(volume->unlink(kRootInode, "4095"));
  REQUIRE(volume->make_symlink(kRootInode, "loop", "/loop", {}));
  CHECK(error_of(volume->resolve("/loop/x")) == Errc::kSymlinkLoop);
  CHECK(volume->resolve("/loop"));
  const InodeNumber directory = volume.directory("d");
  REQUIRE(volume->make_symlink(directory, "up", "../d/./here", {}));
  const InodeNumber here = volume.file("here", directory);
  CHECK(volume->resolve("/d/up", FollowLast::kYes)->inode == here);
  CHECK(volume->resolve_parent("/d/up/")->second == "up");
  CHECK(error_of(volume->resolve_parent("//")) == Errc::kInvalid);
  volume.sync_and_check();
}

TEST_CASE("volume: an open inode outlives its name", "[volume]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  const auto content = random_bytes(200'000, 1);
  REQUIRE(volume->write(file, 0, content));
  InodeHandle handle = *volume->open_inode(file);
  REQUIRE(volume->unlink(kRootInode, "f"));
  CHECK(volume->attributes(file)->links == 0);
  CHECK(content_of(*volume, file) == content);
  CHECK(error_of(volume->link(file, kRootInode, "again")) == Errc::kNoEntry);
  volume.sync_and_check(1);
  SECTION("until it is closed") {
    REQUIRE(handle.close());
    CHECK(error_of(volume->attributes(file)) == Errc::kNoEntry);
    CHECK(error_of(volume->open_inode(file)) == Errc::kNoEntry);
    CHECK(volume->usage().inodes == 1);
    volume.reopen();
  }
  SECTION("until the next mount") {
    MemoryDevice crashed(volume.device().snapshot());
    auto after = Volume::open(crashed);
    REQUIRE(after);
    CHECK(error_of((*after)->attributes(file)) == Errc::kNoEntry);
    CHECK((*after)->usage().inodes == 1);
    REQUIRE((*after)->close());
    CHECK(findings(crashed).empty());
    REQUIRE(handle.close());
  }
}

// ---- data ----

TEST_CASE("volume: data of all lengths comes back", "[volume]") {
  WorkloadConfig config;
  config.block_bytes = GENERATE(512u, 4096u);
  config.node_bytes = GENERATE(4096u, 16384u);
  CAPTURE(config.block_bytes, config.node_bytes);
  Mounted volume(config);
  const std::vector<std::size_t> lengths = {
      0,    1,    100,    511,    512,     513,     2048,      2049,      4095,     4096,
      4097, 8192, 12'345, 65'536, 491'520, 491'521, 1'048'576, 1'048'577, 3'000'000};
  std::vector<InodeNumber> files;
  for (const std::size_t length : lengths) {
    files.push_back(volume.file(std::to_string(length)));
    const auto count = volume->write(files.back(), 0, random_bytes(length, length));
    REQUIRE(count);
    CHECK(*count == length);
  }
  volume.reopen();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    CAPTURE(lengths[i]);
    CHECK(volume->attributes(files[i])->size == lengths[i]);
    CHECK(content_of(*volume, files[i]) == random_bytes(lengths[i], lengths[i]));
    REQUIRE(volume->unlink(kRootInode, std::to_string(lengths[i])));
  }
  volume.reopen();
}

TEST_CASE("volume: random writes, truncates and reads against plain memory", "[volume]") {
  WorkloadConfig config;
  config.block_bytes = GENERATE(512u, 4096u);
  config.node_bytes = GENERATE(4096u, 16384u, 65536u);
  CAPTURE(config.block_bytes, config.node_bytes);
  Mounted volume(config);
  Random random(7);
  const InodeNumber file = volume.file("f");
  std::vector<std::byte> model;
  for (int step = 0; step < 600; ++step) {
    CAPTURE(step);
    const std::uint64_t reach = step < 100 ? 3000 : 300'000;
    if (random.one_in(4)) {
      const std::uint64_t size = random.below(reach);
      model.resize(size);
      resize(*volume, file, size);
    } else {
      const std::uint64_t offset = random.below(reach);
      const auto bytes =
          random_bytes(random.below(random.one_in(3) ? 60'000 : 6'000) + 1, random.next());
      REQUIRE(volume->write(file, offset, bytes));
      if (model.size() < offset + bytes.size()) model.resize(offset + bytes.size());
      std::memcpy(model.data() + offset, bytes.data(), bytes.size());
    }
    const auto shown = volume->attributes(file);
    REQUIRE(shown->size == model.size());
    if (random.one_in(10)) REQUIRE(content_of(*volume, file) == model);
    const std::uint64_t offset = random.below(reach);
    std::vector<std::byte> part(random.below(20'000));
    const std::size_t count = *volume->read(file, offset, part);
    const std::size_t expected =
        offset >= model.size() ? 0 : std::min<std::size_t>(part.size(), model.size() - offset);
    REQUIRE(count == expected);
    if (count != 0) REQUIRE(std::memcmp(part.data(), model.data() + offset, count) == 0);
    if (step % 150 == 149) volume.reopen();
  }
  CHECK(content_of(*volume, file) == model);
  volume.sync_and_check();
}

TEST_CASE("volume: truncating a file of many extents", "[volume]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  // Every other granule, so that nothing can be joined.
  constexpr std::uint64_t kExtents = 500;
  for (std::uint64_t i = 0; i < kExtents; ++i) {
    REQUIRE(volume->write(file, 2 * i * kGranuleBytes, random_bytes(kGranuleBytes, i)));
  }
  CHECK(volume->attributes(file)->bytes == kExtents * kGranuleBytes);
  volume.sync_and_check();
  resize(*volume, file, 10);
  CHECK(volume->attributes(file)->bytes == kGranuleBytes);
  volume.sync_and_check();
  resize(*volume, file, 1'000'000);
  std::vector<std::byte> expected = random_bytes(kGranuleBytes, 0);
  expected.resize(10);
  expected.resize(1'000'000);
  CHECK(content_of(*volume, file) == expected);
  CHECK(*volume->seek_data(file, 0) == 0);
  CHECK(*volume->seek_hole(file, 0) == kGranuleBytes);
  CHECK(error_of(volume->seek_data(file, kGranuleBytes)) == Errc::kNoData);
  REQUIRE(volume->unlink(kRootInode, "f"));
  volume.reopen();
}

TEST_CASE("volume: appended pieces of one generation are one extent", "[volume]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  for (int i = 0; i < 64; ++i) {
    REQUIRE(volume->append(file, random_bytes(kGranuleBytes, static_cast<std::uint64_t>(i))));
  }
  int extents = 0;
  REQUIRE(volume->engine().tree->scan(make_key(file, ItemType::kExtent),
                                      make_key(file + 1, ItemType::kInode),
                                      [&](Key, ConstBytes) { return ++extents > 0; }));
  CHECK(extents == 1);
  std::vector<std::byte> expected;
  for (int i = 0; i < 64; ++i) {
    const auto piece = random_bytes(kGranuleBytes, static_cast<std::uint64_t>(i));
    expected.insert(expected.end(), piece.begin(), piece.end());
  }
  CHECK(content_of(*volume, file) == expected);
  volume.reopen();
  CHECK(content_of(*volume, file) == expected);
}

TEST_CASE("volume: a damaged block is told, not shown", "[volume]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  REQUIRE(volume->write(file, 0, random_bytes(20'000, 3)));
  std::uint64_t place = 0;
  const Key key = make_key(file, ItemType::kExtent);
  REQUIRE(volume->engine().tree->read(key, [&](ConstBytes data) {
    const Layout& layout = volume->engine().layout;
    place = layout.byte_of(ExtentItem::parse(data, key, layout)->run.first);
  }));
  std::vector<std::byte> block(4096);
  REQUIRE(volume.device().read(place + 8192, block));
  block[17] ^= std::byte{4};
  REQUIRE(volume.device().write(place + 8192, block));
  std::vector<std::byte> into(20'000);
  CHECK(error_of(volume->read(file, 0, into)) == Errc::kCorrupt);
  CHECK(volume->read(file, 0, Bytes(into).first(8192)));
  CHECK(volume->read(file, 12'288, into));
  // A write that needs the damaged bytes cannot pretend to know them.
  CHECK(error_of(volume->write(file, 8192 + 5, Bytes(into).first(3))) == Errc::kCorrupt);
  REQUIRE(volume->write(file, 8192, Bytes(into).first(4096)));
  CHECK(volume->read(file, 0, into));
  volume.sync_and_check();
}

// ---- attributes ----

TEST_CASE("volume: attributes are kept to the nanosecond", "[volume]") {
  Mounted volume;
  const InodeNumber file = volume.file("f");
  AttributeChanges changes;
  changes.permissions = 06755;
  changes.uid = 0xfffffffe;
  changes.gid = 7;
  changes.access = Timestamp{-62'135'596'800, 999'999'999};
  changes.modify = Timestamp{253'402'300'799, 1};
  volume.clock().set({5'000'000'000, 123});
  REQUIRE(volume->set_attributes(file, changes));
  changes.modify->nanoseconds = 1'000'000'000;
  CHECK(error_of(volume->set_attributes(file, changes)) == Errc::kInvalid);
  volume.reopen();
  const auto shown = volume->attributes(file);
  REQUIRE(shown);
  CHECK(shown->mode == 0106755);
  CHECK(shown->uid == 0xfffffffe);
  CHECK(shown->gid == 7);
  CHECK(shown->access == *changes.access);
  CHECK(shown->modify == Timestamp{253'402'300'799, 1});
  CHECK(shown->change == Timestamp{5'000'000'000, 123});
}

TEST_CASE("volume: extended attributes of all sizes", "[volume]") {
  WorkloadConfig config;
  config.block_bytes = GENERATE(512u, 4096u);
  config.node_bytes = GENERATE(4096u, 65536u);
  Mounted volume(config);
  const InodeNumber file = volume.file("f");
  const std::vector<std::size_t> sizes = {0, 1, 400, 500, 1000, 5000, 20'000, 65'536};
  for (const std::size_t size : sizes) {
    REQUIRE(volume->set_xattr(file, "user." + std::to_string(size), random_bytes(size, size)));
  }
  CHECK(error_of(volume->set_xattr(file, "user.large", std::vector<std::byte>(65'537))) ==
        Errc::kRange);
  CHECK(error_of(volume->set_xattr(file, "user.1", {}, XattrMode::kCreate)) == Errc::kExists);
  CHECK(error_of(volume->set_xattr(file, "user.2", {}, XattrMode::kReplace)) == Errc::kNoData);
  volume.reopen();
  CHECK(volume->list_xattrs(file)->size() == sizes.size());
  for (const std::size_t size : sizes) {
    CHECK(*volume->xattr(file, "user." + std::to_string(size)) == random_bytes(size, size));
  }
  // Large to small and back, then away.
  REQUIRE(volume->set_xattr(file, "user.65536", random_bytes(3, 1)));
  REQUIRE(volume->set_xattr(file, "user.1", random_bytes(40'000, 2)));
  REQUIRE(volume->set_xattr(file, "user.1", random_bytes(50'000, 3)));
  CHECK(*volume->xattr(file, "user.65536") == random_bytes(3, 1));
  CHECK(*volume->xattr(file, "user.1") == random_bytes(50'000, 3));
  REQUIRE(volume->remove_xattr(file, "user.20000"));
  CHECK(error_of(volume->xattr(file, "user.20000")) == Errc::kNoData);
  volume.reopen();
  REQUIRE(volume->unlink(kRootInode, "f"));
  CHECK(volume->usage().inodes == 1);
  volume.reopen();
}

TEST_CASE("volume: attributes whose names collide", "[volume]") {
  WorkloadConfig config;
  config.name_hash_bits = 1;
  Mounted volume(config);
  const InodeNumber file = volume.file("f");
  for (int i = 0; i < 40; ++i) {
    REQUIRE(volume->set_xattr(file, "user." + std::to_string(i),
                              random_bytes(static_cast<std::size_t>(i) * 5, 1)));
  }
  for (int i = 0; i < 40; i += 3) REQUIRE(volume->remove_xattr(file, "user." + std::to_string(i)));
  volume.reopen();
  for (int i = 0; i < 40; ++i) {
    const auto value = volume->xattr(file, "user." + std::to_string(i));
    if (i % 3 == 0) {
      CHECK(error_of(value) == Errc::kNoData);
    } else {
      CHECK(*value == random_bytes(static_cast<std::size_t>(i) * 5, 1));
    }
  }
  REQUIRE(volume->unlink(kRootInode, "f"));
  volume.reopen();
  CHECK(volume->usage().inodes == 1);
}

}  // namespace cordwood::test
