#include <algorithm>
#include <optional>

#include "fs/filesystem.hpp"
#include "fs/inode_item.hpp"
#include "fs/name_check.hpp"

namespace cordwood {

/// All about one rename. With exchange, what the new name leads to moves the other way.
struct Filesystem::Move {
  RenameMode mode = RenameMode::kReplace;
  std::string_view name;
  std::string_view new_name;

  std::unique_lock<std::mutex> topology;  ///< held when the two directories differ
  ExclusiveInode from_lock;
  ExclusiveInode to_lock;  ///< empty when both are the same
  Inode* from = nullptr;
  Inode* to = nullptr;

  DirectoryName source;
  std::optional<DirectoryName> target;  ///< what the new name leads to before
  ExclusiveInode source_lock;
  ExclusiveInode target_lock;

  Farewell farewell;  ///< of the target, when it is replaced

  [[nodiscard]] bool same_directory() const { return from == to; }
  [[nodiscard]] bool exchanges() const { return mode == RenameMode::kExchange; }
  [[nodiscard]] bool replaces() const { return target.has_value() && !exchanges(); }
};

Result<void> Filesystem::rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                                std::string_view new_name, RenameMode mode) {
  TRY(check_name(name));
  TRY(check_name(new_name));
  Move move;
  move.mode = mode;
  move.name = name;
  move.new_name = new_name;
  TRY(lock_parents(move, parent, new_parent));
  TRY(find_entries(move));
  // Two names of one inode: both stay, as POSIX has it.
  if (move.target && move.target->child == move.source.child) return {};
  TRY(check_loops(move));
  TRY(lock_children(move));
  TRY(check_replaced(move));
  TRY(run_move(move));
  if (!move.replaces() || move.farewell.kind != Farewell::Kind::kOrphaned) return {};
  move.source_lock.lock.unlock();
  if (move.to_lock.ref) move.to_lock.lock.unlock();
  move.from_lock.lock.unlock();
  if (move.topology) move.topology.unlock();
  return finish_farewell(*move.target_lock);
}

/// Locks both directories, the one above the other first; else by number. Only the holder of the
/// rename mutex changes what is above what.
Result<void> Filesystem::lock_parents(Move& move, InodeNumber parent, InodeNumber new_parent) {
  if (parent == new_parent) {
    move.from_lock = TRY(inodes_.get_exclusive(parent));
    move.from = move.to = &*move.from_lock;
  } else {
    move.topology = std::unique_lock<std::mutex>(rename_mutex_);
    const bool to_first = TRY(is_inside(parent, new_parent)) ||
                          (new_parent < parent && !TRY(is_inside(new_parent, parent)));
    if (to_first) move.to_lock = TRY(inodes_.get_exclusive(new_parent));
    move.from_lock = TRY(inodes_.get_exclusive(parent));
    if (!to_first) move.to_lock = TRY(inodes_.get_exclusive(new_parent));
    move.from = &*move.from_lock;
    move.to = &*move.to_lock;
  }
  if (!move.from->is_directory() || !move.to->is_directory()) {
    return make_error(Errc::kNotDirectory, "no directory");
  }
  if (move.to->item().links == 0) return make_error(Errc::kNoEntry, "the directory was removed");
  return {};
}

/// Whether `directory` is `ancestor` or lies below it. @pre rename mutex held
Result<bool> Filesystem::is_inside(InodeNumber directory, InodeNumber ancestor) {
  InodeNumber at = directory;
  InodeNumber marked = at;  // a damaged volume may have a circle: then this one comes again
  for (std::uint64_t steps = 1;; ++steps) {
    if (at == ancestor) return true;
    if (at == kRootInode) return false;
    const InodeRef here = TRY(inodes_.get(at));
    if (!here->is_directory()) return make_error(Errc::kNotDirectory, "no directory");
    at = here->parent();
    if (at == marked) return corrupt(Place::kInode, at.value, "a directory lies inside itself");
    if ((steps & (steps - 1)) == 0) marked = at;
  }
}

Result<void> Filesystem::find_entries(Move& move) {
  const auto source = TRY(names_.find(move.from->number, move.name));
  if (!source) return make_error(Errc::kNoEntry, "there is no such name");
  move.source = *source;
  move.target = TRY(names_.find(move.to->number, move.new_name));
  if (move.target && move.mode == RenameMode::kNoReplace) {
    return make_error(Errc::kExists, "the new name exists already");
  }
  if (!move.target && move.exchanges()) {
    return make_error(Errc::kNoEntry, "there is nothing to exchange with");
  }
  return {};
}

/// Nothing may end up inside itself; and no inode lock of an ancestor may be asked for, since those of
/// its descendants are held.
Result<void> Filesystem::check_loops(const Move& move) {
  const bool source_is_directory = move.source.type == FileType::kDirectory;
  const bool target_is_directory = move.target && move.target->type == FileType::kDirectory;
  if (!move.same_directory()) {
    if (source_is_directory && TRY(is_inside(move.to->number, move.source.child))) {
      return make_error(Errc::kInvalid, "a directory cannot move into itself");
    }
    if (target_is_directory && TRY(is_inside(move.from->number, move.target->child))) {
      if (move.exchanges()) {
        return make_error(Errc::kInvalid, "a directory cannot move into itself");
      }
      return source_is_directory ? make_error(Errc::kNotEmpty, "the directory holds what is moved")
                                 : make_error(Errc::kIsDirectory, "a directory is in the way");
    }
  }
  if (!move.replaces() || source_is_directory == target_is_directory) return {};
  return target_is_directory ? make_error(Errc::kIsDirectory, "a file cannot replace a directory")
                             : make_error(Errc::kNotDirectory, "a directory cannot replace a file");
}

Result<void> Filesystem::lock_children(Move& move) {
  const auto lock_source = [&]() -> Result<void> {
    move.source_lock = TRY(lock_child(*move.from, move.source));
    return {};
  };
  const auto lock_target = [&]() -> Result<void> {
    if (move.target) move.target_lock = TRY(lock_child(*move.to, *move.target));
    return {};
  };
  // Directories before files, then by number.
  const auto rank = [](const DirectoryName& entry) {
    return std::pair(entry.type != FileType::kDirectory, entry.child);
  };
  const bool target_first = move.target && rank(*move.target) < rank(move.source);
  if (target_first) TRY(lock_target());
  TRY(lock_source());
  if (!target_first) TRY(lock_target());
  return {};
}

Result<void> Filesystem::check_replaced(Move& move) {
  if (!move.replaces()) return {};
  if (move.target_lock->is_directory() && !TRY(names_.empty(move.target->child))) {
    return make_error(Errc::kNotEmpty, "the directory in the way still has entries");
  }
  move.farewell = TRY(orphans_.plan(*move.target_lock));
  return {};
}

Result<void> Filesystem::run_move(Move& move) {
  // Both names, each taken away and entered again; both inodes and directories.
  const std::uint64_t items = 6 + (move.target ? 6 : 0) + 4 + move.farewell.items();
  const OperationCost cost{items, 0, ReserveClass::kNormal};
  Operation operation = TRY(context_.checkpointer.begin(cost));
  Reservation& reservation = operation.reservation;
  TRY(inodes_.prepare(reservation, *move.from));
  TRY(inodes_.prepare(reservation, *move.to));
  TRY(inodes_.prepare(reservation, *move.source_lock));
  TRY(names_.prefault(move.from->number, move.name, move.source));
  const std::uint64_t index = move.to->item().next_dir_index;
  TRY(names_.prefault_entry(move.to->number, index, &move.to->index_hint));
  TRY(names_.prefault_reference(move.source.child, move.to->number, index));
  if (move.target) {
    if (!move.replaces() || move.farewell.kind != Farewell::Kind::kGoes) {
      TRY(inodes_.prepare(reservation, *move.target_lock));
    }
    TRY(names_.prefault(move.to->number, move.new_name, *move.target));
  } else {
    // The new name is free, but the list of its hash may be full: then nothing has changed yet.
    TRY(names_.claim(reservation, move.to->number, move.new_name, index));
  }
  return apply(operation, [&] { return apply_move(operation, move); });
}

Result<void> Filesystem::apply_move(Operation& operation, Move& move) {
  Reservation& reservation = operation.reservation;
  const Timestamp now = context_.clock.now();
  InodeItem from_item = move.from->item();
  InodeItem to_copy = move.to->item();
  InodeItem& to_item = move.same_directory() ? from_item : to_copy;

  // Takes a name from a directory, or enters one there.
  const auto leave = [&](const Inode& directory, InodeItem& item, std::string_view name,
                         const DirectoryName& entry) -> Result<void> {
    item.size -= std::min<std::uint64_t>(item.size, name.size());
    if (entry.type == FileType::kDirectory) --item.links;
    return names_.remove(reservation, directory.number, name, entry.index);
  };
  const auto arrive = [&](Inode& directory, InodeItem& item, std::string_view name,
                          const Inode& left, const DirectoryName& old, Inode& child,
                          bool claimed) -> Result<void> {
    const DirectoryName entry{item.next_dir_index++, old.child, old.type};
    item.size += name.size();
    if (entry.type == FileType::kDirectory) ++item.links;
    if (!claimed) TRY(names_.claim(reservation, directory.number, name, entry.index));
    TRY(names_.add(reservation, directory.number, name, entry, &directory.index_hint));
    TRY(names_.remove_reference(reservation, entry.child, left.number, old.index));
    TRY(names_.add_reference(reservation, entry.child, directory.number, entry.index));
    InodeItem moved = child.item();
    set_change(moved, now);
    if (child.is_directory()) child.set_parent(directory.number);
    return inodes_.store(reservation, child, moved);
  };

  TRY(leave(*move.from, from_item, move.name, move.source));
  if (move.target) TRY(leave(*move.to, to_item, move.new_name, *move.target));
  TRY(arrive(*move.to, to_item, move.new_name, *move.from, move.source, *move.source_lock,
             !move.target.has_value()));
  if (move.replaces()) {
    TRY(orphans_.drop_name(operation, *move.target_lock, move.farewell, move.to->number,
                           move.target->index, now));
  } else if (move.exchanges()) {
    TRY(arrive(*move.from, from_item, move.name, *move.to, *move.target, *move.target_lock, false));
  }
  set_modify(from_item, now);
  set_change(from_item, now);
  if (!move.same_directory()) {
    set_modify(to_item, now);
    set_change(to_item, now);
    TRY(inodes_.store(reservation, *move.to, to_item));
  }
  return inodes_.store(reservation, *move.from, from_item);
}

}  // namespace cordwood
