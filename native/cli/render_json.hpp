#pragma once

#include <boost/json.hpp>
#include <string>

namespace cordwood::cli {

/// A description as indented text for people: one line for what is small enough, names and values
/// without quotes, and no brackets.
[[nodiscard]] std::string render(const boost::json::value& value);

}  // namespace cordwood::cli
