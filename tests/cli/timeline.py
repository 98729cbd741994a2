#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each thread did when is what the account of its time and the scheduler's records say."""

import collections
import json
import os
import re
import subprocess

from harness import BUILD, CTOP, Skip, case, cgroup, check, child, ctop_ok, directory, main, need_program, need_root, plain_user, readable_ctop, run, target

STATES = ("running", "runnable", "waiting")
# What one may take on a machine that is slow and busy.
SWITCH_SECONDS = 200e-6


def workload(name):
    return os.path.join(BUILD, "workloads", name)


def rows_of(report):
    """{tid: (computed, queued, waited, name, cells)} of a report's timeline; times in s."""
    found = re.findall(r"^ *([\d.]+) +([\d.]+) +([\d.]+) +(\d+)  (.*?) *\|(.*)\|$", report, re.M)
    return {int(tid): (float(a), float(b), float(c), name, cells) for a, b, c, tid, name, cells in found}


def recorded(where, *arguments):
    path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
    ctop_ok("record", "-q", "-o", path, "--stats", stats, *arguments)
    with open(stats, encoding="utf-8") as file:
        return path, json.load(file)["threads"]


@case
def sums_are_those_of_the_account():
    """Each thread's, to the rounding; and all that it lived is one state or another."""
    need_root()
    with directory() as where:
        path, threads = recorded(where, "--", workload("waits"), "600", "20")
        rows = rows_of(ctop_ok("report", "--timeline", path).stdout)
    check(rows.keys() == {thread["tid"] for thread in threads}, f"{rows}, {threads}")
    for thread in threads:
        *seconds, name, cells = rows[thread["tid"]]
        check(name == thread["name"], f"{name}: {thread}")
        check(all(abs(told - thread[state]) < 1.1e-3 for told, state in zip(seconds, STATES)), f"{seconds}: {thread}")
        check(abs(sum(seconds) + thread["unknown"] - thread["observed"]) < 4e-3, f"{seconds}: {thread}")
        check(cells.strip() and not set(cells) - set("#+qlipscfo-? "), cells)


@case
def states_are_where_they_were():
    """One that computes is seen computing, those that wait for a lock waiting for it."""
    need_root()
    with directory() as where, target("deadlock") as program:
        path, _ = recorded(where, "-p", program.pid, "--duration", "1")
        waiting = rows_of(ctop_ok("report", "--timeline", path).stdout)
    check(len(waiting) == 4, f"{waiting}")
    for *_, cells in waiting.values():
        check(cells.count("l") > 0.5 * len(cells.strip()), f"{waiting}")
    with directory() as where, target("spin") as program:
        path, _ = recorded(where, "-e", "cpu-clock", "-p", program.pid, "--duration", "1")
        computing = rows_of(ctop_ok("report", "--timeline", path).stdout)
        part = ctop_ok("report", "--timeline", "--from", "0.2", "--to", "0.4", path).stdout
    for *_, cells in computing.values():
        check(not set(cells) - set("#q+ "), f"{computing}")
    check("from 0.200 s to 0.400 s" in part, part)
    for computed, queued, waited, *_ in rows_of(part).values():
        check(abs(computed + queued + waited - 0.2) < 0.02, part)


def run_times(path):
    """{tid: (switches, s on a CPU)} by perf's summary of the scheduler's records."""
    summary = subprocess.run([need_program("perf"), "sched", "timehist", "-i", path, "-s"], check=False, capture_output=True, text=True, errors="replace", timeout=300)
    rows = re.findall(r"^ *\S.*?\[(\d+)(?:/\d+)?\] +-?\d+ +(\d+) +([\d.]+) ", summary.stdout, re.M)
    return {int(tid): (int(switches), float(ms) / 1e3) for tid, switches, ms in rows}


def told_in_full(path):
    """{tid: s on a CPU} by the records themselves, without threads that left a CPU and had not come there, or had and never left: of one that was idle the kernel (6.18) leaves switches out."""
    told = run("perf", "script", "-i", path, "-F", "cpu,time,event,trace").stdout
    on, half, seconds = {}, set(), collections.Counter()
    for cpu, moment, before, after in re.findall(r"^ *\[(\d+)\] +([\d.]+): +sched:sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+) ", told, re.M):
        tid, since = on.setdefault(cpu, (int(before), float(moment)))
        if tid != int(before):
            half |= {int(before), tid}
        seconds[tid] += float(moment) - since
        on[cpu] = int(after), float(moment)
    return {tid: ran for tid, ran in seconds.items() if tid not in half}


@case
def computing_is_what_perf_sched_says():
    """The same threads, at the same time."""
    need_root()
    perf = need_program("perf")
    with directory() as where:
        data = os.path.join(where, "perf.data")
        path = os.path.join(where, "x.ctop")
        result = run(perf, "sched", "record", "-q", "-m", "4096", "-o", data, "--", CTOP, "record", "-q", "-o", path, "--", workload("waits"), "600", "20")
        if result.returncode or "LOST" in result.stderr.upper():
            raise Skip(f"perf sched record: {result.stderr.strip()[:120]}")
        rows = rows_of(ctop_ok("report", "--timeline", path).stdout)
        scheduled = run_times(data)
        told = told_in_full(data)
    # Of some that end timehist (6.1) leaves out the last stretch, whose records are there.
    known = {tid for tid in rows.keys() & scheduled.keys() & told.keys() if abs(scheduled[tid][1] - told[tid]) < 1e-3}
    if not known:
        raise Skip("perf sched timehist names no thread whose switches are all told")
    for tid in known:
        computed, _, _, name, _ = rows[tid]
        switches, seconds = scheduled[tid]
        # What the first thread did before it became the workload is not ctop's; the two see a switch at its beginning and at its end.
        check(name == "waits" or abs(computed - seconds) < 0.01 * seconds + 5e-3 + switches * SWITCH_SECONDS, f"{name} {tid}: {computed}, {seconds}")


@case
def chrome_has_states():
    need_root()
    with directory() as where:
        path, threads = recorded(where, "--", workload("waits"), "600", "20")
        out = os.path.join(where, "x.trace.json")
        ctop_ok("export", "chrome", "-o", out, path)
        with open(out, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X" and event["cat"] == "state"]
    check(slices, f"{len(events)} events")
    by_tid = {}
    for event in slices:
        by_tid.setdefault(event["tid"] - 10**10, []).append(event)
    check(by_tid.keys() == {thread["tid"] for thread in threads}, f"{by_tid.keys()}, {threads}")
    for thread in threads:
        mine = by_tid[thread["tid"]]
        total = sum(event["dur"] for event in mine) / 1e6
        check(abs(total - thread["observed"]) < 0.01 * thread["observed"] + 5e-3, f"{total}: {thread}")
        check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(mine, mine[1:])), f"{thread}")


def bounds_us(events):
    times = [moment for event in events if "ts" in event for moment in (event["ts"], event["ts"] + event.get("dur", 0))]
    return min(times), max(times)


@case
def chrome_has_the_part_that_is_asked_for():
    """Of time, and of threads: what is beside samples, too."""
    need_root()
    with directory() as where:
        path, threads = recorded(where, "--time", "wall", "--", workload("waits"), "600", "20")
        exported = {}
        for options in ((), ("--from", "0.1", "--to", "0.3"), ("--from", "0.2", "--to", "0.3"), ("--comm", "blocked")):
            out = os.path.join(where, "x.trace.json")
            ctop_ok("export", "chrome", *options, "-o", out, path)
            with open(out, encoding="utf-8") as file:
                exported[options] = [event for event in json.load(file)["traceEvents"] if event["tid"] >= 10**10]
    whole, part, shorter, one = exported.values()
    check({event.get("cat") for event in whole} >= {"state", "creation", "end"}, "what there is")
    (begin, end), (later, same) = bounds_us(part), bounds_us(shorter)
    check(abs(end - begin - 0.2e6) < 1 and abs(later - begin - 0.1e6) < 1 and abs(same - end) < 1, f"{begin} to {end}, {later} to {same}")
    blocked = {thread["tid"] for thread in threads if thread["name"] == "blocked"}
    check(one and {event["tid"] % 10**10 for event in one} == blocked, f"{blocked}")
    check(len(part) < len(whole) and len(one) < len(whole), f"{len(part)}, {len(one)} of {len(whole)}")


@case
def brief_threads_make_it_no_coarser():
    """There is no room for all of thousands that come and go: those that last are told, in tiles as short as without them."""
    need_root()
    with directory() as where:
        path, _ = recorded(where, "--", "sh", "-c", "sleep 600 & i=0; while [ $i -lt 6000 ]; do /bin/true; i=$((i+1)); done; kill $!")
        report = ctop_ok("report", "--timeline", path).stdout
    sleeps = [row for row in rows_of(report).values() if row[3] == "sleep"]
    check(len(sleeps) == 1 and "s" in sleeps[0][4], report[:3000])
    longer = re.search(r"^What is shorter than (\d+) ms is put together", report, re.M)
    check(not longer or int(longer.group(1)) < 100, report[:3000])
    check(re.search(r"^\d+ threads are not shown", report, re.M), report[:3000])


@case
def a_thread_that_only_waited_has_a_row():
    need_root()
    with directory() as where, target("deadlock") as program:
        path, _ = recorded(where, "-p", program.pid, "--duration", "1")
        report = ctop_ok("report", "--timeline", "--tid", program.pid, path).stdout
    check(rows_of(report).keys() == {program.pid}, report)


@case
def chrome_has_the_calls_of_waits():
    """Where a thread waits all the time the call is known of all of it, with what it waits for, as /proc has both."""
    need_root()
    inside, outside = os.pipe()
    with directory() as where, child("cat", stdin=inside) as cat, child("sleep", "60") as sleep:
        path, threads = recorded(where, "--time", "wall", "-p", f"{cat.pid},{sleep.pid}", "--duration", "0.5")
        out = os.path.join(where, "x.trace.json")
        ctop_ok("export", "chrome", "-o", out, path)
        pipe = os.readlink(f"/proc/{cat.pid}/fd/0")
        with open(out, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        # Of cpu-clock there is nothing: what is shown is the waits, and the timeline the same.
        rows = rows_of(ctop_ok("report", "--timeline", path).stdout)
    check(rows.keys() == {cat.pid, sleep.pid}, f"{rows}")
    os.close(inside)
    os.close(outside)
    calls = {event["tid"] - 2 * 10**10: event for event in events if event.get("cat") == "wait in system call"}
    check(calls.keys() == {cat.pid, sleep.pid}, f"{calls}")
    names = {tid: (event["name"], event["args"]["waits for"]) for tid, event in calls.items()}
    check(names == {cat.pid: ("read", pipe), sleep.pid: ("clock_nanosleep", "")}, f"{names}, {pipe}")
    for thread in threads:
        check(abs(calls[thread["tid"]]["dur"] / 1e6 - thread["waiting"]) < 5e-3, f"{calls}: {thread}")


def calls_by_strace(*command):
    """{name: calls} as strace counts them, without those that start the program."""
    summary = subprocess.run([need_program("strace"), "-f", "-c", *command], check=False, capture_output=True, text=True, timeout=300).stderr
    found = {words[-1]: int(words[3]) for words in map(str.split, summary.splitlines()) if len(words) in (5, 6) and words[3].isdigit()}
    return {name: nr for name, nr in found.items() if name not in ("total", "execve")}


@case
def each_system_call_is_told():
    """Each call of a program once, as strace counts them, one behind the other."""
    need_root()
    command = "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=3000"
    expected = calls_by_strace(*command)
    check(expected.get("read", 0) >= 3000, f"{expected}")
    with directory() as where:
        path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
        refused = run(CTOP, "record", "-q", "--syscalls", "-o", path, "--stats", stats, "--", *command)
        if refused.returncode and "pid namespace" in refused.stderr:
            raise Skip(refused.stderr.splitlines()[0])
        check(not refused.returncode, refused.stderr)
        with open(stats, encoding="utf-8") as file:
            told = json.load(file)
        out = os.path.join(where, "x.trace.json")
        ctop_ok("export", "chrome", "-o", out, path)
        with open(out, encoding="utf-8") as file:
            calls = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "system call"]
    counted = {name: sum(event["name"] == name for event in calls) for name in expected}
    if told["calls_lost"]:
        # A call is there with both its records alone.
        check(all(counted[name] <= nr for name, nr in expected.items()), f"{counted}, {expected}")
        check(all(counted[name] >= expected[name] - told["calls_lost"] for name in expected), f"{counted}, {expected}, {told['calls_lost']}")
    else:
        check(counted == expected, f"{counted}, {expected}")
    check(told["calls"] >= len(calls) and not told["calls_given_up"], f"{told['calls']}, {len(calls)}")
    check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(calls, calls[1:])), "they overlap")


@case
def system_calls_take_privilege():
    """Who may not trace is told so, in a line of cause and one of remedy."""
    need_root()
    with readable_ctop() as (where, ctop):
        refused = run(*plain_user(), ctop, "record", "--syscalls", "-o", os.path.join(where, "x.ctop"), "--", "true")
    lines = refused.stderr.splitlines()
    check(refused.returncode and len(lines) == 2 and "--syscalls" in lines[1], f"{refused.returncode}: {refused.stderr}")


@case
def chrome_has_who_ended_the_longest_waits():
    need_root()
    with directory() as where:
        path, threads = recorded(where, "--max-overhead", "0", "--", workload("waits"), "600", "20")
        out = os.path.join(where, "x.trace.json")
        ctop_ok("export", "chrome", "-o", out, path)
        with open(out, encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "waking"]
        if not events:
            with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
                source = json.load(file)["time"]["source"]
            check(source != 4, f"records of wakings, and none of them here: {source}")
            raise Skip("no records of each waking here")
    names = {thread["tid"] + 10**10: thread["name"] for thread in threads}
    # By the lock's holder; the arrow goes from there.
    locks = [event for event in events if event["ph"] == "i" and names[event["tid"]] == "blocked" and event["name"].endswith(" holder")]
    check(locks and all(event["args"]["waited us"] > 0 for event in locks), f"{events}")
    arrows = {}
    for event in events:
        if event["ph"] in "sf":
            arrows.setdefault(event["id"], {})[event["ph"]] = event
    # Of who has ended it begins at its end.
    check(all(set(arrow) == {"s", "f"} and 0 <= arrow["f"]["ts"] - arrow["s"]["ts"] < 1000 for arrow in arrows.values()), f"{arrows}")
    ends = [(names[arrow["s"]["tid"]], names[arrow["f"]["tid"]]) for arrow in arrows.values()]
    check(ends.count(("holder", "blocked")) == len(locks), f"{ends}")


KINDS = ("name", "tid", "before", "after", "preempted", "migrated")


def recorded_moves(where):
    """A recording of the workload moved, what each of its threads said {name: {kind: number}}, and its CPUs."""
    path = os.path.join(where, "x.ctop")
    said = ctop_ok("record", "-q", "-o", path, "--max-overhead", "0", "--", workload("moved"), "600", "40").stdout
    lines = re.findall(r"^(\w+) (\d+) (\d+) (\d+) (\d+) (-?\d+)$", said, re.M)
    cpus = {int(cpu) for cpu in re.search(r"^cpus (\d+) (\d+)$", said, re.M).groups()}
    return path, {line[0]: dict(zip(KINDS[1:], map(int, line[1:]))) for line in lines}, cpus


def close(told, counted, is_least):
    """The kernel's count is of a moment before the thread's end; what records that were lost hid is missing."""
    return told <= counted + 3 and (is_least or told >= counted - 1 - 0.02 * counted)


@case
def events_are_as_the_kernel_counts_them():
    need_root()
    with directory() as where:
        path, said, cpus = recorded_moves(where)
        report = ctop_ok("report", "--timeline", path).stdout
    rows = re.findall(r"^ *([\d.]+|-) +([\d.]+|-) +([\d.]+|-) +(\d+)(\+?) +(\d+)\+? +(\d+)  (\w+)(?:, by \d+ (\w+))?$", report, re.M)
    rows = {row[7]: row for row in rows}
    check(rows.keys() == said.keys() | {"moved"}, f"{report}\n{said}")
    for name, (created, first_cpu, ended, preempted, least, migrated, tid, _, creator) in rows.items():
        check(ended != "-", report)
        if name == "moved":
            continue
        check(creator == ("moved" if name == "maker" else "maker") and created != "-" and first_cpu != "-", report)
        check(int(tid) == said[name]["tid"], f"{report}\n{said}")
        check(close(int(preempted), said[name]["preempted"], least), f"{name}: {report}\n{said}")
        if said[name]["migrated"] >= 0:
            check(close(int(migrated), said[name]["migrated"], least), f"{name}: {report}\n{said}")
    check(len(cpus) == 1 or rows["mover"][4] or int(rows["mover"][5]) >= 40, report)


@case
def chrome_has_events():
    need_root()
    with directory() as where:
        path, said, cpus = recorded_moves(where)
        out = os.path.join(where, "x.trace.json")
        ctop_ok("export", "chrome", "-o", out, path)
        with open(out, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    by_tid = {thread["tid"] + 10**10: name for name, thread in said.items()}
    created = {by_tid[event["tid"]]: event for event in events if event.get("cat") == "creation" and event["ph"] == "i"}
    check(created.keys() == said.keys(), f"{created}, {said}")
    for name, event in created.items():
        creator = "moved" if name == "maker" else "maker"
        check(said[name]["before"] <= event["ts"] * 1e3 + 1 and event["ts"] * 1e3 - 1 <= said[name]["after"], f"{event}, {said[name]}")
        check(re.fullmatch(rf"created by \d+ {creator}", event["name"]), f"{event}")
    # An arrow from the creator's row to the thread's, at the same time.
    arrows = {}
    for event in events:
        if event.get("cat") == "creation" and event["ph"] in "sf":
            arrows.setdefault(event["id"], {})[event["ph"]] = event
    ends = {by_tid[arrow["f"]["tid"]]: arrow for arrow in arrows.values()}
    check(ends.keys() == said.keys() and all(arrow["s"]["ts"] == arrow["f"]["ts"] for arrow in ends.values()), f"{arrows}")
    check(all(by_tid.get(arrow["s"]["tid"], "moved") == ("moved" if name == "maker" else "maker") for name, arrow in ends.items()), f"{ends}")
    ended = {by_tid.get(event["tid"], "moved"): event for event in events if event.get("cat") == "end"}
    check(ended.keys() == said.keys() | {"moved"}, f"{ended}")
    for name in said:
        happened = [event["args"] for event in events if event.get("cat") == "scheduling" and by_tid.get(event["tid"]) == name]
        for kind in ("preemptions", "migrations"):
            check(sum(args[kind] for args in happened) == ended[name]["args"][kind], f"{name} {kind}: {happened}, {ended[name]}")
    moves = [event["args"] for event in events if event.get("cat") == "scheduling" and by_tid.get(event["tid"]) == "mover" and event["args"]["migrations"] == 1]
    check(all({args["from CPU"], args["to CPU"]} == cpus for args in moves), f"{moves}, {cpus}")


@case
def threads_are_in_their_cgroups():
    """Each process where it is; those that it creates, too, also if they end before anybody asks."""
    need_root()
    with cgroup() as (mount, name), directory() as where, target("crowd", "children", "10") as inside, child("sleep", "60") as outside:
        with open(os.path.join(mount, name, "below", "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(inside.pid))
        path, _ = recorded(where, "-p", f"{inside.pid},{outside.pid}", "--duration", "0.5")
        report = ctop_ok("report", "--timeline", path).stdout
    told = {cgroup_path: int(nr) for nr, cgroup_path in
            re.findall(r"^ +[\d.]+ +[\d.]+ +[\d.]+ +(\d+)  (/.*|not known)$", report, re.M)}
    here = f"/{name}/below"
    # Of those that were there before, and ended at once, nobody could ask.
    missed, before = told.pop("not known", 0), len(re.findall(r"^ +- ", report, re.M))
    check(len(told) == 2 and missed <= before - 2, f"{told}, {missed} of {before}: {report}")
    check([nr for cgroup_path, nr in told.items() if cgroup_path != here] == [1], f"{told}: {report}")
    check(told[here] == len(rows_of(report)) - 1 - missed > 3, f"{told}: {report}")


@case
def a_cut_recording_says_what_samples_tell():
    """Without its end it has no tiles."""
    need_root()
    with directory() as where:
        path, _ = recorded(where, "-e", "cpu-clock", "--", workload("waits"), "600", "20")
        with open(path, "rb") as file:
            whole = file.read()
        cut = whole.find(b"INFO", len(whole) // 2)
        with open(path, "wb") as file:
            file.write(whole[:max(cut - 4, len(whole) // 2)])
        report = run(CTOP, "report", "--timeline", path).stdout
    check("as samples tell" in report or "Nothing is known" in report, report)


if __name__ == "__main__":
    main()
