// Listing a directory while it changes.

#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/mounted.hpp"

namespace cordwood::test {

namespace {

constexpr int kFiles = 20'000;

InodeNumber fill(Mounted& volume, int files) {
  const InodeNumber directory = volume.directory("big");
  for (int i = 0; i < files; ++i) volume.file(numbered("file", i), directory);
  return directory;
}

struct Seen {
  std::uint64_t cookie;
  std::string name;
};

/// At most `count` entries behind a cookie.
std::vector<Seen> list(Mounted& volume, InodeNumber directory, std::uint64_t cookie,
                       std::size_t count) {
  std::vector<Seen> seen;
  REQUIRE(volume->read_directory(directory, cookie, [&](const DirectoryEntry& entry) {
    seen.push_back({entry.cookie, std::string(entry.name)});
    return seen.size() < count;
  }));
  return seen;
}

}  // namespace

TEST_CASE("listing: each of 20,000 entries once, in calls of any size", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = fill(volume, kFiles);
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{100'000}}) {
    CAPTURE(count);
    std::map<std::string, int> times;
    std::uint64_t cookie = 0;
    for (;;) {
      const auto part = list(volume, directory, cookie, count);
      if (part.empty()) break;
      for (const Seen& entry : part) ++times[entry.name];
      cookie = part.back().cookie;
    }
    CHECK(times.size() == kFiles + 2);
    bool once = true;
    for (const auto& [name, n] : times) once = once && n == 1;
    CHECK(once);
  }
}

TEST_CASE("listing: deleting what is listed leaves nothing", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = fill(volume, kFiles);
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{100}, std::size_t{1'000'000});
  CAPTURE(count);
  std::uint64_t cookie = 0;
  for (;;) {
    const auto part = list(volume, directory, cookie, count);
    if (part.empty()) break;
    for (const Seen& entry : part) {
      if (entry.name != "." && entry.name != "..") REQUIRE(volume->unlink(directory, entry.name));
    }
    cookie = part.back().cookie;
  }
  CHECK(volume.names(directory).empty());
  CHECK(volume->remove_directory(kRootInode, "big"));
}

TEST_CASE("listing: the visitor may change the directory", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = fill(volume, 2000);
  int seen = 0;
  REQUIRE(volume->read_directory(directory, 0, [&](const DirectoryEntry& entry) {
    if (entry.name == "." || entry.name == "..") return true;
    ++seen;
    const std::string name(entry.name);
    REQUIRE(volume->unlink(directory, name));
    return true;
  }));
  CHECK(seen == 2000);
  CHECK(volume.names(directory).empty());
}

TEST_CASE("listing: renaming what is listed comes to an end", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = fill(volume, 2000);
  std::size_t seen = 0;
  std::uint64_t cookie = 0;
  for (;;) {
    const auto part = list(volume, directory, cookie, 10);
    if (part.empty() || seen > 20'000) break;
    for (const Seen& entry : part) {
      if (entry.name == "." || entry.name == "..") continue;
      ++seen;
      REQUIRE(volume->rename(directory, entry.name, directory, "TMP"));
      REQUIRE(volume->rename(directory, "TMP", directory, entry.name));
    }
    cookie = part.back().cookie;
    // Each renamed entry comes anew behind the others: a reader that goes on for ever must stop by
    // itself, so this one stops after all have come twice.
    if (seen >= 4000) break;
  }
  CHECK(seen >= 2000);
  CHECK(volume.names(directory).size() == 2000);
  volume.sync_and_check();
}

TEST_CASE("listing: cookies stay what they are", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = fill(volume, 3000);
  const auto all = list(volume, directory, 0, 1'000'000);
  REQUIRE(all.size() == 3002);
  for (std::size_t i = 2; i < all.size(); i += 3) {
    REQUIRE(volume->unlink(directory, all[i].name));
  }
  volume.file("new", directory);
  volume.reopen();
  // From every cookie that was ever given, whether its entry is still there or not.
  for (std::size_t i = 0; i < all.size(); i += 13) {
    CAPTURE(i);
    std::size_t next = i + 1;
    while (next < all.size() && next >= 2 && (next - 2) % 3 == 0) ++next;
    const auto part = list(volume, directory, all[i].cookie, 1);
    REQUIRE(part.size() == 1);
    CHECK(part[0].name == (next < all.size() ? all[next].name : "new"));
  }
  CHECK(list(volume, directory, ~std::uint64_t{0}, 1).empty());
}

TEST_CASE("listing: a new entry is seen by a new listing", "[volume][cases]") {
  Mounted volume;
  const InodeNumber directory = volume.directory("d");
  CHECK(volume.names(directory).empty());
  volume.file("z", directory);
  CHECK(volume.names(directory) == std::multiset<std::string>{"z"});
}

}  // namespace cordwood::test
