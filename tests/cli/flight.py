#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop record --last`: what was sampled last, written when it is asked for, and nothing else."""

import json
import os
import re
import signal
import subprocess
import sys

from events_common import compiled
from flight_recorder import BEFORE, excerpt_of, recorder_of
from harness import (BUILD, CTOP, Skip, FAULTY, PATIENCE, case, check, check_refused, child, child_pids, copy_for_all, ctop, ctop_ok, directory, falling,
                     folded, main, need_root, plain_user, readable_ctop, run, status_of, target, wait_for_cpu_time, wait_until)

SPIN = os.path.join(BUILD, "workloads", "spin")


def times_of(path):
    """When its samples were taken, in seconds."""
    return [float(time) for time in re.findall(r"\[\d+\] +([\d.]+):", ctop_ok("export", "script", path).stdout)]


def asked_and_written(recorder, *dump):
    result = ctop("dump", *dump)
    check(result.returncode == 0, result.stderr)
    return recorder.until_said(r"ctop: (\S+\.ctop): ([\d.]+) s before .*SIGUSR2, .*, (\d+) samples")


@case
def a_slice_is_the_last_stretch_and_recording_goes_on():
    with directory() as where, target("spin") as program, recorder_of(where, "--last", "1s", "-p", program.pid) as recorder:
        wait_for_cpu_time(program.pid, 1.5)
        first = asked_and_written(recorder, recorder.process.pid)
        wait_for_cpu_time(program.pid, 1.5)
        second = asked_and_written(recorder, recorder.process.pid)
        check(recorder.end() == 0, f"{recorder.said}")
        check(recorder.slices() == sorted([first[1], second[1]]), f"{recorder.slices()}")
        for found in first, second:
            times = times_of(found[1])
            check(len(times) == int(found[3]) and max(times) - min(times) <= 1.0, f"{len(times)} in {max(times) - min(times)} s")
            check(folded(found[1]).total() == len(times) and any("spin_loop" in stack for stack in folded(found[1])), "stacks")
            check(re.match(rf"1\.0 s {BEFORE}SIGUSR2, 20", excerpt_of(found[1])), excerpt_of(found[1]))
            check(os.stat(found[1]).st_mode & 0o777 == 0o600, "others may read it")
        check(max(times_of(first[1])) < min(times_of(second[1])), "they overlap")
        end = excerpt_of(os.path.join(where, "x.ctop"))
        check(end.startswith("1.0 s before the end"), end)


LOOP = "import os, time\nprint('ready', flush=True)\nwhile True: os.getppid(), time.sleep(0.002), sum(range(20000))"


@case
def its_system_calls_are_those_of_the_stretch():
    need_root()
    with directory() as where, child(os.path.realpath(sys.executable), "-c", LOOP, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        with recorder_of(where, "--last", "1s", "--syscalls", "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 0.2)
            path = asked_and_written(recorder, recorder.process.pid)[1]
            recorder.end()
        out = os.path.join(where, "x.json")
        ctop_ok("export", "chrome", "-o", out, path)
        with open(out, encoding="utf-8") as file:
            calls = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "system call"]
    asked, slept = ([event for event in calls if event["name"] == name] for name in ("getppid", "clock_nanosleep"))
    check(len(asked) > 20 and abs(len(asked) - len(slept)) <= 1, f"{len(asked)}, {len(slept)}")
    begin, end = min(event["ts"] for event in calls), max(event["ts"] + event["dur"] for event in calls)
    check(end - begin <= 1000001, f"{end - begin} us")
    # The first and the last are cut.
    check(all(event["dur"] >= 2000 for event in slept[1:-1]), f"{[event['dur'] for event in slept]}")
    check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(calls, calls[1:])), "they overlap")


@case
def of_a_short_run_it_has_everything():
    """Also what is in tables that were given up meanwhile: after 2 s."""
    with directory() as where, target("spin") as program, recorder_of(where, "--last", "4s", "--duration", "3", "-p", program.pid) as recorder:
        found = recorder.until_said(r"x\.ctop: .* before the end, .*, (\d+) samples")
        summary = recorder.until_said(r"ctop: (\d+) samples of .* (\d+) lost")
        path = os.path.join(where, "x.ctop")
        recorder.end()
        check(int(found[1]) == int(summary[1]) == folded(path).total() > 1, f"{recorder.said}")
        check("[lost]" not in str(folded(path)) and all("spin" in stack[0] for stack in folded(path)), f"{folded(path)}")


@case
def it_goes_on_after_the_moment():
    with directory() as where, target("spin") as program, recorder_of(where, "--last", "1s", "--post", "1s", "-p", program.pid) as recorder:
        wait_for_cpu_time(program.pid, 0.5)
        recorder.signal(signal.SIGUSR2)
        found = asked_and_written(recorder, recorder.process.pid)
        recorder.until_said("1 more request within 1.0 s of a slice: no slice was written for it")
        check(" before and 1.0 s after SIGUSR2, " in excerpt_of(found[1]), excerpt_of(found[1]))
        times = times_of(found[1])
        check(len(times) == int(found[3]) and 0.5 < max(times) - min(times) <= 2, f"{max(times) - min(times)} s")


@case
def what_there_was_no_room_for_is_told():
    """Four MiB are soon full, and then no sample is from before the moment. At the end nothing comes after it."""
    with directory() as where, target("faults", 10 ** 8) as program:
        with recorder_of(where, "-e", "page-faults", "-c", "1", "--last", "100ms", "--post", "2s", "--last-size", "4M", "-p", program.pid) as recorder:
            check(ctop("dump", recorder.process.pid).returncode == 0, "not asked")
            line = recorder.until_said(".* SIGUSR2").string
            check(all(float(time) < 3 for time in re.findall(r"([\d.]+) s ", line)), line)
            check("the target was idle" not in line, line)
            recorder.end()
            check(re.match(r"[\d.]+ s before the end, ", excerpt_of(os.path.join(where, "x.ctop"))), f"{recorder.said}")


IDLE_UNTIL_TOLD = """
import os, sys, time
print("ready", flush=True)
sys.stdin.readline()
def busy():
    while True:
        pass
busy()
"""


@case
def the_target_computes_too_much():
    with directory() as where, child(sys.executable, "-c", IDLE_UNTIL_TOLD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        # On a busy machine it gets a small share of a CPU.
        with recorder_of(where, "--last", "60s", "--trigger", "cpu>5% for 200ms", "-p", program.pid) as recorder:
            program.stdin.write("\n")
            program.stdin.flush()
            found = recorder.until_said(rf"(\S+\.ctop): [\d.]+ s {BEFORE}cpu>5% for 200ms, .*, (\d+) samples")
            wait_for_cpu_time(program.pid, 1)
            check(recorder.end() == 0, f"{recorder.said}")
            check(recorder.slices() == [found[1]], f"within its time there is no other one: {recorder.slices()}")
            check(any("within 60.0 s of a slice: no slice was written" in line for line in recorder.said), f"{recorder.said}")
            check(not os.path.exists(os.path.join(where, "x.ctop")), "with triggers the end is none")


@case
def a_thread_waits_too_long():
    """Deadlocked threads do, for locks; what is not asked for does not count."""
    with directory() as where, target("deadlock") as program:
        with recorder_of(where, "--time", "wall", "--last", "60s", "--trigger", "wait>300ms for sleep", "--trigger", "wait>400ms for lock,io",
                         "-p", program.pid) as recorder:
            found = recorder.until_said(rf"(\S+\.ctop): [\d.]+ s {BEFORE}wait>400ms for lock,io \(lock, (\w+)\[(\d+)\]\), ")
            check(int(found[3]) in map(int, os.listdir(f"/proc/{program.pid}/task")), f"{found}")
            waits = ctop_ok("export", "folded", "--time", "wait", found[1]).stdout
            check("[lock]" in waits, f"{waits}")
            recorder.end()


CALLS = """
#include <stdlib.h>
#include <time.h>
static double cpu(void) { struct timespec now; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); return now.tv_sec + now.tv_nsec / 1e9; }
__attribute__((noinline)) void call(double seconds) { double until = cpu() + seconds; do __asm__ volatile(""); while (cpu() < until); }
int main(int argc, char **argv) { for (int i = 0; i < 40; i++) call(i == 20 ? atof(argv[argc - 1]) : 0.002); return 0; }
"""


@case
def a_thread_waits_too_long_at_a_function():
    """And at no other, however long."""
    need_root()
    program = os.path.join(BUILD, "workloads", "waiters")
    with directory() as where:
        for name, met in ("no_such_function", False), ("nap_long", True):
            with recorder_of(where, "--last", "60s", "--trigger", f"wait>250ms for sleep,lock at {name}", "--", program, "3") as recorder:
                recorder.said += recorder.process.stderr.read().splitlines()
                check(recorder.process.wait(PATIENCE) == 0, f"{recorder.said}")
            check(len(recorder.slices()) == met, f"{name}: {recorder.said}")
        path, = recorder.slices()
        check(re.search(rf"{BEFORE}wait>250ms for sleep,lock at nap_long \(sleep, \w+\[\d+\]\)", excerpt_of(path)), excerpt_of(path))
        check("nap_long" in ctop_ok("report", "--stdio", "--time", "wait", path).stdout, "where it waits is not in the slice")


@case
def a_call_takes_too_long():
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")
    with directory() as where:
        program = compiled(where, CALLS)
        for name, limit, met in (f"{program}:call", "500ms", True), (f"{program}:call", "600s", False), ("call", "500ms", True):
            with recorder_of(where, "--last", "60s", "--trigger", f"latency {name}>{limit}", "--", program, "0.7") as recorder:
                recorder.said += recorder.process.stderr.read().splitlines()
                check(recorder.process.wait(PATIENCE) == 0, f"{recorder.said}")
            check(len(recorder.slices()) == met, f"{limit}: {recorder.said}")
            for path in recorder.slices():
                found = re.search(rf"{BEFORE}latency {name}>500ms \(a call took ([\d.]+) ms\)", excerpt_of(path))
                check(found and float(found[1]) > 500, excerpt_of(path))
                os.unlink(path)


@case
def a_call_of_a_program_that_runs_takes_too_long():
    """Its own function, of whoever it is."""
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")
    with directory() as where:
        program = compiled(where, CALLS.replace("i < 40", "i < 4000").replace("i == 20", "i % 20 == 0"))
        with child(program, "0.7") as running, recorder_of(where, "--last", "60s", "--trigger", "latency call>500ms", "-p", running.pid) as recorder:
            recorder.until_said(rf"(\S+\.ctop): .* {BEFORE}latency call>500ms ")


@case
def an_event_is_sampled():
    """It is, if it was not asked for otherwise, each time, whatever count is asked for."""
    with directory() as where, recorder_of(
            where, "--last", "60s", "-c", "10000000", "--trigger", "event page-faults", "--", "sh", "-c",
            f"{BUILD}/workloads/spin 1; {BUILD}/workloads/faults 1") as recorder:
        found = recorder.until_said(rf"(\S+\.ctop): .* {BEFORE}event page-faults, ")
        check("page-faults" in ctop_ok("report", "--stdio", found[1]).stdout, "the event is not in the slice")


@case
def a_file_is_made_or_touched():
    with directory() as where, target("spin") as program:
        flag = os.path.join(where, "now, please")
        with recorder_of(where, "--last", "100ms", "--trigger", f"file {flag}", "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 0.5)
            with open(os.path.join(where, "another"), "w", encoding="utf-8"):
                pass
            with open(flag, "w", encoding="utf-8"):
                pass
            recorder.until_said(BEFORE + re.escape(f"file {flag}, "))
            check(len(recorder.slices()) == 1, f"{recorder.slices()}")
            os.utime(flag)
            recorder.until_said(BEFORE + re.escape(f"file {flag}, "))
            check(len(recorder.slices()) == 2, f"{recorder.slices()}")


@case
def a_command_fails():
    with directory() as where:
        for script, status, words in (("exit 3", 3, "exit!=0 (status 3)"), ("kill -9 $$", 137, "exit!=0 (signal 9)"), ("exit 0", 0, None)):
            with recorder_of(where, "--last", "60s", "--trigger", "exit!=0", "--", "sh", "-c",
                             f'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; {script}') as recorder:
                recorder.said += recorder.process.stderr.read().splitlines()
                check(recorder.process.wait(PATIENCE) == status, f"{recorder.process.returncode}, not {status}: {recorder.said}")
            slices = recorder.slices()
            check(len(slices) == (words is not None), f"{script}: {slices}, {recorder.said}")
            for path in slices:
                check(words in excerpt_of(path), excerpt_of(path))
                os.unlink(path)


@case
def the_newest_are_kept():
    with directory() as where, target("spin") as program, recorder_of(where, "--last", "1s", "--keep", "2", "-p", program.pid) as recorder:
        written = []
        for _ in range(3):
            wait_for_cpu_time(program.pid, 0.3)
            written.append(asked_and_written(recorder, recorder.process.pid)[1])
        check(recorder.slices() == sorted(written[1:]), f"{recorder.slices()}, not {written[1:]}")
        # What somebody else has put there is not removed.
        os.rename(written[1], os.path.join(where, "kept elsewhere"))
        with open(written[1], "w", encoding="utf-8") as file:
            file.write("another file")
        wait_for_cpu_time(program.pid, 0.3)
        written.append(asked_and_written(recorder, recorder.process.pid)[1])
        check(recorder.slices() == sorted(written[1:]), f"{recorder.slices()}, not {written[1:]}")


# The wall's clock goes a day back once that file is there.
CLOCK_SET_BACK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*next)(clockid_t, struct timespec *);
	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	const int result = next(clock, now);
	if (clock == CLOCK_REALTIME && !access(getenv("SET_BACK"), F_OK))
		now->tv_sec -= 24 * 60 * 60;
	return result;
}
"""


@case
def a_clock_that_is_set_back_is_in_names_alone():
    """What is kept, and which is the newest, goes by a clock that nobody sets."""
    with directory() as where, target("spin") as program:
        library, told = compiled(where, CLOCK_SET_BACK, "-shared", "-fPIC"), os.path.join(where, "set back")
        with recorder_of(where, "--last", "1s", "--keep", "1", "-p", program.pid,
                         env={**os.environ, "LD_PRELOAD": library, "SET_BACK": told}) as recorder:
            wait_for_cpu_time(program.pid, 1.5)
            before = asked_and_written(recorder, recorder.process.pid)[1]
            with open(told, "w", encoding="ascii"):
                pass
            wait_for_cpu_time(program.pid, 1.5)
            after = asked_and_written(recorder, recorder.process.pid)
            check(after[1] < before, f"{after[1]} is not of the day before {before}")
            check(recorder.slices() == [after[1]], f"{recorder.slices()}, not {after[1]}")
            times = times_of(after[1])
            check(len(times) == int(after[3]) and 0.5 < max(times) - min(times) <= 1.0, f"{len(times)} in {max(times) - min(times)} s")
            check(recorder.end() == 0, f"{recorder.said}")


@case
def of_a_machine_that_has_slept_it_is_the_last_stretch():
    """For a day: the clock since the start, which processes' ages go by, is that much ahead of the one that samples have."""
    need_root()
    slept = ["unshare", "--time", "--boottime", str(24 * 60 * 60), "--fork"]
    if run(*slept, "true").returncode:
        raise Skip("no time namespaces here")
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "x.ctop")
        result = run(*slept, CTOP, "record", "-e", "cpu-clock", "--last", "1s", "--duration", "2", "-o", path, "-p", program.pid)
        check(result.returncode == 0 and "x.ctop: 1.0 s before the end" in result.stderr, result.stderr)
        times = times_of(path)
        check(len(times) > 1 and 0.5 < max(times) - min(times) <= 1.0, f"{len(times)} in {max(times) - min(times)} s")
        check(all("spin" in stack[0] for stack in folded(path)), f"{folded(path)}")


@case
def the_newest_are_kept_in_another_directory_of_that_name():
    """As by who cleans up: what went with the old one does not count, and in the new one there are no more than that."""
    with directory() as top, target("spin") as program:
        where = os.path.join(top, "slices")
        os.mkdir(where)
        with recorder_of(where, "--last", "1s", "--keep", "1", "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 0.3)
            old = asked_and_written(recorder, recorder.process.pid)[1]
            os.rename(where, os.path.join(top, "moved"))
            os.mkdir(where)
            for _ in range(2):
                wait_for_cpu_time(program.pid, 0.3)
                written = asked_and_written(recorder, recorder.process.pid)[1]
            check(recorder.slices() == [written], f"{recorder.slices()}, not {written}")
            check(os.listdir(os.path.join(top, "moved")) == [os.path.basename(old)], "one that was moved was removed")


@case
def one_that_is_killed_leaves_what_was_written():
    with directory() as where, target("spin") as program, recorder_of(where, "--last", "1s", "-p", program.pid) as recorder:
        wait_for_cpu_time(program.pid, 0.5)
        found = asked_and_written(recorder, recorder.process.pid)
        recorder.process.kill()
        check(folded(found[1]).total() == int(found[3]), "not all of it")


def writers(pid):
    found = []
    for one in child_pids(pid):
        with open(f"/proc/{one}/comm", encoding="utf-8") as file:
            found += [one] if file.read() == "ctop-writer\n" else []
    return found


@case
def a_second_interrupt_ends_the_wait_for_a_disk():
    """What was in hand is removed, and nothing else is begun."""
    with directory() as where, target("spin") as program:
        with recorder_of(where, "--last", "1s", "-p", program.pid, program=FAULTY, env=falling("writer:hang_up:turn")) as recorder:
            wait_for_cpu_time(program.pid, 0.5)
            ctop_ok("dump", recorder.process.pid)
            wait_until(recorder.slices, "slice in hand")
            wait_until(lambda: writers(recorder.process.pid), "process that writes it")
            writer, = writers(recorder.process.pid)
            recorder.interrupt()
            check(recorder.end() == 0, f"{recorder.said}")
            wait_until(lambda: not os.path.exists(f"/proc/{writer}"), "end of the process that wrote it")
            check(not recorder.slices() and not os.path.exists(os.path.join(where, "x.ctop")), f"{os.listdir(where)}")
            check(sum("was given up before it was written" in line for line in recorder.said) == 1, f"{recorder.said}")


@case
def a_second_interrupt_ends_the_wait_for_a_reader():
    with directory() as where, target("spin") as program:
        os.mkfifo(os.path.join(where, "x.ctop"))
        with recorder_of(where, "--last", "1s", "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 0.5)
            recorder.interrupt()
            check(recorder.end() == 0, f"{recorder.said}")
            check(any("interrupted before anybody read it" in line for line in recorder.said), f"{recorder.said}")


@case
def of_an_idle_target_there_is_nothing():
    with directory() as where, child("sleep", "600") as program, recorder_of(where, "--last", "1s", "-p", program.pid) as recorder:
        ctop_ok("dump", recorder.process.pid)
        recorder.until_said(r"no slice: no sample in the [\d.]+ s before SIGUSR2")
        recorder.until_said("the target was idle")
        recorder.end()
        check(any("slices: 0 written, 2 not" in line for line in recorder.said), f"{recorder.said}")
        check(not recorder.slices() and not os.path.exists(os.path.join(where, "x.ctop")), "a file without samples")


@case
def a_full_disk_is_told_and_recording_goes_on():
    need_root()
    with directory() as where, target("spin") as program:
        mount = 'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/full" && exec "$@"'
        with recorder_of(where, "--last", "1s", "-p", program.pid, prefix=("unshare", "-m", "sh", "-c", mount, where)) as recorder:
            for _ in range(2):
                wait_for_cpu_time(program.pid, 0.5)
                ctop_ok("dump", recorder.process.pid)
                recorder.until_said(r"no slice: cannot write '.*': No space left on device")
                recorder.until_said("make room")
            inside = run("nsenter", "-t", recorder.process.pid, "-m", "ls", where)
            check(inside.stdout == "full\n", f"what was not whole is there: {inside.stdout}")


@case
def as_much_as_there_is_room_for():
    need_root()
    with directory() as where, target("spin") as program, recorder_of(where, "--last-size", "16M", "-p", program.pid) as recorder:
        check("the last 16.0 MiB of spin" in recorder.said[-1], f"{recorder.said}")
        wait_for_cpu_time(program.pid, 1)
        before, samples = (float(word) for word in asked_and_written(recorder, recorder.process.pid).groups()[1:])
        check(before > 0.5 and samples > 300, f"{recorder.said}")


@case
def a_full_disk_at_the_end():
    """That is no success, and leaves no part of a slice."""
    need_root()
    with directory() as where, target("spin") as program:
        script = 'mount -t tmpfs -o size=4k none "$0" && head -c 4096 /dev/zero >"$0/full" && { "$@"; echo "code $?"; ls "$0"; }'
        result = run("unshare", "-m", "sh", "-c", script, where, CTOP, "record", "-q", "--last", "1s", "--duration", "1", "-p", program.pid,
                     "-o", os.path.join(where, "x.ctop"))
    check(result.stdout == "code 1\nfull\n" and "No space left on device" in result.stderr, f"{result}")


@case
def who_is_asked():
    check_refused(ctop("dump", os.getpid()), 1, "is no flight recorder")
    check_refused(ctop("dump", "1,2"), 2, "one recorder at a time")
    check_refused(ctop("record", "--last", "1s", "--trigger", "event sched:sched_process_*", "--", "true"), 2, "more than one event")
    check_refused(ctop("record", "--last", "1s", "--trigger", "latency space::call>20ms", "--", "/bin/true"), 125, "has no function 'space::call'")
    check_refused(ctop("record", "--last", "1s", "--trigger", "latency call>20ms", "-a"), 2, "of which file is not said", "-p PID")
    check_refused(ctop("dump", "x"), 2, "x")
    # Whoever looks like one is not killed by the signal that it does not wait for.
    with child("record", "--last=1s", "600", executable=SPIN, stdout=subprocess.DEVNULL) as liar:
        check_refused(ctop("dump", liar.pid), 1, "is no flight recorder")
        check(liar.poll() is None, "it was killed")


@case
def one_that_another_program_has_started_is_asked():
    """timeout(1), sudo(8) and others stay, with the same words as the recorder that they started."""
    with directory() as where, target("spin") as program:
        with recorder_of(where, "--last", "1s", "-p", program.pid, prefix=("timeout", "600")) as recorder:
            own = int(re.search(r"'ctop dump (\d+)'", recorder.said[-1])[1])
            check(own != recorder.process.pid, "timeout was to stay")
            wait_for_cpu_time(program.pid, 0.5)
            asked_and_written(recorder, own)
            check_refused(ctop("dump", recorder.process.pid), 1, "is no flight recorder")
            recorder.end()


@case
def an_ordinary_user_has_his_own():
    need_root()
    with readable_ctop() as (where, program):
        copy_for_all(where, SPIN)
        os.chmod(where, 0o777)
        user = plain_user()
        with recorder_of(where, "--last", "1s", "--", os.path.join(where, "spin"), "600", prefix=user, program=program) as recorder:
            spin, = [pid for pid in child_pids(recorder.process.pid) if "spin" in status_of(pid, "Name")]
            wait_for_cpu_time(spin, 0.5)
            other = run("setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", program, "dump", recorder.process.pid)
            check_refused(other, 1, "cannot ask process", "Operation not permitted")
            check_refused(run("setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", program, "dump"), 1, "no flight recorder of yours")
            own = run(*user, program, "dump")
            check(own.returncode == 0, own.stderr)
            found = recorder.until_said(rf"ctop: (\S+\.ctop): .* {BEFORE}SIGUSR2")
            os.kill(spin, signal.SIGKILL)
            check(os.stat(found[1]).st_uid == int(status_of(recorder.process.pid, "Uid").split()[0]) != 0, "not his")


@case
def bad_input():
    for words, mark in (("cpu", ">>>"), ("cpu>", "cpu>>>>"), ("cpu>x%", "cpu>>>>x%"), ("cpu>5", "cpu>5>>>"), ("cpu>5% for", "for>>>"),
                        ("cpu>5% for 2parsecs", "for >>>2parsecs"), ("cpu>5% for 2s now", "2s >>>now"), ("cpus>5%", ">>>cpus"),
                        ("exit!=1", "exit!=>>>1"), ("file", "file>>>"), ("file /tmp/", "/tmp/>>>"), ("event", "event>>>"), ("", ">>>"), ("cpu>1e9%", ">>>1e9"), ("wait", "wait>>>"), ("wait>x", "wait>>>>x"),
                        ("wait>1ms", "wait>>>>1ms"), ("wait>1s for fun", "for >>>fun"), ("wait>1s for lock,", "lock,>>>"), ("wait>1s at", "at>>>"),
                        ("latency", "latency>>>"), ("latency x", "latency >>>x"), ("latency /bin/x:f", ">>>/bin/x:f"), ("latency /bin/x:f>", "f>>>>"),
                        ("latency /bin/x:f>1s now", "1s >>>now")):
        result = ctop("record", "--last", "1s", "--trigger", words, "--", "true")
        check_refused(result, 2, "cpu>150% for 2s")
        check(mark in result.stderr, f"{words}: {mark} is not in {result.stderr}")
    for arguments, words in ((("--keep", "2"), "--keep requires --last"), (("--trigger", "exit!=0"), "--trigger requires --last"),
                             (("--post", "1s"), "--post requires --last"), (("--last-size", "8M", "--html", "x.html"), "mutually exclusive"),
                             (("--last", "soon"), "requires a time"), (("--last", "1ms"), "out of range"),
                             (("--last", "1s", "--last-size", "8Q"), "requires a size"), (("--last", "1s", "--last-size", "1K"), "out of range"),
                             (("--last", "1s", "--html", "x.html"), "mutually exclusive"), (("--last", "1s", "-o", "-"), "slices are files"),
                             (("--last", "1s", "--trigger", "event no:such"), "unknown event 'no:such'")):
        check_refused(ctop("record", *arguments, "--", "true"), 2, words)
    check_refused(ctop("dump", "x"), 2, "as in dump 1234")
    check_refused(ctop("dump", "1,2"), 2, "one recorder at a time", "as in dump 1234")
    for output in "/no/such/x.ctop", "/proc/version/x.ctop":
        result = ctop("record", "--last", "1s", "-o", output, "-p", os.getpid())
        check_refused(result, 1, f"slices cannot be written into '{os.path.dirname(output)}'", "-o FILE")
    check_refused(ctop("record", "--last", "1s", "--trigger", "exit!=0", "-p", os.getpid()), 2, "only a command's exit status is known")
    check_refused(ctop("record", "--last", "1s", "--trigger", "wait>1s", "-a", "-C", "0"), 2, "of some of all processes waits are not known")
    check_refused(ctop("record", "--last", "1s", "--trigger", "file /no/such/place", "-p", os.getpid()), 1, "cannot watch for '/no/such/place'")


main()
