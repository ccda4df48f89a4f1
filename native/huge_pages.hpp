#pragma once

#include "base/page_memory.hpp"

namespace cordwood {

/// Memory from the host in huge pages where it has them, else in ordinary ones. For
/// MountOptions::memory.
[[nodiscard]] PageMemory& huge_page_memory();

}  // namespace cordwood
