#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What threads did with their time adds up, and is what their own clocks and the scheduler say."""

import contextlib
import json
import os
import re
import signal
import subprocess

from harness import (BUILD, CTOP, Skip, alone, case, check, child, copy_for_all, ctop_ok, directory, main, need_program, need_root,
                     paranoid, plain_user, readable_ctop, run, status_of, target, wait_for_samples, wait_until)

FROM_SWITCHES, FROM_LOOKS, FROM_BOTH, FROM_WAKINGS, FROM_SOME_WAKINGS = 1, 2, 3, 4, 5
BY_RECORDS = (FROM_SWITCHES, FROM_WAKINGS, FROM_SOME_WAKINGS)
KINDS = ("running", "runnable", "waiting", "unknown")
# What a switch of threads costs, and ctop's own part of it, is time of the thread's by its own clock.
SWITCH_SECONDS = 200e-6


def workload(name):
    return os.path.join(BUILD, "workloads", name)


def check_adds_up(stats):
    """Each thread's kinds come to the time that it lived, and all threads to the sums."""
    threads = stats["threads"]
    check(threads and len(threads) == stats["time"]["threads"], f"{stats['time']}, {threads}")
    for thread in threads:
        waited = sum(thread["waits"].values())
        check(abs(waited - thread["waiting"]) < 1e-6, f"{thread}")
        total = sum(thread[kind] for kind in KINDS)
        check(abs(total - thread["observed"]) <= 1e-3 * thread["observed"] + 1e-8, f"{thread}")
    for kind in (*KINDS, "observed"):
        total = sum(thread[kind] for thread in threads)
        check(abs(total - stats["time"][f"{kind}_seconds"]) < 1e-5 * len(threads), f"{kind}: {total}, {stats['time']}")


def timed(where, *arguments, prefix=(), program=CTOP):
    """The statistics of a recording, whose account was checked; and what its command printed."""
    path = os.path.join(where, "stats.json")
    result = run(*prefix, program, "record", "-q", "-o", os.path.join(where, "x.ctop"), "--stats", path, *arguments)
    check(result.returncode == 0, result.stderr)
    with open(path, encoding="utf-8") as file:
        stats = json.load(file)
    check_adds_up(stats)
    return stats, result.stdout


def check_known_waits(stats, printed):
    """The workload has measured each thread's life, CPU time and waits by its own clocks."""
    by_tid = {thread["tid"]: thread for thread in stats["threads"]}
    measured = re.findall(r"^(\w+) (\d+) ([\d.]+) ([\d.]+) ([\d.]+)$", printed, re.M)
    check(len(measured) == 6, printed)
    for name, tid, *milliseconds in measured:
        thread = by_tid[int(tid)]
        lived, used, waited = (float(value) / 1e3 for value in milliseconds)
        what = f"{name}: lived {lived}, used {used}, waited {waited}: {thread}"
        check(thread["name"] == name and thread["unknown"] == 0, what)
        check(thread["observed"] >= lived, what)
        # It may be preempted inside a call that waits, and is running where that begins and ends.
        check(thread["waiting"] <= 1.01 * waited + 2e-3, what)
        switches = 20 * 4 if name in ("holder", "blocked", "sleeper") else 20 * 10 * 2
        slack = min(switches * SWITCH_SECONDS, 0.5 * waited)
        check(thread["waiting"] >= 0.99 * waited - thread["runnable"] - slack - 2e-3, what)
        check(thread["running"] >= 0.99 * used - switches * SWITCH_SECONDS - 2e-3, what)


@case
def waits_are_as_long_as_by_the_threads_own_clocks():
    need_root()
    with directory() as where:
        stats, printed = timed(where, "--", workload("waits"), "60", "20")
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    check(stats["time"]["source"] in BY_RECORDS, f"{stats['time']}")
    check_known_waits(stats, printed)
    line = re.search(r"^time +cpu ([\d.]+)%, run-queue ([\d.]+)%, waiting ([\d.]+)% of .* of 7 threads", report, re.M)
    check(line, report)
    shares = [stats["time"][f"{kind}_seconds"] / stats["time"]["observed_seconds"] * 100 for kind in KINDS]
    check(all(abs(float(told) - share) < 0.01 for told, share in zip(line.groups(), shares)), f"{line.group(0)}, {shares}")


@case
@alone("sets kernel.perf_event_paranoid")
def an_ordinary_user_has_the_same():
    need_root()
    with paranoid(2), readable_ctop() as (where, program):
        copy_for_all(where, workload("waits"))
        stats, printed = timed(where, "--", os.path.join(where, "waits"), "60", "20", prefix=plain_user(), program=program)
    check(stats["time"]["source"] == FROM_SWITCHES, f"{stats['time']}")
    check_known_waits(stats, printed)


@case
def who_is_not_followed_is_not_in_it():
    """Without children they have no time, and the target has its own."""
    need_root()
    with directory() as where:
        stats, _ = timed(where, "--no-inherit", "--", "sh", "-c", "for i in 1 2 3 4; do sleep 0.2; done; sleep 0.1")
    check(len(stats["threads"]) == 1, f"{stats['threads']}")
    check(stats["time"]["runnable_seconds"] < 0.2 and stats["time"]["waiting_seconds"] > 0.7, f"{stats['time']}")


@case
@alone("counts programs by name among all that run, of which 4,096 threads are told one by one")
def of_the_whole_machine():
    """Everybody's threads, but for the kernel's and our own: those of a program have the times of their own clocks, and who ends has ended."""
    need_root()
    with directory() as where, target("deadlock") as program:
        stats, printed = timed(where, "-a", "--time", "wall", "--", "sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do /bin/true; done; {workload('waits')} 60 20")
        names = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                names[int(pid)] = file.read().strip()
    check_known_waits(stats, printed)
    by_tid = {thread["tid"]: thread for thread in stats["threads"]}
    check(program.pid in by_tid and os.getpid() in by_tid, "programs that were there before")
    check(not any(names.get(tid, "").startswith(("kworker", "ksoftirqd", "rcu_")) for tid in by_tid), "threads of the kernel")
    ended = [thread for thread in stats["threads"] if thread["name"] == "true"]
    check(len(ended) == 8 and all(thread["observed"] < 1 for thread in ended), f"{ended}")


@case
def threads_that_waited_before_and_after():
    """There is no record of them at all."""
    need_root()
    with directory() as where, target("deadlock") as program:
        stats, _ = timed(where, "-p", program.pid, "--duration", "1")
        listed = listed_threads(ctop_ok("report", "--group", "thread", os.path.join(where, "x.ctop")).stdout)
    check(len(stats["threads"]) == len(listed) == 4, f"{stats['threads']}, {listed}")
    check(all(row[3] == "lock" and row[2] > 0.5 for row in listed.values()), f"{listed}")
    for thread in stats["threads"]:
        check(thread["waiting"] == thread["observed"], f"{thread}")
        check(thread["waits"].keys() == {"lock"}, f"{thread}")
        check(abs(thread["observed"] - stats["duration_seconds"]) < 1e-5, f"{thread}, {stats['duration_seconds']}")


def listed_threads(report):
    """{tid: (CPU, queued, waited, mostly for)} of a report's list of threads."""
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +[\d,]+ +([\d.]+) +([\d.]+) +([\d.]+)  (.{10}) +\d+ +(\d+)  ", report, re.M)
    return {int(tid): (float(cpu), float(queued), float(waited), most.strip()) for cpu, queued, waited, most, tid in rows}


@case
def the_list_of_threads_has_them():
    """Each with its seconds, those without a sample, too; of a part of the run nobody knows."""
    need_root()
    with directory() as where:
        stats, _ = timed(where, "--", workload("waits"), "60", "20")
        path = os.path.join(where, "x.ctop")
        listed = listed_threads(ctop_ok("report", "--group", "thread", "--min-percent", "0", path).stdout)
        busiest = max(stats["threads"], key=lambda thread: thread["running"])["tid"]
        one = listed_threads(ctop_ok("report", "--group", "thread", "--tid", str(busiest), "--min-percent", "0", path).stdout)
        processes = ctop_ok("report", "--group", "process", "--min-percent", "0", path).stdout
        part = ctop_ok("report", "--group", "thread", "--from", "0.001", path).stdout
        merged = os.path.join(where, "m.ctop")
        ctop_ok("merge", merged, path, path)
        of_both = ctop_ok("report", "--group", "thread", merged).stdout
    check(listed.keys() == {thread["tid"] for thread in stats["threads"]}, f"{listed}, {stats['threads']}")
    for thread in stats["threads"]:
        *seconds, most = listed[thread["tid"]]
        own = [thread[kind] for kind in ("running", "runnable", "waiting")]
        check(all(abs(a - b) <= 1e-3 for a, b in zip(seconds, own)), f"{listed[thread['tid']]}: {thread}")
        check(most == max(thread["waits"], key=thread["waits"].get, default=""), f"{most}: {thread}")
    check(one.keys() == {busiest}, f"{one}")
    waited = re.search(r"^ *[\d.]+ +[\d.]+ +[\d,]+ +[\d.]+ +[\d.]+ +([\d.]+) ", processes, re.M)
    check(waited and abs(float(waited.group(1)) - stats["time"]["waiting_seconds"]) < 2e-3, processes)
    check("waited s" not in part and "waited s" not in of_both, f"{part}\n{of_both}")


def check_waits_for(thread, kind, least=0.5):
    """Most of what it waited was of this kind."""
    check(thread["waits"].get(kind, 0) > least * thread["waiting"], f"{kind}: {thread}")


@case
def what_threads_wait_for():
    need_root()
    poll = f"exec {need_program('python3')} -c 'import os, select; select.select([os.pipe()[0]], [], [], 3)'"
    with directory() as where:
        stats, _ = timed(where, "--", "sh", "-c", f"(sleep 3 | cat; :) & {poll}")
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    by_name = {thread["name"]: thread for thread in stats["threads"]}
    check(len(stats["threads"]) == 4, f"{stats['threads']}")
    check_waits_for(by_name["sh"], "child")
    check_waits_for(by_name["sleep"], "sleep")
    check_waits_for(by_name["cat"], "I/O")
    check_waits_for(max(stats["threads"], key=lambda thread: thread["waits"].get("poll", 0)), "poll")
    line = re.search(r"^waits +.*", report, re.M)
    check(line and all(word in line.group(0) for word in ("child ", "sleep ", "I/O ", "poll ")), report)


@case
def threads_that_only_compute():
    need_root()
    with directory() as where, target("spin") as program:
        stats, _ = timed(where, "-e", "cpu-clock", "-p", program.pid, "--duration", "1")
    for thread in stats["threads"]:
        check(thread["waiting"] == thread["unknown"] == 0, f"{thread}")
        check(abs(thread["observed"] - stats["duration_seconds"]) < 1e-5, f"{thread}, {stats['duration_seconds']}")
    # What the host took of the CPU is time of the thread that was on it, but nobody's CPU time.
    least = stats["events"][0]["counted"] / 1e9 - 0.01
    check(stats["time"]["running_seconds"] >= 0.98 * least, f"{stats['time']}: {least} s by its clock")


@case
def time_that_sampling_is_off_is_not_observed():
    need_root()
    with directory() as where, target("deadlock") as program:
        stats, _ = timed(where, "-p", program.pid, "--delay", "0.3", "--duration", "1.3")
    for thread in stats["threads"]:
        check(thread["waiting"] == thread["observed"], f"{thread}")
        check(abs(thread["observed"] - stats["duration_seconds"]) < 1e-3, f"{thread}, {stats['duration_seconds']}")


@case
def programs_and_threads_come_and_go():
    need_root()
    with directory() as where:
        stats, _ = timed(where, "--", "sh", "-c", "for i in 1 2 3 4 5; do sh -c :; done; :")
    check(stats["time"]["source"] in BY_RECORDS, f"{stats['time']}")
    check(len({thread["pid"] for thread in stats["threads"]}) == 6, f"{stats['threads']}")
    check(stats["time"]["unknown_seconds"] <= 0.001 * stats["time"]["observed_seconds"], f"{stats['time']}")


@case
def too_few_descriptors_leave_looks():
    need_root()
    limit = [need_program("prlimit"), "--nofile=300:300"]
    with directory() as where, target("sleepwork") as program:
        stats, _ = timed(where, "-p", program.pid, "--duration", "2", prefix=limit)
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    (thread,) = stats["threads"]
    check(stats["time"]["source"] == FROM_LOOKS and "schedstat" in report, f"{stats['time']}\n{report}")
    check(thread["unknown"] == 0 and thread["waiting"] > 0, f"{thread}")
    counted = stats["events"][0]["counted"] / 1e9
    # Of a thread that runs schedstat is a tick behind, at either end.
    check(abs(thread["running"] - counted) < 0.02 * counted + 0.03, f"{counted} s by its clock: {thread}")


@case
@alone("where others want the CPUs, records of its wakings are lost")
def what_switches_take_is_computing():
    """As the scheduler has it: in virtual machines the kernel's record of a switch comes 10 us after it."""
    need_root()
    need_program("perf")
    with directory() as where:
        stats, printed = timed(where, "--max-overhead", "0", "--", "sh", "-c", "perf bench sched pipe -l 150000 >/dev/null; times")
    need_wakings(stats)
    if stats["time"]["unknown_seconds"] > 0.005 * stats["time"]["observed_seconds"]:
        raise Skip(f"records of switches were lost: {stats['time']}")
    used = sum(60 * int(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", printed.splitlines()[1]))
    ran = stats["time"]["running_seconds"]
    # It is found out while the first switches go by.
    check(abs(ran - used) < 0.1 * used + 0.15, f"{used} s by the kernel: {stats['time']}")


@case
def the_guard_holds_switches_back():
    need_root()
    bench = [need_program("perf"), "bench", "sched", "pipe", "-l", "60000"]
    with directory() as where:
        stats, _ = timed(where, "--max-overhead", "1", "--", *bench)
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    check(stats["time"]["source"] == FROM_BOTH, f"{stats['time']}")
    check("--max-overhead" in re.search(r"^time .*(\n .*)*", report, re.M).group(0), report)
    busy = stats["events"][0]["counted"] / 1e9
    seen = stats["time"]["running_seconds"] + stats["time"]["unknown_seconds"]
    # The event's own clock leaves out part of what switches cost.
    check(stats["time"]["running_seconds"] < 1.4 * busy + 0.1 and seen > 0.5 * busy, f"{busy} s by its clock: {stats['time']}")


def check_queued(stats, printed):
    """As long as the scheduler says, from waking on, of the two that want one CPU."""
    by_tid = {thread["tid"]: thread for thread in stats["threads"]}
    told = re.findall(r"^(\w+) (\d+) ([\d.]+)$", printed, re.M)
    check(len(told) == 2, printed)
    for name, tid, milliseconds in told:
        queued, thread = float(milliseconds) / 1e3, by_tid[int(tid)]
        check(thread["name"] == name and thread["unknown"] == 0, f"{name}: {thread}")
        # It wakes up on its way to the run queue, and is on its way from there to the CPU.
        # Where others want the CPUs, too, both ways are longer. A waking of the 60 that the kernel does not tell takes its share along.
        untold = 2 * stats["wakings_untold"] / 60
        check(-(0.01 + untold) * queued < thread["runnable"] - queued + 60 * SWITCH_SECONDS, f"{name}: {queued} s by schedstat: {thread}")
        check(thread["runnable"] - queued < 0.1 * queued + 60 * SWITCH_SECONDS, f"{name}: {queued} s by schedstat: {thread}")


def need_wakings(stats):
    if stats["time"]["source"] != FROM_WAKINGS or stats["wakings_lost"]:
        raise Skip(f"no records of each waking here: {stats['time']['source']}, {stats['wakings_lost']} lost")


def queued_of(pid):
    """Of each thread, how many seconds it has wanted a CPU and had none."""
    queued = {}
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as schedstat:
            queued[tid] = int(schedstat.read().split()[1]) / 1e9
    return queued


@case
def who_was_woken_wants_a_cpu():
    need_root()
    with directory() as where:
        # The guard may let wakings go on a machine that does much else.
        stats, printed = timed(where, "--max-overhead", "0", "--", workload("woken"), "60")
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
        need_wakings(stats)
        check_queued(stats, printed)
        check("(run-queue: from waking on)" in report, report)
        # Threads that are attached as they run, with others beside them.
        with child(workload("woken"), "600", "100000", stdout=subprocess.DEVNULL) as program:
            wait_until(lambda: switches_of(program.pid), "its threads")
            before = queued_of(program.pid)
            stats, _ = timed(where, "--max-overhead", "0", "-p", program.pid, "--duration", "1")
            after = queued_of(program.pid)
        need_wakings(stats)
        (woken,) = [thread for thread in stats["threads"] if thread["name"] == "woken" and thread["tid"] != program.pid]
        # How much that is, is up to the kernel: no more than it says of a time that is longer by ctop's start and end.
        queued = after[woken["tid"]] - before[woken["tid"]]
        check(woken["running"] > 0 and 0 < woken["runnable"] <= queued + 0.01, f"{queued} s by the kernel, {woken}")


@case
def without_wakings_it_is_said():
    """In a pid namespace, where the kernel tells other numbers."""
    need_root()
    apart = [need_program("unshare"), "--pid", "--fork", "--mount-proc"]
    with directory() as where:
        if run(*apart, "true").returncode:
            raise Skip("no pid namespaces here")
        stats, _ = timed(where, "--", workload("woken"), "60", prefix=apart)
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    check(stats["time"]["source"] == FROM_SWITCHES and "preempted, not from waking on" in report, f"{stats['time']}\n{report}")


@case
def the_guard_gives_wakings_up_first():
    """Its switches alone are below what is allowed, both are not."""
    need_root()
    bench = [need_program("perf"), "bench", "sched", "pipe", "-l", "60000"]
    with directory() as where:
        least, most = 1, 90
        while True:  # what that is depends on the machine
            if least > most:
                raise Skip("no such limit on this machine")
            percent = (least + most) // 2
            stats, _ = timed(where, "--max-overhead", str(percent), "--", *bench)
            source = stats["time"]["source"]
            if source == FROM_SOME_WAKINGS:
                break
            if source == FROM_SWITCHES:
                raise Skip("no records of wakings here")
            least, most = (percent + 1, most) if source == FROM_BOTH else (least, percent - 1)
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    check("wakings cost more than --max-overhead" in " ".join(report.split()), report)


def switches_of(pid):
    return int(status_of(pid, "voluntary_ctxt_switches"))


@contextlib.contextmanager
def two_that_switch():
    bench = [need_program("perf"), "bench", "sched", "pipe", "-l", "100000000"]
    with child(*bench, stdout=subprocess.DEVNULL, start_new_session=True) as program:
        try:
            yield program
        finally:
            os.killpg(program.pid, signal.SIGKILL)


@case
def what_lost_records_hide_is_unknown():
    need_root()
    with directory() as where, two_that_switch() as program:
        path, recording = os.path.join(where, "stats.json"), os.path.join(where, "x.ctop")
        command = [CTOP, "record", "-q", "--max-overhead", "0", "-o", recording, "--stats", path, "-p", program.pid]
        with child(*command) as recorder:
            wait_for_samples(recorder, recording)
            recorder.send_signal(signal.SIGSTOP)
            before = switches_of(program.pid)
            wait_until(lambda: switches_of(program.pid) > before + 20000, "more than the rings hold")
            recorder.send_signal(signal.SIGCONT)
            recorder.send_signal(signal.SIGINT)
            check(recorder.wait() == 0, "the recorder failed")
        with open(path, encoding="utf-8") as file:
            stats = json.load(file)
    check_adds_up(stats)
    check(stats["time"]["unknown_seconds"] > 0, f"{stats['time']}")


@case
@alone("perf's tracepoints lose records on a busy machine")
def as_perf_sched_has_it():
    need_root()
    perf = need_program("perf")
    with directory() as where:
        trace = os.path.join(where, "sched.data")
        path = os.path.join(where, "stats.json")
        result = run(perf, "sched", "record", "-q", "-o", trace, "--", CTOP, "record", "-q", "-o",
                     os.path.join(where, "x.ctop"), "--stats", path, "--", workload("waits"), "60", "20")
        if result.returncode or not os.path.exists(path):
            raise Skip(f"perf sched record does not work here: {result.stderr.strip()[-100:]}")
        with open(path, encoding="utf-8") as file:
            stats = json.load(file)
        told = run(perf, "script", "--show-lost-events", "-i", trace, "--ns", "-F", "time,event,trace")
    check_adds_up(stats)
    if "PERF_RECORD_LOST" in told.stdout or told.returncode:
        raise Skip("perf lost records")
    out, waiting = {}, {}
    switch = r"^ *([\d.]+): +sched:sched_switch: .*prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+) "
    waking = r"^ *([\d.]+): +sched:sched_waking: .*()() pid=(\d+) "
    records = re.findall(switch, told.stdout, re.M)
    if stats["time"]["source"] == FROM_WAKINGS:
        records += re.findall(waking, told.stdout, re.M)
    for time, before, state, after in sorted(records, key=lambda record: float(record[0])):
        # Of a CPU that was idle the kernel (6.18) leaves some switches out: then it came back some us before it went again.
        for tid in (after, before):
            if tid in out:  # of a waking the latter alone
                since, kept = out.pop(tid)
                if not kept.startswith("R"):
                    waiting[int(tid)] = waiting.get(int(tid), 0) + float(time) - since
        if before:
            out[before] = float(time), state
    if not waiting:
        raise Skip(f"perf script tells of no switches: {told.stdout[:200]}")
    for thread in stats["threads"]:
        if thread["name"] not in ("sleeper", "holder", "blocked"):
            continue
        by_perf = waiting.get(thread["tid"], 0)
        check(abs(thread["waiting"] - by_perf) < 0.01 * by_perf + 2e-3, f"{by_perf} by perf: {thread}")


if __name__ == "__main__":
    main()
