"""What the tests of the command line share. Python's standard library only.

The environment variable CORDWOOD names the command to test; each test works in a directory of its own,
which goes away afterwards. Tests that need root are skipped without it and say so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FINE, FINDINGS, REFUSED, DAMAGED = 0, 1, 2, 3
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")
# Node and block sizes that the engine promises to work with, and the default.
SIZES = (("4K", "4K"), ("4K", "512"), ("64K", "4K"), ("64K", "512"), ("16K", "4K"))


def need_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root")(test)


class Result:
    def __init__(self, process):
        self.exit = process.returncode
        self.output = process.stdout
        self.errors = process.stderr

    @property
    def text(self):
        return self.output.decode()

    @property
    def json(self):
        return json.loads(self.output)


class CommandTest(unittest.TestCase):
    """A test with a directory, self.path, and the command, self.run_command()."""

    maxDiff = None

    def setUp(self):
        self.path = tempfile.mkdtemp(prefix="cordwood-test-")
        self.addCleanup(self.remove_directory)
        self.image = self.at("disk.img")

    def remove_directory(self):
        # rm and not shutil: it manages any depth, and its own errors do not matter here.
        subprocess.run(["chmod", "-R", "u+rwx", self.path], stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", self.path])

    def at(self, *names):
        return os.path.join(self.path, *names)

    def run_command(self, *arguments, exit=FINE, stdin=b"", timeout=300):
        """Runs the command and expects an exit code; a signal or an unexpected code fails the test."""
        process = subprocess.run([os.environ["CORDWOOD"], *arguments], input=stdin,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        self.assertEqual(process.returncode, exit,
                         "cordwood %r\n%s\n%s" % (arguments, process.stdout[-2000:].decode(errors="replace"),
                                                  process.stderr[-2000:].decode(errors="replace")))
        return Result(process)

    def refuse(self, *arguments, exit=REFUSED, says="", stdin=b""):
        """Expects an error of one line that names the program and contains `says`."""
        result = self.run_command(*arguments, exit=exit, stdin=stdin)
        message = result.errors.decode()
        self.assertRegex(message, r"\Acordwood: [^\n]+\n\Z")
        self.assertIn(says, message)
        return message

    def make_image(self, size="64M", node="16K", block="4K", image=None):
        image = image or self.image
        self.run_command("mkfs", "-n", node, "-b", block, "--size", size, image)
        return image

    def check(self, image=None):
        """The volume is in order."""
        report = self.run_command("check", "--json", image or self.image).json
        self.assertTrue(report["clean"], report)

    def names(self, path="/", image=None):
        return [entry["name"] for entry in self.run_command("ls", "--json", image or self.image, path).json]

    def write(self, name, content=b"", mode=None):
        path = self.at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def compare(self, first, second, *options):
        process = subprocess.run([sys.executable, os.path.join(SCRIPTS, "compare_trees.py"), *options,
                                  first, second], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(process.returncode, 0, process.stdout.decode(errors="replace"))

    def round_trip(self, tree, *options, size="64M", node="16K", block="4K", image=None, timeout=300):
        """Imports the content of a tree, checks, exports and compares; gives the import's report."""
        image = self.make_image(size=size, node=node, block=block, image=image)
        report = self.run_command("import", "--json", image, tree + "/.", timeout=timeout).json
        self.assertEqual(report["failed"], 0)
        self.check(image)
        target = self.at("exported-%s-%s" % (node, block))
        exported = self.run_command("export", "--json", image, "/", target, timeout=timeout).json
        self.assertEqual(exported["failed"], 0)
        for field in ("entries", "files", "directories", "symlinks", "specials", "hard_links", "xattrs",
                      "bytes"):
            self.assertEqual(report[field], exported[field], field)
        self.compare(tree, target, *options)
        subprocess.run(["chmod", "-R", "u+rwx", target], stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", target])
        os.unlink(image)
        return report


def have(program):
    return shutil.which(program) or shutil.which(program, path="/sbin:/usr/sbin")


def main():
    if "CORDWOOD" not in os.environ:
        sys.exit("set CORDWOOD to the command that is to be tested")
    os.environ["CORDWOOD"] = os.path.abspath(os.environ["CORDWOOD"])
    os.umask(0o022)
    unittest.main(verbosity=1)
