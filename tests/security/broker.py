#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What main opens for children that have fallen, and for programs that want it to open something else."""

import contextlib
import errno
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from fuse import mounted
from harness import (BUILD, CTOP, FAULTY, NOBODY, PATIENCE, Skip, case, check, child, children_of, directory, falling, falling_once, folded,
                     main, need_program, need_root, open_to_all, record_work, run, target, wait_until)

WORKLOADS = os.path.join(BUILD, "workloads")


def demand(fault, workload, *arguments):
    """What a child that falls that way says of it: its last words, which main tells in the end."""
    command = [FAULTY, "record", "-e", "cpu-clock:u", "-o", "/dev/null", *arguments, "-p", workload]
    if fault.startswith("symbolizer:"):
        with child(*command, stderr=subprocess.PIPE, text=True, env=falling_once(fault)) as recorder:
            # It may come and go between two looks.
            until = time.monotonic() + PATIENCE / 4
            wait_until(lambda: "symbolizer" in children_of(recorder.pid) or time.monotonic() > until, "symbolizer")
            wait_until(lambda: "symbolizer" not in children_of(recorder.pid), "end of the symbolizer")
            recorder.send_signal(signal.SIGINT)
            said = recorder.communicate()[1]
    else:
        # Where others have the CPUs the child comes to it late.
        for seconds in "0.5", "20":
            said = run(*command, "--duration", seconds, env=falling(fault)).stderr
            if "was given" in said or "was refused" in said:
                break
    check("was given" in said or "was refused" in said, f"it said nothing of what it was given: {said}")
    return said


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
    with directory() as where, target("recursion") as workload:
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


CODE_MAKER = """import mmap, time
page = mmap.PAGESIZE
code = mmap.mmap(-1, 32 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
data = mmap.mmap(-1, 32 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
code.write(bytes(range(256)))
print("ready", flush=True)
while True: sum(range(100000))
"""


def mappings(pid):
    """(start, end, permissions, path) of each."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file:
            addresses, permissions, _, _, _, *path = line.split()
            start, _, end = addresses.partition("-")
            yield int(start, 16), int(end, 16), permissions, " ".join(path)


@contextlib.contextmanager
def making_code():
    """A process that has made code, and where."""
    with child(sys.executable, "-c", CODE_MAKER, stdout=subprocess.PIPE, text=True) as process:
        check(process.stdout.readline().startswith("ready"), "the program did not start")
        yield process, next(start for start, _, permissions, path in mappings(process.pid)
                            if permissions == "rwxp" and not path)


@case
def code_that_was_made_is_given():
    with making_code() as (process, start):
        said = demand(f"collector:demand_code={process.pid},{start},{start + 0x10000}:jailed", process.pid)
        check("was given" in said, said)


@case
def no_memory_that_is_no_code_or_is_in_a_file():
    page = os.sysconf("SC_PAGESIZE")
    with making_code() as (process, start):
        found = {}
        for first, _, permissions, path in mappings(process.pid):
            kind = path if path.startswith("[") else "file" if path else "memory"
            if kind != "memory" or permissions != "rwxp":
                found.setdefault((kind, "x" in permissions), first)
        check({("[stack]", False), ("[heap]", False), ("memory", False), ("file", True), ("file", False)} <= set(found), found)
        for at in (*found.values(), 0, 1 << 47, 0xffffffff81000000, 0xffffffffff600000, 2**64 - 2 * page):
            said = demand(f"collector:demand_code={process.pid},{at},{at + page}:jailed", process.pid)
            check("was refused" in said, f"{at:#x}: {said}")


@case
def no_code_of_a_process_outside_the_profile():
    with target("recursion") as workload, making_code() as (other, start):
        for pid in other.pid, os.getpid(), 1, 0, -1, 2**31 - 1:
            said = demand(f"collector:demand_code={pid},{start},{start + 0x10000}:jailed", workload.pid)
            check("was refused" in said, f"{pid}: {said}")


@case
def code_has_an_end_for_who_asks_for_ever():
    with making_code() as (process, start):
        said = demand(f"collector:demand_code_for_ever={process.pid},{start},{start + 0x10000}:jailed", process.pid)
        times = re.search(r"after (\d+) times it was refused", said)
        # 32 MiB at once, and 4 MiB a second; what its predecessors had counts.
        check(times and int(times.group(1)) <= 1024, said)


@case
def a_fallen_symbolizer_has_less_code_and_none_that_nobody_keeps():
    with target("recursion") as workload, making_code() as (process, start):
        fault = "symbolizer:demand_code_to_keep={},{},{},{}:jailed"
        said = demand(fault.format(process.pid, start, start + 0x10000, 10), process.pid)
        check("after 10 times it was given" in said, said)
        said = demand(fault.format(process.pid, start, start + 0x10000, 1000), process.pid)
        times = re.search(r"after (\d+) times it was refused", said)
        # 4 MiB at once, and 256 KiB a second; what its predecessors had counts.
        check(times and int(times.group(1)) <= 128, said)
        for pid in process.pid, os.getpid(), 1:
            said = demand(fault.format(pid, start, start + 0x10000, 10), workload.pid)
            check("after 0 times it was refused" in said, f"{pid}: {said}")
        # Then it is ended for asking.
        result = run(FAULTY, "record", "-e", "cpu-clock:u", "-o", "/dev/null", "--duration", "1", "--no-keep-code", "-p", process.pid,
                     env=falling(fault.format(process.pid, start, start + 0x10000, "10,1")))
        check("died 3 times" in result.stderr and "was given" not in result.stderr and "times it" not in result.stderr, result.stderr)


def kernel_symbols():
    """{name: (address, type)} of the kernel's own, where root may see them."""
    with open("/proc/kallsyms", encoding="ascii", errors="replace") as file:
        lines = [line.split() for line in file]
    return {line[2]: (int(line[0], 16), line[1]) for line in lines if len(line) == 3}


@case
def a_fallen_symbolizer_has_functions_of_the_kernel_and_nothing_else_of_it():
    need_root()
    symbols = kernel_symbols()
    text, data = symbols["vfs_read"][0], next(address for address, kind in symbols.values() if kind in "dDbB" and address)
    with target("recursion") as workload:
        # This may be had where the kernel lets root read its memory.
        said = demand(f"symbolizer:demand_kernel_code={text}:jailed", workload.pid)
        reasons = [f": {-number}\n" for number in (errno.ENOENT, errno.EACCES, errno.EPERM)]
        check("was given" in said if os.path.exists("/proc/kcore") else any(reason in said for reason in reasons), said)
        for address in data, text + 1, 0x1000, 2**64 - 1:
            said = demand(f"symbolizer:demand_kernel_code={address}:jailed", workload.pid)
            refused = [f": {-errno.ENXIO}\n"] if os.path.exists("/proc/kcore") else reasons
            check("was given" not in said and any(reason in said for reason in refused), f"{address:#x}: {said}")


# Whoever touches its code waits for an answer that never comes: userfaultfd(2).
CODE_THAT_HANGS = """import ctypes, fcntl, mmap, os, struct
page = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
handler = libc.syscall({"x86_64": 323, "aarch64": 282}[os.uname().machine], os.O_CLOEXEC)
if handler < 0: print("none", flush=True), os._exit(0)
fcntl.ioctl(handler, 0xc018aa3f, struct.pack("QQQ", 0xaa, 0, 0))
code = mmap.mmap(-1, 32 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
start = ctypes.addressof(ctypes.c_char.from_buffer(code))
fcntl.ioctl(handler, 0xc020aa00, bytearray(struct.pack("QQQQ", start, 32 * page, 1, 0)))
print("ready", start, flush=True)
while True: sum(range(100000))
"""


@case
def code_that_hangs_who_copies_it_is_given_up():
    if os.geteuid() != 0:
        raise Skip("userfaultfd needs root")
    with child(sys.executable, "-c", CODE_THAT_HANGS, stdout=subprocess.PIPE, text=True) as process:
        words = process.stdout.readline().split()
        if words == ["none"]:
            raise Skip("the kernel has no userfaultfd")
        start = int(words[1])
        said = demand(f"collector:demand_code_that_hangs={process.pid},{start},{start + 0x10000}:jailed", process.pid)
        check(f": {-errno.ECANCELED}\n" in said, said)


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
    with directory() as where, running(program) as process:
        recording = record_work(where, [process.pid], 0.3, "-e", "cpu-clock:u", "-p", process.pid)
        return {frame for stack in recording.stacks for frame in stack}


@case
def a_debug_file_by_its_link():
    with directory() as where:
        check("bottom" in functions(strip(where, "program.debug")), "its names were not found")


@case
def a_debug_file_of_another_sum_is_none():
    with directory() as where:
        check("bottom" not in functions(strip(where, "program.debug", crc=1)), "names of another file")


@case
def a_fallen_symbolizer_is_given_no_other_file():
    need_root()
    with directory() as where:
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


def build_id_of(path):
    return re.search(r"Build ID: ([0-9a-f]+)", run(need_program("readelf"), "-n", path).stdout).group(1)


def name_common(program, name, build_id):
    """As if dwz had put something of the program into that file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(name.encode() + b"\0" + bytes.fromhex(build_id))
        file.flush()
        result = run(need_program("objcopy"), f"--add-section=.gnu_debugaltlink={file.name}", program)
        check(result.returncode == 0, result.stderr)


@case
def a_fallen_symbolizer_is_given_no_common_file_that_nothing_names():
    """It says which module's; what that, or its debug file, names must have the build-id that stands there, and be of a believed owner."""
    need_root()
    with directory() as where:
        program, common = strip(where, "program.debug"), os.path.join(where, "common")
        shutil.copy(os.path.join(WORKLOADS, "threads"), common)
        build_id = build_id_of(common)
        with running(program) as process:
            for which in 1, 2:
                said = demand(f"symbolizer:demand_debug=common,{build_id},{which}:jailed", process.pid)
                check("was refused" in said and "was given" not in said, f"{which}: {said}")
        name_common(program, "common", build_id)
        with running(program) as process:
            said = demand("symbolizer:demand_debug=secret,,1:jailed", process.pid)
            check(f"was given inode {os.stat(common).st_ino}" in said, said)
            os.chown(common, NOBODY, NOBODY)
            said = demand("symbolizer:demand_debug=common,,1:jailed", process.pid)
            check("was refused" in said and "was given" not in said, said)
            os.chown(common, 0, 0)
            shutil.copy(os.path.join(WORKLOADS, "recursion"), common)
            said = demand(f"symbolizer:demand_debug=common,{build_id},1:jailed", process.pid)
            check("was refused" in said and "was given" not in said, said)


SPLIT_UNIT = """#include <stdio.h>
int main(void) { puts("ready"); fflush(stdout); for (volatile unsigned long i = 0;; i++) ; }
"""


@case
def a_fallen_symbolizer_is_given_no_file_of_a_unit_that_nothing_names():
    """By an id it may ask for what the module names, if that has such a unit; never for another file, or another module's."""
    need_root()
    with directory() as where:
        ids = {}
        for name in "program", "other":
            with open(os.path.join(where, name + ".c"), "w", encoding="ascii") as file:
                file.write(SPLIT_UNIT.replace("i = 0", f"i = {len(name)}"))
            for options in ["-c", "-g", "-gdwarf-5", "-gsplit-dwarf", "-o", name + ".o", name + ".c"], ["-o", name, name + ".o"]:
                result = run(need_program("gcc"), *options, cwd=where)
                check(result.returncode == 0, result.stderr)
            said = run(need_program("readelf"), "--debug-dump=info", os.path.join(where, name + ".o")).stdout
            ids[name] = re.search(r"DWO ID: +(?:0x)?([0-9a-f]+)", said).group(1)
        program, dwo = os.path.join(where, "program"), os.path.join(where, "program.dwo")
        with running(program) as process:
            demand_unit = lambda unit: demand(f"symbolizer:demand_debug=other.dwo,,3,{unit}:jailed", process.pid)
            said = demand_unit(ids["program"])
            check(f"was given inode {os.stat(dwo).st_ino}" in said, said)
            for unit in ids["other"], "1", "ffffffffffffffff":
                said = demand_unit(unit)
                check("was refused" in said and "was given" not in said, f"{unit}: {said}")
            # What is there under the name must have the unit, and be of a believed owner.
            os.chown(dwo, NOBODY, NOBODY)
            check("was given" not in demand_unit(ids["program"]), "it is somebody else's")
            os.unlink(dwo)
            shutil.copy(os.path.join(where, "other.dwo"), dwo)
            check("was given" not in demand_unit(ids["program"]), "it is another unit's")
            os.unlink(dwo)
            os.symlink("/etc/shadow", dwo)
            check("was given" not in demand_unit(ids["program"]), "it is no unit's")


@case
def a_debug_file_of_another_user_is_none():
    """Who may write beside a program of root's does not name its functions."""
    need_root()
    with directory() as where:
        program = strip(where, "program.debug")
        check("bottom" in functions(program), "its names were not found")
        os.chown(os.path.join(where, "program.debug"), NOBODY, NOBODY)
        check("bottom" not in functions(program), "names of somebody else's file")


# ---- a file system that hangs ----

@case
def a_file_system_that_hangs_holds_nobody():
    need_root()
    with directory() as where:
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
    with directory() as where:
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
