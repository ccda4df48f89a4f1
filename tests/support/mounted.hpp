#pragma once

#include <memory>
#include <set>
#include <string>

#include "device/memory_device.hpp"
#include "support/catch.hpp"
#include "support/findings.hpp"
#include "support/numbered.hpp"
#include "support/test_clock.hpp"
#include "support/workload_config.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

/// A fresh volume in memory for tests that call it themselves. Ends with a check.
class Mounted {
 public:
  explicit Mounted(const WorkloadConfig& config = {})
      : config_(config), device_(config.device_bytes) {
    REQUIRE(Volume::format(device_, config_.format_options(&clock_)));
    open();
  }
  ~Mounted() { volume_.reset(); }

  Volume& operator*() { return *volume_; }
  Volume* operator->() { return volume_.get(); }
  [[nodiscard]] TestClock& clock() { return clock_; }
  [[nodiscard]] MemoryDevice& device() { return device_; }

  void reopen() {
    REQUIRE(volume_->close());
    volume_.reset();
    require_clean();
    open();
  }
  /// @param orphans_max  inodes that are open without a name.
  void sync_and_check(std::uint64_t orphans_max = 0) {
    REQUIRE(volume_->checkpoint());
    require_clean(orphans_max);
  }
  void require_clean(std::uint64_t orphans_max = 0) {
    const std::string found = findings(device_, orphans_max);
    INFO(found);
    REQUIRE(found.empty());
  }

  InodeNumber file(std::string_view name, InodeNumber parent = kRootInode) {
    const auto made = volume_->create(parent, name, {});
    REQUIRE(made);
    return made->inode;
  }
  InodeNumber directory(std::string_view name, InodeNumber parent = kRootInode) {
    const auto made = volume_->make_directory(parent, name, {});
    REQUIRE(made);
    return made->inode;
  }
  void put(InodeNumber inode, std::string_view text) {
    const auto count = volume_->write(inode, 0, as_bytes(text));
    REQUIRE(count);
    REQUIRE(*count == text.size());
  }
  std::string get(InodeNumber inode) {
    std::string text(1000, '\0');
    const auto count =
        volume_->read(inode, 0, {reinterpret_cast<std::byte*>(text.data()), text.size()});
    REQUIRE(count);
    text.resize(*count);
    return text;
  }
  /// Without "." and "..".
  std::multiset<std::string> names(InodeNumber directory) {
    std::multiset<std::string> found;
    REQUIRE(volume_->read_directory(directory, 0, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") found.insert(std::string(entry.name));
      return true;
    }));
    return found;
  }

 private:
  void open() {
    auto volume = Volume::open(device_, config_.mount_options(&clock_));
    REQUIRE(volume);
    volume_ = *std::move(volume);
  }

  WorkloadConfig config_;
  TestClock clock_;
  MemoryDevice device_;
  std::unique_ptr<Volume> volume_;
};

/// The error of a call, for comparing; kNone-like 0 when it succeeded.
template <class T>
Errc error_of(const Result<T>& result) {
  return result ? Errc{} : result.error().code;
}

}  // namespace cordwood::test
