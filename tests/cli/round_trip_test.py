"""What goes in comes out: content, attributes, links, holes, names of any bytes, any depth."""

import os
import random
import socket
import stat
import subprocess
import sys

from support import SIZES, CommandTest, main, need_root

NANOSECONDS = 1_000_000_000


class Builder:
    """Makes trees that hold everything a filesystem can."""

    def __init__(self, root, seed=1):
        self.root = root
        self.random = random.Random(seed)
        os.makedirs(root, exist_ok=True)

    def at(self, name):
        return os.path.join(os.fsencode(self.root), os.fsencode(name))

    def file(self, name, content=b"", mode=0o644):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "wb") as file:
            file.write(content)
        os.chmod(self.at(name), mode)
        return self.at(name)

    def bytes(self, count):
        return self.random.randbytes(count)

    def sizes(self):
        """Files around every size at which something changes: inline, block, granule, extent, piece."""
        for edge in (0, 1, 512, 2048, 4096, 8192, 65536, 1 << 20, 2 << 20):
            for size in {max(edge - 1, 0), edge, edge + 1}:
                self.file("sizes/%07d" % size, self.bytes(size))

    def names(self):
        for name in (b"new\nline", b"\xff\xfe\x80", b"\xe2\x82", b"tab\t\x01\x7f", b"back\\slash", b"-x", b" ",
                     b"[a,b]", b"{}", b"*", b"n" * 255, b"\xc3\xa4" * 127, b"...", b"..a"):
            self.file(b"names/" + name, name)
            os.makedirs(self.at(b"names/directories/" + name))
            os.symlink(name, self.at(b"names/directories/" + name + b"/" + name))

    def sparse(self):
        def make(name, size, *places):
            with open(self.at(name), "wb") as file:
                for place in places:
                    file.seek(place)
                    file.write(self.bytes(4096))
                file.truncate(size)
        os.makedirs(self.at("sparse"))
        make("sparse/all hole", 10 << 20)
        make("sparse/start", 10 << 20, 0)
        make("sparse/end", 10 << 20, (10 << 20) - 4096)
        make("sparse/middle", 10 << 20, 5 << 20, 7 << 20, (7 << 20) + 4096)
        make("sparse/odd end", (1 << 20) + 123, 8192)
        make("sparse/huge", 1 << 40, 0, 1 << 30, (1 << 40) - 8192)
        make("sparse/one byte", (1 << 20) + 1)

    def links(self):
        self.file("links/one", b"linked")
        for name in ("links/two", "links/below/three", "zz four"):
            os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
            os.link(self.at("links/one"), self.at(name))
        os.symlink("one", self.at("links/symlink"))
        os.link(self.at("links/symlink"), self.at("links/another name of the symlink"), follow_symlinks=False)
        os.symlink("t" * 4095, self.at("links/long"))
        os.symlink("/no/such\nplace", self.at("links/dangling"))

    def specials(self):
        os.makedirs(self.at("specials"))
        os.mkfifo(self.at("specials/fifo"), 0o640)
        os.link(self.at("specials/fifo"), self.at("specials/fifo again"))
        # The path of a socket is short.
        here = os.getcwd()
        os.chdir(self.at("specials"))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
        os.chdir(here)

    def devices(self):
        for name, kind, major, minor in (("null", stat.S_IFCHR, 1, 3), ("disk", stat.S_IFBLK, 259, 1048575),
                                         ("far", stat.S_IFCHR, 4095, 300)):
            os.mknod(self.at("specials/" + name), kind | 0o600, os.makedev(major, minor))

    def modes(self):
        unreadable = (0o000, 0o200) if os.geteuid() == 0 else ()
        for mode in (0o777, 0o4755, 0o2755, 0o1777, 0o400, 0o500, *unreadable):
            self.file("modes/%04o" % mode, b"x", mode)
            os.mkdir(self.at("modes/directory %04o" % mode))
            os.chmod(self.at("modes/directory %04o" % mode), mode)

    def owners(self):
        for owner in (0, 1, 65534, 4294967294):
            for maker in (lambda path: open(path, "w").close(), os.mkdir,
                          lambda path: os.symlink("x", path), os.mkfifo):
                path = self.at("owners %d %d" % (owner, id(maker) % 1000003))
                maker(path)
                os.chown(path, owner, 7, follow_symlinks=False)

    def times(self):
        """Before 1970, after 2038, with nanoseconds."""
        moments = (-1, -NANOSECONDS - 1, 0, 1, (1 << 31) * NANOSECONDS + 5, (1 << 32) * NANOSECONDS + 999_999_999,
                   -(1 << 31) * NANOSECONDS + 1)
        for i, moment in enumerate(moments):
            path = self.file("times/%d" % i, b"t")
            os.symlink("x", self.at("times/symlink %d" % i))
            os.mkdir(self.at("times/directory %d" % i))
            for name in ("times/symlink %d" % i, "times/directory %d" % i):
                os.utime(self.at(name), ns=(moment + 1, moment), follow_symlinks=False)
            os.utime(path, ns=(moment + 7, moment))

    def xattrs(self):
        path = self.file("xattrs/file", b"x")
        os.setxattr(path, "user.empty", b"")
        os.setxattr(path, "user.text", b"text")
        os.setxattr(path, b"user.\xff\n", bytes(range(256)))
        os.setxattr(path, "user." + "n" * 250, b"long name")
        os.setxattr(self.at("xattrs"), "user.directory", b"d" * 200)
        large = self.file("xattrs/larger", b"x")
        for size in (1000, 1500):
            os.setxattr(large, "user.%d" % size, self.bytes(size))

    def trusted_xattrs(self):
        os.symlink("x", self.at("xattrs/symlink"))
        os.setxattr(self.at("xattrs/symlink"), "trusted.of.symlink", b"1", follow_symlinks=False)
        os.mkfifo(self.at("xattrs/fifo"))
        os.setxattr(self.at("xattrs/fifo"), "trusted.of.fifo", b"2")
        os.setxattr(self.at("xattrs/file"), "trusted.t", b"3")
        os.setxattr(self.at("xattrs/file"), "security.capability",
                    bytes.fromhex("0100000200040000000000000000000000000000"))

    def everything(self):
        self.sizes()
        self.names()
        self.sparse()
        self.links()
        self.specials()
        self.modes()
        self.xattrs()
        if os.geteuid() == 0:
            self.devices()
            self.owners()
            self.trusted_xattrs()
        for i in range(200):
            self.file("many/%03d/%03d" % (i % 20, i), self.bytes(self.random.randrange(5000)))
        self.times()
        os.utime(self.at("many"), ns=(5, 6))
        os.utime(self.root, ns=(1234567890123456789, 987654321987654321))


class RoundTrip(CommandTest):
    def setUp(self):
        super().setUp()
        self.tree = self.at("tree")
        self.builder = Builder(self.tree)

    def test_all_sizes(self):
        """Everything, through each pair of node and block size."""
        self.builder.everything()
        for node, block in SIZES:
            with self.subTest(node=node, block=block):
                # Holes are kept where source and target have the same kind of file system.
                self.round_trip(self.tree, "--holes", "--atime", node=node, block=block)

    def test_policies(self):
        self.builder.names()
        for i in range(2000):
            self.builder.file("many/%04d" % i, b"x" * (i % 300))
        for policy in ("never_push", "push_full", "push_needed", "adaptive"):
            for hint in ("on", "off"):
                with self.subTest(policy=policy, hint=hint):
                    image = self.make_image()
                    self.run_command("import", "--policy", "split=%s,search_hint=%s" % (policy, hint), image,
                                     self.tree + "/")
                    self.check()
                    target = self.at(policy + hint)
                    self.run_command("export", image, "/", target)
                    self.compare(self.tree, target)
                    os.unlink(image)

    def test_without_io_uring(self):
        self.builder.everything()
        os.environ["CORDWOOD_IO_PATH"] = "syscalls"
        self.addCleanup(os.environ.pop, "CORDWOOD_IO_PATH")
        self.round_trip(self.tree, "--holes")

    def test_small_cache(self):
        """A tree that is larger than the memory for nodes."""
        for i in range(3000):
            self.builder.file("d%02d/%04d" % (i % 50, i), b"x" * 700)
        image = self.make_image()
        self.run_command("import", "--cache", "2M", image, self.tree + "/")
        self.check()
        self.run_command("export", "--cache", "2M", image, "/", self.at("out"))
        self.compare(self.tree, self.at("out"))

    def test_same_tree_same_order(self):
        """A tree is taken in byte order, whatever order the host has it in."""
        for i in range(100):
            self.builder.file("%02x" % (i * 37 % 256))
        image = self.make_image()
        self.run_command("import", image, self.tree)
        names = self.run_command("ls", "-U", image, "/tree").text.split()
        self.assertEqual(names, sorted(names))

    def test_deep(self):
        """1,000 levels, and more than a path can name."""
        self.deep(1000, b"d")

    def test_deeper_than_paths(self):
        self.deep(1200, b"n" * 200)

    def deep(self, levels, name):
        current = os.open(self.tree, os.O_RDONLY | os.O_DIRECTORY)
        for level in range(levels):
            os.mkdir(name, dir_fd=current)
            if level % 100 == 0:
                file = os.open(b"file", os.O_CREAT | os.O_WRONLY, dir_fd=current)
                os.write(file, b"level %d" % level)
                os.close(file)
                if level == 0:
                    first = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=current)
                else:
                    os.link(b"file", b"link", src_dir_fd=first, dst_dir_fd=current)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=current)
            os.close(current)
            current = below
        os.close(current)
        os.close(first)
        image = self.make_image()
        # With few descriptors: depth must not cost any.
        limited = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", os.environ["CORDWOOD"]]
        subprocess.run([*limited, "import", image, self.tree + "/"], check=True)
        self.check()
        subprocess.run([*limited, "export", image, "/", self.at("out")], check=True)
        self.compare(self.tree, self.at("out"))
        # files and hard links: the same name each hundred levels
        found = self.run_command("find", "-0", image, "--name", "link").output.split(b"\0")
        self.assertEqual(len(found) - 1, levels // 100 - 1 + (levels % 100 > 0))
        lines = self.run_command("tree", image).text.splitlines()
        self.assertGreater(len(lines), levels)
        if len(name) == 1:
            self.assertEqual(len(self.run_command("tree", "--json", image).json), len(lines) - 3)
        self.run_command("rm", "-r", image, b"/" + name)
        self.assertEqual(self.names("/"), ["file"])
        self.check()

    @need_root
    def test_acl(self):
        path = self.builder.file("with acl", b"x", 0o640)
        # version 2; user, user 5, group, mask, other
        acl = bytes.fromhex("02000000" "01000600ffffffff" "0200040005000000" "04000000ffffffff"
                            "10000400ffffffff" "20000000ffffffff")
        try:
            os.setxattr(path, "system.posix_acl_access", acl)
        except OSError:
            self.skipTest("this file system has no ACLs")
        self.round_trip(self.tree)

    def test_image_on_other_sources(self):
        """Two sources at once, with a hard link from one to the other."""
        self.builder.file("one/a", b"linked")
        os.makedirs(self.builder.at("two"))
        os.link(self.builder.at("one/a"), self.builder.at("two/b"))
        image = self.make_image()
        self.run_command("import", image, self.at("tree", "one"), self.at("tree", "two"))
        self.run_command("export", image, "/one", "/two", self.at("out"))
        # The root of the tree itself was not among the sources.
        found = [os.stat(self.at("out", name)) for name in ("one/a", "two/b")]
        self.assertEqual(found[0].st_ino, found[1].st_ino)
        self.assertEqual(found[0].st_nlink, 2)

    def test_compare_trees_sees_differences(self):
        """The judge is judged: each change of a copy is noticed."""
        self.builder.everything()
        copy = self.at("copy")

        def first_difference(change):
            subprocess.run(["cp", "-a", self.tree, copy], check=True)
            change()
            script = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "compare_trees.py")
            process = subprocess.run([sys.executable, script, self.tree, copy], stdout=subprocess.PIPE)
            subprocess.run(["rm", "-rf", copy], check=True)
            return process.returncode

        def path(name):
            return os.path.join(copy, name)

        def keep_times(name, change):
            before = os.stat(path(name))
            change(path(name))
            os.utime(path(name), ns=(before.st_atime_ns, before.st_mtime_ns))

        def flip(name):
            with open(name, "r+b") as file:
                file.seek(70000)
                byte = file.read(1)[0]
                file.seek(70000)
                file.write(bytes([byte ^ 1]))

        def unlink_hard(name):
            os.unlink(name)
            with open(name, "wb") as file:
                file.write(b"linked")

        self.assertEqual(first_difference(lambda: None), 0)
        for change in (
            lambda: keep_times("sizes/1048576", flip),
            lambda: os.utime(path("times/0"), ns=(0, 0)),
            lambda: keep_times("times/0", lambda name: os.chmod(name, 0o600)),
            lambda: keep_times("links", lambda name: unlink_hard(os.path.join(name, "two"))),
            lambda: keep_times("xattrs/file", lambda name: os.setxattr(name, "user.text", b"texT")),
            lambda: keep_times("many/000", lambda name: os.mkdir(os.path.join(name, "more"))),
            lambda: keep_times("links", lambda name: os.unlink(os.path.join(name, "long"))),
        ):
            self.assertEqual(first_difference(change), 1)


if __name__ == "__main__":
    main()
