#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>

namespace cordwood {

/// What went wrong. Values below 1000 are Linux errno numbers on every platform (so that a FUSE
/// server can return them as they are); those above are our own. Values are frozen.
enum class Errc : std::uint16_t {
  kNotPermitted = 1,
  kNoEntry = 2,
  kIo = 5,
  kNoMemory = 12,
  kAccess = 13,
  kBusy = 16,
  kExists = 17,
  kCrossDevice = 18,
  kNotDirectory = 20,
  kIsDirectory = 21,
  kInvalid = 22,
  kFileTooBig = 27,
  kNoSpace = 28,
  kReadOnly = 30,
  kTooManyLinks = 31,
  kRange = 34,
  kNameTooLong = 36,
  kNotEmpty = 39,
  kSymlinkLoop = 40,
  kNoData = 61,
  kOverflow = 75,
  kNotSupported = 95,
  kStale = 116,
  kCorrupt = 1001,      ///< bytes on the medium are not what was written there
  kNotCordwood = 1002,  ///< no Cordwood volume, or a foreign one
  kVersion = 1003,      ///< a volume of a format that this library does not know
  kFailed = 1004,       ///< an earlier write failed: the volume takes no changes until reopened
};

/// What `Error::where` counts.
enum class Place : std::uint8_t {
  kNone,
  kByte,
  kBlock,
  kNode,
  kInode,
  kGroup,
  kTablePage,
  kValue,
  kLogRecord
};

/// An error: its class, a sentence fragment that a person can act on, and the place it concerns.
/// Trivially copyable; `what` is a string literal.
struct Error {
  Errc code = Errc::kInvalid;
  Place place = Place::kNone;
  std::uint64_t where = 0;
  const char* what = "";

  /// One line without a final period: "node 17: checksum mismatch (corrupt)".
  [[nodiscard]] std::string message() const;
};

/// The POSIX-like name of an error class, for example "no space".
[[nodiscard]] const char* errc_name(Errc code);

/// For test frameworks and logs.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& stream,
                                             const Error& error) {
  return stream << error.message();
}

inline Error make_error(Errc code, const char* what) { return {code, Place::kNone, 0, what}; }
inline Error make_error(Errc code, Place place, std::uint64_t where, const char* what) {
  return {code, place, where, what};
}
inline Error corrupt(Place place, std::uint64_t where, const char* what) {
  return {Errc::kCorrupt, place, where, what};
}

/// A value or an Error. Test with `if (!result)`, then `result.error()` or `*result`.
template <class T>
using Result = boost::system::result<T, Error>;

}  // namespace cordwood

/// Evaluates to the value of a Result, or returns its error from the enclosing function.
#define TRY(expression)                \
  __extension__({                      \
    auto&& try_result_ = (expression); \
    if (!try_result_) [[unlikely]]     \
      return try_result_.error();      \
    *std::move(try_result_);           \
  })
