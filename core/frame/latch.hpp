#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace cordwood {

/// A latch with a version, in one word:
///
///     63 .. 16   15 .. 1   0
///     version    sharers   exclusive
///
/// The version grows at each release of exclusive, so an optimistic reader that saw the same version
/// before and after, and no exclusive holder, has read a consistent state. Versions never go back:
/// 48 bits last for 2.8e14 changes of one frame.
/// @threads any. Without threads the atomics compile to plain loads and stores.
class VersionLatch {
 public:
  /// Waits until nobody holds it exclusive; returns the version to validate later.
  [[nodiscard]] std::uint64_t begin_optimistic() const {
    for (std::uint32_t spins = 0;; ++spins) {
      const std::uint64_t word = word_.load(std::memory_order_acquire);
      if ((word & kExclusive) == 0) return word >> kVersionShift;
      wait(spins);
    }
  }
  /// Whether nothing changed since begin_optimistic() returned `version`. Data must have been loaded
  /// with acquire order in between.
  [[nodiscard]] bool validate(std::uint64_t version) const {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    return (word & kExclusive) == 0 && word >> kVersionShift == version;
  }

  [[nodiscard]] bool try_lock() {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    return (word & (kExclusive | kSharers)) == 0 &&
           word_.compare_exchange_strong(word, word | kExclusive, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void lock() {
    for (std::uint32_t spins = 0; !try_lock(); ++spins) wait(spins);
  }
  void unlock() {
    // Nobody else changes the word while exclusive is set, so plain arithmetic is enough.
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    word_.store(((word >> kVersionShift) + 1) << kVersionShift, std::memory_order_release);
  }

  [[nodiscard]] bool try_lock_shared() {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & kExclusive) == 0 && (word & kSharers) != kSharers) {
      if (word_.compare_exchange_weak(word, word + kOneSharer, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void lock_shared() {
    for (std::uint32_t spins = 0; !try_lock_shared(); ++spins) wait(spins);
  }
  void unlock_shared() { word_.fetch_sub(kOneSharer, std::memory_order_release); }

 private:
  static constexpr std::uint64_t kExclusive = 1;
  static constexpr std::uint64_t kOneSharer = 2;
  static constexpr std::uint64_t kSharers = 0xfffe;
  static constexpr int kVersionShift = 16;

  /// Latches are held for a microsecond or less; a holder that lost its CPU needs ours.
  static void wait(std::uint32_t spins) {
    if (spins < 64) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      std::this_thread::yield();
    }
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace cordwood
