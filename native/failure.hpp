#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.hpp"

namespace cordwood {

/// How the command ends. Values are frozen: scripts test them (docs/CLI.md).
enum class ExitCode : std::uint8_t {
  kFine = 0,
  kFindings = 1,  ///< a check found something, or some entries of many failed
  kRefused = 2,   ///< wrong usage, or a request that cannot be met
  kDamaged = 3,   ///< I/O failed, or bytes are not what was written
};

/// The worse of two, which is the larger.
[[nodiscard]] constexpr ExitCode worse(ExitCode a, ExitCode b) { return a < b ? b : a; }

/// Why something could not be done, in words for a person.
struct Failure {
  ExitCode exit = ExitCode::kRefused;
  std::string what;    ///< "SUBJECT: fault (class)", without a final period
  std::string advice;  ///< what to do next; may be empty
  /// Nothing further on the same volume can succeed: a loop over many entries ends.
  bool fatal = false;

  // Not an aggregate, or an ExitCode alone would pass for a Failure in an Outcome<ExitCode>.
  Failure() = default;
  Failure(ExitCode exit_code, std::string text, std::string next_step, bool is_fatal)
      : exit(exit_code), what(std::move(text)), advice(std::move(next_step)), fatal(is_fatal) {}

  /// The one line that people see: "what; advice".
  [[nodiscard]] std::string line() const { return advice.empty() ? what : what + "; " + advice; }
};

template <class T>
using Outcome = boost::system::result<T, Failure>;

/// A request that is refused before anything was touched.
[[nodiscard]] Failure refused(std::string what, std::string advice = {});

/// An error of the volume or its device.
/// @param subject  what it concerns: a path in the image, the image; may be empty.
[[nodiscard]] Failure volume_failure(const Error& error, std::string_view subject = {});

/// An error that the host's kernel returned.
/// @param code     errno.
/// @param subject  what was tried, on what: "open /dev/sdx".
[[nodiscard]] Failure host_failure(int code, std::string_view subject);

/// Whether an error of this class means damage (exit code 3) and not a refusal.
[[nodiscard]] bool is_damage(Errc code);

/// A volume's result as an outcome about a subject.
template <class T>
[[nodiscard]] Outcome<T> about(std::string_view subject, Result<T>&& result) {
  if (!result) return volume_failure(result.error(), subject);
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*result);
  }
}

}  // namespace cordwood
