#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`--budget`: what ctop takes of the machine, less of it where that is too much, and what is said of it."""

import os
import re

from flight_recorder import recorder_of
from harness import (case, check, check_refused, ctop, ctop_ok, directory, main, need_root, record_work, share_complete, target, wait_for_cpu_time, weighed)

# Two busy threads at that rate take more than any of it; the lowest rate is a 64th of it.
TINY = "0.0001%"
RATE = 9999
FEWEST = 64


def said(stats):
    return [step for step in stats["steps_down"] if "--budget" in step]


@case
def nonsense_is_refused():
    for text in "1", "%", "x%", "1%%", "-1%", "1e1%", "nan%", "1 %", ".%":
        check_refused(ctop("record", "-a", f"--budget={text}"), 2, f"--budget requires a percentage, not '{text}'", "as in --budget 1%")
    for text in "0%", "0.00001%", "100.1%", "9" * 400 + "%":
        check_refused(ctop("record", "-a", "--budget", text), 2, "out of range", "to 100% of the machine")
    check_refused(ctop("record", "-a", "--budget", "1%", "--strict"), 2, "--budget and --strict are mutually exclusive", "leave out one")
    check_refused(ctop("report", "--budget", "1%"), 2, "--budget")


@case
def what_is_spent_takes_the_rate_down_and_the_sum_stays_right():
    with directory() as where, target("spin") as program:
        recording = record_work(where, [program.pid], 3, "-F", RATE, "--max-overhead", "0", "--budget", TINY, "-p", program.pid)
        weights = weighed(recording.path).total()
    stats = recording.stats
    sets = stats["sets"]
    check([one["fewer"] for one in sets] in ([1, 1, 4, 16, FEWEST], [1, 4, 16, FEWEST, 4 * FEWEST]), f"{sets}")
    # It begins with the lowest: more is not tried.
    check(sets[-1]["seconds"] > 0 and not any(one["seconds"] for one in sets[:-1]), f"{sets}")
    counted, sampled = stats["events_counted"] / 1e9, stats["events_sampled"] / 1e9
    check(stats["samples"] < counted * RATE / 16, f"{stats['samples']} samples of {counted} s")
    # Each sample stands for more: the kernel's own count of the time, but a period or so of each of the two threads.
    period_s = sets[-1]["fewer"] / RATE
    check(0.8 * counted - 4 * period_s < sampled + stats["lost"] * period_s and sampled < 1.05 * counted + 4 * period_s, f"{sampled} of {counted} s, {stats}")
    check(weights == stats["events_sampled"], f"{weights} of {stats['events_sampled']}")
    check(share_complete(stats) > 0.9, f"{stats['stacks']}")
    lower, held = said(stats)
    check(re.match(r"(copies of \d+ bytes instead of \d+, )?\d+ samples per second instead of 9999.*: --budget leaves no more$", lower), lower)
    check(re.match(r"--budget 0\.0001% was not held: ctop's processes took [\d.e-]+% of the machine.*; less than this it cannot do$", held), held)
    check("--budget leaves no more" in recording.stderr and held in recording.stderr, recording.stderr)


def budget_of(stats):
    budget = stats["budget"]
    return budget["ppm"], budget["own_cpu_seconds"], budget["kernel_cpu_seconds"], budget["machine_cpu_seconds"]


@case
def what_was_spent_is_recorded_and_reported():
    with directory() as where, target("spin") as program:
        recording = record_work(where, [program.pid], 1, "--budget", "100%", "-p", program.pid)
        stats = recording.stats
        ppm, own, kernel, machine = budget_of(stats)
        check(ppm == 1000000 and 0 < kernel < machine, f"{stats['budget']}")
        # It counts while it samples; the rest is before and behind that.
        check(0 < own <= stats["cpu_seconds"] + 0.5, f"{own} of {stats['cpu_seconds']}")
        elapsed = stats["duration_seconds"] * os.sysconf("SC_NPROCESSORS_ONLN")
        check(abs(machine - elapsed) < 0.2 * elapsed + 0.5, f"{machine} and {elapsed}")
        check(not said(stats), f"{said(stats)}")
        report = " ".join(ctop_ok("report", "--stdio", recording.path).stdout.split())
    check(re.search(r"; [\d.e-]+% of all CPUs, sampling in the kernel about [\d.e-]+%, of --budget 100%", report), report)


@case
def without_one_nothing_is_said():
    with directory() as where, target("spin") as program:
        recording = record_work(where, [program.pid], 0.5, "-p", program.pid)
    check(not said(recording.stats) and budget_of(recording.stats) == (0, 0, 0, 0), f"{recording.stats['budget']}")
    check(len(recording.stats["sets"]) == 2, f"{recording.stats['sets']}")


@case
def whole_cpus_have_one_too():
    need_root()
    with directory() as where, target("spin") as program:
        recording = record_work(where, [program.pid], 1, "-F", RATE, "--max-overhead", "0", "--budget", TINY, "-a")
    check(len(said(recording.stats)) == 2, f"{recording.stats['steps_down']}")


@case
def events_that_ctop_paces_are_held_too():
    need_root()
    with directory() as where, target("spin") as program:
        recording = record_work(where, [program.pid], 1, "-F", RATE, "--max-overhead", "0", "--budget", TINY, "-e", "cpu-clock,page-faults", "-p", program.pid)
    check(len(said(recording.stats)) == 2, f"{recording.stats['steps_down']}")
    paced = [event for event in recording.stats["events"] if event.get("sets")]
    check(len(paced) == 1 and paced[0]["sets"][-1]["seconds"] > 0, f"{recording.stats['events']}")


@case
def where_ctop_paces_all_of_them_that_is_said():
    need_root()
    with directory() as where, target("faults", "1000000000") as program:
        # Two threads: it takes 2 s at least, and at the first look, after one, there is a debt already.
        recording = record_work(where, [program.pid], 4, "-F", RATE, "--budget", TINY, "-e", "page-faults", "-p", program.pid)
    steps = said(recording.stats)
    check(len(steps) == 1 and re.search(r"was not held: .*; a sample for each \d+ hits at most, copies of \d+ bytes", steps[0]), f"{steps}")


@case
def with_a_count_the_copies_alone_become_less():
    with directory() as where, target("spin") as program:
        recording = record_work(where, [program.pid], 1, "-c", 1000000, "--budget", TINY, "-p", program.pid)
    check(all(one["fewer"] == 1 for one in recording.stats["sets"]), f"{recording.stats['sets']}")
    check(any("was not held" in step for step in said(recording.stats)), f"{recording.stats['steps_down']}")


@case
def a_flight_recorder_says_so_in_its_slices():
    with directory() as where, target("spin") as program, \
            recorder_of(where, "--last", "60s", "-F", RATE, "--max-overhead", "0", "--budget", TINY, "-p", program.pid) as recorder:
        wait_for_cpu_time(program.pid, 1)
        check(recorder.end() == 0, f"{recorder.said}")
        for words in "samples per second instead of 9999: --budget leaves no more", "--budget 0.0001% was not held":
            check(any(words in line for line in recorder.said), f"{words}: {recorder.said}")
        report = " ".join(ctop_ok("report", "--stdio", os.path.join(where, "x.ctop")).stdout.split())
    check("--budget leaves no more" in report and "--budget 0.0001% was not held" in report, report)


if __name__ == "__main__":
    main()
