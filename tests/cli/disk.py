#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where a recording goes: a disk that hangs stalls nobody, a reader that goes away is told."""

import json
import os
import signal
import subprocess
import sys
import time

from harness import (BUILD, CTOP, FAULTY, PATIENCE, Skip, anonymous_bytes, case, check, check_accounts, child_pids,
                     children_of, cpu_seconds, ctop, ctop_ok, directory, falling_with_little_room, folded, long_case,
                     main, need_root, target, wait_for_cpu_time, wait_for_samples, wait_until)


def start(where, program, *options):
    command = [CTOP, "record", "-q", "-e", "cpu-clock", "-p", str(program.pid), "--stats",
               os.path.join(where, "stats.json"), "-o", os.path.join(where, "x.ctop"), *options]
    recorder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)
    wait_until(lambda: "writer" in children_of(recorder.pid) or recorder.poll() is not None, "writer")
    writer = children_of(recorder.pid).get("writer")
    check(writer is not None, "there is no writer")
    return recorder, writer


@case
def a_disk_that_hangs_stalls_nobody():
    need_root()
    with directory() as where, target("spin") as program:
        recorder, writer = start(where, program)
        wait_for_samples(recorder, os.path.join(where, "x.ctop"))
        os.kill(writer, signal.SIGSTOP)
        before = cpu_seconds(program.pid)
        wait_for_cpu_time(program.pid, 3)
        recorder.send_signal(signal.SIGINT)
        after = cpu_seconds(program.pid)
        os.kill(writer, signal.SIGCONT)
        _, stderr = recorder.communicate(timeout=PATIENCE)
        check(recorder.returncode == 0, f"{recorder.returncode}: {stderr}")
        with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        check_accounts(stats)
        check(stats["events_sampled"] > 0.9e9 * (after - before), f"{stats} in {after - before} s of CPU time")
        stacks = folded(os.path.join(where, "x.ctop"))
        check(sum(stacks.values()) == stats["samples"], "not all of them are in the file")


# Faults by tasks of ever new names, which do not pack well: a sample takes some twenty bytes.
RENAMED = """
import base64, mmap, os
with open("/proc/self/comm", "wb", buffering=0) as comm:
    for _ in range(300):
        pages = mmap.mmap(-1, 512 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(512):
            comm.write(base64.b64encode(os.urandom(11)))
            pages[page * mmap.PAGESIZE] = 1
        pages.close()
"""


def recording_with_a_stopped_writer(program, where, *command, **options):
    """A recorder of a command's faults, its writer, and the command."""
    recorder = subprocess.Popen([program, "record", "-e", "page-faults", "-c", "1", "--call-graph", "no", "-o",
                                 os.path.join(where, "x.ctop"), "--stats", os.path.join(where, "stats.json"), "--",
                                 *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, **options)
    wait_until(lambda: "writer" in children_of(recorder.pid) or recorder.poll() is not None, "writer")
    children = children_of(recorder.pid)
    os.kill(children["writer"], signal.SIGSTOP)
    return recorder, children["writer"], next(pid for pid in child_pids(recorder.pid) if pid not in children.values())


def ended(where, recorder):
    errors = recorder.communicate(timeout=PATIENCE)[1]
    check(recorder.returncode == 0, f"{recorder.returncode}: {errors}")
    with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
        return json.load(file), errors


def check_dropped_and_counted(where, stats, errors):
    check("dropped because the disk was too slow" in errors, errors)
    check(stats["samples"] + sum(stats["dropped"].values()) == stats["drained"] and
          stats["drained"] + stats["lost"] == stats["events_counted"], f"{stats}")
    path = os.path.join(where, "x.ctop")
    report = ctop_ok("report", "--stdio", path).stdout
    check("dropped: the disk was too slow" in report, report)
    check(sum(folded(path).values()) == stats["samples"], "the file has not all of them")


@case
def what_does_not_fit_into_memory_is_dropped_and_counted():
    need_root()
    with directory() as where:
        # The pipe to the writer holds another MiB.
        recorder, writer, command = recording_with_a_stopped_writer(FAULTY, where, sys.executable, "-c", RENAMED,
                                                                    env=falling_with_little_room(1 << 16))
        wait_until(lambda: not os.path.exists(f"/proc/{command}"), "end of the command")
        os.kill(writer, signal.SIGCONT)
        stats, errors = ended(where, recorder)
        check(stats["dropped"]["disk"] > 0, f"{stats}")
        check_dropped_and_counted(where, stats, errors)


@long_case
def main_keeps_16_mib_of_what_the_writer_does_not_take():
    """Two minutes of faults fill them. The shorter case has all of it but how much that is."""
    need_root()
    with directory() as where:
        recorder, writer, command = recording_with_a_stopped_writer(
            CTOP, where, os.path.join(BUILD, "workloads", "faults"), "1000000")
        # When that is full main grows by less than 64 KiB in 3 s: what it keeps of threads' time.
        sizes, until = [], time.monotonic() + 240
        while time.monotonic() < until and not (len(sizes) > 30 and sizes[-1] > 20 << 20 and sizes[-1] - sizes[-31] < 64 << 10):
            sizes.append(anonymous_bytes(recorder.pid))
            time.sleep(0.1)
        most = max(sizes)
        os.kill(writer, signal.SIGCONT)
        recorder.send_signal(signal.SIGINT)
        recorder.wait(PATIENCE)
        os.kill(command, signal.SIGKILL)  # it has the other end of the pipe, too
        stats, errors = ended(where, recorder)
        if not stats["dropped"]["disk"]:
            raise Skip(f"{stats['samples']} samples did not fill it: {most} bytes")
        check(most < 48 << 20, f"{most} bytes")
        check_dropped_and_counted(where, stats, errors)


@case
def a_user_need_not_wait_for_it():
    need_root()
    with directory() as where, target("spin") as program:
        recorder, writer = start(where, program)
        os.kill(writer, signal.SIGSTOP)
        wait_for_cpu_time(program.pid, 0.5)
        while recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
            try:
                recorder.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                pass
        # Stopped early, it still has the other end of the pipe.
        os.kill(writer, signal.SIGCONT)
        stderr = recorder.communicate(timeout=PATIENCE)[1]
        check(recorder.returncode == 1 and "not complete" in stderr and stderr.count("\n") == 2,
              f"{recorder.returncode}: {stderr}")


@case
def a_reader_that_goes_away_is_told():
    need_root()
    with target("spin") as program:
        recorder = subprocess.Popen([CTOP, "record", "-q", "-e", "cpu-clock", "-p",
                                     str(program.pid), "-o", "-"], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        recorder.stdout.read(100)
        recorder.stdout.close()
        stderr = recorder.stderr.read().decode()
        recorder.wait(timeout=PATIENCE)
        recorder.stderr.close()
        check(recorder.returncode == 1 and "Broken pipe" in stderr and "reader" in stderr,
              f"{recorder.returncode}: {stderr}")


@case
def a_full_device_is_told():
    need_root()
    with target("spin") as program:
        result = ctop("record", "-q", "-e", "cpu-clock", "-p", program.pid, "-o", "/dev/full")
        check(result.returncode == 1 and "No space left" in result.stderr and
              "make room" in result.stderr, f"{result.returncode}: {result.stderr}")


if __name__ == "__main__":
    main()
