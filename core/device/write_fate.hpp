#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cordwood {

/// What a power cut did to one write that was not durable yet.
struct WriteFate {
  enum class Kind : std::uint8_t {
    kLost,     ///< nothing of it is there
    kKept,     ///< all of it is there
    kHead,     ///< the first `detail` sectors are new, the rest is old
    kTail,     ///< the first `detail` sectors are old, the rest is new
    kGarbage,  ///< the first `detail` sectors are new, the next one is neither, the rest is old
    kMixed,    ///< each sector new or old, by the bits that the seed `detail` gives
  };
  Kind kind = Kind::kLost;
  std::uint32_t detail = 0;

  friend constexpr bool operator==(const WriteFate&, const WriteFate&) = default;
};

/// One state that a power cut may leave: where the cut was, and the fate of each open write there.
struct CrashChoice {
  std::uint64_t cut = 0;         ///< how many events of the recording had happened
  std::vector<WriteFate> fates;  ///< one for each open write, oldest first

  /// A short text that replays the state: "118:+3-h2-4" is a cut after 118 events; three writes
  /// kept, one lost, one with two new sectors at its head, four lost.
  [[nodiscard]] std::string id() const;
  /// @errors kInvalid for a text that id() does not give.
  [[nodiscard]] static Result<CrashChoice> parse(std::string_view id);

  friend bool operator==(const CrashChoice& a, const CrashChoice& b) {
    return a.cut == b.cut && a.fates == b.fates;
  }
};

}  // namespace cordwood
