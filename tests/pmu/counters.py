#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Runs alone: an emulated machine is slow enough by itself.
"""ctop with hardware counters that interrupt: periods, events, throttling, multiplexing, arm64's stacks.

Each case is a step, a shell script that the emulated machine runs, and what has to have come of it."""

import collections
import glob
import json
import math
import re
import subprocess
import sys
import tempfile
import traceback

import machine
from machine import Skip, check
from harness import ctop_ok

# What steps share. Limits: the kernel's, samples per second and percent of the time.
PRELUDE = """
limits() {
	echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent
	echo $1 >/proc/sys/kernel/perf_event_max_sample_rate
	echo $2 >/proc/sys/kernel/perf_cpu_time_max_percent
}
start() { # WORKLOAD
	"$1" >ready &
	target=$!
	until grep -q ready ready; do usleep 1000; done
}
record() { # OPTION...
	ctop record -o x.ctop --stats stats.json --duration 0.3 -p $target "$@" || return
	ctop export folded --samples x.ctop >folded
	ctop report --stdio x.ctop >report
	rm x.ctop
}
"""

STEPS = {True: {}, False: {}}
CHECKS = {}


def step(text, pmu=True):
    """Registers a check of what came of a step; the check's name is the step's."""
    def register(function):
        STEPS[pmu][function.__name__] = PRELUDE + text
        CHECKS[function.__name__] = function
        return function
    return register


def stats(result):
    check(result.status == 0, f"status {result.status}: {result.stderr}")
    return json.loads(result.files["stats.json"])


def folded(result):
    stacks = collections.Counter()
    for line in result.files["folded"].decode().splitlines():
        stack, _, count = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] += int(count)
    return stacks


def check_complete(result):
    numbers = stats(result)
    ends = numbers["stacks"]
    check(numbers["samples"] > 0, f"{numbers}")
    check(ends["complete"] + ends["joined"] == numbers["samples"], f"{ends} of {numbers['samples']}")
    return numbers


RUNGS = ("even", "odd") * 30


def check_recursion(result):
    """All stacks complete, and nearly all 60 calls deep."""
    numbers = check_complete(result)
    deep = 0
    for stack, count in folded(result).items():
        check("main" in stack, f"{stack}")
        below = stack[stack.index("main") + 1:]
        if below[:60] == RUNGS and below[60:61] == ("bottom",):
            deep += count
    check(deep >= 0.95 * numbers["samples"], f"{deep} of {numbers['samples']} are known stacks")
    return numbers


def tell(numbers):
    print(f"# {numbers['event']['opened']} each {numbers['event']['period']}: {numbers['samples']} samples in "
          f"{numbers['duration_seconds']:.2f} s, {numbers['lost']} lost, throttled {numbers['throttled']}x, "
          f"{numbers['events_counted']} counted, {numbers['cpu_seconds']:.2f} s of CPU")


def check_few_missing(counted, sampled, period):
    """What overflows as its task is switched off is counted, and has no sample; returns how many samples are missing."""
    missing = counted - sampled
    check(0 <= missing <= 0.05 * counted + 2 * period, f"{missing} not sampled of {counted}")
    return missing / period


def check_all_sampled(result, event, period):
    """Each period of what was counted gave a sample of the recursion."""
    numbers = check_recursion(result)
    tell(numbers)
    unit = event if event in ("cycles", "instructions") else "events"
    check(numbers["event"] == {"asked": event, "opened": event, "period": period, "frequency_hz": 0, "unit": unit},
          f"{numbers['event']}")
    check(numbers["steps_down"] == [] and numbers["lost"] == 0 and numbers["throttled"] == 0, f"{numbers}")
    check_few_missing(numbers["events_counted"], numbers["events_sampled"], period)


@step("limits 100000 0; start recursion; record -e cycles -c 1000000")
def cycles_each_1000000(result):
    check_all_sampled(result, "cycles", 1000000)


@step("limits 100000 0; start recursion; record -e cycles -c 100000")
def cycles_each_100000(result):
    check_all_sampled(result, "cycles", 100000)


def check_storm(result, period):
    """More samples than the machine can take: those that came are right, and it says how many did not."""
    numbers = check_recursion(result)
    tell(numbers)
    check(numbers["event"]["opened"] == "cycles" and numbers["event"]["period"] == period, f"{numbers}")
    check(numbers["throttled"] > 0, f"{numbers}")
    check(f"throttled {numbers['throttled']}x to {numbers['rate_hz']:.0f} samples per second" in result.stderr,
          result.stderr)
    report = result.files["report"].decode()
    check("times throttled by the kernel" in report, report)
    # So many samples leave room for small copies of the stack only.
    check("copies of 8,192 bytes" in report, report)


@step("limits 100000 25; start recursion; record -e cycles -c 10000")
def cycles_each_10000(result):
    check_storm(result, 10000)


@step("limits 100000 25; start recursion; record -e cycles -c 1000; cat /proc/sys/kernel/perf_event_max_sample_rate")
def cycles_each_1000(result):
    check_storm(result, 1000)
    check(int(result.stdout) < 100000, f"the kernel's limit is still {result.stdout}")


@step("limits 1000 25; start recursion; record -e cycles -F 4000")
def a_lowered_sample_rate_is_explained(result):
    check_recursion(result)
    said = result.stderr.splitlines()[0]
    check("1000 samples per second instead of 4000" in said and "perf_event_max_sample_rate" in said, said)


@step("limits 1000 25; start recursion; record")
def the_default_rate_fits_the_lowered_one(result):
    numbers = check_recursion(result)
    tell(numbers)
    check(numbers["event"]["opened"] == "cycles" and numbers["steps_down"] == [], f"{numbers}")


@step("limits 100000 0; start recursion; record -e instructions -c 1000000")
def instructions(result):
    check_all_sampled(result, "instructions", 1000000)


@step("limits 100000 0; start recursion; record -e r11 -c 100000")
def a_raw_code_is_cycles(result):
    check_all_sampled(result, "r11", 100000)


@step("start recursion; record -e branch-misses")
def a_missing_event_is_named(result):
    lines = result.stderr.splitlines()
    check(result.status == 1 and len(lines) == 2 and "cannot count 'branch-misses'" in lines[0], f"{result}")


@step("ctop list cycles; ctop list branch-misses; ctop doctor")
def list_and_doctor_know_the_counters(result):
    check(result.status == 0, f"{result}")
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.split()}
    check(" yes " in rows["cycles"] and "not on this machine" in rows["branch-misses"], result.stdout)
    check("the CPU's cycle counter can be sampled" in result.stdout, result.stdout)
    check("profiling works: cycles," in result.stdout, result.stdout)


# An instruction takes 8 ns here, a cycle 1, whatever runs.
@step("limits 100000 0; start recursion; record -e '{cycles,instructions}' -c 100000")
def instructions_per_cycle_are_those_of_the_machine(result):
    events = {each["opened"]: each for each in stats(result)["events"]}
    check(events["cycles"]["counted"] == 8 * events["instructions"]["counted"], f"{events}")
    row = re.search(r"^ *[\d.]+ +[\d.]+ +([\d,]+) +[\d.]+ +([\d.]+) +(\d+)  bottom ", result.files["report"].decode(), re.M)
    check(row, result.files["report"].decode())
    cycles, instructions = int(row[1].replace(",", "")), int(row[3])
    check(row[2] in {f"{instructions / cycles + error:.2f}" for error in (-1e-9, 1e-9)}, f"{row[0]}: is not {instructions} / {cycles}")
    # Each of the two begins to count at the step's start, and has at most one sample more or less than its share, but for those that are missing.
    # Which of the few samples of instructions fall into other functions is chance: four standard deviations of it.
    missing = check_few_missing(events["instructions"]["counted"], events["instructions"]["sampled"], 100000)
    sampled = events["instructions"]["sampled"] / 100000
    chance = 4 * math.sqrt(instructions * max(sampled - instructions, 0) / sampled)
    check(abs(cycles - 8 * instructions) <= 8 * (2 + missing + chance), f"{cycles} and {instructions} samples of {sampled}, {missing} missing")
    print(f"# IPC {row[2]} of {cycles} and {instructions} samples")


EVENTS = "cycles,instructions,r11,r8,cycles:u,instructions:u,r11:u,r8:u,r11:k,r8:k"


@step(f"limits 100000 0; start recursion; record -e {EVENTS} -c 1000000")
def more_events_than_counters_take_turns(result):
    numbers = check_complete(result)
    tell(numbers)
    check("counters were shared" in result.stderr, result.stderr)


@step(f"limits 100000 0; start recursion; record -e '{{{EVENTS}}}' -c 1000000")
def a_group_that_does_not_fit_is_refused(result):
    check(result.status == 1 and "too few counters" in result.stderr, f"{result}")


@step("limits 100000 0; start recursion_static; record -e cycles -c 100000")
def stacks_of_a_static_program(result):
    tell(check_recursion(result))


def check_threads(result):
    numbers = check_complete(result)
    tell(numbers)
    shares = collections.Counter()
    for stack, count in folded(result).items():
        for share in (10, 20, 30, 40):
            if f"root_{share}" in stack:
                at = stack.index(f"root_{share}")
                check(at >= 1, f"{stack}")
                shares[share] += count
    check(sum(shares.values()) == numbers["samples"], f"{shares} of {numbers['samples']}")


@step("limits 100000 0; start threads; record -e cycles -c 100000")
def stacks_of_threads(result):
    check_threads(result)


@step("limits 100000 0; start threads_static; record -e cycles -c 100000")
def stacks_of_a_static_program_with_threads(result):
    check_threads(result)


@step("""limits 100000 0
dd if=/dev/zero of=/dev/null bs=64k count=2000 &
ctop record -q -e cycles:k -c 1000000 -o x.ctop --stats stats.json -p $!
grep -E " [tT] (_stext|__arch_clear_user)$" /proc/kallsyms >symbols""")
def the_kernels_hot_code_is_in_the_recording(result):
    """Read on this machine: the instructions of the kernel's file, but for the few that it patches."""
    stats(result)
    starts = {name: int(address, 16) for address, _, name in (line.split() for line in result.files["symbols"].decode().splitlines())}
    with tempfile.NamedTemporaryFile(suffix=".ctop") as file:
        file.write(result.files["x.ctop"])
        file.flush()
        listing = ctop_ok("report", "--stdio", "--annotate", "__arch_clear_user", file.name).stdout
    check("code kept in the recording, read in its memory at" in listing, listing)
    ours = {int(address, 16): name for address, name in re.findall(r" (ffff[0-9a-f]{12}):[ >]+([a-z.]+)", listing)}
    image, = glob.glob(f"{machine.SYSROOT}/boot/vmlinuz-*")
    image_start = starts["_stext"] - 0x10000 # ahead of it lies one segment of 64 KiB (arch/arm64/kernel/vmlinux.lds.S)
    at = starts["__arch_clear_user"] - image_start
    text = subprocess.run([f"{machine.TRIPLET}-objdump", "-b", "binary", "-m", "aarch64", "-D", f"--start-address={at}", f"--stop-address={at + 4 * len(ours)}",
                           image], check=True, capture_output=True, text=True).stdout
    theirs = {int(address, 16) + image_start: name for address, name in re.findall(r"^ *([0-9a-f]+):\t[0-9a-f]{8} \t([a-z.]+)", text, re.M)}
    ours = {address: name for address, name in ours.items() if name != ".byte"} # what fills it up
    check(ours.keys() <= theirs.keys() and len(ours) > 20, f"{listing}\n{text}")
    # The two have other names for some: mov, movz.
    alike = sum(name == theirs[address] for address, name in ours.items())
    check(alike > 0.75 * len(ours), f"{alike} of {len(ours)} are alike\n{listing}\n{text}")


@step("start recursion; record", pmu=False)
def without_a_pmu_the_clock_stands_in(result):
    numbers = check_recursion(result)
    tell(numbers)
    check(numbers["event"]["opened"] == "cpu-clock", f"{numbers}")
    check(numbers["steps_down"] == ["this machine has no cycle counter: cpu-clock stands in for cycles"],
          f"{numbers}")
    check("cpu-clock stands in" in result.stderr, result.stderr)


def report(name, decide):
    """TAP; True when the case did not fail."""
    try:
        decide()
    except Skip as reason:
        print(f"ok - {name} # SKIP {reason}")
    except Exception:  # a failed check, or a machine that went away
        for line in traceback.format_exc().splitlines():
            print(f"# {line}")
        print(f"not ok - {name}")
        return False
    else:
        print(f"ok - {name}")
    finally:
        sys.stdout.flush()
    return True


def rest(names, error):
    """What the machine did not come to has its reason once."""
    def decide():
        if isinstance(error, Skip):
            raise Skip(f"{error}: {', '.join(sorted(names))}")
        raise error or AssertionError(f"the machine is down without {sorted(names)}")
    return report("all_that_the_machine_was_to_run", decide)


def main(wanted):
    good = True
    for pmu, steps in STEPS.items():
        steps = {name: text for name, text in steps.items() if not wanted or name in wanted}
        waiting, error = set(steps), None
        try:
            for name, result in machine.run(steps, pmu) if steps else ():
                waiting.discard(name)
                good &= report(name, lambda: CHECKS[name](result))
        except (Skip, AssertionError, OSError) as cause:
            error = cause
        if waiting:
            good &= rest(waiting, error)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
