#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "device/sparse_image.hpp"
#include "format/layout.hpp"
#include "format/superblock.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

/// A field or a stretch of bytes in the log, counted from the first record's start.
struct LogField {
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
};

/// A volume that lost power with a log to replay, and where the parts of that log lie.
struct LogSample {
  SparseImage image;
  Layout layout;
  Superblock superblock;
  /// The ring's bytes, rotated so that they begin with the first record.
  std::vector<std::byte> ring;
  std::vector<LogField> records;
  std::vector<LogField> header_fields;
  std::vector<LogField> index_fields;
  std::vector<LogField> tombstone_fields;
  std::vector<LogField> leaf_fields;     ///< of node headers, and slots
  std::vector<LogField> record_headers;  ///< in leaves: key and length
  std::vector<LogField> items;           ///< their data
  /// fingerprint() of every state that a power cut could have left.
  std::set<std::uint64_t> states;
};

inline constexpr unsigned kLogSamples = 4;
/// Made at first use: small and large nodes and blocks, a ring that wraps, a batch of several records,
/// a volume that is nearly full.
[[nodiscard]] const LogSample& log_sample(unsigned number);

/// A hash of all that a volume shows, times aside: names, attributes, data, xattrs, and errors.
[[nodiscard]] std::uint64_t fingerprint(Volume& volume);

}  // namespace cordwood::test
