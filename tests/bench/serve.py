# SPDX-License-Identifier: MIT
"""What ctop serve costs while nobody asks, CPU and memory of its two processes, and what one profile costs."""

import os
import re
import socket
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


def asked(path, request):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(f"GET {request} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return b"".join(iter(lambda: client.recv(65536), b""))


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
            asked(f"{where}/s", "/debug/pprof/profile?seconds=10")
            used = re.search(rb'process="captures"} ([0-9.]+)', asked(f"{where}/s", "/metrics"))
            print(f"a profile of two busy threads, 10 s at 99 Hz: {1000 * float(used[1]):.0f} ms of CPU in all")
        finally:
            server.terminate()
            program.kill()
