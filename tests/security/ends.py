#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whoever ends a process of ctop's, or makes it end, ends no profile: what was sampled stays, and what that cost is said."""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import (CTOP, FAULTY, PATIENCE, ROOT, Skip, case, check, check_refused, children_of, ctop, directory,
                     falling_too_often, folded, main, need_program, need_root, run, started, target, wait_for_cpu_time,
                     wait_for_samples, wait_until, with_function)
from recorded_by_perf import perf_record_process

DEATHS_TOO_MANY = 3


def start(where, program, *options, output=None, binary=CTOP, **more):
    output = output or os.path.join(where, "x.ctop")
    return subprocess.Popen([binary, "record", "-e", "cpu-clock", "-p", str(program.pid), "-o", output,
                             "--stats", os.path.join(where, "stats.json"), *options],
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)


def kill_one(recorder, role):
    """Ends a child of the recorder's that is at work, and waits for the next one of its role, or the recorder's end."""
    before = []

    def is_there():
        before[:] = [children_of(recorder.pid).get(role)]
        return before[0] or recorder.poll() is not None
    wait_until(is_there, role)
    if before[0]:
        os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: recorder.poll() is not None or children_of(recorder.pid).get(role, before[0]) != before[0],
               f"successor of the {role}")


def stopped(where, recorder):
    """Ends the recorder: what it said, and its statistics."""
    recorder.send_signal(signal.SIGINT)
    errors = recorder.communicate(timeout=PATIENCE)[1]
    check(recorder.returncode == 0, f"{recorder.returncode}: {errors}")
    with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
        return errors, json.load(file)


def check_whole(path, stats):
    """A recording without a gap, with all samples that were not dropped for a reason."""
    report = ctop("report", "--stdio", path)
    check(report.returncode == 0 and report.stderr == "", f"{report}")
    check(sum(folded(path).values()) == stats["samples"], "not all samples are in the file")
    check(stats["drained"] == stats["samples"] + sum(stats["dropped"].values()), f"{stats}")


@case
def a_writer_that_is_killed_is_replaced_and_the_file_is_whole():
    need_root()
    with directory() as where, target("newstacks") as program:
        path = os.path.join(where, "x.ctop")
        recorder = start(where, program, "-F", "5000", "--max-overhead", "0")
        wait_for_samples(recorder, path)
        for _ in range(DEATHS_TOO_MANY - 1):
            kill_one(recorder, "writer")
            wait_for_cpu_time(program.pid, 0.3)
        errors, stats = stopped(where, recorder)
        check("2 restarts of helper processes" in errors, errors)
        check(stats["restarts"] == 2 and stats["dropped"]["disk"] == 0, f"{stats}")
        check_whole(path, stats)


@case
def a_writer_that_is_killed_at_the_end_is_replaced():
    """Stopped, it has not taken the last of it; killed, somebody else must."""
    need_root()
    with directory() as where, target("newstacks") as program:
        path = os.path.join(where, "x.ctop")
        recorder = start(where, program)
        wait_for_samples(recorder, path)
        writer = children_of(recorder.pid)["writer"]
        os.kill(writer, signal.SIGSTOP)
        wait_for_cpu_time(program.pid, 0.3)
        recorder.send_signal(signal.SIGINT)
        # The collector goes when it has taken all.
        wait_until(lambda: "collector" not in children_of(recorder.pid), "end of the sampling")
        os.kill(writer, signal.SIGKILL)
        errors = recorder.communicate(timeout=PATIENCE)[1]
        check(recorder.returncode == 0, f"{recorder.returncode}: {errors}")
        with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
            check_whole(path, json.load(file))


@case
def behind_the_end_of_a_file_it_goes_on_there():
    """Standard output that is a file may have something in it, and be appended to."""
    need_root()
    for how in "r+b", "ab":
        with directory() as where, target("newstacks") as program:
            path = os.path.join(where, "x.ctop")
            with open(path, "wb") as file:
                file.write(b"before")
            with open(path, how) as file:
                file.seek(0, os.SEEK_END)
                recorder = start(where, program, output="-", stdout=file)
            wait_until(lambda: os.path.getsize(path) > 1000 or recorder.poll() is not None, "bytes")
            kill_one(recorder, "writer")
            wait_for_cpu_time(program.pid, 0.3)
            _, stats = stopped(where, recorder)
            with open(path, "rb") as file:
                whole = file.read()
            check(whole[:6] == b"before", "what was there is gone")
            with open(path, "wb") as file:
                file.write(whole[6:])
            check_whole(path, stats)


@case
def a_pipe_gets_all_of_it():
    """In a pipe nobody goes back: at worst what was in hand comes twice, which readers pass over."""
    need_root()
    with directory() as where, target("newstacks") as program:
        path = os.path.join(where, "x.ctop")
        with open(path, "wb") as file:
            reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
            recorder = start(where, program, output="-", stdout=reader.stdin)
            reader.stdin.close()
        wait_until(lambda: os.path.getsize(path) > 1000 or recorder.poll() is not None, "bytes")
        kill_one(recorder, "writer")
        wait_for_cpu_time(program.pid, 0.3)
        _, stats = stopped(where, recorder)
        check(reader.wait(timeout=PATIENCE) == 0, "the reader")
        check(stats["restarts"] == 1, f"{stats}")
        check(sum(folded(path).values()) == stats["samples"], "not all samples came through")


@case
def a_writer_that_is_killed_again_and_again_leaves_what_it_wrote():
    need_root()
    with directory() as where, target("newstacks") as program:
        path = os.path.join(where, "x.ctop")
        recorder = start(where, program, binary=FAULTY, env=falling_too_often())
        wait_for_samples(recorder, path)
        for _ in range(DEATHS_TOO_MANY):
            kill_one(recorder, "writer")
        errors = recorder.communicate(timeout=PATIENCE)[1]
        check_refused(subprocess.CompletedProcess([], recorder.returncode, "", errors), 1,
                      "the process that writes", "died 3 times in 10 s", "what came before is kept")
        check(program.poll() is None, "the target died")
        check(sum(folded(path).values()) > 0, "nothing is left")


def with_frame_pointers(where):
    """A recursion, compiled so."""
    program = os.path.join(where, "recursion")
    source = os.path.join(ROOT, "tests", "workloads", "recursion.c")
    result = run(need_program("gcc"), "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-no-pie",
                 "-D_GNU_SOURCE", "-o", program, source)
    if result.returncode:
        raise Skip(f"no program without a choice of addresses can be made here: {result.stderr}")
    return started(program)


def start_killed(where, program, place, *options):
    """With a collector that is killed, each time, when it comes to that place."""
    return start(where, program, *options, binary=FAULTY, env=falling_too_often(f"collector:kill:{place}"))


@case
def the_fourth_collector_goes_on_with_frame_pointers():
    """Of a program whose addresses are not its offsets in the file, which the collector does not know any more."""
    need_root()
    with directory() as where, with_frame_pointers(where) as program:
        path = os.path.join(where, "x.ctop")
        recorder = start_killed(where, program, "file")
        wait_for_samples(recorder, path)
        wait_for_cpu_time(program.pid, 1)
        errors, stats = stopped(where, recorder)
        said = "stacks by frame pointers, without unwind tables: the collector died 3 times in 10 s"
        check(said in errors, errors)
        check(said in stats["steps_down"], f"{stats['steps_down']}")
        check(stats["restarts"] == DEATHS_TOO_MANY, f"{stats}")
        check_whole(path, stats)
        check(said in ctop("report", "--stdio", path).stdout, "the report does not say it")
        frames = ctop("export", "frames", path).stdout
        check(" fp " in frames, "no frame was found by its frame pointer")
        stacks = folded(path)
        for name in "bottom", "even", "odd":
            check(with_function(stacks, name) > 0.9 * sum(stacks.values()), f"{name} is missing")


def perf_data(where, *options):
    """A file of perf's, of a program that has used CPU time."""
    path = os.path.join(where, "perf.data")
    with with_frame_pointers(where) as program:
        perf_record_process(path, program.pid, "-e", "cpu-clock", *options, seconds=0.5)
    return path


@case
def so_does_that_of_a_file_with_chains():
    need_root()
    with directory() as where:
        result = run(FAULTY, "report", "--stdio", perf_data(where, "--call-graph", "fp"), env=falling_too_often("collector:kill:file"))
        check(result.returncode == 0 and "stacks by frame pointers, without unwind tables" in result.stdout + result.stderr,
              f"{result}")
        check("bottom" in result.stdout and "even" in result.stdout, f"{result}")


@case
def without_chains_there_is_nothing_to_go_on_with():
    need_root()
    with directory() as where:
        result = run(FAULTY, "report", "--stdio", perf_data(where), env=falling_too_often("collector:kill:file"))
        check_refused(result, 1, "the collector died 3 times in 10 s", "perf report")


@case
def strictly_that_is_an_error():
    need_root()
    with directory() as where, target("recursion") as program:
        # A rate that every kernel leaves: where samples cost much, it allows less than 999.
        recorder = start_killed(where, program, "file", "--strict", "-F", "49", "--max-overhead", "0")
        errors = recorder.communicate(timeout=PATIENCE)[1]
        check(recorder.returncode == 1 and "the collector died 3 times in 10 s" in errors and
              "what came before is kept" in errors, f"{recorder.returncode}: {errors}")


@case
def a_collector_that_dies_on_records_alone_is_the_end():
    need_root()
    with directory() as where, target("recursion") as program:
        recorder = start_killed(where, program, "turn")
        errors = recorder.communicate(timeout=PATIENCE)[1]
        check(recorder.returncode == 1 and "the collector died 3 times in 10 s" in errors,
              f"{recorder.returncode}: {errors}")


if __name__ == "__main__":
    main()
