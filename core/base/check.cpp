#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace cordwood {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "cordwood: check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace cordwood
