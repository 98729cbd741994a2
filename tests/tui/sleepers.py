#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that sleep, in a real terminal: a deadlock, very many, another user's."""

import contextlib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import BUILD, CTOP, Skip, case, check, child, ctop_ok, directory, main, need_root, parked_goroutine, run, target, wait_until


CROSSWISE = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;
static void *take(void *first)
{
	pthread_mutex_lock(&locks[first != 0]);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&locks[first == 0]);
	return 0;
}
int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&thread, 0, take, 0);
	pthread_create(&thread, 0, take, &both);
	for (;;)
		pause();
}
"""
POOL = """
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static void *wait(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&work, &lock);
	return unused;
}
int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, 0, wait, 0);
	pthread_join(thread, 0);
}
"""


def sleeping(pid):
    """Threads of a process that sleep, by name."""
    names = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as stat:
            name, _, rest = stat.read().partition("(")[2].rpartition(")")
        names += [name] if rest.split()[0] == "S" else []
    return names


@case
def samples_of_what_is_shown_are_counted():
    """Of computing, of waiting, and of both; each has a sum of its own."""
    need_root()
    with directory() as where, terminal(140, 40) as window:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "--time", "wall", "-o", path, "--", os.path.join(BUILD, "workloads", "waiters"), "2")
        window.type(f"{CTOP} report {path}")
        window.wait_for("[1 Top]")
        seconds = {}
        for what in "cpu", "wait", "wall":
            window.press("i")
            screen = window.wait_for("How this profile is made", "weight")
            check("samples shown" not in screen, screen)
            number, unit = re.search(r"weight +([\d.]+) (m?s) in ", screen).groups()
            seconds[what] = float(number) * (1e-3 if unit == "ms" else 1)
            window.press("Escape")
            window.wait_until(lambda screen: "How this profile" not in screen, "way back")
            window.press("o")
        check(seconds["cpu"] < seconds["wait"] and abs(seconds["cpu"] + seconds["wait"] - seconds["wall"]) < 0.02, f"{seconds}")
        window.press("q")
        window.wait_for_prompt()


@case
def a_deadlock_is_told_from_threads_that_have_nothing_to_do():
    """Two wait for each other's locks while the others wait for time to pass; in a pool all wait, and none for another."""
    need_root()
    with directory() as where, terminal(160, 24) as window:
        for name, source in ("crosswise", CROSSWISE), ("pool", POOL):
            program = os.path.join(where, name)
            with open(program + ".c", "w", encoding="utf-8") as file:
                file.write(source)
            check(run("gcc", "-O1", "-pthread", "-o", program, program + ".c").returncode == 0, name)
        with child(os.path.join(where, "crosswise")) as program:
            window.type(f"{CTOP} -p {program.pid}")
            screen = window.wait_until(lambda screen: re.search(r"deadlock: \d+, \d+!", screen), "deadlock")
            window.press("q")
            window.wait_for_prompt()
        with child(os.path.join(where, "pool")) as program:
            window.type(f"{CTOP} -p {program.pid}")
            screen = window.wait_for("all wait for locks or conditions")
            check("deadlock" not in screen, screen)
            window.press("q")
            window.wait_for_prompt()


@case
def a_deadlock_is_a_list_of_threads():
    need_root()
    with target("deadlock", "600", "3") as program, terminal() as window:
        wait_until(lambda: len(sleeping(program.pid)) == 6, "deadlock")
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("6 threads sleep", "6 shows each thread", "cpu 0% run-queue 0% waiting 100%")
        window.wait_until(lambda screen: re.search(r"deadlock: \d+, \d+!", screen), "deadlock")
        # Where: what is in no call of its own is not in its way.
        window.press("o")
        window.wait_for("% of the waiting", "[lock]", "100.0")
        window.press("2")
        window.wait_for("CALL TREE", "take_ab", "take_ba")
        window.press("o")
        window.wait_for("% of the time", "wait%")
        window.press("o")
        window.wait_for("6 threads sleep")
        window.press("6")
        screen = window.wait_for("deadlock-ab", "deadlock-ba", "deadlock-wait", "futex")
        rows = [line for line in screen.splitlines() if re.match(r">?\s+0\.0  100\.0\s+\d+ deadlock", line)]
        check(len(rows) == 6 and all(" futex" in row for row in rows), screen)
        window.wait_until(lambda screen: len(re.findall(r"futex ~\d+s", screen)) >= 6, "since when they wait")
        window.press("Down")
        window.wait_for("deadlock-ab  sleeps for about", "in futex, at ")
        # Beside it, where there is room: whoever holds what it wants.
        window.resize(160, 30)
        window.press("Up", "Down")
        window.wait_until(lambda screen: re.search(r"futex 0x[0-9a-f]+, likely held", " ".join(line.rpartition("│")[2].strip() for line in screen.splitlines())),
                          "who holds the lock")
        window.resize(80, 24)
        window.press("p")
        window.wait_for("PROCESS", "THR")
        window.press("q")
        window.wait_for_prompt()


@case
def memory_that_never_answers():
    """Whoever reads it is held until he is killed: the screen goes on, and says so."""
    need_root()
    with child(os.path.join(BUILD, "workloads", "silent"), "600", "2", stdout=subprocess.PIPE, text=True) as program, terminal(100, 30) as window:
        words = program.stdout.readline()
        if not words.startswith("ready "):
            raise Skip(f"no memory that holds the kernel: {words.strip()}")
        window.type(f"{CTOP} --time wait -p {program.pid}")
        window.wait_for("LIVE", "% of the waiting", "! memory that does not answer: where 2 threads wait is not looked at", "[sleep]")
        window.press("2")
        window.wait_for("CALL TREE", "clone3", "[sleep]")
        window.press("6")
        window.wait_for("nap", "silent", "pause")
        window.select("silent")
        window.press("i")
        window.wait_until(lambda screen: "2 times a thread's memory did not answer within 250 ms" in " ".join(screen.split()), "the notice")
        window.press("i", "q")
        window.wait_for_prompt()


@case
def what_they_did_lately():
    """Each thread's share of computing and waiting; and since when, to the tenth of a second, where the kernel has told."""
    need_root()
    with target("waiters") as program, child("cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as cat, terminal(120, 120) as window:
        # All of its children have a row, ten seconds long.
        window.type(f"{CTOP} -p {program.pid},{cat.pid}")
        window.wait_for("LIVE")
        window.press("6")
        # It waited before.
        window.wait_until(lambda screen: re.search(r" 0\.0  100\.0 +\d+ cat +read ~\d+s ", screen), "the one that waits for ever")
        cat.stdin.write(b"x\n")
        cat.stdin.flush()
        window.wait_until(lambda screen: re.search(r" 0\.0  (100\.0|99\.\d) +\d+ cat +read \d+(\.\d)?[sm] ", screen), "since when it does again")
        window.wait_until(lambda screen: re.search(r" \d+\.\d  +[1-9]\d?\.\d +\d+ wanter ", screen), "one that does both")
        window.select("wanter")
        window.wait_until(lambda screen: re.search(r"cpu \d+\.\d%, run-queue \d+\.\d%, waiting \d+\.\d%", screen), "the pane")
        # Whichever time is shown, a thread that sleeps uses no CPU.
        window.press("o")
        window.wait_for("% of the waiting")
        window.wait_until(lambda screen: re.search(r" 0\.0  (9\d\.\d|100\.0) +\d+ cat ", screen), "the same beside waiting")
        window.press("q")
        window.wait_for_prompt()


@case
def who_wakes_a_thread():
    """In the pane; of timers some kernels do not tell on CPUs that idle."""
    need_root()
    with target("waits", "600", "100000") as program, terminal(160, 30) as window:
        window.type(f"{CTOP} --max-overhead 0 -p {program.pid}")
        window.wait_for("LIVE")
        window.press("6")
        window.wait_for("blocked", "sleeper")

        def pane(screen):
            return " ".join(line.rpartition("│")[2].strip() for line in screen.splitlines())

        def is_woken(name, waker):
            """Its row is gone to once more where another one's says that name, too."""
            window.press("/", *name, "Enter")
            of_it = re.compile(rf"\d+ {name} .*woken by .*?{waker}")
            window.wait_until(lambda screen: of_it.search(pane(screen)) or window.press("n"), f"who wakes {name}")

        window.press("i")
        if "preempted, not from waking on" in window.wait_for("run-queue").replace("\n", " "):
            raise Skip("no records of each waking here")
        window.press("i")
        is_woken("blocked", r"\d+ holder \d+%")
        window.wait_until(lambda screen: re.search(r"LONG WAITS ENDED BY.*\[woken by holder\] in \S+ < .*holder", pane(screen)), "where that was")
        is_woken("sleeper", r"(an interrupt|unknown) \d+%")
        window.press("q")
        window.wait_for_prompt()


@case
def what_they_did_in_a_recording():
    """All of it; of a window nobody knows."""
    need_root()
    with directory() as where, target("waiters") as program, terminal() as window:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-o", path, "-p", program.pid, "--duration", "1")
        window.type(f"{CTOP} report {path}")
        window.wait_for("FILE")
        window.press("6")
        window.wait_until(lambda screen: "WAIT%" in screen and re.search(r"^> +\d+\.\d +\d+\.\d +[1-9]\d?\.\d +\d+ ", screen, re.M), "computing and waiting")
        window.press("w")
        window.wait_until(lambda screen: "WAIT%" not in screen, "a window")
        window.press("q")
        window.wait_for_prompt()


@case
def ten_thousand_that_sleep():
    need_root()
    with contextlib.ExitStack() as ends, terminal() as window:
        while True:
            program = ends.enter_context(target("deadlock", "600", "10000"))
            wait_until(lambda: len(sleeping(program.pid)) == 10003, "deadlock of 10,000")
            # The kernel may have begun again with small numbers meanwhile: then the list's order is another one.
            if min(map(int, os.listdir(f"/proc/{program.pid}/task"))) == program.pid:
                break
            ends.pop_all().close()
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE")
        window.press("6")
        window.wait_for("deadlock-ab", "futex")
        last = max(map(int, os.listdir(f"/proc/{program.pid}/task")))
        # The list grows until all are on it.
        window.wait_until(lambda screen: window.press("End") or f" {last} " in screen, "the last thread")
        window.select("deadlock-ba")
        window.press("q")
        window.wait_for_prompt()


@case
def threads_are_not_goroutines():
    """A goroutine that is parked is on no thread: where it cannot be shown that is said wherever waiting is, and nowhere else."""
    need_root()
    with parked_goroutine("-ldflags=-s") as program, terminal(100, 30) as window:
        window.type(f"{CTOP} --time wait -p {program.pid}")
        window.wait_for("LIVE", "% of the waiting", "threads, not goroutines!")
        window.press("o")
        window.wait_for("% of the time", "threads, not goroutines!")
        window.press("o")
        window.wait_until(lambda screen: "% of the time" not in screen and "threads, not goroutines!" not in screen, "computing alone")
        window.press("i")
        window.wait_until(lambda screen: "threads, not goroutines" in " ".join(screen.split()), "threads, not goroutines, wherever a line ends")
        window.press("q")
        window.wait_for_prompt()


@case
def goroutines_are_a_time_of_their_own():
    need_root()
    with parked_goroutine() as program, terminal(110, 30) as window:
        window.type(f"{CTOP} --time wait -p {program.pid}")
        window.wait_for("LIVE", "% of the waiting", "threads; o: goroutines")
        window.press("o")
        window.wait_for("% of the time", "threads; o: goroutines")
        window.press("o")
        window.wait_for("% of what goroutines wait", "parked goroutines", "[chan receive]", "[sleep]")
        window.press("6")
        window.wait_for("goroutine 1 of", "[chan receive]", "[sleep]")
        window.press("Enter")
        window.wait_until(lambda screen: ("[chan receive]" in screen) != ("[sleep]" in screen), "one goroutine alone")
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
