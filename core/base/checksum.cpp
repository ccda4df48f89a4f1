#include "base/checksum.hpp"

// Emscripten's clang defines NEON-like vectors for WASM SIMD but ships no <arm_neon.h>; the SSE2
// path is the one that its SIMD headers emulate well.
#if defined(__wasm_simd128__) && defined(__SSE2__)
#define XXH_VECTOR 1
#elif defined(__EMSCRIPTEN__)
#define XXH_VECTOR 0
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cordwood {

std::uint64_t checksum(ConstBytes data, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

}  // namespace cordwood
