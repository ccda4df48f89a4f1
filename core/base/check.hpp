#pragma once

namespace cordwood {

/// Prints the failed condition and its place, then aborts. Never returns.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace cordwood

/// States what must hold if our own code is right; on in release builds. Never for input from a
/// device or a user: those get a Result.
#define CW_CHECK(condition)                                     \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::cordwood::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

/// Like CW_CHECK, but only in debug builds: for conditions on the hottest paths.
#ifdef NDEBUG
#define CW_DCHECK(condition) ((void)sizeof(!(condition)))
#else
#define CW_DCHECK(condition) CW_CHECK(condition)
#endif
