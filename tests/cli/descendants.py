#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""-p includes the children that run already: none missed, none counted twice, none that is nobody's child."""

import collections
import os
import re
import shutil
import signal
import subprocess

from harness import (BUILD, CTOP, NOBODY, OTHER_USER, PARANOID_IS_2, PATIENCE, Skip, alone, case, check, check_refused,
                     child_pids, ctop, ctop_ok, directory, long_case, main, need_program, need_root, open_to_all,
                     paranoid, record, record_work, run, started, target, wait_for_samples, wait_until)

PAGES = 64  # that each child of `family racing` touches


def kids(stacks):
    return {stack[0] for stack in stacks if stack[0].startswith("kid")}


@case
def children_that_run_already():
    need_root()
    with directory() as where, target("family", "working", 9) as program:
        recording = record_work(where, child_pids(program.pid), 0.05, "-p", program.pid)
        report = ctop_ok("report", "--stdio", recording.path).stdout
        alone = record(where, "-e", "cpu-clock", "--no-inherit", "-p", program.pid, seconds=0.3)
    check(kids(recording.stacks) == {f"kid{i}" for i in range(9)}, f"{recording.stacks}")
    check(f"family[{program.pid}] +9 children" in report, report)
    check(f"family[{program.pid}] +9 children" in recording.stderr, recording.stderr)
    check(not kids(alone.stacks) and "children" not in alone.stderr, f"{alone}")


@case
def grandchildren():
    need_root()
    with directory() as where, target("family", "deep", 30) as program:
        last = program.pid
        while children := child_pids(last):
            last = children[0]
        recording = record_work(where, [last], 0.1, "-p", program.pid)
    check(kids(recording.stacks) == {"kid29"}, f"{recording.stacks}")
    check("+30 children" in recording.stderr, recording.stderr)


@case
def one_child():
    need_root()
    with directory() as where, target("family", "working", 1) as program:
        recording = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=0.3)
    check(f"family[{program.pid}] +1 child in" in recording.stderr, recording.stderr)


@case
def a_parent_and_its_child_are_named():
    need_root()
    with directory() as where, target("family", "working", 2) as program:
        child = child_pids(program.pid)[0]
        recording = record(where, "-e", "cpu-clock", "-p", f"{program.pid},{child}", seconds=0.3)
    check(f"[{child}] +1 child in" in recording.stderr, recording.stderr)


def wait_for_more(recorder, path):
    """It writes what it has once a second."""
    before = os.path.getsize(path)
    wait_until(lambda: recorder.poll() is not None or os.path.getsize(path) > before, "more samples")


def race(where, nr):
    """Children that are forked while the target is attached: how often each was sampled."""
    path = os.path.join(where, "x.ctop")
    with target("family", "racing", nr) as program:
        recorder = subprocess.Popen(
            [CTOP, "record", "-o", path, "-e", "page-faults:u", "-c", "1", "--call-graph", "no", "-m",
             "1024", "-p", str(program.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            # The parent's own, which come all the time. What is written twice more was sampled after the last look for
            # latecomers, and when all was said of those who were there.
            wait_for_samples(recorder, path)
            for _ in range(2):
                wait_for_more(recorder, path)
            program.send_signal(signal.SIGUSR1)
            check(program.stdout.readline() == f"done {nr}\n", "the children did not do their part")
            program.wait(PATIENCE)
            _, errors = recorder.communicate(timeout=PATIENCE)
        finally:
            recorder.kill()
            recorder.wait()
    check(recorder.returncode == 0, errors)
    check(", 0 lost" in errors, errors)
    # By number: a name that a child took while the events were not on yet is nobody's to know.
    counts = collections.Counter()
    for sample in ctop_ok("export", "script", path).stdout.split("\n\n"):
        if " family_touch" in sample:
            counts[sample.split("/")[0].split()[-1]] += 1
    return counts


@case
def children_forked_while_attaching_are_counted_once():
    need_root()
    nr = 300
    with directory() as where:
        counts = race(where, nr)
    wrong = {pid: count for pid, count in counts.items() if count != PAGES}
    check(not wrong and len(counts) == nr, f"{len(counts)} of {nr}; not {PAGES} each: {wrong}")


@case
def children_that_vanish_while_attached():
    need_root()
    with directory() as where, target("crowd", "children", "1000") as program:
        for i in range(10):
            result = ctop("record", "-o", os.path.join(where, f"{i}.ctop"), "-e", "cpu-clock",
                          "--duration", "0.02", "-p", program.pid)
            check(result.returncode == 0, f"{result}")


def attach_many(nr, seconds):
    need_root()
    with directory() as where, started(os.path.join(BUILD, "workloads", "family"), "waiting", nr) as program:
        made = len(child_pids(program.pid))
        if made < nr:
            raise Skip(f"only {made} children of {nr} were to be had")
        result = ctop("record", "-o", os.path.join(where, "x.ctop"), "-e", "cpu-clock", "--duration",
                      seconds, "-p", program.pid)
    check(result.returncode == 0, f"{result}")
    check(f"+{nr} children" in result.stderr, result.stderr)


@case
def a_thousand_that_wait():
    attach_many(1000, 0.1)


@long_case
def ten_thousand_that_wait():
    attach_many(10000, 0.1)


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def too_few_descriptors_for_all():
    """Also where they suffice for the events alone: main reads records of each, and starts its children."""
    need_root()
    need_program("prlimit")
    with directory() as where, paranoid(2):
        open_to_all(where)
        os.chmod(where, 0o777)
        for path in CTOP, os.path.join(BUILD, "workloads", "family"):
            shutil.copy(path, where)
        as_other_user = [need_program("setpriv"), f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
        with started(*as_other_user, os.path.join(where, "family"), "waiting", 200) as program:
            def words(limit):
                return [*as_other_user, "prlimit", f"--nofile={limit}:{limit}", "./ctop", "record", "-q", "-o", "x.ctop",
                        "-e", "cpu-clock", "-p", program.pid]
            for limit in 100, 230, 420:
                result = run(*words(limit), cwd=where)
                check_refused(result, 1, "200 children", "ulimit -n", "--no-inherit")
            needed = re.search(r"ulimit -n (\d+)", result.stderr).group(1)
            enough = run(*words(needed), "--duration", "0.1", cwd=where)
            check(enough.returncode == 0, f"{enough}")
            alone = run(*words(100), "--no-inherit", "--duration", "0.1", cwd=where)
            check(alone.returncode == 0, f"{alone}")


@case
def too_few_descriptors_in_the_middle():
    """They suffice for all sets of the first process's events, and not for the second's."""
    need_root()
    need_program("prlimit")
    limited = [need_program("setpriv"), "--bounding-set=-sys_resource", "--inh-caps=-sys_resource", "prlimit"]
    with directory() as where, target("crowd", "waiting", "60") as first, target("crowd", "waiting", "60") as second:
        for limit in 200 * os.cpu_count(), 230 * os.cpu_count():
            result = run(*limited, f"--nofile={limit}:{limit}", CTOP, "record", "-e", "cpu-clock", "--duration", "0.1",
                         "-o", os.path.join(where, "x.ctop"), "-p", f"{first.pid},{second.pid}")
            check(result.returncode == 0 and "whole CPUs" in result.stderr, f"{limit}: {result}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def another_users_child_is_left_out():
    """As its owner could not be profiled by name, it is not as a child; and that is said."""
    need_root()
    setpriv = need_program("setpriv")
    with directory() as where, paranoid(2):
        open_to_all(where)
        os.chmod(where, 0o777)
        for path in CTOP, os.path.join(BUILD, "workloads", "family"):
            shutil.copy(path, where)
        as_user = [setpriv, f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
        # Root's shell becomes the other process's parent after it has begun a child as nobody.
        script = (f"{setpriv} --reuid={NOBODY} --regid={NOBODY} --clear-groups {where}/family working 1 & "
                  f"exec {' '.join(as_user)} {where}/family working 1")
        with started("sh", "-c", script) as program:
            program.stdout.readline()  # both are ready
            result = run(*as_user, "./ctop", "record", "-o", "x.ctop", "-m", "64", "-e", "cpu-clock", "--duration", "1",
                         "-p", program.pid, cwd=where)
            check(result.returncode == 0, f"{result}")
            check("+1 child" in result.stderr, result.stderr)
            check("left out" in result.stderr, result.stderr)
            pids = ctop_ok("export", "script", os.path.join(where, "x.ctop")).stdout
            strict = run(*as_user, "./ctop", "record", "-o", "y.ctop", "--strict", "--call-graph", "no", "-m", "64",
                         "-e", "cpu-clock:u", "--duration", "0.2", "-p", program.pid, cwd=where)
            # Nobody's child does not hear of the end of another's process.
            for pid in child_pids(program.pid):
                os.kill(pid, signal.SIGKILL)
        check_refused(strict, 1, "left out")
        check("kid0" in pids, "its own child has no samples")


if __name__ == "__main__":
    main()
