#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What samples stand for: shares by their periods, beside perf's own."""

import collections
import json
import os
import re
import struct

from harness import (BUILD, ROOT, Skip, case, check, check_refused, ctop, ctop_ok, directory, folded, main,
                     need_program, need_root, run, weighed)
from recorded_by_perf import parse, perf_record

VERSION_2 = os.path.join(ROOT, "tests", "golden", "recordings", "version-2")
WORKLOAD = os.path.join(BUILD, "workloads", "weights")
OWN = ("touch_pages", "touch_few", "sleep_often", "sleep_seldom", "call_often", "call_seldom", "called", "spin_long",
       "spin_short")
# Percent, of the same file.
TOLERANCE = 0.5


def perfs_shares(path):
    """{event: {function: percent of the stacks that it is in}}, as perf report has them."""
    report = run(need_program("perf"), "report", "-i", path, "--children", "--stdio", "-F", "overhead_children,sym",
                 "-g", "none", "--percent-limit", "0")
    check(report.returncode == 0, report.stderr)
    shares = collections.defaultdict(dict)
    event = None
    for line in report.stdout.splitlines():
        if found := re.match(r"# Samples: \S+\s+of event '(.*)'", line):
            event = found.group(1)
        elif found := re.match(r"\s+([\d.]+)%\s+\[.\] (\w+)\s*$", line):
            shares[event][found.group(2)] = float(found.group(1))
    return shares


def own_shares(path, event):
    """{function: (self percent, total percent, samples)} of a report."""
    text = ctop_ok("report", "--stdio", "--min-percent", 0, "--limit", 0, "--event", event, path).stdout
    rows = re.findall(r"^ *([\d.]+) +([\d.]+) +([\d,]+)  (\w+) ", text, re.M)
    return {name: (float(own), float(total), int(samples.replace(",", ""))) for own, total, samples, name in rows}


def check_like_perf(path, *events):
    shares = perfs_shares(path)
    for event in events:
        check(event in shares, f"perf has no {event}: {list(shares)}")
        own = own_shares(path, event)
        known = {name: share for name, share in shares[event].items() if name in OWN}
        check(known, f"{event}: {shares[event]}")
        for name, share in known.items():
            check(abs(own.get(name, (0, 0, 0))[1] - share) <= TOLERANCE,
                  f"{event}: {name} has {own.get(name)}, perf says {share}")


def header_of(path, *options):
    text = ctop_ok("report", "--stdio", *options, path).stdout.split("\n\n")[0]
    return {line[:10].rstrip(): line[11:] for line in text.splitlines()}


def record_pages(where):
    path = os.path.join(where, "pages.ctop")
    ctop_ok("record", "-q", "-e", "page-faults", "-F", 999, "-o", path, "--", WORKLOAD)
    return path


@case
def shares_are_perfs():
    with directory() as where:
        path = os.path.join(where, "perf.data")
        perf_record(path, "-e", "page-faults,context-switches,cpu-clock", "-F", "999", "--call-graph", "dwarf,4096",
                    "--", WORKLOAD)
        check_like_perf(path, "page-faults", "context-switches", "cpu-clock")


@case
def shares_of_probes_are_perfs():
    """Tracepoints and uprobes need tracefs: one mounted for this case alone."""
    need_root()
    perf = need_program("perf")
    mounted = ("unshare", "-m", "sh", "-c", '[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"', "sh")
    group = f"weights_{os.getpid()}"
    result = run(*mounted, perf, "probe", "-q", "-x", WORKLOAD, "--add", f"{group}:called=called")
    if result.returncode:
        raise Skip(f"perf probe: {result.stderr.strip().splitlines()[-1:]}")
    try:
        with directory() as where:
            path = os.path.join(where, "perf.data")
            events = f"{group}:called", "syscalls:sys_enter_getppid"
            result = run(*mounted, perf, "record", "-q", "-e", ",".join(events), "-F", "999", "--call-graph", "dwarf,4096",
                         "-o", path, "--", WORKLOAD)
            if result.returncode:
                raise Skip(f"perf record: {result.stderr.strip().splitlines()[-1:]}")
            check_like_perf(path, *events)
            check(" hits in " in header_of(path)["weight"], "what they count is not said")
    finally:
        run(*mounted, perf, "probe", "-q", "-d", f"{group}:*")


@case
def every_view_has_the_periods_recorded():
    """How many faults a sample stands for is the kernel's to say; all that ctop shows of it is to be the same."""
    with directory() as where:
        path = record_pages(where)
        by_period = collections.Counter()
        for sample in parse(ctop_ok("export", "script", path).stdout):
            by_period[sample.frames[0][1]] += sample.period
        by_leaf = collections.Counter()
        for line in ctop_ok("export", "folded", path).stdout.splitlines():
            stack, _, count = line.rpartition(" ")
            by_leaf[stack.split(";")[-1]] += int(count)
        weight, samples = sum(by_period.values()), sum(folded(path).values())
        check(sum(by_leaf.values()) == weight, f"{by_leaf}, {by_period}")
        check(samples < weight, f"{samples} samples of {by_leaf}")
        shares = own_shares(path, "page-faults")
        for name in OWN:
            check(by_leaf[name] == by_period[name], f"{name}: {by_leaf}, {by_period}")
            check(abs(100 * by_leaf[name] / weight - shares.get(name, (0, 0, 0))[0]) < 0.01, f"{name}: {by_leaf}, {shares}")
        shown = header_of(path)["weight"]
        check(re.match(rf"[\d.,]+ ([kMG] )?faults in {samples:,} samples", shown), shown)


@case
def the_header_is_about_the_event_shown():
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        stats_path = os.path.join(where, "stats.json")
        ctop_ok("record", "-q", "-e", "cpu-clock,page-faults", "-F", 999, "-o", path, "--stats", stats_path, "--", WORKLOAD)
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        # By event, where the kernel says of which the lost ones were.
        of_each = sum(event["lost"] for event in stats["events"]) == stats["lost"]
        for number, (event, unit) in enumerate((("cpu-clock", r"[\d.]+ m?s"), ("page-faults", r"[\d.,]+ ([kMG] )?faults"))):
            lost = f"{stats['events'][number]['lost']:,}" if of_each else f"{stats['lost']:,} of all events"
            samples = sum(folded(path, "--event", event).values())
            header = header_of(path, "--event", event)
            check(f", {samples:,} samples, lost {lost}" in header["duration"], f"{event}: {header}, {stats['events']}")
            check(re.match(rf"{unit} in {samples:,} samples", header["weight"]), f"{event}: {header}")
            check("filter" not in header, f"{event}: {header}")


def set_periods(path, period_of):
    """In a perf.data of one event, without chains: period_of(number of the sample)."""
    with open(path, "r+b") as file:
        at, size = struct.unpack_from("<QQ", file.read(104), 40)
        end, nr = at + size, 0
        while at < end:
            file.seek(at)
            kind, _, size = struct.unpack("<IHH", file.read(8))
            if kind == 9:  # PERF_RECORD_SAMPLE: ip, pid and tid, time, period
                check(size == 40, f"a sample of {size} bytes")
                file.seek(at + 32)
                file.write(struct.pack("<Q", period_of(nr)))
                nr += 1
            at += size
    return nr


@case
def periods_that_cannot_be():
    """Their sum would be a number of its own, and shares of it anything."""
    with directory() as where:
        path = os.path.join(where, "perf.data")
        perf_record(path, "-e", "page-faults", "-F", "999", "--", WORKLOAD)
        nr = set_periods(path, lambda number: 2**64 - 1 - number)
        result = ctop_ok("report", "--stdio", "--min-percent", 0, path)
        check(f"{nr:,} cut: samples with impossible weights" in result.stdout, result.stdout)
        check(f"9.22 E faults in {nr:,} samples" in result.stdout, result.stdout)
        shares = [float(share) for share in re.findall(r"^ *([\d.]+) +[\d.]+ +[\d,]+  ", result.stdout, re.M)]
        check(shares and 99 < sum(shares) < 101, f"{shares}")
        lines = ctop_ok("export", "folded", path).stdout.splitlines()
        check(sum(int(line.rpartition(" ")[2]) for line in lines) == 2**63 - 1, f"{lines}")
        check(sum(folded(path).values()) == nr, "samples are missing")
        # No period at all: each is a sample yet.
        check(set_periods(path, lambda number: 0) == nr, "other samples")
        check(header_of(path)["weight"].startswith(f"{nr:,} faults in {nr:,} samples"), header_of(path)["weight"])


@case
def only_folded_stacks_are_counted():
    check_refused(ctop("export", "script", "--samples", VERSION_2), 2, "--samples is for folded", "leave out")


@case
def a_recording_of_version_2_is_read():
    """Its events had but two units."""
    script = ctop_ok("export", "script", VERSION_2).stdout
    check(script.count(" page-faults: \n") == 11, script)
    check("touch_pages" in ctop_ok("report", VERSION_2).stdout, "no names")
    check(header_of(VERSION_2)["weight"] == "4,609 events in 11 samples; the kernel counted 4,092 events", header_of(VERSION_2)["weight"])


def paced(where, *arguments, event="page-faults", workload=(os.path.join(BUILD, "workloads", "paced"),)):
    """(what --stats says of the event, {stack: weight}, {stack: samples}) where -F is asked of what the kernel has no clock for."""
    path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
    ctop_ok("record", "-q", "-e", event, "-F", 999, "-o", path, "--stats", stats, "--", *workload, *arguments)
    with open(stats, encoding="utf-8") as file:
        counts = json.load(file)["events"][0]
    if "sets" not in counts or counts["lost"]:
        raise Skip(f"others have the CPUs: {counts}")
    return counts, weighed(path), folded(path)


def check_weighs(counts, percent=5):
    off = abs(counts["counted"] - counts["sampled"])
    check(off * 100 <= counts["counted"] * percent, f"{counts}")


def of_function(stacks, name):
    return sum(count for stack, count in stacks.items() if name in stack)


@case
def a_rare_event_is_sampled_each_time():
    with directory() as where:
        counts, weights, samples = paced(where, "every", 20000, 50)
    check_weighs(counts)
    check(of_function(samples, "touch") >= 40 and of_function(weights, "touch") <= 60, f"{samples}, {weights}, {counts}")


@case
def what_comes_after_a_burst_is_sampled():
    with directory() as where:
        counts, weights, samples = paced(where, "burst")
    check_weighs(counts)
    few = of_function(samples, "one_by_one")
    # Of 400: where the CPUs are busy the rate comes down late. Without sets of events there is none.
    check(few >= 3, f"{few} samples behind the burst: {counts}")
    check(of_function(weights, "one_by_one") < 0.05 * counts["counted"], f"{weights}")


def check_thinned(counts, _, samples):
    """A busy machine may have fewer faults than were asked for: of those each is a sample."""
    check_weighs(counts)
    asked, nr = 999 * sum(taken["seconds"] for taken in counts["sets"]), sum(samples.values())
    check(nr < counts["counted"] or counts["counted"] < 2 * asked, f"{counts}")
    # Until it is seen that there are so many, each is a sample: on a busy machine for a while.
    one_by_one = min(0.3, sum(taken["seconds"] for taken in counts["sets"] if taken["period"] == 1))
    unseen = one_by_one * counts["counted"] * 999 / asked
    check(nr < 2 * asked + 100 + unseen, f"{nr}: {counts}")


@case
def a_rate_above_the_one_asked_for_is_thinned_out():
    with directory() as where:
        check_thinned(*paced(where, "every", 150, 8000))
        check_thinned(*paced(where, "always", 1500))


@case
def probes_are_paced_like_faults():
    need_root()
    with directory() as where:
        program = os.path.join(BUILD, "workloads", "paced")
        counts, _, samples = paced(where, "burst", event=f"uprobe:{program}:touch")
        # A hit while sets are switched is counted in both.
        check(20400 <= counts["counted"] < 20410, f"{counts}")
        check_weighs(counts)
        check(of_function(samples, "one_by_one") >= 20, f"{samples}")


@case
def a_system_wide_tracepoint_weighs_what_it_counts():
    need_root()
    with directory() as where:
        path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        # Without copies: some thousand calls within a ms are more than rings hold of large ones.
        ctop_ok("record", "-q", "-a", "-e", "syscalls:sys_enter_getppid", "-F", 999, "--call-graph", "no", "-o", path,
                "--stats", stats, "--", WORKLOAD)
        with open(stats, encoding="utf-8") as file:
            counts = json.load(file)["events"][0]
        if counts["lost"]:
            raise Skip(f"others have the CPUs: {counts}")
        # Six rounds of 3,030 calls, and what others of the machine ask.
        own = sum(weight for stack, weight in weighed(path).items() if stack[0] == os.path.basename(WORKLOAD))
        check(18180 <= counts["counted"], f"{counts}")
        check_weighs(counts)
        check_weighs({"counted": 18180, "sampled": own})


@case
def a_clock_keeps_its_rate_beside_a_burst():
    with directory() as where:
        path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        ctop_ok("record", "-q", "-e", "cpu-clock,page-faults", "-F", 999, "-o", path, "--stats", stats,
                "--", os.path.join(BUILD, "workloads", "paced"), "always", 1000)
        with open(stats, encoding="utf-8") as file:
            recorded = json.load(file)
        clock, faults = recorded["events"]
        check("sets" not in clock, f"{clock}")
        if "sets" not in faults or recorded["sets"][1]["seconds"]:
            raise Skip(f"others have the CPUs: {recorded['sets']}")
        check_weighs(faults)
        # ns of the clock, each ms of which is a sample.
        check(clock["samples"] * 1.2e6 >= clock["counted"], f"{clock}")


if __name__ == "__main__":
    main()
