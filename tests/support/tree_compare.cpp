#include "support/tree_compare.hpp"

#include <map>
#include <vector>

#include "volume/engine.hpp"

namespace cordwood::test {

namespace {

struct WideOrder {
  bool operator()(Key a, Key b) const { return a < b; }
};
using Items = std::map<Key, std::vector<std::byte>, WideOrder>;

Items items_of(Volume& volume) {
  Items items;
  const auto done = volume.engine().tree->scan(kMinKey, kMaxKey, [&](Key key, ConstBytes data) {
    items.emplace(key, std::vector<std::byte>(data.begin(), data.end()));
    return true;
  });
  if (!done) items.clear();
  return items;
}

std::string name_of(Key key) {
  return "inode " + std::to_string(key.inode().value) + " type " +
         std::to_string(static_cast<int>(key.type())) + " lo " + std::to_string(key.lo);
}

}  // namespace

std::string compare_trees(Volume& expected, Volume& actual) {
  const Items left = items_of(expected);
  const Items right = items_of(actual);
  for (const auto& [key, data] : left) {
    const auto found = right.find(key);
    if (found == right.end()) return name_of(key) + " is missing";
    if (found->second != data) {
      std::size_t at = 0;
      while (at < data.size() && at < found->second.size() && data[at] == found->second[at]) ++at;
      return name_of(key) + " has another content from byte " + std::to_string(at) + " of " +
             std::to_string(data.size()) + " on";
    }
  }
  for (const auto& [key, data] : right) {
    if (left.count(key) == 0) return name_of(key) + " should not be there";
  }
  if (expected.usage().inodes != actual.usage().inodes) return "another number of inodes";
  return {};
}

}  // namespace cordwood::test
