#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "space/bitmap.hpp"
#include "space/group_window.hpp"

namespace cordwood {

/// Which of the two sets of lists a generation uses: generations alternate.
enum class Parity : std::uint8_t { kEven, kOdd };

[[nodiscard]] constexpr Parity other(Parity parity) {
  return parity == Parity::kEven ? Parity::kOdd : Parity::kEven;
}

/// A bitmap that mostly has no set bit: its page exists only when needed.
class SparseBits {
 public:
  void set(BitRun run);
  void clear(BitRun run);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] const BitmapWords& words() const;
  void reset() {
    page_.reset();
    count_ = 0;
  }
  /// Gives the page back if no bit is set.
  void trim() {
    if (count_ == 0) page_.reset();
  }

 private:
  std::unique_ptr<BitmapWords> page_;
  std::uint32_t count_ = 0;
};

/// One allocation group in memory: who has which block, as bitmaps. No I/O.
///
/// Every block of the window is in exactly one state:
///
///     state         busy  in flight  pending   the bitmap of the frozen generation shows
///     free            -       -         -      free
///     in flight       x       x         -      free
///     used            x       -         -      used; free if committed after the freeze ("late")
///     pending-free    x       -         x      free if freed before the freeze, or late; else used
///
/// @threads the caller holds mutex() for every call, except the constructor and window().
class Group {
 public:
  Group(const GroupWindow& window, const BitmapWords& busy);

  [[nodiscard]] std::mutex& mutex() { return mutex_; }
  [[nodiscard]] const GroupWindow& window() const { return window_; }

  [[nodiscard]] const BitmapWords& busy() const { return busy_; }
  [[nodiscard]] std::uint32_t free_blocks() const { return free_blocks_; }
  [[nodiscard]] std::uint32_t pending_blocks() const;
  [[nodiscard]] const SparseBits& pending(Parity parity) const { return pending_[index(parity)]; }
  /// Whether the generation's bitmap differs from that of the one before.
  [[nodiscard]] bool dirty(Parity parity) const { return dirty_[index(parity)]; }

  /// free -> in flight.
  void place(BitRun run);
  [[nodiscard]] bool in_flight(BitRun run) const { return all_set(in_flight_.words(), run); }
  /// in flight -> used.
  /// @param late  a frozen generation that must not show it may still be written.
  void commit(BitRun run, Parity parity, bool late);
  /// in flight -> free.
  void cancel(BitRun run);
  /// Whether the generation may drop the run: all of it is used, and known to that generation.
  [[nodiscard]] bool may_drop(BitRun run, bool frozen) const;
  /// used -> pending-free.
  void drop(BitRun run, Parity parity);

  /// The bitmap that the medium shall have for the frozen generation.
  [[nodiscard]] BitmapWords frozen_image(Parity frozen) const;
  /// pending-free of the frozen generation -> free; forgets what was kept for its sake.
  /// @return  blocks that became free.
  std::uint32_t release(Parity frozen);

 private:
  static constexpr std::size_t index(Parity parity) { return static_cast<std::size_t>(parity); }

  std::mutex mutex_;
  const GroupWindow window_;
  BitmapWords busy_;
  std::uint32_t free_blocks_ = 0;
  std::array<bool, 2> dirty_{};
  SparseBits in_flight_;
  SparseBits late_;
  std::array<SparseBits, 2> pending_;
};

}  // namespace cordwood
