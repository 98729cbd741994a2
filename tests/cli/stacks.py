#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workloads whose stacks are known: the paths are exactly those, the shares within statistical error."""

from harness import (case, check, check_accounts, check_share, folder, main, need_root, record,
                     share_complete, target, with_function)

# What glibc puts below main and below a thread's function; names by .symtab or .dynsym.
ROOTS = ("_start", "__libc_start_main@@GLIBC_2.34", "__libc_start_main", "__libc_start_call_main",
         "__libc_start_main_impl", "clone3", "__clone3", "clone", "start_thread")


def below(stack, function):
    """The frames from a function on; None when it is not in the stack."""
    return stack[stack.index(function):] if function in stack else None


def user_only(workload, *arguments, seconds=2):
    with folder() as where, target(workload) as program:
        recording = record(where, "-e", "cpu-clock:u", "-p", program.pid, *arguments,
                           seconds=seconds)
        check_accounts(recording.stats)
        check(recording.stats["samples"] > 100, f"{recording.stats['samples']} samples")
        return recording


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
    recording = user_only("recursion")
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
    recording = user_only("threads", seconds=4)
    total = sum(recording.stacks.values())
    for share in (40, 30, 20, 10):
        spent = 0
        for stack, count in recording.stacks.items():
            if f"root_{share}" not in stack:
                continue
            check(stack[0] == f"share-{share}", f"root_{share} in {stack[0]}")
            spent += count
        check_share(f"root_{share}", spent, total, share / 100)
        check_roots(recording.stacks, f"root_{share}")
    check(share_complete(recording.stats) == 1, f"{recording.stats['stacks']}")


@case
def fork_and_exec():
    need_root()
    recording = user_only("forkexec", seconds=4)
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
    check(share_complete(recording.stats) == 1, f"{recording.stats['stacks']}")


@case
def libraries_loaded_and_unloaded():
    need_root()
    recording = user_only("dlopen", seconds=3)
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
    recording = user_only("sigalt", seconds=3)
    stacks = recording.stacks
    handler = with_function(stacks, "handler_work")
    total = with_function(stacks, "interrupted_work")
    check_share("handler_work", handler, total, 0.25)
    switched = 0
    for stack, count in stacks.items():
        if "main" in stack:
            path = below(stack, "main")
            # Setting the timer anew is the round's only other work.
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
    recording = user_only("templates")
    check(share_complete(recording.stats) >= 0.995, f"{recording.stats['stacks']}")
    with_main = sum(count for stack, count in recording.stacks.items() if "main" in stack)
    check(with_main >= 0.995 * recording.stats["samples"], "stacks do not reach main")
    check(not any("_Z" in name for stack in recording.stacks for name in stack),
          "a name was not demangled")


@case
def sleep_and_work():
    need_root()
    with folder() as where, target("sleepwork") as program:
        recording = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=3)
    check_accounts(recording.stats)
    stacks = recording.stacks
    total = sum(stacks.values())
    check_share("work_phase", with_function(stacks, "work_phase"), total, 0.98, systematic=0.04)
    # Half of the time asleep: half as many samples as an always busy target would give.
    expected = recording.stats["rate_hz"]
    check(expected > 0, "no rate")
    for stack in stacks:
        if "busy" in stack:
            path = below(stack, "main")
            check(path[:3] == ("main", "work_phase", "busy"), f"{stack}")


if __name__ == "__main__":
    main()
