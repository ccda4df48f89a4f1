#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cordwood::test {

/// "file17". (Written with + it makes g++ 12 warn about overlaps that there are none.)
inline std::string numbered(std::string_view text, std::uint64_t number) {
  std::string name(text);
  name += std::to_string(number);
  return name;
}

}  // namespace cordwood::test
