#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "failure.hpp"
#include "trace/counters.hpp"
#include "transfer/report.hpp"
#include "volume/types.hpp"

namespace cordwood::cli {

/// Standard output as the commands use it. Everything goes through stdio's buffer; whether it arrived
/// is asked once, by finish_output().
void print_text(std::string_view text);
/// One value on a line of its own.
void print_json(const boost::json::value& value);
/// @errors standard output is full or gone.
[[nodiscard]] Outcome<void> finish_output();

/// A JSON array that is written as its elements come, however many there are.
class JsonArrayPrinter {
 public:
  JsonArrayPrinter() { print_text("["); }
  void add(const boost::json::value& element);
  void finish() { print_text("]\n"); }

 private:
  bool first_ = true;
};

/// Everything that stat knows.
[[nodiscard]] boost::json::object attributes_json(const Attributes& attributes);
[[nodiscard]] boost::json::object counters_json(const CounterValues& values);
[[nodiscard]] boost::json::object transfer_json(const TransferReport& report);

}  // namespace cordwood::cli
