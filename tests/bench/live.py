# SPDX-License-Identifier: MIT
"""What the interface costs, and how soon it answers: in a terminal of our own that is read as fast as it is written."""

import contextlib
import fcntl
import glob
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import termios
import time

ROWS, COLS = 40, 120


class Screen:
    """A program on a pseudo-terminal; what it writes is counted, and searched for words."""

    def __init__(self, command):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, 0, 0))
        environment = os.environ | {"TERM": "xterm-256color", "LC_CTYPE": "C.UTF-8"}
        self.started = time.monotonic()
        self.program = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, env=environment)
        os.close(slave)

    def read(self, seconds):
        """What comes within the time; b"" if nothing does."""
        ready = select.select([self.master], [], [], max(seconds, 0))[0]
        try:
            return os.read(self.master, 1 << 16) if ready else b""
        except OSError:
            return b""

    def drain(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def wait_for(self, word, seconds=60, since=None):
        """Seconds from the start (or since) until the word was written; None: it never was."""
        since = since or self.started
        seen = b""
        while time.monotonic() < since + seconds:
            seen = seen[-len(word):] + self.read(1)
            if word in seen:
                return time.monotonic() - since
        return None

    def wait_for_after(self, key, word):
        """Seconds from a key until the word was written; None: it never was."""
        since = time.monotonic()
        os.write(self.master, key)
        return self.wait_for(word, since=since)

    def press(self, key):
        """Seconds from a key to the first bytes drawn."""
        while self.read(0):
            pass
        start = time.monotonic()
        os.write(self.master, key)
        self.read(10)
        return time.monotonic() - start

    def close(self):
        self.program.send_signal(signal.SIGINT)
        while self.program.poll() is None:
            self.read(0.1)
        os.close(self.master)


@contextlib.contextmanager
def screen(*command):
    shown = Screen(command)
    try:
        yield shown
    finally:
        shown.close()


def cpu_seconds(pid):
    """Of a process's threads and of its children."""
    total = 0
    for task in glob.glob(f"/proc/{pid}/task/*"):
        with contextlib.suppress(OSError):
            with open(task + "/schedstat", encoding="ascii") as schedstat:
                total += int(schedstat.read().split()[0]) / 1e9
            with open(task + "/children", encoding="ascii") as children:
                total += sum(cpu_seconds(int(child)) for child in children.read().split())
    return total


def cost(command, target, seconds, warm_up=2):
    """CPU seconds of the program and of the target in that time, once it runs."""
    with screen(*command) as shown:
        shown.drain(warm_up)
        before = cpu_seconds(shown.program.pid), cpu_seconds(target.pid)
        shown.drain(seconds)
        after = cpu_seconds(shown.program.pid), cpu_seconds(target.pid)
    return after[0] - before[0], after[1] - before[1]


def compare_cost(ctop, target, hz, seconds, rounds):
    """ctop beside perf top, each the only one; the samples are those due: the target's CPU time times the rate."""
    options = ["-e", "cpu-clock", "-F", str(hz), "-p", str(target.pid), "--call-graph", "dwarf,8192"]
    costs = {"perf": [], "ctop": []}
    for _ in range(rounds):
        for name, command in (("perf", ["perf", "top", *options]),
                              ("ctop", [ctop, *options, "--max-overhead", "0"])):
            own, used = cost(command, target, seconds)
            costs[name].append(1e6 * own / (used * hz))
    perf, ours = (statistics.median(costs[name]) for name in ("perf", "ctop"))
    print(f"live: cpu-clock at {hz} Hz, {rounds} x {seconds:g} s, medians: perf top {perf:.1f} us of CPU "
          f"a sample, ctop {ours:.1f} us (1/{perf / ours:.1f}); each: "
          f"{' '.join(f'{value:.1f}' for value in costs['perf'])} | "
          f"{' '.join(f'{value:.1f}' for value in costs['ctop'])}")


def default_cost(ctop, target, seconds):
    own, used = cost([ctop, "-p", str(target.pid)], target, seconds)
    print(f"live: at the default rate {100 * own / seconds:.2f} % of a core, while the target uses "
          f"{100 * used / seconds:.0f} %")


def first_screen(ctop, title, target, word, rounds):
    times = []
    for _ in range(rounds):
        with screen(ctop, "-p", str(target.pid)) as shown:
            times.append(shown.wait_for(word))
    known = sorted(value for value in times if value is not None)
    if known:
        print(f"live: {title}: {word.decode()} on the screen after {statistics.median(known):.2f} s "
              f"(median of {len(known)}: {' '.join(f'{value:.2f}' for value in known)})")
    else:
        print(f"live: {title}: {word.decode()} never came to the screen")


def key_latency(ctop, title, target, hz, fill_seconds, nr_keys):
    """Keys that move the selection, at a time that is not the refresh's."""
    with screen(ctop, "-e", "cpu-clock", "-F", str(hz), "--max-overhead", "0", "--memory", "256", "-p",
                str(target.pid)) as shown:
        shown.drain(fill_seconds)
        times = []
        for i in range(nr_keys):
            times.append(1e3 * shown.press(b"j" if i % 2 == 0 else b"k"))
            shown.drain(0.037)
    times.sort()
    print(f"live: {title}: a key is drawn after {statistics.median(times):.1f} ms, p99 "
          f"{times[int(0.99 * len(times))]:.1f} ms, at most {times[-1]:.1f} ms ({nr_keys} keys, "
          f"cpu-clock at {hz} Hz, {fill_seconds} s into it)")


def own_cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as schedstat:
        return int(schedstat.read().split()[0])


def keys_while_names_come(title, command, target, nr_keys):
    """From the start on: how long keys take to be drawn, and what main computes meanwhile, which others don't disturb."""
    walls, cpus = [], []
    with screen(*command, "-e", "cpu-clock", "-F", "9999", "--max-overhead", "0", "-p", str(target.pid)) as shown:
        shown.wait_for(b"cpu-clock")
        for i in range(nr_keys):
            before = own_cpu_ns(shown.program.pid)
            walls.append(1e3 * shown.press(b"j" if i % 2 == 0 else b"k"))
            cpus.append((own_cpu_ns(shown.program.pid) - before) / 1e6)
            shown.drain(0.007)
    for what, values in (("is drawn after", walls), ("costs main", cpus)):
        values.sort()
        print(f"keys: {title}: a key {what} {statistics.median(values):.1f} ms, p99 "
              f"{values[int(0.99 * len(values))]:.1f}, at most {values[-1]:.1f} ms ({len(values)} keys while names come)")
