"""Cases that take long: many links, many entries."""

import os

from round_trip_test import Builder
from support import CommandTest, main


class HardLinks(CommandTest):
    # tmpfs gives one file as many names as one likes; ext4 stops at 65,000.
    parent = "/dev/shm" if os.path.isdir("/dev/shm") else None

    def test_hundred_thousand_names(self):
        tree = self.at("tree")
        builder = Builder(tree)
        first = builder.file("d000/000000", b"linked")
        for i in range(1, 100_000):
            name = "d%03d/%06d" % (i // 1000, i)
            os.makedirs(os.path.dirname(builder.at(name)), exist_ok=True)
            try:
                os.link(first, builder.at(name))
            except OSError:
                first = builder.file(name, b"linked again")
        report = self.round_trip(tree, size="256M")
        self.assertEqual(report["files"] + report["hard_links"], 100_000)


class Many(CommandTest):
    def test_large_directory(self):
        tree = self.at("tree")
        builder = Builder(tree)
        for i in range(100_000):
            with open(builder.at("entry %06d" % (i * 7919 % 1000003)), "wb"):
                pass
        self.round_trip(tree, size="256M")

    def test_large_file(self):
        tree = self.at("tree")
        builder = Builder(tree)
        piece = builder.bytes(1 << 20)
        with open(builder.at("large"), "wb") as file:
            for i in range(512):
                file.write(i.to_bytes(8, "little") + piece[8:])
        self.round_trip(tree, size="1G")


if __name__ == "__main__":
    main()
