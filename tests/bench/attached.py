# SPDX-License-Identifier: MIT
"""From attaching to a program that runs to the first function by name, beside perf record and perf script."""

import os
import statistics
import subprocess
import tempfile
import time

import live

# So long perf records at least: at its 4,000 samples a second it has some of any program that computes.
RECORDED_SECONDS = 0.1
PATIENCE_SECONDS = 120

NODE = """
function crunchNumbers(n) { let x = n; for (let i = 0; i < 200000; i++) x = (x * 31 + i) % 1000003; return x; }
console.log("ready");
for (let sum = 0;;) sum += crunchNumbers(sum);
"""


def by_ctop(ctop, pid, word):
    with live.screen(ctop, "-p", str(pid)) as shown:
        return shown.wait_for(word)


def by_perf(where, pid, word):
    """Until perf script has written it; None: it never did."""
    data = os.path.join(where, "perf.data")
    start = time.monotonic()
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf,16384", "-p", str(pid), "-o", data, "--", "sleep",
                    str(RECORDED_SECONDS)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    script = subprocess.Popen(["perf", "script", "-i", data], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seen, found = b"", None
    while time.monotonic() < start + PATIENCE_SECONDS:
        part = os.read(script.stdout.fileno(), 1 << 16)
        if not part:
            break
        seen = seen[-len(word):] + part
        if word in seen:
            found = time.monotonic() - start
            break
    script.kill()
    script.wait()
    script.stdout.close()
    return found


def told(values):
    known = sorted(value for value in values if value is not None)
    if not known:
        return "never"
    return f"{statistics.median(known):.2f} s (median of {len(known)}: {' '.join(f'{value:.2f}' for value in known)})"


def run(ctop, title, pid, word, rounds):
    """Both in turn, each alone."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        for _ in range(rounds):
            ours.append(by_ctop(ctop, pid, word))
            theirs.append(by_perf(where, pid, word))
    print(f"names: {title}: {word.decode()} by name: ctop {told(ours)}; perf record for {RECORDED_SECONDS} s and perf script {told(theirs)}", flush=True)
