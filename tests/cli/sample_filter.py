#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parts of a machine as the target: cgroups, CPUs, names and users among all, with children and without."""

import contextlib
import os
import subprocess

from harness import (BUILD, CTOP, PATIENCE, case, cgroup, cgroup2, check, check_refused, child, ctop, directory, ended_well, folded,
                     main, need_program, need_root, record, record_work, recording_of, share_complete, target,
                     wait_for_cpu_time, wait_until, with_function)

CROWD = os.path.join(BUILD, "workloads", "crowd")
# Whom no process here belongs to but for a test's own.
SOMEBODY, SOMEBODY_ELSE = 64321, 64322


def check_exact(stats):
    """Each sample that was taken from the rings is kept, or dropped for a reason."""
    dropped = sum(stats["dropped"].values())
    check(stats["drained"] == stats["samples"] + dropped, f"{stats}")
    check(sum(stats["stacks"].values()) == stats["samples"], f"{stats}")


def comms(recording):
    return {stack[0] for stack in recording.stacks}


# ---- cgroups ----


@contextlib.contextmanager
def working(name, cgroup_path=None, uid=None):
    """A process that works under that name, once it does."""
    words = [CROWD, "comm", name]
    if uid is not None:
        words = [need_program("setpriv"), f"--reuid={uid}", "--clear-groups", *words]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as program:
        try:
            check(program.stdout.readline().startswith("ready"), "crowd is not ready")
            if cgroup_path:
                with open(os.path.join(cgroup_path, "cgroup.procs"), "w", encoding="ascii") as file:
                    file.write(str(program.pid))
            yield program
        finally:
            program.kill()
            program.wait()


@case
def a_cgroup_and_nothing_else():
    need_root()
    with directory() as where, cgroup() as (mount, name):
        path = os.path.join(mount, name)
        with working("within", path) as within, working("below", os.path.join(path, "below")) as below, \
                working("outside"):
            for spelled in (name, "/" + name, path):
                recording = record_work(where, [within.pid, below.pid], 0.1, "-G", spelled)
                check(comms(recording) == {"within", "below"}, f"{spelled}: {recording.stacks}")
                check_exact(recording.stats)
                check(share_complete(recording.stats) > 0.95, f"{recording.stats['stacks']}")
                check(with_function(recording.stacks, "crowd_named") > 3, f"{recording.stacks}")
            one = record_work(where, [below.pid], 0.1, "-G", f"{name}/below")
            check(comms(one) == {"below"}, f"{one.stacks}")
            chosen = record_work(where, [within.pid, below.pid], 0.1, "-G", name, "--comm", "below")
            check(comms(chosen) == {"below"}, f"{chosen.stacks}")
            check(chosen.stats["dropped"]["comm"] > 0, f"{chosen.stats}")
            check_exact(chosen.stats)


@case
def a_cgroup_that_is_removed_ends_the_profile():
    need_root()
    for words in (["record", "-o", "x.ctop"], ["--stdio"]):
        with directory() as where, cgroup() as (mount, name):
            path = os.path.join(mount, name, "below")
            stderr_path = os.path.join(where, "stderr")
            with open(stderr_path, "w", encoding="utf-8") as stderr, child(
                    CTOP, *words, "-e", "cpu-clock", "-G", f"{name}/below", cwd=where, stdout=subprocess.DEVNULL,
                    stderr=stderr) as profile:
                with working("within", path) as program:
                    # Empty is not the end: another one may come.
                    wait_for_cpu_time(program.pid, 0.3, lambda: profile.poll() is not None)
                with working("another", path) as program:
                    wait_for_cpu_time(program.pid, 0.3, lambda: profile.poll() is not None)
                check(profile.poll() is None, f"{words}: it ended while its cgroup was there")
                os.rmdir(path)
                try:
                    check(profile.wait(PATIENCE) == 0, f"{words}: {profile.returncode}")
                finally:
                    os.makedirs(path, exist_ok=True)  # as it was
            with open(stderr_path, encoding="utf-8") as file:
                told = [line for line in file if "cgroup removed" in line]
            check(len(told) == 1, f"{words}: {told}")
            if "record" in words:
                seen = {stack[0] for stack in folded(os.path.join(where, "x.ctop"))}
                check({"within", "another"} <= seen, f"{seen}")


@case
def cgroups_that_are_none():
    need_root()
    mount = cgroup2()
    with directory() as where:
        for path, status, words in (
                ("no-such-cgroup", 1, ["there is no cgroup", mount]),
                (where, 1, ["not a cgroup of version 2"]), ("cgroup.procs", 1, ["is a file"]),
                ("a/../b", 2, ["'a/>>>../b'"]), ("..", 2, ["'>>>..'"]), ("", 2, ["-G"]),
                ("a" * 5000, 2, [">>>"])):
            check_refused(ctop("record", "-G", path, "-o", "/dev/null"), status, *words)
        check_refused(ctop("record", "-G", "a", "-G", "b", "-o", "/dev/null"), 2, "two cgroups")
        check_refused(ctop("record", "-G", "a", "-p", "1", "-o", "/dev/null"), 2, "-p and -G")
        # And none at all, in a mount namespace without any.
        unshare = need_program("unshare")
        script = ("for m in $(awk '$3 == \"cgroup2\" {print $2}' /proc/self/mounts); do umount -l $m; done; "
                  f"exec {BUILD}/ctop record -G a -o /dev/null")
        result = subprocess.run([unshare, "-m", "sh", "-c", script], stdin=subprocess.DEVNULL, text=True,
                                capture_output=True, check=False)
        check_refused(result, 1, "cgroup2 is not mounted", "mount -t cgroup2")


# ---- names and users among all ----


@case
def names_and_users_among_all():
    need_root()
    with directory() as where, working("one", uid=SOMEBODY) as one, working("two", uid=SOMEBODY_ELSE) as two:
        for words, expected, reasons in (
                (["--comm", "one"], {"one"}, ["comm"]),
                (["--uid", SOMEBODY_ELSE], {"two"}, ["uid"]),
                (["--comm", "two", "--uid", SOMEBODY_ELSE], {"two"}, ["uid"]),
                (["--comm", "one", "--uid", SOMEBODY_ELSE], set(), ["comm", "uid"])):
            if expected:
                recording = record_work(where, [one.pid, two.pid], 0.1, "-a", *words)
            else:
                recording = record(where, "-e", "cpu-clock", "-a", *words, seconds=0.6)
            check(comms(recording) == expected, f"{words}: {recording.stacks}")
            check_exact(recording.stats)
            check(all(recording.stats["dropped"][reason] > 0 for reason in reasons), f"{recording.stats}")
            if expected:
                check(share_complete(recording.stats) > 0.95, f"{recording.stats['stacks']}")


@case
def users_of_what_starts_and_changes():
    need_root()
    setpriv = need_program("setpriv")
    with directory() as where:
        # Root until it becomes another's; children and grandchildren of his; their programs.
        script = (f"for i in 1 2 3 4 5 6; do {setpriv} --reuid={SOMEBODY} --clear-groups "
                  f"sh -c '{CROWD} threads 20' > /dev/null; done")
        with subprocess.Popen(["sh", "-c", f"while :; do {script}; done"]) as program:
            try:
                with recording_of(where, "-a", "--uid", SOMEBODY) as recorder:
                    path = os.path.join(where, "x.ctop")
                    wait_until(lambda: recorder.poll() is not None or
                               with_function(folded(path), "crowd_thread") > 3, "samples of his threads")
            finally:
                program.kill()
                program.wait()
        _, stats = ended_well(where, recorder)
        check_exact(stats)


@case
def what_is_to_be_chosen_from_is_checked():
    for words, marked in ((["-p", "1", "--comm", "x"], "--comm"), (["--uid", "0", "--", "true"], "--uid"),
                          (["-a", "--comm", "1234567890123456"], "'123456789012345>>>6'"),
                          (["-a", "--comm="], "--comm"), (["-a", "--uid", "12x"], "'12>>>x'"),
                          (["-a", "--uid", "99999999999"], ">>>"), (["-a", "--uid="], "--uid"),
                          (["-a", "--uid", "no-such-user"], "no-such-user")):
        check_refused(ctop("record", *words, "-o", "/dev/null"), 2, marked)
    need_root()
    result = ctop("record", "-C", "0,9999", "-o", "/dev/null")
    check_refused(result, 1, "CPU", "online")


# ---- threads and children ----


@case
def children_are_left_out_when_asked():
    need_root()
    spin = os.path.join(BUILD, "workloads", "spin")
    with directory() as where:
        for letter in ([], ["-i"], ["--no-inherit"]):
            recording = record(where, "-e", "cpu-clock", *letter, "--", spin, "1", seconds=60)
            threads = {"spin"} if letter else {"spin", "spinner"}
            check(comms(recording) == threads, f"{letter}: {recording.stacks}")
            check_exact(recording.stats)
        # Those that are there already are the target's, whatever comes later.
        with target("spin") as program:
            recording = record_work(where, [program.pid], 0.4, "-i", "-p", program.pid)
            check(comms(recording) == {"spin", "spinner"}, f"{recording.stacks}")
            # One thread by its number is that thread.
            recording = record_work(where, [program.pid], 0.2, "-t", program.pid)
            check(comms(recording) == {"spin"}, f"{recording.stacks}")
        with target("crowd", "children", "1000") as program:
            recording = record(where, "-e", "page-faults", "-c", "1", "-t", program.pid, seconds=0.6)
            check(not with_function(recording.stacks, "crowd_child"), f"{recording.stacks}")


@case
def several_processes_and_one_cpu():
    need_root()
    online = sorted(os.sched_getaffinity(0))
    with directory() as where, working("first") as first, working("second") as second, working("third"):
        pids = first.pid, second.pid
        recording = record_work(where, pids, 0.3, "-p", f"{first.pid},{second.pid}")
        check(comms(recording) == {"first", "second"}, f"{recording.stacks}")
        for program, cpu in ((first, online[0]), (second, online[-1])):
            os.sched_setaffinity(program.pid, {cpu})
        if len(online) > 1:
            recording = record_work(where, pids[:1], 0.3, "-C", online[0])
            check("first" in comms(recording) and "second" not in comms(recording), f"{recording.stacks}")
            recording = record_work(where, pids[1:], 0.3, "-p", f"{first.pid},{second.pid}", "-C", online[-1])
            check(comms(recording) == {"second"}, f"{recording.stacks}")
            # A list and a range; the same one twice is once.
            span = f"{online[0]}-{online[-1]},{online[0]}"
            check(folded(record(where, "-e", "cpu-clock", "-C", span, seconds=0.5).path), "no samples")


main()
