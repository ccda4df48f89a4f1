#pragma once

#include <string_view>

#include "base/result.hpp"

namespace cordwood {

/// Whether a directory may hold an entry of this name.
/// @errors kNoEntry for the empty name; kNameTooLong; kInvalid for ".", "..", and with "/" or NUL.
[[nodiscard]] Result<void> check_name(std::string_view name);

/// @errors kInvalid when empty or with NUL; kRange when longer than 255 bytes.
[[nodiscard]] Result<void> check_xattr_name(std::string_view name);

}  // namespace cordwood
