#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goroutines wait for, and where: beside Go's own dump of them, which the program writes itself."""

import collections
import gzip
import json
import os
import re
import signal
import subprocess
import time

from harness import (BUILD, CTOP, FAULTY, PATIENCE, case, check, check_refused, child, children_of, ctop, ctop_ok, directory, falling, long_case, main, need_program, need_root, run,
                     status_of, wait_until)

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workloads", "goroutines.go")
KINDS = 7  # of goroutines, in the workload


def build(where, *options, source=SOURCE):
    need_program("go")
    program = os.path.join(where, "goroutines")
    result = run("go", "build", *options, "-o", program, source, cwd=where, env={**os.environ, "GO111MODULE": "off", "GOCACHE": os.path.join(BUILD, "go")})
    check(result.returncode == 0, result.stderr)
    return program


def dump_of(path):
    """{id: (reason, functions from the innermost on, who created it)} of Go's own dump, as panics have it."""
    goroutines = {}
    with open(path, encoding="utf-8") as file:
        for part in file.read().split("\n\n"):
            head, *lines = part.strip().split("\n")
            found = re.match(r"goroutine (\d+) \[([^,\]]+)(?:, [^\]]*)?\]:$", head)
            check(found, head)
            # Lines of functions, each with one of its file behind it; the last one says who made it.
            functions = [line[:line.rindex("(")] for line in lines if not line.startswith(("\t", "created by ", "...")) and "(" in line]
            creator = next((re.sub(r" in goroutine .*", "", line[len("created by "):]) for line in lines if line.startswith("created by ")), None)
            goroutines[int(found.group(1))] = found.group(2), functions, creator
    return goroutines


def stacks_of(path, *options):
    """{id: {(reason, functions from the innermost on, who created it): ns}} of a recording."""
    goroutines = collections.defaultdict(collections.Counter)
    for line in ctop_ok("export", "folded", path, "--time", "goroutines", "--group", "thread", *options).stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        task, *frames = stack.split(";")
        number = re.search(r"/goroutine (\d+)$", task)
        reason = frames.pop()
        check(reason[0] == "[" and reason[-1] == "]", line)
        creator = frames[frames.index("[go]") - 1] if "[go]" in frames else None
        if creator:
            frames = frames[frames.index("[go]") + 1:]
        goroutines[int(number.group(1)) if number else 0][(reason[1:-1], tuple(frames[::-1]), creator)] += int(ns)
    return goroutines


def users(functions):
    """Without what the runtime does to park, and what Go's dumps leave out: what the compiler made of `go f(x)`, which calls f."""
    names = [re.sub(r"(\.abi0)?(_\[i\])?$", "", name) for name in functions]
    while names and names[0].startswith("runtime."):
        names.pop(0)
    return [name for name in names if not re.match(r"runtime\.(goexit|main)$|main\.main\.func\d+$", name)]


def alike(mine, own):
    return mine[0] == own[0] and users(mine[1]) == users(own[1]) and mine[2] == own[2]


def record_parked(where, program, nr, seconds):
    """A recording of a program that has nr goroutines of each kind, and its own dump of them."""
    path, dump, stats = (os.path.join(where, name) for name in ("g.ctop", "dump", "stats.json"))
    with child(program, nr, dump, stdout=subprocess.DEVNULL) as parked:
        wait_until(lambda: os.path.exists(dump), "the program's dump")
        ctop_ok("record", "-q", "--time", "wall", "-p", parked.pid, "-o", path, "--stats", stats, "--duration", seconds)
    with open(stats, encoding="utf-8") as file:
        return path, dump_of(dump), json.load(file)


def check_alike(path, own, least):
    mine = stacks_of(path)
    parked = {number: stack for number, stack in own.items() if stack[0] != "running"}
    right = [number for number, stack in parked.items() if len(mine[number]) == 1 and alike(next(iter(mine[number])), stack)]
    wrong = [(number, stack, mine[number]) for number, stack in parked.items() if number not in set(right)]
    check(len(right) >= least * len(parked), f"{len(right)} of {len(parked)}: {wrong[:3]}")
    return mine


@case
def each_is_where_gos_own_dump_has_it():
    need_root()
    with directory() as where:
        path, own, stats = record_parked(where, build(where), 30, 3)
        mine = check_alike(path, own, 0.99)
        report = ctop_ok("report", "--stdio", "--time", "goroutines", "--group", "thread", "--limit", "0", "--min-percent", "0", path).stdout
        waits = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
        wall = ctop_ok("export", "folded", path, "--time", "wall").stdout
    check(len(own) > KINDS * 30, f"{len(own)}")
    reasons = {reason for stacks in mine.values() for reason, *_ in stacks}
    check(reasons >= {"chan receive", "chan send", "select", "sleep", "semacquire", "sync.Cond.Wait", "IO wait"} or "sync.Mutex.Lock" in reasons, f"{reasons}")
    # None of the runtime's own, and each as long as the others, whatever the time.
    check(set(mine) <= set(own), f"{set(mine) - set(own)}")
    sums = [sum(stacks.values()) for stacks in mine.values()]
    check(min(sums) > 0.98 * max(sums) > 0, f"{min(sums)}, {max(sums)}")
    check(re.search(r"\d  goroutine \d+  goroutines$", report, re.M), report)
    check(not re.search(r"\d +\d+  goroutines$", report, re.M), report)
    # It is no part of what threads wait.
    check("goroutine" not in wall.replace("goroutines", "") and "threads, not goroutines" not in waits and "--time goroutines" in waits, waits)
    told = stats["time"]["waiting_seconds"] + stats["time"]["running_seconds"] + stats["time"]["runnable_seconds"]
    check(abs(told - stats["time"]["observed_seconds"]) < 0.01 * told and stats["goroutines_left_out"] == 0 and stats["goroutines_joined"] == 0, f"{stats}")


@case
def exports_call_each_by_its_number():
    need_root()
    with directory() as where:
        path, own, _ = record_parked(where, build(where), 3, 1)
        parked = {f"goroutine {number}" for number, (reason, *_) in own.items() if reason != "running"}
        exported = {kind: ctop_ok("export", kind, path, "--time", "goroutines").stdout for kind in ("chrome", "firefox", "speedscope")}
        pprof = os.path.join(where, "g.pb.gz")
        ctop_ok("export", "pprof", path, "--time", "goroutines", "-o", pprof)
        with gzip.open(pprof) as file:
            # Strings of a message: their field, how long they are, and they.
            strings = re.findall(rb"\x32([\x0b-\x16])(goroutine \d+)", file.read())
        exported["pprof"] = " ".join(text[:length[0]].decode() for length, text in strings)
    for kind, text in exported.items():
        told = set(re.findall(r"goroutine \d+", text))
        check(told and told <= set(f"goroutine {number}" for number in own), f"{kind}: {told}")
        check(len(told & parked) > 0.9 * len(parked), f"{kind}: {told} of {parked}")
    rows = [event["args"]["name"] for event in json.loads(exported["chrome"])["traceEvents"] if event.get("name") == "thread_name"]
    check(any(re.match(r"goroutine \d+", row) for row in rows), f"{rows}")


@case
def of_a_program_without_dwarf():
    need_root()
    with directory() as where:
        path, own, _ = record_parked(where, build(where, "-ldflags=-w"), 3, 2)
        check_alike(path, own, 0.99)


@case
def of_a_program_that_lies_anywhere():
    need_root()
    with directory() as where:
        path, own, _ = record_parked(where, build(where, "-buildmode=pie"), 3, 2)
        check_alike(path, own, 0.99)


@case
def why_they_are_not_shown():
    need_root()
    with directory() as where:
        path, _, stats = record_parked(where, build(where, "-ldflags=-s"), 3, 2)
        report = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
        check_refused(ctop("report", "--stdio", "--time", "goroutines", path), 1, "goroutines were parked", "symbols", "--time wall")
        check_refused(ctop("report", "--stdio", "--time", "goroutines", "--event", "wait", path), 2, "--event")
    check(stats["goroutines_refusal"] == 2 and "threads, not goroutines" in report and "without symbols" in report.replace("\n", " "), report)


@case
def a_command_of_gos():
    """It is executed by what was ctop at first, and its goroutines come and go."""
    need_root()
    with directory() as where:
        program, dump = build(where), os.path.join(where, "dump")
        path = os.path.join(where, "g.ctop")
        ctop_ok("record", "-q", "--time", "wait", "-o", path, "--", program, "2", dump, "4")
        stacks = stacks_of(path)
    reasons = collections.Counter()
    for of_one in stacks.values():
        for (reason, *_), ns in of_one.items():
            reasons[reason] += ns
    check(reasons["chan receive"] > 2e9 and reasons["select"] > 2e9, f"{reasons}")


# What Go's runtime says of its goroutines, of the program's own making: 70,000 times one descriptor, then ones that are not there.
LIES = """package main

import (
	"runtime/debug"
	"time"
	"unsafe"
)

//go:linkname allglen runtime.allglen
var allglen uintptr

//go:linkname allgptr runtime.allgptr
var allgptr unsafe.Pointer

var descriptor [128]uint64
var list [70000]uint64

func main() {
	debug.SetGCPercent(-1)
	descriptor[1] = ^uint64(0)                                        // its stack's end
	descriptor[7] = uint64(uintptr(unsafe.Pointer(&descriptor))) + 64 // its stack pointer
	descriptor[8] = 0x4141414141414141
	descriptor[18] = 4
	descriptor[19] = 99
	descriptor[22] = 200
	for i := range list {
		list[i] = uint64(uintptr(unsafe.Pointer(&descriptor)))
	}
	allgptr = unsafe.Pointer(&list)
	for {
		allglen = uintptr(len(list))
		time.Sleep(300 * time.Millisecond)
		list[50000] = 16
		time.Sleep(300 * time.Millisecond)
		allglen = 1 << 40
		time.Sleep(300 * time.Millisecond)
	}
}
"""


def told_so_far(path):
    """Whether a recording that is being written has any."""
    return "/goroutine " in ctop("export", "folded", path, "--time", "goroutines", "--group", "thread").stdout


def is_at_rest(pid):
    """Whether it takes no CPU for a while."""
    before = cpu_ticks(pid)
    time.sleep(0.2)
    return cpu_ticks(pid) == before


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))


@case
def a_program_that_lies():
    need_root()
    with directory() as where:
        source, path, stats = (os.path.join(where, name) for name in ("lies.go", "g.ctop", "stats.json"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(LIES)
        with child(build(where, source=source)) as liar:
            ctop_ok("record", "-q", "--time", "wall", "-p", liar.pid, "-o", path, "--stats", stats, "--duration", "3")
        with open(stats, encoding="utf-8") as file:
            facts = json.load(file)
        told = ctop("export", "folded", path, "--time", "goroutines")
    check(facts["restarts"] == 0 and facts["goroutines_left_out"] == 70000 - 65536, f"{facts}")
    check(told.returncode in (0, 1), told.stderr)


@case
def a_child_that_loops_holds_nobody():
    need_root()
    with directory() as where:
        path, dump = os.path.join(where, "g.ctop"), os.path.join(where, "dump")
        with child(build(where), "1", dump, stdout=subprocess.DEVNULL) as program:
            wait_until(lambda: os.path.exists(dump), "the program's dump")
            result = run(FAULTY, "record", "-q", "--time", "wall", "-p", program.pid, "-o", path, "--duration", "2", env=falling("goroutines:loop"))
            check(result.returncode == 0, result.stderr)
        report = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
    check("threads, not goroutines" in report, report)


@case
def at_the_end_the_collector_is_waited_for():
    """Most stacks of so many are told then: more than there is room for while it does not read."""
    need_root()
    with directory() as where:
        path, dump = os.path.join(where, "g.ctop"), os.path.join(where, "dump")
        with child(build(where), 10000 // KINDS + 1, dump, stdout=subprocess.DEVNULL) as parked:
            wait_until(lambda: os.path.exists(dump), "the program's dump")
            own = dump_of(dump)
            with child(CTOP, "record", "-q", "--time", "wall", "-p", parked.pid, "-o", path) as recorder:
                wait_until(lambda: told_so_far(path), "the first of them")
                collector = children_of(recorder.pid)["collector"]
                os.kill(collector, signal.SIGSTOP)
                recorder.send_signal(signal.SIGINT)
                wait_until(lambda: not int(status_of(recorder.pid, "ShdPnd"), 16) >> (signal.SIGINT - 1) & 1, "signal to be taken")
                wait_until(lambda: is_at_rest(recorder.pid), "ctop to have told what it can")
                os.kill(collector, signal.SIGCONT)
                check(recorder.wait(PATIENCE) == 0, f"{recorder.returncode}")
        check_alike(path, own, 0.99)


@long_case
def ten_thousand():
    need_root()
    with directory() as where:
        path, own, stats = record_parked(where, build(where), 10000 // KINDS + 1, 20)
        check(len(own) > 10000, f"{len(own)}")
        check_alike(path, own, 0.99)
    check(stats["waits_untold_ns"] == 0 and stats["goroutines_left_out"] == 0, f"{stats}")


if __name__ == "__main__":
    main()
