"""Every command once or more: what it does, what it reports, and how it ends."""

import os
import stat
import subprocess
import tempfile
import unittest

from support import DAMAGED, FINDINGS, REFUSED, CommandTest, main, need_root

NASTY = b"a\nb\\c\xff\xe2\x82"  # a newline, a backslash, bytes that are not UTF-8


class WithImage(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_image()

    def put(self, path, content=b"content\n"):
        self.run_command("put", self.image, "-", path, stdin=content)

    def stat(self, path):
        return self.run_command("stat", "--json", self.image, path).json[0]


class Reports(WithImage):
    def test_mkfs(self):
        image = self.at("other.img")
        made = self.run_command("mkfs", "--json", "--label", "Läbel", "-n", "64K", "-b", "512", "--size",
                                "32M", image).json
        self.assertEqual(made["label"], "Läbel")
        self.assertEqual((made["node_bytes"], made["block_bytes"], made["bytes"]),
                         (65536, 512, 32 << 20))
        info = self.run_command("info", "--json", image).json
        self.assertEqual(info["uuid"], made["uuid"])
        self.assertEqual(info["label"], "Läbel")
        self.assertEqual((info["node_bytes"], info["block_bytes"], info["bytes"]),
                         (65536, 512, 32 << 20))
        self.assertTrue(info["clean"])
        self.assertIn("Läbel", self.run_command("info", image).text)
        # Few blocks are taken: an image is sparse.
        self.assertLess(os.stat(image).st_blocks * 512, 4 << 20)

    def test_default_size(self):
        image = self.at("other.img")
        self.run_command("mkfs", image)
        self.assertEqual(os.path.getsize(image), 1 << 30)

    def test_owner_of_the_root(self):
        root = self.stat("/")
        self.assertEqual((root["uid"], root["gid"], root["mode"]),
                         (os.geteuid(), os.getegid(), 0o755))

    def test_df(self):
        before = self.run_command("df", "--json", self.image).json
        self.put("/f", b"x" * (1 << 20))
        after = self.run_command("--json", "df", self.image).json
        self.assertEqual(before["inodes"] + 1, after["inodes"])
        self.assertGreaterEqual(after["used_blocks"] - before["used_blocks"], 256)
        self.assertLess(after["available_blocks"], before["available_blocks"])
        self.assertIn("available", self.run_command("df", self.image).text)

    def test_stat(self):
        self.put("/f", b"x" * 5000)
        self.run_command("ln", "-s", self.image, "f", "/s")
        file = self.stat("/f")
        self.assertEqual((file["type"], file["size"], file["links"], file["mode"]),
                         ("file", 5000, 1, 0o644))
        self.assertEqual(self.stat("/s")["target"], "f")
        self.assertEqual(self.stat("/s")["type"], "symlink")
        text = self.run_command("stat", self.image, "/f", "/s").text
        self.assertIn("size 5000", text)
        self.assertIn("/s -> f", text)
        self.refuse("stat", self.image, "/none", says="/none")


class Listing(WithImage):
    def setUp(self):
        super().setUp()
        self.run_command("mkdir", "-p", self.image, "/d/e")
        self.put("/d/b", b"12345")
        self.put("/d/a.h", b"1" * 100)
        self.run_command("ln", "-s", self.image, "d", "/link")

    def test_ls(self):
        self.assertEqual(self.run_command("ls", self.image).text, "d\nlink\n")
        self.assertEqual(self.run_command("ls", self.image, "/d").text, "a.h\nb\ne\n")
        self.assertEqual(self.run_command("ls", self.image, "/d/").text, "a.h\nb\ne\n")
        self.assertEqual(sorted(self.run_command("ls", "-U", self.image, "/d").text.split()),
                         ["a.h", "b", "e"])
        self.assertEqual(self.run_command("ls", self.image, "/link").text, "a.h\nb\ne\n")
        lines = self.run_command("ls", "-l", self.image, "/d").text.splitlines()
        self.assertRegex(lines[0], r"^-rw-r--r-- +1 +\d+ +\d+ +100 \d{4}-\d\d-\d\d \d\d:\d\d a\.h$")
        self.assertRegex(lines[2], r"^drwxr-xr-x +2 .* e$")
        self.assertRegex(self.run_command("ls", "-l", self.image, "/link").text, r" /link -> d\n$")
        self.assertEqual(self.run_command("ls", self.image, "/d/b").text, "/d/b\n")
        entries = self.run_command("ls", "--json", self.image, "/d").json
        self.assertEqual([(entry["name"], entry["type"], entry["size"]) for entry in entries[:2]],
                         [("a.h", "file", 100), ("b", "file", 5)])
        self.assertEqual(self.run_command("ls", "--json", self.image, "/d/e").json, [])
        self.refuse("ls", self.image, "/none", says="disk.img: /none: ")
        self.refuse("ls", self.image, "/d/b/c", says="/d/b/c")

    def test_tree(self):
        self.assertEqual(self.run_command("tree", self.image).text,
                         "/\n├── d\n│   ├── a.h\n│   ├── b\n│   └── e\n└── link -> d\n\n"
                         "2 directories, 3 other entries\n")
        self.assertEqual(self.run_command("tree", "-L", "1", self.image).text,
                         "/\n├── d\n└── link -> d\n\n1 directories, 1 other entries\n")
        entries = self.run_command("tree", "--json", self.image, "/").json
        self.assertEqual([(entry["path"], entry["depth"]) for entry in entries],
                         [("/d", 1), ("/d/a.h", 2), ("/d/b", 2), ("/d/e", 2), ("/link", 1)])
        self.refuse("tree", self.image, "/d/b", says="directory")

    def find(self, *arguments):
        return sorted(self.run_command("find", self.image, *arguments).text.splitlines())

    def test_find(self):
        self.assertEqual(self.find(), ["/", "/d", "/d/a.h", "/d/b", "/d/e", "/link"])
        self.assertEqual(self.find("/d/"), ["/d/", "/d/a.h", "/d/b", "/d/e"])
        self.assertEqual(self.find("--name", "*.h"), ["/d/a.h"])
        self.assertEqual(self.find("--name", "[ab]*"), ["/d/a.h", "/d/b"])
        self.assertEqual(self.find("--type", "d"), ["/", "/d", "/d/e"])
        self.assertEqual(self.find("--type", "l"), ["/link"])
        self.assertEqual(self.find("--type", "f", "--size", "+6"), ["/d/a.h"])
        self.assertEqual(self.find("--type", "f", "--size", "-5"), ["/d/b"])
        self.assertEqual(self.find("--type", "f", "--size", "5"), ["/d/b"])
        self.assertEqual(self.find("--max-depth", "1"), ["/", "/d", "/link"])
        self.assertEqual(self.find("--max-depth", "0"), ["/"])
        self.assertEqual(self.run_command("find", "-0", self.image, "/d", "--name", "b").output, b"/d/b\0")
        found = self.run_command("find", "--json", self.image, "--name", "b").json
        self.assertEqual([(entry["path"], entry["size"]) for entry in found], [("/d/b", 5)])
        self.refuse("find", self.image, "--type", "x")
        self.refuse("find", self.image, "--size", "x", says="--size")

    def test_nasty_names(self):
        self.put(b"/" + NASTY)
        self.assertEqual(self.run_command("ls", self.image).text,
                         "a\\nb\\\\c\\xff\\xe2\\x82\nd\nlink\n")
        self.assertIn(b"/" + NASTY + b"\0", self.run_command("find", "-0", self.image).output)
        entry = self.run_command("ls", "--json", self.image).json[0]
        self.assertEqual(bytes.fromhex(entry["name_hex"]), NASTY)
        self.assertEqual(entry["name"], "a\nb\\c\ufffd\ufffd\ufffd")
        message = self.refuse("cat", self.image, b"/none/" + NASTY)
        self.assertIn("a\\nb", message)


class Content(WithImage):
    def test_cat(self):
        self.put("/a", b"one")
        self.put("/b", b"two" * 1000000)
        self.assertEqual(self.run_command("cat", self.image, "/a", "/b").output,
                         b"one" + b"two" * 1000000)
        self.run_command("ln", "-s", self.image, "a", "/s")
        self.assertEqual(self.run_command("cat", self.image, "/s").output, b"one")
        self.run_command("mkdir", self.image, "/d")
        self.refuse("cat", self.image, "/d", says="directory")
        self.refuse("cat", self.image, "/none", says="/none")

    def test_put(self):
        source = self.write("source", b"x" * 3000000, mode=0o751)
        os.utime(source, ns=(1_000_000_001, -5_000_000_007))
        self.run_command("put", self.image, source, "/f")
        found = self.stat("/f")
        self.assertEqual((found["size"], found["mode"]), (3000000, 0o751))
        self.assertEqual(found["modify"], {"seconds": -6, "nanoseconds": 999999993})
        self.assertEqual(self.run_command("cat", self.image, "/f").output, b"x" * 3000000)
        # An older one is replaced, in one step and without a trace.
        self.put("/f", b"new")
        self.assertEqual(self.run_command("cat", self.image, "/f").output, b"new")
        self.run_command("mkdir", self.image, "/d")
        self.run_command("put", self.image, source, "/d")
        self.run_command("put", self.image, source, "/d/")
        self.assertEqual(self.names("/d"), ["source"])
        self.assertEqual(self.names("/"), ["d", "f"])
        self.refuse("put", self.image, "-", "/d", says="name")
        self.refuse("put", self.image, self.at("none"), "/x", says="none")
        self.refuse("put", self.image, self.path, "/x", says="import")
        self.refuse("put", self.image, source, "/none/x", says="/none/x")
        self.assertEqual(self.names("/"), ["d", "f"])
        self.check()

    def test_get(self):
        source = self.write("source", os.urandom(100) + bytes(5 << 20) + b"end", mode=0o640)
        os.utime(source, ns=(1_000_000_001, 4_000_000_000_000_000_003))
        self.run_command("put", self.image, source, "/f")
        target = self.at("target")
        self.run_command("get", self.image, "/f", target)
        self.compare_files(source, target)
        os.mkdir(self.at("directory"))
        self.run_command("get", self.image, "/f", self.at("directory"))
        self.compare_files(source, self.at("directory", "f"))
        self.run_command("get", self.image, "/f", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        with open(source, "rb") as file:
            self.assertEqual(self.run_command("get", self.image, "/f", "-").output, file.read())
        self.refuse("get", self.image, "/none", self.at("other"), says="/none")
        self.refuse("get", self.image, "/", self.at("other"), says="directory")
        self.refuse("get", self.image, "/f", self.at("none", "other"), says="none/other")
        self.assertEqual(sorted(os.listdir(self.path)), ["directory", "disk.img", "source", "target"])

    def compare_files(self, first, second):
        one, other = os.stat(first), os.stat(second)
        self.assertEqual((one.st_mode, one.st_size, one.st_mtime_ns),
                         (other.st_mode, other.st_size, other.st_mtime_ns))
        with open(first, "rb") as a, open(second, "rb") as b:
            self.assertEqual(a.read(), b.read())


class Names(WithImage):
    def test_mkdir(self):
        self.run_command("mkdir", self.image, "/a", "/b")
        self.refuse("mkdir", self.image, "/a", says="/a")
        self.refuse("mkdir", self.image, "/x/y", says="/x/y")
        self.run_command("mkdir", "-p", self.image, "/x/y/z", "/a")
        self.assertEqual(self.names("/x/y"), ["z"])
        self.run_command("mkdir", "-m", "1700", self.image, "/m")
        self.assertEqual(self.stat("/m")["mode"], 0o1700)
        self.refuse("mkdir", "-m", "9", self.image, "/n", says="octal")
        self.put("/f")
        self.refuse("mkdir", "-p", self.image, "/f/g", says="/f")
        self.refuse("mkdir", self.image, "/" + "n" * 256)
        self.run_command("mkdir", self.image, "/" + "n" * 255)
        self.check()

    def test_rm(self):
        self.put("/f")
        self.run_command("mkdir", "-p", self.image, "/d/e/f", "/d/g")
        self.put("/d/e/file")
        self.refuse("rm", self.image, "/d", says="-r")
        self.run_command("rm", self.image, "/f")
        self.refuse("rm", self.image, "/f", says="/f")
        self.run_command("rm", "-f", self.image, "/f")
        self.run_command("rm", "-r", self.image, "/d")
        self.assertEqual(self.names(), [])
        self.refuse("rm", "-r", self.image, "/", says="root")
        self.check()

    def test_rm_does_not_follow(self):
        self.run_command("mkdir", self.image, "/d")
        self.put("/d/f")
        self.run_command("ln", "-s", self.image, "/d", "/s")
        self.run_command("rm", "-r", self.image, "/s")
        self.assertEqual(self.names("/d"), ["f"])

    def test_mv(self):
        self.put("/a", b"a")
        self.put("/b", b"b")
        self.run_command("mv", self.image, "/a", "/c")
        self.assertEqual(self.names(), ["b", "c"])
        self.run_command("mv", "--exchange", self.image, "/b", "/c")
        self.assertEqual(self.run_command("cat", self.image, "/b").output, b"a")
        self.refuse("mv", "--no-replace", self.image, "/b", "/c")
        self.refuse("mv", "--no-replace", "--exchange", self.image, "/b", "/c")
        self.run_command("mv", self.image, "/b", "/c")
        self.assertEqual(self.names(), ["c"])
        self.run_command("mkdir", "-p", self.image, "/d/e")
        self.put("/f")
        self.run_command("mv", self.image, "/c", "/f", "/d")
        self.assertEqual(self.names("/d"), ["c", "e", "f"])
        self.refuse("mv", self.image, "/d", "/d/e")
        self.refuse("mv", self.image, "/none", "/x", says="/none")
        self.refuse("mv", self.image, "/d/c", "/d/f", "/d/c", says="directory")
        self.check()

    def test_ln(self):
        self.put("/a", b"text")
        self.run_command("ln", self.image, "/a", "/b")
        self.assertEqual(self.stat("/a")["links"], 2)
        self.assertEqual(self.stat("/a")["inode"], self.stat("/b")["inode"])
        self.run_command("ln", "-s", self.image, "no/such\n", "/s")
        self.assertEqual(self.stat("/s")["target"], "no/such\n")
        self.refuse("ln", self.image, "/a", "/b")
        self.run_command("mkdir", self.image, "/d")
        self.refuse("ln", self.image, "/d", "/e", says="-s")
        self.run_command("ln", self.image, "/a", "/d")
        self.assertEqual(self.names("/d"), ["a"])
        self.run_command("rm", self.image, "/a", "/b")
        self.assertEqual(self.run_command("cat", self.image, "/d/a").output, b"text")
        self.check()


class Checks(WithImage):
    def test_clean(self):
        self.put("/f", b"x" * 100000)
        for name in ("check", "fsck", "scrub"):
            report = self.run_command(name, "--json", self.image).json
            self.assertTrue(report["clean"], report)
            self.assertIn("clean", self.run_command(name, self.image).text)
        self.run_command("check", "--data", self.image)

    def test_damaged_file(self):
        content = os.urandom(300000)
        self.put("/f", content)
        with open(self.image, "r+b") as image:
            place = image.read().index(content[100000:100100])
            image.seek(place)
            image.write(bytes(100))
        self.run_command("check", self.image)
        self.run_command("check", "--data", self.image, exit=FINDINGS)
        report = self.run_command("scrub", "--json", self.image, exit=FINDINGS).json
        self.assertFalse(report["clean"])
        self.assertIn("/f", self.run_command("scrub", self.image, exit=FINDINGS).text)
        self.refuse("cat", self.image, "/f", exit=DAMAGED, says="/f")
        self.refuse("get", self.image, "/f", self.at("f"), exit=DAMAGED, says="/f")
        self.assertEqual(os.listdir(self.path), ["disk.img"])
        # One bad file does not stop the others; what is left of it is not shown as a whole file.
        self.put("/g", b"good")
        result = self.run_command("export", "--json", self.image, "/", self.at("out"), exit=DAMAGED)
        self.assertEqual(os.listdir(self.at("out")), ["g"])
        self.assertEqual([failure["path"] for failure in result.json["failures"]], ["/f"])
        self.assertIn(b"/f", result.errors)

    def test_damaged_node(self):
        """A bit of the root node is flipped: named by check, and an error for everything that needs it."""
        self.put("/f")
        tree = self.run_command("dump", self.image, "tree", "--json").json
        node = self.run_command("dump", self.image, "node", str(tree["root"]["id"]), "--json").json
        block = node["place"]["runs"][0][0]
        with open(self.image, "r+b") as image:
            image.seek(block * 4096 + 1000)
            byte = image.read(1)[0]
            image.seek(block * 4096 + 1000)
            image.write(bytes([byte ^ 4]))
        report = self.run_command("check", "--json", self.image, exit=FINDINGS).json
        self.assertEqual([finding["where"] for finding in report["findings"]
                          if finding["name"] == "node_unreadable"], [tree["root"]["id"]])
        self.refuse("ls", self.image, exit=DAMAGED, says="check")
        self.refuse("put", self.image, "-", "/g", exit=DAMAGED)
        self.run_command("dump", self.image, "super")
        self.refuse("dump", self.image, "node", str(tree["root"]["id"]), exit=DAMAGED)


class Dumps(WithImage):
    def test_all(self):
        self.run_command("mkdir", self.image, "/d")
        self.put("/d/f", b"x" * 10000)
        inode = str(self.stat("/d/f")["inode"])
        for arguments in (("super",), ("table",), ("groups",), ("tree",), ("node", "1"), ("inode", inode)):
            with self.subTest(arguments=arguments):
                what, rest = arguments[0], arguments[1:]
                self.assertTrue(self.run_command("dump", self.image, what, *rest, "--json").json)
                self.assertTrue(self.run_command("dump", self.image, what, *rest).text.strip())
        # The image may also stand behind what is to be shown.
        self.assertEqual(self.run_command("dump", "super", self.image).output,
                         self.run_command("dump", self.image, "super").output)
        for rest in (("node", "999999"), ("node", "0"), ("inode", "999999"), ("inode", "0"), ("node", "x"),
                     ("node", "-1"), ("node",), ("super", "1"), ("nonsense",)):
            with self.subTest(rest=rest):
                self.refuse("dump", self.image, *rest)


class Transfers(WithImage):
    """Where things go; that they arrive whole is round_trip_test.py's business."""

    def setUp(self):
        super().setUp()
        self.tree = self.at("tree")
        self.write("tree/a", b"a")
        self.write("tree/d/b", b"b")

    def test_where_import_puts(self):
        self.run_command("import", self.image, self.tree)
        self.assertEqual(self.names(), ["tree"])
        self.run_command("import", self.image, self.tree + "/", "--to", "/new/er")
        self.assertEqual(self.names("/new/er"), ["a", "d"])
        self.run_command("import", self.image, self.tree + "/.", self.at("tree", "a"), "--to", "/new")
        self.assertEqual(self.names("/new"), ["a", "d", "er"])
        self.run_command("import", self.image, self.at("tree", "d", "b"))
        self.assertEqual(self.names(), ["b", "new", "tree"])
        self.check()

    def test_where_export_puts(self):
        self.run_command("import", self.image, self.tree)
        self.run_command("export", self.image, "/tree", self.at("out"))
        self.compare(self.tree, self.at("out", "tree"))
        self.run_command("export", self.image, "/tree/.", self.at("content"))
        self.compare(self.tree, self.at("content"))
        self.run_command("export", self.image, "/tree/a", "/tree/d/", self.at("out"))
        self.assertEqual(sorted(os.listdir(self.at("out"))), ["a", "b", "tree"])
        self.refuse("export", self.image, "/none", self.at("other"), says="/none")
        self.assertFalse(os.path.exists(self.at("other")))
        self.refuse("export", self.image, "/tree", self.at("tree", "a"), says="tree/a")

    def test_replaces_and_merges(self):
        self.run_command("import", self.image, self.tree)
        self.write("tree/a", b"another")
        self.write("tree/c", b"c")
        os.chmod(self.at("tree", "d"), 0o700)
        self.run_command("import", self.image, self.tree)
        self.run_command("export", self.image, "/tree", self.at("out"))
        self.compare(self.tree, self.at("out", "tree"))
        self.write("tree/a", b"a third")
        self.run_command("import", self.image, self.tree)
        self.run_command("export", self.image, "/tree", self.at("out"))
        self.compare(self.tree, self.at("out", "tree"))
        self.check()

    def test_goes_on_after_a_failure(self):
        self.run_command("mkdir", "-p", self.image, "/tree/a")
        result = self.run_command("import", "--json", self.image, self.tree, exit=FINDINGS)
        self.assertEqual([failure["path"] for failure in result.json["failures"]], [self.at("tree", "a")])
        self.assertEqual(result.json["failed"], 1)
        self.assertEqual(self.names("/tree/d"), ["b"])
        self.assertEqual(len(result.errors.decode().splitlines()), 1)
        self.check()

    def test_missing_source(self):
        self.refuse("import", self.image, self.tree, self.at("none"), says="none")
        self.assertEqual(self.names(), [])

    @need_root
    def test_unreadable_source(self):
        """What a user may not read is told, entry by entry; the rest goes in."""
        self.write("tree/secret", b"x")
        self.write("tree/secrets/x", b"x")
        for name in ("secret", "secrets"):
            os.chmod(self.at("tree", name), 0o000)
        os.chmod(self.path, 0o755)
        os.chown(self.image, 65534, 65534)
        process = subprocess.run([os.environ["CORDWOOD"], "import", self.image, self.tree],
                                 user=65534, group=65534, extra_groups=[], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, FINDINGS, process.stderr)
        self.assertEqual(len(process.stderr.splitlines()), 2)
        self.assertEqual(self.names("/tree"), ["a", "d"])
        self.check()

    @unittest.skipUnless(os.path.isdir("/dev/shm"), "needs a tmpfs")
    def test_xattr_that_the_host_cannot_hold(self):
        """One attribute too large for the target is told; everything else arrives."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as source:
            for name in ("a", "b"):
                with open(os.path.join(source, name), "wb") as file:
                    file.write(b"content")
            try:
                os.setxattr(os.path.join(source, "a"), "user.large", b"x" * 30000)
            except OSError:
                self.skipTest("this tmpfs has no large xattrs")
            self.run_command("import", self.image, source + "/", "--to", "/x")
            self.check()
            self.assertEqual(self.stat("/x/a")["xattrs"][0]["bytes"], 30000)
            process = subprocess.run([os.environ["CORDWOOD"], "export", self.image, "/x", self.at("out")],
                                     stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            # A file system that can hold it is fine, too.
            self.assertIn(process.returncode, (0, FINDINGS), process.stderr)
            self.assertEqual(sorted(os.listdir(self.at("out", "x"))), ["a", "b"])

    def test_long_names(self):
        name = "n" * 255
        self.run_command("put", self.image, self.write(name, b"long"), "/")
        self.assertEqual(self.names(), [name])
        os.mkdir(self.at("out"))
        self.run_command("get", self.image, "/" + name, self.at("out"))
        self.assertEqual(os.listdir(self.at("out")), [name])

    def test_export_does_not_follow_symlinks_of_the_host(self):
        self.run_command("import", self.image, self.tree)
        os.makedirs(self.at("out"))
        os.makedirs(self.at("elsewhere"))
        os.symlink(self.at("elsewhere"), self.at("out", "tree"))
        self.run_command("export", self.image, "/tree", self.at("out"), exit=FINDINGS)
        self.assertEqual(os.listdir(self.at("elsewhere")), [])

    def test_leaves_the_image_out(self):
        result = self.run_command("import", self.image, self.path, exit=FINDINGS)
        self.assertIn(b"itself", result.errors)
        self.assertEqual(self.names("/" + os.path.basename(self.path)), ["tree"])
        self.check()

    def test_names_that_look_like_options(self):
        self.write("-x", b"1")
        self.write("[a,b]", b"2")
        before = os.getcwd()
        os.chdir(self.path)
        self.addCleanup(os.chdir, before)
        self.run_command("import", "disk.img", "--", "-x", "[a,b]")
        self.assertEqual(self.names(), ["-x", "[a,b]"])

    @need_root
    def test_without_root(self):
        """A user takes out what root put in: everything but the owners."""
        os.chmod(self.path, 0o755)
        self.run_command("import", self.image, self.tree)
        target = self.at("target")
        os.mkdir(target)
        os.chown(target, 65534, 65534)
        process = subprocess.run([os.environ["CORDWOOD"], "export", self.image, "/tree", target],
                                 user=65534, group=65534, extra_groups=[], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(b"owners", process.stdout)
        self.compare(self.tree, os.path.join(target, "tree"), "--no-owner")


if __name__ == "__main__":
    main()
