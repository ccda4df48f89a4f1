#pragma once

// What nearly every source of the core includes; parsing it costs more than most sources themselves.
// Sources and headers include what they use all the same: tests/layering compiles each header alone.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
