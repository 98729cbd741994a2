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

from harness import (BUILD, CTOP, PATIENCE, Skip, anonymous_bytes, case, check, children_of, ctop_ok,
                     folded, folder, main, moment, need_program, need_root, run,
                     share_complete, status_of, target, wait_for_cpu_time, wait_until, with_function)

HZ = 999
MIB = 1 << 20
# The bomb's steps, and how many of them are beyond every limit.
BOMB_BYTES, BOMB_STEPS = 16 * MIB, 100


class Recorder:
    """ctop record on a program of which every moment of CPU time is sampled from switch_on() on."""

    def __init__(self, where, program, *options):
        self.program = program
        self.path = os.path.join(where, "x.ctop")
        self.stats_path = os.path.join(where, "stats.json")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [CTOP, "record", "-q", "-e", "cpu-clock", "--delay", "-1", "-o", self.path, "--stats",
             self.stats_path, "-p", str(program.pid), *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.children = {}
        wait_until(self.has_children, "children")
        self.switched_on = moment()

    def has_children(self):
        self.check_alive()
        self.children = children_of(self.process.pid)
        return {"collector", "symbolizer", "writer"} <= self.children.keys()

    def switch_on(self):
        self.switched_on = moment()
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

    def wait_for_successor(self, role):
        before = self.children[role]

        def is_there():
            self.check_alive()
            self.children[role] = children_of(self.process.pid).get(role, before)
            return self.children[role] != before
        wait_until(is_there, f"successor of the {role}")

    def stop(self):
        """Ends it. Its statistics."""
        self.process.send_signal(signal.SIGINT)
        errors = self.process.communicate(timeout=PATIENCE)[1]
        check(self.process.returncode == 0, f"{self.process.returncode}: {errors}")
        check(errors == "", f"stderr: {errors}")
        with open(self.stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        check(sum(stats["stacks"].values()) == stats["samples"], f"endings do not sum up: {stats}")
        return stats


@contextlib.contextmanager
def recorder(*options, name="recursion"):
    with folder() as where, target(name) as program:
        one = Recorder(where, program, *options)
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
    told = (stats["drained"] + stats["lost"]) * period
    # Where others have the CPU, a virtual machine's host among them, the clock goes on and its ticks are missed.
    others = max(0, moment()[1] - one.switched_on[1])
    inexact = 0.01 * counted + 10 * period
    check(counted - inexact - others < told < counted + inexact,
          f"samples and losses for {told} s of {counted}, {others} s were others': {stats}")


def check_goes_on(one, role, deaths=1):
    """After a death: samples before and after, the other things as ever."""
    one.wait_for_successor(role)
    reborn = time.monotonic() - one.started
    one.wait_for_cpu(2)
    for child in ("collector", "symbolizer"):
        grown = anonymous_bytes(one.children[child])
        check(grown < 128 * MIB, f"the {child} has {grown} bytes")
    check(anonymous_bytes(one.process.pid) < 128 * MIB, "main has grown")
    stats = one.stop()
    check_counted(one, stats)
    check(stats["restarts"] == deaths, f"restarts: {stats['restarts']}")
    check(stats["unreadable"] == [], f"{stats['unreadable']}")
    check(share_complete(stats) > 0.99, f"{stats}")
    stacks = folded(one.path)
    check(sum(stacks.values()) == stats["samples"], "not all samples are in the file")
    check(with_function(stacks, "bottom") > 0.95 * sum(stacks.values()), "names are missing")
    # Times in a recording count from the first sample, which came after the start.
    after = folded(one.path, "--from", f"{reborn:.3f}")
    check(sum(after.values()) > 0.25 * HZ, f"{sum(after.values())} samples after the death")
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


def killed(role, number):
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(2)
        os.kill(one.children[role], number)
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
        one.wait_for_cpu(2)
        os.kill(one.children["symbolizer"], signal.SIGKILL)
        os.kill(one.children["collector"], signal.SIGKILL)
        one.wait_for_successor("symbolizer")
        check_goes_on(one, "collector", deaths=2)


def gdb_command(pid, script):
    program = need_program("gdb")
    return [program, "-batch", "-nx", "-ex", "set confirm off", "-ex", "set debuginfod enabled off",
            "-p", str(pid), "-x", script]


def write_script(where, lines):
    path = os.path.join(where, "script.gdb")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def gdb(pid, *lines):
    """Attaches to a process and does that."""
    need_program("gdb")
    with folder() as where:
        result = run(*gdb_command(pid, write_script(where, lines)))
    output = result.stdout + result.stderr
    if "Operation not permitted" in output:
        raise Skip("gdb may not attach to the children here")
    return output


# Two bytes that jump to themselves.
LOOP = ["set {unsigned char} $pc = 0xeb", "set {unsigned char} ($pc + 1) = 0xfe", "detach"]


def loops(role):
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(1)
        gdb(one.children[role], *LOOP)
        check_goes_on(one, role)


@case
def a_collector_that_loops_for_ever_is_ended():
    loops("collector")


@case
def a_symbolizer_that_loops_for_ever_is_ended():
    loops("symbolizer")


@case
def a_collector_that_is_stopped_is_replaced():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(1)
        os.kill(one.children["collector"], signal.SIGSTOP)
        stats = check_goes_on(one, "collector")
    # Whoever stopped it, it was not what it had in hand.
    check(stats["dropped"]["crash"] == 0, f"{stats['dropped']}")


@case
def a_collector_that_is_stopped_does_not_hold_up_the_end():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(1)
        os.kill(one.children["collector"], signal.SIGSTOP)
        stats = one.stop()
        check_counted(one, stats)
        check(stats["restarts"] == 1, f"{stats}")


def bombs(role, limit_bytes):
    need_root()
    if b"libasan" in run("ldd", CTOP).stdout.encode():
        raise Skip("sanitizers need a heap without bounds")
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(1)
        take = f"set $p = ((char *(*)(unsigned long)) malloc)({BOMB_BYTES})"
        output = gdb(one.children[role], "set $n = 0", take,
                     f"while $p != 0 && $n < {BOMB_STEPS}",
                     f"call ((void *(*)(void *, int, unsigned long)) memset)($p, 1, {BOMB_BYTES})",
                     "set $n = $n + 1", take, "end", 'printf "took %d\\n", $n', "signal SIGABRT")
        took = [line for line in output.splitlines() if line.startswith("took ")]
        check(len(took) == 1, output)
        got = int(took[0].split()[1]) * BOMB_BYTES
        check(limit_bytes // 2 < got <= limit_bytes, f"it got {got} bytes")
        check_goes_on(one, role)


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
        one.wait_for_cpu(1)
        # Main reads nothing for so long that the kernel's rings could not have held it.
        one.process.send_signal(signal.SIGSTOP)
        one.wait_for_cpu(3)
        os.kill(one.children["collector"], signal.SIGKILL)
        one.process.send_signal(signal.SIGCONT)
        stats = check_goes_on(one, "collector")
        check(stats["lost"] + stats["dropped"]["overrun"] < HZ, f"{stats}")


@case
def a_collector_that_dies_between_two_epochs():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(1)
        # It asks for fresh tables and does not live to go on there.
        output = gdb(one.children["collector"], "break merge_round", "continue",
                     "set $m = (struct message *) malloc(sizeof(struct message))",
                     "set $m->kind = MESSAGE_NEED_TABLES",
                     "print protocol_send(collector->channel, $m, -1)", "signal SIGKILL")
        if "No symbol" in output or "$1 = 0" not in output:
            raise Skip(f"no debug information: {output.splitlines()[-1:]}")
        check_goes_on(one, "collector")


@case
def a_collector_that_talks_nonsense_is_replaced():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(1)
        output = gdb(one.children["collector"], "break merge_round", "continue",
                     "set $m = (char *) malloc(100)",
                     "call ((void *(*)(void *, int, unsigned long)) memset)($m, 77, 100)",
                     "print channel_send(collector->channel, $m, 100, -1)", "detach")
        if "No symbol" in output:
            raise Skip(f"no debug information: {output.splitlines()[-1:]}")
        check_goes_on(one, "collector")


@case
def a_symbolizer_that_dies_again_and_again_costs_names_only():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(2)
        for _ in range(2):
            os.kill(one.children["symbolizer"], signal.SIGKILL)
            one.wait_for_successor("symbolizer")
        os.kill(one.children["symbolizer"], signal.SIGKILL)
        one.wait_for_cpu(1)
        stats = one.stop()
    check_counted(one, stats)
    check(stats["restarts"] == 3, f"{stats}")


@case
def a_collector_that_dies_again_and_again_ends_the_run_with_what_came():
    need_root()
    with recorder() as one:
        one.switch_on()
        one.wait_for_cpu(2)
        for _ in range(2):
            os.kill(one.children["collector"], signal.SIGKILL)
            one.wait_for_successor("collector")
        os.kill(one.children["collector"], signal.SIGKILL)
        errors = one.process.communicate(timeout=PATIENCE)[1]
        check(one.process.returncode == 1, f"{one.process.returncode}: {errors}")
        lines = errors.splitlines()
        check(len(lines) == 2 and "collector died" in lines[0] and lines[1].startswith("  "),
              errors)
        check(one.program.poll() is None, "the target died")
        check(with_function(folded(one.path), "bottom") > HZ, "what came is not there")


# ---- a module that kills its reader ----

def dies_in(one, role, function, condition, end):
    """gdb waits for the role's child in a function, and does that there."""
    with folder() as where:
        script = write_script(where, [f"break {function} {condition}", 'printf "armed\\n"',
                                      "continue", 'printf "there\\n"', "delete breakpoints", *end])
        debugger = subprocess.Popen(gdb_command(one.children[role], script),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        try:
            said = []
            for line in debugger.stdout:
                said.append(line)
                if line == "armed\n":
                    one.switch_on()
            debugger.wait()
        finally:
            if debugger.poll() is None:
                debugger.kill()
                debugger.wait()
            debugger.stdout.close()
        output = "".join(said)
        if "Operation not permitted" in output or "No symbol" in output:
            raise Skip(f"gdb cannot do it here: {output.splitlines()[-1:]}")
        check("there\n" in said, output)


def reads_to_death(role, function, condition, end):
    """The child dies while it reads the program's file: that is said, and the successor does without it."""
    need_root()
    need_program("gdb")
    with recorder() as one:
        dies_in(one, role, function, condition, end)
        one.wait_for_successor(role)
        one.wait_for_cpu(3)
        stats = one.stop()
        check(stats["restarts"] == 1, f"the successor was not spared: {stats}")
        check_counted(one, stats)
        return stats, folded(one.path), ctop_ok("report", "--stdio", one.path).stdout


def workload():
    return os.path.join(BUILD, "workloads", "recursion")


def symbols_to_death(function, end):
    condition = f"if file->key.inode == {os.stat(workload()).st_ino}"
    stats, stacks, report = reads_to_death("symbolizer", function, condition, end)
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
    symbols_to_death("symbol_file_give", ["signal SIGSEGV"])


@case
def a_name_that_the_symbolizer_crashes_on():
    symbols_to_death("symbol_file_find", ["signal SIGSEGV"])


@case
def a_name_that_the_symbolizer_never_gets_through_with():
    symbols_to_death("symbol_file_find", LOOP)


def tables_to_death(end):
    stats, stacks, report = reads_to_death("collector", "frame_table_open_eh", "", end)
    check(stats["unreadable"] == [f"{workload()} (stacks)"], f"{stats['unreadable']}")
    check("unreadable" in report, report)
    check(stats["stacks"]["broken"] > 0.9 * stats["samples"], f"{stats}")
    check(stats["dropped"]["crash"] == 1, f"{stats['dropped']}")
    # Names are the symbolizer's business.
    check(with_function(stacks, "bottom") > 0.9 * sum(stacks.values()), "names are missing")


@case
def unwind_tables_that_the_collector_crashes_on():
    tables_to_death(["signal SIGSEGV"])


@case
def unwind_tables_that_the_collector_never_gets_through_with():
    tables_to_death(LOOP)


@case
def somebody_elses_kill_is_no_files_fault():
    need_root()
    need_program("gdb")
    with recorder() as one:
        dies_in(one, "collector", "frame_table_open_eh", "", ["signal SIGKILL"])
        check_goes_on(one, "collector")


if __name__ == "__main__":
    main()
