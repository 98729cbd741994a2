#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Targets whose memory never answers: whoever reads it is held until he is killed. ctop goes on, and says so."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess

from fuse import file_system
from harness import (BUILD, PATIENCE, Skip, case, check, child, child_pids, ctop, ctop_ok, directory, main, need_root, recording_of, started, status_of, target,
                     wait_until)

SILENT_OF_PROCESS = 4


@contextlib.contextmanager
def silent(nr):
    need_root()
    with child(os.path.join(BUILD, "workloads", "silent"), "600", str(nr), stdout=subprocess.PIPE, text=True) as program:
        words = program.stdout.readline()
        if words.startswith("refused: "):
            raise Skip(f"no memory that holds the kernel: {words.removeprefix('refused: ').strip()}")
        check(words.startswith("ready "), words)
        yield program


def looker_of(pid):
    """ctop's process for looks at others; 0: none runs."""
    for one in child_pids(pid):
        with contextlib.suppress(OSError):
            if status_of(one, "Name") == "ctop-looker" and not status_of(one, "State").startswith("Z"):
                return one
    return 0


def stats_of(where):
    with open(os.path.join(where, "s.json"), encoding="utf-8") as file:
        return json.load(file)


def waits_of(path):
    """{thread: {stack: ns}}; nothing while there are none."""
    threads = {}
    for line in ctop("export", "folded", path, "--no-inline", "--time", "wait").stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        comm, *frames = stack.split(";")
        threads.setdefault(comm, {})[tuple(frames)] = int(ns)
    return threads


def check_goes_on(nr, expected, of_another):
    with directory() as where, silent(nr) as program:
        path = os.path.join(where, "x.ctop")
        with recording_of(where, "--time", "wall", "-p", program.pid) as recorder:
            # What the other thread waits for is seen, while the recording grows.
            wait_until(lambda: any(of_another in stack for stack in waits_of(path).get("nap", ())), f"{of_another} of the other thread")
        check(recorder.returncode == 0, recorder.errors)
        stats = stats_of(where)
        check(stats["waits_silent"] == expected, f"{stats}")
        threads = waits_of(path)
        told = sum(sum(stacks.values()) for stacks in threads.values()) / 1e9
        account = stats["time"]["waiting_seconds"] + stats["time"]["runnable_seconds"]
        check(abs(told - account) <= 1e-3 * account, f"{told} s in the profile, {account} s by the account")
        # How long they wait is known all the same, and that all of them do.
        check(sum(threads["silent"].values()) > 0.9 * nr * max(sum(threads["nap"].values()), 1), f"{threads}")
        check(not any("wait_silently" in stack for stack in threads["silent"]), f"{threads['silent']}")
        header = ctop_ok("report", path, "--time", "wait").stdout
        check(re.search(rf"^problems .*\b{expected} times? a thread's memory did not answer within 250 ms", header, re.M), header)


@case
def memory_that_never_answers_holds_nobody():
    check_goes_on(1, 1, "nap_long")


@case
def nor_that_of_many_threads():
    """Of a process with several such threads none is looked at any more: what for is known, and how long."""
    check_goes_on(20, SILENT_OF_PROCESS, "[sleep]")


@case
def a_program_in_a_file_system_that_hangs():
    """What a process runs is looked at again and again: nobody asks the file system for it."""
    need_root()
    with open(os.path.join(BUILD, "workloads", "sleepwork"), "rb") as file:
        content = file.read()
    with directory() as where:
        mount, path = os.path.join(where, "own"), os.path.join(where, "x.ctop")
        os.mkdir(mount)
        with file_system(mount, "program", content, 0, 0, seconds=0) as server, started(os.path.join(mount, "program"), "600") as program:
            os.kill(server, signal.SIGSTOP)
            with recording_of(where, "--time", "wall", "-p", program.pid) as recorder:
                wait_until(lambda: sum(sum(stacks.values()) for stacks in waits_of(path).values()) > 1e9, "a second of waiting")
            os.kill(server, signal.SIGCONT)
            check(recorder.returncode == 0, recorder.errors)


@case
def the_looker_has_little_and_ends_with_ctop():
    need_root()
    with directory() as where, target("waiters", "600") as program:
        with recording_of(where, "--time", "wall", "-p", program.pid) as recorder:
            wait_until(lambda: looker_of(recorder.pid), "looker")
            looker = looker_of(recorder.pid)
            # Beside its end of a socket there may be the file of /proc that it reads just now.
            wait_until(lambda: os.listdir(f"/proc/{looker}/fd") == ["3"], "descriptors closed")
            check(os.readlink(f"/proc/{looker}/fd/3").startswith("socket:"), os.readlink(f"/proc/{looker}/fd/3"))
            # CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE, as far as root has them.
            check(int(status_of(looker, "CapPrm"), 16) & ~(1 << 2 | 1 << 19) == 0, status_of(looker, "CapPrm"))
            check(status_of(looker, "NoNewPrivs") == "1", status_of(looker, "NoNewPrivs"))
            ended = os.pidfd_open(looker)
            recorder.kill()
            check(select.select([ended], [], [], PATIENCE)[0], f"the looker goes on after {PATIENCE} s")
            os.close(ended)


@case
def somebody_kills_the_looker():
    need_root()
    with directory() as where, target("waiters", "600") as program:
        with recording_of(where, "--time", "wall", "-p", program.pid) as recorder:
            wait_until(lambda: looker_of(recorder.pid), "looker")
            first = looker_of(recorder.pid)
            os.kill(first, signal.SIGKILL)
            wait_until(lambda: looker_of(recorder.pid) not in (0, first), "another looker")
        check(recorder.returncode == 0, recorder.errors)
        check(stats_of(where)["waits_silent"] == 0, f"{stats_of(where)}")


if __name__ == "__main__":
    main()
