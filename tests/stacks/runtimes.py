#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runtimes that do more to a stack than calls do: sanitizers, Go calling C, interpreters that generate code."""

import collections
import contextlib
import glob
import os
import re
import subprocess

from everyday import building_go, without_the_map, written
from harness import (BUILD, Skip, case, check, check_accounts, ctop_ok, directory, main, need_root, record,
                     share_complete, with_function)

LIMIT_SECONDS = 60  # all of them end by themselves, after about this:
SECONDS = 2

CGO = """package main

/*
#include <stdint.h>

extern uint64_t goWork(uint64_t);

static __attribute__((noinline)) uint64_t c_work(uint64_t n)
{
	for (volatile int i = 0; i < 200000; i++)
		n = n * 31 + i;
	return n;
}

static __attribute__((noinline)) uint64_t c_between(uint64_t n)
{
	return c_work(n) + goWork(n) + 1;
}
*/
import "C"
import ("fmt"; "time")

//export goWork
func goWork(n C.uint64_t) C.uint64_t { return C.uint64_t(goLeaf(uint64(n)) + 1) }

//go:noinline
func goLeaf(n uint64) uint64 {
	for i := uint64(0); i < 200000; i++ { n = n*31 + i%%7 }
	return n
}

//go:noinline
func callC(n uint64) uint64 { return uint64(C.c_between(C.uint64_t(n))) + 1 }

func main() {
	all, end := uint64(0), time.Now().Add(%d * time.Second)
	for time.Now().Before(end) { all += callC(all) }
	fmt.Println(all)
}
"""
GO = """package main

import ("fmt"; "time")

type node struct { left, right *node; name string; data []byte }

//go:noinline
func leftLeaf(n int) *node { return &node{name: fmt.Sprint(n), data: make([]byte, n%%3000)} }

//go:noinline
func leftMiddle(all map[string]*node, n int) {
	for i := 0; i < 40; i++ {
		leaf := leftLeaf(n + i)
		leaf.left, leaf.right = all[leaf.name], all["1"]
		all[leaf.name] = leaf
	}
}

//go:noinline
func left(done chan int, end time.Time) {
	all := map[string]*node{}
	for n := 0; time.Now().Before(end); n = (n + 40) %% 100000 { leftMiddle(all, n) }
	done <- len(all)
}

//go:noinline
func rightLeaf(depth int) *node { return &node{left: &node{}, right: &node{data: make([]byte, depth*16)}} }

//go:noinline
func rightMiddle(depth int) *node {
	if depth == 0 { return rightLeaf(12) }
	return &node{left: rightMiddle(depth - 1), right: rightMiddle(depth - 1)}
}

//go:noinline
func right(done chan int, end time.Time) {
	var last *node
	for time.Now().Before(end) { last = rightMiddle(11) }
	done <- len(last.name)
}

func main() {
	done, end := make(chan int), time.Now().Add(%d * time.Second)
	go left(done, end)
	go right(done, end)
	fmt.Println(<-done + <-done)
}
"""
PYTHON = """import time

def leaf(n):
    return sum(i * i for i in range(n))

def middle(n):
    return [leaf(n) for _ in range(10)]

def outer():
    end = time.time() + %d
    while time.time() < end:
        middle(2000)

outer()
"""


def recorded(where, *command):
    recording = record(where, "-e", "cpu-clock:u", "--", *command, seconds=LIMIT_SECONDS)
    check_accounts(recording.stats)
    check(recording.stats["samples"] > 100, f"{recording.stats['samples']} samples")
    return recording


def path_of(stack, function):
    """The names from a function on, without what follows their dots: .part.0, .abi0."""
    names = [name if name.startswith("[") else name.split(".part.")[0].removesuffix(".abi0")
             for name in stack]
    return names[names.index(function):] if function in names else None


# ---- sanitizers ----

def address_sanitizer(program):
    need_root()
    program = os.path.join(BUILD, "stacks", program)
    if not os.path.exists(program):
        raise Skip("this program could not be built here")
    os.environ["ASAN_OPTIONS"] = "detect_stack_use_after_return=1"
    with directory() as where:
        recording = recorded(where, program, str(SECONDS))
    expected = ["main", "rounds", "in_fake_frame"]
    for stack in recording.stacks:
        path = path_of(stack, "main")
        if path and "in_fake_frame" in path:
            check(path[:3] == expected, f"{stack}")
            check("compare" not in path or "qsort" in path[3], f"{stack}")
    deep = with_function(recording.stacks, "in_fake_frame")
    check(deep >= 0.8 * recording.stats["samples"], f"{deep} of {recording.stats['samples']}")
    for function in ("work", "compare"):
        check(with_function(recording.stacks, function) > 10, f"hardly any {function}")
    check(share_complete(recording.stats) == 1, f"{recording.stats['stacks']}")


@case
def address_sanitizer_of_gcc():
    address_sanitizer("asan_gcc")


@case
def address_sanitizer_of_clang():
    address_sanitizer("asan_clang")


# ---- Go and C ----

def is_begun(path, ladder):
    """True when the functions of package main are the ladder's, from its start on; the last rung but one may repeat."""
    steps = [name for at, name in enumerate(path) if not at or name != path[at - 1]]
    return steps == ladder[:len(steps)]


@case
def goroutines_that_allocate():
    """The collector's work on the system stack is below the very calls that it is done for."""
    need_root()
    build = building_go(GO % SECONDS)
    with directory() as where:
        recording = recorded(where, *build(where))
    crossed = 0
    for stack, count in recording.stacks.items():
        names = stack[1:]
        own = [name for name in names if name.startswith("main.")]
        if "[switched]" not in names or names[0] == "[switched]":
            continue
        crossed += count
        check(names[0].startswith("runtime.goexit"), f"{stack}")
        for side in "left", "right":
            if f"main.{side}" in own:
                begin = own.index(f"main.{side}")  # go makes a wrapper of what it starts
                check(begin <= 1 and is_begun(own[begin:], [f"main.{side}", f"main.{side}Middle", f"main.{side}Leaf"]),
                      f"{stack}")
                # What is marked called the runtime, or is of it: nothing of the program's is below that.
                check(not any(name.startswith("main.") for name in names[names.index("[switched]"):]), f"{stack}")
    ends, samples = recording.stats["stacks"], recording.stats["samples"]
    check(crossed > 0.02 * samples, f"{crossed} of {samples}")
    # Where the stack may have been moved, at the ends of collections, nothing is proved.
    check(ends["complete"] >= 0.94 * samples, f"{ends}")


def ladders_on_threads(count):
    """A Go program: each goroutine has functions of its own, and a thread; stacks grow and shrink."""
    one = """
//go:noinline
func grow@(n int) int { var room [256]byte; room[n%256] = 1; if n == 0 { return int(room[3]) }; return grow@(n-1) + int(room[n%7]) }
//go:noinline
func leaf@(n int) *node { return &node{data: make([]byte, 100+n%3000), next: map[int]*node{n: nil}} }
//go:noinline
func mid@(n int) *node { x := leaf@(n); x.left = leaf@(n+1); return x }
//go:noinline
func work@(end time.Time, done chan int) {
	runtime.LockOSThread()
	k := 0
	for i := 0; time.Now().Before(end); i++ {
		if i%50 == 0 { k += grow@(50 + i%200) }
		x := mid@(i); x.right = kept[@]; kept[@] = x
		if i%20 == 0 { kept[@] = nil }
	}
	done <- k
}
"""
    starts = "".join(f"\tgo work{i}(end, done)\n" for i in range(count))
    return f"""package main

import ("runtime"; "runtime/debug"; "time")

type node struct {{ left, right *node; data []byte; next map[int]*node }}
var kept [{count}]*node
""" + "".join(one.replace("@", str(i)) for i in range(count)) + f"""
func main() {{
	debug.SetGCPercent(20)
	done, end := make(chan int), time.Now().Add({2 * SECONDS} * time.Second)
{starts}	for i := 0; i < {count}; i++ {{ <-done }}
}}
"""


@case
def goroutines_with_threads_of_their_own():
    """Behind a switch there is that thread's goroutine, not another one that has its old stack."""
    need_root()
    build = building_go(ladders_on_threads(8))
    with directory() as where:
        recording = recorded(where, *build(where))
        text = ctop_ok("export", "frames", "--no-inline", recording.path).stdout
    own, crossed = {}, []
    for sample in text.split("\n\n"):
        whose = set(re.findall(r" main\.(?:work|mid|leaf)(\d+)\+", sample))
        tid = re.search(r"\d+/(\d+) ", sample)
        if whose and " switched " in sample:
            crossed.append((tid[1], whose))
        elif whose:
            own.setdefault(tid[1], collections.Counter()).update(whose)
    check(own and all(len(names) == 1 for names in own.values()), f"{own}")
    known = [whose == set(own[tid]) for tid, whose in crossed if tid in own]
    print(f"# {known.count(False)} of {len(known)} belong to another thread")
    check(len(known) > 20, f"{len(known)} of {recording.stats['samples']}")
    # What cannot be proved is rare (docs/ARCHITECTURE.md): about 2 in 1,000, of some 400 here.
    check(known.count(False) <= max(5, 0.01 * len(known)), f"{known.count(False)} of {len(known)}")


def calling_c(flags):
    os.environ["CGO_CFLAGS"] = flags
    build = building_go(CGO % SECONDS)
    with directory() as where:
        return recorded(where, *build(where))


def check_in_c(stack):
    """What is below asmcgocall; and, where the way behind that was proved, all of the goroutine's. True: it was."""
    path = path_of(stack, "runtime.asmcgocall")
    check(path and len(path) == 4 and path[1].endswith("_Cfunc_c_between") and path[2:] == ["c_between", "c_work"],
          f"{stack}")
    path = path_of(stack, stack[0])[1:-4]
    check(not path or path[0].startswith("runtime.goexit") and path[1:4] == ["runtime.main", "main.main", "main.callC"] and
          path[4].endswith("_Cfunc_c_between") and path[5:] == ["[switched]"], f"{stack}")
    return path != []


@case
def go_calls_c_with_frame_pointers():
    need_root()
    recording = calling_c("-O2 -fno-omit-frame-pointer")
    in_c = sum(count for stack, count in recording.stacks.items() if "c_work" in stack and check_in_c(stack))
    ends, samples = recording.stats["stacks"], recording.stats["samples"]
    check(in_c > 0.2 * samples, f"{in_c} in C, of {samples}")
    check(ends["complete"] >= 0.97 * samples, f"{ends}")


@case
def go_calls_c_that_calls_go():
    need_root()
    recording = calling_c("-O2")
    in_go = in_c = 0
    for stack, count in recording.stacks.items():
        path = path_of(stack, "main.main")
        if "main.goLeaf" in stack and "__restore_rt" not in stack:  # Go's handlers have a stack of their own
            in_go += count
            check(stack[1].startswith("runtime.goexit") and path[:2] == ["main.main", "main.callC"] and
                  path[-2].endswith("_goWork") and path[-1] == "main.goLeaf", f"{stack}")
        if "c_work" in stack:
            in_c += count
            check_in_c(stack)
    ends, samples = recording.stats["stacks"], recording.stats["samples"]
    check(min(in_go, in_c) > 0.2 * samples, f"{in_go} in Go, {in_c} in C, of {samples}")
    check(ends["complete"] >= in_go, f"{ends}")
    check(ends["complete"] + ends["switched"] >= 0.995 * samples, f"{ends}")


# ---- CPython ----

def pythons():
    """Interpreters that may be recent enough: of the system, and those that pyenv keeps."""
    yield from ("/usr/bin/python3", "/usr/local/bin/python3")
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))


def has_trampolines(python):
    program = "import sys; sys.exit(not sys.is_stack_trampoline_active())"
    if not os.path.exists(python):
        return False
    with subprocess.Popen([python, "-X", "perf", "-c", program], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        process.wait()
    with contextlib.suppress(OSError):
        os.unlink(f"/tmp/perf-{process.pid}.map")
    return process.returncode == 0


@case
def trampolines_of_cpython():
    need_root()
    found = [python for python in pythons() if has_trampolines(python)]
    if not found:
        raise Skip("no CPython of 3.12 or later")
    for python in found:
        with directory() as where, without_the_map(where):
            source = written(where, "busy.py", PYTHON % SECONDS)
            recording = recorded(where, "/bin/sh", "-c", f'echo $$ >{where}/pid; exec "$0" -X perf "$1"',
                                 python, source)
        expected = [f"py::{name}:{source}" for name in ("<module>", "outer", "middle", "leaf")]
        deep = 0
        for stack, count in recording.stacks.items():
            names = [name for name in stack if name.startswith("py::") and
                     "<locals>" not in name and "<listcomp>" not in name]
            if expected[-1] in names:
                deep += count
                check(names == expected and "_start" in stack[1], f"{python}: {stack}")
        samples = recording.stats["samples"]
        check(deep >= 0.6 * samples, f"{python}: {deep} of {samples}")
        # A trampoline's own instructions are code without any table: 1 in 300 samples.
        check(share_complete(recording.stats) >= 0.98, f"{python}: {recording.stats['stacks']}")


if __name__ == "__main__":
    main()
