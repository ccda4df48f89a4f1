#include <thread>
#include <vector>

#include "fs/inode_item.hpp"
#include "fs/inode_numbers.hpp"
#include "fs/inode_table.hpp"
#include "support/catch.hpp"
#include "support/mounted.hpp"
#include "volume/engine.hpp"

namespace cordwood::test {

TEST_CASE("inode numbers: runs double while a directory keeps creating", "[fs]") {
  InodeNumbers numbers(2);
  NumberRun run;
  std::uint64_t last = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto number = numbers.peek(run);
    REQUIRE(number);
    REQUIRE(number->value > last);
    last = number->value;
    ++run.next;
  }
  CHECK(run.count == 4096);
  CHECK(numbers.next() > last);
  NumberRun other;
  CHECK(numbers.peek(other)->value >= run.end);
  CHECK(other.count == 32);
}

TEST_CASE("inode numbers: the last ones are not handed out twice", "[fs]") {
  InodeNumbers numbers(kInodeLimit - 33);
  NumberRun run;
  CHECK(numbers.peek(run));
  CHECK(numbers.take());
  CHECK_FALSE(numbers.take());
  CHECK(numbers.next() == kInodeLimit);
}

#ifndef __EMSCRIPTEN__  // no threads there
TEST_CASE("inode count: adds up over threads", "[fs][threads]") {
  InodeCount count(10);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) count.add(j % 2 == 0 ? 2 : -1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count.value() == 10 + 4 * 500);
}
#endif

TEST_CASE("inode table: one object for each number, kept while referred to", "[fs]") {
  Mounted volume;
  std::vector<InodeNumber> files;
  for (int i = 0; i < 60'000; ++i) files.push_back(volume.file(std::to_string(i)));
  InodeTable table(*volume->engine().tree);
  const InodeRef kept = *table.get(files.front());
  for (const InodeNumber file : files) REQUIRE(table.get(file));
  CHECK(&**table.get(files.front()) == &*kept);
  // The others went, most of them; those that come again are loaded again.
  std::size_t found = 0;
  for (const InodeNumber file : files) found += table.find(file) ? 1 : 0;
  CHECK(found < files.size());
  CHECK((*table.get(files[1]))->item().links == 1);
}

TEST_CASE("inode table: numbers that no inode has", "[fs]") {
  Mounted volume;
  InodeTable table(*volume->engine().tree);
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{12345}, kInodeLimit,
                                     std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    CAPTURE(number);
    CHECK(error_of(table.get({number})) == Errc::kNoEntry);
    CHECK(error_of(volume->attributes({number})) == Errc::kNoEntry);
    CHECK_FALSE(table.find({number}));
  }
}

}  // namespace cordwood::test
