#pragma once

#include "support/image_builder.hpp"

namespace cordwood::test {

/// The inodes of a small content that has every kind of item at least once.
struct SampleContent {
  InodeNumber docs, sub, inline_file, data_file, sparse_file, symlink, fifo, linked, holder, orphan;
  BlockRun preallocated;

  explicit SampleContent(ImageBuilder& builder) {
    docs = builder.add_directory(kRootInode, "docs");
    sub = builder.add_directory(docs, "sub");
    inline_file = builder.add_file(docs, "small.txt");
    builder.add_inline(inline_file, "a few bytes");
    data_file = builder.add_file(docs, "large.bin");
    builder.add_data(data_file, 0, 8);
    builder.add_data(data_file, 65536, 8);
    builder.add_xattr(data_file, "user.colour", "green");
    sparse_file = builder.add_file(sub, "sparse");
    preallocated = builder.add_preallocated(sparse_file, 0, 8);
    symlink = builder.add_symlink(sub, "link", "../large.bin");
    fifo = builder.add_file(kRootInode, "pipe", FileType::kFifo);
    linked = builder.add_file(kRootInode, "one");
    builder.add_link(linked, docs, "two");
    holder = builder.add_large_xattr(docs, "user.picture", 8);
    orphan = builder.add_nameless();
    builder.add_data(orphan, 0, 8);
    builder.add_orphan(orphan);
  }
};

}  // namespace cordwood::test
