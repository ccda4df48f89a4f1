"""Images that are none, or are damaged, and requests that cannot be met: a one-line error that names
the thing, the right exit code, and nothing left behind."""

import hashlib
import os
import random
import stat
import struct
import subprocess
import unittest
import zipfile

from support import DAMAGED, FINDINGS, FINE, REFUSED, CommandTest, have, main

SUPERBLOCK = 64 * 1024
# Commands that open a volume, with arguments that would do on a good one.
ON_A_VOLUME = (
    ("info",), ("df",), ("ls",), ("tree",), ("find",), ("stat", "/"), ("cat", "/x"),
    ("replay",), ("replay", "--dry-run"), ("mkdir", "/d"), ("rm", "/x"), ("mv", "/x", "/y"), ("ln", "/x", "/y"),
)
ON_AN_IMAGE = (
    ("check",), ("scrub",), ("dump", "super"), ("dump", "table"), ("dump", "groups"), ("dump", "log"),
    ("dump", "node", "1"), ("dump", "tree"), ("dump", "inode", "1"),
)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Opening(CommandTest):
    def expect(self, image, codes, says=None):
        """Every command gives one of the codes and one line, and leaves the image as it is."""
        before = digest(image) if os.path.isfile(image) and os.access(image, os.R_OK) else None
        listing = sorted(os.listdir(self.path))
        for command in ON_A_VOLUME + ON_AN_IMAGE:
            arguments = [command[0], image, *command[1:]]
            with self.subTest(command=command):
                process = subprocess.run([os.environ["CORDWOOD"], *arguments],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertIn(process.returncode, codes, process.stderr)
                message = process.stderr.decode()
                if process.returncode in (REFUSED, DAMAGED):
                    self.assertRegex(message, r"\Acordwood: [^\n]+\n\Z")
                    self.assertIn(os.path.basename(image), message)
                    if says:
                        self.assertIn(says, message)
        if before:
            self.assertEqual(digest(image), before)
        self.assertEqual(sorted(os.listdir(self.path)), listing)

    def test_missing(self):
        self.expect(self.at("none.img"), {REFUSED}, "no such")

    def test_missing_directory(self):
        self.expect(self.at("none", "disk.img"), {REFUSED}, "no such")

    def test_directory(self):
        os.mkdir(self.at("folder"))
        self.expect(self.at("folder"), {REFUSED}, "directory")

    def test_fifo(self):
        os.mkfifo(self.at("pipe"))
        self.expect(self.at("pipe"), {REFUSED})

    def test_empty(self):
        self.write("disk.img")
        self.expect(self.image, {REFUSED})

    def test_short(self):
        self.write("disk.img", b"x" * 100)
        self.expect(self.image, {REFUSED})

    def test_random(self):
        self.write("disk.img", random.Random(1).randbytes(8 << 20))
        self.expect(self.image, {REFUSED})

    def test_zeros(self):
        self.write("disk.img", bytes(8 << 20))
        self.expect(self.image, {REFUSED})

    @unittest.skipUnless(have("mkfs.ext4"), "needs mkfs.ext4")
    def test_ext4(self):
        self.write("disk.img")
        os.truncate(self.image, 16 << 20)
        subprocess.run([have("mkfs.ext4"), "-q", self.image], check=True)
        self.expect(self.image, {REFUSED}, "ext")

    @unittest.skipUnless(have("mkfs.btrfs"), "needs mkfs.btrfs")
    def test_btrfs(self):
        self.write("disk.img")
        os.truncate(self.image, 128 << 20)
        subprocess.run([have("mkfs.btrfs"), "-q", self.image], check=True)
        self.expect(self.image, {REFUSED}, "trfs")

    def test_zip(self):
        with zipfile.ZipFile(self.image, "w") as archive:
            archive.writestr("file", random.Random(1).randbytes(1 << 20))
        os.truncate(self.image, 8 << 20)
        self.expect(self.image, {REFUSED}, "zip")

    def test_truncated(self):
        self.make_image()
        self.run_command("put", self.image, "-", "/x", stdin=b"y" * 1000000)
        os.truncate(self.image, 32 << 20)
        # What is still there may be dumped.
        self.expect(self.image, {DAMAGED, FINDINGS, FINE})
        self.run_command("check", self.image, exit=FINDINGS)
        self.refuse("ls", self.image, exit=DAMAGED)

    def test_truncated_before_the_superblock(self):
        self.make_image()
        os.truncate(self.image, 60 << 10)
        self.expect(self.image, {REFUSED, DAMAGED})

    def test_future_version(self):
        self.make_image()
        with open(self.image, "r+b") as image:
            size = os.fstat(image.fileno()).st_size
            for place in (SUPERBLOCK, SUPERBLOCK + 4096, size - 8192, size - 4096):
                image.seek(place + 8)
                image.write(struct.pack("<I", 99))
        self.expect(self.image, {REFUSED}, "version")

    def test_damaged_superblocks(self):
        self.make_image()
        with open(self.image, "r+b") as image:
            size = os.fstat(image.fileno()).st_size
            for place in (SUPERBLOCK, SUPERBLOCK + 4096, size - 8192, size - 4096):
                image.seek(place + 100)
                image.write(b"\xff" * 8)
        self.expect(self.image, {DAMAGED, FINDINGS})


class Writing(CommandTest):
    def test_read_only_file(self):
        self.make_image()
        self.run_command("mkdir", self.image, "/d")
        os.chmod(self.image, 0o444)
        # Root may write all the same, unless the file itself forbids it.
        if os.geteuid() == 0:
            if not have("chattr") or subprocess.run(["chattr", "+i", self.image],
                                                    stderr=subprocess.DEVNULL).returncode:
                self.skipTest("cannot make a file immutable here")
            self.addCleanup(subprocess.run, ["chattr", "-i", self.image])
        before = digest(self.image)
        self.refuse("mkdir", self.image, "/e", says="disk.img")
        self.refuse("mkfs", "--force", self.image, says="disk.img")
        self.assertEqual(self.names(), ["d"])
        self.run_command("check", self.image)
        self.assertEqual(digest(self.image), before)

    def test_in_use(self):
        self.make_image()
        with open(self.image, "r+b") as holder:
            import fcntl
            fcntl.flock(holder, fcntl.LOCK_EX)
            self.refuse("ls", self.image, says="in use")
            self.refuse("mkdir", self.image, "/d", says="in use")
            self.refuse("mkfs", "--force", self.image, says="in use")

    def test_bad_policy_and_cache(self):
        self.make_image()
        self.refuse("ls", self.image, "--policy", "split=sometimes", says="push_needed")
        self.refuse("ls", self.image, "--policy", "colour=red")
        self.refuse("ls", self.image, "--cache", "lots", says="--cache")
        self.run_command("ls", self.image, "--policy", "split=never_push,search_hint=off")

    def test_image_full(self):
        self.make_image(size="8M")
        message = self.refuse("put", self.image, "/dev/zero", "/big", says="space")
        self.assertIn("disk.img", message)
        self.assertEqual(self.names(), [])
        self.check()
        tree = self.at("tree")
        for i in range(16):
            self.write("tree/%02d" % i, random.Random(i).randbytes(1 << 20))
        result = self.run_command("import", self.image, tree, exit=REFUSED)
        self.assertIn(b"space", result.errors)
        self.check()
        self.run_command("rm", "-r", self.image, "/tree")
        self.check()
        self.run_command("put", self.image, self.at("tree", "00"), "/00")
        self.check()

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_output(self):
        self.make_image()
        with open("/dev/full", "wb") as full:
            process = subprocess.run([os.environ["CORDWOOD"], "info", self.image], stdout=full,
                                     stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, DAMAGED)
        self.assertIn(b"standard output", process.stderr)


class Making(CommandTest):
    """mkfs: what it refuses stays as it was; what it did not finish is not there."""

    def expect_nothing_made(self, *arguments, says):
        self.refuse("mkfs", *arguments, self.image, says=says)
        self.assertEqual(os.listdir(self.path), [])

    def test_sizes(self):
        for size in ("0", "3M", "1E", "16E", "-1", "1.5G", "big", "", "99999999999999999999", "5000001"):
            with self.subTest(size=size):
                if size == "":
                    continue
                self.expect_nothing_made("--size=" + size, says="")

    def test_node_smaller_than_block(self):
        self.expect_nothing_made("-n", "2K", "-b", "4K", says="node")
        self.expect_nothing_made("-n", "512", says="node")

    def test_node_and_block(self):
        for arguments in (("-n", "128K"), ("-n", "5000"), ("-b", "8K"), ("-b", "256"), ("-b", "1000"),
                          ("-n", "0"), ("-b", "0"), ("-n", "4G"), ("-b", "1T")):
            with self.subTest(arguments=arguments):
                self.expect_nothing_made(*arguments, says="")

    def test_label(self):
        self.expect_nothing_made("--label", "x" * 64, says="label")
        self.expect_nothing_made("--label", b"\xff", says="label")

    def test_no_directory(self):
        self.refuse("mkfs", self.at("none", "disk.img"), says="no such")
        self.refuse("mkfs", self.path, says="directory")
        self.assertEqual(os.listdir(self.path), [])

    def test_file_size_limit(self):
        process = subprocess.run(["sh", "-c", 'ulimit -f 1024; exec "$0" mkfs "$1"',
                                  os.environ["CORDWOOD"], self.image],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertNotEqual(process.returncode, FINE)
        self.assertEqual(os.listdir(self.path), [])

    def test_keeps_what_is_there(self):
        self.make_image()
        self.run_command("mkdir", self.image, "/d")
        before = digest(self.image)
        message = self.refuse("mkfs", self.image, says="--force")
        self.assertIn("Cordwood", message)
        self.refuse("mkfs", "--size", "128M", self.image, says="--force")
        self.refuse("mkfs", "--force", "--size", "3M", self.image)
        self.refuse("mkfs", "--force", "-n", "2K", self.image)
        self.assertEqual(digest(self.image), before)
        self.run_command("mkfs", "--force", self.image)
        self.assertEqual(os.path.getsize(self.image), 64 << 20)
        self.assertEqual(self.names(), [])
        self.check()

    @unittest.skipUnless(have("mkfs.ext4"), "needs mkfs.ext4")
    def test_foreign(self):
        self.write("disk.img")
        os.truncate(self.image, 16 << 20)
        subprocess.run([have("mkfs.ext4"), "-q", self.image], check=True)
        before = digest(self.image)
        self.assertIn("ext", self.refuse("mkfs", self.image, says="--force"))
        self.assertEqual(digest(self.image), before)
        self.run_command("mkfs", "--force", self.image)
        self.check()
        # Nothing of ext4 is left for other programs to find.
        self.assertIn("Cordwood", self.refuse("mkfs", self.image, says="--force"))

    def test_existing_file_keeps_its_size(self):
        self.write("disk.img")
        self.refuse("mkfs", self.image)
        self.assertEqual(os.path.getsize(self.image), 0)
        os.truncate(self.image, 20 << 20)
        os.chmod(self.image, 0o640)
        self.run_command("mkfs", self.image)
        self.assertEqual(os.path.getsize(self.image), 20 << 20)
        self.assertEqual(stat.S_IMODE(os.stat(self.image).st_mode), 0o640)
        self.run_command("mkfs", "--force", "--size", "40M", self.image)
        self.assertEqual(os.path.getsize(self.image), 40 << 20)
        self.run_command("mkfs", "--force", "--size", "10M", self.image)
        self.assertEqual(os.path.getsize(self.image), 10 << 20)
        self.check()

    def test_symlink_to_a_file(self):
        self.write("real.img")
        os.truncate(self.at("real.img"), 20 << 20)
        os.symlink("real.img", self.image)
        self.run_command("mkfs", self.image)
        self.check()
        self.assertTrue(os.path.islink(self.image))


class Usage(CommandTest):
    def test_command_line(self):
        for arguments in ((), ("nonsense",), ("ls",), ("ls", "--nonsense", "x"), ("mv", "x", "/a"),
                          ("export", "x", "/a"), ("dump",), ("dump", "nonsense", "x"),
                          ("tree", "x", "-L", "0"), ("mkfs",), ("mkfs", "a", "b")):
            with self.subTest(arguments=arguments):
                self.assertIn("--help", self.refuse(*arguments))

    def test_help(self):
        self.assertIn("import", self.run_command("--help").text)
        self.assertIn("--force", self.run_command("mkfs", "--help").text)
        self.assertRegex(self.run_command("--version").text, r"\Acordwood \d+\.\d+\.\d+\n\Z")

    def test_relative_paths_in_the_image(self):
        self.make_image()
        for arguments in (("ls", "d"), ("stat", "d"), ("cat", "d"), ("mkdir", "d"), ("rm", "d"),
                          ("mv", "/a", "b"), ("ln", "a", "/b"), ("find", "d"), ("tree", "d"),
                          ("put", "-", "d"), ("get", "d", "-"), ("export", "d", self.at("out"))):
            with self.subTest(arguments=arguments):
                self.assertIn("begins with /", self.refuse(arguments[0], self.image, *arguments[1:]))
        self.assertEqual(os.listdir(self.path), ["disk.img"])


if __name__ == "__main__":
    main()
