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

from harness import (BUILD, NOBODY, Skip, case, check, check_accounts, check_refused, ctop, ctop_ok, folded,
                     folder, main, need_program, need_root, run, share_complete, target)

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


def perf_record(path, *arguments):
    """Records with the perf that is installed; its own words when it cannot."""
    perf = need_program("perf")
    result = run(perf, "record", "-q", "-o", path, *arguments)
    if result.returncode != 0 or not os.path.exists(path):
        raise Skip(f"perf record: {result.stderr.strip().splitlines()[-1:]}")


@contextlib.contextmanager
def recorded(*options, workload="templates", seconds=1):
    """A file of a workload that runs already."""
    with folder() as where, target(workload) as program:
        path = os.path.join(where, "perf.data")
        perf_record(path, *options, "-p", str(program.pid), "--", "sleep", str(seconds))
        yield path


def perf_samples(path):
    result = run(need_program("perf"), "script", "-i", path, "--no-inline", "--ns", "-F",
                 "comm,pid,tid,time,period,event,ip,sym,dso,symoff")
    if result.returncode != 0:
        raise Skip(f"perf script: {result.stderr.strip()}")
    # Ours are in microseconds.
    text = re.sub(r"(\d+\.\d{6})\d{3}:", r"\1:", result.stdout)
    return [sample for sample in parse(text) if not sample.event.startswith("dummy")]


def ctop_samples(path, *options):
    result = ctop_ok("export", "script", path, *options)
    return parse(result.stdout), result.stderr


def key(sample):
    return sample.tid, sample.time, sample.event, sample.period


def check_same_samples(ours, theirs):
    check(theirs, "perf has no samples")
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
        check("lost 0" in facts["duration"], f"duration: {facts}")


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
        check_accounts(stats)
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


def record_a_copy(where, *options):
    """Records a program that lies in the folder."""
    program = os.path.join(where, "program")
    shutil.copy(os.path.join(BUILD, "workloads", "templates"), program)
    path = os.path.join(where, "perf.data")
    process = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True)
    try:
        check(process.stdout.readline().startswith("ready"), "not ready")
        perf_record(path, *options, "-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf",
                    "-p", str(process.pid), "--", "sleep", "1")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
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


@case
def no_process_of_the_file_is_asked_about():
    """Even if there is one with that pid, and maps to be had."""
    with folder() as where, target("templates") as program:
        path = os.path.join(where, "perf.data")
        perf_record(path, "-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf", "-p",
                    str(program.pid), "--", "sleep", "1")
        strace = need_program("strace")
        trace = os.path.join(where, "trace")
        result = run(strace, "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace,
                     os.path.join(BUILD, "ctop"), "export", "folded", path)
        if not os.path.exists(trace) or not os.path.getsize(trace):
            raise Skip(f"strace: {result.stderr.strip()}")
        with open(trace, encoding="utf-8", errors="replace") as file:
            text = file.read()
        check(path in text, "nothing was traced")
        check(f"/proc/{program.pid}/" not in text, "the process was looked for")


# ---- files that are not whole ----

def small_recording(where):
    path = os.path.join(where, "perf.data")
    with target("threads") as program:
        perf_record(path, "-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf", "-p",
                    str(program.pid), "--", "sleep", "1")
    return path


@case
def a_cut_file_gives_what_is_there():
    with folder() as where:
        path = small_recording(where)
        whole, _ = ctop_samples(path)
        size = os.path.getsize(path)
        os.truncate(path, size // 2)
        part, errors = ctop_samples(path)
        check(0 < len(part) < len(whole), f"{len(part)} of {len(whole)}")
        check("is cut at byte" in errors, errors)
        check(set(map(key, part)) < set(map(key, whole)), "other samples than those of the whole")


@case
def a_damaged_file_gives_what_was_before():
    with folder() as where:
        path = small_recording(where)
        with open(path, "r+b") as file:
            data, size = struct.unpack_from("<QQ", file.read(104), 40)
            file.seek(data + size // 2 & ~7)
            file.write(bytes(200000))
        part, errors = ctop_samples(path)
        check("damaged" in errors and len(errors.splitlines()) <= 2, errors)
        check(part, "nothing was read")


@case
def a_recorder_that_was_killed():
    with folder() as where, target("threads") as program:
        path = os.path.join(where, "perf.data")
        perf = need_program("perf")
        recorder = subprocess.Popen([perf, "record", "-q", "-o", path, "-e", "cpu-clock:u", "-F", "500",
                                     "--call-graph", "dwarf", "-p", str(program.pid)],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while recorder.poll() is None and not (
                    os.path.exists(path) and os.path.getsize(path) > 1 << 20):
                pass
        finally:
            recorder.send_signal(signal.SIGKILL)
            recorder.wait()
        if os.path.getsize(path) <= 1 << 20:
            raise Skip("perf record wrote nothing")
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
                           stderr=subprocess.DEVNULL, check=False, timeout=60)
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

def collector_of(pid):
    """The jailed child that reads the file; None while there is none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if b"--child=collector" in file.read():
                    return int(child)
    except OSError:
        pass
    return None


def bytes_read(pid):
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return int(re.search(r"rchar: (\d+)", file.read()).group(1))
    except (OSError, AttributeError):
        return 0


def export_and_kill(path, stats_path, when):
    """Kills the collector once it has read that much. Its output, or None when it was faster."""
    with subprocess.Popen([os.path.join(BUILD, "ctop"), "export", "folded", path, "--stats", stats_path],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        while process.poll() is None:
            child = collector_of(process.pid)
            if child and bytes_read(child) > when:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                break
        output, errors = process.communicate(timeout=120)
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
            check(dropped <= 1 and shown + dropped == len(whole),
                  f"{shown} and {dropped} of {len(whole)} samples")
            check(share_complete(stats) > 0.99, f"stacks: {stats['stacks']}")
        if not deaths:
            raise Skip("the collector was done before it could be killed")


@case
def a_plain_user_reads_it():
    need_root()
    with folder() as where:
        path = small_recording(where)
        os.chmod(where, 0o755)
        os.chmod(path, 0o644)
        result = ctop("export", "folded", path, user=NOBODY, group=NOBODY, extra_groups=[])
        if "cannot open" in result.stderr or result.returncode == 126:
            raise Skip(result.stderr.strip())
        check(result.returncode == 0 and "spend_40" in result.stdout, result.stderr)


@case
def through_standard_input():
    with folder() as where:
        path = small_recording(where)
        with open(path, "rb") as file:
            result = subprocess.run([os.path.join(BUILD, "ctop"), "export", "folded", "-"], stdin=file,
                                    capture_output=True, text=True, check=False, timeout=120)
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
