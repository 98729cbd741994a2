#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ctop record on real processes: targets, privileges, and perf beside it."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess

from harness import (BUILD, NOBODY, PATIENCE, Skip, case, check, check_accounts, child, child_pids, children_of,
                     cpu_seconds, ctop, ctop_ok, directory, ended_well, folded, main, need_program, need_root, record,
                     recording_of, run, share_complete, started, target, wait_for_cpu_time, wait_until, with_function)


@case
def a_command_is_held_until_sampling_is_on():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        result = ctop("record", "-q", "-e", "cpu-clock", "-o", path, "--",
                      os.path.join(BUILD, "workloads", "recursion"), "1")
        check(result.returncode == 0, f"{result.returncode}: {result.stderr}")
        report = ctop_ok("report", "--stdio", path).stdout
        check(re.search(r"^target +recursion\[\d+\]$", report, re.M), report)
        stacks = folded(path)
        # The dynamic linker's work at the very start is there, too.
        check(with_function(stacks, "main") > 0.9 * sum(stacks.values()) > 0, f"{stacks}")
        check(all(stack[0] == "recursion" for stack in stacks), f"{[s[0] for s in stacks]}")


@case
def the_commands_own_status_is_returned():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        check(ctop("record", "-q", "-o", path, "--", "sh", "-c", "exit 7").returncode == 7, "7")
        check(ctop("record", "-q", "-o", path, "--", "sh", "-c",
                   "kill -9 $$").returncode == 128 + 9, "a signal")


@case
def cycles_at_a_count_without_counters_does_something_useful():
    need_root()
    with directory() as where, target("spin") as program:
        recording = record(where, "-e", "cycles", "-c", "1000", "-p", program.pid)
    check(recording.stats["samples"] > 100, f"{recording.stats}")
    check(share_complete(recording.stats) > 0.99, f"{recording.stats['stacks']}")
    check(recording.stats["event"]["asked"] == "cycles", f"{recording.stats['event']}")
    if recording.stats["event"]["opened"].startswith("cycles"):
        raise Skip("this machine has hardware counters: there was no fallback")
    check(recording.stats["steps_down"], "no fallback is reported")
    for step in recording.stats["steps_down"]:
        check(step in recording.stderr, f"{step!r} is not on stderr: {recording.stderr!r}")


@case
def strict_makes_a_step_down_an_error():
    need_root()
    with directory() as where, target("spin") as program:
        result = ctop("record", "--strict", "-e", "cycles", "-o", os.path.join(where, "x.ctop"),
                      "-p", program.pid, "--duration", "0.2")
    if result.returncode == 0:
        raise Skip("this machine has hardware counters: there is no fallback")
    check(result.returncode == 1 and "ctop:" in result.stderr, f"{result}")


@case
def the_whole_system_while_a_command_runs():
    need_root()
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "x.ctop")
        # It ends when the other process has had its time: not by a clock.
        script = (f"before=$(cut -d' ' -f14 /proc/{program.pid}/stat); "
                  f"while [ $(cut -d' ' -f14 /proc/{program.pid}/stat) -lt $((before + 30)) ]; do sleep 0.1; done; exit 3")
        result = ctop("record", "-a", "-e", "cpu-clock", "-o", path, "--", "sh", "-c", script)
        check(result.returncode == 3, f"{result}")
        check("of all processes, while sh[" in result.stderr and "goes on" not in result.stderr, result.stderr)
        check(program.poll() is None, "the target died")
        check(with_function(folded(path), "spin_loop") > 50, "spin is not there")


@case
def the_whole_system():
    need_root()
    with directory() as where, target("spin") as program:
        recording = record(where, "-a", "-e", "cpu-clock")
        report = ctop_ok("report", "--stdio", recording.path).stdout
        check(program.poll() is None, "the target died")
    check(with_function(recording.stacks, "main") > 100, "spin is not there")
    check_accounts(recording.stats, ["own"])
    check("spin" in report, report)
    check(not any(stack[0].startswith("swapper") for stack in recording.stacks), "idle was sampled")
    busy = re.search(r"^CPUs +busy ([\d.]+)%.* of (\d+) CPUs?", report, re.M)
    check(busy and int(busy.group(2)) == os.cpu_count(), report)
    # What was sampled, of what the CPUs had in that time. The kernel counts busy ticks, and ctop's own among them.
    cpus_seconds = recording.stats["duration_seconds"] * os.cpu_count()
    sampled = recording.stats["events_sampled"] / 1e9 / cpus_seconds
    own = recording.stats["cpu_seconds"] / cpus_seconds
    check(sampled - 0.1 < float(busy.group(1)) / 100 < sampled + own + 0.1, f"{sampled}, {own}: {report}")


@case
def none_of_ctops_own_processes_is_in_the_whole_system():
    need_root()
    with directory() as where, target("newstacks") as program:
        with recording_of(where, "-a", "-F", "5000") as recorder:
            ours = {recorder.pid, *child_pids(recorder.pid)}
            before = children_of(recorder.pid)["symbolizer"]
            os.kill(before, signal.SIGKILL)
            wait_until(lambda: children_of(recorder.pid).get("symbolizer", before) != before or
                       recorder.poll() is not None, "successor")
            ours |= set(child_pids(recorder.pid))
            wait_for_cpu_time(program.pid, 1, lambda: recorder.poll() is not None)  # all have work to do
            check(recorder.poll() is None, "it ended")
            ours |= set(child_pids(recorder.pid))
        stats = ended_well(where, recorder)[1]
        script = ctop_ok("export", "script", os.path.join(where, "x.ctop")).stdout
    pids = set(map(int, re.findall(r"^\S.*? +(\d+)/\d+ +\[", script, re.M)))
    check(program.pid in pids, f"{pids}")
    check(not pids & ours, f"{pids & ours} of {ours}")
    check(stats["dropped"]["own"] > 0 and stats["restarts"] == 1, f"{stats}")


@case
def a_name_instead_of_a_pid():
    need_root()
    with directory() as where:
        name = f"only-{os.getpid()}"  # other tests' programs run beside this one
        shutil.copy(os.path.join(BUILD, "workloads", "sleepwork"), os.path.join(where, name))
        with started(os.path.join(where, name)) as program, recording_of(where, name) as recorder:
            wait_for_cpu_time(program.pid, 0.2)
        stacks, stats = ended_well(where, recorder)
    check(with_function(stacks, "busy") > 50, f"{stats}")


@case
def one_thread():
    need_root()
    with directory() as where, target("threads") as program:
        tids = {}

        def is_named():  # the threads name themselves
            for tid in os.listdir(f"/proc/{program.pid}/task"):
                with open(f"/proc/{program.pid}/task/{tid}/comm", encoding="utf-8") as file:
                    tids[file.read().strip()] = tid
            return "share-40" in tids
        wait_until(is_named, "thread of that name")
        recording = record(where, "-e", "cpu-clock", "-t", tids["share-40"])
    check({stack[0] for stack in recording.stacks} == {"share-40"}, f"{recording.stacks}")


@case
def the_end_of_the_target_ends_the_recording():
    need_root()
    with directory() as where:
        with target("spin", "600") as program, recording_of(where, "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 0.2)
            program.kill()
            recorder.wait(PATIENCE)
        _, stats = ended_well(where, recorder)
    check(stats["samples"] > 10, f"{stats}")


@case
def page_faults_one_by_one():
    need_root()
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        ctop_ok("record", "-q", "-e", "page-faults", "-c", "1", "-o", path, "--stats", stats_path,
                "--", "/bin/true")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
    check(stats["samples"] > 30, f"{stats}")
    check(sum(stats["stacks"].values()) == stats["samples"], f"{stats}")


@case
def a_plain_user():
    need_root()
    setpriv = need_program("setpriv")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
        paranoid = int(file.read())
    if paranoid > 2:
        raise Skip(f"perf_event_paranoid is {paranoid}: plain users may not sample")
    with directory() as where:
        os.chmod(where, 0o777)
        for name in ("ctop", "workloads/recursion"):
            copy = os.path.join(where, os.path.basename(name))
            with open(os.path.join(BUILD, name), "rb") as source, open(copy, "wb") as file:
                file.write(source.read())
            os.chmod(copy, 0o755)
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        result = run(setpriv, f"--reuid={NOBODY}", "--clear-groups", os.path.join(where, "ctop"),
                     "record", "-o", path, "--stats", stats_path, "--",
                     os.path.join(where, "recursion"), "2", cwd=where)
        check(result.returncode == 0, f"{result}")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        stacks = folded(path)
    # However little of the CPUs it had, and however often it could be sampled.
    check(stats["events_sampled"] > 0.9 * stats["events_counted"] > 0, f"{stats}")
    check(share_complete(stats) > 0.99, f"{stats}")
    check(with_function(stacks, "bottom") > 0.9 * stats["samples"], "names are missing")
    check(stats["steps_down"], "user-only is a fallback that must be told")


def top_by_leaf(stacks, number):
    leaves = collections.Counter()
    for stack, count in stacks.items():
        leaves[stack[-1]] += count
    return leaves.most_common(number)


def perf_leaves(data):
    """Innermost symbols by perf script, which resolves them by itself."""
    text = run("perf", "script", "-i", data, "-F", "ip,sym").stdout
    leaves = collections.Counter()
    for block in text.split("\n\n"):
        lines = block.strip().splitlines()
        if lines:
            leaves[lines[0].split(maxsplit=1)[-1].split("+0x")[0]] += 1
    return leaves


@case
def perf_sees_the_same_functions():
    need_root()
    need_program("perf")
    with directory() as where, target("templates") as program:
        data = os.path.join(where, "perf.data")
        with child("perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-o", data, "-p", program.pid,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as perf:
            with recording_of(where, "-p", program.pid) as recorder:
                wait_for_cpu_time(program.pid, 3)
            perf.send_signal(signal.SIGINT)
            perf.wait(timeout=PATIENCE)
        stacks, _ = ended_well(where, recorder)
        theirs = perf_leaves(data)
    their_total = sum(theirs.values())
    check(their_total > 300, f"perf has {their_total} samples")

    def plain(name):
        return name.split("(")[0].split("<")[0].split("[")[0].strip()

    mine, other = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        mine[plain(stack[-1])] += count
    for name, count in theirs.items():
        other[plain(name)] += count
    total = sum(mine.values())
    for name, count in other.most_common(10):
        share, ours = count / their_total, mine[name] / total
        if share < 0.02:
            continue
        allowed = 4 * (share * (1 - share) * (1 / total + 1 / their_total)) ** 0.5 + 0.01
        check(abs(share - ours) <= allowed, f"{name}: perf {share:.3f}, ctop {ours:.3f}")


if __name__ == "__main__":
    main()
