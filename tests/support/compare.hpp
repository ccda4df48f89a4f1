#pragma once

#include <string>

#include "fs/types.hpp"
#include "support/model_fs.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

/// What differs, in words; nothing when all is equal.
[[nodiscard]] std::string compare_attributes(const Attributes& expected, const Attributes& actual);
/// Everything.
[[nodiscard]] std::string compare_volume(const ModelFs& model, Volume& volume);

/// Whether an error that says "the device or its content is bad" counts as a difference.
enum class Tolerance : std::uint8_t { kNone, kDamage };

/// Compares a volume with a model. Each comparison returns what differs, in words; nothing when all is
/// equal, or when with Tolerance::kDamage what could not be read was refused instead of wrong.
class Comparer {
 public:
  Comparer(const ModelFs& model, Volume& volume, Tolerance tolerance = Tolerance::kNone)
      : model_(model), volume_(volume), tolerance_(tolerance) {}

  /// Everything. With Tolerance::kDamage it goes on behind what could not be read.
  [[nodiscard]] std::string all();
  /// One inode with all that belongs to it.
  [[nodiscard]] std::string inode(const ModelInode& inode);
  /// Names, types, inode numbers, "." and "..", order of cookies, each name once; listed in calls of
  /// `entries_a_call` (0: in one).
  [[nodiscard]] std::string directory(const ModelInode& directory, std::uint32_t entries_a_call);
  [[nodiscard]] std::string xattrs(const ModelInode& inode);
  /// Every byte: those that the volume shows as data by reading, holes by what the model holds there.
  [[nodiscard]] std::string content(const ModelInode& inode);

  /// Calls that were refused because of damage.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  [[nodiscard]] std::string refusal(const ModelInode& inode, const std::string& call,
                                    const Error& error);
  [[nodiscard]] std::string range(const ModelInode& inode, std::uint64_t offset, std::uint64_t end);
  [[nodiscard]] std::string sparse(const ModelInode& inode);
  [[nodiscard]] std::string lookups(const ModelInode& directory);

  const ModelFs& model_;
  Volume& volume_;
  Tolerance tolerance_;
  std::uint64_t refused_ = 0;
};

[[nodiscard]] std::string to_text(const Timestamp& time);

}  // namespace cordwood::test
