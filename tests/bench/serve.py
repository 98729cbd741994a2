# SPDX-License-Identifier: MIT
"""What ctop serve costs while nobody asks: CPU and memory of its two processes; and what a profile each half minute costs beside."""

import os
import re
import subprocess
import tempfile
import time

SECONDS = 30


def family(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [pid, *map(int, file.read().split())]


def cpu_seconds(pids):
    """Run time to the nanosecond."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def kib(pids, key):
    """Of all: Pss counts what is shared by its part."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += int(re.search(rf"^{key}: +(\d+) kB", file.read(), re.M)[1])
    return total


def run(ctop, build):
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where, \
            subprocess.Popen([os.path.join(build, "workloads", "spin"), "600"], stdout=subprocess.DEVNULL) as program, \
            subprocess.Popen([ctop, "serve", "-p", str(program.pid), "--listen", f"unix:{where}/s"], stderr=subprocess.PIPE, text=True) as server:
        try:
            server.stderr.readline()
            pids = family(server.pid)
            before = cpu_seconds(pids)
            time.sleep(SECONDS)
            print(f"serve, idle for {SECONDS} s: {100 * (cpu_seconds(pids) - before) / SECONDS:.3f} % of a core, "
                  f"{kib(pids, 'Pss') / 1024:.1f} MiB (proportional), {kib(pids, 'Anonymous') / 1024:.1f} MiB of its own")
        finally:
            server.terminate()
            program.kill()
