#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop merge`: several recordings in one; their totals, their times, and their labels, which tell them apart."""

import collections
import json
import os
import re
import subprocess
import sys

import exporting
from exporting import HOSTILE
from harness import CTOP, case, check, check_refused, child, ctop, ctop_ok, directory, folded, main, need_program, need_root, run, weighed
from made_recording import KERNEL, KERNEL_CHAIN, NANOSECONDS, MadeRecording


def made(where, name, nr=10, **facts):
    """A function of that name, called by the kernel's too: at addresses where others have others."""
    recording = MadeRecording()
    recording.event("cpu-clock", NANOSECONDS, period=1000000)
    function = recording.frame(recording.module(b"/bin/prog"), 0x1000, name)
    kernel = recording.frame(recording.module(b"[kernel]", KERNEL), 0xFFFFFFFF81000010, "sys_" + name)
    for i in range(nr):
        recording.sample(1000000 * (i + 1), recording.task(100, 100, "prog"), [function, kernel][:1 + i % 2], weight=1000000,
                         method=KERNEL_CHAIN)
    recording.facts = facts
    return recording.write(os.path.join(where, name + ".ctop"))


def pair(where):
    """Two hosts, one start of each, the same pids."""
    a = made(where, "one", 30, hostname="web1", start_ns="1000000", **{"start_wall_ns": "1700000000000000000", "label.env": "test"})
    b = made(where, "two", 20, hostname="web2", **{"start_wall_ns": "1700000000500000000", "start_ns": "1000000", "stats.lost": "7"})
    return a, b


@case
def what_was_sampled_adds_up_and_labels_tell_it_apart():
    with directory() as where:
        a, b = pair(where)
        out = os.path.join(where, "all.ctop")
        ctop_ok("merge", out, a, b)
        check(weighed(out) == weighed(a) + weighed(b), weighed(out))
        for label, path in (("host=web1", a), ("host=web2", b), ("file=two.ctop", b), ("env=test", a)):
            check(folded(out, "--label", label) == folded(path), label)
        check_refused(ctop("report", out, "--label", "env=test", "--label", "host=web2"), 1, "none of 50 samples")
        header = ctop_ok("report", "--stdio", out).stdout
        check("labels     1: host=web1, 1: env=test, 1: file=one.ctop, 2: host=web2, 2: file=two.ctop\n" in header, header)
        facts = json.loads(ctop_ok("export", "json", out).stdout)["facts"]
        check((facts["sources"], facts["source.2.hostname"], facts["stats.samples"]) == ("2", "web2", "50"), facts)
        check("hostname" not in facts and facts["duration_ns"] == "1500000000", facts)
        check("Nothing differs" in ctop_ok("diff", out, a, "--label", "host=web1").stdout, "a part of it")


@case
def pprof_has_the_labels_of_each_sample():
    with directory() as where:
        out, profile = os.path.join(where, "all.ctop"), os.path.join(where, "all.pb.gz")
        ctop_ok("merge", out, *pair(where))
        ctop_ok("export", "pprof", out, "-o", profile)
        tags = run(need_program("go"), "tool", "pprof", "-symbolize=none", "-sample_index=cpu-clock", "-unit=ns", "-tags", profile,
                   env={**os.environ, "PPROF_TMPDIR": where}).stdout
        for line in r"host: Total 50000000.*\n +30000000.*: web1\n +20000000.*: web2", r"env: Total 30000000.*\n +30000000.*: test":
            check(re.search(line, tags), tags)


@case
def times_are_those_of_the_wall():
    with directory() as where:
        a = made(where, "a", 10, start_wall_ns="1700000000000000000", start_ns="5")
        b = made(where, "b", 10, start_wall_ns="1700000003000000000", start_ns="900000000000")
        c = made(where, "c", 10)  # knows no time: it follows
        out = os.path.join(where, "out.ctop")
        ctop_ok("merge", out, a, c)
        times = [line.split(":")[0].split()[-1] for line in ctop_ok("export", "script", out).stdout.splitlines() if "cpu-clock" in line]
        check(len(times) == 20 and float(times[-1]) - float(times[0]) < 0.1, times)
        other = os.path.join(where, "other.ctop")
        ctop_ok("merge", other, a, b)
        check(len(ctop_ok("export", "script", other).stdout) > 0, "script")
        # No decades lie between the first, which knows no time, and the others.
        late = os.path.join(where, "late.ctop")
        ctop_ok("merge", late, c, a, b)
        times = [float(line.split(":")[0].split()[-1]) for line in ctop_ok("export", "script", late).stdout.splitlines()
                 if "cpu-clock" in line]
        check(len(times) == 30 and max(times) - min(times) < 1, times)


@case
def what_was_merged_is_for_its_owner_alone_as_recordings_are():
    with directory() as where:
        out = os.path.join(where, "all.ctop")
        ctop_ok("merge", out, *pair(where))
        check(os.stat(out).st_mode & 0o777 == 0o600, oct(os.stat(out).st_mode))
        terminal, theirs = os.openpty()
        result = subprocess.run([CTOP, "merge", "-", os.path.join(where, "one.ctop")], stdout=theirs, stderr=subprocess.PIPE,
                                text=True, check=False)
        os.close(theirs)
        os.close(terminal)
        check(result.returncode == 1 and "not for a terminal" in result.stderr and "another file, or -" in result.stderr, result.stderr)


@case
def recordings_of_every_kind_are_merged():
    with directory() as where:
        inputs = [exporting.made().path, exporting.hostile().path, made(where, "f")]
        out = os.path.join(where, "all.ctop")
        ctop_ok("merge", out, *inputs)
        expected = collections.Counter()
        for path in inputs:
            expected += folded(path, "--event", "cpu-clock")
        check(folded(out, "--event", "cpu-clock") == expected, "stacks")
        for form in "json", "pprof", "firefox", "frames":
            ctop_ok("export", form, out, "-o", os.path.join(where, "x"))
        check("\x1b" not in ctop_ok("report", "--stdio", out).stdout, "a hostile label")


@case
def a_damaged_one_gives_what_it_has():
    with directory() as where:
        a, b = pair(where)
        with open(b, "r+b") as file:
            file.truncate(os.path.getsize(b) - 30)
        out = os.path.join(where, "all.ctop")
        result = ctop_ok("merge", out, a, b)
        check("is incomplete" in result.stderr, result.stderr)
        check(sum(folded(out).values()) == 50, folded(out))
        check("incomplete" not in ctop_ok("report", "--stdio", out).stderr, "the merged one is whole")


@case
def what_cannot_be_merged_is_refused_and_leaves_nothing():
    with directory() as where:
        a, b = pair(where)
        out = os.path.join(where, "all.ctop")
        junk = os.path.join(where, "junk")
        with open(junk, "wb") as file:
            file.write(os.urandom(4096))
        empty = made(where, "empty", 0)
        check_refused(ctop("merge", out), 2, "an output and the recordings")
        check_refused(ctop("merge", a, b), 2, "is there already")
        check_refused(ctop("merge", out, os.path.join(where, "none")), 1, "none")
        check_refused(ctop("merge", out, a, junk), 1, "junk")
        check_refused(ctop("merge", "/dev/full", a, b), 1, "/dev/full")
        result = ctop("merge", out, empty)
        check(result.returncode == 1 and "there is no sample to merge" in result.stderr, result.stderr)
        check(not os.path.exists(out) and not [name for name in os.listdir(where) if name.startswith("all")], os.listdir(where))
        ctop_ok("merge", out, a, b)
        check_refused(ctop("merge", out + "2", a, out), 1, "is itself merged")


@case
def labels_that_lie_do_no_harm():
    with directory() as where:
        for number, name in enumerate(HOSTILE[:8]):
            value = name if isinstance(name, bytes) else name.encode()
            path = made(where, f"h{number}", **{"label.host": value, "start_wall_ns": "99999999999999999999999", "start_ns": "x",
                                                "duration_ns": "18446744073709551615", "stats.lost": "-1", "source.9": value})
            out = os.path.join(where, f"o{number}.ctop")
            ctop_ok("merge", out, path, path)
            check(sum(folded(out).values()) == 20 and "\x1b" not in ctop_ok("report", "--stdio", out).stdout, name)


# Sleeps in turn, until it is told to end.
NAPS = """
import sys, threading, time
threading.Thread(target=lambda: (sys.stdin.readline(), __import__("os")._exit(0)), daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.03)
"""


def rows_of(path):
    """[(tid, name, [computed, queued, waited], when it is there first and last, in s)] of a recording's timeline."""
    report = ctop_ok("report", "--timeline", path).stdout
    column = float(re.search(r"a column ([\d.]+) ms", report)[1]) / 1e3
    found = re.findall(r"^ *([\d.]+) +([\d.]+) +([\d.]+) +(\d+)  (.*?) *\|(.*)\|$", report, re.M)
    return [(int(tid), name, [a, b, c], (len(cells) - len(cells.lstrip())) * column, len(cells.rstrip()) * column)
            for a, b, c, tid, name, cells in found], column


@case
def threads_of_all_are_side_by_side():
    """The same ones, twice, with a pause in between: their sums are what each recording says, and they are as far apart as their clock says."""
    need_root()
    with directory() as where, child(sys.executable, "-c", NAPS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        check(program.stdout.readline() == "ready\n", "not ready")
        paths = [os.path.join(where, name) for name in ("a.ctop", "b.ctop")]
        for path in paths:
            ctop_ok("record", "-q", "-e", "cpu-clock", "--time", "wall", "--duration", "1", "-o", path, "-p", program.pid)
        program.stdin.write("\n")
        program.stdin.flush()
        out = os.path.join(where, "all.ctop")
        ctop_ok("merge", out, *paths)
        alone = [rows_of(path)[0] for path in paths]
        rows, column = rows_of(out)
        starts = [int(json.loads(ctop_ok("export", "json", path).stdout)["facts"]["start_ns"]) / 1e9 for path in paths]
        trace = json.loads(ctop_ok("export", "chrome", out).stdout)["traceEvents"]
    check(len(alone[0]) == len(alone[1]) == 2, f"{alone}")
    check([row[:3] for row in rows] == [(tid, f"{run}: {name}", sums) for run, of in enumerate(alone, 1) for tid, name, sums, *_ in of], f"{rows}, {alone}")
    for first, second in zip(rows[:2], rows[2:]):
        check(first[4] <= second[3], f"{rows}")
        check(abs(second[3] - first[3] - (starts[1] - starts[0])) < 2 * column + 0.05, f"{rows}, {starts}")
    names = {event["args"]["name"] for event in trace if event.get("name") == "thread_name" and event["args"]["name"].endswith(", states")}
    ids = {event["tid"] for event in trace if event.get("cat") == "state"}
    check(len(ids) == 4 and {name[:2] for name in names} == {"1:", "2:"}, f"{names}, {ids}")


if __name__ == "__main__":
    main()
