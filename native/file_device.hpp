#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "device/block_device.hpp"
#include "io/file_open.hpp"
#include "io/io_queue.hpp"

namespace cordwood {

/// How a file is read and written. The defaults are the fastest that the system allows.
struct FileOptions {
  enum class IoPath : std::uint8_t {
    kAuto,      ///< io_uring; system calls where the kernel refuses it or would make it slow, or
                ///< where the environment says CORDWOOD_IO_PATH=syscalls
    kUring,     ///< io_uring or an error
    kSyscalls,  ///< pread and pwrite
  };
  IoPath io_path = IoPath::kAuto;
  FileCaching caching = FileCaching::kDirect;
  /// A regular file whose direct transfers would need larger sectors is buffered instead, so that a
  /// volume of small blocks can live on a disk of 4096-byte sectors. 0: any sector will do.
  std::uint32_t sector_bytes_max = 0;
};

/// A regular file or block device of the host.
///
/// It is locked from open to destruction: one writer, or any number of readers. A process that goes
/// on after fork() opens it after that: a ring does not survive in a child.
///
/// Once a flush or FUA write has failed, all later flushes and FUA writes fail: the host may have
/// dropped what it could not write, and would report the next flush as good.
/// @threads any. Each runs its batch in a ring of its own as long as there are no more than kQueues.
class FileDevice final : public BlockDevice {
 public:
  /// Opens what exists.
  /// @errors kNoEntry, kIsDirectory, kNotSupported (a FIFO, a socket, a character device),
  ///         kAccess, kReadOnly, kInvalid (a size of zero), kBusy (in use), with a sentence each.
  [[nodiscard]] static Result<std::unique_ptr<FileDevice>> open(const std::string& path,
                                                                FileOpenMode mode,
                                                                const FileOptions& options = {});

  enum class Content : std::uint8_t { kKeep, kDiscard };
  /// Makes a regular file of a given size, or resizes one, and opens it for writing.
  /// @param bytes    a multiple of 512. The file is sparse: space is taken by writes.
  /// @param content  kKeep refuses to shorten a file that exists; kDiscard empties it.
  /// @errors kExists; kNoSpace; kFileTooBig; else as open().
  [[nodiscard]] static Result<std::unique_ptr<FileDevice>> create(const std::string& path,
                                                                  std::uint64_t bytes,
                                                                  Content content = Content::kKeep,
                                                                  const FileOptions& options = {});

  [[nodiscard]] DeviceGeometry geometry() const override;
  /// For example "disk.img, 67108864 bytes, io_uring, O_DIRECT".
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] Result<void> submit(std::span<const IoRequest> requests) override;
  [[nodiscard]] Result<void> flush() override;
  [[nodiscard]] Result<void> discard(std::uint64_t offset, std::uint64_t bytes) override;

 private:
  static constexpr std::size_t kQueues = 16;

  struct Lane {
    std::mutex mutex;
    std::unique_ptr<IoQueue> queue;  ///< made at first use
  };

  FileDevice(std::string path, FileOpenMode mode, OpenedFile file);

  [[nodiscard]] Result<void> choose_io_path(FileOptions::IoPath wanted);
  [[nodiscard]] std::unique_lock<std::mutex> take_lane(Lane*& lane);
  [[nodiscard]] std::unique_ptr<IoQueue> make_queue() const;
  [[nodiscard]] Result<void> check_writable(std::span<const IoRequest> requests) const;
  [[nodiscard]] Result<void> check_sound() const;

  const std::string path_;
  const bool read_only_;
  const OpenedFile file_;
  const IoTarget target_;
  bool uses_uring_ = false;
  std::atomic<bool> discards_{true};
  std::atomic<bool> flush_failed_{false};
  std::array<Lane, kQueues> lanes_;
};

}  // namespace cordwood
