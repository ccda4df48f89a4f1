#pragma once

// What the calls of a volume take and give: attributes, types of files, times. Front ends include this
// header, or volume.hpp, and not those of the layers below, which may change their shape.

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "fs/types.hpp"
