#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The collector and the symbolizer may die at any time: the recording goes on, and what that cost is counted."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

from harness import (BUILD, CTOP, FAULTY, PATIENCE, ROOT, Skip, anonymous_bytes, case, check, children_of, ctop_ok,
                     directory, falling, folded, long_case, main, moment, need_root, run, sampled_seconds,
                     share_complete, status_of, target, tell, wait_for_cpu_time, wait_until, with_function)

HZ = 999
MIB = 1 << 20
# CPU time of the target, before something falls and after: some hundred samples.
BEFORE_SECONDS, AFTER_SECONDS = 0.3, 0.6
# poll, ppoll, and either started again after a stop: x86-64, arm64.
POLLS = ("7", "271", "219", "73", "128")


class Recorder:
    """ctop record on a program of which every moment of CPU time is sampled from switch_on() on."""

    def __init__(self, where, program, *options, fault=None):
        self.program = program
        self.path = os.path.join(where, "x.ctop")
        self.stats_path = os.path.join(where, "stats.json")
        self.started = None  # when samples may come
        self.process = subprocess.Popen(
            [FAULTY if fault else CTOP, "record", "-q", "-e", "cpu-clock", "--delay", "-1", "-o", self.path, "--stats",
             self.stats_path, "-p", str(program.pid), *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=falling(fault) if fault else None)
        self.said = ""
        self.children = {}
        wait_until(self.has_children, "children")
        self.switched_on = moment()

    def has_children(self):
        self.check_alive()
        self.children = children_of(self.process.pid)
        return {"collector", "symbolizer", "writer"} <= self.children.keys()

    def switch_on(self):
        self.switched_on = moment()
        self.started = time.monotonic()
        self.process.send_signal(signal.SIGUSR1)

    def check_alive(self):
        status = self.process.poll()
        if status is not None:
            check(False, f"the recorder ended: {status}, {self.process.stderr.read()}")

    def wait_for_cpu(self, seconds):
        """Until the target has used that much from now."""
        wait_for_cpu_time(self.program.pid, seconds,
                          lambda: self.process.poll() is not None or self.program.poll() is not None)
        self.check_alive()
        check(self.program.poll() is None, "the target ended")

    def wait_for_successor(self, role, at_rest=False):
        """At rest: the target stands still meanwhile, and takes no CPU from a child that loops."""
        before = self.children[role]
        if at_rest:
            self.program.send_signal(signal.SIGSTOP)

        def is_there():
            self.check_alive()
            self.children[role] = children_of(self.process.pid).get(role, before)
            return self.children[role] != before
        wait_until(is_there, f"successor of the {role}")
        self.program.send_signal(signal.SIGCONT)

    def stop(self):
        """Ends it. Its statistics; what was said stays in `said`."""
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate(timeout=PATIENCE)[1]
        check(self.process.returncode == 0, f"{self.process.returncode}: {self.said}")
        with open(self.stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        check(sum(stats["stacks"].values()) == stats["samples"], f"endings do not sum up: {stats}")
        return stats


@contextlib.contextmanager
def recorder(*options, fault=None):
    with directory() as where, target("recursion") as program:
        one = Recorder(where, program, *options, fault=fault)
        try:
            yield one
        finally:
            if one.process.poll() is None:
                one.process.kill()
                one.process.wait()
            one.process.stderr.close()


def check_counted(one, stats):
    """
    Whoever died: each sample that was taken from the rings is there or dropped for a reason, and they stand, with those that
    were lost, for all the time that the kernel counted. Nothing is in flight: the rings hold what nobody has taken.
    """
    dropped = sum(stats["dropped"].values())
    check(stats["drained"] == stats["samples"] + dropped, f"drained and not accounted for: {stats}")
    check(not stats["undrained"], f"{stats}")
    period, counted = stats["event"]["period"] / 1e9, stats["events_counted"] / 1e9
    least, most = sampled_seconds(stats, dropped)
    # Where others have the CPU, a virtual machine's host among them, the clock goes on and its ticks are missed.
    others = max(0, moment()[1] - one.switched_on[1])
    inexact = 0.01 * counted + 10 * period
    check(counted - inexact - others < most and least < counted + inexact,
          f"samples and losses for {least} to {most} s of {counted}, {others} s were others': {stats}")


def check_goes_on(one, role, deaths=1, said="", at_rest=False):
    """After a death: samples before and after, the other things as ever."""
    one.wait_for_successor(role, at_rest)
    reborn = time.monotonic() - one.started
    one.wait_for_cpu(AFTER_SECONDS)
    for child in ("collector", "symbolizer"):
        grown = anonymous_bytes(one.children[child])
        check(grown < 128 * MIB, f"the {child} has {grown} bytes")
    check(anonymous_bytes(one.process.pid) < 128 * MIB, "main has grown")
    stats = one.stop()
    check(re.fullmatch(said, one.said), f"stderr: {one.said}")
    check_counted(one, stats)
    check(stats["restarts"] == deaths, f"restarts: {stats['restarts']}")
    check(stats["unreadable"] == [], f"{stats['unreadable']}")
    check(share_complete(stats) > 0.99, f"{stats}")
    stacks = folded(one.path)
    check(sum(stacks.values()) == stats["samples"], "not all samples are in the file")
    check(with_function(stacks, "bottom") > 0.95 * sum(stacks.values()), "names are missing")
    # Times in a recording count from the first sample, which came after it was switched on.
    after = folded(one.path, "--from", f"{reborn:.3f}")
    # A quarter of them where the rings filled meanwhile.
    check(sum(after.values()) > 0.05 * HZ, f"{sum(after.values())} samples after the death")
    return stats


@case
def children_are_behind_a_filter():
    need_root()
    if "SANITIZE" in os.environ or b"__asan_init" in open(CTOP, "rb").read():
        raise Skip("a sanitizer's run time needs more")
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(0.2)
        for role, pid in one.children.items():
            check(status_of(pid, "Seccomp") == "2", f"{role} has no filter")
            check(status_of(pid, "NoNewPrivs") == "1" and int(status_of(pid, "CapEff"), 16) == 0, role)
        stats = one.stop()
    check(stats["restarts"] == 0 and stats["unsymbolized_frames"] == 0, f"{stats}")


def stopped_in_a_wait(pid):
    """Stopped while it waits for news: it has nothing in hand then."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: status_of(pid, "State").startswith(("T", "Z")), f"{pid} to stand still")
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        number = file.read().split()[0]
    # Whoever computes is in none, and reads and writes are short.
    return number in POLLS or os.kill(pid, signal.SIGCONT)


def killed(role, number):
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        if number == signal.SIGABRT:
            # As if by its own doing: what it has in hand is blamed.
            wait_until(lambda: stopped_in_a_wait(one.children[role]), f"{role} at rest")
        pid = one.children[role]
        os.kill(pid, number)
        if number == signal.SIGABRT:
            os.kill(pid, signal.SIGCONT)
        stats = check_goes_on(one, role)
    # Nothing stood still: the kernel's rings have room for a second.
    check(stats["lost"] < HZ, f"lost: {stats['lost']}")
    # Who is killed from outside was not killed by what it had in hand.
    check(stats["dropped"]["crash"] <= (number != signal.SIGKILL), f"{stats['dropped']}")


@case
def a_collector_that_is_killed_is_replaced():
    killed("collector", signal.SIGKILL)


@case
def a_collector_that_aborts_is_replaced():
    killed("collector", signal.SIGABRT)


@case
def a_symbolizer_that_is_killed_is_replaced():
    killed("symbolizer", signal.SIGKILL)


@case
def a_symbolizer_that_aborts_is_replaced():
    killed("symbolizer", signal.SIGABRT)


@case
def both_at_once():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        os.kill(one.children["symbolizer"], signal.SIGKILL)
        os.kill(one.children["collector"], signal.SIGKILL)
        one.wait_for_successor("symbolizer")
        check_goes_on(one, "collector", deaths=2)


def falls(role, fault, **expected):
    """A child falls that way on its next turn, once."""
    need_root()
    with recorder(fault=f"{role}:{fault}:told-turn") as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        tell(one.children[role])
        check_goes_on(one, role, **expected)
        return one.said


@case
def a_collector_that_loops_for_ever_is_ended():
    falls("collector", "loop")


@case
def a_symbolizer_that_loops_for_ever_is_ended():
    falls("symbolizer", "loop", at_rest=True)  # rings that fill meanwhile are the collector's case


@case
def a_collector_that_is_stopped_is_replaced():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        os.kill(one.children["collector"], signal.SIGSTOP)
        stats = check_goes_on(one, "collector")
    # Whoever stopped it, it was not what it had in hand.
    check(stats["dropped"]["crash"] == 0, f"{stats['dropped']}")


@case
def a_collector_that_is_stopped_does_not_hold_up_the_end():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        os.kill(one.children["collector"], signal.SIGSTOP)
        stats = one.stop()
        check_counted(one, stats)
        check(stats["restarts"] == 1, f"{stats}")


def bombs(role, limit_bytes):
    if b"libasan" in run("ldd", CTOP).stdout.encode():
        raise Skip("sanitizers need a heap without bounds")
    said = falls(role, "bomb", said=r"ctop: the .* said: took \d+ bytes\n")
    got = int(re.search(r"took (\d+)", said).group(1))
    check(limit_bytes // 2 < got <= limit_bytes, f"it got {got} bytes")


@case
def a_collector_that_takes_all_memory_is_bounded():
    bombs("collector", 512 * MIB)


@case
def a_symbolizer_that_takes_all_memory_is_bounded():
    bombs("symbolizer", 1024 * MIB)


@case
def what_main_had_not_read_yet_survives():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        # Main reads nothing for so long that the kernel's rings could not have held it.
        one.process.send_signal(signal.SIGSTOP)
        one.wait_for_cpu(3)
        os.kill(one.children["collector"], signal.SIGKILL)
        one.process.send_signal(signal.SIGCONT)
        stats = check_goes_on(one, "collector")
        check(stats["lost"] + stats["dropped"]["overrun"] < HZ, f"{stats}")


def message_kinds():
    """{name: number} of all messages between main and its children."""
    with open(os.path.join(ROOT, "include/ctop/ipc/protocol.h"), encoding="ascii") as file:
        listed = re.search(r"^enum message_kind \{(.*?)^\};", file.read(), re.MULTILINE | re.DOTALL).group(1)
    names = re.findall(r"^\s*(?:MESSAGE|NR_MESSAGE)_(\w+)", listed, re.MULTILINE)
    check(len(names) > 20 and names[-1] == "KINDS", f"{names}")
    return {name: number for number, name in enumerate(names[:-1], 1)}


@case
def a_collector_that_dies_between_two_epochs():
    # It asks for fresh tables and does not live to go on there.
    falls("collector", f"say={message_kinds()['NEED_TABLES']}+kill")


@case
def a_collector_that_talks_nonsense_is_replaced():
    falls("collector", "noise=100")


# Of these a body full of nonsense means nothing, but is none either.
HARMLESS = {"NEED_TABLES", "DOUBLE"}
AT_ONCE = 8


def talk(where, program, faults, deaths):
    """Recorders side by side, whose children each talk nonsense once, of that kind; how many deaths that is to be."""
    with contextlib.ExitStack() as stack:
        talking = []
        for number, (name, fault) in enumerate(faults.items()):
            place = os.path.join(where, str(number))
            os.mkdir(place)
            one = Recorder(place, program, fault=f"{fault}:told-turn")
            stack.callback(one.process.wait)
            stack.callback(one.process.kill)
            stack.callback(one.process.stderr.close)
            talking.append((name, fault.partition(":")[0], one))
        for _, _, one in talking:
            one.switch_on()
        talking[0][2].wait_for_cpu(0.1)
        for _, role, one in talking:
            tell(one.children[role])
        for name, role, one in talking:
            if deaths(name):
                one.wait_for_successor(role)
        talking[0][2].wait_for_cpu(0.1)
        for name, _, one in talking:
            stats = one.stop()
            check(one.said == "" and stats["restarts"] == deaths(name), f"{name}: {stats['restarts']}, {one.said}")
            check_counted(one, stats)


def talk_of_all_kinds(faults, deaths):
    need_root()
    names = list(faults)
    for first in range(0, len(names), AT_ONCE):
        with directory() as where, target("recursion") as program:
            talk(where, program, {name: faults[name] for name in names[first:first + AT_ONCE]}, deaths)


@case
def nonsense_of_every_kind_from_the_collector():
    kinds = message_kinds()
    faults = {name: f"collector:babble={number}" for name, number in kinds.items()}
    talk_of_all_kinds(faults, lambda name: name not in HARMLESS)


@case
def what_is_not_the_symbolizers_to_say():
    kinds = message_kinds()
    faults = {name: f"symbolizer:say={kinds[name]}" for name in (
        "MAPPED", "PAUSED", "NEED_PROCESS", "NEED_OWNER", "NEED_CODE", "NEED_TABLES", "DOUBLE", "READ", "DONE")}
    talk_of_all_kinds(faults, lambda name: True)


@case
def nonsense_of_every_size():
    sizes = 1, 3, 4, 5, 64, 4096, 8191, 8192
    talk_of_all_kinds({str(size): f"collector:noise={size}" for size in sizes}, lambda name: True)


@case
def a_symbolizer_that_dies_again_and_again_costs_names_only():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(BEFORE_SECONDS)
        for _ in range(2):
            os.kill(one.children["symbolizer"], signal.SIGKILL)
            one.wait_for_successor("symbolizer")
        os.kill(one.children["symbolizer"], signal.SIGKILL)
        one.wait_for_cpu(BEFORE_SECONDS)
        stats = one.stop()
    check_counted(one, stats)
    check(stats["restarts"] == 3, f"{stats}")


# ---- a module that kills its reader ----

def reads_to_death(role, fault):
    """The child falls while it reads the program's file, whoever reads it: that is said, and the successor does without it."""
    need_root()
    with recorder(fault=f"{role}:{fault}=/recursion") as one:
        one.switch_on()
        one.wait_for_successor(role)
        one.wait_for_cpu(AFTER_SECONDS)
        stats = one.stop()
        check(stats["restarts"] == 1, f"the successor was not spared: {stats}")
        check_counted(one, stats)
        return stats, folded(one.path), ctop_ok("report", "--stdio", one.path).stdout


def workload():
    return os.path.join(BUILD, "workloads", "recursion")


def symbols_to_death(fault):
    stats, stacks, report = reads_to_death("symbolizer", fault)
    check(stats["unreadable"] == [f"{workload()} (names)"], f"{stats['unreadable']}")
    check("unreadable" in report and f"{workload()} (names)" in report.replace("\n           ", ""),
          report)
    check(share_complete(stats) > 0.99, f"{stats}")
    check(with_function(stacks, "bottom") == 0, "a file that was not to be read was read")
    check(with_function(stacks, "__libc_start_call_main") > 0.95 * sum(stacks.values()) or
          with_function(stacks, "__libc_start_main") > 0.95 * sum(stacks.values()),
          f"other files' names are missing: {list(stacks)[:1]}")


@case
def a_file_that_the_symbolizer_crashes_on():
    symbols_to_death("segv:file")


@case
def a_name_that_the_symbolizer_crashes_on():
    symbols_to_death("segv:name")


# A loop is ended as that of a collector in its tables, and as any of a symbolizer's.
@long_case
def a_name_that_the_symbolizer_never_gets_through_with():
    symbols_to_death("loop:name")


def tables_to_death(fault):
    stats, stacks, report = reads_to_death("collector", fault)
    check(stats["unreadable"] == [f"{workload()} (stacks)"], f"{stats['unreadable']}")
    check("unreadable" in report, report)
    check(stats["stacks"]["broken"] > 0.9 * stats["samples"], f"{stats}")
    check(stats["dropped"]["crash"] == 1, f"{stats['dropped']}")
    # Names are the symbolizer's business.
    check(with_function(stacks, "bottom") > 0.9 * sum(stacks.values()), "names are missing")


@case
def unwind_tables_that_the_collector_crashes_on():
    tables_to_death("segv:tables")


@case
def unwind_tables_that_the_collector_never_gets_through_with():
    tables_to_death("loop:tables")


@case
def somebody_elses_kill_is_no_files_fault():
    need_root()
    with recorder(fault="collector:kill:told-tables=/recursion") as one:
        tell(one.children["collector"])
        one.switch_on()
        check_goes_on(one, "collector")


if __name__ == "__main__":
    main()
