// Leaf fill, splits and pushes of five insertion mixes under each split policy, as a table.
// The mixes are those of the btrfs seed's analysis: what filesystems insert, with this format's sizes.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "format/items.hpp"
#include "support/tree_rig.hpp"

namespace cordwood::test {
namespace {

constexpr std::uint64_t kNameBytes = 12;

/// Inserts into a tree, one operation at a time.
class Inserter {
 public:
  explicit Inserter(TreeRig& rig) : rig_(rig) {}

  void insert(Key key, std::size_t bytes, Hint* hint = nullptr) {
    auto operation = rig_.checkpointer->begin({1, 0, ReserveClass::kNormal});
    const ConstBytes data(zeros_.data(), bytes);
    if (!operation || !rig_.tree->insert(operation->reservation, key, data, hint)) std::abort();
    ++inserted_;
  }
  [[nodiscard]] std::uint64_t inserted() const { return inserted_; }

 private:
  TreeRig& rig_;
  std::vector<std::byte> zeros_ = std::vector<std::byte>(kMaxNodeBytes);
  std::uint64_t inserted_ = 0;
};

struct Directory {
  InodeNumber number;
  std::uint64_t next_index = kFirstDirIndex;
  std::uint64_t next_inode = 0;
  Hint index_hint;
  Hint inode_hint;
};

/// What creating a file inserts.
void create_file(Inserter& inserter, Random& random, Directory& directory,
                 std::size_t inline_bytes) {
  const InodeNumber inode{directory.next_inode++};
  const std::uint64_t index = directory.next_index++;
  inserter.insert(make_key(directory.number, ItemType::kDirHash, random.next()), 8);
  inserter.insert(make_key(directory.number, ItemType::kDirIndex, index),
                  kDirIndexHeaderBytes + kNameBytes, &directory.index_hint);
  inserter.insert(make_key(inode, ItemType::kInode), sizeof(InodeItem), &directory.inode_hint);
  inserter.insert(make_key(inode, ItemType::kInodeRef, random.next()), sizeof(InodeRefItem),
                  &directory.inode_hint);
  if (inline_bytes != 0) {
    inserter.insert(make_key(inode, ItemType::kExtent), sizeof(ExtentHeader) + inline_bytes,
                    &directory.inode_hint);
  }
}

void index_append(Inserter& inserter, Random&, std::uint64_t items) {
  Hint hint;
  for (std::uint64_t i = 0; i < items; ++i) {
    inserter.insert(make_key({2}, ItemType::kDirIndex, i), kDirIndexHeaderBytes + kNameBytes,
                    &hint);
  }
}

void hash_random(Inserter& inserter, Random& random, std::uint64_t items) {
  for (std::uint64_t i = 0; i < items; ++i) {
    inserter.insert(make_key({2}, ItemType::kDirHash, random.next()), 8);
  }
}

void interleaved_appends(Inserter& inserter, Random& random, std::uint64_t items) {
  constexpr std::uint64_t kStreams = 512;
  std::vector<std::uint64_t> next(kStreams);
  for (std::uint64_t i = 0; i < items; ++i) {
    const std::uint64_t stream = random.below(kStreams);
    inserter.insert(make_key({2 + stream}, ItemType::kExtent, next[stream]++ << 20),
                    sizeof(ExtentHeader) + 16);
  }
}

void one_directory(Inserter& inserter, Random& random, std::uint64_t items) {
  Directory directory{{2}, kFirstDirIndex, 1000, {}, {}};
  for (std::uint64_t i = 0; i < items / 4; ++i) create_file(inserter, random, directory, 0);
}

void ten_directories(Inserter& inserter, Random& random, std::uint64_t items) {
  std::vector<Directory> directories(10);
  for (std::size_t i = 0; i < directories.size(); ++i) {
    directories[i].number = {(i + 1) << 32};
    directories[i].next_inode = ((i + 1) << 32) + 1;
  }
  for (std::uint64_t i = 0; i < items / 5; ++i) {
    create_file(inserter, random, directories[random.below(10)], 1 + random.below(700));
  }
}

struct Mix {
  const char* name;
  void (*run)(Inserter&, Random&, std::uint64_t);
};

void measure(const Mix& mix, SplitPolicy policy, const char* policy_name, std::uint32_t node_bytes,
             std::uint64_t items) {
  TreeRigOptions options;
  options.device_bytes = 4_GiB;
  options.node_bytes = node_bytes;
  options.policy.split = policy;
  options.cache_bytes = 2_GiB;
  options.dirty_bytes_max = 2_GiB;
  MemoryDevice device(options.device_bytes);
  const auto rig = TreeRig::format(device, options);
  Inserter inserter(*rig);
  Random random(1);
  mix.run(inserter, random, items);
  const auto value = [&](Counter counter) {
    return static_cast<unsigned long long>(rig->counters.value(counter));
  };
  const auto fill = rig->tree->resident_leaf_fill_permille();
  if (!rig->checkpointer->checkpoint()) std::abort();
  const auto packed = rig->tree->resident_leaf_fill_permille();
  std::printf(
      "| %-22s | %-11s | %5.1f | %5.1f | %7llu | %7llu | %7llu | %8.1f | %7llu |\n", mix.name,
      policy_name, static_cast<double>(fill) / 10, static_cast<double>(packed) / 10,
      value(Counter::kSplits), value(Counter::kAppendSplits), value(Counter::kPushes),
      static_cast<double>(value(Counter::kPushedBytes)) / static_cast<double>(inserter.inserted()),
      value(Counter::kRepacks));
}

}  // namespace
}  // namespace cordwood::test

int main(int argc, char** argv) {
  using namespace cordwood;
  using namespace cordwood::test;
  const std::uint64_t items = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 400'000;
  const auto node_bytes =
      static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : kDefaultNodeBytes);
  std::printf("%llu items, nodes of %u bytes\n\n", static_cast<unsigned long long>(items),
              node_bytes);
  std::printf(
      "| mix | policy | fill %% | after checkpoint %% | splits | append splits | pushes | "
      "pushed B per insert | repacks |\n|---|---|---|---|---|---|---|---|---|\n");
  const Mix mixes[] = {{"dir_index append", index_append},
                       {"dir_hash random", hash_random},
                       {"512 interleaved appends", interleaved_appends},
                       {"creates, one directory", one_directory},
                       {"10 dirs + inline files", ten_directories}};
  for (const Mix& mix : mixes) {
    measure(mix, SplitPolicy::kNeverPush, "never_push", node_bytes, items);
    measure(mix, SplitPolicy::kPushFull, "push_full", node_bytes, items);
    measure(mix, SplitPolicy::kPushNeeded, "push_needed", node_bytes, items);
    measure(mix, SplitPolicy::kAdaptive, "adaptive", node_bytes, items);
  }
}
