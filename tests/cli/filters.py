#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FILTER: parts of one real recording sum to the whole, and what matches nothing is said."""

import atexit
import collections
import functools
import json
import os
import re
import shutil
import tempfile

from harness import BUILD, Skip, case, check, ctop, ctop_ok, folded, main, need_root, record_cpu_time, with_function

Sample = collections.namedtuple("Sample", "comm pid tid cpu time_us event module")
HEAD = re.compile(r"(.*?) +(\d+)/(\d+) +\[(\d+)\] +(\d+)\.(\d+): +\d+ +(\S+): ")


@functools.lru_cache(maxsize=None)
def where():
    path = tempfile.mkdtemp(prefix="ctop-test-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.lru_cache(maxsize=None)
def recording():
    """Several processes, threads, CPUs, modules and events, in user code and in the kernel."""
    need_root()
    path = os.path.join(where(), "x.ctop")
    workloads = os.path.join(BUILD, "workloads")
    record_cpu_time(path, "cpu-clock,page-faults",
                    [f"{workloads}/threads 600 >/dev/null", f"{workloads}/forkexec 600 >/dev/null", "dd if=/dev/zero of=/dev/null bs=256k"], 0.5)
    return path


def script(*options):
    """The samples one by one, each with the module of its leaf."""
    samples = []
    for block in ctop_ok("export", "script", "--no-inline", recording(), *options).stdout.split("\n\n")[:-1]:
        head, *frames = block.split("\n")
        match = HEAD.fullmatch(head)
        check(match, f"{head!r}")
        comm, pid, tid, cpu, seconds, micros, event = match.groups()
        module = frames[0].rpartition(" (")[2][:-1] if frames else "[unknown]"
        samples.append(Sample(comm, int(pid), int(tid), int(cpu),
                              int(seconds) * 1000000 + int(micros), event, module))
    return samples


@functools.lru_cache(maxsize=None)
def clock_samples():
    samples = script("--event", "cpu-clock")
    if len(samples) < 200:
        raise Skip(f"the machine is too busy: {len(samples)} samples")
    return samples


def of_kernel(sample):
    """[kernel.kallsyms] or one of the kernel's modules."""
    return sample.module[0] == "[" and sample.module not in ("[vdso]", "[unknown]")


def count(*options):
    return sum(folded(recording(), *options).values())


def report_samples(*options):
    stats = os.path.join(where(), "stats.json")
    ctop_ok("report", recording(), "--stats", stats, *options)
    with open(stats, encoding="utf-8") as file:
        return json.load(file)["samples"]


def check_parts(option, field, least):
    """One part for each value of a field: exactly its samples; in all views the same; the parts are the whole."""
    of_value = collections.Counter(getattr(sample, field) for sample in clock_samples())
    if len(of_value) < least:
        raise Skip(f"the machine is too busy: {of_value}")
    for value, expected in of_value.items():
        part = script("--event", "cpu-clock", option, value)
        check(part == [s for s in clock_samples() if getattr(s, field) == value],
              f"{option} {value}: {len(part)} samples, not {expected}")
        check(count(option, value) == expected, f"{option} {value}: folded")
        check(report_samples(option, value) == expected, f"{option} {value}: report")
    check(sum(of_value.values()) == count(), f"{option}: {of_value} of {count()}")
    return of_value


@case
def processes():
    of_pid = check_parts("--pid", "pid", 3)
    check(count("--pid", ",".join(map(str, of_pid))) == count(), "a list of them")
    first, second = list(of_pid)[:2]
    check(count("--pid", f"{first},{second}") == of_pid[first] + of_pid[second], "two")


@case
def threads():
    check_parts("--tid", "tid", 6)


@case
def names():
    of_comm = check_parts("--comm", "comm", 4)
    known = {"sh", "timeout", "threads", "share-40", "share-30", "share-20", "share-10", "forkexec",
             "executed", "exe", "dd", "ctop"}
    check(set(of_comm) <= known, f"{of_comm}")
    # Exactly, not a part of it.
    check(ctop("export", "folded", recording(), "--comm", "share").returncode == 1, "a part")


@case
def cpus():
    of_cpu = check_parts("--cpu", "cpu", 1)
    check(count("--cpu", f"{min(of_cpu)}-{max(of_cpu)}") == count(), "a range")


@case
def kernel_and_user():
    kernel, user = count("--kernel"), count("--user")
    check(kernel > 0 and user > 0, f"{kernel} and {user}")
    check(kernel + user == count(), f"{kernel} + {user} != {count()}")
    check(report_samples("--kernel") == kernel and report_samples("--user") == user, "report")
    for option, wanted in (("--kernel", True), ("--user", False)):
        part = script("--event", "cpu-clock", option)
        expected = [s for s in clock_samples() if of_kernel(s) == wanted]
        check(part == expected, f"{option}: {len(part)}, not {len(expected)}")


@case
def modules():
    of_module = collections.Counter()
    for sample in clock_samples():
        of_module["[kernel]" if of_kernel(sample) else sample.module] += 1
    check({"[kernel]", os.path.join(BUILD, "workloads", "threads")} <= set(of_module),
          f"{of_module}")
    for module, expected in of_module.items():
        check(count("--module", module) == expected, f"{module}: not {expected} of {of_module}")
        check(report_samples("--module", module) == expected, f"report {module}")
    check(sum(of_module.values()) == count(), f"{of_module}")
    base = collections.Counter()
    for module, expected in of_module.items():
        base[module.rpartition("/")[2]] += expected
    for name, expected in base.items():
        check(count("--module", name) == expected, f"{name}: not {expected}")
    check(count("--module", "[kernel]") == count("--kernel"), "the kernel is a module")


@case
def slices_of_time():
    everything = script()
    start_us = everything[0].time_us
    length = (everything[-1].time_us - start_us) / 1e6
    whole = count()
    clock = clock_samples()
    for share in (0.1, 0.5, 0.9):
        # Between two samples of the clock: on busy CPUs it may have none in a tenth of the time.
        cut = f"{(clock[int(share * len(clock))].time_us - start_us) / 1e6:.6f}"
        before, after = count("--to", cut), count("--from", cut)
        check(before > 0 and after > 0 and before + after == whole, f"{before} + {after}")
        check(report_samples("--to", cut) == before, "report")
    cuts = [0] + [f"{length * i / 7:.6f}" for i in range(1, 7)] + [f"{length + 1:.6f}"]
    parts = [script("--from", begin, "--to", end) for begin, end in zip(cuts, cuts[1:])]
    check(sum(parts, []) == everything, f"{list(map(len, parts))} of {len(everything)}")
    for begin, end, part in zip(cuts, cuts[1:], parts):
        for sample in part:
            # The text's times are cut to microseconds.
            since = (sample.time_us - start_us) / 1e6
            check(float(begin) - 2e-6 <= since <= float(end) + 2e-6, f"{since}: {begin} to {end}")


@case
def events():
    clock, faults = count("--event", "cpu-clock"), count("--event", "page-faults")
    check(clock > 0 and faults > 0, f"{clock} and {faults}")
    check(collections.Counter(s.event for s in script()) ==
          {"cpu-clock": clock, "page-faults": faults}, "script has all events")
    # The first is shown where nothing is said, and one line names the others.
    for arguments in (("export", "folded", recording()), ("export", "svg", recording())):
        result = ctop_ok(*arguments)
        check(result.stderr.count("\n") == 1 and "cpu-clock" in result.stderr and
              "--event: page-faults" in result.stderr, result.stderr)
        check(ctop_ok(*arguments, "--event", "page-faults").stderr == "", "it was chosen")
    check(ctop_ok("export", "script", recording()).stderr == "", "script has all")
    check(count() == clock and report_samples() == clock, f"{count()}, not {clock}")


@case
def the_first_event_is_the_one_asked_first():
    need_root()
    path = os.path.join(where(), "faults.ctop")
    program = os.path.join(BUILD, "workloads", "recursion")
    ctop_ok("record", "-q", "-e", "page-faults,cpu-clock:u", "-o", path, "--", program, "0.5")
    result = ctop_ok("report", path)
    check("--event" not in result.stderr, result.stderr)
    check(re.search(r"^others +beside it: cpu-clock:u ", result.stdout, re.MULTILINE), result.stdout)
    check(re.search(r"^event +page-faults$", result.stdout, re.MULTILINE), result.stdout)
    # A run without a recording keeps to it as well.
    result = ctop_ok("-q", "-e", "cpu-clock:u,page-faults", "--", program, "0.5")
    check(re.search(r"^others +beside it: page-faults", result.stdout, re.MULTILINE),
          result.stdout)
    # What is said is said of the event shown: none of its samples is filtered out.
    check(not re.search("^filter ", result.stdout, re.MULTILINE), result.stdout)
    counted = re.search(r"^duration .* s, ([\d,]+) samples", result.stdout, re.MULTILINE)
    check(f" in {counted.group(1)} samples" in result.stdout, result.stdout)


@case
def filters_together():
    start_us = script()[0].time_us
    expected = [s for s in clock_samples() if s.comm == "dd" and of_kernel(s)]
    if not expected:
        raise Skip("the machine is too busy: dd was not sampled")
    check(script("--event", "cpu-clock", "--comm", "dd", "--kernel") == expected, "dd")
    middle = expected[len(expected) // 2].time_us
    cut = ("--to", f"{(middle - start_us) / 1e6:.6f}")
    before = count("--comm", "dd", "--kernel", *cut)
    check(abs(before - len([s for s in expected if s.time_us < middle])) <= 2, f"{before}")
    part = folded(recording(), "--comm", "share-40", "--user", "--module", "threads")
    check(part and with_function(part, "root_40") == sum(part.values()), f"{part}")


@functools.lru_cache(maxsize=None)
def known_names():
    """Of threads and modules, as samples of all events have them."""
    names = set()
    for sample in script():
        names |= {sample.comm, sample.module.rpartition("/")[2],
                  "[kernel]" if of_kernel(sample) else sample.module}
    return names


def check_nothing(code, cause, remedy, *options):
    """No text, an exit code, one line of cause and one of remedy, in every view."""
    out = os.path.join(where(), "out")
    for arguments in (("report",), ("export", "folded"), ("export", "script"),
                      ("export", "script", "-o", out), ("export", "folded", "-o", out)):
        result = ctop(*arguments, recording(), *options)
        check(result.returncode == code, f"{arguments} {options}: {result}")
        lines = result.stderr.splitlines()
        check(not result.stdout and len(lines) == 2, f"{arguments} {options}: {result}")
        check(lines[0].startswith("ctop: ") and cause in lines[0], f"{options}: {lines}")
        check(remedy in lines[1], f"{options}: {lines}")
        if remedy == "there are: ":
            named = set(lines[1].replace("  " + remedy, "").split(", ")) - {"..."}
            check(0 < len(named) <= 8 and named <= known_names(), f"{options}: {lines}")
        check(not os.path.exists(out), "a file was made")


@case
def what_matches_nothing_is_said():
    check_nothing(2, "no event 'cycles-ct'", "its events are: cpu-clock, page-faults",
                  "--event", "cycles-ct")
    check_nothing(1, "thread named 'nobody'", "there are: ", "--comm", "nobody")
    check_nothing(1, "module 'libnothing.so'", "there are: ", "--module", "libnothing.so")
    check_nothing(1, "none of ", "loosen --pid", "--pid", "2147483647")
    check_nothing(1, "none of ", "loosen --tid", "--tid", "2147483647")
    check_nothing(1, "none of ", "loosen --cpu", "--cpu", "4095")
    check_nothing(1, "none of ", "loosen --from", "--from", "1e6")
    check_nothing(1, "none of ", "--comm, --kernel or --module", "--comm", "dd", "--kernel",
                  "--module", "threads")
    # What is named is reported before what is not.
    check_nothing(2, "no event 'x'", "cpu-clock", "--event", "x", "--comm", "nobody")
    # Whatever the word, it reaches the terminal spelled out.
    result = ctop("report", recording(), "--comm", "\x1b[2J\n")
    check("\\x1b[2J\\x0a" in result.stderr and "\x1b" not in result.stderr, f"{result}")


@case
def mistakes_of_usage():
    for options, cause in ((("--kernel", "--user"), "are mutually exclusive"),
                           (("--from", "2", "--to", "1"), "--from is not before --to"),
                           (("--to", "0"), "out of range"), (("--comm", ""), "non-empty argument"),
                           (("--pid", "x"), "--pid"), (("--cpu", "3-1"), "--cpu")):
        result = ctop("report", "/nowhere", *options)
        check(result.returncode == 2 and cause in result.stderr, f"{options}: {result}")


@case
def a_recording_without_samples_is_no_mistake_of_the_filters():
    need_root()
    path = os.path.join(where(), "empty.ctop")
    # Nothing here is emulated; a clock would see the start of the program.
    ctop_ok("record", "-q", "-e", "emulation-faults", "-o", path, "--", "true")
    for options in ((), ("--comm", "nobody"), ("--event", "nothing")):
        check("No samples" in ctop_ok("report", path, *options).stdout, f"{options}")
        check(ctop_ok("export", "script", path, *options).stdout == "", f"{options}")


if __name__ == "__main__":
    main()
