#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where threads wait, and how long: each wait at its function, by the threads' own clocks."""

import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from fuse import file_system
from harness import (BUILD, CTOP, OTHER_USER, Skip, alone, case, check, check_refused, child, children_of, copy_for_all, ctop, ctop_ok, directory, main,
                     need_program, need_root, paranoid, parked_goroutine, plain_user, readable_ctop, run, sysctl, target, wait_for_samples, wait_until, written)

# By thread: in which of its functions it waits, what for.
PLACES = {
    "naps": {"nap_long": "[sleep]"},
    "mixed": {"nap_short": "[sleep]", "nap_long": "[sleep]"},
    "holder": {"nap_long": "[sleep]"},
    "wanter": {"take_lock": "[lock]"},
    "reader": {"read_byte": "[io]"},
    "poller": {"poll_nothing": "[poll]"},
    "parent": {"wait_for_child": "[child]"},
    "idle": {"read_nothing": "[io]"},
}


def workload(name):
    return os.path.join(BUILD, "workloads", name)


def waits_of(path, *options):
    """{thread: {stack: ns}} of a recording."""
    threads = collections.defaultdict(collections.Counter)
    for line in ctop_ok("export", "folded", path, "--no-inline", "--time", "wait", *options).stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        comm, *frames = stack.split(";")
        threads[comm][tuple(frames)] += int(ns)
    return threads


def record_waits(where, *arguments, prefix=(), program=CTOP):
    """A recording's path, its statistics, and what its command printed."""
    path, stats = os.path.join(where, "w.ctop"), os.path.join(where, "stats.json")
    result = run(*prefix, program, "record", "-q", "--time", "wall", "-o", path, "--stats", stats, *arguments)
    check(result.returncode == 0, result.stderr)
    with open(stats, encoding="utf-8") as file:
        return path, json.load(file), result.stdout


def check_sum(stats, threads):
    """All that the account calls waiting or the run queue is somewhere in the profile, or counted as missing."""
    told = (sum(sum(stacks.values()) for stacks in threads.values()) + stats["waits_untold_ns"]) / 1e9
    account = stats["time"]["waiting_seconds"] + stats["time"]["runnable_seconds"]
    check(abs(told - account) <= 1e-3 * account, f"{told} s in the profile, {account} s by the account: {stats}")


def seen_share(threads):
    whole = sum(sum(stacks.values()) for stacks in threads.values())
    unseen = sum(ns for stacks in threads.values() for stack, ns in stacks.items() if stack[-1] == "[wait, not seen]")
    return 1 - unseen / whole


def check_places(printed, threads, estimated):
    """Each function has the time that its callers measured; of short waits about."""
    measured = re.findall(r"^(\w+) (\w+) ([\d.]+)$", printed, re.M)
    check(len(measured) == 8, printed)
    for thread, function, milliseconds in measured:
        own = float(milliseconds) / 1e3
        found = sum(ns for stack, ns in threads[thread].items() if function in stack) / 1e9
        whole = sum(threads[thread].values()) / 1e9
        what = f"{thread}, {function}: {own} s by its own clock, {found} of {whole} s here: {threads[thread]}"
        at = {stack: ns for stack, ns in threads[thread].items() if function in stack}
        check(all(stack[-1] in (PLACES[thread][function], "[run queue]", "[wait]") for stack in at), what)
        # What a sample is of is not known before such a wait was looked at.
        check(sum(ns for stack, ns in at.items() if stack[-1] == "[wait]") / 1e9 <= 0.05 * own + 0.01, what)
        # Of a thread that is hardly looked at, as the machine is busy, what nobody saw may be anywhere.
        unseen = sum(ns for stack, ns in threads[thread].items() if stack[-1] == "[wait, not seen]") / 1e9
        # By its own clock it waits until it has a CPU again.
        queued = sum(ns for stack, ns in threads[thread].items() if stack[-1] == "[run queue]") / 1e9
        allowed = 0.01 * own + estimated * whole + 0.01
        check(own - allowed - unseen - queued <= found <= own + allowed, what)


@contextlib.contextmanager
def lateness():
    """How many seconds whoever wants to wake each 50 ms has been too late for it, by more than 100 ms: what virtual machines do that stand still."""
    seconds, over = [0.0], threading.Event()

    def watch():
        began = time.monotonic()
        while not over.wait(0.05):
            now = time.monotonic()
            if now - began > 0.15:
                seconds[0] += now - began - 0.05
            began = now
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: seconds[0]
    finally:
        over.set()
        watcher.join()


def check_known(where, program, prefix=(), ctop_program=CTOP, seconds=6):
    with lateness() as late_seconds:
        path, stats, printed = record_waits(where, "--", program, seconds, prefix=prefix, program=ctop_program)
        late = late_seconds()
    threads = waits_of(path)
    check_sum(stats, threads)
    # Each child waits once, for 300 ms: where looks are dear, some are over before the next one.
    stay = {name: stacks for name, stacks in threads.items() if name != "child"}
    # Whoever gets no CPU cannot look: what was not seen then is somewhere else.
    for share, least in (seen_share(stay), 0.9), (seen_share({"child": threads["child"]}), 0.3):
        check(share > least - late / seconds, f"{share}, {late} s of {seconds} nobody could look: {dict(threads)}")
    check_places(printed, threads, 0.15)
    # On its way to where it stays it may wait for something else, too briefly to be looked at, if not to be sampled: what for is not known.
    reads = {stack: ns for stack, ns in threads["idle"].items() if "read_nothing" in stack and stack[-1] == "[io]"}
    check({stack[-1] for stack in threads["idle"] if stack not in reads} <= {"[run queue]", "[wait, not seen]", "[wait]"}, f"{threads['idle']}")
    waiting = sum(ns for stack, ns in threads["idle"].items() if stack[-1] != "[run queue]") # for a CPU is the machine's matter
    check(sum(reads.values()) > 0.99 * waiting, f"{threads['idle']}")
    # Up to where threads and programs begin.
    begins = {"_start", "clone", "__clone", "clone3", "__clone3"}
    whole = {stack: ns for stacks in threads.values() for stack, ns in stacks.items() if len(stack) > 1}
    # One that is sampled in its first instructions, or its last, may be where nothing says who called.
    elsewhere = {stack: ns for stack, ns in whole.items() if stack[0] not in begins}
    check(sum(elsewhere.values()) < 0.01 * sum(whole.values()), f"{elsewhere}")
    return stats


@case
def each_wait_is_at_its_function():
    need_root()
    with directory() as where:
        stats = check_known(where, workload("waiters"))
    check(stats["waits_refused"] == 0 and stats["waits_untold_ns"] == 0, f"{stats}")


@case
def frame_pointers_of_a_program_without_registers():
    """Of a thread that waits nobody knows rbp: its frames are found by what its code does with the stack pointer."""
    need_root()
    with directory() as where:
        check_known(where, workload("framed_waiters"))


@case
@alone("sets kernel.perf_event_paranoid")
def an_ordinary_user_sees_the_same():
    need_root()
    with paranoid(2), readable_ctop() as (where, program):
        copy_for_all(where, workload("waiters"))
        check_known(where, os.path.join(where, "waiters"), prefix=plain_user(), ctop_program=program)


@case
@alone("sets kernel.perf_event_paranoid")
def what_is_at_no_stack_is_said():
    """An ordinary user's samples have nothing of the kernel, and this is nearly all there."""
    need_root()
    with paranoid(2), readable_ctop() as (where, program):
        path, stats, _ = record_waits(where, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000000", "status=none",
                                      prefix=plain_user(), program=program)
        report = ctop_ok("report", "--stdio", "--time", "wall", path).stdout
        lived, missing = map(float, re.search(r"^weight .*; the threads lived ([\d.]+) s: ([\d.]+)% of it has no stack", report, re.M).groups())
        check(abs(lived - stats["time"]["observed_seconds"]) < 0.01, f"{lived}: {stats['time']}")
        shown = sum(sum(stacks.values()) for stacks in waits_of(path).values()) / 1e9 + stats["events"][0]["sampled"] / 1e9
        check(abs(shown / lived + missing / 100 - 1) < 0.01 and missing > 10, f"{shown} of {lived} s: {missing} %")
        check("has no stack" not in ctop_ok("report", "--stdio", path).stdout, "of computing alone")


def check_refused_looks(path, stats, words):
    """How long is known; nothing says where, and that is told, once."""
    threads = waits_of(path)
    check_sum(stats, threads)
    check(stats["waits_refused"] > 0 and stats["time"]["waiting_seconds"] > 0.5, f"{stats}")
    check(seen_share(threads) < 0.5, f"{dict(threads)}")
    report = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
    said = re.findall(r"^refused .*(?:\n  .*)*", report, re.M)
    check(len(said) == 1 and words in said[0] and "how long they waited is known" in said[0], report)


LAST_CALLS = """#include <unistd.h>
__attribute__((noinline)) int nap(void) { return usleep(20000); }
int main(void) { for (int i = 0; i < 100; i++) nap() ? i++ : i; return 0; }
"""


@case
def a_last_call_through_a_stub_into_code_without_tables():
    """musl has no CFI, and nap() jumps into it: whoever called nap() is where it returns to."""
    need_root()
    with directory() as where:
        source, program = written(where, "nap.c", LAST_CALLS), os.path.join(where, "nap")
        built = run(need_program("musl-gcc"), "-O2", "-o", program, source)
        check(built.returncode == 0, built.stderr)
        path, _, _ = record_waits(where, "--", program)
        threads = waits_of(path)
    waited = sum(ns for stack, ns in threads["nap"].items() if stack[-1] != "[run queue]")
    found = sum(ns for stack, ns in threads["nap"].items() if {"main", "usleep"} <= set(stack) and "[broken]" not in stack)
    check(waited > 15e8 and found > 0.9 * waited, f"{dict(threads)}")


@case
def where_a_program_hides_itself():
    need_root()
    with readable_ctop() as (where, program):
        copy_for_all(where, workload("hidden"))
        path, stats, _ = record_waits(where, "--", os.path.join(where, "hidden"), "1", prefix=plain_user(), program=program)
        check_refused_looks(path, stats, "hides itself: run ctop as root")
        # Root may look.
        path, stats, _ = record_waits(where, "--", workload("hidden"), "1")
        check(stats["waits_refused"] == 0 and seen_share(waits_of(path)) > 0.5, f"{stats}")


def need_samples(stats):
    if not stats.get("switch_outs"):
        raise Skip("no samples of sched:sched_switch here")


@case
def who_may_sample_need_not_look():
    """Root without CAP_SYS_PTRACE, of a program that hides itself: its looks are refused, what was sampled as it began to wait is there."""
    need_root()
    without = [need_program("setpriv"), "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    with directory() as where:
        path, stats, _ = record_waits(where, "--", workload("hidden"), "4", "20", prefix=without)
        threads = waits_of(path)
    need_samples(stats)
    check_sum(stats, threads)
    check(stats["waits_refused"] > 0, f"{stats}")
    # Where others begin threads all the time, samples are few until theirs are left out.
    naps = sum(ns for stacks in threads.values() for stack, ns in stacks.items() if "nap" in stack and stack[-1] == "[wait]")
    check(naps > 5e8, f"{dict(threads)}")


@case
@alone("finds its threads among all that there are, of which 4,096 are told one by one")
def who_is_not_looked_at_has_a_name():
    """A program that was there before, none of whose threads computes."""
    need_root()
    without = [need_program("setpriv"), "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    with directory() as where, child(workload("waiters"), "600", stdout=subprocess.PIPE) as program:
        check(program.stdout.readline().startswith(b"ready"), "it has not begun")
        _, stats, _ = record_waits(where, "-a", "--duration", "1", prefix=without)
        report = ctop_ok("report", os.path.join(where, "w.ctop"), "--time", "wait", "--group", "thread", "--min-percent", "0", "--limit", "0").stdout
    check(stats["waits_refused"] > 0, f"{stats}")
    named = re.findall(rf" {program.pid} +(\d+) *(\S*)$", report, re.M)
    check(len(named) >= 8 and all(name for _, name in named), f"{named}")


@case
def samples_are_few_however_many_switches():
    """Bytes to and fro without end: of samples there are about as many as are allowed."""
    need_root()
    with directory() as where:
        path, stats, _ = record_waits(where, "--max-overhead", "0", "--", workload("waits"), "1", "3000")
        threads = waits_of(path)
    need_samples(stats)
    check_sum(stats, threads)
    check(stats["switch_out_period"] >= 1, f"{stats['switch_out_period']}")
    # 250 a second, twice that before the guard knows better, and what a turn of it may have too much.
    most = 250 * stats["duration_seconds"] + 2000
    check(stats["switch_outs"] <= most, f"{stats['switch_outs']} of {most}")


@case
@alone("sets kernel.yama.ptrace_scope")
def where_yama_lets_only_parents_look():
    need_root()
    if not os.path.exists("/proc/sys/kernel/yama/ptrace_scope"):
        raise Skip("this kernel has no Yama")
    with sysctl("yama/ptrace_scope", 1), readable_ctop() as (where, program):
        copy_for_all(where, workload("deadlock"))
        with child(*plain_user(), os.path.join(where, "deadlock"), "600", stdout=subprocess.PIPE) as hanging:
            hanging.stdout.readline()
            path, stats, _ = record_waits(where, "-p", str(hanging.pid), "--duration", "1", prefix=plain_user(), program=program)
        check_refused_looks(path, stats, "kernel.yama.ptrace_scope is 1")


@case
def what_hung_before_is_seen_at_once():
    """Nothing runs, nothing switches: all that there is was there before."""
    need_root()
    with directory() as where, target("deadlock") as program:
        path, stats, _ = record_waits(where, "-p", program.pid, "--duration", "1")
        threads = waits_of(path)
    check_sum(stats, threads)
    whole = sum(sum(stacks.values()) for stacks in threads.values())
    locked = sum(ns for stacks in threads.values() for stack, ns in stacks.items() if stack[-1] == "[lock]" and len(stack) > 3)
    check(locked > 0.999 * whole, f"{dict(threads)}")
    check(stats["waits_estimated_seconds"] == 0, f"{stats['waits_estimated_seconds']}")


def check_page_faults(where, program, user, prefix=(), ctop_program=CTOP):
    """Each page takes 100 ms to come, 30 times."""
    with directory() as at:
        os.chmod(at, 0o755)
        with file_system(at, "pages", bytes(30 * 4096), user, user, read_seconds=0.1):
            path, stats, printed = record_waits(where, "--", program, os.path.join(at, "pages"), prefix=prefix, program=ctop_program)
            threads = waits_of(path)
    measured = re.search(r"^touched 30 ([\d.]+)$", printed, re.M)
    check(measured, printed)
    own = float(measured.group(1)) / 1e3
    check(own > 29 * 0.1, printed)
    at_page = {stack: ns for stack, ns in threads["mapped"].items() if "touch_page" in stack}
    queued = sum(ns for stack, ns in threads["mapped"].items() if stack[-1] == "[run queue]") / 1e9
    check({stack[-1] for stack in at_page} <= {"[page fault]", "[run queue]"}, f"{dict(threads)}")
    found = sum(at_page.values()) / 1e9
    # What is over before anybody looked, as on a busy machine, is at no stack.
    unseen = sum(ns for stack, ns in threads["mapped"].items() if stack[-1] == "[wait, not seen]") / 1e9
    check(own * 0.99 - queued - unseen <= found <= own * 1.01, f"{own} s by its own clock, {found} s here: {dict(threads)}")
    check(unseen < 0.5 * own, f"{dict(threads)}")
    check_sum(stats, threads)


@case
def page_faults_on_a_file():
    need_root()
    with directory() as where:
        check_page_faults(where, workload("mapped"), 0)


@case
@alone("sets kernel.perf_event_paranoid")
def page_faults_as_an_ordinary_user():
    need_root()
    with paranoid(2), readable_ctop() as (where, program):
        copy_for_all(where, workload("mapped"))
        check_page_faults(where, os.path.join(where, "mapped"), OTHER_USER, prefix=plain_user(), ctop_program=program)


def waited_for(report):
    """[(seconds, threads, pid, what for)] of a report's list."""
    rows = re.findall(r"^ *([\d.]+) +(\d+) +(\d+)    (\S.*)$", report.partition("WAITED s")[2], re.M)
    return [(float(seconds), int(threads), int(pid), what) for seconds, threads, pid, what in rows]


@case
def what_exactly_they_waited_for():
    """Whoever holds the locks of a deadlock; a pipe by its number."""
    need_root()
    with directory() as where, target("deadlock", "600", "3") as program, child("cat", stdin=subprocess.PIPE) as cat:
        tids = {}
        for tid in os.listdir(f"/proc/{program.pid}/task"):
            with open(f"/proc/{program.pid}/task/{tid}/comm", encoding="utf-8") as comm:
                tids[comm.read().strip()] = tid
        pipe = os.readlink(f"/proc/{cat.pid}/fd/0")
        path, stats, _ = record_waits(where, "-p", f"{program.pid},{cat.pid}", "--duration", "1")
        report = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
        one = ctop_ok("report", "--stdio", "--time", "wait", "--pid", str(cat.pid), path).stdout
        others = [ctop_ok("report", "--stdio", *options, path).stdout for options in
                  (("--time", "wait", "--tid", str(cat.pid)), ("--time", "wall"), ("--time", "wait", "--modules"))]
    rows = waited_for(report)
    check(len(rows) == 4 and all(seconds > 0.5 for seconds, *_ in rows), report)
    check(abs(sum(seconds for seconds, *_ in rows) - stats["time"]["waiting_seconds"]) < 0.01, f"{stats['time']}\n{report}")
    # The one that three more wait for, the other, and the end of a thread.
    held = {what.partition("likely held by ")[2]: threads for _, threads, pid, what in rows if pid == program.pid and "likely held by" in what}
    check(held == {f"{tids[name]} {name}": threads for name, threads in (("deadlock-ab", 4), ("deadlock-ba", 1))}, f"{tids}\n{report}")
    check(waited_for(one) == [row for row in rows if row[2] == cat.pid] and waited_for(one)[0][3] == pipe, one)
    check(not any("WAITED s" in other for other in others), f"{others}")


def call_of(pid):
    """In which system call it waits: a number, and arguments."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()


@case
def sockets_are_named_by_where_they_lead():
    """Of a program that waits for an answer, and of one that waits for someone to connect."""
    need_root()
    with directory() as where, socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        (host, port), (_, own) = server.getsockname(), client.getsockname()
        with server.accept()[0], child("cat", stdin=client) as reads, child(sys.executable, "-c", "import socket, sys; socket.socket(fileno=0).accept()", stdin=server) as accepts:
            wait_until(lambda: call_of(reads.pid)[:2] in (["0", "0x0"], ["63", "0x0"]), "cat to read")
            wait_until(lambda: call_of(accepts.pid)[:2] in (["288", "0x0"], ["242", "0x0"]), "python3 to accept")
            path, _, _ = record_waits(where, "-p", f"{reads.pid},{accepts.pid}", "--duration", "1")
            report = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
    told = {pid: what for _, _, pid, what in waited_for(report)}
    check(told == {reads.pid: f"tcp {host}:{own}->{host}:{port}", accepts.pid: f"tcp {host}:{port} (listening)"}, report)


def need_wakings(stats):
    if stats["time"]["source"] != 4 or stats["wakings_lost"]:
        raise Skip(f"no records of each waking here: {stats['time']['source']}, {stats['wakings_lost']} lost")


def woken_by(report):
    """{(who, by whom): (seconds, times)} of a report's list, by name."""
    rows = re.findall(r"^ *([\d.]+) +(\d+) +\d+ (\S+) +(?:\d+ (\S+)|an (interrupt)|(unknown))$", report.partition("ENDED s")[2], re.M)
    return {(who, waker or interrupt or unknown): (float(seconds), int(times)) for seconds, times, who, waker, interrupt, unknown in rows}


@case
def who_woke_whom():
    """Locks by who gives them back, bytes by who writes them, sleeps by the timer."""
    need_root()
    with directory() as where:
        path, stats, _ = record_waits(where, "--max-overhead", "0", "--", workload("waits"), "60", "20")
        report, one, other = (ctop_ok("report", "--stdio", "--limit", "0", *options, path).stdout for options in
                              (("--time", "wait"), ("--time", "wait", "--comm", "ping"), ("--time", "wall")))
    need_wakings(stats)
    waited = {thread["name"]: thread["waiting"] for thread in stats["threads"]}
    nobody = {0: "interrupt", -1: "unknown"}
    told = {(pair["name"], pair["by_name"] or nobody[pair["by_tid"]]): pair for pair in stats["woken"] if pair["by_name"] or pair["by_tid"] in nobody}
    # Some kernels do not tell of timers on one of their CPUs, while that idles.
    sleeps = [told[pair] for pair in (("sleeper", "interrupt"), ("sleeper", "unknown")) if pair in told]
    check(sum(pair["times"] for pair in sleeps) >= 20 and sum(pair["ended"] for pair in sleeps) > 0.35, f"{stats['woken']}")
    unknown = sum(pair["times"] for (_, waker), pair in told.items() if waker == "unknown")
    check(unknown == stats["wakings_untold"] and ("records of wakings do not tell" in report) == (unknown > 0), f"{stats}\n{report}")
    check(told[("blocked", "holder")]["ended"] > 0.2, f"{stats['woken']}")
    # Whoever gives back a lock of the kernel's (on the process's memory, of a page fault) wakes others, too: once or twice.
    for one, other in ("ping", "pong"), ("pong", "ping"):
        nr_by_threads = sum(pair["times"] for (name, _), pair in told.items() if name == one and pair["by_tid"] > 0)
        check(told[(one, other)]["times"] > 0.9 * nr_by_threads, f"{stats['woken']}")
    for name in ("sleeper", "blocked", "holder", "ping", "pong"):
        ended = sum(pair["ended"] for pair in stats["woken"] if pair["name"] == name)
        check(ended <= waited[name] + 1e-6, f"{name}: {ended} of {waited[name]}")
    listed = woken_by(report)
    for pair in [("blocked", "holder"), *(pair for pair in told if pair[0] == "sleeper" and pair[1] in nobody.values())]:
        check(abs(listed[pair][0] - told[pair]["ended"]) < 1e-3 and listed[pair][1] == told[pair]["times"], f"{pair}: {report}")
    check("ENDED s" not in one and "ENDED s" not in other, f"{one}\n{other}")


@case
def who_woke_it_from_outside():
    """Its own events would not tell."""
    need_root()
    with directory() as where, child("cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as cat:
        path, statistics = os.path.join(where, "w.ctop"), os.path.join(where, "stats.json")
        with child(CTOP, "record", "-q", "--max-overhead", "0", "-o", path, "--stats", statistics, "-p", str(cat.pid), "--duration", "1") as recorder:
            while recorder.poll() is None:
                cat.stdin.write(b"x")
                cat.stdin.flush()
                time.sleep(0.01)
        with open(statistics, encoding="utf-8") as file:
            stats = json.load(file)
    need_wakings(stats)
    pairs = [pair for pair in stats["woken"] if pair["tid"] == cat.pid and pair["by_tid"] == os.getpid()]
    with open("/proc/self/comm", encoding="utf-8") as comm:
        name = comm.read().strip()
    check(len(pairs) == 1 and pairs[0]["by_name"] == name and pairs[0]["times"] > 0, f"{stats['woken']}")


@case
def computing_and_waiting_in_one_tree():
    need_root()
    with directory() as where, target("waiters") as program:
        path, stats, _ = record_waits(where, "-p", program.pid, "--duration", "2")
        cpu, wait, wall = (ctop_ok("export", "folded", path, "--time", time).stdout for time in ("cpu", "wait", "wall"))
        report = ctop_ok("report", path, "--time", "wall", "--tree").stdout
    sums = [sum(int(line.rpartition(" ")[2]) for line in text.splitlines()) for text in (cpu, wait, wall)]
    check(sums[2] == sums[0] + sums[1] and sums[0] > 0, f"{sums}")
    # Threads that live all the time: their number times the seconds, as far as samples can tell of the CPU.
    observed = stats["time"]["observed_seconds"]
    check(abs(sums[2] / 1e9 - observed) < 0.05 * observed, f"{sums}, {observed}")
    check(re.search(r"^TOTAL% +SELF% +cpu-clock% +wait% +CALL TREE$", report, re.M), report)
    # Nothing is left out, and what was waited is in no count of the kernel's.
    check(not re.search("^filter ", report, re.M) and "counted" not in re.search("^weight .*", report, re.M).group(0), report)


@case
def a_range_takes_the_part_of_each_wait_that_lies_in_it():
    need_root()
    with directory() as where, target("waiters") as program:
        path, stats, _ = record_waits(where, "-p", program.pid, "--duration", "4")
        cuts = 0, 0.7, 1.9, 2.4, 3.5, None
        parts = [waits_of(path, *(("--from", str(begin)) if begin else ()), *(("--to", str(end)) if end else ()))
                 for begin, end in zip(cuts, cuts[1:])]
        whole = waits_of(path)
    for begin, end, part in list(zip(cuts, cuts[1:], parts))[1:-1]:  # the first begins where the first sample lies
        # They wait all the time; one of them is woken each 400 ms, and may have to wait for a CPU.
        for thread, slack in ("idle", 0.02), ("poller", 0.1):
            found = sum(part[thread].values()) / 1e9
            check(abs(found - (end - begin)) < slack * (end - begin), f"{thread} from {begin} to {end} s: {found} s")
    # Nothing is counted twice, or by nobody.
    check(sum((collections.Counter(part["idle"]) for part in parts), collections.Counter()) == whole["idle"], f"{parts}: {whole['idle']}")


@case
def what_has_no_stack_by_nature_is_not_incomplete():
    """The run queue's time of brief threads has none."""
    need_root()
    command = 'i=0; while [ $i -lt 150 ]; do (:) & i=$((i + 1)); done; wait'
    with directory() as where:
        path, stats, _ = record_waits(where, "--", "sh", "-c", command)
        report = ctop_ok("report", path, "--time", "wait").stdout
    check(stats["stacks"]["kernel_only"] > 20, f"{stats['stacks']}")
    check(20 < stats["waits_unplaced"] <= stats["stacks"]["kernel_only"], f"{stats}")
    # Where nothing else was seen there is nothing to say.
    told = re.search(r"^stacks +complete ([\d.]+)%", report, re.M)
    check(not told or float(told[1]) > 50, report[:2000])


@case
def what_for_stands_where_it_is_asked_to():
    need_root()
    with directory() as where, target("waiters") as program:
        path, _, _ = record_waits(where, "-p", program.pid, "--duration", "1")
        leaf, root, none = (waits_of(path, "--state-frames", place)["naps"] for place in ("leaf", "root", "none"))
        check_refused(ctop("export", "folded", path, "--state-frames", "top"), 2, "leaf, root or none")
    sleeping = [stack for stack in leaf if stack[-1] == "[sleep]"]
    check(len(sleeping) == 1, f"{leaf}")
    stack, ns = sleeping[0], leaf[sleeping[0]]
    check(root[("[sleep]", *stack[:-1])] == none[stack[:-1]] == ns, f"{leaf}, {root}, {none}")
    check(sum(leaf.values()) == sum(root.values()) == sum(none.values()), f"{leaf}, {root}, {none}")


@case
def without_call_graphs():
    """What for, and nothing of where."""
    need_root()
    with directory() as where, target("waiters") as program:
        path, stats, _ = record_waits(where, "-p", program.pid, "--duration", "1", "--call-graph", "no")
        threads = waits_of(path)
    check_sum(stats, threads)
    check(all(len(stack) == 1 for stacks in threads.values() for stack in stacks), f"{threads}")
    check(("[io]",) in threads["idle"] and ("[sleep]",) in threads["naps"], f"{threads}")


@case
def a_command_that_waits():
    need_root()
    with directory() as where:
        path, stats, _ = record_waits(where, "--", "sh", "-c", "sleep 1 & wait; sleep 1")
        threads = waits_of(path)
    check_sum(stats, threads)
    slept = sum(ns for stack, ns in threads["sleep"].items() if stack[-1] == "[sleep]") / 1e9
    # It may wait for children as such, or for their signal.
    waited = sum(ns for stack, ns in threads["sh"].items() if stack[-1] in ("[child]", "[wait]")) / 1e9
    check(1.8 < slept < 2.6 and 1.8 < waited < 2.8, f"{dict(threads)}")


@case
def threads_are_not_goroutines():
    """What is parked is on no thread: that is said, where it cannot be shown, as of a program without symbols."""
    need_root()
    with directory() as where:
        with parked_goroutine("-ldflags=-s") as program:
            path, stats, _ = record_waits(where, "-p", program.pid, "--duration", "1")
        check_sum(stats, waits_of(path))
        report = ctop_ok("report", "--stdio", "--time", "wait", path).stdout
    check("threads, not goroutines" in report, report)


@case
def by_looks_alone():
    """Where there are no records of switches, the scheduler's own sums are told at what looks have found."""
    need_root()
    with directory() as where:
        # As many descriptors as events need, and none for switches.
        path, stats, _ = record_waits(where, "--", workload("waiters"), "3", prefix=(need_program("prlimit"), "--nofile=300:300"))
        threads = waits_of(path)
    check(stats["time"]["source"] == 2, f"{stats['time']}")
    check_sum(stats, threads)
    naps = sum(ns for stack, ns in threads["naps"].items() if "nap_long" in stack)
    check(naps > 0.8 * sum(threads["naps"].values()), f"{threads['naps']}")
    check(stats["waits_estimated_seconds"] > 0, f"{stats['waits_estimated_seconds']}")


def weight_of(path):
    return sum(sum(stacks.values()) for stacks in waits_of(path).values())


def seen_after(path, before):
    threads = waits_of(path)
    if not threads["idle"] or sum(sum(stacks.values()) for stacks in threads.values()) < before + 8e9:
        return 0
    return min(seen_share(threads), seen_share({"idle": threads["idle"]}))


@case
def the_collector_dies():
    """What it knew of stacks is told again, also of a thread that waits once and for ever."""
    need_root()
    with directory() as where, target("waiters") as program:
        path = os.path.join(where, "w.ctop")
        with child(CTOP, "record", "-q", "--time", "wall", "-p", str(program.pid), "-o", path) as recorder:
            wait_for_samples(recorder, path, 20)
            collector = children_of(recorder.pid)["collector"]
            os.kill(collector, signal.SIGKILL)
            wait_until(lambda: children_of(recorder.pid).get("collector", collector) != collector, "another collector")
            before = weight_of(path)
            # Some of what it had in hand is lost; of what comes afterwards nothing is.
            wait_until(lambda: seen_after(path, before) > 0.8, "waits after that")
            recorder.send_signal(signal.SIGINT)
            check(recorder.wait() == 0, f"{recorder.returncode}")


@case
def two_recordings_are_compared():
    need_root()
    with directory() as where:
        paths = [os.path.join(where, name) for name in ("a.ctop", "b.ctop")]
        for path in paths:
            ctop_ok("record", "-q", "--time", "wall", "-o", path, "--", workload("waiters"), "3")
        wait, wall, cpu = (ctop_ok("diff", "--limit", "0", "--time", time, *paths).stdout for time in ("wait", "wall", "cpu"))
        check_refused(ctop("diff", "--time", "wait", "--event", "cpu-clock", *paths), 2, "--event")
        check_refused(ctop("diff", "--time", "wait", "--per", "cpu-clock", *paths), 2, "cpu-clock", "--per second")
        ctop_ok("record", "-q", "--time", "wall", "-e", "cpu-clock,page-faults", "-o", paths[1], "--", workload("waiters"), "0.3")
        check_refused(ctop("diff", "--time", "wall", "--event", "page-faults", paths[1], paths[1]), 1, "page-faults is no time", "clock")
        ctop_ok("record", "-q", "-o", paths[1], "--", workload("spin"), "0.3")
        check_refused(ctop("diff", "--time", "wait", *paths), 1, "where threads waited", "--time wall")
    for text, of, rows in ((wait, "of wait in", {"read_nothing"}), (wall, "of cpu-clock and wait in", {"read_nothing", "wanter"}), (cpu, "of cpu-clock in", {"wanter"})):
        check(text.count(of) == 2, text)
        check({name for name in ("read_nothing", "wanter") if re.search(rf"  {name} +waiters", text)} >= rows, text)
    check("read_nothing" not in cpu and "each wait counts as a sample" in wait, f"{cpu}\n{wait}")


@case
def bad_input():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        for some in ("-C", "0"), ("--comm", "x"), ("--uid", "0"):
            check_refused(ctop("record", "--time", "wall", "-a", *some, "-o", path), 2, "where some of all processes are sampled", "give -a alone")
        for apart in "goroutines", "wakeups":
            check_refused(ctop("record", "--time", apart, "-a", "-o", path), 2, f"of all processes {apart} are not known", "-p PID")
        check_refused(ctop("record", "--time", "wall", "-e", "page-faults", "-o", path, "--", "true"), 2, "page-faults", "clock")
        check_refused(ctop("record", "--time", "never", "-o", path, "--", "true"), 2, "never", "cpu, wait, wall, goroutines or wakeups")
        check(not os.path.exists(path), "a file was written")
        ctop_ok("record", "-q", "-o", path, "--", workload("spin"), "0.3")
        for time in ("wait", "wall"):
            check_refused(ctop("report", "--stdio", "--time", time, path), 1, "where threads waited", "record again with --time wall")
        check_refused(ctop("report", "--stdio", "--time", "wait", "--event", "cpu-clock", path), 2, "--event")
        ctop_ok("record", "-q", "--time", "wall", "-e", "cpu-clock,page-faults", "-o", path, "--", workload("waiters"), "0.3")
        check_refused(ctop("report", "--stdio", "--time", "wall", "--event", "page-faults", path), 1, "page-faults is no time", "clock")
        ctop_ok("report", "--stdio", "--time", "wall", "--event", "cpu-clock", path)
        check_refused(ctop("report", "--stdio", "--time", "wait", "--cpu", "0", path), 1, "passes the filter", "--cpu")


if __name__ == "__main__":
    main()
