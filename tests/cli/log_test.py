"""The log from outside: what dump, check, info and replay say about one that waits, and about one that
is damaged. LEAVE_UNCLOSED names the program that leaves a volume with records in its log."""

import hashlib
import os
import random
import subprocess

from support import DAMAGED, FINDINGS, FINE, REFUSED, CommandTest, main

# Fields of a record's header (docs/FORMAT.md).
MAGIC, FLAGS, SEQUENCE, RECORD_BYTES, INDEX_OFFSET, LEAF_COUNT = 8, 12, 24, 48, 56, 64


class WithLog(CommandTest):
    def setUp(self):
        super().setUp()
        self.run_command("mkfs", "--size", "32M", "--log-size", "256K", self.image)

    def leave(self, *steps):
        process = subprocess.run([os.environ["LEAVE_UNCLOSED"], self.image, *steps],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        self.assertEqual(process.returncode, 0, process.stdout)

    def leave_three_records(self):
        # The first fsync after opening would be a checkpoint.
        self.leave("make=old", "sync", "make=a", "write=a=100", "sync", "make=b", "write=b=10000", "fsync=b",
                   "remove=a", "make=c", "fsync=c")

    def dump(self):
        return self.run_command("dump", self.image, "log", "--json").json

    def check_report(self, exit=FINE):
        return self.run_command("check", "--json", self.image, exit=exit).json

    def finding(self, name, exit=FINE):
        found = [finding for finding in self.check_report(exit)["findings"] if finding["name"] == name]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def digest(self):
        with open(self.image, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def flip(self, byte, bit=1):
        with open(self.image, "r+b") as image:
            image.seek(byte)
            value = image.read(1)[0]
            image.seek(byte)
            image.write(bytes([value ^ bit]))

    def zero(self, byte, count):
        with open(self.image, "r+b") as image:
            image.seek(byte)
            image.write(bytes(count))


class Waiting(WithLog):
    """Records that wait for a replay."""

    def test_dump(self):
        self.leave_three_records()
        before = self.digest()
        log = self.dump()
        self.assertEqual((log["first_block"], log["blocks"], log["bytes"]), (256, 64, 256 << 10))
        self.assertFalse(log["clean"])
        records = log["records"]
        self.assertEqual(len(records), 3)
        for number, record in enumerate(records):
            self.assertEqual(record["sequence"], log["start"]["sequence"] + number)
            self.assertEqual(record["byte"], (log["first_block"] + record["block"]) * 4096)
            self.assertTrue(record["counts"])
            self.assertLessEqual(record["durable_sequence"], record["sequence"])
            self.assertEqual(record["item_count"], sum(leaf["item_count"] for leaf in record["leaves"]))
            self.assertEqual(record["item_count"], sum(len(leaf["items"]) for leaf in record["leaves"]))
        names = [item["item"]["name"] for leaf in records[0]["leaves"] for item in leaf["items"]
                 if item["key"]["type"] == "dir_index"]
        self.assertIn("a", names)
        self.assertTrue(records[2]["tombstones"])
        self.assertEqual(log["plan"]["records"], 3)
        self.assertIsNone(log["plan"]["damage"])
        self.assertEqual(log["end"]["sequence"], records[2]["sequence"] + 1)
        self.assertEqual(log["behind_damage"], [])
        # An item lies where its offset says.
        item = next(item for leaf in records[0]["leaves"] for item in leaf["items"]
                    if item["item"].get("kind") == "inline")
        with open(self.image, "rb") as image:
            image.seek(records[0]["byte"] + item["offset"])
            self.assertIn(b"abcdefghij", image.read(item["bytes"]))
        text = self.run_command("dump", "log", self.image).text
        for words in ("name b", "tombstones", "durable_sequence", "plan", "records 3"):
            self.assertIn(words, text)
        one = self.run_command("dump", self.image, "log", "--count", "1", "--json").json
        self.assertEqual((len(one["records"]), one["records_left_out"]), (1, 2))
        self.assertGreater(one["records"][0]["items_left_out"], 0)
        self.refuse("dump", self.image, "log", "7")
        self.assertEqual(self.digest(), before)

    def test_check_and_info(self):
        self.leave_three_records()
        before = self.digest()
        finding = self.finding("log_waiting")
        self.assertEqual((finding["severity"], finding["place"], finding["detail"]),
                         ("note", "log_record", 3))
        report = self.check_report()
        self.assertTrue(report["clean"])
        self.assertEqual(report["statistics"]["log_records"], 3)
        info = self.run_command("info", "--json", self.image).json
        self.assertEqual((info["log"]["bytes"], info["log"]["records_waiting"]), (256 << 10, 3))
        self.assertEqual(info["log"]["bytes_waiting"], sum(r["bytes"] for r in self.dump()["records"]))
        self.assertRegex(self.run_command("info", self.image).text, r"log +256.0 KiB, 3 records .* wait")
        # Who only looks sees what the log says, and leaves it alone.
        self.assertEqual(self.names(), ["b", "c", "old"])
        self.assertEqual(self.digest(), before)

    def test_replay(self):
        self.leave_three_records()
        before = self.digest()
        planned = self.run_command("replay", "--dry-run", "--json", self.image).json
        self.assertTrue(planned["dry_run"])
        self.assertFalse(planned["refuses"])
        text = self.run_command("replay", "-n", self.image).text
        self.assertIn("would replay 3 records", text)
        self.assertIn("nothing was changed", text)
        self.assertEqual(self.digest(), before)
        done = self.run_command("replay", "--json", self.image).json
        self.assertEqual(done["plan"], planned["plan"])
        self.assertTrue(self.run_command("info", "--json", self.image).json["clean"])
        self.assertEqual(self.check_report()["notes"], 0)
        self.assertEqual(self.names(), ["b", "c", "old"])
        self.assertEqual(len(self.run_command("cat", self.image, "/b").output), 10000)
        self.assertEqual(self.dump()["records"], [])
        again = self.digest()
        self.assertIn("no records", self.run_command("replay", self.image).text)
        self.assertEqual(self.digest(), again)

    def test_replay_by_any_command(self):
        self.leave_three_records()
        self.run_command("mkdir", self.image, "/d")
        self.assertEqual(self.names(), ["b", "c", "d", "old"])
        self.check()
        self.assertTrue(self.dump()["clean"])

    def test_nothing_to_replay(self):
        self.leave("make=a", "checkpoint")
        log = self.dump()
        self.assertEqual((log["clean"], log["records"], log["plan"]["records"]), (False, [], 0))
        self.assertIn("no records", self.run_command("replay", self.image).text)
        self.assertTrue(self.dump()["clean"])
        self.check()

    def test_wraps(self):
        """The ring is gone through, until a record lies on both sides of its end."""
        ring_blocks, files, left = 64, 0, 64
        while left > 8:
            self.leave("make=%d" % files, "sync", *("make=%d-%d" % (files, i) for i in range(40)), "sync")
            files += 41
            last = self.dump()["records"][-1]
            self.assertFalse(last["wraps"])
            left = ring_blocks - last["block"] - last["bytes"] // 4096
        self.leave("make=last", "sync", *("make=last-%d" % i for i in range(250)), "sync")
        self.assertTrue(self.dump()["records"][-1]["wraps"])
        self.run_command("replay", self.image)
        self.assertEqual(len(self.names()), files + 251)
        self.check()

    def test_statistics(self):
        tree = self.at("tree")
        self.write("tree/a", b"x" * 1000)
        report = self.run_command("import", "--json", self.image, tree).json
        for field in ("gate_closed_ns", "group_sizes"):
            self.assertEqual(sorted(report[field]), ["count", "max", "p50", "p99"])
        self.assertIn("device_commands_per_fsync", report)
        self.assertEqual(report["log_bytes"], 256 << 10)
        for counter in ("fsyncs", "commits", "log_records", "log_device_commands"):
            self.assertIn(counter, report["counters"])

    def test_policy(self):
        for policy in ("log_copy=per_item", "log_dirty=whole", "whole_threshold=50,log_copy=bulk"):
            self.assertIn(policy.split(",")[0],
                          self.run_command("info", "--json", self.image, "--policy", policy).json["policy"])
        self.refuse("info", self.image, "--policy", "whole_threshold=101", says="1 to 100")
        self.assertIn("log_copy", self.run_command("--help").text)


class Damaged(WithLog):
    """Bits of the log that are not what was written."""

    def setUp(self):
        super().setUp()
        self.leave_three_records()
        self.records = self.dump()["records"]

    def expect_damage(self, sequence):
        """Nothing opens the volume; every message names the record and the way on."""
        before = self.digest()
        record = "log record %d" % sequence
        for command in (("ls",), ("info",), ("mkdir", "/d"), ("replay",), ("replay", "--dry-run")):
            result = self.run_command(command[0], self.image, *command[1:], exit=DAMAGED)
            message = result.errors.decode()
            self.assertRegex(message, r"\Acordwood: [^\n]+\n\Z")
            for words in ("disk.img", record, "cordwood check", "replay --discard-log"):
                self.assertIn(words, message)
        finding = self.finding("log_record_damaged", exit=FINDINGS)
        self.assertEqual((finding["severity"], finding["where"]), ("error", sequence))
        plan = self.run_command("replay", "-n", "--json", self.image, exit=DAMAGED).json
        self.assertTrue(plan["refuses"])
        self.assertIn(record, plan["plan"]["damage"])
        log = self.dump()
        self.assertEqual(log["end"]["sequence"], sequence)
        self.run_command("dump", self.image, "log")
        self.assertEqual(self.digest(), before)
        return log

    def test_durable_record(self):
        self.flip(self.records[1]["byte"] + 300)
        log = self.expect_damage(self.records[1]["sequence"])
        self.assertEqual(len(log["records"]), 1)
        self.assertIn("not whole", log["end"]["found"])
        self.assertEqual([record["sequence"] for record in log["behind_damage"]],
                         [self.records[2]["sequence"]])

    def test_discard(self):
        self.flip(self.records[1]["byte"] + 300)
        before = self.digest()
        # Looking only leaves everything as it is.
        self.assertEqual(self.run_command("ls", self.image, "--discard-log").text, "a\nold\n")
        self.assertIn("damaged", self.run_command("--discard-log", "info", self.image).text)
        text = self.run_command("replay", "-n", "--discard-log", self.image).text
        self.assertIn("would give up", text)
        self.assertEqual(self.digest(), before)
        done = self.run_command("replay", "--discard-log", "--json", self.image).json
        self.assertEqual((done["plan"]["records"], done["discard_log"]), (1, True))
        self.assertIn("log record", done["plan"]["damage"])
        self.assertEqual(self.check_report()["notes"], 0)
        self.assertEqual(self.names(), ["a", "old"])
        self.run_command("mkdir", self.image, "/d")
        self.check()

    def test_discard_by_any_command(self):
        self.flip(self.records[0]["byte"] + 200)
        self.run_command("mkdir", self.image, "/d", "--discard-log")
        self.assertEqual(self.names(), ["d", "old"])
        self.check()

    def test_fields_of_the_header(self):
        for field in (0, MAGIC, FLAGS, 16, SEQUENCE, 32, 40, RECORD_BYTES, RECORD_BYTES + 7, INDEX_OFFSET,
                      LEAF_COUNT, LEAF_COUNT + 3, 127):
            with self.subTest(field=field):
                self.flip(self.records[0]["byte"] + field)
                self.expect_damage(self.records[0]["sequence"])
                self.flip(self.records[0]["byte"] + field)
        self.run_command("replay", self.image)

    def test_zeroed(self):
        self.zero(self.records[1]["byte"], 4096)
        log = self.expect_damage(self.records[1]["sequence"])
        self.assertEqual(log["end"]["found"], "no record")

    def test_torn_tail(self):
        """Nobody can know whether the last record was durable: it is as if it had never been written."""
        self.flip(self.records[2]["byte"] + 300)
        report = self.check_report()
        self.assertTrue(report["clean"])
        self.assertEqual(report["statistics"]["log_records"], 2)
        self.assertIn("not whole", self.dump()["end"]["found"])
        self.run_command("replay", self.image)
        self.assertEqual(self.names(), ["a", "b", "old"])
        self.check()

    def test_cut_short(self):
        """The device ends within the log."""
        self.run_command("mkfs", "--force", "--size", "64M", "--log-size", "16M", self.image)
        self.leave_three_records()
        os.truncate(self.image, 8 << 20)
        self.assertIn("error", self.dump()["plan"])
        self.run_command("check", self.image, exit=FINDINGS)
        self.refuse("replay", "-n", self.image, exit=DAMAGED, says="disk.img")
        self.refuse("replay", self.image, exit=DAMAGED, says="disk.img")

    def test_every_bit_or_so(self):
        """Whatever is flipped: an answer, and after giving up what is damaged a volume that is whole."""
        with open(self.image, "rb") as image:
            whole = image.read()
        end = self.records[2]["byte"] + self.records[2]["bytes"]
        source = random.Random(5)
        for round in range(60):
            with open(self.image, "wb") as image:
                image.write(whole)
            byte = source.randrange(self.records[0]["byte"], end)
            self.flip(byte, 1 << source.randrange(8))
            with self.subTest(byte=byte):
                self.dump()
                planned = subprocess.run([os.environ["CORDWOOD"], "replay", "-n", self.image],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertIn(planned.returncode, (FINE, DAMAGED))
                found = subprocess.run([os.environ["CORDWOOD"], "check", self.image],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(found.returncode, FINE if planned.returncode == FINE else FINDINGS)
                self.run_command("replay", "--discard-log", self.image)
                self.check()

    def test_missing(self):
        self.refuse("replay", self.at("none.img"), says="none.img")
        self.refuse("replay", "-n", self.at("none.img"), says="none.img")
        self.write("random", random.Random(1).randbytes(8 << 20))
        self.refuse("replay", self.at("random"), exit=REFUSED)
        self.refuse("replay", "-n", self.at("random"), exit=REFUSED)
        self.refuse("replay", exit=REFUSED, says="--help")


class Cut(WithLog):
    """Whole records that do not count."""

    def test_data_that_did_not_arrive(self):
        self.leave("make=old", "sync", "make=b", "write=b=10000", "fsync=b")
        record, = self.dump()["records"]
        extent = next(item["item"] for leaf in record["leaves"] for item in leaf["items"]
                      if item["key"]["type"] == "extent")
        self.zero(extent["block"] * 4096, 4096)
        log = self.dump()
        self.assertEqual((log["plan"]["records"], log["plan"]["cut_records"]), (0, 1))
        self.assertFalse(log["records"][0]["counts"])
        self.assertIn("data", log["records"][0]["why_not"])
        self.assertEqual(self.finding("log_cut")["severity"], "note")
        self.assertIn("do not count", self.run_command("replay", "-n", self.image).text)
        self.assertIn("do not count", self.run_command("replay", self.image).text)
        self.assertEqual(self.names(), ["old"])
        self.check()

    def test_batch_that_is_not_complete(self):
        names = ["make=%03d" % i for i in range(400)]
        self.leave("make=old", "sync", *names, "sync")
        first, second = self.dump()["records"]
        self.assertTrue(first["batch_continues"])
        self.assertFalse(second["batch_continues"])
        self.flip(second["byte"] + 1000)
        log = self.dump()
        self.assertIn("batch", log["plan"]["cut_reason"])
        self.assertIn("batch", log["records"][0]["why_not"])
        self.run_command("replay", self.image)
        self.assertEqual(self.names(), ["old"])
        self.check()


class Making(CommandTest):
    def test_log_size(self):
        for size, bytes in (("256K", 256 << 10), ("3M", 3 << 20), ("16M", 16 << 20)):
            made = self.run_command("mkfs", "--force", "--size", "64M", "--log-size", size, "--json",
                                    self.image).json
            self.assertEqual(made["log_bytes"], bytes)
            info = self.run_command("info", "--json", self.image).json
            self.assertEqual(info["log"]["bytes"], bytes)
            self.check()
        made = self.run_command("mkfs", "--force", "--json", self.image).json
        self.assertEqual(made["log_bytes"], 1 << 20)
        self.assertIn("a log of 1.0 MiB", self.run_command("mkfs", "--force", self.image).text)

    def test_bad_log_size(self):
        for size in ("0", "255K", "300001", "17M", "1E", "big", "-1"):
            with self.subTest(size=size):
                self.refuse("mkfs", "--size", "64M", "--log-size=" + size, self.image, says="log")
                self.assertEqual(os.listdir(self.path), [])


if __name__ == "__main__":
    main()
