#!/usr/bin/env python3
"""Compares two directory trees of the host, byte for byte and attribute for attribute.

    compare_trees.py [--atime] [--holes] [--no-owner] TREE TREE

Compared are: which entries exist, their types, permissions, owners, modification times to the
nanosecond, sizes, content, symlink targets, device numbers, xattrs, and which names are hard links of
each other. Directories count with their own attributes, the two given ones too. Change times are not
compared: no program can set them.

--atime     access times of files too (not of symlinks and directories: looking at them changes these)
--holes     which ranges of files are holes
--no-owner  leave out owner and group

Knows nothing about Cordwood and uses only Python's standard library. Exit code 0: equal; 1: not; the
first differences are printed. Works at any depth, with names of any bytes, in bounded memory.
"""

import argparse
import errno
import os
import stat
import sys

CHUNK = 1 << 20
# Paths are opened in pieces below the kernel's limit of 4096 bytes.
PATH_PIECE = 3500
DIFFERENCES_SHOWN = 50
TYPES = {
    stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket", stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
}


class Tree:
    """One of the two trees: opens its directories however deep they are."""

    def __init__(self, path):
        self.root = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def open_directory(self, relative):
        """Opens a directory by its path from the root of the tree, b"" for the root itself."""
        current = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.root)
        rest = relative
        while rest:
            piece, rest = split_piece(rest)
            following = os.open(piece, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = following
        return current


def split_piece(path):
    if len(path) <= PATH_PIECE:
        return path, b""
    slash = path.rfind(b"/", 0, PATH_PIECE)
    return path[:slash], path[slash + 1:]


def open_file(directory, name):
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=directory)
    except PermissionError:
        return os.open(name, flags, dir_fd=directory)


def read_xattrs(directory, name):
    path = b"/proc/self/fd/%d/%s" % (directory, name)
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return {}
        raise
    return {key: os.getxattr(path, key, follow_symlinks=False) for key in names}


def hole_map(fd, size):
    """The ranges that hold data, as [start, end) pairs."""
    ranges = []
    offset = 0
    while offset < size:
        try:
            start = os.lseek(fd, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break
            raise
        offset = os.lseek(fd, start, os.SEEK_HOLE)
        ranges.append((start, offset))
    return ranges


class Comparison:
    def __init__(self, options, first, second):
        self.options = options
        self.trees = (Tree(first), Tree(second))
        self.differences = 0
        self.entries = 0
        self.bytes = 0
        self.linked = ({}, {})  # object of one tree: object of the other

    def differ(self, path, what):
        self.differences += 1
        if self.differences <= DIFFERENCES_SHOWN:
            name = (path or b".").decode("utf-8", "backslashreplace")
            print("%s: %s" % (name.replace("\n", "\\n"), what))
        elif self.differences == DIFFERENCES_SHOWN + 1:
            print("...")

    def run(self):
        self.compare_metadata(b"", *[os.fstat(tree.root) for tree in self.trees])
        pairs = [tree.open_directory(b"") for tree in self.trees]
        self.compare_xattrs(b"", pairs, b".")
        for fd in pairs:
            os.close(fd)
        waiting = [b""]
        while waiting:
            self.compare_directory(waiting.pop(), waiting)
        return self.differences == 0

    def compare_directory(self, path, waiting):
        directories = [tree.open_directory(path) for tree in self.trees]
        try:
            names = [set(os.fsencode(name) for name in os.listdir(fd)) for fd in directories]
            for side, word in ((0, "second"), (1, "first")):
                for name in sorted(names[side] - names[1 - side]):
                    self.differ(join(path, name), "missing in the %s tree" % word)
            for name in sorted(names[0] & names[1]):
                if self.compare_entry(path, name, directories):
                    waiting.append(join(path, name))
        finally:
            for fd in directories:
                os.close(fd)

    def compare_entry(self, path, name, directories):
        """Returns whether both are directories."""
        here = join(path, name)
        self.entries += 1
        found = [os.stat(name, dir_fd=fd, follow_symlinks=False) for fd in directories]
        kinds = [stat.S_IFMT(each.st_mode) for each in found]
        if kinds[0] != kinds[1]:
            self.differ(here, "%s and %s" % tuple(TYPES.get(kind, "?") for kind in kinds))
            return False
        self.compare_metadata(here, *found)
        self.compare_xattrs(here, directories, name)
        if stat.S_ISDIR(kinds[0]):
            return True
        known = self.compare_links(here, found)
        if stat.S_ISLNK(kinds[0]):
            targets = [os.readlink(name, dir_fd=fd) for fd in directories]
            if targets[0] != targets[1]:
                self.differ(here, "symlink targets %r and %r" % tuple(targets))
        elif stat.S_ISREG(kinds[0]) and not known:
            self.compare_content(here, name, directories, found)
        return False

    def compare_metadata(self, path, one, other):
        fields = [("permissions", oct(one.st_mode & 0o7777), oct(other.st_mode & 0o7777)),
                  ("modification times", one.st_mtime_ns, other.st_mtime_ns)]
        if not self.options.no_owner:
            fields.append(("owners", (one.st_uid, one.st_gid), (other.st_uid, other.st_gid)))
        if not stat.S_ISDIR(one.st_mode):
            fields.append(("sizes", one.st_size, other.st_size))
        if stat.S_ISCHR(one.st_mode) or stat.S_ISBLK(one.st_mode):
            fields.append(("device numbers", one.st_rdev, other.st_rdev))
        if self.options.atime and not stat.S_ISDIR(one.st_mode) and not stat.S_ISLNK(one.st_mode):
            fields.append(("access times", one.st_atime_ns, other.st_atime_ns))
        for what, first, second in fields:
            if first != second:
                self.differ(path, "%s %s and %s" % (what, first, second))

    def compare_xattrs(self, path, directories, name):
        first, second = [read_xattrs(fd, name) for fd in directories]
        if first != second:
            names = sorted(key for key in first.keys() | second.keys()
                           if first.get(key) != second.get(key))
            self.differ(path, "xattrs differ: " + ", ".join(names))

    def compare_links(self, path, found):
        """Notes which names are links of each other; returns whether the content was seen."""
        if found[0].st_nlink == 1 and found[1].st_nlink == 1:
            return False
        keys = [(each.st_dev, each.st_ino) for each in found]
        known = keys[0] in self.linked[0] and keys[1] in self.linked[1]
        for side in (0, 1):
            if self.linked[side].setdefault(keys[side], keys[1 - side]) != keys[1 - side]:
                self.differ(path, "is a hard link of other names")
                return True
        return known

    def compare_content(self, path, name, directories, found):
        if found[0].st_size != found[1].st_size:
            return
        files = [open_file(fd, name) for fd in directories]
        try:
            if self.options.holes:
                maps = [hole_map(fd, found[0].st_size) for fd in files]
                if maps[0] != maps[1]:
                    self.differ(path, "holes differ")
                ranges = merged(maps)
            elif min(each.st_blocks * 512 for each in found) < found[0].st_size:
                ranges = merged([hole_map(fd, found[0].st_size) for fd in files])
            else:
                ranges = [(0, found[0].st_size)]
            for start, end in ranges:
                if not self.compare_range(path, files, start, end):
                    return
        finally:
            for fd in files:
                os.close(fd)

    def compare_range(self, path, files, start, end):
        while start < end:
            pieces = [os.pread(fd, min(CHUNK, end - start), start) for fd in files]
            if pieces[0] != pieces[1]:
                self.differ(path, "content differs from about byte %d" % start)
                return False
            if not pieces[0]:
                return True
            start += len(pieces[0])
            self.bytes += len(pieces[0])
        return True


def merged(maps):
    """Ranges where either side has data: what is a hole on both sides need not be read."""
    ranges = []
    for start, end in sorted(maps[0] + maps[1]):
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return ranges


def join(path, name):
    return path + b"/" + name if path else name


def main():
    parser = argparse.ArgumentParser(description="Compares two directory trees.")
    parser.add_argument("--atime", action="store_true", help="compare access times of files")
    parser.add_argument("--holes", action="store_true", help="compare where files have holes")
    parser.add_argument("--no-owner", action="store_true", help="do not compare owners")
    parser.add_argument("first", metavar="TREE")
    parser.add_argument("second", metavar="TREE")
    options = parser.parse_args()
    comparison = Comparison(options, options.first, options.second)
    equal = comparison.run()
    print("%s: %d entries, %d bytes compared, %d differences" % (
        "equal" if equal else "different", comparison.entries, comparison.bytes,
        comparison.differences))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
