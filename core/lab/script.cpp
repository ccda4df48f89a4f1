#include "lab/script.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "base/checksum.hpp"
#include "base/random.hpp"

namespace cordwood {

namespace {

constexpr std::uint64_t kMaxBytes = 64_MiB;

Error bad_line() { return make_error(Errc::kInvalid, "no such line of a script"); }

/// The words of a line.
class Words {
 public:
  explicit Words(std::string_view line) {
    while (!line.empty()) {
      const std::size_t space = line.find(' ');
      if (space != 0) words_.push_back(line.substr(0, space));
      line = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
    }
  }
  [[nodiscard]] bool is(std::string_view verb, std::size_t arguments) const {
    return words_.size() == arguments + 1 && words_.front() == verb;
  }
  [[nodiscard]] std::string_view operator[](std::size_t at) const { return words_[at]; }
  [[nodiscard]] Result<std::uint64_t> number(std::size_t at, int base = 10) const {
    const std::string_view word = words_[at];
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size()) return bad_line();
    return value;
  }

 private:
  std::vector<std::string_view> words_;
};

struct Place {
  InodeNumber parent;
  std::string name;
};

Result<Place> place(Volume& volume, std::string_view path) {
  auto found = TRY(volume.resolve_parent(path));
  return Place{found.first, std::move(found.second)};
}

Result<InodeNumber> inode(Volume& volume, std::string_view path) {
  return TRY(volume.resolve(path)).inode;
}

template <class T>
Result<void> ended(const Result<T>& result) {
  return result ? Result<void>{} : Result<void>(result.error());
}

/// Bytes that tell which line wrote them.
Result<std::vector<std::byte>> content(std::string_view line, std::uint64_t bytes) {
  if (bytes > kMaxBytes) return bad_line();
  Random random(checksum(as_bytes(line), 0));
  std::vector<std::byte> data(bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.below(255) + 1);
  return data;
}

Result<void> make(Volume& volume, const Words& words, FileType type) {
  const Place at = TRY(place(volume, words[1]));
  if (type == FileType::kDirectory) return ended(volume.make_directory(at.parent, at.name, {}));
  NewInode what;
  what.type = type;
  return ended(volume.create(at.parent, at.name, what));
}

Result<void> rename(Volume& volume, const Words& words, RenameMode mode) {
  const Place from = TRY(place(volume, words[1]));
  const Place to = TRY(place(volume, words[2]));
  return volume.rename(from.parent, from.name, to.parent, to.name, mode);
}

/// Lines that change names; nothing if it is none of them.
std::optional<Result<void>> run_names(Volume& volume, const Words& words) {
  if (words.is("create", 1)) return make(volume, words, FileType::kRegular);
  if (words.is("mkdir", 1)) return make(volume, words, FileType::kDirectory);
  if (words.is("mkfifo", 1)) return make(volume, words, FileType::kFifo);
  if (words.is("rename", 2)) return rename(volume, words, RenameMode::kReplace);
  if (words.is("exchange", 2)) return rename(volume, words, RenameMode::kExchange);
  if (words.is("symlink", 2)) {
    return [&]() -> Result<void> {
      const Place at = TRY(place(volume, words[1]));
      const std::uint64_t bytes = TRY(words.number(2));
      if (bytes > kMaxBytes) return bad_line();
      return ended(volume.make_symlink(at.parent, at.name, std::string(bytes, 't'), {}));
    }();
  }
  if (words.is("link", 2)) {
    return [&]() -> Result<void> {
      const Place at = TRY(place(volume, words[2]));
      return ended(volume.link(TRY(inode(volume, words[1])), at.parent, at.name));
    }();
  }
  if (words.is("unlink", 1) || words.is("rmdir", 1)) {
    return [&]() -> Result<void> {
      const Place at = TRY(place(volume, words[1]));
      return words.is("unlink", 1) ? volume.unlink(at.parent, at.name)
                                   : volume.remove_directory(at.parent, at.name);
    }();
  }
  return std::nullopt;
}

/// Lines that change an inode.
Result<void> run_inode(Volume& volume, const Words& words, std::string_view line) {
  if (words.is("write", 3)) {
    const auto data = TRY(content(line, TRY(words.number(3))));
    return ended(volume.write(TRY(inode(volume, words[1])), TRY(words.number(2)), data));
  }
  if (words.is("append", 2)) {
    const auto data = TRY(content(line, TRY(words.number(2))));
    return ended(volume.append(TRY(inode(volume, words[1])), data));
  }
  if (words.is("setxattr", 3)) {
    const auto value = TRY(content(line, TRY(words.number(3))));
    return volume.set_xattr(TRY(inode(volume, words[1])), words[2], value);
  }
  if (words.is("rmxattr", 2)) {
    return volume.remove_xattr(TRY(inode(volume, words[1])), words[2]);
  }
  AttributeChanges changes;
  if (words.is("truncate", 2)) {
    changes.size = TRY(words.number(2));
  } else if (words.is("chmod", 2)) {
    changes.permissions = static_cast<std::uint32_t>(TRY(words.number(2, 8)));
  } else {
    return bad_line();
  }
  return ended(volume.set_attributes(TRY(inode(volume, words[1])), changes));
}

}  // namespace

Result<void> run_script_line(Volume& volume, std::string_view line) {
  const Words words(line);
  if (words.is("sync", 0)) return volume.sync();
  if (words.is("checkpoint", 0)) return volume.checkpoint();
  if (words.is("fsync", 1)) return volume.fsync(TRY(inode(volume, words[1])));
  if (words.is("fdatasync", 1)) return volume.fdatasync(TRY(inode(volume, words[1])));
  if (const auto done = run_names(volume, words)) return *done;
  return run_inode(volume, words, line);
}

Result<void> run_script_line(CrashRun& run, std::string_view line) {
  const Words words(line);
  CrashRun::Promise promise;
  if (words.is("sync", 0) || words.is("checkpoint", 0)) promise = CrashRun::Promise::all();
  if (words.is("fsync", 1)) {
    promise = CrashRun::Promise::inode(TRY(inode(run.volume(), words[1])));
  } else if (words.is("fdatasync", 1)) {
    promise = CrashRun::Promise::data(TRY(inode(run.volume(), words[1])));
  }
  return run.step(line, promise, [&](Volume& volume) { return run_script_line(volume, line); });
}

}  // namespace cordwood
