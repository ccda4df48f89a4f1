// The log under libFuzzer: build/fuzz/tests/fuzz/log_fuzz [options] [corpus].

#include <cstddef>
#include <cstdint>

#include "fuzz/log_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  cordwood::test::run_log_case({reinterpret_cast<const std::byte*>(data), bytes});
  return 0;
}
