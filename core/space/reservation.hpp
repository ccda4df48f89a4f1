#pragma once

#include <cstdint>
#include <utility>

#include "base/check.hpp"
#include "space/space.hpp"

namespace cordwood {

/// Blocks promised to one operation; what it does not use goes back when it ends. Move-only.
class Reservation {
 public:
  Reservation() = default;
  /// Takes over `blocks` that Space::try_reserve has granted.
  Reservation(Space& space, std::uint64_t blocks) : space_(&space), blocks_(blocks) {}
  Reservation(Reservation&& other) noexcept
      : space_(std::exchange(other.space_, nullptr)), blocks_(std::exchange(other.blocks_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    if (this != &other) {
      release();
      space_ = std::exchange(other.space_, nullptr);
      blocks_ = std::exchange(other.blocks_, 0);
    }
    return *this;
  }
  ~Reservation() { release(); }

  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  /// Moves `blocks` of the promise to the caller, who now answers for them. False if too few are left.
  [[nodiscard]] bool take(std::uint64_t blocks) {
    if (blocks > blocks_) return false;
    blocks_ -= blocks;
    return true;
  }
  /// take() for a change that is under way and cannot stop: what an estimate was short of comes from
  /// the emergency reserve.
  void take_surely(std::uint64_t blocks) {
    if (take(blocks)) return;
    CW_CHECK(space_ != nullptr && space_->try_reserve(blocks - blocks_, ReserveClass::kEmergency));
    blocks_ = 0;
  }
  /// The opposite: the caller hands a promise back.
  void add(std::uint64_t blocks) { blocks_ += blocks; }
  void release() {
    if (space_ != nullptr && blocks_ != 0) space_->unreserve(blocks_);
    blocks_ = 0;
  }

 private:
  Space* space_ = nullptr;
  std::uint64_t blocks_ = 0;
};

}  // namespace cordwood
