#pragma once

#include <cstddef>
#include <vector>

#include "format/log.hpp"
#include "fuzz/fuzz_input.hpp"
#include "fuzz/log_sample.hpp"

namespace cordwood::test {

/// A record that is right in itself, with items and tombstones that the input asks for: whatever can
/// stand in a volume's tree, near to what the sample has or far from it. Lacks its checksum.
/// @param header  gives what the record's content does not decide.
[[nodiscard]] std::vector<std::byte> craft(FuzzInput& input, const LogSample& sample,
                                           LogRecordHeader header);

}  // namespace cordwood::test
