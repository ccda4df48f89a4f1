#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cordwood {

/// A directory of its own, removed with all its content at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string text = (std::filesystem::temp_directory_path() / "cordwood-XXXXXX").string();
    if (::mkdtemp(text.data()) == nullptr) std::abort();
    path_ = text;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  /// The path of a name in it.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Runs a shell command; true if it exits with 0.
inline bool run_command(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// A file system that is mounted as long as this lives.
class Mount {
 public:
  /// @param arguments  of mount(8), without the directory.
  Mount(const std::string& arguments, const std::string& directory) : directory_(directory) {
    std::filesystem::create_directory(directory);
    mounted_ = run_command("mount " + arguments + " " + directory);
  }
  ~Mount() { unmount(); }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  /// False if something in it is still open.
  bool unmount() {
    if (mounted_) mounted_ = !run_command("umount " + directory_);
    return !mounted_;
  }

 private:
  std::string directory_;
  bool mounted_ = false;
};

}  // namespace cordwood
