#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who ended long waits, and where those were: each wakeup at its waker's stack, beside who woke whom and the threads' own clocks."""

import collections
import gzip
import json
import os
import re
import subprocess

from harness import BUILD, CTOP, Skip, case, check, check_refused, child, ctop, ctop_ok, directory, main, need_root, plain_user, run, target

WAITS = os.path.join(BUILD, "workloads", "waits")
LEAST_S = 1e-3  # shorter waits have no wakeup


def wakeups_of(path, *options):
    """{thread: {stack: ns}} of a recording."""
    threads = collections.defaultdict(collections.Counter)
    for line in ctop_ok("export", "folded", path, "--no-inline", "--time", "wakeups", *options).stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        comm, *frames = stack.split(";")
        threads[comm][tuple(frames)] += int(ns)
    return threads


def record(where, *arguments):
    """A recording's path, its statistics, and what its command printed."""
    path, stats = os.path.join(where, "w.ctop"), os.path.join(where, "stats.json")
    result = run(CTOP, "record", "-q", "--time", "wall", "--max-overhead", "0", "-o", path, "--stats", stats, *arguments)
    check(result.returncode == 0, result.stderr)
    with open(stats, encoding="utf-8") as file:
        found = json.load(file)
    if found["time"]["source"] != 4:
        raise Skip(f"no records of each waking here: {found['time']['source']}")
    return path, found, result.stdout


def check_beside_pairs(stats, threads):
    """What ended is what the list of pairs has of it, but for short waits."""
    pairs = collections.defaultdict(lambda: [0, 0])
    for pair in stats["woken"]:
        by = {0: "an interrupt", -1: "unknown"}.get(pair["by_tid"], pair["by_name"])
        pairs[pair["name"], by][0] += pair["ended"]
        pairs[pair["name"], by][1] += pair["times"]
    found = collections.Counter()
    for name, stacks in threads.items():
        for stack, ns in stacks.items():
            found[name, re.fullmatch(r"\[woken by (.*)\]", stack[-1]).group(1)] += ns / 1e9
    for pair, (ended, times) in pairs.items():
        check(ended - times * LEAST_S <= found[pair] <= ended + 1e-6, f"{pair}: {ended} s, {times} times; {found[pair]} s: {dict(threads)}")
    check(set(found) <= set(pairs), f"{found} {dict(pairs)}")
    check(stats["wakeups_untold_ns"] == 0, f"{stats}")


def told(stacks, stats):
    """Of those that the kernel tells a waking of: without a record of one nobody knows who ended the wait, and that is counted."""
    known = {stack: ns for stack, ns in stacks.items() if stack[-1] != "[woken by unknown]"}
    check(known, f"{stacks}")
    check(len(known) == len(stacks) or stats["wakings_untold"], f"{stacks}, {stats}")
    return known


def untold(stacks):
    return stacks[("[woken by unknown]",)]


def unseen(stacks):
    return sum(ns for stack, ns in stacks.items() if stack[0] == "[stack not seen]")


@case
def each_wakeup_is_at_its_waker():
    """A lock's by who gives it back, at the function that does; a timer's have no stack."""
    need_root()
    with directory() as where:
        path, stats, printed = record(where, "--", WAITS, "60", "20")
        threads = wakeups_of(path)
        report = ctop_ok("report", "--stdio", "--time", "wakeups", path).stdout
    check_beside_pairs(stats, threads)
    waited = {name: float(ms) / 1e3 for name, ms in re.findall(r"^(\w+) \d+ [\d.]+ [\d.]+ ([\d.]+)$", printed, re.M)}
    unlocked = {stack: ns for stack, ns in threads["blocked"].items() if "holder" in stack}
    seconds = sum(unlocked.values()) / 1e9
    check(all(stack[-1] == "[woken by holder]" and len(stack) > 3 for stack in unlocked), f"{unlocked}")
    check(seconds <= waited["blocked"], f"{seconds} s of {waited}")
    # 20 times 20 ms, as far as its stacks were copied. No wakeup of it is anywhere else.
    check(seconds >= 0.4 - (unseen(threads["blocked"]) + untold(threads["blocked"])) / 1e9 - 0.02 and seconds > 0, f"{threads['blocked']}")
    check(all({"holder", "begin", "[stack not seen]"} & set(stack) for stack in told(threads["blocked"], stats)), f"{threads['blocked']}")
    # Those that end as the program does have theirs, too.
    check(not any("[unknown]" in stack for stacks in threads.values() for stack in stacks), f"{dict(threads)}")
    check({stack for stack in threads["sleeper"] if "begin" not in stack and stack[0] != "[stack not seen]"} <=
          {("[woken by an interrupt]",), ("[woken by unknown]",)}, f"{threads['sleeper']}")
    check((stats["wakeups_unseen"] > 0) == ("stacks that were not copied" in report.replace("\n", " ")) ==
          (sum(map(unseen, threads.values())) > 0), f"{stats}\n{report}")
    check(re.search(r"^event +wakeup$", report, re.M) and "WAIT s" not in report, report)


@case
def where_there_are_very_many_wakings():
    """Those of threads that wait long have their stacks then, too, or none; what is not seen is told."""
    need_root()
    with directory() as where, target("waits", "600", "100000") as program:
        path, stats, _ = record(where, "-p", program.pid, "--duration", "3")
        threads = wakeups_of(path)
    blocked = told(threads["blocked"], stats)
    check(sum(blocked.values()) > 0 and all({"holder", "[stack not seen]"} & set(stack) for stack in blocked), f"{blocked}")
    check(all({"ping", "[stack not seen]"} & set(stack) for stack in told(threads["pong"], stats)), f"{threads['pong']}")
    check((stats["wakeups_unseen"] > 0) == (sum(map(unseen, threads.values())) > 0), f"{stats} {dict(threads)}")


@case
def who_wakes_it_from_outside_has_no_stack():
    """Of other processes, root's or another user's, nothing is copied, and nothing is unwound with the target's maps."""
    need_root()
    for prefix in ((), plain_user()):
        with directory() as where, child("cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as cat:
            feeder = [*prefix, "sh", "-c", "while sleep 0.02; do echo x || exit; done"]
            with child(*feeder, stdout=cat.stdin):
                path, stats, _ = record(where, "-p", str(cat.pid), "--duration", "1.5")
                threads = wakeups_of(path)
        check_beside_pairs(stats, threads)
        check(threads["cat"][("[woken by sh]",)] > 0 and stats["wakeups_unseen"] == 0, f"{dict(threads)} {stats}")
        check(all(len(stack) == 1 for stack in threads["cat"]), f"{dict(threads)}")


@case
def who_runs_another_program_at_once():
    """Its maps are the new program's by the time that the stack is unwound."""
    need_root()
    with directory() as where:
        path, _, _ = record(where, "--", "sh", "-c", "for i in 1 2 3 4 5 6; do (sleep 0.03; echo x; exec sleep 0.01); done | cat >/dev/null")
        threads = wakeups_of(path)
    by_sh = {stack: ns for stack, ns in threads["cat"].items() if stack[-1] == "[woken by sh]"}
    check(by_sh, f"{dict(threads)}")
    for stack in by_sh:
        check(stack[0] == "[stack not seen]" or re.search("write|echo", " ".join(stack)) or stack[0].startswith("["), f"{by_sh}")
        check(not any("sleep" in frame for frame in stack), f"{by_sh}")


@case
def in_exports_and_filters():
    """It is an event as any other, and a sum of its own."""
    need_root()
    with directory() as where:
        path, _, _ = record(where, "--", WAITS, "60", "10")
        threads = wakeups_of(path)
        whole = sum(sum(stacks.values()) for stacks in threads.values())
        wall = [sum(int(line.rpartition(" ")[2]) for line in ctop_ok("export", "folded", path, "--time", time).stdout.splitlines())
                for time in ("cpu", "wait", "wall")]
        by_event = ctop_ok("export", "folded", path, "--no-inline", "--event", "wakeup").stdout
        one = wakeups_of(path, "--comm", "blocked")
        root = wakeups_of(path, "--state-frames", "root")
        chrome = ctop_ok("export", "chrome", path, "--time", "wakeups").stdout
        pprof = os.path.join(where, "w.pb.gz")
        ctop_ok("export", "pprof", path, "--time", "wakeups", "-o", pprof)
        with gzip.open(pprof) as file:
            profile = file.read()
        tree = ctop_ok("report", "--stdio", "--tree", "--time", "wakeups", path).stdout
    check(whole > 0 and wall[2] == wall[0] + wall[1], f"{wall} {whole}")
    check(sum(int(line.rpartition(" ")[2]) for line in by_event.splitlines()) == whole, by_event)
    check(dict(one) == {"blocked": threads["blocked"]}, f"{dict(one)}")
    check({(stack[-1], *stack[:-1]): ns for stack, ns in threads["blocked"].items()} == root["blocked"], f"{root['blocked']}")
    check(b"[woken by holder]" in profile and b"wakeup" in profile, f"{profile[:2000]}")
    check("[woken by holder]" in tree and "[woken by holder]" in chrome, tree)


@case
def without_call_graphs():
    need_root()
    with directory() as where:
        path, _, _ = record(where, "--call-graph", "no", "--", WAITS, "60", "10")
        threads = wakeups_of(path)
    check(sum(threads["blocked"].values()) > 0, f"{dict(threads)}")
    check(all(stack[0] == "[stack not seen]" or len(stack) == 1 for stacks in threads.values() for stack in stacks), f"{dict(threads)}")


@case
def where_nothing_tells_of_wakings():
    """It is said what would."""
    need_root()
    with directory() as where:
        path = os.path.join(where, "w.ctop")
        ctop_ok("record", "-q", "-o", path, "--", WAITS, "60", "2")
        check_refused(ctop("report", "--stdio", "--time", "wakeups", path), 1, "who ended threads' waits", "--time wall", "sched_waking")
        check_refused(ctop("report", "--stdio", "--time", "wakeups", "--event", "wait", path), 2, "--event")
        check_refused(ctop("report", "--stdio", "--time", "wakings", path), 2, "goroutines or wakeups")


if __name__ == "__main__":
    main()
