// Cases that other filesystems have suffered, as far as no crash takes part in them: names, renames,
// limits.

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/mounted.hpp"
#include "support/operation.hpp"

namespace cordwood::test {

TEST_CASE("cases: rename between two names of one inode changes nothing", "[volume][cases]") {
  Mounted volume;
  const InodeNumber inode = volume.file("a");
  REQUIRE(volume->link(inode, kRootInode, "b"));
  const auto before = volume->attributes(inode);
  REQUIRE(before);
  volume.clock().advance(1000);
  REQUIRE(volume->rename(kRootInode, "a", kRootInode, "b"));
  CHECK(volume.names(kRootInode) == std::multiset<std::string>{"a", "b"});
  const auto after = volume->attributes(inode);
  REQUIRE(after);
  CHECK(after->links == 2);
  CHECK(after->change == before->change);

  const InodeNumber other = volume.directory("d");
  REQUIRE(volume->link(inode, other, "c"));
  REQUIRE(volume->rename(kRootInode, "a", other, "c"));
  REQUIRE(volume->rename(kRootInode, "a", other, "c", RenameMode::kExchange));
  CHECK(error_of(volume->rename(kRootInode, "a", other, "c", RenameMode::kNoReplace)) ==
        Errc::kExists);
  CHECK(volume->attributes(inode)->links == 3);
  REQUIRE(volume->unlink(kRootInode, "a"));
  CHECK(error_of(volume->rename(kRootInode, "a", kRootInode, "b")) == Errc::kNoEntry);
  CHECK(volume->attributes(inode)->links == 2);
  volume.reopen();
  CHECK(volume->attributes(inode)->links == 2);
}

TEST_CASE("cases: rename over what is there", "[volume][cases]") {
  Mounted volume;
  const InodeNumber source = volume.directory("s");
  const InodeNumber target = volume.directory("t");
  volume.file("in source", source);
  const InodeNumber inside = volume.file("in target", target);
  const InodeNumber file = volume.file("f");

  const Errc full = error_of(volume->rename(kRootInode, "s", kRootInode, "t"));
  CHECK((full == Errc::kNotEmpty || full == Errc::kExists));
  CHECK(volume->lookup(target, "in target")->inode == inside);
  CHECK(volume->lookup(kRootInode, "s")->inode == source);
  CHECK(error_of(volume->rename(kRootInode, "f", kRootInode, "t")) == Errc::kIsDirectory);
  CHECK(error_of(volume->rename(kRootInode, "t", kRootInode, "f")) == Errc::kNotDirectory);
  CHECK(error_of(volume->rename(kRootInode, "f", {999'999}, "b")) == Errc::kNoEntry);
  CHECK(error_of(volume->rename(kRootInode, "f", file, "b")) == Errc::kNotDirectory);
  CHECK(error_of(volume->rename(kRootInode, "f", kRootInode, "s", RenameMode::kNoReplace)) ==
        Errc::kExists);
  CHECK(error_of(volume->rename(kRootInode, "f", kRootInode, "no", RenameMode::kExchange)) ==
        Errc::kNoEntry);
  CHECK(error_of(volume->rename(kRootInode, "s", source, "loop")) == Errc::kInvalid);
  CHECK(error_of(volume->rename(kRootInode, "f", kRootInode, std::string(256, 'x'))) ==
        Errc::kNameTooLong);
  CHECK(volume->lookup(kRootInode, "f")->inode == file);

  REQUIRE(volume->rename(kRootInode, "f", kRootInode, "t", RenameMode::kExchange));
  CHECK(volume->lookup(kRootInode, "f")->inode == target);
  CHECK(volume->lookup(kRootInode, "t")->inode == file);
  CHECK(volume->lookup(kRootInode, "f")->is_directory());

  REQUIRE(volume->unlink(target, "in target"));
  REQUIRE(volume->rename(kRootInode, "s", kRootInode, "f"));
  CHECK(volume->lookup(kRootInode, "f")->inode == source);
  CHECK(volume.names(source) == std::multiset<std::string>{"in source"});
  CHECK(error_of(volume->lookup(kRootInode, "s")) == Errc::kNoEntry);
  CHECK(volume->attributes(kRootInode)->links == 3);
  volume.reopen();
  CHECK(volume.names(kRootInode) == std::multiset<std::string>{"f", "t"});
}

TEST_CASE("cases: directories are not moved below themselves", "[volume][cases]") {
  Mounted volume;
  const InodeNumber a = volume.directory("a");
  const InodeNumber b = volume.directory("b", a);
  const InodeNumber c = volume.directory("c", b);
  CHECK(error_of(volume->rename(kRootInode, "a", c, "a")) == Errc::kInvalid);
  CHECK(error_of(volume->rename(kRootInode, "a", b, "c", RenameMode::kExchange)) == Errc::kInvalid);
  CHECK(error_of(volume->rename(b, "c", kRootInode, "a", RenameMode::kExchange)) == Errc::kInvalid);
  CHECK(error_of(volume->rename(b, "c", kRootInode, "a")) == Errc::kNotEmpty);
  REQUIRE(volume->rename(b, "c", kRootInode, "c"));
  REQUIRE(volume->rename(kRootInode, "a", c, "a"));
  CHECK(volume->resolve("/c/a/b")->inode == b);
  CHECK(volume->resolve("/c/a/b/../../..")->inode == kRootInode);
}

TEST_CASE("cases: names are bytes", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = volume.directory("d");
  const std::vector<std::string> names{std::string(255, 'n'),
                                       "a\nb",
                                       "d\xe9j\xe0",
                                       "\x80",
                                       "\x81",
                                       "\xef\xbf\xbd",
                                       "\xff\xfe",
                                       "q'\"`",
                                       "dot.",
                                       "sp ",
                                       "-rf",
                                       "Aa",
                                       "aA",
                                       "...",
                                       "\x01\x1b[31m",
                                       "\xc3\xa9",
                                       "e\xcc\x81"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(escape(names[i]));
    volume.put(volume.file(names[i], directory), std::to_string(i));
  }
  std::string wide;
  for (int i = 0; i < 85; ++i) wide += "\xe9\xa3\x9e";
  volume.put(volume.file(wide, directory), "wide");
  CHECK(error_of(volume->create(directory, wide + "x", {})) == Errc::kNameTooLong);
  CHECK(error_of(volume->create(directory, std::string(256, 'm'), {})) == Errc::kNameTooLong);
  CHECK(error_of(volume->create(directory, "", {})) == Errc::kNoEntry);
  CHECK(error_of(volume->create(directory, ".", {})) == Errc::kInvalid);
  CHECK(error_of(volume->create(directory, "..", {})) == Errc::kInvalid);
  CHECK(error_of(volume->create(directory, "a/b", {})) == Errc::kInvalid);
  CHECK(error_of(volume->create(directory, std::string_view("a\0b", 3), {})) == Errc::kInvalid);
  CHECK(error_of(volume->make_directory(directory, std::string(256, 'm'), {})) ==
        Errc::kNameTooLong);

  volume.reopen();
  std::multiset<std::string> expected(names.begin(), names.end());
  expected.insert(wide);
  CHECK(volume.names(directory) == expected);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(escape(names[i]));
    const auto found = volume->lookup(directory, names[i]);
    REQUIRE(found);
    CHECK(volume.get(found->inode) == std::to_string(i));
    CHECK(volume->unlink(directory, names[i]));
  }
  REQUIRE(volume->unlink(directory, wide));
  CHECK(volume->remove_directory(kRootInode, "d"));
}

TEST_CASE("cases: symlink targets of every length", "[volume][cases]") {
  Mounted volume;
  for (const std::size_t bytes : {1, 100, 1023, 2048, 4094, 4095}) {
    CAPTURE(bytes);
    const std::string target(bytes, 't');
    const auto link = volume->make_symlink(kRootInode, std::to_string(bytes), target, {});
    REQUIRE(link);
    CHECK(link->size == bytes);
    CHECK(*volume->read_symlink(link->inode) == target);
  }
  CHECK(!volume->make_symlink(kRootInode, "empty", "", {}));
  CHECK(!volume->make_symlink(kRootInode, "long", std::string(4096, 't'), {}));
  CHECK(!volume->make_symlink(kRootInode, "nul", std::string_view("a\0b", 3), {}));
  volume.reopen();
  CHECK(*volume->read_symlink(volume->lookup(kRootInode, "4095")->inode) == std::string(4095, 't'));
}

TEST_CASE("cases: names whose hashes collide stay apart", "[volume][cases]") {
  WorkloadConfig config;
  config.name_hash_bits = GENERATE(1u, 2u);
  config.node_bytes = GENERATE(4096u, 65536u);
  config.block_bytes = 4096;
  Mounted volume(config);
  const InodeNumber directory = volume.directory("d");
  for (const char* name : {"one", "two", "three", "four", "five"}) {
    volume.put(volume.file(name, directory), name);
  }
  REQUIRE(volume->unlink(directory, "three"));
  CHECK(volume.names(directory) == std::multiset<std::string>{"five", "four", "one", "two"});
  CHECK(error_of(volume->lookup(directory, "three")) == Errc::kNoEntry);
  volume.put(volume.file("three", directory), "again");
  volume.reopen();
  CHECK(volume.get(volume->lookup(directory, "three")->inode) == "again");
  CHECK(volume.get(volume->lookup(directory, "two")->inode) == "two");

  const InodeNumber file = volume->lookup(directory, "one")->inode;
  for (int i = 0; i < 6; ++i) {
    const std::string name = numbered("user.", i);
    REQUIRE(volume->set_xattr(file, name, as_bytes(name)));
  }
  REQUIRE(volume->remove_xattr(file, "user.3"));
  CHECK(error_of(volume->xattr(file, "user.3")) == Errc::kNoData);
  CHECK(volume->list_xattrs(file)->size() == 5);
  CHECK(as_text(*volume->xattr(file, "user.4")) == "user.4");
  volume.sync_and_check();
}

TEST_CASE("cases: a bucket of colliding names overflows with a clean error", "[volume][cases]") {
  WorkloadConfig config;
  config.name_hash_bits = 1;
  config.node_bytes = 4096;
  config.block_bytes = 512;
  Mounted volume(config);
  const InodeNumber directory = volume.directory("d");
  std::size_t made = 0;
  Errc refused{};
  for (int i = 0; i < 5'000; ++i) {
    const auto one = volume->create(directory, numbered("n", i), {});
    if (one) {
      ++made;
    } else {
      refused = one.error().code;
    }
  }
  CHECK(refused == Errc::kNoSpace);
  CHECK(made > 100);
  const auto names = volume.names(directory);
  CHECK(names.size() == made);
  volume.reopen();
  for (const std::string& name : names) REQUIRE(volume->unlink(directory, name));
  REQUIRE(volume->remove_directory(kRootInode, "d"));
  volume.sync_and_check();
}

TEST_CASE("cases: names and xattrs of every size split leaves rightly", "[volume][cases]") {
  // Small items fill the leaves, then one that is as large as an item may be comes before, between
  // and behind them.
  WorkloadConfig config;
  config.node_bytes = GENERATE(4096u, 16384u, 65536u);
  config.block_bytes = 4096;
  config.split = GENERATE(0u, 1u, 2u, 3u);
  config.hint = config.split % 2;
  Mounted volume(config);
  const std::size_t largest = max_item_bytes(config.node_bytes) - 4 - 10;
  std::vector<std::pair<InodeNumber, std::string>> values;
  std::uint64_t seed = 1;
  for (const std::size_t large :
       {largest - 1, largest, largest + 1, std::size_t{0}, std::size_t{65'536}}) {
    for (std::size_t small = 0; small < 30; ++small) {
      const InodeNumber file = volume.file(std::to_string(large) + numbered("-", small));
      const auto value = [&](const std::string& name, std::size_t bytes) {
        REQUIRE(volume->set_xattr(file, name, pattern(++seed, bytes)));
        REQUIRE(*volume->xattr(file, name) == pattern(seed, bytes));
      };
      for (std::size_t i = 0; i < 6; ++i) value(numbered("user.s", i), small * 7);
      value("user.large", std::min<std::size_t>(large, 65'536));
      values.emplace_back(file, "user.large");
    }
  }
  volume.sync_and_check();
  // From the middle outwards, so that leaves merge on both sides.
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i % 2 == 0 ? values.size() / 2 + i / 2 : values.size() / 2 - 1 - i / 2;
    REQUIRE(volume->remove_xattr(values[at].first, values[at].second));
  }
  volume.reopen();
}

TEST_CASE("cases: many appends in one directory, then all removed", "[volume][cases]") {
  WorkloadConfig config;
  config.node_bytes = 4096;
  config.block_bytes = 512;
  config.device_bytes = 256_MiB;
  Mounted volume(config);
  constexpr int kCount = 50'000;
  const InodeNumber directory = volume.directory("d");
  for (int i = 0; i < kCount; ++i) volume.file(numbered("f", i), directory);
  volume.sync_and_check();
  CHECK(volume->statistics().tree_levels >= 3);
  for (int i = 0; i < kCount; ++i) {
    REQUIRE(volume->unlink(directory, numbered("f", i)));
  }
  REQUIRE(volume->remove_directory(kRootInode, "d"));
  volume.reopen();
  CHECK(volume.names(kRootInode).empty());
}

}  // namespace cordwood::test
