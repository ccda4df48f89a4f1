#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace cordwood {

/// What the failure of opening or creating a file means for the person who named it.
[[nodiscard]] Error open_error(int error_number, bool for_writing);

/// What the failure of a read, write or flush means.
/// @param offset  where in the file, for Place::kByte.
[[nodiscard]] Error io_error(int error_number, std::uint64_t offset);

/// The error of a device that is locked by somebody else.
[[nodiscard]] inline Error in_use_error() {
  return make_error(Errc::kBusy, "in use by another process: unmount or close it first");
}

}  // namespace cordwood
