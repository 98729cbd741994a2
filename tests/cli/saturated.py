#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where every CPU is taken: ctop comes soon, takes less, and says what it took."""

import ctypes
import os
import struct

from harness import Skip, case, check, children_of, ended_well, folder, main, need_root, recording_of, target

SLICE_NS = 100_000
NR_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}


def schedule(pid):
    """(policy, nice, slice in ns) of a process."""
    number = NR_SCHED_GETATTR.get(os.uname().machine)
    if not number:
        raise Skip(f"no number of sched_getattr() on {os.uname().machine}")
    attributes = ctypes.create_string_buffer(48)
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.syscall(number, pid, attributes, 48, 0) == 0, os.strerror(ctypes.get_errno()))
    _, policy, _, nice, _, slice_ns = struct.unpack_from("<IIQiIQ", attributes)
    return policy, nice, slice_ns


def need_slices():
    if not 0 < schedule(0)[2] < 1 << 40:
        raise Skip("this kernel has no slices of one's own (they came with Linux 6.12)")


@case
def it_asks_for_short_slices_and_never_for_real_time():
    need_root()
    need_slices()
    with folder() as where, target("spin") as program:
        with recording_of(where, "-p", program.pid) as recorder:
            pids = {"main": recorder.pid, **children_of(recorder.pid)}
            seen = {role: schedule(pid) for role, pid in pids.items()}
        ended_well(where, recorder)
    for role in "main", "collector":
        policy, nice, slice_ns = seen[role]
        check(policy == os.SCHED_OTHER and slice_ns == SLICE_NS and nice < 0, f"{role}: {seen}")
    # They work as long as they work: nothing waits for them.
    for role in "symbolizer", "writer":
        policy, nice, slice_ns = seen[role]
        check(policy == os.SCHED_OTHER and slice_ns > SLICE_NS and nice == 0, f"{role}: {seen}")


@case
def its_command_is_an_ordinary_process():
    need_root()
    need_slices()
    with folder() as where, recording_of(where, "--", "sh", "-c", "while :; do :; done") as recorder:
        with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="ascii") as file:
            mine = [int(pid) for pid in file.read().split() if int(pid) not in children_of(recorder.pid).values()]
        names = {pid: open(f"/proc/{pid}/comm", encoding="utf-8").read().strip() for pid in mine}
        commands = [pid for pid, name in names.items() if name == "sh"]
        check(len(commands) == 1, f"{names}")
        seen = schedule(commands[0])
        os.kill(commands[0], 9)
    check(seen[:2] == (os.SCHED_OTHER, 0) and seen[2] > SLICE_NS, f"{seen}")


@case
def a_nice_value_of_the_users_is_kept():
    need_root()
    need_slices()
    with folder() as where, target("spin") as program:
        with recording_of(where, "-p", program.pid, preexec_fn=lambda: os.nice(5)) as recorder:
            pids = [recorder.pid, children_of(recorder.pid)["collector"]]
            seen = [schedule(pid) for pid in pids]
        ended_well(where, recorder)
    check(all(nice == 5 and slice_ns == SLICE_NS for _, nice, slice_ns in seen), f"{seen}")


if __name__ == "__main__":
    main()
