#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/compare.hpp"
#include "support/model_fs.hpp"
#include "support/operation.hpp"
#include "support/test_clock.hpp"
#include "support/workload_config.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

/// Does operations to a volume and to the model, and compares what they answer.
///
/// It reports; it asserts nothing, so that failing sequences can be made smaller.
class Executor {
 public:
  /// @param device  as large as the config says; outlives this object.
  Executor(BlockDevice& device, const WorkloadConfig& config);

  // Each returns what went wrong, in words; nothing when all is as it should be.

  /// Formats and opens; cuts up the free space if the config says so.
  [[nodiscard]] std::string start();
  /// Opens a device that holds the state of a model.
  [[nodiscard]] std::string resume(const ModelFs& model);
  [[nodiscard]] std::string apply(const Operation& operation);
  /// Makes everything durable and checks it.
  [[nodiscard]] std::string check();
  /// Drops handles and volume, whatever state they are in.
  void abandon();
  /// Closes handles and volume.
  [[nodiscard]] std::string finish();

  [[nodiscard]] const ModelFs& model() const { return model_; }
  [[nodiscard]] Volume& volume() { return *volume_; }
  [[nodiscard]] bool is_open() const { return volume_ != nullptr; }
  [[nodiscard]] const WorkloadConfig& config() const { return config_; }
  [[nodiscard]] TestClock& clock() { return clock_; }
  /// What a handle slot holds; 0 for nothing.
  [[nodiscard]] InodeNumber handle(std::uint32_t slot) const { return handles_[slot].inode(); }
  /// Operations that the volume refused for want of space although the model could do them.
  [[nodiscard]] std::uint64_t out_of_space() const { return out_of_space_; }
  /// From now on calls may also end with kIo, kFailed or kCorrupt.
  void expect_damage() { tolerance_ = Tolerance::kDamage; }
  /// Calls that ended so.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// What the volumes that were closed so far have counted.
  [[nodiscard]] const CounterValues& counters() const { return counters_; }

 private:
  struct Name {
    InodeNumber parent;
    std::string name;
  };

  void run(const Operation& operation);
  void fail(std::string what);
  /// Compares how a call ended with how it may end. True: it succeeded, so the model follows.
  template <class T>
  bool succeeded(const Allowed& allowed, const Result<T>& result);
  bool judge(const Allowed& allowed, const std::optional<Error>& error);
  /// Whether the state that the volume or device is in excuses an error.
  [[nodiscard]] bool excused(const Error& error);
  [[nodiscard]] bool may_need_space(const Operation& operation) const;

  /// What a path names. None if it names nothing; then the volume must say the same.
  [[nodiscard]] std::optional<InodeNumber> target(std::string_view path);
  [[nodiscard]] std::optional<Name> name_of(std::string_view path);
  /// Compares an inode's attributes when it still exists.
  void expect_attributes(InodeNumber inode);
  void expect(std::string difference);
  template <class Compare>
  void compare(Compare act);

  void create(const Operation& operation);
  void make_directory(const Operation& operation);
  void symlink(const Operation& operation);
  void link(const Operation& operation);
  void unlink(const Operation& operation);
  void remove_directory(const Operation& operation);
  void rename(const Operation& operation);
  void lookup(const Operation& operation);
  void resolve(const Operation& operation);
  void read_directory(const Operation& operation);
  void read_link(const Operation& operation);
  void stale(const Operation& operation);
  void fsync(const Operation& operation);

  void write(const Operation& operation);
  void read(const Operation& operation);
  void seek(const Operation& operation);
  void change(const Operation& operation);
  void set_xattr(const Operation& operation);
  void get_xattr(const Operation& operation);
  void remove_xattr(const Operation& operation);

  void open(const Operation& operation);
  void close(const Operation& operation);
  void remount(const Operation& operation);
  [[nodiscard]] Result<void> close_volume();
  [[nodiscard]] std::string fragment();
  void note_if_gone(InodeNumber inode);

  BlockDevice& device_;
  WorkloadConfig config_;
  TestClock clock_;
  ModelFs model_;
  std::unique_ptr<Volume> volume_;
  std::array<InodeHandle, kHandleSlots> handles_;
  std::deque<InodeNumber> gone_;
  std::string problem_;
  std::uint64_t steps_ = 0;
  bool may_need_space_ = false;
  Tolerance tolerance_ = Tolerance::kNone;
  std::uint64_t out_of_space_ = 0;
  std::uint64_t refused_ = 0;
  CounterValues counters_{};
};

template <class Compare>
void Executor::compare(Compare act) {
  Comparer comparer(model_, *volume_, tolerance_);
  expect(act(comparer));
  refused_ += comparer.refused();
}

template <class T>
bool Executor::succeeded(const Allowed& allowed, const Result<T>& result) {
  return judge(allowed, result ? std::nullopt : std::optional<Error>(result.error()));
}

}  // namespace cordwood::test
