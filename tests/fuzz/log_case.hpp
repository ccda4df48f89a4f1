#pragma once

#include "base/bytes.hpp"

namespace cordwood::test {

/// Opens a volume with a damaged or lying log, walks all of it, changes it, closes and opens it again.
/// The input's first byte says how, the rest what is done to the log (PatchedLog):
///     bits 0-1 which sample, 2 discard_log, 3 read_only, 4 records get right checksums,
///     5 change it once it is open, 6 another power cut after that, 7 run check()
/// Aborts if anything happens that must not. Memory errors and hangs are for others to see.
void run_log_case(ConstBytes input);

}  // namespace cordwood::test
