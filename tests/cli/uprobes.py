#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uprobes: by every name, in processes with files of their own, in children, and none in others."""

import contextlib
import os
import re
import shutil
import subprocess

from events_common import compiled, sampled
from harness import (CTOP, PATIENCE, Skip, case, check, check_refused, child, ctop, ctop_ok, directory, folded, main,
                     need_program, need_root, record, run, wait_until, with_leaf)

CALLS = """
__attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
static __attribute__((noinline)) int outer(int x) { __asm__ volatile(""); return inner(x) + 1; }
int main(void) { int sum = 0; for (int i = 0; i < 500; i++) sum = outer(sum); return sum == 0; }
"""


@case
def uprobes_hit_each_call():
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")
    with directory() as where:
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
    with directory() as where:
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
    with directory() as where:
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
        check(sum(folded(os.path.join(where, "y.ctop")).values()) == 30, "below the current directory")
        for function, words in (("ns::Class<int, char>::method", ("several functions", "parameters")),
                                ("ns::single+4096", ("bytes long", "+4096")),
                                ("ns::nothing(int)", ("has no function 'ns::nothing(int)'",))):
            result = ctop("record", "-e", f"uprobe:{program}:{function}", "-o", "/dev/null", "-p", os.getpid())
            check_refused(result, 1, f"'{program}'", *words)
        within = ctop("record", "-q", "-e", f"uprobe:{program}:ns::single+1", "-o", "/dev/null", "--", "true")
        check("past its end" not in within.stderr, f"{within}")


@case
def uprobes_of_libraries_and_programs_by_name():
    need_uprobes()
    with directory() as where:
        program = compiled(where, "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 50; i++) free(malloc(9)); }",
                           "-fno-builtin")
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
    with directory() as where:
        program = compiled(where, CALLS_BY_WORD, "-fno-builtin")
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
                check_refused(result, 1, f"has not mapped '{name}'", f"/proc/{process.pid}/root")
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
def uprobes_of_processes_with_different_files():
    """One event goes into one file: which would be anybody's guess."""
    need_uprobes()
    if run("unshare", "-m", "true").returncode:
        raise Skip("no mount namespaces here")
    with directory() as where, contextlib.ExitStack() as running:
        program = compiled(where, CALLS_BY_WORD)

        def start(where_in, *prefix):
            os.makedirs(os.path.join(where, where_in), exist_ok=True)
            path = os.path.join(where, where_in, "own")
            if not os.path.exists(path):
                shutil.copy(program, path)
            process = running.enter_context(child(*prefix, path, stdin=subprocess.PIPE))
            wait_until(lambda: os.path.realpath(f"/proc/{process.pid}/exe").endswith("/own"), "program")
            return process.pid

        def result_of(event, *pids):
            return ctop("record", "-q", "-e", f"uprobe:{event}:inner", "--duration", "0.1", "-o", os.path.join(where, "x.ctop"),
                        *(word for pid in pids for word in ("-p", pid)))

        first, again, other = start("a"), start("a"), start("b")
        check(result_of("own", first, again).returncode == 0, "one file of two processes")
        many = [start("a") for _ in range(16)]
        for pids in (first, other), (first, *many, other):
            result = result_of("own", *pids)
            check_refused(result, 1, f"process {first}", f"process {other}", "a/own", "b/own", "-p")
        # By a path that both have: here, and in other mounts.
        hidden = os.path.join(where, "a")
        elsewhere = start("a", "unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && cp "$1" "$0/own" && exec "$0/own"',
                          hidden, program)
        check_refused(result_of(f"{hidden}/own", first, elsewhere), 1, f"process {first}", f"process {elsewhere}")
        check(result_of(f"{hidden}/own", elsewhere).returncode == 0, "elsewhere alone")


@case
def uprobes_leave_forks_alone():
    need_uprobes()
    with directory() as where:
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
    with directory() as where:
        program = compiled(where, CALLS)
        text = os.path.join(where, "text")
        with open(text, "w", encoding="ascii") as file:
            file.write("no program\n" * 1000)
        os.mkfifo(os.path.join(where, "fifo"))
        for place, word in ((f"{program}:nothing", "no function"), (f"{text}:main", "not a program"),
                            (f"{where}:main", "not a file"), (f"{where}/fifo:main", "not a file"),
                            (f"{where}/gone:main", "No such file"), (f"{where}/gone+16", "no such file")):
            result = ctop("record", "-e", f"uprobe:{place}", "-o", "/dev/null", "-p", os.getpid())
            check_refused(result, 1, word)


main()
