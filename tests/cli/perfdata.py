#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf.data files, recorded by perf here and now: the same samples as perf script shows, with ctop's stacks."""

import collections
import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from harness import (BUILD, CTOP, NOBODY, PATIENCE, Skip, case, check, check_accounts, check_refused, child,
                     children_of, ctop, ctop_ok, folded, folder, main, need_program, need_root, open_to_all,
                     run, share_complete, started, target, wait_for_cpu_time, wait_until, with_function)

HEADER = re.compile(r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[\d+\]\s+)?(?P<seconds>\d+)\.(?P<micros>\d+):"
                    r"\s+(?P<period>\d+)\s+(?P<event>[^ ]+):\s*(?P<leaf>[0-9a-f]+ .*)?$")
FRAME = re.compile(r"^\s+(?P<address>[0-9a-f]+) (?P<symbol>.*) \((?P<dso>.*)\)$")

Sample = collections.namedtuple("Sample", "tid time event period frames")


def parse(text):
    samples = []
    for line in text.splitlines():
        header = HEADER.match(line)
        if header:
            samples.append(Sample(int(header["tid"]),
                                  (int(header["seconds"]), int(header["micros"])),
                                  header["event"], int(header["period"]), []))
            line = f" {header['leaf']}"  # beside it, where there is no chain
        frame = FRAME.match(line)
        if frame and samples:
            symbol = re.sub(r"\+0x[0-9a-f]+$", "", frame["symbol"])
            samples[-1].frames.append((int(frame["address"], 16), symbol))
    return samples


def check_was_recorded(path, recorder, errors):
    """Skips with perf's own words when it could not."""
    if recorder.returncode != 0 or not os.path.exists(path):
        raise Skip(f"perf record: {errors.strip().splitlines()[-1:]}")


def perf_record(path, *arguments):
    """Records with the perf that is installed."""
    result = run(need_program("perf"), "record", "-q", "-o", path, *arguments)
    check_was_recorded(path, result, result.stderr)


def perf_record_process(path, pid, *options, seconds=1):
    """
    Records while a process uses so much CPU time, with its children: clock events give as many samples
    on a busy machine as on an idle one.
    """
    whom = [] if "-a" in options else ["-p", str(pid)]
    # The command says when perf has started it: then the events are on. Its end is perf's.
    with child(need_program("perf"), "record", "-q", "-o", path, *options, *whom, "--", "sh", "-c",
               "echo started; read _ || :", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, text=True) as recorder:
        if recorder.stdout.readline():
            wait_for_cpu_time(pid, seconds, lambda: recorder.poll() is not None, children=True)
        _, errors = recorder.communicate(timeout=PATIENCE)
    check_was_recorded(path, recorder, errors)


@contextlib.contextmanager
def recorded(*options, workload="templates", seconds=1):
    """A file of a workload that runs already."""
    with folder() as where, target(workload) as program:
        path = os.path.join(where, "perf.data")
        perf_record_process(path, program.pid, *options, seconds=seconds)
        yield path


def perf_samples(path):
    result = run(need_program("perf"), "script", "-i", path, "--no-inline", "--ns", "-F",
                 "comm,pid,tid,time,period,event,ip,sym,dso,symoff")
    if result.returncode != 0:
        raise Skip(f"perf script: {result.stderr.strip()}")
    # Ours are in microseconds.
    text = re.sub(r"(\d+\.\d{6})\d{3}:", r"\1:", result.stdout)
    return [sample for sample in parse(text) if not sample.event.startswith("dummy")]


def perf_lost(path):
    """True when perf's rings had no room for some."""
    result = run(need_program("perf"), "script", "-i", path, "--show-lost-events", "-F", "comm,pid,time,event")
    return "PERF_RECORD_LOST" in result.stdout


def ctop_samples(path, *options):
    result = ctop_ok("export", "script", path, *options)
    return parse(result.stdout), result.stderr


def key(sample):
    return sample.tid, sample.time, sample.event, sample.period


def need_samples(samples, nr=1):
    """perf drops what its rings have no room for."""
    if len(samples) < nr:
        raise Skip(f"perf recorded {len(samples)} samples")


def check_same_samples(ours, theirs):
    if not theirs:
        check(not ours, f"{len(ours)} samples where perf has none")
    need_samples(theirs)
    mine, others = collections.Counter(map(key, ours)), collections.Counter(map(key, theirs))
    check(mine == others,
          f"{len(ours)} samples, not {len(theirs)}: ours alone {list((mine - others))[:5]}, "
          f"theirs alone {list((others - mine))[:5]}")
    times = [sample.time for sample in ours]
    check(times == sorted(times), "not in the order of time")


def compare(path, *options):
    ours, errors = ctop_samples(path, *options)
    theirs = perf_samples(path)
    check_same_samples(ours, theirs)
    return ours, theirs, errors


def check_same_stacks(ours, theirs, root="_start"):
    """Where perf reached the root, ctop has the same addresses."""
    by_key = {key(sample): sample for sample in ours}
    compared = different = 0
    for sample in theirs:
        if root not in [name for _, name in sample.frames[-1:]]:
            continue
        compared += 1
        addresses = [address for address, _ in by_key[key(sample)].frames]
        different += addresses != [address for address, _ in sample.frames]
    check(compared > 20, f"only {compared} of perf's stacks are complete")
    check(different <= compared // 50, f"{different} of {compared} stacks differ from perf's")


def complete(ours, root="_start"):
    users = [sample for sample in ours if sample.frames]
    return sum(sample.frames[-1][1] == root for sample in users) / len(users)


# ---- call graphs ----

@case
def dwarf_stacks_are_those_of_perf_where_perf_has_them():
    with recorded("-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf,16384",
                  seconds=2) as path:
        ours, theirs, errors = compare(path)
        check(errors == "", f"on stderr: {errors}")
        check(complete(ours) > 0.95, f"complete: {complete(ours)}")
        check_same_stacks(ours, theirs)


@case
def the_report_says_what_the_file_is():
    with recorded("-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf") as path:
        lines = ctop_ok("report", path).stdout.splitlines()
        facts = dict(line.split(None, 1) for line in lines[:lines.index("")] if " " in line)
        check("by perf " in facts["recorded"] and "--call-graph dwarf" in facts["recorded"],
              f"recorded: {facts}")
        check(os.uname().nodename in facts["host"] and os.uname().release in facts["host"],
              f"host: {facts}")
        check(facts["event"] == "cpu-clock:u", f"event: {facts}")
        lost = re.search(r"\blost (\d+)", facts["duration"])
        check(lost and (int(lost.group(1)) == 0) == (not perf_lost(path)), f"duration: {facts}")


@case
def frame_pointer_chains():
    with recorded("-e", "cpu-clock:u", "-F", "500", "--call-graph", "fp",
                  workload="recursion") as path:
        ours, theirs, _ = compare(path)
        same = sum([name for _, name in mine.frames] == [name for _, name in other.frames]
                   for mine, other in zip(sorted(ours, key=key), sorted(theirs, key=key)))
        check(same >= 0.95 * len(ours), f"{same} of {len(ours)} chains are perf's")


@case
def without_a_call_graph_each_stack_is_its_leaf():
    with recorded("-e", "cpu-clock:u", "-F", "500", workload="threads") as path:
        ours, theirs, _ = compare(path)
        check(all(len(sample.frames) == 1 for sample in ours), "more than a leaf")
        names = collections.Counter(sample.frames[0][1] for sample in ours)
        other = names - collections.Counter(sample.frames[0][1] for sample in theirs)
        # A function of several names may have another of them here.
        check(other.total() <= len(ours) // 20, f"other leaves than perf's: {other}")


@case
def kernel_frames_have_names_when_it_is_this_kernel():
    need_root()
    with recorded("-e", "cpu-clock", "-F", "2000", "--call-graph", "dwarf",
                  workload="forkexec") as path:
        ours, theirs, _ = compare(path)
        mine = collections.Counter(name for sample in ours for address, name in sample.frames
                                   if address >= 1 << 63)
        if not any(address >= 1 << 63 for sample in theirs for address, _ in sample.frames):
            raise Skip("no sample of the kernel")
        if "[kernel.kallsyms]" not in run("perf", "buildid-list", "-i", path).stdout:
            raise Skip("perf did not write the kernel's build-id")
        check(mine and "[unknown]" not in mine, f"kernel frames: {mine.most_common(5)}")


# ---- layouts ----

@case
def compressed():
    with recorded("-z", "-e", "cpu-clock:u", "-F", "1000", "--call-graph", "dwarf,16384",
                  workload="threads", seconds=2) as path:
        with open(path, "rb") as file:
            if not struct.unpack_from("<Q", file.read(104), 72)[0] >> 27 & 1:
                raise Skip("this perf compresses nothing")
        ours, _, _ = compare(path)
        check(complete(ours, "clone3") > 0.95, f"complete: {complete(ours, 'clone3')}")


@case
def several_events():
    with recorded("-e", "cpu-clock:u,page-faults:u", "-F", "500", "--call-graph", "dwarf",
                  workload="forkexec") as path:
        ours, _, _ = compare(path)
        events = collections.Counter(sample.event for sample in ours)
        check(set(events) == {"cpu-clock:u", "page-faults:u"}, f"events: {events}")
        only, _ = ctop_samples(path, "--event", "page-faults:u")
        check(len(only) == events["page-faults:u"], f"{len(only)} of {events}")
        told = ctop_ok("report", path).stderr
        check("choose with --event: page-faults:u" in told, told)


@case
def periods_that_are_fixed():
    with recorded("-e", "task-clock:u", "-c", "2000000", "--call-graph", "dwarf",
                  workload="threads") as path:
        ours, _, _ = compare(path)
        check({sample.period for sample in ours} == {2000000}, "other periods than asked")


@case
def all_cpus():
    need_root()
    with recorded("-a", "-e", "cpu-clock", "-F", "300", "--call-graph", "dwarf") as path:
        compare(path)


@case
def forks_and_execs():
    with folder() as where:
        path = os.path.join(where, "perf.data")
        perf_record(path, "-e", "cpu-clock:u", "-F", "1000", "--call-graph", "dwarf", "--",
                    "sh", "-c", "for i in 1 2 3 4; do awk 'BEGIN { for (i = 0; i < 1000000; i++) s += i }'; "
                    "(awk 'BEGIN { for (i = 0; i < 300000; i++) s += i }'); done")
        compare(path)
        stats_path = os.path.join(where, "stats.json")
        ctop_ok("report", path, "--stats", stats_path)
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        check((stats["lost"] == 0) == (not perf_lost(path)), f"lost: {stats['lost']}")
        check_accounts({**stats, "lost": 0})
        check(share_complete(stats) > 0.9, f"stacks: {stats['stacks']}")


# ---- modules ----

@case
def without_build_ids_device_and_inode_decide():
    with recorded("--no-buildid", "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                  "dwarf,16384") as path:
        ours, _, _ = compare(path)
        check(complete(ours) > 0.9, f"complete: {complete(ours)}")


@case
def build_ids_of_mappings():
    with recorded("--buildid-mmap", "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                  "dwarf,16384") as path:
        ours, _, errors = compare(path)
        check(complete(ours) > 0.95, f"complete: {complete(ours)}")
        # The vdso has none of its own: the kernel's tells, where perf may read it.
        check(errors == "" or os.geteuid() != 0, errors)


@contextlib.contextmanager
def home_of_its_own():
    """perf keeps copies of what it recorded in the home: here is one without."""
    before = os.environ.get("HOME", "/")
    with folder() as where:
        os.environ["HOME"] = where
        try:
            yield where
        finally:
            os.environ["HOME"] = before


def record_a_copy(where, *options, original=os.path.join(BUILD, "workloads", "templates")):
    """Records a program that lies in the folder."""
    program = os.path.join(where, "program")
    shutil.copy(original, program)
    path = os.path.join(where, "perf.data")
    with started(program) as process:
        perf_record_process(path, process.pid, *options, "-e", "cpu-clock:u", "-F", "500",
                            "--call-graph", "dwarf")
    need_samples(perf_samples(path))
    return path, program


def check_not_used(path, program):
    result = ctop_ok("export", "folded", path)
    check("1 module" in result.stderr and program in result.stderr, f"said: {result.stderr}")
    check(len(result.stderr.splitlines()) == 1, f"more than a line: {result.stderr}")
    stacks = folded(path)
    mine = [frame for stack in stacks for frame in stack[1:] if "program" in frame]
    check(mine and set(mine) == {"[program]"}, f"shown as: {set(mine)}")
    check("main" not in {frame for stack in stacks for frame in stack},
          "functions of a file that is another")


@case
def a_file_that_was_replaced_is_not_used():
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid-cache")
        os.unlink(program)
        shutil.copy(os.path.join(BUILD, "workloads", "threads"), program)
        check_not_used(path, program)


@case
def a_file_that_was_replaced_is_not_used_without_build_ids():
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid")
        # Something in the way keeps the inode's number from being used again.
        os.rename(program, program + ".old")
        shutil.copy(program + ".old", program)
        check_not_used(path, program)


@case
def a_file_that_is_gone():
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid-cache")
        os.unlink(program)
        check_not_used(path, program)


@case
def a_file_that_is_gone_but_for_perfs_copy():
    with home_of_its_own() as where:
        path, program = record_a_copy(where)
        os.unlink(program)
        if not os.path.isdir(os.path.join(where, ".debug", ".build-id")):
            raise Skip("perf record keeps no copies here")
        result = ctop_ok("export", "folded", path)
        check(result.stderr == "", result.stderr)
        check(any("main" in stack for stack in folded(path)), "the copy was not used")


def leave_debug_file(where, program):
    """Leaves nothing of the program but a debug file in perf's cache."""
    objcopy, readelf = need_program("objcopy"), need_program("readelf")
    notes = run(readelf, "-n", program).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    cache = os.path.join(where, ".debug", ".build-id", build_id[:2], build_id[2:])
    os.makedirs(cache)
    check(run(objcopy, "--only-keep-debug", program, os.path.join(cache, "debug")).returncode == 0,
          "objcopy failed")
    os.unlink(program)


@case
def a_file_that_is_gone_but_for_its_debug_file():
    """Its names are there, its CFI is not: the innermost function is as far as one gets."""
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid-cache")
        before = folded(path)
        leave_debug_file(where, program)
        result = ctop_ok("export", "folded", path)
        check("1 module with names, but without code" in result.stderr and program in result.stderr,
              result.stderr)
        after = folded(path)
        for stack in after:
            # Nothing but what was there: functions that had been found before, from the leaf on.
            check("[program]" not in stack and any(whole[-1] == stack[-1] for whole in before), f"{stack}")


FRAMES_IN_DEBUG_FILE = """#include <stdio.h>
static __attribute__((noinline)) unsigned leaf(unsigned n)
{
	for (volatile unsigned i = 0; i < 1000; i++)
		n = n * 31 + i;
	return n;
}
static __attribute__((noinline)) unsigned middle(unsigned n)
{
	return leaf(n) + leaf(n + 1) + 1;
}
int main(void)
{
	unsigned n = 0;
	puts("ready");
	fflush(stdout);
	for (;;)
		n = middle(n) + 1;
}
"""


@case
def a_debug_file_has_the_rules_too():
    with home_of_its_own() as where:
        built, source = os.path.join(where, "built"), os.path.join(where, "frames.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(FRAMES_IN_DEBUG_FILE)
        # Without .eh_frame the compiler writes .debug_frame.
        result = run(need_program("gcc"), "-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id",
                     "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-o", built, source)
        check(result.returncode == 0, result.stderr)
        path, program = record_a_copy(where, "--no-buildid-cache", original=built)
        before = folded(path)
        leave_debug_file(where, program)
        check(folded(path) == before, "other stacks than with the file")
        check(with_function(before, "leaf") > 50 and
              all(stack[stack.index("main"):][:2] in (("main",), ("main", "middle"))
                  for stack in before if "main" in stack), f"{before}")


@case
def code_that_perf_inject_made_files_of():
    """perf inject --jit makes a file for each function that a JIT dumped, with a build-id in a section only."""
    node, perf = need_program("node"), need_program("perf")
    with home_of_its_own() as where:
        source, path = os.path.join(where, "busy.js"), os.path.join(where, "perf.data")
        with open(source, "w", encoding="utf-8") as file:
            file.write("const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);\n"
                       "const end = Date.now() + 1500;\nwhile (Date.now() < end) fib(20);\n")
        recorded_by = run(perf, "record", "-q", "-k", "mono", "-o", path, "-e", "cpu-clock:u", "-F", "500",
                          "--call-graph", "dwarf,16384", "--", node, "--perf-prof", source, cwd=where)
        injected = os.path.join(where, "injected.data")
        result = run(perf, "inject", "--jit", "-i", path, "-o", injected, cwd=where)
        if result.returncode != 0 or not any(name.startswith("jitted-") for name in os.listdir(where)):
            raise Skip(f"no files by perf inject: {recorded_by.stderr} {result.stderr}")
        result = ctop_ok("export", "folded", injected)
        check("jitted" not in result.stderr, result.stderr)
        stacks = folded(injected)
        named = [stack for stack in stacks if any(re.match(r"JS:.?fib", frame) for frame in stack)]
        check(sum(stacks[stack] for stack in named) > 50, f"{list(stacks)[:3]}")
        check(all(stack[1] == "_start" for stack in named), "stacks that do not reach their root")


@case
def no_process_of_the_file_is_asked_about():
    """Even if there is one with that pid, and maps to be had."""
    with folder() as where, target("templates") as program:
        path = os.path.join(where, "perf.data")
        perf_record_process(path, program.pid, "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                            "dwarf")
        strace = need_program("strace")
        trace = os.path.join(where, "trace")
        result = run(strace, "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace,
                     CTOP, "export", "folded", path)
        if not os.path.exists(trace) or not os.path.getsize(trace):
            raise Skip(f"strace: {result.stderr.strip()}")
        with open(trace, encoding="utf-8", errors="replace") as file:
            text = file.read()
        check(path in text, "nothing was traced")
        check(f"/proc/{program.pid}/" not in text, "the process was looked for")


# ---- files that are not whole ----

def small_recording(where, program=None):
    """Of four threads; program is a copy of theirs."""
    path = os.path.join(where, "perf.data")
    with started(program or os.path.join(BUILD, "workloads", "threads")) as process:
        perf_record_process(path, process.pid, "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                            "dwarf")
    need_samples(perf_samples(path), 40)
    return path


def data_section(path):
    """Where the records are: offset and size."""
    with open(path, "rb") as file:
        return struct.unpack_from("<QQ", file.read(104), 40)


def keys_without_names(samples):
    """What events are called stands at the end of a file."""
    return {(sample.tid, sample.time, sample.period) for sample in samples}


@case
def a_cut_file_gives_what_is_there():
    with folder() as where:
        path = small_recording(where)
        whole, _ = ctop_samples(path)
        data, size = data_section(path)
        os.truncate(path, data + size // 2)
        part, errors = ctop_samples(path)
        check(0 < len(part) < len(whole), f"{len(part)} of {len(whole)}")
        check("is cut at byte" in errors, errors)
        check(keys_without_names(part) < keys_without_names(whole),
              "other samples than those of the whole")


@case
def a_damaged_file_gives_what_was_before():
    with folder() as where:
        path = small_recording(where)
        whole, _ = ctop_samples(path)
        data, size = data_section(path)
        # More than a record, so that there is a header among it; nothing of what follows the records.
        nr_zeros = min(200000, size // 4)
        check(nr_zeros > 65536, f"only {size} bytes of records")
        with open(path, "r+b") as file:
            file.seek(data + size // 2 & ~7)
            file.write(bytes(nr_zeros))
        part, errors = ctop_samples(path)
        check("damaged" in errors and len(errors.splitlines()) <= 2, errors)
        check(0 < len(part) < len(whole), f"{len(part)} of {len(whole)}")
        check(keys_without_names(part) < keys_without_names(whole),
              "other samples than those of the whole")


@case
def a_recorder_that_was_killed():
    with folder() as where, target("threads") as program:
        path = os.path.join(where, "perf.data")
        # With the four threads' copies a ring is written out long before it is full.
        with child(need_program("perf"), "record", "-q", "-o", path, "-e", "cpu-clock:u", "-F", "500",
                   "--call-graph", "dwarf", "-p", str(program.pid), stderr=subprocess.DEVNULL) as recorder:
            try:
                wait_until(lambda: recorder.poll() is not None or (
                    os.path.exists(path) and os.path.getsize(path) > 1 << 20), "samples in perf's file")
            finally:
                recorder.kill()
                recorder.wait()
        if recorder.returncode != -signal.SIGKILL:
            raise Skip(f"perf record ended with {recorder.returncode} before it could be killed")
        samples, errors = ctop_samples(path)
        check(samples, "nothing was read")
        check("perf record" in errors, errors)


@case
def pipe_mode_is_refused():
    with folder() as where, target("threads") as program:
        path = os.path.join(where, "perf.data")
        perf = need_program("perf")
        with open(path, "wb") as file:
            subprocess.run([perf, "record", "-q", "-o", "-", "-e", "cpu-clock:u", "-p",
                            str(program.pid), "--", "true"], stdin=subprocess.DEVNULL, stdout=file,
                           stderr=subprocess.DEVNULL, check=False, timeout=PATIENCE)
        if not os.path.getsize(path):
            raise Skip("perf record writes into no pipe here")
        check_refused(ctop("report", path), 1, "writes into pipes", "perf record -o FILE")


@case
def other_files_are_refused():
    with folder() as where:
        path = os.path.join(where, "x")
        for content, words in ((b"2ELIFREP" + bytes(96), "byte order"),
                               (b"PERFILE2" + bytes(96), "damaged"),
                               (b"PERFILE2" + struct.pack("<Q", 200) + bytes(300), "newer"),
                               (b"PERFILE2", "damaged"),
                               (b"PERFFILE" + bytes(96), "Linux 3.0"),
                               (b"PERFILE3" + bytes(96), "neither a ctop recording nor a perf.data")):
            with open(path, "wb") as file:
                file.write(content)
            check_refused(ctop("report", path), 1, words)
            check_refused(ctop("export", "folded", path), 1, words)


# ---- who may read, and what dies ----

def bytes_read(pid):
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return int(re.search(r"rchar: (\d+)", file.read()).group(1))
    except (OSError, AttributeError):
        return 0


def export_and_kill(path, stats_path, when):
    """Kills the collector once it has read that much. Its output, or None when it was faster."""
    with child(CTOP, "export", "folded", path, "--stats", stats_path, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, text=True) as process:
        # No wait between two looks: it must be met at its work.
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            reader = children_of(process.pid).get("collector")
            if reader and bytes_read(reader) > when:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(reader, signal.SIGKILL)
                break
        output, errors = process.communicate(timeout=PATIENCE)
    check(process.returncode == 0, errors)
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    return (output, stats) if stats["restarts"] else None


@case
def a_collector_that_dies_is_replaced_and_goes_on():
    need_root()
    with recorded("-e", "cpu-clock:u", "-F", "2000", "--call-graph", "dwarf,65528",
                  workload="threads", seconds=2) as path, folder() as where:
        whole, _ = ctop_samples(path)
        need_samples(whole, 20)
        size = os.path.getsize(path)
        deaths = 0
        for share in (0.2, 0.5, 0.8) * 3:
            killed = export_and_kill(path, os.path.join(where, "stats.json"), share * size)
            if not killed:
                continue
            deaths += 1
            output, stats = killed
            dropped = stats["dropped"]["crash"]
            shown = sum(int(line.rpartition(" ")[2]) for line in output.splitlines())
            # Its successor takes what it had in hand: that is not what killed it.
            check(shown == len(whole) and not dropped, f"{shown} and {dropped} of {len(whole)} samples")
            check(share_complete(stats) > 0.99, f"stacks: {stats['stacks']}")
        if not deaths:
            raise Skip("the collector was done before it could be killed")


def export_of_a_shrinking_file(path, when, size):
    """Cuts the file to a size once that much was read. What is said, or None when the collector was faster."""
    with child(CTOP, "export", "folded", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        cut = False
        while process.poll() is None and not cut:
            reader = children_of(process.pid).get("collector")
            if reader and bytes_read(reader) > when:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(reader, signal.SIGSTOP)
                    cut = when < bytes_read(reader) < size
                    if cut:
                        os.truncate(path, size)
                    os.kill(reader, signal.SIGCONT)
                break
        output, errors = process.communicate(timeout=PATIENCE)
    check(process.returncode == 0, errors)
    return (output, errors) if cut else None


@case
def a_file_that_shrinks_meanwhile_is_said_to():
    need_root()
    with recorded("-e", "cpu-clock:u", "-F", "2000", "--call-graph", "dwarf,65528",
                  workload="threads", seconds=2) as path:
        whole, _ = ctop_samples(path)
        size = os.path.getsize(path)
        copy = path + ".copy"
        for _ in range(5):
            shutil.copy(path, copy)
            shrunk = export_of_a_shrinking_file(copy, 0.1 * size, int(0.7 * size))
            if shrunk:
                break
        else:
            raise Skip("the file was read before it could be cut")
        output, errors = shrunk
        shown = sum(int(line.rpartition(" ")[2]) for line in output.splitlines())
        check("was cut while it was read" in errors, errors)
        check(0 < shown < len(whole), f"{shown} of {len(whole)} samples")


@case
def a_plain_user_reads_it():
    need_root()
    with folder() as where:
        open_to_all(where)
        tool, program = (shutil.copy(path, where)
                         for path in (CTOP, os.path.join(BUILD, "workloads", "threads")))
        path = small_recording(where, program)
        os.chmod(path, 0o644)
        result = run(tool, "export", "folded", path, user=NOBODY, group=NOBODY, extra_groups=[])
        check(result.returncode == 0 and "spend_40" in result.stdout, result.stderr)


@case
def through_standard_input():
    with folder() as where:
        path = small_recording(where)
        with open(path, "rb") as file:
            result = subprocess.run([CTOP, "export", "folded", "-"], stdin=file, capture_output=True,
                                    text=True, check=False, timeout=PATIENCE)
        check(result.returncode == 0, result.stderr)
        check(result.stdout == ctop_ok("export", "folded", path).stdout, "another outcome")


@case
def filters():
    with folder() as where:
        path = small_recording(where)
        everything, _ = ctop_samples(path)
        tid = collections.Counter(sample.tid for sample in everything).most_common(1)[0][0]
        some, _ = ctop_samples(path, "--tid", str(tid))
        check([key(sample) for sample in some] ==
              [key(sample) for sample in everything if sample.tid == tid], "other samples")
        check_refused(ctop("report", path, "--tid", "1"), 1, "loosen --tid")


with home_of_its_own():
    main()
