#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "format/key.hpp"
#include "format/node.hpp"

namespace cordwood {

/// An inner node on a plain span of bytes (8-byte aligned). Child i covers keys from key(i) up to
/// key(i + 1); key(0) equals the node's low fence, and the last child ends at its high fence.
///
/// Readers may be optimistic: they look at a node that a writer is changing, and recheck its
/// version before they act on what they saw. So every word here is loaded with acquire and stored
/// with release order (free on x86; keeps ThreadSanitizer and the language's memory model content),
/// and no read leaves node_bytes whatever the words hold: counts are clamped to the capacity.
class Inner {
 public:
  Inner(std::byte* data, std::uint32_t node_bytes) : data_(data), node_bytes_(node_bytes) {}

  void initialize(std::uint64_t volume_id, std::uint64_t node_id, std::uint8_t level);

  [[nodiscard]] std::uint32_t capacity() const { return inner_capacity(node_bytes_); }
  /// Children; clamped to capacity().
  [[nodiscard]] std::uint32_t count() const {
    const auto stored = static_cast<std::uint32_t>(word(offsetof(NodeHeader, count)));
    return stored < capacity() ? stored : capacity();
  }
  [[nodiscard]] std::uint8_t level() const { return static_cast<std::uint8_t>(word(0) >> 32); }
  [[nodiscard]] bool full() const { return count() == capacity(); }
  /// @pre index < capacity(), here and in child()
  [[nodiscard]] Key key(std::uint32_t index) const {
    const std::uint64_t lo = word(key_at(index));
    return {word(key_at(index) + 8), lo};
  }
  [[nodiscard]] NodeId child(std::uint32_t index) const { return {word(child_at(index))}; }
  /// The child whose range holds `key`: the last with key(i) <= key; 0 if none (torn or out of
  /// range).
  [[nodiscard]] std::uint32_t find(Key key) const;
  /// Index of this child, or count() when it is not here.
  [[nodiscard]] std::uint32_t index_of(NodeId child) const;

  /// Inserts a child at `index`; those from there on move right. @pre not full
  void insert(std::uint32_t index, Key key, NodeId child);
  void erase(std::uint32_t index);
  void set_key(std::uint32_t index, Key key);
  /// Moves the children [first, count) to the (empty or following) node's front; keys as they are.
  void move_to_front_of(Inner& target, std::uint32_t first);
  /// Moves the children [0, last) to the (preceding) node's back.
  void move_to_back_of(Inner& target, std::uint32_t last);

  /// Writes the on-disk form: unused keys and children zero.
  void pack(std::byte* target) const;
  /// Copies a verified on-disk node in, word by word.
  void load(const std::byte* source);

  /// Checks bytes from a device: count 1..capacity, keys strictly increasing, key(0) == low, the
  /// rest below high, child ids in 1..id_limit-1 and not the node itself, level as expected, unused
  /// space zero. Plain reads: nobody else sees these bytes yet.
  /// @errors corrupt with Place::kNode
  [[nodiscard]] static Result<void> verify(const std::byte* data, std::uint32_t node_bytes, Key low,
                                           Key high, std::uint8_t level, std::uint64_t id_limit);

 private:
  /// A node is accessed by whole words of 8 bytes; the bytes themselves have no other type.
  using Word [[gnu::may_alias]] = std::uint64_t;

  [[nodiscard]] std::uint64_t word(std::uint32_t at) const {
    return __atomic_load_n(reinterpret_cast<const Word*>(data_ + at), __ATOMIC_ACQUIRE);
  }
  void store_word(std::uint32_t at, std::uint64_t value) {
    __atomic_store_n(reinterpret_cast<Word*>(data_ + at), value, __ATOMIC_RELEASE);
  }
  /// memmove inside the node, word by word. All in bytes, multiples of 8.
  void move_words(std::uint32_t target, std::uint32_t source, std::uint32_t bytes);

  [[nodiscard]] static constexpr std::uint32_t key_at(std::uint32_t index) {
    return kNodeHeaderBytes + kKeyBytes * index;
  }
  [[nodiscard]] std::uint32_t child_at(std::uint32_t index) const {
    return key_at(capacity()) + 8 * index;
  }
  void set_count(std::uint32_t count);
  void store_key(std::uint32_t index, Key key);
  void copy_children(Inner& target, std::uint32_t target_index, std::uint32_t first,
                     std::uint32_t number) const;

  std::byte* data_;
  std::uint32_t node_bytes_;
};

/// Checks the header of a node read from a device: magic, volume, id, level. @errors corrupt
[[nodiscard]] Result<void> verify_node_header(const std::byte* data, std::uint64_t volume_id,
                                              NodeId id, std::uint8_t level);

}  // namespace cordwood
