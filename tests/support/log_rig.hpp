#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/memory_device.hpp"
#include "format/log.hpp"
#include "support/catch.hpp"
#include "support/findings.hpp"
#include "support/test_clock.hpp"
#include "volume/engine.hpp"
#include "volume/volume.hpp"

namespace cordwood::test {

struct LogShape {
  std::uint64_t device_bytes = 16_MiB;
  std::uint32_t node_bytes = 16384;
  std::uint32_t block_bytes = 4096;
  std::uint64_t log_bytes = 0;
  MemoryDeviceOptions device;
};

/// A volume on a memory device that can be dropped as a crash does it.
class LogRig {
 public:
  explicit LogRig(const LogShape& shape = {})
      : shape_(shape), device_(shape.device_bytes, shape.device) {
    FormatOptions format;
    format.node_bytes = shape.node_bytes;
    format.block_bytes = shape.block_bytes;
    format.log_bytes = shape.log_bytes;
    format.uuid = {4, 2};
    format.clock = &clock_;
    REQUIRE(Volume::format(device_, format));
    open();
    // The first fsync of a mount would be one.
    REQUIRE(volume_->checkpoint());
  }

  Volume* operator->() { return volume_.get(); }
  Volume& operator*() { return *volume_; }
  MemoryDevice& device() { return device_; }
  TestClock& clock() { return clock_; }

  [[nodiscard]] MountOptions options() {
    MountOptions options;
    options.clock = &clock_;
    return options;
  }
  void open() {
    auto opened = Volume::open(device_, options());
    REQUIRE(opened);
    volume_ = *std::move(opened);
  }
  InodeNumber file(const std::string& name, InodeNumber parent = kRootInode) {
    clock_.advance(1000);
    const auto made = volume_->create(parent, name, {});
    REQUIRE(made);
    return made->inode;
  }
  void fsync(InodeNumber inode) { REQUIRE(volume_->fsync(inode)); }
  [[nodiscard]] std::uint64_t count(Counter counter) const {
    return volume_->statistics().counters[static_cast<std::size_t>(counter)];
  }
  /// Where the next record will be, and the byte on the device there.
  [[nodiscard]] LogPosition head() { return volume_->engine().log->position(); }
  [[nodiscard]] std::uint64_t byte_of(LogPosition position) {
    const Layout& layout = volume_->engine().layout;
    return layout.byte_of(layout.log.first + position.block);
  }
  [[nodiscard]] SparseImage image() const { return device_.snapshot(); }

 private:
  LogShape shape_;
  TestClock clock_;
  MemoryDevice device_;
  std::unique_ptr<Volume> volume_;
};

/// Opens what a crash has left.
struct AfterCrash {
  explicit AfterCrash(const SparseImage& image, const MountOptions& options = {})
      : device(image), volume(Volume::open(device, options)) {}
  [[nodiscard]] bool has(const std::string& name) {
    return (*volume)->lookup(kRootInode, name).has_value();
  }
  void close_and_check() {
    REQUIRE((*volume)->close());
    volume = make_error(Errc::kInvalid, "closed");
    const std::string found = findings(device);
    INFO(found);
    CHECK(found.empty());
  }
  MemoryDevice device;
  Result<std::unique_ptr<Volume>> volume;
};

}  // namespace cordwood::test
