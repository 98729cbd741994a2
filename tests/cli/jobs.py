#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A perf.data file read by several processes (-j): what comes of it is the same, byte by byte, as from one."""

import contextlib
import json
import os
import signal
import subprocess
import sys

from harness import (CTOP, PATIENCE, Skip, case, check, check_refused, child, child_pids, ctop, ctop_ok, directory, main,
                     need_program, need_root, run, wait_until)
from recorded_by_perf import need_samples, perf_record, perf_samples

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "stacks"))
from cut_dumps import cut_dumps  # pylint: disable=wrong-import-position

# Threads that go down 40 calls by other ways each time, until all together have computed for so many ms.
THREADS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
static _Atomic int is_over;
static volatile unsigned sink;
static unsigned left(unsigned n, int depth);
static __attribute__((noinline)) unsigned right(unsigned n, int depth)
{
	volatile char pad[200];
	pad[n % 200] = (char)n;
	unsigned value = depth ? left(n * 3, depth - 1) : n * 7;
	return value + (unsigned)pad[n % 200];
}
static __attribute__((noinline)) unsigned left(unsigned n, int depth)
{
	volatile char pad[120];
	pad[n % 120] = (char)n;
	unsigned value = !depth ? n : n >> 5 & 1 ? right(n * 5, depth - 1) : left(n * 7, depth - 1);
	return value + (unsigned)pad[n % 120];
}
static void *work(void *at)
{
	unsigned n = (unsigned)(size_t)at;
	while (!is_over)
		sink = left(n = n * 1103515245 + 12345, 40);
	return at;
}
int main(int argc, char **argv)
{
	enum { MOST = 300 };
	pthread_t threads[MOST];
	const struct timespec moment = {0, 5000000};
	struct timespec used;
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	long most = argc > 2 ? atol(argv[2]) : 100;
	for (long i = 0; i < nr && i < MOST; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
			return 1;
	do {
		nanosleep(&moment, NULL);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < most);
	is_over = 1;
	for (int i = 0; i < nr && i < MOST; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""
FORMATS = "folded", "pprof", "script"


@contextlib.contextmanager
def recorded_threads(nr, milliseconds, dump_bytes=8192, hz=2000, options=()):
    with directory() as where:
        program, path = os.path.join(where, "threads"), os.path.join(where, "perf.data")
        with open(program + ".c", "w", encoding="utf-8") as file:
            file.write(THREADS)
        made = run(need_program("gcc"), "-O1", "-o", program, program + ".c", "-pthread")
        check(made.returncode == 0, made.stderr)
        perf_record(path, *options, "-e", "cpu-clock:u", "-F", str(hz), "--call-graph", f"dwarf,{dump_bytes}", "--", program,
                    str(nr), str(milliseconds))
        need_samples(perf_samples(path), 100)
        yield path


def exported(path, kind, nr, *options):
    """What ctop writes, and what it says."""
    result = subprocess.run([CTOP, "export", kind, path, "-j", str(nr), "--no-inline", *options], capture_output=True,
                            timeout=PATIENCE, check=False)
    check(result.returncode == 0, result.stderr)
    return result.stdout, result.stderr


def check_same(path, *options, formats=FORMATS):
    for kind in formats:
        one, said = exported(path, kind, 1, *options)
        check(one, f"{kind}: nothing")
        for nr in 2, 3, 16:
            other, said_of_other = exported(path, kind, nr, *options)
            if said != said_of_other:
                raise Skip(f"a file could not be opened in time: {said} {said_of_other}")
            check(one == other, f"{kind}: with -j {nr} it is not what it is with -j 1")


def stacks_of(path, *options):
    with directory() as where:
        stats = os.path.join(where, "stats.json")
        ctop_ok("export", "folded", path, "--no-inline", "-o", "/dev/null", "--stats", stats, *options)
        with open(stats, encoding="utf-8") as file:
            return json.load(file)


@case
def one_thread():
    with recorded_threads(1, 300) as path:
        check_same(path)


@case
def three_hundred_threads():
    with recorded_threads(300, 600, dump_bytes=4096) as path:
        check_same(path)


@case
def joined_stacks():
    with recorded_threads(20, 800, dump_bytes=16384) as path:
        check(cut_dumps(path, 6144) > 0, "no dump is as deep as that")
        check_same(path)
        report = ctop_ok("report", path, "--stdio", "-j", "2").stdout
        check("joined" in report, f"no stack is joined: {report[:1000]}")


@case
def counts_are_those_of_one():
    with recorded_threads(20, 400) as path:
        one, several = stacks_of(path, "-j", "1"), stacks_of(path, "-j", "3")
        counts = [key for key in one if key.startswith(("samples", "lost", "dropped", "frames", "late", "stacks"))]
        check("samples" in counts, f"{sorted(one)}")
        for key in counts:
            check(one[key] == several[key], f"{key}: {one[key]} and {several[key]}")


@case
def a_history_that_is_full():
    with recorded_threads(40, 600) as path:
        check_same(path, "--memory", "16")


@case
def a_recording_made_of_it():
    with recorded_threads(8, 300) as path, directory() as where:
        scripts = []
        for nr in 1, 2:
            merged = os.path.join(where, f"{nr}.ctop")
            ctop_ok("merge", merged, path, "-j", str(nr))
            scripts.append(ctop_ok("export", "script", merged).stdout)
        check(scripts[0] and scripts[0] == scripts[1], "recordings differ")


@case
def a_directory_of_recordings():
    """perf record --threads: one file for each CPU."""
    need_root()
    with recorded_threads(20, 400, options=["--threads"]) as path:
        check(os.path.exists(os.path.join(path, "data.0")), f"{path} is no directory")
        check_same(path)


@case
def a_file_from_a_pipe():
    with recorded_threads(4, 200) as path:
        whole = exported(path, "folded", 1)[0]
        with open(path, "rb") as file, child("cat", stdin=file, stdout=subprocess.PIPE) as cat:
            piped = subprocess.run([CTOP, "export", "folded", "-", "-j", "2", "--no-inline"], stdin=cat.stdout,
                                   capture_output=True, timeout=PATIENCE, check=False)
        check(piped.returncode == 0 and piped.stdout == whole, piped.stderr)


def collectors_of(pid):
    found = []
    for other in child_pids(pid):
        with contextlib.suppress(OSError), open(f"/proc/{other}/cmdline", encoding="utf-8", errors="replace") as file:
            if "--child=collector" in file.read().split("\0"):
                found.append(other)
    return found


@case
def one_that_dies_has_a_successor():
    with recorded_threads(20, 3000, dump_bytes=16384, hz=4000) as path, directory() as where:
        cut_dumps(path, 6144)
        expected, stats = exported(path, "folded", 1)[0], os.path.join(where, "stats.json")
        out = os.path.join(where, "out")
        with child(CTOP, "export", "folded", path, "-j", "2", "--no-inline", "-o", out, "--stats", stats) as exporter:
            wait_until(lambda: len(collectors_of(exporter.pid)) == 2 or exporter.poll() is not None, "its children")
            for pid in collectors_of(exporter.pid)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            check(exporter.wait(PATIENCE) == 0, "ctop failed")
        with open(stats, encoding="utf-8") as file:
            if not json.load(file)["restarts"]:
                raise Skip("the children were through before one could be ended")
        with open(out, "rb") as file:
            check(file.read() == expected, "its successor has found other stacks")


@case
def numbers_that_make_no_sense():
    for wrong in "0", "17", "-1", "many":
        check_refused(ctop("report", "perf.data", "-j", wrong), 2, wrong)


if __name__ == "__main__":
    main()
