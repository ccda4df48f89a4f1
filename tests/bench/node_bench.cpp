// How long the node operations take, in nanoseconds, at each node size: a table on standard output.
// Searches are fenced off from each other, as the latches do in the tree; "hot" leaves fit the
// second-level cache, "cold" ones (64 MiB of them, visited at random) do not.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "node/inner.hpp"
#include "node/leaf.hpp"

namespace cordwood {
namespace {

constexpr std::uint32_t kNodeSizes[] = {4096, 16384, 65536};
constexpr std::size_t kHotBytes = 256_KiB;
constexpr std::size_t kColdBytes = 64_MiB;
constexpr std::size_t kRepetitions = 7;
constexpr std::size_t kQueries = 1 << 14;

struct Item {
  Key key;
  std::uint32_t bytes = 0;
};
struct Mix {
  const char* name;
  bool shuffled;
  /// The item number `index` of a leaf.
  std::function<Item(std::uint32_t index, Random&)> make;
};

const std::vector<Mix>& mixes() {
  static const std::vector<Mix> all = {
      {"directory hashes", true,
       [](std::uint32_t, Random& random) {
         return Item{make_key({100}, ItemType::kDirHash, random.next()), 8};
       }},
      {"directory indexes", false,
       [](std::uint32_t index, Random&) {
         return Item{make_key({100}, ItemType::kDirIndex, 2 + index), 40};
       }},
      {"indexes with gaps", false,
       [](std::uint32_t index, Random& random) {
         return Item{make_key({100}, ItemType::kDirIndex, 40 * index + random.below(40)), 40};
       }},
      {"inodes and extents", false,
       [](std::uint32_t index, Random&) {
         const InodeNumber inode{1000 + index / 3};
         if (index % 3 == 0) return Item{make_key(inode, ItemType::kInode), 96};
         if (index % 3 == 1) return Item{make_key(inode, ItemType::kInodeRef, 100), 8};
         return Item{make_key(inode, ItemType::kExtent), 48};
       }},
  };
  return all;
}

/// Time that this thread has run: other processes on the machine count less than on a clock.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Shortest time of several runs, divided by `operations`.
double best_ns(std::size_t operations, const std::function<void()>& run) {
  double best = 1e18;
  for (std::size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    const double start = thread_ns();
    run();
    best = std::min(best, thread_ns() - start);
  }
  return best / static_cast<double>(operations);
}

/// Keeps a result alive, and the next query from starting before this one is known.
void fence(std::uint64_t result) {
  asm volatile("" : : "r"(result) : "memory");
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#endif
}

/// Leaves side by side, 85 % full; all look like one of the first few.
class Leaves {
 public:
  Leaves(std::uint32_t node_bytes, std::size_t total_bytes, const Mix& mix)
      : node_bytes_(node_bytes), words_(total_bytes / 8) {
    const std::size_t distinct = std::min<std::size_t>(count(), 32);
    for (std::size_t i = 0; i < count(); ++i) {
      if (i < distinct) {
        fill(i, mix);
      } else {
        std::copy_n(data(i % distinct), node_bytes, data(i));
      }
    }
  }

  [[nodiscard]] std::size_t count() const { return words_.size() * 8 / node_bytes_; }
  [[nodiscard]] Leaf leaf(std::size_t index) { return {data(index), node_bytes_}; }
  [[nodiscard]] Key any_key(std::size_t index, Random& random) {
    return leaf(index).key(static_cast<std::uint32_t>(random.below(leaf(index).count())));
  }

 private:
  std::byte* data(std::size_t index) {
    return reinterpret_cast<std::byte*>(words_.data()) + index * node_bytes_;
  }
  void fill(std::size_t index, const Mix& mix) {
    std::vector<Item> items;
    for (std::uint32_t bytes = 0; bytes < node_bytes_ * 85 / 100;) {
      items.push_back(mix.make(static_cast<std::uint32_t>(items.size()), random_));
      bytes += item_footprint(items.back().bytes);
    }
    if (mix.shuffled) shuffle(items);
    Leaf leaf = this->leaf(index);
    leaf.initialize(1, index + 1);
    for (const Item& item : items) {
      const SlotPosition at = leaf.find(item.key);
      if (!at.found) static_cast<void>(leaf.insert_space(at.slot, item.key, item.bytes));
    }
  }

  void shuffle(std::vector<Item>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[random_.below(left)]);
    }
  }

  std::uint32_t node_bytes_;
  std::vector<std::uint64_t> words_;
  Random random_{7};
};

double find_ns(std::uint32_t node_bytes, std::size_t total_bytes, const Mix& mix) {
  Leaves leaves(node_bytes, total_bytes, mix);
  Random random(11);
  std::vector<std::pair<std::size_t, Key>> queries(kQueries);
  for (auto& [index, key] : queries) {
    index = random.below(leaves.count());
    key = leaves.any_key(index, random);
    if (random.one_in(2)) ++key.lo;
  }
  return best_ns(kQueries, [&] {
    for (const auto& [index, key] : queries) fence(leaves.leaf(index).find(key).slot);
  });
}

/// Erases an item and inserts it again, at random places of a leaf; one of the two is counted.
double insert_erase_ns(std::uint32_t node_bytes, const Mix& mix) {
  Leaves leaves(node_bytes, node_bytes, mix);
  std::vector<std::byte> scratch(node_bytes);
  Random random(13);
  std::vector<Key> keys(kQueries);
  for (Key& key : keys) key = leaves.any_key(0, random);
  Leaf leaf = leaves.leaf(0);
  return best_ns(2 * kQueries, [&] {
    for (const Key key : keys) {
      const std::uint32_t slot = leaf.find(key).slot;
      const auto bytes = static_cast<std::uint32_t>(leaf.item(slot).size());
      leaf.erase(slot);
      if (leaf.contiguous_free_bytes() < item_footprint(bytes)) leaf.compact(scratch.data());
      const SlotPosition at = leaf.find(key);
      fence(leaf.insert_space(at.slot, key, bytes).size());
    }
  });
}

double append_ns(std::uint32_t node_bytes) {
  std::vector<std::uint64_t> words(node_bytes / 8);
  ChunkBitmap chunks;
  Leaf leaf(reinterpret_cast<std::byte*>(words.data()), node_bytes, &chunks);
  leaf.initialize(1, 1);
  return best_ns(kQueries, [&] {
    for (std::uint64_t index = 0; index < kQueries; ++index) {
      const Key key = make_key({100}, ItemType::kDirIndex, index);
      if (leaf.contiguous_free_bytes() < item_footprint(40)) leaf.erase_range(0, leaf.count());
      fence(leaf.insert_space(leaf.find(key).slot, key, 40).size());
    }
  });
}

double pack_ns(std::uint32_t node_bytes, const Mix& mix) {
  Leaves leaves(node_bytes, node_bytes, mix);
  std::vector<std::byte> target(node_bytes);
  return best_ns(64, [&] {
    for (int i = 0; i < 64; ++i) {
      leaves.leaf(0).pack(target.data());
      fence(static_cast<std::uint64_t>(target[0]));
    }
  });
}

/// Moves half of a leaf to an empty one and back.
double move_half_ns(std::uint32_t node_bytes, const Mix& mix) {
  Leaves leaves(node_bytes, 2 * node_bytes, mix);
  std::vector<std::byte> scratch(node_bytes);
  Leaf left = leaves.leaf(0);
  Leaf right = leaves.leaf(1);
  right.erase_range(0, right.count());
  return best_ns(128, [&] {
    for (int i = 0; i < 64; ++i) {
      left.move_to_front_of(right, left.middle_slot(), scratch.data());
      right.move_to_back_of(left, right.count(), scratch.data());
      fence(left.count());
    }
  });
}

double inner_find_ns(std::uint32_t node_bytes, std::size_t total_bytes) {
  std::vector<std::uint64_t> words(total_bytes / 8);
  const std::size_t nodes = total_bytes / node_bytes;
  const auto node = [&](std::size_t index) {
    return Inner(reinterpret_cast<std::byte*>(words.data()) + index * node_bytes, node_bytes);
  };
  Random random(17);
  for (std::size_t i = 0; i < nodes; ++i) {
    Inner inner = node(i);
    inner.initialize(1, i + 1, 1);
    const std::uint64_t step = ~std::uint64_t{0} / inner.capacity();
    for (std::uint32_t child = 0; child < inner.capacity() * 85 / 100; ++child) {
      const Key key = make_key({100}, ItemType::kDirHash, child * step + random.below(step));
      inner.insert(child, child == 0 ? kMinKey : key, {child + 1});
    }
  }
  std::vector<std::pair<std::size_t, Key>> queries(kQueries);
  for (auto& [index, key] : queries) {
    index = random.below(nodes);
    key = make_key({100}, ItemType::kDirHash, random.next());
  }
  return best_ns(kQueries, [&] {
    for (const auto& [index, key] : queries) fence(node(index).child(node(index).find(key)).value);
  });
}

void print_row(const char* what, const char* mix, const std::function<double(std::uint32_t)>& run) {
  std::printf("%-18s %-20s", what, mix);
  for (const std::uint32_t node_bytes : kNodeSizes) std::printf(" %9.1f", run(node_bytes));
  std::printf("\n");
  std::fflush(stdout);
}

void print_table() {
  std::printf("%-18s %-20s", "ns per operation", "items");
  for (const std::uint32_t node_bytes : kNodeSizes) std::printf(" %9u", node_bytes);
  std::printf("\n");
  for (const Mix& mix : mixes()) {
    print_row("find, hot", mix.name, [&](auto bytes) { return find_ns(bytes, kHotBytes, mix); });
    print_row("find, cold", mix.name, [&](auto bytes) { return find_ns(bytes, kColdBytes, mix); });
  }
  for (const Mix& mix : mixes()) {
    print_row("insert or erase", mix.name, [&](auto bytes) { return insert_erase_ns(bytes, mix); });
    print_row("pack", mix.name, [&](auto bytes) { return pack_ns(bytes, mix); });
    print_row("move half", mix.name, [&](auto bytes) { return move_half_ns(bytes, mix); });
  }
  print_row("append", "directory indexes", append_ns);
  print_row("inner find, hot", "", [](auto bytes) { return inner_find_ns(bytes, kHotBytes); });
  print_row("inner find, cold", "", [](auto bytes) { return inner_find_ns(bytes, kColdBytes); });
}

}  // namespace
}  // namespace cordwood

int main() { cordwood::print_table(); }
