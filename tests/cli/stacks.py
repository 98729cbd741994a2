#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workloads whose stacks are known: the paths are exactly those, the shares within statistical error."""

import collections
import json
import os
import re

from harness import (BUILD, Recording, Skip, case, check, check_accounts, check_complete, check_share, ctop_ok, directory, ended_well, folded,
                     main, need_program, need_root, record, recording_of, run, share_complete, started, target,
                     wait_for_cpu_time, with_function)

# What glibc puts below main and below a thread's function; names by .symtab or .dynsym.
ROOTS = ("_start", "__libc_start_main@@GLIBC_2.34", "__libc_start_main", "__libc_start_call_main",
         "__libc_start_main_impl", "clone3", "__clone3", "clone", "start_thread")


def below(stack, function):
    """The frames from a function on; None when it is not in the stack."""
    return stack[stack.index(function):] if function in stack else None


def checked(recording):
    check_accounts(recording.stats)
    check(recording.stats["samples"] > 100, f"{recording.stats['samples']} samples")
    return recording


def recorded(workload, seconds, event="cpu-clock:u", least_complete=None):
    """A recording of so much of the workload's CPU time, at least, whatever else the machine does; what is cut by the kernel alone, if so."""
    with directory() as where, target(workload) as program:
        with recording_of(where, "-e", event, "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, seconds, children=True)
        stacks, stats = ended_well(where, recorder)
        if least_complete:
            check_complete(os.path.join(where, "x.ctop"), stats, least_complete)
    return checked(Recording(None, stats, stacks, recorder.errors))


def whole_life(workload, seconds):
    """A recording from a workload's start to its end, and what that had to say."""
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        result = ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--stats", stats_path, "--",
                         os.path.join(BUILD, "workloads", workload), seconds)
        with open(stats_path, encoding="utf-8") as file:
            recording = Recording(None, json.load(file), folded(path), result.stderr)
    return checked(recording), result.stdout


def check_roots(stacks, function, allowed=ROOTS):
    """Nothing but the C library's start lies between the comm and the function."""
    for stack in stacks:
        if function in stack:
            strange = [name for name in stack[1:stack.index(function)]
                       if name not in allowed and not name.startswith("[")]
            check(not strange, f"below {function}: {stack}")


@case
def recursion_sixty_deep():
    need_root()
    recording = recorded("recursion", 0.5)
    expected = ("main",) + ("even", "odd") * 30 + ("bottom",)
    deep = sum(count for stack, count in recording.stacks.items()
               if below(stack, "main") == expected)
    check(deep >= 0.995 * recording.stats["samples"], f"{deep} of {recording.stats}")
    for stack in recording.stacks:
        path = below(stack, "main")
        check(path == expected[:len(path)] if path else False, f"a stack of its own: {stack}")
    check_roots(recording.stacks, "main")
    check(share_complete(recording.stats) >= 0.995, f"{recording.stats['stacks']}")


@case
def four_threads_with_their_shares():
    need_root()
    recording, said = whole_life("threads", 3)
    # Of CPU time, to the end: how many rounds that makes, and how the last one ends, is the machine's affair.
    used = {name: float(ms) for name, ms in (line.split() for line in said.splitlines() if line.startswith("share-"))}
    total = sum(recording.stacks.values())
    for share in (40, 30, 20, 10):
        spent = 0
        for stack, count in recording.stacks.items():
            if f"root_{share}" not in stack:
                continue
            # Before that it has not yet given itself its name.
            check(stack[0] == f"share-{share}" or f"spend_{share}" not in stack, f"root_{share} in {stack}")
            spent += count
        check_share(f"root_{share}", spent, total, used[f"share-{share}"] / sum(used.values()), systematic=0.01)
        check_roots(recording.stacks, f"root_{share}")
    check(share_complete(recording.stats) == 1, f"{recording.stats['stacks']}")


@case
def fork_and_exec():
    need_root()
    # A function that has just made its frame on a page that nothing has touched yet has nothing to copy.
    recording = recorded("forkexec", 3, least_complete=0.998)
    stacks = recording.stacks
    total = sum(with_function(stacks, name)
                for name in ("parent_work", "forked_work", "executed_work"))
    check_share("parent_work", with_function(stacks, "parent_work"), total, 0.4)
    check_share("forked_work", with_function(stacks, "forked_work"), total, 0.2)
    check_share("executed_work", with_function(stacks, "executed_work"), total, 0.4)
    paths = {"parent_work": ("main", "parent_round", "parent_work"),
             "forked_work": ("main", "parent_round", "child_half", "forked_work"),
             "executed_work": ("main", "exec_half", "executed_work")}
    for stack in stacks:
        for leaf, path in paths.items():
            if leaf in stack:
                # The work functions read the clock, at about 1 %.
                check(below(stack, "main")[:len(path)] == path, f"{stack}")
                check((stack[0] == "executed") == (leaf == "executed_work"), f"{stack}")


@case
def libraries_loaded_and_unloaded():
    need_root()
    recording = recorded("dlopen", 1)
    stacks = recording.stacks
    one, two = with_function(stacks, "hot_one"), with_function(stacks, "hot_two")
    check_share("hot_one", one, one + two, 0.5)
    check(one + two >= 0.95 * recording.stats["samples"], f"{one} + {two}: {recording.stats}")
    for stack in stacks:
        for which in ("one", "two"):
            if f"hot_{which}" in stack:
                check(below(stack, "main") ==
                      ("main", "run_plugin", f"enter_{which}", f"hot_{which}"), f"{stack}")
    check(share_complete(recording.stats) == 1, f"{recording.stats['stacks']}")


@case
def signal_on_an_alternate_stack():
    need_root()
    recording = recorded("sigalt", 1)
    stacks = recording.stacks
    handler = with_function(stacks, "handler_work")
    total = with_function(stacks, "interrupted_work")
    check_share("handler_work", handler, total, 0.25)
    switched = 0
    for stack, count in stacks.items():
        if "main" in stack:
            path = below(stack, "main")
            # Setting the timer again is the round's only other work.
            check(path[:3] in (("main", "interrupted_round", "interrupted_work"), ("main",),
                               ("main", "interrupted_round")) or "setitimer" in path[2], f"{stack}")
        else:
            # What lies below is on the stack that was left: not in the dump, and said to be so.
            # The signal's return has a name only with libc's debug symbols.
            check(stack[1] == "interrupted_work" and stack[2] in ("__restore_rt", "[libc.so.6]")
                  and stack[3:] == ("on_signal", "handler_work")[:len(stack) - 3], f"{stack}")
            switched += count
    ends = recording.stats["stacks"]
    check(ends["switched"] == switched and
          ends["complete"] == recording.stats["samples"] - switched, f"{ends}")


@case
def templates_of_cxx():
    need_root()
    recording = recorded("templates", 0.5)
    check(share_complete(recording.stats) >= 0.995, f"{recording.stats['stacks']}")
    with_main = sum(count for stack, count in recording.stacks.items() if "main" in stack)
    check(with_main >= 0.995 * recording.stats["samples"], "stacks do not reach main")
    check(not any("_Z" in name for stack in recording.stacks for name in stack),
          "a name was not demangled")


@case
def sleep_and_work():
    need_root()
    recording = recorded("sleepwork", 0.5, "cpu-clock")
    stacks = recording.stacks
    total = sum(stacks.values())
    check_share("work_phase", with_function(stacks, "work_phase"), total, 0.98, systematic=0.04)
    for stack in stacks:
        if "busy" in stack:
            path = below(stack, "main")
            check(path[:3] == ("main", "work_phase", "busy"), f"{stack}")


def by_frame_pointers(workload):
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "--call-graph", "fp", "-o", path, "--stats", stats_path, "--",
                os.path.join(BUILD, "workloads", workload), "0.5")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        return stats, folded(path), ctop_ok("export", "frames", path).stdout


@case
def frame_pointers_that_reach_the_root_are_complete():
    need_root()
    for workload, function in ("framed_spin", "spin_loop"), ("framed_threads", "work_40"):
        stats, stacks, frames = by_frame_pointers(workload)
        check(stats["samples"] > 20, f"{workload}: {stats}")
        # A function has no frame while it begins and ends, and neither has what libc is made of.
        check(share_complete(stats) > 0.8, f"{workload}: {stats['stacks']}")
        check(with_function(stacks, function) > 0.1 * sum(stacks.values()), f"{workload}: {stacks}")
        check(" fp " in frames and " cfi " not in frames, f"{workload}: {frames[:2000]}")


@case
def frame_pointers_that_are_none_are_not_complete():
    need_root()
    stats, _, _ = by_frame_pointers("recursion")
    check(stats["samples"] > 20, f"{stats}")
    check(share_complete(stats) < 0.5, f"{stats['stacks']}")


MUSL = r"""
#include <pthread.h>
#include <unistd.h>
static volatile unsigned long sum;
/* The innermost function has no frame, and its caller so no place in the chain. */
__attribute__((noinline)) void innermost(void) { for (unsigned long i = 0; i < 1000000; i++) sum += i; }
__attribute__((noinline)) void burn(void) { innermost(); sum++; }
static void *in_thread(void *unused) { for (;;) { burn(); sum++; } return unused; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, in_thread, 0);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;) { burn(); sum++; }
}
"""


def musl_program(where, *options):
    path = os.path.join(where, "looping")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(MUSL)
    result = run(need_program("musl-gcc"), "-O1", *options, "-o", path, path + ".c")
    check(result.returncode == 0, result.stderr)
    return path


def musl_by_frame_pointers(*options):
    with directory() as where, started(musl_program(where, *options)) as program:
        with recording_of(where, "-e", "cpu-clock:u", "--call-graph", "fp", "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 0.5)
        stacks, stats = ended_well(where, recorder)
    check(stats["samples"] > 20, f"{stats}")
    return stacks, share_complete(stats)


@case
def frame_pointers_that_reach_the_start_of_musl_are_complete():
    """Its libc has no unwind table; linked statically its functions have names."""
    need_root()
    for link, called_by in ([], {}), (["-static"], {"main": "libc_start_main_stage2", "in_thread": "start"}):
        stacks, share = musl_by_frame_pointers("-fno-omit-frame-pointer", *link)
        check(share > 0.95, f"{link}: {share}")
        for function in "main", "in_thread":
            check(with_function(stacks, function) > 0, f"{link}: {stacks}")
        for stack in stacks:
            for function, caller in called_by.items():
                check(function not in stack or stack[stack.index(function) - 1] == caller, f"{link}: {stack}")
        _, share = musl_by_frame_pointers("-fomit-frame-pointer", *link)
        check(share < 0.05, f"{link}, without frame pointers: {share}")


@case
def samples_inside_execve_are_the_kernels_alone():
    """There the old program's memory is gone, and its registers are not the new one's."""
    need_root()
    with directory() as where:
        recording = record(where, "-e", "cpu-clock", "-F", "4000", "--", "sh", "-c",
                           "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done", seconds=60)
        text = ctop_ok("export", "frames", "--no-inline", recording.path).stdout
    ends = collections.Counter()
    for sample in re.split(r"\n\s*\n", text):
        head, *frames = sample.strip("\n").split("\n")
        if any(" kernel " in frame and "load_elf_binary" in frame for frame in frames):
            ends[re.search(r": (\w+)(?: \(\w+\))?$", head).group(1)] += 1
    if sum(ends.values()) < 10:
        raise Skip(f"of execve there are too few samples, or its functions have no names: {dict(ends)}")
    # Where the old stack is still there, it is shown.
    well = ends["kernel_only"] + ends["complete"] + ends["joined"]
    check(ends["kernel_only"] and well >= 0.9 * sum(ends.values()), f"{ends}")


@case
def musl_without_frame_pointers():
    """No table, no frame pointers: rules come from the code, of stripped programs too."""
    for link in [], ["-s"], ["-static"], ["-static", "-s"]:
        with directory() as where, \
                started(musl_program(where, "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", *link)) as program:
            with recording_of(where, "-e", "cpu-clock:u", "-p", program.pid) as recorder:
                wait_for_cpu_time(program.pid, 0.5)
            stacks, stats = ended_well(where, recorder)
        check(stats["samples"] > 20, f"{stats}")
        check(share_complete(stats) > 0.95, f"{link}: {stats} {stacks}")


@case
def code_that_lies_holds_nobody():
    """Rules are read from code within a budget: the collector lives, and stacks of others are as they were."""
    need_root()
    with directory() as where, target("lying_code") as liar, target("recursion") as honest:
        with recording_of(where, "-e", "cpu-clock:u", "-p", f"{liar.pid},{honest.pid}") as recorder:
            for pid in liar.pid, honest.pid:
                wait_for_cpu_time(pid, 0.5)
        stacks, stats = ended_well(where, recorder)
    check(stats["restarts"] == 0, f"{stats} {recorder.errors}")
    check(any(stack[0] == "lying_code" for stack in stacks), f"{stacks}")
    of_honest = {stack: count for stack, count in stacks.items() if stack[0] == "recursion"}
    rooted = sum(count for stack, count in of_honest.items() if "main" in stack)
    check(rooted > 0.95 * sum(of_honest.values()) > 0, f"{of_honest}")


@case
def a_page_that_was_never_touched_cuts_the_dump():
    """The kernel copies no further than to a page that is not there: amid a frame that is larger than what was used of it."""
    need_root()
    for touches, share in ([], 0), (["all"], 1):
        with directory() as where, target("untouched", *touches) as program:
            with recording_of(where, "-e", "cpu-clock:u", "--call-graph", "dwarf,65528", "-p", program.pid) as recorder:
                wait_for_cpu_time(program.pid, 0.3)
            _, stats = ended_well(where, recorder)
        check(abs(share_complete(stats) - share) < 0.05, f"{touches}: {stats['stacks']}")


if __name__ == "__main__":
    main()
