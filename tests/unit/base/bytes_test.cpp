#include "base/bytes.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

using namespace cordwood;

TEMPLATE_TEST_CASE("bytes: integers round-trip at every alignment", "[base]", std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  std::array<std::byte, 32> memory{};
  for (std::size_t at = 0; at < 16; ++at) {
    for (const TestType value : {TestType{0}, TestType{1}, std::numeric_limits<TestType>::max(),
                                 static_cast<TestType>(0x0123456789abcdefu)}) {
      memory.fill(std::byte{0xee});
      store_le(memory.data() + at, value);
      CHECK(load_le<TestType>(memory.data() + at) == value);
      if (at > 0) CHECK(memory[at - 1] == std::byte{0xee});
      CHECK(memory[at + sizeof value] == std::byte{0xee});
    }
  }
}

TEST_CASE("bytes: the stored order is little-endian", "[base]") {
  std::array<std::byte, 8> memory{};
  store_le(memory.data(), std::uint64_t{0x0807060504030201});
  for (std::size_t i = 0; i < memory.size(); ++i) {
    CHECK(std::to_integer<std::size_t>(memory[i]) == i + 1);
  }
  CHECK(load_le<std::uint16_t>(memory.data()) == 0x0201);
  CHECK(load_le<std::uint32_t>(memory.data() + 4) == 0x08070605);
}

TEST_CASE("bytes: text is seen as bytes and back without a copy", "[base]") {
  const std::string_view text("na\0me", 5);
  const ConstBytes bytes = as_bytes(text);
  CHECK(bytes.size() == 5);
  CHECK(static_cast<const void*>(bytes.data()) == text.data());
  CHECK(as_text(bytes) == text);
  CHECK(as_bytes("").empty());
}

TEST_CASE("bytes: sizes and rounding", "[base]") {
  CHECK(16_KiB == 16384);
  CHECK(4_MiB == 4u << 20);
  CHECK(8_GiB == std::uint64_t{8} << 30);
  for (const std::uint64_t multiple : {1u, 3u, 512u, 4096u}) {
    CHECK(round_up(std::uint64_t{0}, multiple) == 0);
    CHECK(round_up(std::uint64_t{1}, multiple) == multiple);
    CHECK(round_up(multiple, multiple) == multiple);
    CHECK(round_up(multiple + 1, multiple) == 2 * multiple);
    CHECK(divide_up(std::uint64_t{0}, multiple) == 0);
    CHECK(divide_up(10 * multiple, multiple) == 10);
    CHECK(divide_up(10 * multiple + 1, multiple) == 11);
  }
}
