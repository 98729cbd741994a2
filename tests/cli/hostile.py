#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What surrounds ctop: signals at bad moments, closed descriptors, terminals that are too small or go away."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios

from harness import (BUILD, CTOP, PATIENCE, case, check, child, children_of, ctop_ok, directory, folded, main,
                     need_root, record, shown_in_terminal, target, wait_for_samples, wait_until, with_function)

# Samples to record, however few of them come in a second of a busy machine: half of them in one function will do.
ENOUGH = 20

CROWD = os.path.join(BUILD, "workloads", "crowd")


def check_gone(children):
    """Waits for the ends of ctop's own processes (pidfds); those that outlive it do so by moments."""
    for pid, pidfd in children.items():
        with os.fdopen(pidfd) as file:
            poll = select.poll()
            poll.register(file, select.POLLIN)
            check(poll.poll(30000), f"{pid} is left behind")


@contextlib.contextmanager
def recorder(where, *arguments, **options):
    """ctop record with samples on disk, and its children; nothing is left at the end."""
    path = os.path.join(where, "x.ctop")
    options.setdefault("stderr", subprocess.PIPE)
    program = subprocess.Popen([CTOP, "record", "-e", "cpu-clock", "-o", path,
                                *map(str, arguments)], stdin=subprocess.DEVNULL, text=True,
                               errors="replace", **options)
    program.path = path
    try:
        wait_for_samples(program, path, ENOUGH)
        program.roles = children_of(program.pid)
        program.ours = {pid: os.pidfd_open(pid) for pid in program.roles.values()}
        check(len(program.ours) == 3, f"{program.ours}")
        yield program
        check_gone(program.ours)
    finally:
        program.kill()
        program.communicate()


def check_recorded(path):
    check(with_function(folded(path), "spin_loop") > ENOUGH // 2, "no samples in the file")


# ---- signals ----


@case
def interrupted_twice_at_once():
    need_root()
    with directory() as where, target("spin") as program, recorder(where, "-p", program.pid) as ours:
        ours.send_signal(signal.SIGINT)
        ours.send_signal(signal.SIGINT)
        _, errors = ours.communicate(timeout=PATIENCE)
        # The second may have come when the first had done its work already.
        check(ours.returncode in (0, 1), f"{ours.returncode}: {errors}")
        check(len(errors.splitlines()) in (1, 2) and errors.startswith("ctop: "), errors)
        check_recorded(ours.path)


@case
def the_second_interrupt_does_not_wait():
    need_root()
    with directory() as where, target("spin") as program, recorder(where, "-p", program.pid) as ours:
        writer = ours.roles["writer"]
        os.kill(writer, signal.SIGSTOP)  # a disk that does not answer
        try:
            ours.send_signal(signal.SIGINT)
            # Taken when it is no longer pending.
            wait_until(lambda: not is_pending(ours.pid, signal.SIGINT), "look at the signal")
            check(ours.poll() is None, "the first interrupt did not wait for the disk")
            ours.send_signal(signal.SIGINT)
            _, errors = ours.communicate(timeout=PATIENCE)
        finally:
            os.kill(writer, signal.SIGCONT)
        check(ours.returncode == 1, f"{ours.returncode}: {errors}")
        check("is not complete" in errors and len(errors.splitlines()) == 2, errors)
        check_gone({writer: os.pidfd_open(writer)} if os.path.exists(f"/proc/{writer}") else {})
        check_recorded(ours.path)


def is_pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        fields = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    return bool((int(fields["ShdPnd"], 16) | int(fields["SigPnd"], 16)) >> (number - 1) & 1)


@case
def a_hang_up_ends_it_in_order():
    need_root()
    with directory() as where, target("spin") as program, recorder(where, "-p", program.pid) as ours:
        ours.send_signal(signal.SIGHUP)
        _, errors = ours.communicate(timeout=PATIENCE)
        check(ours.returncode == 0 and "samples of" in errors, f"{ours.returncode}: {errors}")
        check_recorded(ours.path)


@case
def nohup_is_respected():
    need_root()
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with directory() as where, target("spin") as program, \
            recorder(where, "-p", program.pid, preexec_fn=ignore) as ours:
        ours.send_signal(signal.SIGHUP)
        size = os.path.getsize(ours.path)
        wait_until(lambda: ours.poll() is not None or os.path.getsize(ours.path) > size, "more in the file")
        check(ours.poll() is None, "a hang-up ended it although that was to be ignored")
        ours.send_signal(signal.SIGTERM)
        check(ours.wait(PATIENCE) == 0, f"{ours.returncode}")


@case
def killed_in_the_middle_the_file_stays():
    need_root()
    with directory() as where, target("spin") as program, recorder(where, "-p", program.pid) as ours:
        ours.kill()
        ours.wait()
        check_gone(dict(ours.ours))
        ours.ours.clear()
        check_recorded(ours.path)


@case
def a_command_gets_signals_as_they_were():
    need_root()
    show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    with directory() as where:
        plain = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        path = os.path.join(where, "x.ctop")
        under = ctop_ok("record", "-q", "-o", path, "--", *show).stdout
    check(plain == under, f"{plain!r} became {under!r}")


# ---- descriptors ----


def started_without(closed, *arguments):
    """ctop with some of its three descriptors closed from the start."""
    def close():
        for descriptor in closed:
            os.close(descriptor)
    outputs = {1: "stdout", 2: "stderr"}
    options = {name: subprocess.PIPE for number, name in outputs.items() if number not in closed}
    return child(CTOP, *arguments, preexec_fn=close, text=True, errors="replace", **options)


@case
def recording_without_standard_descriptors():
    need_root()
    with directory() as where, target("spin") as program:
        for closed in (0,), (2,), (1, 2), (0, 1, 2):
            path = os.path.join(where, f"{len(closed)}{closed[0]}.ctop")
            with started_without(closed, "record", "-o", path, "-p", program.pid) as ours:
                wait_for_samples(ours, path, ENOUGH)
                ours.send_signal(signal.SIGINT)
                _, errors = ours.communicate(timeout=PATIENCE)
            check(ours.returncode == 0, f"{closed}: {ours.returncode}: {errors}")
            check("samples of" in (errors or "samples of"), f"{closed}: {errors}")
            check_recorded(path)
            with open(path, "rb") as file:
                check(b"ctop: " not in file.read(), f"{closed}: messages in the recording")


@case
def a_report_to_nowhere_is_a_failure():
    need_root()
    with directory() as where, target("spin") as program:
        path = record(where, "-p", program.pid, seconds=0.3).path
        for words in ("report", "--stdio", path), ("export", "folded", path), \
                ("-q", "-p", program.pid, "--duration", "0.2"):
            with started_without((1,), *words) as ours:
                _, errors = ours.communicate(timeout=PATIENCE)
            check(ours.returncode == 1, f"{words}: {ours.returncode}: {errors}")
            check(errors.startswith("ctop: cannot write"), f"{words}: {errors}")
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([CTOP, *map(str, words)], stdout=full, text=True,
                                        stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
            check(result.returncode == 1, f"{words}: {result}")
            check(result.stderr.startswith("ctop: cannot write"), f"{words}: {result}")


@case
def a_report_whose_reader_goes_away():
    need_root()
    with directory() as where, target("spin") as program:
        path = record(where, "-p", program.pid, seconds=0.3).path
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            result = subprocess.run([CTOP, "report", "--stdio", path], stdout=pipe, text=True,
                                    stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        check(result.returncode in (1, -signal.SIGPIPE), f"{result}")


# ---- terminals ----


@case
def progress_in_a_terminal_of_any_size():
    need_root()
    with directory() as where, target("spin") as program:
        for columns, rows in (1, 1), (20, 5), (0, 0):
            path = os.path.join(where, f"{columns}.ctop")
            status, written = shown_in_terminal(columns, rows, CTOP, "record", "-o", path, "--duration",
                                          "0.7", "-p", program.pid)
            check(status == 0, f"{columns}: {status} {written}")
            lines = re.findall(rb"\r([^\r\n\x1b]+)\x1b\[K", written)
            check(columns < 3 or lines, f"{columns}: no progress in {written}")
            # A line as long as the terminal is wide would scroll it at each update.
            check(all(len(line) < (columns or 80) for line in lines), f"{columns}: {lines}")
            check(b"samples of" in written, f"{columns}: {written}")


@case
def a_terminal_that_goes_away():
    need_root()
    with directory() as where, target("spin") as program:
        master, slave = pty.openpty()
        path = os.path.join(where, "x.ctop")

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        ours = subprocess.Popen([CTOP, "record", "-o", path, "-p", str(program.pid)], stdin=slave,
                                stdout=slave, stderr=slave, preexec_fn=own_terminal)
        os.close(slave)
        try:
            wait_for_samples(ours, path, ENOUGH)
            os.close(master)  # hangs up
            check(ours.wait(PATIENCE) == 0, f"{ours.returncode}")
        finally:
            ours.kill()
            ours.wait()
        check_recorded(path)


@case
def a_name_with_escapes_in_a_terminal():
    need_root()
    with target("crowd", "comm", b"\x1b[31m\xff\n") as program:
        status, written = shown_in_terminal(80, 24, CTOP, "--stdio", "-p", program.pid,
                                      "--duration", "0.3")
    check(status == 0, f"{status}: {written}")
    check(b"\\x1b[31m\\xff\\x0a" in written, f"{written}")
    check(b"\x1b[31m" not in written and b"\xff" not in written, f"{written}")


@case
def a_fifo_that_nobody_reads_does_not_hold_it():
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "fifo")
        os.mkfifo(path)
        for number in (signal.SIGINT, signal.SIGTERM):
            waiting = subprocess.Popen([CTOP, "record", "-q", "-e", "cpu-clock:u", "-o", path, "-p",
                                        str(program.pid)], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            wait_until(lambda: len(children_of(waiting.pid)) >= 2 or waiting.poll() is not None, "children")
            waiting.send_signal(number)
            _, errors = waiting.communicate(timeout=PATIENCE)
            check(waiting.returncode == 1 and "nobody" not in errors and
                  ("interrupted before anybody read it" in errors or "interrupted before sampling began" in errors),
                  f"{waiting.returncode}: {errors}")
        # One that comes late is in time.
        copy = os.path.join(where, "x.ctop")
        with child(CTOP, "record", "-q", "-e", "cpu-clock:u", "-o", path, "-p", program.pid) as writing, \
                open(copy, "wb") as file:
            wait_until(lambda: len(children_of(writing.pid)) >= 2 or writing.poll() is not None, "children")
            check(writing.poll() is None, "it ended")
            with child("cat", path, stdout=file) as reader:
                wait_for_samples(writing, copy, 10 * ENOUGH)
                writing.send_signal(signal.SIGINT)
                check(writing.wait(PATIENCE) == 0, f"{writing.returncode}")
                check(reader.wait(PATIENCE) == 0, f"{reader.returncode}")
        check(with_function(folded(copy), "spin_loop") > 5 * ENOUGH, "it is not whole")


@case
def what_a_second_interrupt_leaves_is_said():
    need_root()
    with directory() as where, target("spin") as program:
        with recorder(where, "-p", program.pid, "--stats", os.path.join(where, "s.json")) as ours:
            collector = ours.roles["collector"]
            os.kill(collector, signal.SIGSTOP)
            try:
                ours.send_signal(signal.SIGINT)
                wait_until(lambda: not is_pending(ours.pid, signal.SIGINT), "look at the signal")
                ours.send_signal(signal.SIGINT)
                _, errors = ours.communicate(timeout=PATIENCE)
            finally:
                with contextlib.suppress(ProcessLookupError):  # main ends it, stopped or not
                    os.kill(collector, signal.SIGCONT)
        check(ours.returncode == 0 and "what the kernel still held" in errors, errors)
        check("end not waited for" in ctop_ok("report", "--stdio", ours.path).stdout, "report")


if __name__ == "__main__":
    main()
