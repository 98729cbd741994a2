#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who is in the profile: a child that has fallen learns nothing of those who are not, whatever numbers they have."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import (FAULTY, PATIENCE, Skip, case, check, child, children_of, directory, falling, main, need_program,
                     need_root, target, tell, wait_until)

# More forks and ends than a ring of main's holds: some 600 of each.
MANY = 2000 * os.sysconf("SC_PAGESIZE") // 4096
CLONE3 = 435
PR_SET_PDEATHSIG = 1


def end_with_parent():
    ctypes.PyDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def clone_as(pid):
    """fork(), and the child has that pid."""
    number = ctypes.c_int(pid)
    arguments = (ctypes.c_uint64 * 11)()
    arguments[4], arguments[8], arguments[9] = signal.SIGCHLD, ctypes.addressof(number), 1
    libc = ctypes.PyDLL(None, use_errno=True)  # which keeps the interpreter's lock, as fork() does
    result = libc.syscall(ctypes.c_long(CLONE3), ctypes.byref(arguments), ctypes.c_size_t(ctypes.sizeof(arguments)))
    if result < 0:
        raise Skip(f"the kernel gives no process a chosen pid: {os.strerror(ctypes.get_errno())}")
    return result


def sleep_as(pid):
    made = clone_as(pid)
    if made == 0:
        with contextlib.suppress(BaseException):
            end_with_parent()
            signal.pause()
        os._exit(0)
    return made


def free_pid():
    """One that nobody has, and that comes again late."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


class Family:
    """A process that makes others on request."""

    def __init__(self, pid_of_child):
        told, self.tell = os.pipe()
        self.said, says = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                end_with_parent()
                os.close(self.tell)  # so that the end of the test is our end
                os.close(self.said)
                self._live(told, says, pid_of_child)
            os._exit(1)
        os.close(told)
        os.close(says)

    @staticmethod
    def _live(told, says, pid_of_child):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one ring gets all
        while word := os.read(told, 1):
            if word == b"c":
                sleep_as(pid_of_child)
            elif word == b"k":
                os.kill(pid_of_child, signal.SIGKILL)
                os.waitpid(pid_of_child, 0)
            else:
                for _ in range(MANY):
                    os.waitpid(os.fork() or os._exit(0), 0)
            os.write(says, word)

    def do(self, word):
        os.write(self.tell, word)
        if os.read(self.said, 1) != word:
            raise Skip("the kernel gives no process a chosen pid")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.tell)
        os.close(self.said)
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@contextlib.contextmanager
def recorder(where, fault, *arguments, before=()):
    command = [*before, FAULTY, "record", "-e", "cpu-clock:u", "-o", os.path.join(where, "x.ctop"), "--stats",
               os.path.join(where, "stats.json"), *arguments]
    with child(*command, stderr=subprocess.PIPE, text=True, env=falling(fault)) as process:
        wait_until(lambda: process.poll() is not None or {"collector", "symbolizer"} <= children_of(process.pid).keys(),
                   "children")
        # Its heading is written when all of them are at work.
        path = os.path.join(where, "x.ctop")
        wait_until(lambda: process.poll() is not None or (os.path.exists(path) and os.path.getsize(path)), "recording")
        yield process


def told_its_answer(where, process):
    """The collector asks now, and says what it was given. That, and the statistics."""
    collector = children_of(process.pid)["collector"]
    tell(collector)
    wait_until(lambda: process.poll() is not None or children_of(process.pid).get("collector", collector) != collector,
               "successor")
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=PATIENCE)[1]
    check(process.returncode == 0 and ("was given" in errors or "was refused" in errors), f"{process.returncode}: {errors}")
    with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
        return errors, json.load(file)


@contextlib.contextmanager
def asked_about_a_child():
    """A family under the recorder, whose collector asks about the child's number; that number, too."""
    need_root()
    pid = free_pid()
    with Family(pid) as family, directory() as where, \
            recorder(where, f"collector:ask_process={pid}:told-turn", "-p", family.pid) as process:
        family.do(b"c")
        yield family, pid, where, process


@case
def one_whose_end_was_lost_leaves_its_number_to_nobody():
    """Its end did not fit into main's ring; then a process outside the profile is given the number."""
    with asked_about_a_child() as (family, pid, where, process):
        os.kill(process.pid, signal.SIGSTOP)
        family.do(b"f")
        family.do(b"k")
        sleep_as(pid)
        os.kill(process.pid, signal.SIGCONT)
        said, stats = told_its_answer(where, process)
    check("was refused" in said, said)
    if stats["lost_sideband"] == 0 and int(os.uname().release.split(".")[0]) < 6:
        raise Skip("before Linux 6.0 losses are reported with the next record only")
    check(stats["lost_sideband"] > MANY and "records of maps, forks and exits lost" in said, f"{stats}: {said}")


@case
def one_that_is_a_child_of_the_profile_is():
    """So that the refusals mean something."""
    with asked_about_a_child() as (_, _, where, process):
        said, stats = told_its_answer(where, process)
    check("was given" in said and stats["lost_sideband"] == 0, f"{stats}: {said}")


@case
def others_whose_records_come_as_well_are_not():
    """Too few descriptors: whole CPUs stand in for threads, and main reads everybody's records."""
    need_root()
    prlimit, setpriv = need_program("prlimit"), need_program("setpriv")
    before = setpriv, "--bounding-set=-sys_resource", "--inh-caps=-sys_resource", prlimit, "--nofile=200:200"
    with directory() as where, target("crowd", "waiting", "300") as program, \
            child("sh", "-c", "read word; exec sleep 1000", stdin=subprocess.PIPE, text=True) as other, \
            recorder(where, f"collector:ask_process={other.pid}:told-turn", "-p", program.pid, before=before) as process:
        other.stdin.write("go\n")
        other.stdin.flush()
        wait_until(lambda: "sleep" in os.readlink(f"/proc/{other.pid}/exe") or "coreutils" in os.readlink(
            f"/proc/{other.pid}/exe"), "other program")
        said, _ = told_its_answer(where, process)
    check("whole CPUs are sampled and other processes left out" in said, said)
    check("was refused" in said, said)


if __name__ == "__main__":
    main()
