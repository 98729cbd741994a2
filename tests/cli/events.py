#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events of every kind: what they count, and what is said of those that are refused."""

import json
import os
import re
import subprocess

from events_common import compiled, listed, sampled
from harness import (BUILD, CTOP, OTHER_USER, PARANOID_IS_2, Skip, alone, case, check, check_accounts, check_refused,
                     ctop, ctop_ok, directory, folded, main, need_program, need_root, paranoid, plain_user,
                     readable_ctop, run, with_function, with_leaf)


@case
def tracepoints_without_a_mount():
    need_root()
    with directory() as where:
        # A mount namespace without tracefs: it is had all the same, and nothing stays mounted.
        unshare = need_program("unshare")
        script = ("umount /sys/kernel/debug/tracing /sys/kernel/tracing 2>/dev/null; "
                  f"{CTOP} record -c 1 -e syscalls:sys_enter_write:u -o {where}/x -q -- sh -c 'echo a; echo b'; "
                  "echo $?; grep -c tracefs /proc/self/mounts")
        result = run(unshare, "-m", "sh", "-c", script)
        lines = result.stdout.split()
        if "tracepoint" in result.stderr:
            raise Skip(result.stderr.splitlines()[0])
        check(lines[:4] == ["a", "b", "0", "0"], f"{result.stdout}{result.stderr}")
        check(sum(folded(os.path.join(where, "x")).values()) == 2, "two writes")


@case
def a_user_without_tracefs_is_told():
    need_root()
    as_user = plain_user()
    with readable_ctop() as (_, program):
        result = run(*as_user, program, "record", "-e", "sched:sched_switch", "-o", "/dev/null", "--",
                     "true")
        if result.returncode == 0:
            raise Skip("tracefs is open to everybody here")
        check("tracefs" in result.stderr and "sudo" in result.stderr, result.stderr)


@case
def events_of_a_group_are_counted_apart():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        program = os.path.join(BUILD, "workloads", "spin")
        ctop_ok("record", "-F", "500", "-e", "{cpu-clock,page-faults},context-switches", "-o", path, "-q",
                "--", program, "1")
        clock, faults = (folded(path, "--event", event) for event in ("cpu-clock", "page-faults"))
        check(with_function(clock, "spin_loop") > 0.9 * sum(clock.values()) > 0, f"cpu-clock: {clock}")
        check(0 < sum(faults.values()), "no page fault")


@case
def the_summary_counts_each_event():
    need_root()
    names = ("cpu-clock", "page-faults", "context-switches")
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        program = os.path.join(BUILD, "workloads", "spin")
        result = ctop_ok("record", "-e", ",".join(names), "-o", path, "--", program, "1")
        samples = {name: sum(folded(path, "--event", name).values()) for name in names}
    said = ", ".join(f"{samples[name]} by {name}" for name in names)
    check(all(samples.values()) and f" s: {said}, " in result.stderr, f"{samples}: {result.stderr}")


@case
def a_group_is_one_for_the_kernel():
    need_root()
    strace = need_program("strace")
    result = run(strace, "-e", "trace=perf_event_open", CTOP, "record", "-C", "0", "-e",
                 "{cpu-clock,page-faults,context-switches}", "--duration", "0.01", "-o", "/dev/null")
    leaders = re.findall(r"perf_event_open\(.*, -1, 0, (-?\d+), PERF_FLAG_FD_CLOEXEC\) = (\d+)",
                         result.stderr)
    members = [(leader, fd) for leader, fd in leaders if leader != "-1"]
    # Once to see whether it can be, once for good in each set of events; each time both follow the same leader.
    check(len(members) >= 4 and [leader for leader, _ in members[::2]] == [leader for leader, _ in members[1::2]],
          f"{leaders}\n{result.stderr[-2000:]}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def what_needs_the_kernel_is_refused_to_users():
    need_root()
    as_user = plain_user()
    with paranoid(2), readable_ctop() as (_, program):
        for event in ("context-switches", "context-switches:u", "cgroup-switches", "cpu-clock:k"):
            result = run(*as_user, program, "record", "-e", event, "-o", "/dev/null", "--", "true")
            check(result.returncode == 125, f"{event}: {result.returncode} {result.stderr}")
            check(event in result.stderr and len(result.stderr.splitlines()) == 2, result.stderr)


WRITES = """
volatile int watched;
__attribute__((noinline)) void writer(int i) { watched = i; }
__attribute__((noinline)) int reader(void) { return watched; }
int main(void) { int sum = 0; for (int i = 0; i < 70; i++) { writer(i); if (i % 7 == 0) sum += reader(); } return sum == 0; }
"""


def need_breakpoints(event, program):
    """Some virtual machines take a breakpoint and never hit it: perf's count tells."""
    result = run(need_program("perf"), "stat", "-x", ";", "-e", event, program)
    counted = next((line.split(";")[0] for line in result.stderr.splitlines() if ";" in line), "")
    if not counted.isdigit() or int(counted) == 0:
        raise Skip(f"no hardware breakpoints here: perf stat counts {counted or result.stderr.strip()}")


@case
def breakpoints_hit_each_access():
    need_root()
    nm = need_program("nm")
    with directory() as where:
        program = compiled(where, WRITES, "-no-pie")
        symbols = {line.split()[-1]: int(line.split()[0], 16) for line in run(nm, program).stdout.splitlines()
                   if len(line.split()) == 3}
        need_breakpoints(f"mem:{symbols['watched']:#x}/4:w:u", program)
        for event, function, expected in ((f"mem:{symbols['watched']:#x}/4:w:u", "writer", 70),
                                          (f"mem:{symbols['watched']:#x}:rw:u", "reader", 10),
                                          (f"mem:{symbols['writer']:#x}:x:u", "writer", 70)):
            stacks = sampled(where, event, program)
            check(with_leaf(stacks, function) == expected, f"{event}: {stacks}")


@case
def breakpoints_are_as_many_as_registers():
    """Each takes one in each set of events: what there are too few for is left out, and said."""
    need_root()
    nm = need_program("nm")
    with directory() as where:
        program = compiled(where, WRITES, "-no-pie")
        writer, watched = (re.search(rf"^0*(\w+) \w {name}$", run(nm, program).stdout, re.M)[1] for name in ("writer", "watched"))
        path = os.path.join(where, "x.ctop")
        event, others = f"mem:0x{writer}:x:u", (f"mem:0x{watched}:w:u", f"mem:0x{watched}:rw:u", f"mem:0x{watched}/2:w:u")
        need_breakpoints(event, program)
        for options, step in (((), None), (("-c", "1"), None),
                              (("-e", others[0]), "left to the kernel, which may miss them: the CPU has too few breakpoint registers"),
                              (("-c", "1", *(word for other in others for word in ("-e", other))),
                               "the CPU has too few breakpoint registers for the events to change to")):
            result = ctop_ok("record", "-e", event, *options, "-o", path, "--", program)
            check("registers" not in result.stderr if step is None else step in result.stderr, result.stderr)
            if "left to the kernel" not in result.stderr:
                check(with_leaf(folded(path, "--event", event), "writer") == 70, f"{options}: {folded(path)}")
        result = ctop("record", "-c", "1", "-e", ",".join((event, *others, f"mem:0x{watched}/1:w:u")), "-o", path, "--", program)
        check(result.returncode == 125 or result.returncode == 1, f"{result}")
        check("no breakpoint register is left for" in result.stderr, result.stderr)


# What runs in a shell: forks whose parents are known by name.
FORKING = ["bash", "-c", "for i in 1 2 3 4 5 6 7; do (:); done; exec -a x sh -c '(:); (:); (:); :'"]


@case
def tracepoints_are_filtered():
    need_root()
    if "sched:sched_process_fork" not in listed("tracepoints")["tracepoints"]:
        raise Skip("no tracepoints here")
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        for expression, expected in (("parent_comm == \"bash\"", 7), ("parent_comm ~ \"s*\"", 3), ("parent_comm == 'sh'", 3),
                                     ("parent_comm != \"sh\" && !(child_pid < 0 || parent_pid == 0x0)", 7),
                                     ("child_pid>0&&child_pid<=0", 0)):
            result = ctop("record", "-q", "-c", "1", "-e", "sched:sched_process_fork", "--filter", expression,
                          "--call-graph", "no", "-o", path, "--", *FORKING)
            check(result.returncode == 0, f"{expression}: {result}")
            samples = sum(folded(path).values())
            check(samples == expected, f"{expression}: {samples}")
        # For the -e in front of it alone.
        ctop_ok("record", "-q", "-c", "1", "-e", "sched:sched_process_fork", "--filter", "child_pid < 0", "-e",
                "sched:sched_process_exec", "--call-graph", "no", "-o", path, "--", *FORKING)
        check(sum(folded(path, "--event", "sched:sched_process_exec").values()) == 2, "exec")


@case
def filters_know_sets_of_cpus():
    need_root()
    if "sched:sched_process_fork" not in listed("tracepoints")["tracepoints"]:
        raise Skip("no tracepoints here")
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 6):
        raise Skip("filters have sets of CPUs since Linux 6.6")
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        for expression, expected in (("CPU & CPUS{0}", 1), ("CPU&CPUS{ 0,, 0-N }", 1), ("cpu == CPUS{0}", 1),
                                     ("common_cpu & CPUS{all:1/1}", 1), ("(CPU != CPUS{0}) || CPU > 0", 0),
                                     ("child_pid == CPUS{0}", 0), ("!(parent_pid & CPUS{ALL}) && CPU == 0", 1)):
            ctop_ok("record", "-q", "-c", "1", "-e", "sched:sched_process_fork", "--filter", expression, "--call-graph", "no",
                    "-o", path, "--", "taskset", "-c", "0", *FORKING)
            samples = sum(folded(path).values())
            check(samples == 10 * expected, f"{expression}: {samples}")
        if "ipi:ipi_send_cpumask" in listed("tracepoints")["tracepoints"]:
            ctop_ok("record", "-q", "-e", "ipi:ipi_send_cpumask", "--filter", "cpumask & CPUS{0} && cpumask != CPUS{0}", "-o",
                    path, "--", "true")


@case
def filters_with_mistakes_are_marked():
    need_root()
    if "sched:sched_process_fork" not in listed("tracepoints")["tracepoints"]:
        raise Skip("no tracepoints here")
    for expression, marked in (("", "'>>>'"), ("child_pid", "'child_pid>>>'"), ("child_pid =", "'child_pid >>>='"),
                               ("child_pid == ", "'child_pid == >>>'"), ("child_pid == x", "'child_pid == >>>x'"),
                               ("child_pid == 0x", "'child_pid == >>>0x'"), ("child == 1", "'>>>child == 1'"),
                               ("child_pid ~ 1", "'child_pid >>>~ 1'"), ("child_comm < 1", "'child_comm >>>< 1'"),
                               ("child_comm == sh", "'child_comm == >>>sh'"),
                               ("child_comm == \"x", "'child_comm == >>>\"x'"),
                               ("(child_pid == 1", "'(child_pid == 1>>>'"), ("child_pid == 1)", "'child_pid == 1>>>)'"),
                               ("child_pid == 1 child_pid == 2", "'child_pid == 1 >>>child_pid == 2'"),
                               ("child_pid == 1 &&", "'child_pid == 1 &&>>>'"), ("child_pid && 1", "'child_pid >>>&& 1'"),
                               ("(" * 40, "too many"), ("child_pid == 1 | 2", "'child_pid == 1 >>>| 2'"),
                               ("child_pid == 9223372036854775808", "does not fit into 64 bits: 'child_pid == >>>9"),
                               ("child_pid == -9223372036854775809", "does not fit into 64 bits: 'child_pid == >>>-9"),
                               ("child_pid == 08", "'child_pid == >>>08'"),
                               ("common_flags == -1", "the field is unsigned: 'common_flags == >>>-1'"),
                               ("CPU & CPUS0", "{ is missing: 'CPU & CPUS>>>0"),
                               ("CPU & CPUS{0", "} is missing: 'CPU & CPUS{0>>>'"),
                               ("CPU & CPUS{}", "'CPU & CPUS{>>>}'"), ("CPU & CPUS{x}", "'CPU & CPUS{>>>x}'"),
                               ("CPU & CPUS{0,1-0}", "'CPU & CPUS{0,>>>1-0}'"), ("CPU & CPUS{0-}", "'CPU & CPUS{>>>0-}'"),
                               ("CPU & CPUS{0x1}", "'CPU & CPUS{>>>0x1}'"), ("CPU & CPUS{0-1:3/2}", "'CPU & CPUS{>>>0-1:3/2}'"),
                               ("CPU & CPUS{0-1:0/0}", "'CPU & CPUS{>>>0-1:0/0}'"), ("CPU & CPUS{all:1}", "'CPU & CPUS{>>>all:1}'"),
                               ("CPU & CPUS{4294967296}", "'CPU & CPUS{>>>4294967296}'"),
                               ("child_pid < CPUS{0}", "'child_pid >>>< CPUS{0}'"), ("CPU & CPUS{0} 1", "'CPU & CPUS{0} >>>1'"),
                               ("child_comm == CPUS{0}", "'child_comm == >>>CPUS{0}'"),
                               (f"child_comm == \"{'x' * 256}\"", "at most 255 bytes: 'child_comm == >>>\"x"),
                               (f"child_pid == 1{' || child_pid == 1' * 230}", "at most 4095 bytes")):
        for event in "sched:sched_process_fork", "sched:sched_process_f*":
            result = ctop("record", "-e", event, "--filter", expression, "-o", "/dev/null", "--", "true")
            check_refused(result, 2, marked)
    check_refused(ctop("record", "-e", "cs", "--filter", "x == 1", "-o", "/dev/null", "--", "true"), 2, "'cs' is none")
    check_refused(ctop("record", "--filter", "x == 1", "-e", "cs", "-o", "/dev/null", "--", "true"), 2, "before it")


@case
def more_events_than_sixteen():
    need_root()
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        names = [name for name in listed("tracepoints")["tracepoints"] if name.startswith("sched:")]
        if not 17 <= len(names) <= 60:
            raise Skip(f"this kernel has {len(names)} tracepoints of its scheduler's")
        result = ctop("record", "-q", "-c", "1", "-e", "page-faults,sched:*", "--call-graph", "no", "-o", path, "--stats",
                      stats_path, "--", "sh", "-c", "true & wait")
        check(result.returncode == 0, f"{result}")
        with open(stats_path, encoding="utf-8") as file:
            events = json.load(file)["events"]
        check(sorted(event["asked"] for event in events[1:]) == sorted(names), f"{events}")
        seen = {event["asked"]: event["samples"] for event in events}
        check(seen["sched:sched_process_fork"] and seen["sched:sched_process_exec"] and seen["page-faults"], f"{seen}")
        refused = ctop("record", "-e", "s*:*", "-o", "/dev/null", "--", "true")
        check_refused(refused, 2, "'s*:*' matches ", "room for 64")
        check_refused(ctop("record", "-e", "sched:no*", "-o", "/dev/null", "--", "true"), 2, "no tracepoint")


@case
def tracepoints_have_rates_of_their_own():
    need_root()
    if "sched:sched_process_fork" not in listed("tracepoints")["tracepoints"]:
        raise Skip("no tracepoints here")
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        # Terms of a pattern are those of each; a filter knows what it is for.
        for event, filtered, expected in (
                ("sched:sched_process_[ef]*/period=1/", None, {"sched:sched_process_exec": 2, "sched:sched_process_fork": 10}),
                ("sched:sched_process_fork/period=1,name=forks/k", "parent_comm == \"bash\"", {"forks:k": 7})):
            ctop_ok("record", "-q", "-c", "1000", "-e", event, *(["--filter", filtered] if filtered else []), "--call-graph", "no",
                    "-o", path, "--stats", stats_path, "--", *FORKING)
            with open(stats_path, encoding="utf-8") as file:
                seen = {event["opened"]: event["samples"] for event in json.load(file)["events"]}
            check(all(seen.get(name) == samples for name, samples in expected.items()), f"{event}: {seen}")
            check(len(seen) == len(expected) or "[ef]" in event, f"{event}: {seen}")


@case
def rates_of_their_own():
    """One event is counted, another is not: each as it says, beside one that goes by -F."""
    need_root()
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        # Where a sample costs 100 us the guard would ask for fewer of -c's, too.
        for option in ["-F", "500"], ["-c", "1000000", "--max-overhead", "0"]:
            ctop_ok("record", "-q", *option, "-e", "page-faults/period=64/,cpu-clock/freq=100/,task-clock", "-e",
                    "minor-faults/period=64,name=mine/u", "--call-graph", "no", "-o", path, "--stats", stats_path, "--",
                    os.path.join(BUILD, "workloads", "faults"), "40")
            with open(stats_path, encoding="utf-8") as file:
                stats = json.load(file)
            faults, clock, other, mine = stats["events"]
            check_accounts(stats)
            if stats["lost"]:
                raise Skip("others have the CPUs: samples were lost")
            for event in faults, mine:
                # Each of two threads and a CPU or two begins to count by itself.
                missing = event["counted"] / 64 - event["samples"]
                check(0 <= missing <= 4 * os.cpu_count(), f"{event}")
                check(event["sampled"] == 64 * event["samples"], f"{event}")
            check(clock["sampled"] == 10_000_000 * clock["samples"], f"{clock}")
            each = 2_000_000 if option[0] == "-F" else 1_000_000
            # Behind -F the guard may ask for fewer.
            period = other["sampled"] / max(other["samples"], 1)
            check(period == each if option[0] == "-c" else period >= each, f"{other}")
            check(mine["opened"] == "mine:u", f"{mine}")


@case
def the_report_knows_the_first_events_own_rate():
    """What its term asked for was asked, not -F or -c, which are about the others."""
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        for option, terms, wanted in ((["-F", "999"], "freq=100", "one sample every 10,000,000 ns (100 Hz)"),
                                      (["-c", "1000000"], "freq=100", "one sample every 10,000,000 ns (100 Hz)"),
                                      (["-F", "999"], "period=20000000", "-c 20,000,000 asked; ")):
            ctop_ok("record", "-q", *option, "-e", f"cpu-clock/{terms}/", "-o", path, "--",
                    os.path.join(BUILD, "workloads", "faults"), "40")
            rate = next(line for line in ctop_ok("report", path).stdout.splitlines() if line.startswith("rate"))
            check(rate.split(maxsplit=1)[1].startswith(wanted), f"{terms}: {rate}")
            check("--max-overhead" not in rate, f"{terms}: {rate}")


@case
def precision_that_is_none():
    need_root()
    for event in "cpu-clock:pp", "page-faults:p":
        result = ctop("record", "--call-graph", "no", "-e", event, "-o", "/dev/null", "--", "true")
        check(result.returncode == 0 and f"not precise, as only the CPU's counters can be: {event}\n" in result.stderr, f"{result}")
        check_refused(ctop("record", "--strict", "--call-graph", "no", "-e", event, "-o", "/dev/null", "--", "true"), 125,
                      "not precise", "--strict")
    # The most precise that there is, P, is none for software; nothing is claimed.
    for event, opened in (("cpu-clock:P", "cpu-clock"), ("page-faults:uP", "page-faults:u"), ("cpu-clock:H", "cpu-clock:H"),
                          ("page-faults:uH", "page-faults:uH"), ("mem:0x1000:rw:uP", "mem:0x1000:rw:u")):
        result = ctop("record", "--strict", "--call-graph", "no", "-e", event, "-o", "/dev/null", "--", "true")
        check(result.returncode == 0 and f"by {opened}," in result.stderr, f"{event}: {result}")


@case
def events_without_samples_are_summed_up():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        said = ctop_ok("record", "--call-graph", "no", "-e", "sched:*", "-o", path, "--", "true").stderr
        silent = int(re.search(r", 0 by (\d+) other events,", said).group(1))
        check("by sched:sched_process_exit" in said and len(said) < 600, said)
        report = ctop_ok("report", "--stdio", "--event", "sched:sched_process_exit", path).stdout
        check(f"{silent} events have no samples: sched:" in report, report)


@case
def the_first_event_with_samples_is_shown():
    need_root()
    with directory() as where:
        path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "x.json")
        ctop_ok("record", "-q", "-c", "1", "--call-graph", "no", "-e", "alignment-faults,page-faults,context-switches", "-o",
                path, "--", "sh", "-c", "(:); (:)")
        expected = sum(folded(path, "--event", "page-faults").values())
        for command in ["report", "--stdio"], ["export", "folded"]:
            result = ctop_ok(*command, path, "--stats", stats)
            # The report has a column for what else there is.
            others = "; choose with --event: context-switches" if command[0] == "export" else ""
            check(f"alignment-faults has no samples: shown is page-faults{others}\n" in result.stderr, result.stderr)
            with open(stats, encoding="utf-8") as file:
                seen = json.load(file)
            check(seen["samples"] == expected == seen["events_sampled"], f"{seen}")
        check(re.search("^event +page-faults$", ctop_ok("report", "--stdio", path).stdout, re.M), "the header")
        # What is read once says so.
        with open(path, "rb") as file:
            piped = subprocess.run([CTOP, "export", "folded", "-"], input=file.read(), capture_output=True, check=False)
        check(piped.returncode == 1 and b"has no samples of alignment-faults, and cannot be read again" in piped.stderr and
              b"--event page-faults" in piped.stderr, f"{piped}")
        # That somebody asks for it is another thing; so is a filter that nothing passes.
        check_refused(ctop("report", "--stdio", "--event", "alignment-faults", path), 1, "passes the filter")
        check_refused(ctop("report", "--stdio", "--comm", "nobody", path), 1, "thread named 'nobody'")


# ---- malformed ----


@case
def the_place_of_a_mistake_is_marked():
    for option, text, marked in (
            ("-e", "cycles:ux", "'cycles:u>>>x'"), ("-e", "{cpu-clock,cs", "'{cpu-clock,cs>>>'"),
            ("-e", "cs,{cpu-clock}x", "'cs,{cpu-clock}>>>x'"), ("-e", "cs,,cs", "'cs,>>>,cs'"),
            ("-e", "{cpu-clock,}", "'{cpu-clock,>>>}'"), ("-e", "{cs}:z", "'{cs}:>>>z'"),
            ("-e", "software/config=x/", "'software/config=>>>x/'"),
            ("-e", "cycles/period=x/", "'cycles/period=>>>x/'"), ("-e", "cs/fre=1/", "'cs/>>>fre=1/'"),
            ("-e", "cs/freq=0/", "'cs/freq=>>>0/'"), ("-e", "cs/period=1", "'cs/period=1>>>'"),
            ("-e", "sched:sched_switch/fre=1/", "'sched:sched_switch/>>>fre=1/'"),
            ("-e", "sched:sched_switch/period=1", "'sched:sched_switch/period=1>>>'"),
            ("-e", "sched:sched_switch/period=1/z", "'sched:sched_switch/period=1/>>>z'"),
            ("-e", "uprobe::main", "'uprobe:>>>:main'"), ("-p", "12,x", "'12,>>>x'"),
            ("-C", "0,1-x", "'0,1->>>x'")):
        target_of = [] if option in "-p-C" else ["-p", os.getpid()]
        check_refused(ctop("record", option, text, *target_of, "-o", "/dev/null"), 2, marked)


# ---- setuid ----


@case
def without_libpfm_one_line_says_so():
    with directory() as where:
        result = run(need_program("gcc"), "-shared", "-o", os.path.join(where, "libpfm.so.4"), "-x", "c", "/dev/null")
        check(result.returncode == 0, result.stderr)
        without = {**os.environ, "LD_LIBRARY_PATH": where}
        check_refused(ctop("record", "-e", "frobnicated_loads", "--", "true", env=without), 2, "unknown event 'frobnicated_loads'", "install libpfm4")
        listed = ctop("list", env=without)
        check(listed.returncode == 0 and "cpu-clock" in listed.stdout, listed.stderr)
        for recorded in "cpu-clock", "page-faults":
            result = ctop("record", "-q", "-e", recorded, "-o", os.path.join(where, "x.ctop"), "--", "true", env=without)
            check(result.returncode == 0, result.stderr)


@case
def a_setuid_ctop_refuses():
    need_root()
    setpriv = need_program("setpriv")
    with readable_ctop() as (_, program):
        for bit in (0o4755, 0o2755):
            os.chmod(program, bit)
            result = run(setpriv, f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}",
                         "--clear-groups", program, "list")
            if result.returncode == 0:
                raise Skip("the directory's file system honours no setuid bit")
            check_refused(result, 1, "setuid", "SETCAP=1")


main()
