#pragma once

// Every test sees this first, as a precompiled header (tests/CMakeLists.txt): Catch2 takes longer to
// parse than any test, and a failing REQUIRE(result) prints the error that it holds.

#include <catch2/catch.hpp>
#include <string>

#include "base/result.hpp"

namespace Catch {

template <class T>
struct StringMaker<boost::system::result<T, cordwood::Error>> {
  static std::string convert(const boost::system::result<T, cordwood::Error>& result) {
    return result ? "value" : "error: " + result.error().message();
  }
};

}  // namespace Catch
