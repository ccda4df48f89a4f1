#!/usr/bin/env python3
"""Shows a JSON report of `cordwood import`, `export`, `check` or `scrub` as a table for people.

    cordwood import --json disk.img tree | show_report.py
    show_report.py REPORT.json
"""

import json
import sys

BYTES_BY_KIND = (
    ("file data", "data_bytes_written"),
    ("nodes", "node_bytes_written"),
    ("node table", "table_bytes_written"),
    ("bitmaps and groups", "space_bytes_written"),
    ("superblocks", "superblock_bytes_written"),
)


def row(name, value, remark=""):
    print("  %-22s %16s  %s" % (name, value, remark))


def count(number):
    return "{:,}".format(number)


def size(number):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor:
            return "%.1f %s" % (number / factor, unit)
    return "%d B" % number


def show_transfer(report):
    seconds = report["seconds"]
    row("entries", count(report["entries"]), ", ".join(
        "%s %s" % (count(report[kind]), kind.replace("_", " "))
        for kind in ("files", "directories", "symlinks", "specials", "hard_links", "xattrs") if report[kind]))
    row("content", size(report["bytes"]))
    imported = report["counters"]["inserts"] > 0
    row("time", "%.2f s" % seconds, "until all of it was durable" if imported else "")
    if seconds > 0:
        row("entries per second", count(round(report["entries"] / seconds)))
        row("content per second", size(report["data_bytes"] / seconds))
    if report["failed"]:
        row("failed", count(report["failed"]))
    show_engine(report, report["counters"])


def show_engine(report, counters):
    row("nodes", count(report["nodes"]), "%d levels" % report["tree_levels"])
    if counters["inserts"] == 0:
        show_reads(counters)
        return
    row("leaf fill", "%.1f %%" % (report["leaf_fill_permille"] / 10), "of the leaves in memory")
    row("policy", report["policy"])
    row("splits", count(counters["splits"]), "%s more opened an empty right neighbour for an append" %
        count(counters["append_splits"]))
    row("pushes", count(counters["pushes"]), "%s moved to a sibling instead of a split" %
        size(counters["pushed_bytes"]))
    searches = counters["hint_hits"] + counters["descents"]
    row("hint hits", count(counters["hint_hits"]), "%.1f %% of %s searches needed no descent" % (
        100 * counters["hint_hits"] / max(searches, 1), count(searches)))
    row("checkpoints", count(counters["checkpoints"]), "%s nodes written" % count(counters["nodes_written"]))
    total = sum(counters[key] for _, key in BYTES_BY_KIND)
    row("bytes written", size(total))
    for name, key in BYTES_BY_KIND:
        row("  " + name, size(counters[key]), "%.1f %%" % (100 * counters[key] / max(total, 1)))


def show_reads(counters):
    row("nodes read", count(counters["node_loads"]))
    row("bytes read", size(counters["bytes_read"]))


def show_check(report):
    seen = report["statistics"]
    row("clean", "yes" if report["clean"] else "NO", "%d errors, %d warnings, %d notes" % (
        report["errors"], report["warnings"], report["notes"]))
    row("nodes", count(seen["nodes"]), "%s leaves, %.1f %% full" % (
        count(seen["leaves"]), seen["leaf_fill_permille"] / 10))
    row("items", count(seen["items"]))
    row("inodes", count(seen["inodes"]), "%s names" % count(seen["names"]))
    row("extents", count(seen["extents"]))
    row("data verified", size(seen["data_bytes_verified"]))
    for finding in report["findings"]:
        print("  %s: %s" % (finding["severity"], finding["sentence"]))


def main():
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as file:
            report = json.load(file)
    else:
        report = json.load(sys.stdin)
    report = report.get("check", report)
    if "statistics" in report:
        show_check(report)
    else:
        show_transfer(report)


if __name__ == "__main__":
    main()
