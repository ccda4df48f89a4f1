#include "base/result.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <type_traits>

using namespace cordwood;

static_assert(std::is_trivially_copyable_v<Error>);

namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return make_error(Errc::kInvalid, "not a digit");
  return c - '0';
}

Result<void> require_even(int value) {
  if (value % 2 != 0) return corrupt(Place::kValue, static_cast<std::uint64_t>(value), "odd");
  return {};
}

Result<int> add_even_digits(std::string_view text, int* reached) {
  int sum = 0;
  for (const char c : text) {
    const int digit = TRY(parse_digit(c));
    TRY(require_even(digit));
    sum += digit;
    ++*reached;
  }
  return sum;
}

Result<std::unique_ptr<int>> make_owned(bool works) {
  if (!works) return make_error(Errc::kNoMemory, "");
  return std::make_unique<int>(42);
}

Result<int> through_owned(bool works) {
  const std::unique_ptr<int> owned = TRY(make_owned(works));
  return *owned;
}

}  // namespace

TEST_CASE("result: TRY yields the value or returns the error at once", "[base]") {
  int reached = 0;
  const Result<int> good = add_even_digits("2468", &reached);
  REQUIRE(good);
  CHECK(*good == 20);
  CHECK(reached == 4);

  reached = 0;
  const Result<int> not_digit = add_even_digits("24x8", &reached);
  REQUIRE_FALSE(not_digit);
  CHECK(not_digit.error().code == Errc::kInvalid);
  CHECK(reached == 2);

  reached = 0;
  const Result<int> odd = add_even_digits("2438", &reached);
  REQUIRE_FALSE(odd);
  CHECK(odd.error().code == Errc::kCorrupt);
  CHECK(odd.error().place == Place::kValue);
  CHECK(odd.error().where == 3);
  CHECK(reached == 2);
}

TEST_CASE("result: TRY moves values that cannot be copied", "[base]") {
  CHECK(*through_owned(true) == 42);
  CHECK(through_owned(false).error().code == Errc::kNoMemory);
}

TEST_CASE("result: messages name the place, the cause and the class", "[base]") {
  CHECK(corrupt(Place::kNode, 17, "checksum mismatch").message() ==
        "node 17: checksum mismatch (corrupt)");
  CHECK(make_error(Errc::kNoSpace, "no free run").message() == "no free run (no space)");
  CHECK(make_error(Errc::kStale, "").message() == "(stale inode)");
  CHECK(make_error(Errc::kIo, Place::kByte, 4096, "read").message() ==
        "byte 4096: read (I/O error)");
}

TEST_CASE("result: classes are errno numbers and all have names", "[base]") {
  CHECK(static_cast<int>(Errc::kNoEntry) == 2);
  CHECK(static_cast<int>(Errc::kNoSpace) == 28);
  CHECK(static_cast<int>(Errc::kNotEmpty) == 39);
  CHECK(static_cast<int>(Errc::kStale) == 116);
  const std::string unknown = errc_name(static_cast<Errc>(9999));
  CHECK(unknown == "unknown error");
  for (const Errc code :
       {Errc::kNotPermitted, Errc::kNoEntry,      Errc::kIo,           Errc::kNoMemory,
        Errc::kAccess,       Errc::kBusy,         Errc::kExists,       Errc::kCrossDevice,
        Errc::kNotDirectory, Errc::kIsDirectory,  Errc::kInvalid,      Errc::kFileTooBig,
        Errc::kNoSpace,      Errc::kReadOnly,     Errc::kTooManyLinks, Errc::kRange,
        Errc::kNameTooLong,  Errc::kNotEmpty,     Errc::kSymlinkLoop,  Errc::kNoData,
        Errc::kOverflow,     Errc::kNotSupported, Errc::kStale,        Errc::kCorrupt,
        Errc::kNotCordwood,  Errc::kVersion,      Errc::kFailed}) {
    CHECK(errc_name(code) != unknown);
  }
}
