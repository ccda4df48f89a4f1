#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/ids.hpp"
#include "format/items.hpp"
#include "frame/latch.hpp"
#include "fs/inode_numbers.hpp"
#include "tree/btree.hpp"

namespace cordwood {

/// An inode in memory. While it is loaded its item here is the truth: files are written through to the
/// tree by each operation, directories only when a freeze asks (InodeTable::write_changed).
///
/// Locks, in order: rename mutex < directories, parents before children < other inodes, by number <
/// the gate. Nobody waits for an inode lock inside the gate.
class Inode {
 public:
  explicit Inode(InodeNumber inode_number) : number(inode_number) {}
  Inode(const Inode&) = delete;
  Inode& operator=(const Inode&) = delete;

  const InodeNumber number;
  std::shared_mutex lock;

  /// The item as it was a moment ago. @threads any, without the lock.
  [[nodiscard]] InodeItem snapshot() const {
    const std::shared_lock<VersionLatch> hold(latch_);
    return item_;
  }
  /// @pre the lock is held (shared is enough), or the gate is closed
  [[nodiscard]] const InodeItem& item() const { return item_; }
  /// @threads any: an inode keeps its type.
  [[nodiscard]] bool is_directory() const { return directory_; }
  /// Makes a changed item visible.
  /// @pre exclusive lock, inside an operation: so a freeze sees all of an operation or nothing
  void publish(const InodeItem& item) {
    const std::lock_guard<VersionLatch> hold(latch_);
    item_ = item;
  }

  /// The epochs of its last change, and of the last one to more than its attributes; if that was before
  /// it was loaded, the last in which anything changed. @threads any
  [[nodiscard]] Epoch last_change() const { return {last_change_.load(std::memory_order_acquire)}; }
  [[nodiscard]] Epoch last_data_change() const {
    return {last_data_change_.load(std::memory_order_acquire)};
  }

  /// Whether it has neither a name nor an open handle, or never was: nobody may use it any more.
  [[nodiscard]] bool gone() const { return gone_.load(std::memory_order_acquire); }
  /// @pre exclusive lock
  void set_gone() { gone_.store(true, std::memory_order_release); }

  /// Directories: the one that holds its name; itself for the root. Changes with the exclusive lock.
  [[nodiscard]] InodeNumber parent() const { return {parent_.load(std::memory_order_acquire)}; }
  void set_parent(InodeNumber parent) { parent_.store(parent.value, std::memory_order_release); }

  // With the exclusive lock:
  std::uint32_t opens = 0;  ///< handles that keep it alive
  bool truncating =
      false;          ///< extents behind the end are still to be dropped; an orphan item says so
  NumberRun numbers;  ///< directories: for new children
  Hint own_hint;      ///< where its own item is
  Hint index_hint;    ///< directories: where the next entry goes
  Hint child_hint;    ///< directories: where the next child's items go

  // Inside an operation, or with the gate closed:
  bool changed = false;  ///< directories: on the list of those to be written by the next freeze

 private:
  friend class InodeRef;
  friend class InodeTable;

  mutable VersionLatch latch_;  ///< of item_, for readers without the lock
  InodeItem item_;
  bool directory_ = false;
  std::atomic<std::uint64_t> last_change_{0};
  std::atomic<std::uint64_t> last_data_change_{0};
  std::atomic<bool> gone_{false};
  std::atomic<std::uint64_t> parent_{0};

  std::mutex load_mutex_;
  std::atomic<bool> loaded_{false};
  std::atomic<std::uint32_t> references_{0};  ///< grows only under the mutex of the table's shard
  std::atomic<bool> used_{true};              ///< since the table last looked for some to drop
};

/// Keeps an Inode in memory. Move-only.
class InodeRef {
 public:
  InodeRef() = default;
  InodeRef(InodeRef&& other) noexcept : inode_(std::exchange(other.inode_, nullptr)) {}
  InodeRef& operator=(InodeRef&& other) noexcept {
    if (this != &other) {
      release();
      inode_ = std::exchange(other.inode_, nullptr);
    }
    return *this;
  }
  ~InodeRef() { release(); }

  [[nodiscard]] explicit operator bool() const { return inode_ != nullptr; }
  Inode* operator->() const { return inode_; }
  Inode& operator*() const { return *inode_; }

 private:
  friend class InodeTable;
  /// Takes over a reference that was already counted.
  explicit InodeRef(Inode* inode) : inode_(inode) {}
  void release() {
    // The table may drop it at once, so this is the last look at it.
    if (inode_ != nullptr) inode_->references_.fetch_sub(1, std::memory_order_release);
    inode_ = nullptr;
  }
  Inode* inode_ = nullptr;
};

/// An inode with its lock held, exclusive or shared.
template <class Lock>
struct LockedInode {
  InodeRef ref;
  Lock lock;  ///< declared after the reference: released before it

  Inode* operator->() const { return &*ref; }
  Inode& operator*() const { return *ref; }
};
using ExclusiveInode = LockedInode<std::unique_lock<std::shared_mutex>>;
using SharedInode = LockedInode<std::shared_lock<std::shared_mutex>>;

}  // namespace cordwood
