#pragma once

// Every test sees this first, as a precompiled header (tests/CMakeLists.txt): Catch2 takes longer to
// parse than any test, and a failing REQUIRE(result) prints the error that it holds.

#include <string>

#include "base/check.hpp"
#include "base/result.hpp"

// The core's CHECK, which aborts, and Catch2's, which reports, share a name. The text of a test, at
// include level 0, means Catch2's; inline functions of the core's headers keep their own.
#undef CHECK
#include <catch2/catch.hpp>
#undef CHECK
#define CHECK(...) CHECK_JOIN(CHECK_LEVEL_, __INCLUDE_LEVEL__)(__VA_ARGS__)
#define CHECK_JOIN(a, b) CHECK_JOIN_EXPANDED(a, b)
#define CHECK_JOIN_EXPANDED(a, b) a##b
#define CHECK_LEVEL_0(...) \
  INTERNAL_CATCH_TEST("CHECK", Catch::ResultDisposition::ContinueOnFailure, __VA_ARGS__)
#define CHECK_LEVEL_1(...) \
  ((__VA_ARGS__) ? (void)0 : ::cordwood::check_failed(#__VA_ARGS__, __FILE__, __LINE__))
#define CHECK_LEVEL_2(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_3(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_4(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_5(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_6(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_7(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_8(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_9(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_10(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_11(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_12(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_13(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_14(...) CHECK_LEVEL_1(__VA_ARGS__)
#define CHECK_LEVEL_15(...) CHECK_LEVEL_1(__VA_ARGS__)

namespace Catch {

template <class T>
struct StringMaker<boost::system::result<T, cordwood::Error>> {
  static std::string convert(const boost::system::result<T, cordwood::Error>& result) {
    return result ? "value" : "error: " + result.error().message();
  }
};

}  // namespace Catch
