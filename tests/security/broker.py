#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What main opens for children that have fallen, and for programs that want it to open something else."""

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from fuse import mounted
from harness import (BUILD, CTOP, FAULTY, NOBODY, PATIENCE, Skip, case, check, child, falling, folded, folder, main,
                     need_program, need_root, open_to_all, record_work, run, target, wait_until)

WORKLOADS = os.path.join(BUILD, "workloads")


def demand(fault, workload, *arguments):
    """What a child that falls that way says of it."""
    result = run(FAULTY, "record", "-e", "cpu-clock:u", "-o", "/dev/null", "--duration", "1", *arguments, "-p", workload,
                 env=falling(fault))
    check("was given" in result.stderr or "was refused" in result.stderr,
          f"it said nothing of what it was given: {result.stderr}")
    return result.stderr


def demand_file(pid, path, fault_pid=None):
    status = os.stat(path)
    return demand(f"collector:demand_file={fault_pid or pid},{status.st_ino},{os.major(status.st_dev)},"
                  f"{os.minor(status.st_dev)},{path}:jailed", pid)


# ---- a collector that has fallen ----

@case
def a_file_that_is_mapped_is_given():
    """So that the refusals below mean something."""
    with target("recursion") as workload:
        path = os.path.realpath(f"/proc/{workload.pid}/exe")
        said = demand_file(workload.pid, path)
        check(f"was given inode {os.stat(path).st_ino}" in said, said)


@case
def no_file_that_is_not():
    need_root()
    with folder() as where, target("recursion") as workload:
        secret = os.path.join(where, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("secret")
        os.chmod(secret, 0o600)
        for path in secret, "/etc/shadow", "/etc/passwd", "/bin/true":
            for pid in workload.pid, 1, os.getpid():
                said = demand_file(workload.pid, path, pid)
                check("was refused" in said, f"{path} of {pid}: {said}")


@case
def no_file_of_a_process_outside_the_profile():
    with target("recursion") as workload, target("threads", "1") as other:
        said = demand_file(workload.pid, os.path.realpath(f"/proc/{other.pid}/exe"), other.pid)
        check("was refused" in said, said)


@case
def maps_of_the_profile_alone():
    with target("recursion") as workload, target("threads", "1") as other:
        said = demand(f"collector:demand_process={workload.pid}:jailed", workload.pid)
        check("was given" in said, said)
        for pid in other.pid, os.getpid(), 1, 0, -1, 2**31 - 1:
            said = demand(f"collector:demand_process={pid}:jailed", workload.pid)
            check("was refused" in said, f"{pid}: {said}")


# ---- a symbolizer that has fallen, and debug files ----

def strip(where, name, crc=None):
    """A program of ours without its symbols, which are in NAME beside it."""
    objcopy = need_program("objcopy")
    program, debug = os.path.join(where, "program"), os.path.join(where, name)
    shutil.copy(os.path.join(WORKLOADS, "recursion"), program)
    for command in (["--only-keep-debug", program, debug], ["--strip-all", "--remove-section=.note.gnu.build-id", program],
                    ["--remove-section=.note.gnu.build-id", debug], [f"--add-gnu-debuglink={debug}", program]):
        result = run(objcopy, *command)
        check(result.returncode == 0, result.stderr)
    if crc is not None:  # the file that the link names is another one
        with open(debug, "rb") as file, open(program, "rb+") as out:
            old = zlib.crc32(file.read()).to_bytes(4, sys.byteorder)
            out.seek(out.read().rindex(old))
            out.write(crc.to_bytes(4, sys.byteorder))
    return program


@contextlib.contextmanager
def running(program):
    with child(program, stdout=subprocess.PIPE, text=True) as process:
        check(process.stdout.readline().startswith("ready"), f"{program} did not start")
        yield process


def functions(program):
    """What a recording of it says, by name."""
    with folder() as where, running(program) as process:
        recording = record_work(where, [process.pid], 0.3, "-e", "cpu-clock:u", "-p", process.pid)
        return {frame for stack in recording.stacks for frame in stack}


@case
def a_debug_file_by_its_link():
    with folder() as where:
        check("bottom" in functions(strip(where, "program.debug")), "its names were not found")


@case
def a_debug_file_of_another_sum_is_none():
    with folder() as where:
        check("bottom" not in functions(strip(where, "program.debug", crc=1)), "names of another file")


@case
def a_fallen_symbolizer_is_given_no_other_file():
    need_root()
    with folder() as where:
        program = strip(where, "program.debug")
        for name in "secret", "link", "hidden":
            with open(os.path.join(where, name), "w", encoding="ascii") as file:
                file.write("secret")
            os.chmod(os.path.join(where, name), 0o600)
        with running(program) as process:
            for name in "secret", "program", "..":
                said = demand(f"symbolizer:demand_debug={name}:jailed", process.pid)
                check("was refused" in said and "was given" not in said, f"{name}: {said}")
                check("reads tables" in said, said)
            said = demand("symbolizer:demand_debug=program.debug:jailed", process.pid)
            check("was given" in said, said)


@case
def a_debug_file_of_a_strangers_is_none():
    """Who may write beside a program of root's does not name its functions."""
    need_root()
    with folder() as where:
        program = strip(where, "program.debug")
        check("bottom" in functions(program), "its names were not found")
        os.chown(os.path.join(where, "program.debug"), NOBODY, NOBODY)
        check("bottom" not in functions(program), "names of somebody else's file")


# ---- a file system that hangs ----

@case
def a_file_system_that_hangs_holds_nobody():
    need_root()
    with folder() as where:
        program = strip(where, "program.debug")
        hung = os.path.join(where, ".debug")
        os.unlink(os.path.join(where, "program.debug"))
        os.mkdir(hung)
        recording = os.path.join(where, "profile.ctop")
        with mounted(hung, stat.S_IFDIR), running(program) as process:
            with child(CTOP, "record", "-q", "-e", "cpu-clock:u", "-o", recording, "-p", process.pid) as profiler:
                # Its opener waits there; another one takes its place.
                wait_until(lambda: is_hung(profiler.pid), "opener that hangs")
                profiler.send_signal(signal.SIGINT)
                check(profiler.wait(timeout=PATIENCE) == 0, "it did not end well")
        stacks = folded(recording)
        check(sum(stacks.values()) > 0, "nothing was recorded")
        check(any("program" in frame for stack in stacks for frame in stack), f"{stacks}")


def is_hung(pid):
    with contextlib.suppress(OSError):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
            if name == "ctop-opener" and int(rest.split()[1]) == pid:
                with open(f"/proc/{entry}/wchan", encoding="ascii") as file:
                    place = file.read()
                if place == "0" and rest.split()[0] in "SD":
                    raise Skip("this kernel does not tell where a process waits")
                return "fuse" in place or "request_wait" in place
    return False


# ---- users without privileges ----

@case
def short_lived_processes_of_a_plain_user_have_names():
    """Nothing of theirs is left when their files are asked for: the kernel named them before."""
    need_root()
    with folder() as where:
        open_to_all(where)
        os.chown(where, NOBODY, NOBODY)
        own = os.path.join(where, "own-ctop")
        for source, name in (CTOP, "own-ctop"), (os.path.join(WORKLOADS, "forkexec"), "forkexec"):
            shutil.copy(source, os.path.join(where, name))
        path = os.path.join(where, "profile.ctop")
        result = run(own, "record", "-q", "-e", "cpu-clock:u", "-o", path, "--", "timeout", "2",
                     os.path.join(where, "forkexec"), user=NOBODY, group=NOBODY, extra_groups=[], cwd=where)
        if "perf_event_paranoid" in result.stderr:
            raise Skip("plain users may not sample here")
        check(os.path.exists(path), result.stderr)
        names = {frame for stack in folded(path) for frame in stack}
        check({"forked_work", "executed_work"} <= names and "[forkexec]" not in names, f"frames without a name: {names}")


if __name__ == "__main__":
    main()
