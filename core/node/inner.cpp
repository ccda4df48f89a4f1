#include "node/inner.hpp"

#include <cstring>

#include "base/check.hpp"

namespace cordwood {

std::uint32_t Inner::find(Key key) const {
  std::uint32_t low = 0;         // every key before it is <= key
  std::uint32_t high = count();  // every key from here on is larger
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    // Both next probes, as in Leaf::find().
    __builtin_prefetch(data_ + key_at((low + middle) / 2));
    __builtin_prefetch(data_ + key_at((middle + 1 + high) / 2));
    if (this->key(middle) <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? 0 : low - 1;
}

std::uint32_t Inner::index_of(NodeId child) const {
  const std::uint32_t total = count();
  for (std::uint32_t index = 0; index < total; ++index) {
    if (this->child(index) == child) return index;
  }
  return total;
}

void Inner::initialize(std::uint64_t volume_id, std::uint64_t node_id, std::uint8_t level) {
  store_word(0, kNodeMagic | std::uint64_t{level} << 32);
  store_word(offsetof(NodeHeader, volume_id), volume_id);
  store_word(offsetof(NodeHeader, node_id), node_id);
  for (std::uint32_t at = offsetof(NodeHeader, generation); at < node_bytes_; at += 8) {
    store_word(at, 0);
  }
}

void Inner::move_words(std::uint32_t target, std::uint32_t source, std::uint32_t bytes) {
  if (target < source) {
    for (std::uint32_t at = 0; at < bytes; at += 8) store_word(target + at, word(source + at));
  } else if (target > source) {
    for (std::uint32_t at = bytes; at > 0; at -= 8) {
      store_word(target + at - 8, word(source + at - 8));
    }
  }
}

void Inner::set_count(std::uint32_t count) {
  // heap_top shares the word; it is 0 in inner nodes.
  store_word(offsetof(NodeHeader, count), count);
}

void Inner::store_key(std::uint32_t index, Key key) {
  store_word(key_at(index), key.lo);
  store_word(key_at(index) + 8, key.hi);
}

void Inner::insert(std::uint32_t index, Key key, NodeId child) {
  const std::uint32_t total = count();
  CW_CHECK(total < capacity());
  CW_CHECK(index <= total);
  move_words(key_at(index + 1), key_at(index), key_at(total) - key_at(index));
  move_words(child_at(index + 1), child_at(index), child_at(total) - child_at(index));
  store_key(index, key);
  store_word(child_at(index), child.value);
  set_count(total + 1);
}

void Inner::erase(std::uint32_t index) {
  const std::uint32_t total = count();
  CW_CHECK(index < total);
  move_words(key_at(index), key_at(index + 1), key_at(total) - key_at(index + 1));
  move_words(child_at(index), child_at(index + 1), child_at(total) - child_at(index + 1));
  set_count(total - 1);
}

void Inner::set_key(std::uint32_t index, Key key) {
  CW_CHECK(index < count());
  store_key(index, key);
}

void Inner::copy_children(Inner& target, std::uint32_t target_index, std::uint32_t first,
                          std::uint32_t number) const {
  for (std::uint32_t i = 0; i < number; ++i) {
    target.store_key(target_index + i, key(first + i));
    target.store_word(target.child_at(target_index + i), child(first + i).value);
  }
}

void Inner::move_to_front_of(Inner& target, std::uint32_t first) {
  const std::uint32_t total = count();
  const std::uint32_t there = target.count();
  CW_CHECK(first <= total);
  const std::uint32_t number = total - first;
  CW_CHECK(there + number <= target.capacity());
  target.move_words(key_at(number), key_at(0), key_at(there) - key_at(0));
  target.move_words(target.child_at(number), target.child_at(0), 8 * there);
  copy_children(target, 0, first, number);
  target.set_count(there + number);
  set_count(first);
}

void Inner::move_to_back_of(Inner& target, std::uint32_t last) {
  const std::uint32_t total = count();
  const std::uint32_t there = target.count();
  CW_CHECK(last <= total);
  CW_CHECK(there + last <= target.capacity());
  copy_children(target, there, 0, last);
  target.set_count(there + last);
  move_words(key_at(0), key_at(last), key_at(total) - key_at(last));
  move_words(child_at(0), child_at(last), child_at(total) - child_at(last));
  set_count(total - last);
}

}  // namespace cordwood
