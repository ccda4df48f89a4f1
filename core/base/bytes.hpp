#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace cordwood {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

inline constexpr std::size_t operator""_KiB(unsigned long long n) { return n << 10; }
inline constexpr std::size_t operator""_MiB(unsigned long long n) { return n << 20; }
inline constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }

namespace detail {
template <class T>
constexpr T swap_if_big_endian(T value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  T swapped = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    swapped = static_cast<T>((swapped << 8) | ((value >> (8 * i)) & 0xff));
  }
  return swapped;
#else
  return value;
#endif
}
}  // namespace detail

/// Reads a little-endian unsigned integer from bytes of any alignment.
template <class T>
[[nodiscard]] inline T load_le(const std::byte* from) {
  static_assert(std::is_unsigned_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return detail::swap_if_big_endian(value);
}

/// Writes a little-endian unsigned integer to bytes of any alignment.
template <class T>
inline void store_le(std::byte* to, T value) {
  static_assert(std::is_unsigned_v<T>);
  value = detail::swap_if_big_endian(value);
  std::memcpy(to, &value, sizeof value);
}

[[nodiscard]] inline ConstBytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view as_text(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether all bytes from one place up to another are zero.
[[nodiscard]] inline bool all_zero(const std::byte* from, const std::byte* to) {
  for (; to - from >= 8; from += 8) {
    if (load_le<std::uint64_t>(from) != 0) return false;
  }
  for (; from != to; ++from) {
    if (*from != std::byte{0}) return false;
  }
  return true;
}

template <class T>
[[nodiscard]] constexpr T round_up(T value, T multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
template <class T>
[[nodiscard]] constexpr T divide_up(T value, T by) {
  return (value + by - 1) / by;
}

}  // namespace cordwood
