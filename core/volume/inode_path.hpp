#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "volume/image_reader.hpp"

namespace cordwood {

/// One path of an inode on an image, by the references that lead up to the root: "/docs/a.txt".
/// Empty when it has no name: an unlinked file, or one that holds an extended attribute's value.
/// @errors corrupt: a reference leads nowhere, or never to the root; I/O.
[[nodiscard]] Result<std::string> path_of(ImageReader& reader, InodeNumber inode);

}  // namespace cordwood
