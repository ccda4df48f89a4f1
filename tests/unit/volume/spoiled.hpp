#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "sample_content.hpp"
#include "support/image_builder.hpp"
#include "volume/check.hpp"

namespace cordwood::test {

using Spoil = std::function<void(ImageBuilder&, const SampleContent&)>;

/// A wrong image: one cause, and what has to be found.
struct Spoiled {
  const char* findings;  ///< names of all that is found, without notes, separated by spaces
  Spoil before = {};     ///< changes the content, or sets hooks, before the image is written
  std::function<void(BuiltImage&)> after = {};  ///< changes what was written
  ImageShape shape = {};
};

/// Builds it, checks it, and tells whether exactly the wanted was found.
void require_findings(const Spoiled& spoiled);

/// Names of the findings of a report.
[[nodiscard]] std::set<std::string> names_of(const CheckReport& report, bool with_notes);
/// A check with all that it can do.
[[nodiscard]] CheckReport check_all(BlockDevice& device);

/// Changes one bit of the lowest bit of a byte.
void flip(BlockDevice& device, std::uint64_t byte);

/// Changes every superblock slot in the same way.
template <class Change>
Spoil superblock_change(Change change) {
  return [change](ImageBuilder& builder, const SampleContent&) {
    builder.edit_superblock = [change](std::uint32_t, Superblock& superblock) {
      change(superblock);
    };
  };
}

/// Changes one superblock slot.
template <class Change>
Spoil slot_change(std::uint32_t slot, Change change) {
  return [slot, change](ImageBuilder& builder, const SampleContent&) {
    builder.edit_superblock = [slot, change](std::uint32_t at, Superblock& superblock) {
      if (at == slot) change(superblock);
    };
  };
}

/// Changes pages of the node table: change(level, index, page).
template <class Change>
Spoil table_change(Change change) {
  return
      [change](ImageBuilder& builder, const SampleContent&) { builder.edit_table_page = change; };
}

/// Changes the bytes of the first node of a level.
template <class Change>
Spoil node_change(std::uint8_t level, Change change) {
  return [level, change](ImageBuilder& builder, const SampleContent&) {
    builder.edit_node = [level, change, done = false](NodeId, std::uint8_t at,
                                                      Bytes bytes) mutable {
      if (at == level && !done) change(bytes);
      done = done || at == level;
    };
  };
}

/// Changes the item of one inode.
template <class Change>
Spoil inode_change(InodeNumber SampleContent::*which, Change change) {
  return [which, change](ImageBuilder& builder, const SampleContent& content) {
    builder.change_inode(content.*which, change);
  };
}

}  // namespace cordwood::test
