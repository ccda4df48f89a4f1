#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/memory_device.hpp"
#include "lab/crash_run.hpp"
#include "support/catch.hpp"
#include "support/runner.hpp"

// Bounded exhaustive: every sequence of two operations on a small tree, after each of them an fsync of
// each object (or none), and every state that a power cut may then leave.
// CORDWOOD_EXHAUSTIVE_STATES says how many states to try, spread evenly over all sequences (0: all of
// them), CORDWOOD_EXHAUSTIVE_FIRST at which sequence to begin; CORDWOOD_EXHAUSTIVE_PART=i/n takes
// every n-th sequence, so that n processes share the work.

namespace cordwood::test {

namespace {

#ifdef CORDWOOD_SLOW_BUILD
constexpr std::uint64_t kStates = 2'000;
#else
constexpr std::uint64_t kStates = 20'000;
#endif

using Promise = CrashRun::Promise;

struct Step {
  std::string label;
  std::function<Result<void>(Volume&)> act;
};

/// An fsync, and what it promises.
struct Persistence {
  std::string label;
  std::string path;  ///< of the object
  Promise::Kind promise;
  std::function<Result<void>(Volume&, InodeNumber)> act;
};

template <class T>
Result<void> ended(const Result<T>& result) {
  return result ? Result<void>{} : Result<void>(result.error());
}

Result<InodeNumber> find(Volume& volume, std::string_view path) {
  return TRY(volume.resolve(path)).inode;
}

using Place = std::pair<InodeNumber, std::string>;

std::vector<Step> operations() {
  std::vector<Step> steps;
  const auto add = [&](std::string label, std::function<Result<void>(Volume&)> act) {
    steps.push_back({std::move(label), std::move(act)});
  };
  for (const char* path : {"/A/new", "/B/bar", "/new"}) {
    add(std::string("create ") + path, [path](Volume& volume) -> Result<void> {
      const Place at = TRY(volume.resolve_parent(path));
      return ended(volume.create(at.first, at.second, {}));
    });
  }
  for (const char* path : {"/A/new", "/new"}) {
    add(std::string("mkdir ") + path, [path](Volume& volume) -> Result<void> {
      const Place at = TRY(volume.resolve_parent(path));
      return ended(volume.make_directory(at.first, at.second, {}));
    });
  }
  const auto add_symlink = [&](const char* path, std::size_t bytes) {
    add("symlink " + std::string(path) + " to " + std::to_string(bytes) + " bytes",
        [path, bytes](Volume& volume) -> Result<void> {
          const Place at = TRY(volume.resolve_parent(path));
          return ended(volume.make_symlink(at.first, at.second, std::string(bytes, 't'), {}));
        });
  };
  add_symlink("/A/new", 20);
  add_symlink("/B/bar", 4000);
  const auto add_write = [&](const char* path, std::uint64_t offset, std::size_t bytes) {
    add("write " + std::string(path) + " at " + std::to_string(offset) + " bytes " +
            std::to_string(bytes),
        [path, offset, bytes](Volume& volume) -> Result<void> {
          const std::vector<std::byte> data(bytes, static_cast<std::byte>(offset + bytes));
          return ended(volume.write(TRY(find(volume, path)), offset, data));
        });
  };
  add_write("/A/foo", 6000, 5000);
  add_write("/A/foo", 100, 3000);
  add_write("/A/foo", 20'000, 10);
  add_write("/A/bar", 0, 60);
  add_write("/A/bar", 30, 5000);
  add_write("/B/bar", 0, 4096);
  const auto add_truncate = [&](const char* path, std::uint64_t size) {
    add("truncate " + std::string(path) + " to " + std::to_string(size),
        [path, size](Volume& volume) -> Result<void> {
          AttributeChanges changes;
          changes.size = size;
          return ended(volume.set_attributes(TRY(find(volume, path)), changes));
        });
  };
  add_truncate("/A/foo", 0);
  add_truncate("/A/foo", 4500);
  add_truncate("/A/foo", 30'000);
  add_truncate("/A/bar", 10);
  const auto add_link = [&](const char* path, const char* target) {
    add("link " + std::string(path) + " " + target, [path, target](Volume& volume) -> Result<void> {
      const Place at = TRY(volume.resolve_parent(target));
      return ended(volume.link(TRY(find(volume, path)), at.first, at.second));
    });
  };
  add_link("/A/foo", "/B/bar");
  add_link("/A/bar", "/A/new");
  add_link("/A/foo", "/new");
  for (const char* path : {"/A/foo", "/A/bar", "/B/bar"}) {
    add(std::string("unlink ") + path, [path](Volume& volume) -> Result<void> {
      const Place at = TRY(volume.resolve_parent(path));
      return volume.unlink(at.first, at.second);
    });
  }
  for (const char* path : {"/A/C", "/B"}) {
    add(std::string("rmdir ") + path, [path](Volume& volume) -> Result<void> {
      const Place at = TRY(volume.resolve_parent(path));
      return volume.remove_directory(at.first, at.second);
    });
  }
  const auto add_rename = [&](const char* path, const char* target, RenameMode mode) {
    add((mode == RenameMode::kExchange ? "exchange " : "rename ") + std::string(path) + " " +
            target,
        [path, target, mode](Volume& volume) -> Result<void> {
          const Place from = TRY(volume.resolve_parent(path));
          const Place to = TRY(volume.resolve_parent(target));
          return volume.rename(from.first, from.second, to.first, to.second, mode);
        });
  };
  add_rename("/A/foo", "/A/bar", RenameMode::kReplace);
  add_rename("/A/foo", "/B/bar", RenameMode::kReplace);
  add_rename("/A/bar", "/A/new", RenameMode::kReplace);
  add_rename("/A", "/new", RenameMode::kReplace);
  add_rename("/A/C", "/B/bar", RenameMode::kReplace);
  add_rename("/B", "/A/C", RenameMode::kReplace);
  add_rename("/A/foo", "/A/bar", RenameMode::kExchange);
  add_rename("/A/foo", "/B", RenameMode::kExchange);
  const auto add_xattr = [&](const char* path, std::size_t bytes) {
    add("setxattr " + std::string(path) + " " + std::to_string(bytes) + " bytes",
        [path, bytes](Volume& volume) -> Result<void> {
          const std::vector<std::byte> value(bytes, std::byte{0x78});
          return volume.set_xattr(TRY(find(volume, path)), "user.x", value);
        });
  };
  add_xattr("/A/foo", 10);
  add_xattr("/A/bar", 5000);
  add("rmxattr /A/bar", [](Volume& volume) -> Result<void> {
    return volume.remove_xattr(TRY(find(volume, "/A/bar")), "user.old");
  });
  add("chmod /A/foo", [](Volume& volume) -> Result<void> {
    AttributeChanges changes;
    changes.permissions = 0600;
    return ended(volume.set_attributes(TRY(find(volume, "/A/foo")), changes));
  });
  return steps;
}

std::vector<Persistence> persistences() {
  std::vector<Persistence> steps;
  for (const char* path :
       {"/", "/A", "/A/C", "/B", "/A/foo", "/A/bar", "/A/new", "/B/bar", "/new"}) {
    steps.push_back({std::string("fsync ") + path, path, Promise::Kind::kInode,
                     [](Volume& volume, InodeNumber inode) { return volume.fsync(inode); }});
  }
  for (const char* path : {"/A/foo", "/A/bar"}) {
    steps.push_back({std::string("fdatasync ") + path, path, Promise::Kind::kData,
                     [](Volume& volume, InodeNumber inode) { return volume.fdatasync(inode); }});
  }
  steps.push_back({"sync", "/", Promise::Kind::kAll,
                   [](Volume& volume, InodeNumber) { return volume.sync(); }});
  return steps;
}

struct Shape {
  std::uint32_t node_bytes;
  std::uint32_t block_bytes;
  bool volatile_cache;
  bool fua;
};
constexpr Shape kShapes[] = {
    {4096, 512, true, false}, {4096, 4096, true, true},  {16384, 4096, true, false},
    {65536, 512, true, true}, {4096, 512, false, false},
};

/// The tree on which all sequences run, on a device of a volume that is mounted.
SparseImage base_image(const Shape& shape) {
  MemoryDevice device(shape.node_bytes == 65536 ? 8_MiB : 4_MiB);
  ManualClock clock({1'700'000'000, 0});
  FormatOptions format;
  format.node_bytes = shape.node_bytes;
  format.block_bytes = shape.block_bytes;
  format.uuid = {7, 7, 7};
  format.clock = &clock;
  REQUIRE(Volume::format(device, format));
  MountOptions mount;
  mount.clock = &clock;
  auto volume = *Volume::open(device, mount);
  const InodeNumber a = volume->make_directory(kRootInode, "A", {})->inode;
  REQUIRE(volume->make_directory(a, "C", {}));
  REQUIRE(volume->make_directory(kRootInode, "B", {}));
  const InodeNumber foo = volume->create(a, "foo", {})->inode;
  const std::vector<std::byte> data(6000, std::byte{0x66});
  REQUIRE(volume->write(foo, 0, data));
  const InodeNumber bar = volume->create(a, "bar", {})->inode;
  REQUIRE(volume->write(bar, 0, as_bytes("fifty bytes that live in the leaf, as it happens..")));
  REQUIRE(volume->set_xattr(bar, "user.old", as_bytes("value")));
  REQUIRE(volume->checkpoint());
  return device.snapshot();
}

CrashRunOptions options_of(const Shape& shape, std::uint64_t sequence) {
  CrashRunOptions options;
  options.device.sector_bytes = 512;
  options.device.volatile_cache = shape.volatile_cache;
  options.device.fua = shape.fua;
  options.device.discard = false;
  options.policy.all_subsets_up_to = 4;
  options.policy.random_subsets = 4;
  options.policy.family_max = 6;
  options.policy.torn_states_max = 4;
  options.policy.garbage = sequence % 2 == 1;
  options.policy.seed = sequence;
  options.mount.cache_bytes = 4_MiB;
  options.cut_again_every = 61;
  return options;
}

/// All sequences, each with a number.
class Sequences {
 public:
  Sequences() : operations_(operations()), persistences_(persistences()) {
    for (const Shape& shape : kShapes) images_.push_back(base_image(shape));
  }
  /// The first operation may go without an fsync.
  [[nodiscard]] std::uint64_t count() const {
    return operations_.size() * (persistences_.size() + 1) * operations_.size() *
           persistences_.size();
  }
  /// Records and tries a sequence. Returns what is wrong.
  std::string run(std::uint64_t number, std::uint64_t& states) {
    const std::size_t shape = number % std::size(kShapes);
    std::uint64_t rest = number;
    const auto pick = [&rest](std::size_t of) {
      const std::size_t picked = rest % of;
      rest /= of;
      return picked;
    };
    const std::size_t first = pick(operations_.size());
    const std::size_t persist_first = pick(persistences_.size() + 1);
    const std::size_t second = pick(operations_.size());
    const std::size_t persist_second = pick(persistences_.size());

    CrashRun run(images_[shape], options_of(kShapes[shape], number));
    if (const auto opened = run.open(); !opened) return "open: " + opened.error().message();
    // Operations that are refused are a part of the sequence too: they change nothing.
    (void)run.step(operations_[first].label, Promise::none(), operations_[first].act);
    if (persist_first < persistences_.size()) persist(run, persistences_[persist_first]);
    (void)run.step(operations_[second].label, Promise::none(), operations_[second].act);
    persist(run, persistences_[persist_second]);
    if (const auto failure = run.volume().failure()) return failure->message();
    std::string wrong;
    states += run.try_states([&](const CrashRun::Verdict& verdict) {
      if (!verdict.kept) wrong = "state " + verdict.id + ": " + verdict.what;
      return verdict.kept;
    });
    if (wrong.empty()) return {};
    return "sequence " + std::to_string(number) + ", " + wrong + "\n" + run.script();
  }

 private:
  static void persist(CrashRun& run, const Persistence& how) {
    const auto inode = find(run.volume(), how.path);
    if (!inode) return;
    (void)run.step(how.label, {how.promise, *inode},
                   [&](Volume& volume) { return how.act(volume, *inode); });
  }

  std::vector<Step> operations_;
  std::vector<Persistence> persistences_;
  std::vector<SparseImage> images_;
};

}  // namespace

TEST_CASE("crash: two operations with every fsync, all states", "[crash][exhaustive]") {
  const std::uint64_t wanted = environment_number("CORDWOOD_EXHAUSTIVE_STATES", kStates);
  std::uint64_t part = 0;
  std::uint64_t parts = 1;
  if (const char* text = std::getenv("CORDWOOD_EXHAUSTIVE_PART")) {
    REQUIRE(std::sscanf(text, "%lu/%lu", &part, &parts) == 2);
  }
  Sequences sequences;
  // Steps through all numbers in a spread order; a prime does not divide their count.
  constexpr std::uint64_t kPrime = 1'000'003;
  const std::uint64_t count = sequences.count();
  std::uint64_t states = 0;
  std::uint64_t tried = 0;
  for (std::uint64_t i = environment_number("CORDWOOD_EXHAUSTIVE_FIRST", 0) + part; i < count;
       i += parts) {
    if (wanted != 0 && states >= wanted) break;
    const std::uint64_t number = i * kPrime % count;
    const std::string wrong = sequences.run(number, states);
    INFO(wrong);
    REQUIRE(wrong.empty());
    ++tried;
  }
  std::printf("exhaustive: %llu states of %llu sequences (of %llu)\n",
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(tried),
              static_cast<unsigned long long>(count));
}

}  // namespace cordwood::test
