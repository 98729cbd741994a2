#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of code that is in no program's file: generated code, with the bytes that the process told of."""

import os
import re
import signal
import struct

from generating import generating, memory_of, need_x86
from harness import (BUILD, Skip, case, check, check_refused, ctop, ctop_ok, directory, ended_well, main, need_program,
                     recording_of, wait_for_cpu_time)
from listings import check_like_bytes, check_samples, own_samples, recorded

GENERATES = os.path.join(BUILD, "workloads", "jitdump")


def dump_of(where):
    """{(name, start): [code]} of the one dump there, as perf's jitdump-specification.txt has it."""
    names = [name for name in os.listdir(where) if re.fullmatch(r"jit-\d+\.dump", name)]
    if not names:
        raise Skip("it writes no dump")
    with open(os.path.join(where, names[0]), "rb") as file:
        dump = file.read()
    at, found, here = struct.unpack_from("<I", dump, 8)[0], {}, {}
    while at + 16 <= len(dump):
        kind, size, _ = struct.unpack_from("<IIQ", dump, at)
        if kind == 0:
            start, length = struct.unpack_from("<QQ", dump, at + 32)
            end = dump.index(b"\0", at + 56)
            here[start] = dump[at + 56:end].decode(), dump[end + 1:end + 1 + length]
            check(end + 1 + length <= at + size, "an odd dump")
            found.setdefault((here[start][0], start), []).append(here[start][1])
        elif kind == 1:
            before, after = struct.unpack_from("<QQ", dump, at + 32)
            here[after] = here[before]
            found.setdefault((here[after][0], after), []).append(here[after][1])
        at += size
    return found


def places_of(listing):
    """[(start, what is said of it)]: a function may have been in several places."""
    return [(int(re.search(r"^code +0x([0-9a-f]+)", part, re.M).group(1), 16), part)
            for part in re.split(r"\nanother function of that name\n", listing)]


def annotated_if_kept(path, name):
    """Code that a process makes is copied while it runs: where ctop gets too little of the CPUs for that, it says so."""
    result = ctop("report", "--annotate", name, path)
    if "was generated, and was not kept" in result.stderr:
        raise Skip(f"the code of {name} was not copied in time")
    check(result.returncode == 0, result.stderr)
    return result.stdout


@case
def what_a_dump_tells_of_is_objdumps_also_where_functions_take_each_others_place():
    need_x86()
    with directory() as where:
        path = recorded(where, GENERATES, where, 100, 1)
        dump = dump_of(where)
        starts = {}
        for name in "moving", "taking":
            listing = annotated_if_kept(path, name)
            check_samples(path, name, listing)
            starts[name] = {start for start, _ in places_of(listing)}
            for start, part in places_of(listing):
                check("code kept in the recording" in part, part)
                check(check_like_bytes(part, where, start, dump[name, start][0]) > 20, part)
        check(len(starts["moving"]) == 2 and starts["taking"] < starts["moving"], f"{starts}")


@case
def what_node_generates_is_objdumps():
    need_x86()
    node = need_program("node")
    with directory() as where:
        program = os.path.join(where, "busy.js")
        with open(program, "w", encoding="utf-8") as file:
            file.write("function shape(n) { let s = 0; for (let i = 0; i < n; i++)\n s = (s * 31 + i) % 65537; return s; }\n"
                       "let t = 0; for (let i = 0; i < 40000; i++) t += shape(10000); console.log(t);\n")
        path = recorded(where, node, "--perf-prof", program, cwd=where)
        dump = dump_of(where)
        functions = [(samples, name) for (name, module), samples in own_samples(path).items() if "*shape" in name and samples > 1]
        check(functions, f"{own_samples(path)}")
        name = max(functions)[1]
        listing = annotated_if_kept(path, name)
        check_samples(path, name, listing)
        for start, part in places_of(listing):
            check_like_bytes(part, where, start, dump[name, start][0])


# ---- what only a map tells of ----

@case
def what_a_map_tells_of_is_read_in_memory():
    with directory() as where, generating(where, "f") as (process, start):
        with recording_of(where, "-e", "cpu-clock:u", "-p", process.pid) as recorder:
            wait_for_cpu_time(process.pid, 0.3)
        ended_well(where, recorder)
        path = os.path.join(where, "x.ctop")
        listing = annotated_if_kept(path, "first()")
        check(re.search(r"code kept in the recording, read in the process's memory at \d+\.\d s: before or after, other code may", listing), listing)
        check_samples(path, "first()", listing)
        check_like_bytes(listing, where, start, memory_of(process, start, 15))
        # Another time it is left out, and that is said.
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "--no-keep-code", "--duration", "1", "-o", path, "-p", process.pid)
        check_refused(ctop("report", "--annotate", "first()", path), 1, "was generated, and was not kept", "--no-keep-code")


@case
def functions_that_take_each_others_place_in_memory_have_each_its_own_code():
    with directory() as where, generating(where, "f") as (process, start):
        first = memory_of(process, start, 15)
        with recording_of(where, "-e", "cpu-clock:u", "-p", process.pid) as recorder:
            wait_for_cpu_time(process.pid, 0.3)
            process.send_signal(signal.SIGUSR1)
            check(process.stdout.readline() == "second\n", "it did not")
            wait_for_cpu_time(process.pid, 0.5)
        ended_well(where, recorder)
        path = os.path.join(where, "x.ctop")
        second = memory_of(process, start, 40)
        check(first != second[:15], "no other code")
        listing = annotated_if_kept(path, "second()")
        check_samples(path, "second()", listing)
        check_like_bytes(listing, where, start, second)
        # The first is shown if it was read in time; the second's code never stands under its name.
        result = ctop("report", "--annotate", "first()", path)
        if result.returncode == 0:
            check_like_bytes(result.stdout, where, start, first)
        else:
            check_refused(result, 1, "was generated, and was not kept")


@case
def of_a_huge_function_there_is_what_is_mapped():
    for size in "40000000", "ffff800000000000":
        with directory() as where, generating(where, size) as (process, start):
            with recording_of(where, "-e", "cpu-clock:u", "-p", process.pid) as recorder:
                wait_for_cpu_time(process.pid, 0.3)
            ended_well(where, recorder)
            listing = annotated_if_kept(os.path.join(where, "x.ctop"), "first()")
            check("it goes on, and is cut here" in listing, listing[:2000])
            check(int(re.search(r"^code +0x[0-9a-f]+ to 0x([0-9a-f]+)", listing, re.M).group(1), 16) <= start + 4096, listing[:2000])


if __name__ == "__main__":
    main()
