#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What functions are called, and those that nothing names: where they begin and end, by other tools' word."""

import contextlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys

from harness import (DISTURBED, NOBODY, Skip, case, check, child, ctop_ok, directory, disturbance, folded, main, moment,
                     need_program, need_root, recording_of, run)

# Functions that work, or a loop of assembly 8 KiB behind a label.
WORK = r"""
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static void spin(volatile unsigned long *sum, unsigned long nr)
{
	while (nr--)
		*sum += nr;
}
#ifdef FAR
void label(unsigned long nr);
__asm__(".text\n.globl label\nlabel: jmp 1f\n.skip 8192\n1: dec %rdi\njnz 1b\nret\n");
#else
__attribute__((noinline)) void label(unsigned long nr)
{
	volatile unsigned long sum = 0;
	spin(&sum, nr);
	__asm__ volatile("");
}
#endif
__attribute__((noinline)) static void other(unsigned long nr)
{
	for (volatile unsigned long i = 0; i < nr; i++)
		;
}
static double now(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	while (now() < seconds) {
		label(2000000);
		other(1000000);
	}
	return 0;
}
"""


def built(where, name, *options):
    """The workload, as the compiler leaves it."""
    path, source = os.path.join(where, name), os.path.join(where, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(WORK)
    result = run(need_program("gcc"), "-O1", "-g", *options, "-o", path, source)
    check(result.returncode == 0, result.stderr)
    return path


def functions_of(path):
    """{name: (address, size)} by nm."""
    found = {}
    for line in run(need_program("nm"), "-S", "--defined-only", path).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            found[words[3]] = int(words[0], 16), int(words[1], 16)
    return found


def frames_of(path):
    """[(from, to)] of the unwind table, by readelf."""
    text = run(need_program("readelf"), "--debug-dump=frames", path).stdout
    return [(int(low, 16), int(high, 16)) for low, high in re.findall(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)]


def recorded(where, *command):
    path = os.path.join(where, "names.ctop")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", *command)
    return path


@case
def functions_without_a_name_are_functions():
    need_root()
    with directory() as where:
        program = built(where, "nameless", "-fno-omit-frame-pointer")
        known = functions_of(program)
        check(run(need_program("strip"), "-o", program + "-stripped", program).returncode == 0, "strip failed")
        begins = {low for low, _ in frames_of(program + "-stripped")}
        path = recorded(where, program + "-stripped", 1)
        stacks = folded(path)
        names = {frame for stack in stacks for frame in stack if frame.startswith("nameless")}
        for name in ("spin", "label", "other", "main"):
            check(known[name][0] in begins, f"{name} has no entry")
            check(f"nameless-stripped+{known[name][0]:#x}" in names, f"{name} at {known[name][0]:#x} is not in {names}")
        spin, label = (f"nameless-stripped+{known[name][0]:#x}" for name in ("spin", "label"))
        leaves = sum(count for stack, count in stacks.items() if stack[-1] == spin)
        check(leaves > 0, f"{stacks}")
        check(any(stack[-2:] == (label, spin) for stack in stacks), f"{stacks}")
        # One row per function, and none for the module, in every other view as well.
        report = ctop_ok("report", "--stdio", path).stdout
        check(sum(spin in line for line in report.splitlines()) == 1, report)
        check("[nameless-stripped]" not in report, report)
        check(spin in ctop_ok("report", "--stdio", "--tree", path).stdout, "not in the tree")
        for form in "script", "frames":
            text = ctop_ok("export", form, path).stdout
            check(re.search(rf"{re.escape(spin)}\+0x[0-9a-f]+ \(", text), f"not in {form}")
        check(folded(path, "--module", "nameless-stripped")[next(s for s in stacks if s[-1] == spin)] > 0,
              "not by its module")


@case
def code_far_behind_a_label_is_not_its_function():
    need_root()
    with directory() as where:
        program = built(where, "far", "-DFAR")
        address, _ = functions_of(program).get("label", (None, None))
        if address is None:  # nm leaves out sizes that nobody gave
            line = next(line for line in run("nm", program).stdout.splitlines() if line.endswith(" label"))
            address = int(line.split()[0], 16)
        stacks = folded(recorded(where, program, 1))
        leaves = {stack[-1] for stack in stacks}
        check("label" not in leaves, f"{stacks}")
        check(f"far+{address + 4096:#x}" in leaves, f"{address:#x}: {stacks}")


# As x86inc.asm leaves it: neither sizes nor an unwind table, and of the names only one that is exported.
BARE = r"""
void first(unsigned long), second(unsigned long), third(unsigned long);
__asm__(".text\n.balign 16\n.globl first\n"
	"first: jmp 1f\n.balign 16\ninside: ret\n1: dec %rdi\njnz 1b\nret\n"
	".balign 16\nsecond: dec %rdi\njnz second\nret\n"
	".balign 16\nthird: dec %rdi\njnz third\nret\n.skip 8192\n");
void (*volatile const functions[])(unsigned long) = {first};
int main(void)
{
	void (*volatile called)(unsigned long) = third;
	for (int i = 0; i < 100; i++) {
		functions[0](2000000);
		second(2000000);
		called(2000000);
	}
	return 0;
}
"""


@case
def assembly_without_sizes_ends_where_other_code_refers_to():
    need_root()
    if os.uname().machine != "x86_64":
        raise Skip("assembly of x86-64")
    with directory() as where:
        path = os.path.join(where, "bare")
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(BARE)
        result = run(need_program("gcc"), "-O1", "-rdynamic", "-o", path, path + ".c")
        check(result.returncode == 0, result.stderr)
        known = {words[2]: int(words[0], 16) for words in
                 (line.split() for line in run(need_program("nm"), path).stdout.splitlines()) if len(words) == 3}
        check(run(need_program("strip"), path).returncode == 0, "strip failed")
        leaves = {stack[-1] for stack in folded(recorded(where, path))}
        expected = {"first", f"bare+{known['second']:#x}", f"bare+{known['third']:#x}"}
        check(expected <= leaves, f"{expected - leaves} are not in {leaves}")
        check(not any(leaf.startswith("bare+") for leaf in leaves - expected), f"{leaves}")


def objcopy(*arguments):
    result = run(need_program("objcopy"), *arguments)
    check(result.returncode == 0, result.stderr)


def leaves_of(where, *command, **options):
    """The innermost functions of a recording, and what it says of files that were not used."""
    path, stats = os.path.join(where, "leaves.ctop"), os.path.join(where, "leaves.json")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--stats", stats, "--", *command, **options)
    with open(stats, encoding="utf-8") as file:
        return {stack[-1] for stack in folded(path)}, json.load(file)["unreadable"]


def linked(where, *options):
    """A stripped program that names its debug file, and that file."""
    program = built(where, "linked", *options)
    objcopy("--only-keep-debug", program, program + ".debug")
    objcopy("--strip-all", program)
    objcopy(f"--add-gnu-debuglink={program}.debug", program)
    return program, program + ".debug"


@case
def a_debug_file_is_used_if_its_sum_is_right():
    need_root()
    with directory() as where:
        program, debug = linked(where, "-Wl,--build-id=none")
        leaves, unused = leaves_of(where, program, 0.3)
        check({"spin", "other"} <= leaves and not unused, f"{leaves} {unused}")
        other = built(where, "other", "-Wl,--build-id=none", "-DFAR")
        objcopy("--only-keep-debug", other, debug)
        leaves, unused = leaves_of(where, program, 0.3)
        check(not {"spin", "other", "label"} & leaves, f"names of another build: {leaves}")
        check(unused == [f"{program} (names: the debug file linked.debug does not match: CRC mismatch)"], f"{unused}")
        # Without an end, and one that waits for a writer.
        with open(debug, "wb") as file:
            file.truncate((4 << 30) + 4096)
        leaves, unused = leaves_of(where, program, 0.3)
        check(not {"spin", "other"} & leaves and "does not match" in unused[0], f"{leaves} {unused}")
        os.unlink(debug)
        os.mkfifo(debug)
        leaves, unused = leaves_of(where, program, 0.3)
        check(not {"spin", "other"} & leaves, f"{leaves}")
        check(unused == [f"{program} (names: the debug file linked.debug is not a regular file)"], f"{unused}")


@case
def a_debug_file_that_may_not_be_used_is_said():
    """Of the module's own word: by link, or by build-id, which it has besides; with another place to look at."""
    need_root()
    with directory() as where:
        os.chmod(where, 0o755)
        for options in ["-Wl,--build-id=none"], ["-Wl,--build-id"]:
            program, debug = linked(where, *options)
            os.chown(debug, NOBODY, NOBODY)
            leaves, unused = leaves_of(where, program, 0.3)
            check(not {"spin", "other"} & leaves, f"{leaves}")
            check(unused == [f"{program} (names: the debug file linked.debug is of an owner who is not believed here)"], f"{unused}")
            os.mkdir(os.path.join(where, ".debug"))
            shutil.copy(debug, os.path.join(where, ".debug"))
            leaves, unused = leaves_of(where, program, 0.3)
            check({"spin", "other"} <= leaves and not unused, f"{leaves} {unused}")
            shutil.rmtree(os.path.join(where, ".debug"))


@case
def names_from_dwarf_alone():
    need_root()
    with directory() as where:
        program = built(where, "described")
        objcopy("-S", "--keep-section=.debug_*", program)
        check(".symtab" not in run(need_program("readelf"), "-SW", program).stdout, "has symbols")
        leaves, _ = leaves_of(where, program, 0.3)
        check({"spin", "other"} <= leaves, f"{leaves}")


@case
def names_from_compressed_symbols():
    need_root()
    with directory() as where:
        program = built(where, "mini")
        small = os.path.join(where, "symbols")
        objcopy("--only-keep-debug", "-g", program, small)
        objcopy("--strip-all", program)
        with open(small, "rb") as file:
            packed = lzma.compress(file.read())
        for bytes_, named in (packed, True), (packed[:len(packed) // 2], False), \
                (lzma.compress(bytes(128 << 20)), False):
            with open(small + ".xz", "wb") as file:
                file.write(bytes_)
            objcopy(f"--add-section=.gnu_debugdata={small}.xz", program, program + "-with")
            leaves, unused = leaves_of(where, program + "-with", 0.3)
            check(({"spin", "other"} <= leaves) == named and not unused, f"{leaves} {unused}")
            check(named or any(leaf.startswith("mini-with+") for leaf in leaves), f"{leaves}")


@case
def what_debuginfod_fetched_is_found_by_build_id():
    need_root()
    with directory() as where:
        program, debug = linked(where, "-Wl,--build-id")
        build_id = re.search("Build ID: ([0-9a-f]+)", run(need_program("readelf"), "-n", program).stdout).group(1)
        fetched = os.path.join(where, ".cache", "debuginfod_client", build_id)
        os.makedirs(fetched)
        environment = {**os.environ, "HOME": where}
        os.rename(debug, os.path.join(fetched, "debuginfo"))
        leaves, _ = leaves_of(where, program, 0.3, env=environment)
        check({"spin", "other"} <= leaves, f"{leaves}")
        for variable, path in ("DEBUGINFOD_CACHE_PATH", os.path.dirname(fetched)), ("XDG_CACHE_HOME", os.path.join(where, ".cache")):
            leaves, _ = leaves_of(where, program, 0.3, env={**os.environ, "HOME": "/nowhere", variable: path})
            check({"spin", "other"} <= leaves, f"{variable}: {leaves}")
        # One of another build, and the cache of somebody else, which root leaves alone.
        os.chown(where, NOBODY, NOBODY)
        leaves, _ = leaves_of(where, program, 0.3, env=environment)
        check(not {"spin", "other"} & leaves, f"{leaves}")
        os.chown(where, 0, 0)
        objcopy("--only-keep-debug", built(where, "else", "-Wl,--build-id", "-DFAR"), os.path.join(fetched, "debuginfo"))
        leaves, _ = leaves_of(where, program, 0.3, env=environment)
        check(not {"spin", "other"} & leaves, f"{leaves}")


# Each program a file of its own, that is deleted as soon as it runs, and ends 30 ms later.
SHORT_LIVES = """
import os, shutil, subprocess, sys
program, where, nr = sys.argv[1], sys.argv[2], int(sys.argv[3])
for i in range(nr):
    path = os.path.join(where, f"short{i}")
    shutil.copy(program, path)
    with subprocess.Popen([path, "0.03"]):
        os.unlink(path)
"""

@case
def a_command_in_a_root_of_its_own():
    """What was mapped before the root was changed, and what is mapped in the new one."""
    need_root()
    if run("unshare", "-m", "true").returncode:
        raise Skip("no mount namespaces here")
    with directory() as where:
        program = built(where, "rooted")
        root, words = os.path.join(where, "root"), run(need_program("ldd"), program).stdout.split()
        for path in [program, *(word for word in words if word.startswith("/"))]:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        os.makedirs(os.path.join(root, "old"))
        pivot = 'mount --bind "$0" "$0" && cd "$0" && pivot_root . old && exec "$1" 0.3'
        for command in (["chroot", root, program, 0.3], ["sh", "-c", pivot, root, program]):
            path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "x.json")
            ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--stats", stats, "--", "unshare", "-m", *command)
            with open(stats, encoding="utf-8") as file:
                unreadable = json.load(file)["unreadable"]
            stacks = {stack: nr for stack, nr in folded(path).items() if stack[0] == "rooted"}
            check(not unreadable, f"{unreadable}")
            check(sum(stacks.values()) > 50, f"{stacks}")
            nameless = [frame for stack in stacks for frame in stack if frame.startswith("[")]
            check(not nameless, f"{nameless}")


# Works, maps so many files of its own when it is told to, and works on.
MAPS_MANY = """
import mmap, os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (2 * int(sys.argv[1]), 2 * int(sys.argv[1])))
while not os.path.exists(sys.argv[2]):
    sum(range(10000))
maps = []
for i in range(int(sys.argv[1])):
    fd = os.memfd_create("x")
    os.ftruncate(fd, 4096)
    maps.append(mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    os.close(fd)
print("ready", flush=True)
while True:
    sum(range(10000))
"""


@case
def programs_that_are_deleted_as_they_start():
    need_root()
    start = moment()
    with directory() as where:
        program, path, stats = built(where, "program"), os.path.join(where, "x.ctop"), os.path.join(where, "x.json")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--stats", stats, "--",
                sys.executable, "-c", SHORT_LIVES, program, where, 40)
        with open(stats, encoding="utf-8") as file:
            unreadable = json.load(file)["unreadable"]
        own = {stack: count for stack, count in folded(path).items() if stack[0].startswith("short")}
        frames, named = 0, 0
        for stack, count in own.items():
            frames += count * len(stack[1:])
            named += count * sum(not frame.startswith("[") for frame in stack[1:])
            nameless = {frame.strip("[]") for frame in stack if frame.startswith("[short")}
            check(all(any(name in line for line in unreadable) for name in nameless) or len(unreadable) > 16,
                  f"{nameless} is not in {unreadable}")
        check(sum(own.values()) > 400, f"{own}")
        check(named >= 0.95 * frames or disturbance(start) > DISTURBED, f"{named} of {frames}: {unreadable}")


# Two programs in turns, each in the place of the other; what is written in between is not a program.
TURNS = """
for turn in 1 2 3 4 5 6; do
    cp "$1" "$3"; "$3" 0.01; : > "$3"; "$1" 0.1; cp "$2" "$3"; "$3" 0.1
done
"""


@case
def programs_overwritten_in_place():
    need_root()
    with directory() as where:
        # What overwrites it looks the same at its start: nothing tells them apart but when they were written.
        programs = [built(where, name, "-Wl,--build-id=none", flag)
                    for name, flag in (("first", "-fomit-frame-pointer"), ("second", "-fno-omit-frame-pointer"))]
        other, stats = os.path.join(where, "other"), os.path.join(where, "stats.json")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", os.path.join(where, "x.ctop"), "--stats", stats, "--",
                "sh", "-c", TURNS, "sh", *programs, other)
        with open(stats, encoding="utf-8") as file:
            stacks = json.load(file)["stacks"]
        total = sum(value for value in stacks.values() if isinstance(value, int))
        # The short runs may be gone before their file is read.
        check(stacks["complete"] > 0.9 * total, f"{stacks}")


@case
def files_mapped_by_the_thousand():
    need_root()
    with directory() as where:
        with child(sys.executable, "-c", MAPS_MANY, 5000, os.path.join(where, "go"), stdout=subprocess.PIPE,
                   text=True) as target:
            with recording_of(where, "-p", target.pid) as recorder:
                with open(os.path.join(where, "go"), "w", encoding="utf-8"):
                    pass
                check(target.stdout.readline().startswith("ready"), "the target has ended")
                # What is on its way is at most what is asked for at a time.
                kept = sum("memfd:x" in link for link in links_of(recorder.pid))
                check(kept <= 256 + 64, f"{kept} files are kept open")
        check(recorder.returncode == 0, recorder.errors)


def links_of(pid):
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


if __name__ == "__main__":
    main()
