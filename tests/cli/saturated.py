#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where every CPU is taken: ctop comes soon, takes less, and says what it took."""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import time

from harness import (BUILD, CTOP, PATIENCE, Skip, alone, case, check, child, child_pids, children_of, directory,
                     ended_well, main, need_program, need_root, paranoid, plain_user, readable_ctop, recording_of, run,
                     status_of, target, wait_for_cpu_time, wait_for_samples, wait_until)

SLICE_NS = 100_000
NR_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}


def schedule(pid):
    """(policy, nice, slice in ns) of a process."""
    number = NR_SCHED_GETATTR.get(os.uname().machine)
    if not number:
        raise Skip(f"no number of sched_getattr() on {os.uname().machine}")
    attributes = ctypes.create_string_buffer(48)
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.syscall(number, pid, attributes, 48, 0) == 0, os.strerror(ctypes.get_errno()))
    _, policy, _, nice, _, slice_ns = struct.unpack_from("<IIQiIQ", attributes)
    return policy, nice, slice_ns


def opener_of(pid):
    """Forked, and not executed: it has its maker's command line."""
    for child in child_pids(pid):
        if status_of(child, "Name") == "ctop-opener":
            return child
    return None


def need_slices():
    if not 0 < schedule(0)[2] < 1 << 40:
        raise Skip("this kernel has no slices of one's own (they came with Linux 6.12)")


@case
def it_asks_for_short_slices_and_never_for_real_time():
    need_root()
    need_slices()
    with directory() as where, target("spin") as program:
        with recording_of(where, "-p", program.pid) as recorder:
            pids = {"main": recorder.pid, "opener": opener_of(recorder.pid), **children_of(recorder.pid)}
            seen = {role: schedule(pid) for role, pid in pids.items()}
        ended_well(where, recorder)
    # What main waits for is as soon as main.
    for role in "main", "collector", "opener":
        policy, nice, slice_ns = seen[role]
        check(policy == os.SCHED_OTHER and slice_ns == SLICE_NS and nice < 0, f"{role}: {seen}")
    # They work as long as they work: nothing waits for them.
    for role in "symbolizer", "writer":
        policy, nice, slice_ns = seen[role]
        check(policy == os.SCHED_OTHER and slice_ns > SLICE_NS and nice == 0, f"{role}: {seen}")


def schedule_of_command(recorder):
    """Of the shell that the recorder started, which is ended then."""
    mine = [pid for pid in child_pids(recorder.pid) if pid not in children_of(recorder.pid).values()]
    names = {pid: open(f"/proc/{pid}/comm", encoding="utf-8").read().strip() for pid in mine}
    commands = [pid for pid, name in names.items() if name == "sh"]
    check(len(commands) == 1, f"{names}")
    seen = schedule(commands[0])
    os.kill(commands[0], 9)
    return seen


COMMAND = "--", "sh", "-c", "while :; do :; done"


@case
def its_command_is_an_ordinary_process():
    need_root()
    need_slices()
    with directory() as where, recording_of(where, *COMMAND) as recorder:
        seen = schedule_of_command(recorder)
    check(seen[:2] == (os.SCHED_OTHER, 0) and seen[2] > SLICE_NS, f"{seen}")


@case
def the_highest_nice_value_is_the_users_too():
    """It is the one that ctop asks for itself: what is not ctop's has it as before, with slices as before."""
    need_root()
    need_slices()
    with directory() as where, recording_of(where, *COMMAND, preexec_fn=lambda: os.nice(-20)) as recorder:
        main_slice = schedule(recorder.pid)[2]
        symbolizer = schedule(children_of(recorder.pid)["symbolizer"])
        command = schedule_of_command(recorder)
    check(main_slice < 2 * SLICE_NS, f"{main_slice}")
    for seen in command, symbolizer:
        check(seen[1] == -20 and seen[2] > 2 * SLICE_NS, f"{command} {symbolizer}")


@case
def a_nice_value_of_the_users_is_kept():
    need_root()
    need_slices()
    with directory() as where, target("spin") as program:
        with recording_of(where, "-p", program.pid, preexec_fn=lambda: os.nice(5)) as recorder:
            pids = [recorder.pid, children_of(recorder.pid)["collector"]]
            seen = [schedule(pid) for pid in pids]
        ended_well(where, recorder)
    check(all(nice == 5 and slice_ns == SLICE_NS for _, nice, slice_ns in seen), f"{seen}")


def running():
    """Tasks that run, or want to."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].partition("/")[0])


def reader_stops(recorder, until):
    """The rings fill while their reader stands still; then it sees so."""
    collector = children_of(recorder.pid)["collector"]
    os.kill(collector, signal.SIGSTOP)
    try:
        until()
    finally:
        os.kill(collector, signal.SIGCONT)


def said(stats):
    return [step for step in stats["steps_down"] if "the rings were filled faster than they could be read" in step]


@case
@alone("the rings are to fill for want of their reader only")
def fewer_and_smaller_samples_where_the_rings_fill():
    need_root()
    with directory() as where, target("spin") as program:
        # A ring of 1 MiB holds 16 copies of 64 KiB, or 100 of 8 KiB.
        with recording_of(where, "-m", "256", "-p", program.pid) as recorder:
            reader_stops(recorder, lambda: wait_for_cpu_time(program.pid, 0.5))
            wait_for_cpu_time(program.pid, 0.5)
        stacks, stats = ended_well(where, recorder)
    dear, cheap = stats["sets"]
    check(dear["fewer"] == 1 and cheap["fewer"] > 1 and cheap["dump_bytes"] <= dear["dump_bytes"], f"{stats['sets']}")
    check(dear["seconds"] > 0 and cheap["seconds"] > 0, f"{stats['sets']}")
    check(len(said(stats)) == 1 and "samples per second instead of 999" in said(stats)[0], f"{stats['steps_down']}")
    check(stats["drained"] == stats["samples"] + sum(stats["dropped"].values()), f"{stats}")
    # Samples weigh what they stand for, in either set.
    lost_ns = stats["lost"] * stats["event"]["period"] * cheap["fewer"]
    counted, sampled = stats["events_counted"], stats["events_sampled"]
    check(sampled <= 1.05 * counted + 1e7 and sampled + lost_ns >= 0.9 * counted, f"{stats}")
    check(stats["dropped"]["double"] < 20, f"{stats}")


@case
@alone("the rings are to fill for want of their reader only")
def no_event_is_missed_while_copies_become_smaller():
    need_root()
    with directory() as where:
        for of in ([], ["-a"]):
            with target("faults", "100000") as program:
                of_whom = of or ["-p", program.pid]
                with recording_of(where, "-e", "page-faults", "-c", "1", "-m", "4096", *of_whom) as recorder:
                    reader_stops(recorder, lambda: wait_for_cpu_time(program.pid, 0.2))
                    wait_for_cpu_time(program.pid, 0.3)
                _, stats = ended_well(where, recorder)
            # Those of a moment in which both are switched on are counted twice, and dropped once.
            places = stats["samples"] + stats["lost"] + sum(stats["dropped"].values())
            # What the kernel calls lost are of whole CPUs also others' forks and mappings.
            more = stats["lost"] if of else 0
            # Linux 6.18 counts an event that is switched off between its count and its sample, and drops the sample: one per CPU
            # and switch at most, and there are two sets to leave.
            fewer = 2 * os.cpu_count()
            check(-fewer <= places - stats["events_counted"] <= more, f"{places} of {stats['events_counted']}: {stats}")
            check(stats["drained"] == stats["samples"] + sum(stats["dropped"].values()), f"{stats}")
            check(len(said(stats)) == 1, f"{stats['steps_down']}")
            check(stats["dropped"]["double"] < 0.05 * places, f"{stats}")
            check(sum(each["seconds"] > 0 for each in stats["sets"]) > 1, f"{stats['sets']}")


@case
def one_timer_wakes_for_the_rings_of_all_cpus():
    """The ring of each busy CPU is a quarter full every 32 ms."""
    need_root()
    if os.cpu_count() < 2:
        raise Skip("there is one CPU")
    with directory() as where, target("spin") as program:
        with recording_of(where, "-e", "cpu-clock", "-p", program.pid) as recorder:
            collector = children_of(recorder.pid)["collector"]
            wait_for_cpu_time(program.pid, 2)
            before, began = int(status_of(collector, "voluntary_ctxt_switches")), time.monotonic()
            wait_for_cpu_time(program.pid, 4)
            woken, seconds = int(status_of(collector, "voluntary_ctxt_switches")) - before, time.monotonic() - began
        ended_well(where, recorder)
    check(woken < 45 * seconds, f"{woken} times in {seconds:.1f} s")


@case
@alone("is about calm")
def copies_grow_again_when_it_is_calm():
    need_root()
    with directory() as where, target("sleepwork") as program:
        # Next to nothing happens: the smaller ones, to begin with, leave room for what may come.
        with recording_of(where, "-e", "context-switches", "-c", "1", "-p", program.pid) as recorder:
            collector = children_of(recorder.pid)["collector"]
            before = int(status_of(collector, "voluntary_ctxt_switches"))
            wait_until(lambda: int(status_of(collector, "voluntary_ctxt_switches")) > before + 60, "3 s of rounds")
        _, stats = ended_well(where, recorder)
    largest, smaller = stats["sets"][:2]
    check(largest["dump_bytes"] > smaller["dump_bytes"] and smaller["seconds"] > 0, f"{stats['sets']}")
    check(largest["seconds"] > 0, f"{stats['sets']}")
    check(not said(stats), f"{stats['steps_down']}")


@case
@alone("takes every CPU for a moment")
def who_is_one_of_many_begins_with_less():
    need_root()
    nr = 20 * os.cpu_count()
    if nr > 200:
        raise Skip(f"to take {os.cpu_count()} CPUs needs {nr} processes")
    spin = os.path.join(BUILD, "workloads", "spin")
    with contextlib.ExitStack() as stack:
        stack.enter_context(paranoid(2))
        where, program = stack.enter_context(readable_ctop())
        shutil.copy(spin, where)
        crowd = [stack.enter_context(child(*plain_user(), os.path.join(where, "spin"), stdout=subprocess.DEVNULL))
                 for _ in range(nr)]
        wait_until(lambda: running() > 17 * os.cpu_count(), f"{nr} processes that run")
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        recorder = stack.enter_context(child(
            *plain_user(), program, "record", "-e", "cpu-clock:u", "-F", "999", "-o", path, "--stats", stats_path,
            "--duration", PATIENCE, "-p", crowd[0].pid, stderr=subprocess.PIPE, text=True))
        errors = ""
        while "a sample for each 4 asked for" not in errors and (line := recorder.stderr.readline()):
            errors += line
        # It has made up its mind; what it still does is not to take as long as they let it.
        for each in crowd[1:]:
            each.kill()
        wait_for_samples(recorder, path)
        recorder.send_signal(signal.SIGINT)
        errors += recorder.communicate(timeout=PATIENCE)[1]
        check(recorder.returncode == 0 and "a sample for each 4 asked for" in errors, f"{recorder.returncode}: {errors}")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
    check(stats["event"]["period"] == 1001001 * 4 and len(stats["sets"]) == 1, f"{stats}")


@case
def too_few_descriptors_for_cheaper_events_are_told():
    need_root()
    with directory() as where, target("crowd", "waiting", "100") as program:
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) > 100, "100 threads")
        nr = 101 * os.cpu_count()
        # For one set, and not for two.
        limit = f"--nofile={nr * 2 + 300}:{nr * 2 + 300}"
        setpriv = [need_program("setpriv"), "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        result = run(*setpriv, need_program("prlimit"), limit, CTOP, "record", "-e", "cpu-clock", "-o", path, "--stats",
                     stats_path, "--duration", "0.3", "-p", program.pid)
        check(result.returncode == 0 and "copies and rate stay as they are" in result.stderr, f"{result}")
        with open(stats_path, encoding="utf-8") as file:
            check(len(json.load(file)["sets"]) == 1, "there are others")
        result = run(*setpriv, need_program("prlimit"), limit, CTOP, "record", "--strict", "-e", "cpu-clock", "-o", path,
                     "--duration", "0.1", "-p", program.pid)
        check("copies and rate stay" not in result.stderr, f"{result}")
        # For two sets, and not for the five of a rate that ctop keeps.
        limit = f"--nofile={nr * 3 + 300}:{nr * 3 + 300}"
        result = run(*setpriv, need_program("prlimit"), limit, CTOP, "record", "-e", "page-faults", "-o", path, "--stats",
                     stats_path, "--duration", "0.3", "-p", program.pid)
        check(result.returncode == 0 and "are left to the kernel" in result.stderr, f"{result}")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        check(len(stats["sets"]) == 2 and "sets" not in stats["events"][0], f"{stats}")


if __name__ == "__main__":
    main()
