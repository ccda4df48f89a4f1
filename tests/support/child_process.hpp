#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cordwood::test {

/// Whether run_in_child() works here: not in WebAssembly.
[[nodiscard]] bool can_fork();

struct ChildResult {
  std::string output;        ///< what the work wrote
  bool ended_well = false;   ///< returned, instead of aborting or being stopped after a while
  std::string how_it_ended;  ///< in words
};

/// Does work in a forked process, so that it may crash or hang without harm.
/// @param work  gets a function that sends text back.
/// @pre no other thread runs.
[[nodiscard]] ChildResult run_in_child(
    const std::function<void(const std::function<void(std::string_view)>&)>& work,
    unsigned seconds_max = 60);

}  // namespace cordwood::test
