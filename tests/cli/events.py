#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Runs alone: changes the kernel's settings.
"""Events of every kind, their list, and the doctor, who must agree with what recording does."""

import contextlib
import json
import os
import pty
import re
import shutil
import struct
import fcntl
import subprocess
import termios

from harness import (BUILD, CTOP, STRANGER, PATIENCE, Skip, agree, case, check, check_accounts, check_refused, child,
                     ctop, ctop_ok, doctor, folded, folder, main, need_program, need_root, paranoid, plain_user,
                     readable_ctop, record, run, target, wait_until, with_leaf, with_function)



def sampled(where, event, *command):
    path = os.path.join(where, "x.ctop")
    # All of them fit into the ring, however late it is read.
    ctop_ok("record", "-c", "1", "-e", event, "--call-graph", "dwarf,8192", "-o", path, "-q", "--", *command)
    return folded(path)


def compiled(where, source):
    compiler = need_program("gcc")
    path = os.path.join(where, "calls.c")
    with open(path, "w", encoding="ascii") as file:
        file.write(source)
    program = os.path.join(where, "calls")
    check(run(compiler, "-O1", "-o", program, path).returncode == 0, "gcc failed")
    return program


CALLS = """
__attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
static __attribute__((noinline)) int outer(int x) { __asm__ volatile(""); return inner(x) + 1; }
int main(void) { int sum = 0; for (int i = 0; i < 500; i++) sum = outer(sum); return sum == 0; }
"""


# ---- that count what they should ----


@case
def uprobes_hit_each_call():
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")
    with folder() as where:
        program = compiled(where, CALLS)
        stacks = sampled(where, f"uprobe:{program}:inner", program)
        check(sum(stacks.values()) == 500, f"{stacks}")
        check(all(stack[-3:] == ("main", "outer", "inner") for stack in stacks), f"{stacks}")
        # A static function, where it returns.
        stacks = sampled(where, f"uretprobe:{program}:outer", program)
        check(sum(stacks.values()) == 500, f"{stacks}")
        check(all(stack[-1] == "main" for stack in stacks), f"{stacks}")
        result = ctop("record", "-e", f"uprobe:{program}:inner:k", "-o", "/dev/null", "-p", os.getpid())
        check_refused(result, 1, "user code")


FORKS = """
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
int main(int nr, char **words) {
	char word;
	if (nr > 2) return inner(0) == 0;
	for (int i = 0; i < 100; i++) {
		if (nr > 1 && read(0, &word, 1) != 1) break;
		if (fork() == 0) { if (i % 2) _exit(inner(i) == 0); execl(words[0], words[0], "a", "child", NULL); }
		wait(NULL);
	}
	return 0;
}
"""


def need_uprobes():
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")


@case
def uprobes_hit_in_children():
    """Children that fork and those that execute; others' hits are left out."""
    need_uprobes()
    with folder() as where:
        program = compiled(where, FORKS)
        # In a group, too.
        for event in (f"uprobe:{program}:inner", f"{{uprobe:{program}:inner,page-faults}}"):
            stacks = sampled(where, event, program)
            check(with_leaf(stacks, "inner") == 100, f"{event}: {stacks}")
        with child(program, "reading", stdin=subprocess.PIPE) as process, \
                child(program, "reading", stdin=subprocess.PIPE) as other, \
                recorded(where, "-c", "1", "-e", f"uprobe:{program}:inner", "-p", process.pid) as recorder:
            for one in process, other:
                one.stdin.write(b"x" * 100)
                one.stdin.close()
                check(one.wait(PATIENCE) == 0, "the program failed")
            _, errors = recorder.communicate(timeout=PATIENCE)
        check(recorder.returncode == 0, errors)
        stacks = folded(os.path.join(where, "y.ctop"))
        check(sum(stacks.values()) == 100, f"{stacks}")


METHODS = """
namespace ns {
template <class A, class B> struct Class {
	__attribute__((noinline)) int method(int x, char y) { __asm__ volatile(""); return x + y; }
	__attribute__((noinline)) int method(char y) { __asm__ volatile(""); return y; }
};
__attribute__((noinline)) int single(int x, char y) { __asm__ volatile(""); return x + y; }
}
int main() {
	ns::Class<int, char> one;
	int sum = 0;
	for (int i = 0; i < 30; i++) sum += one.method(i, 'a') + one.method('b') + ns::single(i, 'c');
	return sum == 0;
}
"""


@case
def uprobes_by_names_as_they_are_written():
    need_uprobes()
    with folder() as where:
        compiler = need_program("g++")
        program, source = os.path.join(where, "a:b"), os.path.join(where, "x.cc")
        with open(source, "w", encoding="ascii") as file:
            file.write(METHODS)
        check(run(compiler, "-O1", "-o", program, source).returncode == 0, "g++ failed")
        # A path with a colon; commas between the parameters; with blanks and without; below the current directory.
        for function in ("ns::single(int, char)", "ns::single(int,char)", "ns::single", "ns::single:u",
                         "ns::Class<int, char>::method(int, char)", "_ZN2ns6singleEic"):
            stacks = sampled(where, f"page-faults,uprobe:{program}:{function}", program)
            stacks = folded(os.path.join(where, "x.ctop"), "--event",
                            f"uprobe:{program}:{function.removesuffix(':u')}" + (":u" if function.endswith(":u") else ""))
            check(sum(stacks.values()) == 30, f"{function}: {stacks}")
        result = ctop("record", "-q", "-c", "1", "-e", "uprobe:./a:b:ns::single", "-o", "y.ctop", "--", "./a:b", cwd=where)
        check(result.returncode == 0, f"{result}")
        check(sum(folded(os.path.join(where, "y.ctop")).values()) == 30, "below the current folder")
        for function, words in (("ns::Class<int, char>::method", ("several functions", "parameters")),
                                ("ns::single+4096", ("bytes long", "+4096")),
                                ("ns::nothing(int)", ("has no function 'ns::nothing(int)'",))):
            result = ctop("record", "-e", f"uprobe:{program}:{function}", "-o", "/dev/null", "-p", os.getpid())
            check_refused(result, 1, f"'{program}'", *words)
        within = ctop("record", "-q", "-e", f"uprobe:{program}:ns::single+1", "-o", "/dev/null", "--", "true")
        check("behind its end" not in within.stderr, f"{within}")


@case
def uprobes_of_libraries_and_programs_by_name():
    need_uprobes()
    with folder() as where:
        program = compiled(where, "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 50; i++) free(malloc(9)); }")
        result = run("gcc", "-fno-builtin", "-o", program, os.path.join(where, "calls.c"))
        check(result.returncode == 0, "gcc failed")
        libc = next(word for word in run("ldd", program).stdout.split() if "libc.so" in word and "/" in word)
        stacks = sampled(where, "uprobe:libc:malloc", program)
        if not os.path.samefile(libc, re.search(r"uprobe:(/\S+):malloc", ctop_ok(
                "report", "--stdio", os.path.join(where, "x.ctop")).stdout).group(1)):
            raise Skip(f"this compiler's libc is {libc}")
        check(sum(stacks.values()) >= 50, f"{stacks}")
        result = ctop("record", "-e", "uprobe:no_such_thing:main", "-o", "/dev/null", "-p", os.getpid())
        check_refused(result, 1, "no library or program named 'no_such_thing'")


@contextlib.contextmanager
def recorded(where, *words):
    """A recorder that samples already: its file is there before, so that is not enough."""
    path = os.path.join(where, "y.ctop")
    recorder = subprocess.Popen([CTOP, "record", "-o", path, *map(str, words)], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    try:
        # It writes once a second, whatever came.
        wait_until(lambda: recorder.poll() is not None or os.path.exists(path), "file")
        size = os.path.getsize(path)
        wait_until(lambda: recorder.poll() is not None or os.path.getsize(path) > size, "more of it")
        yield recorder
    finally:
        recorder.kill()
        recorder.wait()


CALLS_BY_WORD = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
int main(void) {
	char word;
	for (int i = 0; read(0, &word, 1) == 1; i++) free(malloc((size_t)inner(i)));
	return 0;
}
"""


def check_hits_in(where, event, *command, runs):
    """Of a process that runs already, a program of that name, each call is sampled once the first was."""
    path = os.path.join(where, "y.ctop")
    with contextlib.suppress(OSError):
        os.unlink(path)
    with child(*command, stdin=subprocess.PIPE, bufsize=0) as process:
        wait_until(lambda: os.path.basename(os.readlink(f"/proc/{process.pid}/exe")) == runs, "program")
        with child(CTOP, "record", "-c", "1", "-e", event, "-o", path, "-p", process.pid, stderr=subprocess.PIPE) as recorder:
            fed = 0

            def is_sampling():
                nonlocal fed
                fed += process.stdin.write(b"x")
                return recorder.poll() is not None or ctop("export", "folded", path).stdout
            wait_until(is_sampling, "hit")
            process.stdin.write(b"x" * 100)
            process.stdin.close()
            check(process.wait(PATIENCE) == 0, "the program failed")
            _, errors = recorder.communicate(timeout=PATIENCE)
    check(recorder.returncode == 0, errors)
    hits = sum(folded(path).values())
    check(100 < hits <= 100 + fed, f"{event}: {hits} of {100 + fed}")
    return errors


@case
def uprobes_of_processes_with_files_of_their_own():
    """The file is the target's, not what ctop itself sees at that path: in another mount namespace, or another root."""
    need_uprobes()
    if run("unshare", "-m", "true").returncode:
        raise Skip("no mount namespaces here")
    with folder() as where:
        program = compiled(where, CALLS_BY_WORD)
        check(run("gcc", "-O1", "-fno-builtin", "-o", program, os.path.join(where, "calls.c")).returncode == 0, "gcc failed")
        root, words = os.path.join(where, "root"), run(need_program("ldd"), program).stdout.split()
        needed = [program, *(word for word in words if word.startswith("/"))]
        hidden = os.path.join(where, "hidden")
        os.mkdir(hidden)
        shutil.copy("/bin/true", os.path.join(hidden, "own"))
        own = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$1" && cp "$0" "$1/own" && exec "$1/own"', program, hidden]
        for event in f"uprobe:{hidden}/own:inner", "uprobe:own:inner", "uprobe:libc:malloc":
            check_hits_in(where, event, *own, runs="own")
        strange = os.path.join(where, "a\033[31m")
        os.mkdir(strange)
        shutil.copy(program, os.path.join(strange, "own"))
        errors = check_hits_in(where, "uprobe:own:inner", os.path.join(strange, "own"), runs="own")
        check(b"\\x1b[31m/own:inner" in errors and b"\033" not in errors, f"{errors}")
        for path in needed:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
        check_hits_in(where, "uprobe:libc:malloc", "chroot", root, program, runs="calls")
        # As perf reads it, by a path of ours; and what the target has not.
        with child(*own, stdin=subprocess.PIPE) as process:
            wait_until(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/own"), "program")
            for name in "/bin/true", "no_such_thing":
                result = ctop("record", "-e", f"uprobe:{name}:main", "-o", "/dev/null", "-p", process.pid)
                check_refused(result, 1, f"has mapped no '{name}'", f"/proc/{process.pid}/root")
            result = ctop("record", "-q", "-e", f"uprobe:/proc/{process.pid}/root{hidden}/own:inner", "--duration", "0.1", "-o",
                          os.path.join(where, "z.ctop"), "-p", process.pid)
            check(result.returncode == 0, result.stderr)
            # By a link, and from here: what is said is the file and the whole of the rest.
            libc = os.path.realpath(next(word for word in words if "libc.so" in word and word.startswith("/")))
            link = os.path.join(where, "link")
            os.symlink(libc, link)
            for typed in link, os.path.relpath(libc):
                stats = record(where, "-q", "-e", f"uprobe:{typed}:malloc", "-p", process.pid, seconds=0.1).stats
                check(stats["events"][0]["opened"] == f"uprobe:{libc}:malloc", f"{typed}: {stats['events']}")


@case
def uprobes_leave_forks_alone():
    need_uprobes()
    with folder() as where:
        program = compiled(where, CALLS)
        # In a group, too: it would be inherited as a whole.
        for event in (f"uprobe:{program}:inner", f"{{task-clock,uprobe:{program}:inner}}"):
            result = ctop("record", "--strict", "--call-graph", "no", "-e", event, "-o", os.path.join(where, "x.ctop"),
                          "--", "sh", "-c", f"{program}; echo alive")
            check(result.returncode == 0 and result.stdout == "alive\n", f"{event}: {result}")


@case
def uprobes_by_what_is_no_function():
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")
    with folder() as where:
        program = compiled(where, CALLS)
        text = os.path.join(where, "text")
        with open(text, "w", encoding="ascii") as file:
            file.write("no program\n" * 1000)
        os.mkfifo(os.path.join(where, "fifo"))
        for place, word in ((f"{program}:nothing", "no function"), (f"{text}:main", "no program"),
                            (f"{where}:main", "not a file"), (f"{where}/fifo:main", "not a file"),
                            (f"{where}/gone:main", "No such file"), (f"{where}/gone+16", "no such file")):
            result = ctop("record", "-e", f"uprobe:{place}", "-o", "/dev/null", "-p", os.getpid())
            check_refused(result, 1, word)


@case
def tracepoints_without_a_mount():
    need_root()
    with folder() as where:
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
    with folder() as where:
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
    with folder() as where:
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


@case
def breakpoints_hit_each_access():
    need_root()
    nm = need_program("nm")
    with folder() as where:
        program = compiled(where, WRITES)
        check(run("gcc", "-O1", "-no-pie", "-o", program, os.path.join(where, "calls.c")).returncode == 0, "gcc failed")
        symbols = {line.split()[-1]: int(line.split()[0], 16) for line in run(nm, program).stdout.splitlines()
                   if len(line.split()) == 3}
        if ctop("record", "-e", f"mem:{symbols['watched']:#x}:w", "-o", "/dev/null", "--", "true").returncode:
            raise Skip("no hardware breakpoints here")
        for event, function, expected in ((f"mem:{symbols['watched']:#x}/4:w:u", "writer", 70),
                                          (f"mem:{symbols['watched']:#x}:rw:u", "reader", 10),
                                          (f"mem:{symbols['writer']:#x}:x:u", "writer", 70)):
            stacks = sampled(where, event, program)
            check(with_leaf(stacks, function) == expected, f"{event}: {stacks}")


# What runs in a shell: forks whose parents are known by name.
FORKING = ["bash", "-c", "for i in 1 2 3 4 5 6 7; do (:); done; exec -a x sh -c '(:); (:); (:); :'"]


@case
def tracepoints_are_filtered():
    need_root()
    if "sched:sched_process_fork" not in listed("tracepoints")["tracepoints"]:
        raise Skip("no tracepoints here")
    with folder() as where:
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
    with folder() as where:
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
    check_refused(ctop("record", "--filter", "x == 1", "-e", "cs", "-o", "/dev/null", "--", "true"), 2, "in front of it")


@case
def more_events_than_sixteen():
    need_root()
    with folder() as where:
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
        check_refused(refused, 2, "'s*:*' are ", "room for 64")
        check_refused(ctop("record", "-e", "sched:no*", "-o", "/dev/null", "--", "true"), 2, "no tracepoint")


@case
def tracepoints_have_rates_of_their_own():
    need_root()
    if "sched:sched_process_fork" not in listed("tracepoints")["tracepoints"]:
        raise Skip("no tracepoints here")
    with folder() as where:
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
    with folder() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "s.json")
        for option in ["-F", "500"], ["-c", "1000000"]:
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
            check(other["sampled"] == each * other["samples"] and other["samples"], f"{other}")
            check(mine["opened"] == "mine:u", f"{mine}")


@case
def the_report_knows_the_first_events_own_rate():
    """What its term asked for was asked, not -F or -c, which are about the others."""
    need_root()
    with folder() as where:
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
    with folder() as where:
        path = os.path.join(where, "x.ctop")
        said = ctop_ok("record", "--call-graph", "no", "-e", "sched:*", "-o", path, "--", "true").stderr
        silent = int(re.search(r", 0 by (\d+) other events,", said).group(1))
        check("by sched:sched_process_exit" in said and len(said) < 600, said)
        report = ctop_ok("report", "--stdio", "--event", "sched:sched_process_exit", path).stdout
        check(f"{silent} events have no samples: sched:" in report, report)


@case
def the_first_event_with_samples_is_shown():
    need_root()
    with folder() as where:
        path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "x.json")
        ctop_ok("record", "-q", "-c", "1", "--call-graph", "no", "-e", "alignment-faults,page-faults,context-switches", "-o",
                path, "--", "sh", "-c", "(:); (:)")
        expected = sum(folded(path, "--event", "page-faults").values())
        for command in ["report", "--stdio"], ["export", "folded"]:
            result = ctop_ok(*command, path, "--stats", stats)
            check("alignment-faults has no samples: shown is page-faults; choose with --event: context-switches" in result.stderr,
                  result.stderr)
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


# ---- list ----


def listed(*arguments, **options):
    """{group: {name: the rest of its line}}"""
    groups, group = {}, None
    for line in ctop_ok("list", *arguments, **options).stdout.splitlines():
        if line.startswith("  "):
            name, _, rest = line.strip().partition(" ")
            groups[group][name] = rest.strip()
        elif line:
            group = line.partition(":")[0]
            groups[group] = {}
    return groups


@case
def the_list_has_every_group():
    groups = listed()
    for group, name in (("hardware", "cycles"), ("cache", "L1-dcache-load-misses"),
                        ("software", "page-faults"), ("clocks", "cpu-clock")):
        check(name in groups[group], f"{name} is not in {groups[group]}")
    # What a pattern leaves over.
    check(list(listed("L1-DCACHE").keys())[:1] == ["cache"], "a part of a name, in any case")
    check(set(listed("clocks")["clocks"]) >= {"cpu-clock", "task-clock"}, "a group")
    check(set(listed("?age-faults")["software"]) == {"page-faults"}, "a pattern")
    check_refused(ctop("list", "cyclse"), 1, "cyclse", "'cycles'")
    check_refused(ctop("list", "qqqqqqqqqqq"), 1, "qqqqqqqqqqq")
    check_refused(ctop("list", "a", "b"), 2, "unexpected argument")


@case
def the_list_says_what_recording_finds():
    need_root()
    groups = listed()
    states = {**groups["hardware"], **groups["software"], **groups["clocks"], **groups.get("pmus", {})}
    for name in ("cycles", "instructions", "page-faults", "cpu-clock", "context-switches", "msr/tsc/"):
        if name not in states or name == "cycles":
            continue  # cycles have a stand-in
        result = ctop("record", "-e", name, "-o", "/dev/null", "-q", "--", "true")
        check((result.returncode == 0) == states[name].startswith("yes"),
              f"{name}: {states[name]}; {result.stderr}")
    as_user = plain_user()
    with paranoid(2), readable_ctop() as (_, program):
        text = run(*as_user, program, "list", "software").stdout
        check(re.search(r"^  page-faults +yes, user code ", text, re.M), text)
        check(re.search(r"^  context-switches +no permission ", text, re.M), text)


@case
def the_list_fits_the_terminal():
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with subprocess.Popen([CTOP, "list", "L1"], stdout=follower, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL) as program:
        os.close(follower)
        text = b""
        with contextlib.suppress(OSError):  # EIO: it has ended
            while more := os.read(leader, 65536):
                text += more
        check(program.wait() == 0, "exit code")
    os.close(leader)
    lines = text.decode().splitlines()
    check(len(lines) > 5 and all(len(line) <= 60 for line in lines), f"{lines}")
    # And a reader that has seen enough is no failure to speak of.
    result = run("sh", "-c", f"{CTOP} list | head -1")
    check(result.stdout == "hardware\n", f"{result.stdout!r} {result.stderr!r}")


# ---- the doctor ----


@case
def the_doctor_agrees_as_root():
    need_root()
    with target("spin") as program:
        answer = agree([], CTOP, ["-p", program.pid])
        check(answer["works"] and not answer["user_only"], f"{answer}")
        agree([], CTOP, ["-a"])
        agree([], CTOP, ["-e", "instructions", "-p", program.pid])
        agree([], CTOP, ["-m", "16", "-F", "2000", "-p", program.pid])
    answer = agree([], CTOP, ["-p", program.pid])
    check(not answer["works"], f"{answer}")
    check(doctor(CTOP, "doctor")["works"], "without a target")


@case
def the_doctor_agrees_as_a_user():
    need_root()
    as_user = plain_user()
    with readable_ctop() as (_, program), target("spin") as roots:
        shutil.copy(os.path.join(BUILD, "workloads", "spin"), os.path.dirname(program))
        with subprocess.Popen([*as_user, os.path.join(os.path.dirname(program), "spin")],
                              stdout=subprocess.PIPE, text=True) as own:
            own.stdout.readline()
            try:
                for level, works, user_only in ((2, True, True), (1, True, False), (3, None, None)):
                    with paranoid(level):
                        answer = agree(as_user, program, ["-p", own.pid])
                        check(works is None or answer["works"] == works, f"{level}: {answer}")
                        check(not works or answer["user_only"] == user_only, f"{level}: {answer}")
                        check(not agree(as_user, program, ["-p", roots.pid])["works"], "another's")
                        check(not agree(as_user, program, ["-a"])["works"], "whole CPUs")
                        agree(as_user, program, ["-e", "context-switches", "-p", own.pid])
            finally:
                own.kill()


@case
def the_doctor_agrees_under_small_limits():
    need_root()
    as_user = plain_user()
    prlimit = need_program("prlimit")
    works = set()
    with paranoid(2), readable_ctop() as (_, program):
        for limit in ("--memlock=0:0", "--memlock=65536:65536", *(f"--nofile={n}:{n}" for n in range(12, 72, 6))):
            prefix = [prlimit, limit, *as_user]
            answer = doctor(*prefix, program, "doctor")
            result = run(*prefix, program, "record", "-o", "/dev/null", "--", "true")
            check(answer["works"] == (result.returncode == 0), f"{limit}: {answer}\n{result.stderr}")
            if not answer["works"]:
                check(answer["cause"] in result.stderr and answer["remedy"], f"{limit}: {answer}")
            works.add(answer["works"])
    check(works == {True, False}, f"no limit made a difference: {works}")


@case
def the_doctor_lets_no_command_go():
    need_root()
    with folder() as where:
        made = os.path.join(where, "made")
        result = ctop("doctor", "--", "touch", made)
        check(result.returncode == 0 and not os.path.exists(made), f"{result.stdout}")
        check("profiling works: " in result.stdout, result.stdout)


# ---- setuid ----


@case
def a_setuid_ctop_refuses():
    need_root()
    setpriv = need_program("setpriv")
    with readable_ctop() as (_, program):
        for bit in (0o4755, 0o2755):
            os.chmod(program, bit)
            result = run(setpriv, f"--reuid={STRANGER}", f"--regid={STRANGER}",
                         "--clear-groups", program, "list")
            if result.returncode == 0:
                raise Skip("the folder's file system honours no setuid bit")
            check_refused(result, 1, "setuid", "SETCAP=1")


main()
