#include "device/write_fate.hpp"

#include <catch2/catch.hpp>

#include "base/random.hpp"

using namespace cordwood;

namespace {

using Kind = WriteFate::Kind;

std::string round_trip(std::string_view id) {
  const Result<CrashChoice> choice = CrashChoice::parse(id);
  return choice ? choice->id() : "error";
}

}  // namespace

TEST_CASE("write fate: an id says the cut and each fate, runs in short", "[device]") {
  CrashChoice choice;
  choice.cut = 118;
  choice.fates = {{Kind::kKept, 0}, {Kind::kKept, 0}, {Kind::kKept, 0},  {Kind::kLost, 0},
                  {Kind::kHead, 2}, {Kind::kTail, 1}, {Kind::kMixed, 9}, {Kind::kGarbage, 0},
                  {Kind::kLost, 0}, {Kind::kLost, 0}};
  CHECK(choice.id() == "118:+3-h2t1m9g0-2");
  CHECK(*CrashChoice::parse(choice.id()) == choice);
  CHECK(CrashChoice{}.id() == "0:");
}

TEST_CASE("write fate: ids that id() does not give are refused", "[device]") {
  CHECK(round_trip("0:") == "0:");
  CHECK(round_trip("7:+1-1") == "7:+-");
  for (const char* bad :
       {"", ":", "x", "12", "12:h", "12:+0", "12:x", "12:+-h1 ", "-1:", "1:h4294967296",
        "99999999999999999999:", "1:+99999999999", "1:+18446744073709551615+9"}) {
    INFO(bad);
    const Result<CrashChoice> choice = CrashChoice::parse(bad);
    REQUIRE(!choice);
    CHECK(choice.error().code == Errc::kInvalid);
  }
}

TEST_CASE("write fate: random ids survive the round trip", "[device]") {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    CrashChoice choice;
    choice.cut = random.next() >> random.below(64);
    for (std::uint64_t n = random.below(30); n > 0; --n) {
      const auto kind = static_cast<Kind>(random.below(6));
      const bool plain = kind == Kind::kLost || kind == Kind::kKept;
      choice.fates.push_back({kind, plain ? 0 : static_cast<std::uint32_t>(random.next())});
    }
    INFO(choice.id());
    REQUIRE(*CrashChoice::parse(choice.id()) == choice);
  }
}
