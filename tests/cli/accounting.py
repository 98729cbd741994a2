#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every sample is accounted for: what the kernel counted is logged, lost or dropped, to the last one."""

import collections
import json
import os
import re
import signal
import subprocess
import time

from harness import (BUILD, CTOP, DISTURBED, PATIENCE, Skip, alone, case, check, ctop_ok, directory, disturbance,
                     ended_well, folded, long_case, main, moment, need_program, need_root, record, recording_of, run, target,
                     wait_until)


def workload(name):
    return os.path.join(BUILD, "workloads", name)


def stats_of(where, command, *arguments):
    path = os.path.join(where, "stats.json")
    result = ctop_ok(command, "--stats", path, *arguments)
    with open(path, encoding="utf-8") as file:
        return json.load(file), result.stdout


def check_exact(stats):
    """With a period of 1 each event is a sample, and each sample has a place."""
    dropped = sum(stats["dropped"].values())
    accounted = stats["samples"] + stats["lost"] + dropped
    check(stats["drained"] == stats["samples"] + dropped, f"drained and not accounted for: {stats}")
    check(accounted == stats["events_counted"], f"{accounted} of {stats['events_counted']}: {stats}")
    check(sum(stats["stacks"].values()) == stats["samples"], f"endings do not sum up: {stats}")


@case
def page_faults_one_by_one():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        stats, stdout = stats_of(where, "record", "-q", "-e", "page-faults", "-c", "1",
                                 "--call-graph", "no", "-o", path, "--", workload("faults"), "20")
        stacks = folded(path)
    touched = int(re.search(r"touched (\d+)", stdout).group(1))
    check_exact(stats)
    check(stats["lost"] == 0 and stats["event"]["period"] == 1, f"{stats}")
    leaves = sum(count for stack, count in stacks.items() if stack[-1] == "touch")
    check(leaves == touched, f"{leaves} faults in touch(), which had {touched}")


@case
def page_faults_that_overrun_the_rings():
    need_root()
    with directory() as where:
        stats, _ = stats_of(where, "record", "-q", "-e", "page-faults", "-c", "1", "-m", "64",
                            "--call-graph", "dwarf,32768", "-o", os.path.join(where, "x.ctop"),
                            "--", workload("faults"), "20")
    check_exact(stats)
    check(stats["lost"] > 0, f"nothing was lost: {stats}")


def burst(*event):
    """A command that does nothing else for as long as it lives, at the defaults."""
    with directory() as where:
        stats, _ = stats_of(where, "record", "-q", "-c", "1", *event, "-o", os.path.join(where, "x.ctop"), "--",
                            workload("faults"), "20")
    check_exact(stats)
    return stats


@case
@alone("counts what is lost where nobody is in the way")
def bursts_find_room_in_the_rings():
    need_root()
    probes = [f"uprobe:{workload('faults')}:touch"] if os.path.exists("/sys/bus/event_source/devices/uprobe") else []
    for event in ("page-faults", *probes):
        # By copies of 64 KiB, a ring of which holds 128, all but some hundreds of the thousands were lost.
        start = moment()
        stats = burst("-e", event)
        check(stats["events_counted"] > 10000, f"{event}: {stats}")
        lost = stats["lost"] / stats["events_counted"]
        if lost >= 0.25 and disturbance(start) > DISTURBED:
            raise Skip(f"others have the CPUs: {lost:.0%} lost")
        check(lost < 0.25, f"{event}: {lost:.0%} lost: {stats}")
        # All stacks are in the smallest of the copies.
        check(stats["stacks"]["complete"] > 0.9 * stats["samples"], f"{event}: {stats}")


@case
def a_copy_that_was_asked_for_is_kept():
    need_root()
    with directory() as where:
        stats, _ = stats_of(where, "record", "-q", "-c", "1", "-e", "page-faults", "--call-graph", "dwarf,4096", "-o",
                            os.path.join(where, "x.ctop"), "--", workload("faults"), "20")
    check_exact(stats)
    check([(each["dump_bytes"], each["fewer"]) for each in stats["sets"]] == [(4096, 1)], f"{stats['sets']}")


@case
def a_process_attached_in_its_middle():
    need_root()
    for name in ("threads", "forkexec", "dlopen"):
        with directory() as where, target(name) as program:
            stats, _ = stats_of(where, "record", "-q", "-e", "page-faults", "-c", "1", "-p",
                                program.pid, "--duration", "1", "-o",
                                os.path.join(where, "x.ctop"))
        check_exact(stats)


@case
def threads_that_start_while_they_are_attached():
    need_root()
    with directory() as where, target("storm", "20") as program:
        with recording_of(where, "-e", "page-faults", "-c", "1", "--call-graph", "no", "-p",
                          program.pid) as recorder:
            program.send_signal(signal.SIGUSR1)
            said = program.stdout.readline()
        stacks, stats = ended_well(where, recorder)
    check_exact(stats)
    touched, threads = map(int, re.match(r"touched (\d+) threads (\d+)", said).groups())
    check(touched == 20 * threads and threads > 50, said)
    # Nobody is missed, nobody counts twice.
    seen = collections.Counter()
    for stack, count in stacks.items():
        if stack[-1] == "fault_pages":
            seen[stack[0]] += count
    check(len(seen) == threads and set(seen.values()) == {20},
          f"{len(seen)} of {threads} threads, {sum(seen.values())} of {touched} faults")


def stolen_seconds():
    """What a virtual machine's host took of the CPUs since they are up: no clock ticks then, and some count it."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def check_sampled(name, stats, stolen, slack):
    """
    Samples stand for the time that the clock counted, in whole periods, and for no more. A tick that comes late, as they
    do where others have the CPUs, is one for all that it missed: a tenth is left to them (1 % were, three programs a CPU).
    """
    period, counted, sampled = stats["event"]["period"], stats["events_counted"], stats["events_sampled"]
    # More where sets of longer periods had to be switched to.
    check(sampled >= stats["drained"] * period, f"{name}: not {stats['drained']} periods of {period}: {stats}")
    missed = (counted - sampled - stats["lost"] * period) / 1e9
    check(-0.02 <= missed <= 0.1 * counted / 1e9 + slack + stolen,
          f"{name}: {sampled / 1e9} s sampled, {counted / 1e9} s counted, {stolen} s stolen")


@case
def a_clocks_periods_sum_to_the_time_it_counted():
    need_root()
    for name in ("spin", "recursion", "threads", "sleepwork", "templates"):
        before = stolen_seconds()
        with directory() as where, target(name) as program:
            stats = record(where, "-e", "task-clock", "-p", program.pid, seconds=1).stats
        # Each of up to five threads has a last period that is not full on each of its CPUs.
        check_sampled(name, stats, stolen_seconds() - before, 10 * stats["event"]["period"] / 1e9)


@case
def tasks_shorter_than_a_period_show_in_whole_cpus_only():
    need_root()
    script = "while :; do /bin/true; done"
    with directory() as where:
        shell = subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL)
        try:
            def seen_of(*of):
                stacks = record(where, "-e", "cpu-clock", "-F", "50", *of, seconds=1).stacks
                return sum(n for stack, n in stacks.items() if stack[0] == "true")

            # A period restarts in each task: none lives for 20 ms.
            seen = sum(seen_of("-p", shell.pid) for _ in range(3))
            check(seen <= 2, f"{seen} samples of tasks that are shorter than a period")
            # Others may have most of the CPUs: until there are some.
            seen, until = 0, time.monotonic() + PATIENCE
            while seen <= 5 and time.monotonic() < until:
                seen += seen_of("-a")
            check(seen > 5, f"only {seen} samples in whole CPUs")
        finally:
            shell.kill()
            shell.wait()


@case
@alone("its tasks live for a millisecond where nobody is in the way")
def tasks_shorter_than_a_period_are_warned_of():
    need_root()
    warning = "tasks that are shorter than a period are hardly ever sampled"
    many = ("sh", "-c", 'i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i + 1)); done')
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        for of, is_warned in (many, True), (("-a", *many), False), ((workload("spin"), "0.5"), False):
            start = moment()
            system = [of[0]] if of[0] == "-a" else []
            # A child of the shell's lives for a millisecond, if nobody has the CPU meanwhile.
            result = ctop_ok("record", "-e", "cpu-clock", "-F", "100", *system, "-o", path, "--", *of[len(system):])
            report = ctop_ok("report", "--stdio", path).stdout
            told = warning in result.stderr, warning in report
            if told != (is_warned, is_warned) and disturbance(start) > DISTURBED:
                raise Skip(f"others have {disturbance(start):.0%} of the CPUs")
            check(told == (is_warned, is_warned), f"{of}: {result.stderr}\n{report}")


def check_clock_counts(*names):
    """What bash's times are, bash's own start besides; those leave out what the host took, and interrupts."""
    need_root()
    for name in names:
        timed = f'TIMEFORMAT="%U %S"; time {workload(name)} 1 > /dev/null'
        before = stolen_seconds()
        with directory() as where:
            stats_path = os.path.join(where, "stats.json")
            result = ctop_ok("record", "-q", "-e", "cpu-clock", "-o", os.path.join(where, "x.ctop"),
                             "--stats", stats_path, "--", "bash", "-c", timed)
            with open(stats_path, encoding="utf-8") as file:
                stats = json.load(file)
        stolen = stolen_seconds() - before
        used, counted = sum(map(float, result.stderr.split())), stats["events_counted"] / 1e9
        check(0.99 * used - 0.02 <= counted <= 1.1 * used + 0.3 + stolen, f"{name}: {counted} s counted, {used} s used")
        # Each task has a last period on each CPU that is not full.
        check_sampled(name, stats, stolen, 0.1)


@case
def clocks_count_what_the_target_used():
    check_clock_counts("spin", "threads", "forkexec", "sleepwork")


@long_case
def clocks_count_what_any_target_used():
    """The same, of programs that use their time in other ways."""
    check_clock_counts("recursion", "dlopen", "sigalt", "templates", "newstacks", "demo")


@case
def too_few_descriptors_sample_whole_cpus():
    need_root()
    prlimit, setpriv = need_program("prlimit"), need_program("setpriv")
    with directory() as where, target("threads") as other:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
        with target("storm") as program:
            wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) >= 500, "500 threads")
            # Without the capability, the limit cannot be raised.
            result = run(setpriv, "--bounding-set=-sys_resource", "--inh-caps=-sys_resource", prlimit,
                         "--nofile=200:200", CTOP, "record", "-e", "cpu-clock", "-o", path,
                         "--stats", stats_path, "--duration", "2", "-p", program.pid)
        check(result.returncode == 0, f"{result}")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        check("whole CPUs are sampled and other processes left out" in result.stderr, result.stderr)
        check(stats["dropped"]["foreign"] > 100, f"{stats}")
        check(stats["drained"] == stats["samples"] + sum(stats["dropped"].values()), f"{stats}")
        script = ctop_ok("export", "script", path).stdout
        pids = set(map(int, re.findall(r"^\S.*? +(\d+)/\d+ +\[", script, re.M)))
        check(pids <= {program.pid}, f"{pids}, {other.pid} among them")


@case
def the_guard_measures_what_a_sample_costs():
    need_root()
    said = re.compile(r"one costs ([\d.]+) us, and --max-overhead leaves (\d+) % of the time")
    for percent in (5, 10, 20):
        with directory() as where, target("spin") as program:
            recording = record(where, "-e", "cpu-clock", "-c", "1000", "--max-overhead", percent,
                               "-p", program.pid, seconds=1)
        found = said.search(recording.stderr)
        check(found and int(found.group(2)) == percent, recording.stderr)
        cost_ns, period = float(found.group(1)) * 1e3, recording.stats["event"]["period"]
        check(1000 < cost_ns < 1e6, f"{cost_ns} ns")
        check(abs(period - cost_ns * 100 / percent) < 0.02 * period + 2000,
              f"{percent} %: {period} ns for {cost_ns} ns per sample")


@case
def the_file_says_what_the_recorder_said():
    need_root()
    for name in ("spin", "recursion", "threads", "forkexec", "dlopen", "sigalt", "sleepwork",
                 "templates", "newstacks"):
        with directory() as where, target(name) as program:
            recording = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=0.4)
            read, _ = stats_of(where, "report", "--stdio", recording.path)
        for key in ("samples", "lost", "dropped", "drained", "events_counted", "events_sampled",
                    "late", "throttled", "stacks", "frames", "unsymbolized_frames", "event", "events"):
            check(read[key] == recording.stats[key],
                  f"{name}: {key} is {read[key]}, was {recording.stats[key]}")
        check(abs(read["rate_hz"] - recording.stats["rate_hz"]) < 1,
              f"{name}: rate {read['rate_hz']}, was {recording.stats['rate_hz']}")


@case
def each_event_has_its_own_totals():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        stats, _ = stats_of(where, "record", "-q", "-e", "page-faults,minor-faults,cpu-clock", "-c", "1000000",
                            "-o", path, "--", workload("spin"), "0.2")
        ones, _ = stats_of(where, "record", "-q", "-e", "page-faults,minor-faults", "-c", "1", "-o", path, "--",
                           workload("threads"), "0.2")
        read, _ = stats_of(where, "report", "--stdio", path)
    check([event["opened"] for event in stats["events"]] == ["page-faults", "minor-faults", "cpu-clock"], f"{stats}")
    check(sum(event["samples"] for event in stats["events"]) == stats["samples"], f"{stats['events']}")
    clock = stats["events"][2]
    check(clock["samples"] > 5 and clock["sampled"] == clock["samples"] * 1e6, f"{clock}")
    # What the kernel counted of each is what came of it, and what was lost.
    for event in ones["events"]:
        check(event["counted"] == event["samples"] + event["lost"] and event["counted"] > 50, f"{ones}")
    check(read["events"] == ones["events"], f"{read['events']}, was {ones['events']}")


if __name__ == "__main__":
    main()
