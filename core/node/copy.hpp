#pragma once

#include <cstddef>
#include <cstring>

namespace cordwood {

/// memcpy for kilobytes at any distance. C libraries switch to `rep movsb` from about 2 KiB on, which
/// on some processors (AMD Zen 3) slows down to a byte per nanosecond when the target lies 1..63 bytes
/// after the source modulo 4 KiB: just what moving records inside a node leads to. Below that size
/// they copy by vectors, as fast as it goes. @pre the ranges do not overlap
inline void copy_bytes(std::byte* target, const std::byte* source, std::size_t bytes) {
  constexpr std::size_t kPieceBytes = 1024;
  while (bytes > 0) {
    std::size_t piece = bytes < kPieceBytes ? bytes : kPieceBytes;
    // A compiler that sees the bound would put `rep movs` here itself.
    asm("" : "+r"(piece));
    std::memcpy(target, source, piece);
    target += piece;
    source += piece;
    bytes -= piece;
  }
}

}  // namespace cordwood
