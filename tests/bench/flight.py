# SPDX-License-Identifier: MIT
"""What a flight recorder costs for ever: CPU beside a recording, and memory, which is not to grow."""

import os
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time

LAST_SECONDS = 5


def cpu_seconds(ctop, where, pid, seconds, *options):
    """Of ctop and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([ctop, "record", "-q", "-e", "cpu-clock", *options, "-p", str(pid), "--duration", str(seconds), "-o",
                    os.path.join(where, "x.ctop")], check=True, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def family(pid):
    """It and its children."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [pid, *map(int, file.read().split())]


def own_bytes(pid):
    """Anonymous and shared memory of a recorder and its children, shared once."""
    total, shared = 0, 0
    for one in family(pid):
        try:
            with open(f"/proc/{one}/status", encoding="utf-8") as file:
                status = file.read()
        except OSError:  # it has just ended
            continue
        kib = {key: int(value) for key, value in re.findall(r"^(RssAnon|RssShmem):\s+(\d+) kB", status, re.M)}
        total += kib.get("RssAnon", 0)
        shared = max(shared, kib.get("RssShmem", 0))
    return (total + shared) * 1024


def soak(ctop, where, command, seconds):
    """Memory at each tenth of the time, of a recorder of a command."""
    with subprocess.Popen([ctop, "record", "-q", "-e", "cpu-clock", "--last", f"{LAST_SECONDS}s", "--post", "1s", "--keep", "3", "-o",
                           os.path.join(where, "soak.ctop"), "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as recorder:
        sizes = []
        for _ in range(10):
            time.sleep(seconds / 10)
            recorder.send_signal(signal.SIGUSR2)
            sizes.append(own_bytes(recorder.pid))
        for pid in family(recorder.pid)[1:]:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                if "--child=" not in file.read():
                    os.kill(pid, signal.SIGTERM)
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
    return sizes


def run(ctop, build, rounds):
    workloads = os.path.join(build, "workloads")
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        with subprocess.Popen([os.path.join(workloads, "spin"), "600"], stdout=subprocess.DEVNULL) as program:
            try:
                for name, options in ("--last", ("--last", f"{LAST_SECONDS}s")), ("record", ()):
                    shares = [(cpu_seconds(ctop, where, program.pid, 22, *options) - cpu_seconds(ctop, where, program.pid, 2, *options)) / 20
                              for _ in range(rounds)]
                    print(f"two busy threads, {name}: {100 * statistics.median(shares):.2f} % of a core, median of {rounds}")
            finally:
                program.kill()
        seconds = float(os.environ.get("SOAK_SECONDS", "60"))
        for name, command in (("spin", [os.path.join(workloads, "spin"), "100000"]),
                              ("forks and execs", ["sh", "-c", "while :; do /bin/true; done"])):
            sizes = soak(ctop, where, command, seconds)
            print(f"memory of {name} for {seconds:.0f} s, a slice at each tenth: " + ", ".join(f"{size / 2**20:.1f}" for size in sizes) + " MiB")
