#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf.data files, recorded by perf here and now: the same samples as perf script shows, with ctop's stacks."""

import collections
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import termios

from harness import (BUILD, CTOP, NOBODY, PATIENCE, Skip, case, check, check_accounts, check_refused, child, ctop,
                     ctop_ok, directory, main, need_program, need_root, open_to_all, run, share_complete, wait_until)
from recorded_by_perf import (check_same_stacks, compare, complete, ctop_samples, home_of_its_own, key,
                              perf_lost, perf_record, reads, recorded, small_recording)


# ---- call graphs ----

@case
def dwarf_stacks_are_those_of_perf_where_perf_has_them():
    with recorded("-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf,16384",
                  seconds=1) as path:
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


@case
def the_kernel_is_proved_without_a_build_id():
    need_root()
    with directory() as where:
        path, program = os.path.join(where, "perf.data"), reads(where)
        for options in ["-z"], ["--no-buildid"], ["-z", "--no-buildid"], []:
            perf_record(path, *options, "-e", "cpu-clock", "-F", "2000", "-g", "--", program)
            if "[kernel.kallsyms]_text" not in run("perf", "script", "-i", path, "--show-mmap-events").stdout:
                raise Skip("perf may not see where the kernel is")
            ours, _ = ctop_samples(path)
            mine = [name for sample in ours for address, name in sample.frames if address >= 1 << 63]
            nameless = mine.count("[unknown]")
            check(len(mine) > 100 and nameless <= len(mine) // 100, f"{options}: {nameless} of {len(mine)} are nameless")


# ---- layouts ----

@case
def ctop_opens_what_the_report_does():
    """`ctop FILE`: a file or directory of perf's by its name alone, and standard input; not what merely is called like a process."""
    with directory() as where:
        whole = small_recording(where)
        wanted = ctop_ok("report", whole).stdout
        os.mkdir(os.path.join(where, "several"))
        shutil.copy(whole, os.path.join(where, "several", "data"))
        shutil.copy(whole, os.path.join(where, "one"))
        for name in "one", "several":
            check(ctop_ok(name, cwd=where).stdout == wanted, name)
        with open(whole, "rb") as file:
            result = subprocess.run([CTOP, "-"], stdin=file, capture_output=True, text=True, check=False)
            check(result.stdout == wanted, f"{result}")
        check_refused(ctop("-", "-p", "1"), 2, "'-' is a file")
        os.mkdir(os.path.join(where, "nobodys"))
        check_refused(ctop("nobodys", cwd=where), 1, "no process named 'nobodys'")
        main, terminal = os.openpty()
        try:
            result = subprocess.run([CTOP, "report", "-"], stdin=terminal, capture_output=True, text=True, check=False)
            check_refused(result, 1, "standard input is a terminal")
        finally:
            os.close(main)
            os.close(terminal)


@case
def what_perf_writes_into_a_directory():
    """One file for each CPU, whose records are put into the order of time."""
    need_root()
    with directory() as where:
        path, program = os.path.join(where, "perf.data"), reads(where)
        for options in [], ["-z"]:
            perf_record(path, "--threads", *options, "-e", "cpu-clock:u", "-F", "1000", "--call-graph", "dwarf", "-a", "--",
                        "sh", "-c", f"{program} & {program}; wait")
            check(os.path.exists(os.path.join(path, "data.0")), f"{os.listdir(path)}")
            ours, _, _ = compare(path)
            check(len({sample.tid for sample in ours}) > 1, "one thread alone")
            check_refused(ctop("report", os.path.join(path, "data")), 1, "one of several files", "name the directory")
            shutil.rmtree(path)


@case
def directories_that_are_traps():
    with directory() as where:
        whole = small_recording(where)
        path = os.path.join(where, "trap")
        os.mkdir(path)
        check_refused(ctop("report", path), 1, "no file 'data'")
        os.mkfifo(os.path.join(path, "data"))
        check_refused(ctop("report", path), 1, "no file 'data'")
        os.unlink(os.path.join(path, "data"))
        os.symlink(whole, os.path.join(path, "data"))
        check_refused(ctop("report", path), 1, "no file 'data'")
        os.unlink(os.path.join(path, "data"))
        shutil.copy(whole, os.path.join(path, "data"))
        for name in "data.0", "data.1":
            os.mkfifo(os.path.join(path, name))
        # A whole file, beside what is none of its parts.
        check(ctop_ok("export", "folded", path).stdout == ctop_ok("export", "folded", whole).stdout, "another outcome")
        os.unlink(os.path.join(path, "data.0"))
        with open(os.path.join(path, "data.0"), "wb") as file:
            file.write(bytes(1000))
        told = ctop_ok("report", "--stdio", path).stderr
        check("is damaged at byte 0" in told, told)


@case
def what_perf_writes_into_a_pipe():
    need_root()
    with directory() as where:
        path, program = os.path.join(where, "piped.data"), reads(where)
        for options in [], ["-z"], ["-e", "task-clock"]:
            with open(path, "wb") as file:
                result = subprocess.run(
                    [need_program("perf"), "record", *options, "-e", "cpu-clock:u", "-F", "1000", "--call-graph", "dwarf",
                     "-o", "-", "--", program], stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL,
                    check=False, timeout=PATIENCE)
            if result.returncode or not os.path.getsize(path):
                raise Skip("perf record writes into no pipe here")
            ours, theirs, _ = compare(path)
            check({sample.event for sample in ours} == {sample.event for sample in theirs}, "other events")
            check(complete(ours) > 0.95, f"complete: {complete(ours)}")
            report = ctop_ok("report", "--stdio", path).stdout
            check(f"host       {os.uname().nodename}" in report and "by perf" in report, report)


@case
def compressed():
    with recorded("-z", "-e", "cpu-clock:u", "-F", "1000", "--call-graph", "dwarf,16384",
                  workload="threads", seconds=1) as path:
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
        told = ctop_ok("export", "folded", path).stderr
        check("choose with --event: page-faults:u" in told, told)
        table = ctop_ok("report", path).stdout
        check("  page-faults:u%  " in table, table)


@case
def events_without_samples_are_not_offered():
    """A context switch is the kernel's; of all CPUs perf adds a dummy of its own besides."""
    with recorded("-e", "cpu-clock:u,context-switches:u", "-F", "500", "--call-graph", "dwarf") as path:
        ours, _, _ = compare(path)
        if {sample.event for sample in ours} != {"cpu-clock:u"}:
            raise Skip("context switches of user code")
        result = ctop_ok("report", path)
        told = result.stderr + result.stdout.partition("\n\n")[0]
        check("--event" not in told, told)


@case
def a_file_without_samples_does_not_say_why():
    with directory() as where:
        path = os.path.join(where, "perf.data")
        made = run(need_program("perf"), "record", "-q", "-e", "page-faults:u", "-c", "100000000", "-o", path, "--", "true")
        check(made.returncode == 0, made.stderr)
        report = ctop_ok("report", "--stdio", path).stdout
        check("No samples: the file has none of page-faults:u.\nIt says that none were lost" in report, report)


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
    with directory() as where:
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


# ---- readers ----


@case
def a_plain_user_reads_it():
    need_root()
    with directory() as where:
        open_to_all(where)
        tool, program = (shutil.copy(path, where)
                         for path in (CTOP, os.path.join(BUILD, "workloads", "threads")))
        path = small_recording(where, program)
        os.chmod(path, 0o644)
        result = run(tool, "export", "folded", path, user=NOBODY, group=NOBODY, extra_groups=[])
        check(result.returncode == 0 and "spend_40" in result.stdout, result.stderr)


@case
def through_standard_input():
    with directory() as where:
        path = small_recording(where)
        with open(path, "rb") as file:
            result = subprocess.run([CTOP, "export", "folded", "-"], stdin=file, capture_output=True,
                                    text=True, check=False, timeout=PATIENCE)
        check(result.returncode == 0, result.stderr)
        check(result.stdout == ctop_ok("export", "folded", path).stdout, "another outcome")


@case
def through_a_pipe():
    """perf record -o - | ctop report -, and a whole file."""
    with directory() as where:
        path = small_recording(where)
        with open(path, "rb") as file:
            content = file.read()
        result = subprocess.run([CTOP, "export", "folded", "-"], input=content, capture_output=True, check=False,
                                timeout=PATIENCE)
        check(result.returncode == 0, result.stderr)
        check(result.stdout.decode() == ctop_ok("export", "folded", path).stdout, "another outcome")
    for content in b"PERFILE2" + struct.pack("<Q", 16) + bytes(64), b"PERFILE2", b"PERFILE":
        result = subprocess.run([CTOP, "report", "-"], input=content, capture_output=True, check=False, timeout=PATIENCE)
        told = result.stderr.decode()
        check(result.returncode == 1 and told.startswith("ctop: ") and len(told.splitlines()) == 2, told)


@case
def told_to_end_while_a_pipe_says_nothing():
    with child(CTOP, "report", "--stdio", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
               text=True) as reader:
        os.write(reader.stdin.fileno(), b"PERFILE2" + struct.pack("<Q", 16))
        # It has taken what there was: the pipe is empty.
        wait_until(lambda: not struct.unpack("i", fcntl.ioctl(reader.stdin, termios.FIONREAD, b"1234"))[0], "reading")
        reader.send_signal(signal.SIGTERM)
        check(reader.wait(PATIENCE) != 0, "a success")


@case
def filters():
    with directory() as where:
        path = small_recording(where)
        everything, _ = ctop_samples(path)
        tid = collections.Counter(sample.tid for sample in everything).most_common(1)[0][0]
        some, _ = ctop_samples(path, "--tid", str(tid))
        check([key(sample) for sample in some] ==
              [key(sample) for sample in everything if sample.tid == tid], "other samples")
        check_refused(ctop("report", path, "--tid", "1"), 1, "loosen --tid")


with home_of_its_own():
    main()
