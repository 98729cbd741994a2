# SPDX-License-Identifier: MIT
"""How often `ctop diff` finds a difference that is not there, and one that is: a function that takes 5 % longer."""

import os
import re
import subprocess
import tempfile

TRIES = int(os.environ.get("BENCH_TRIES", "20"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "10"))


def run(ctop, build):
    def record(where, name, percent):
        path = os.path.join(where, name)
        subprocess.run([ctop, "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", path, "--",
                        os.path.join(build, "workloads", "slower"), str(round(SECONDS * 1000)), str(percent)], check=True)
        return path

    def found(a, b, *options):
        """The functions that differ by more than noise."""
        text = subprocess.run([ctop, "diff", a, b, "--min-percent", "0", *options], stdout=subprocess.PIPE, text=True, check=True).stdout
        return [line.split()[6] for line in text.splitlines() if re.match(r"^ *[\d.]+ +[\d.]+ +[-+][\d.]+ +[\d.]+ ", line)]

    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        alike = [record(where, f"a{i}", 0) for i in range(TRIES + 1)]
        slower = [record(where, f"b{i}", 5) for i in range(TRIES)]
        pairs = list(zip(alike, alike[1:]))
        for options in [], ["--per", "run"]:
            wrong = sum(bool(found(a, b, *options)) for a, b in pairs)
            right = sum("hot" in found(a, b, *options) for a, b in zip(alike, slower))
            print(f"diff: {' '.join(options) or 'by share'}: alike, something found: {wrong} of {len(pairs)}; "
                  f"hot() 5 % slower, found: {right} of {len(slower)} ({SECONDS:g} s each)", flush=True)
        trios = [",".join(runs[i:i + 3]) for runs in (alike, slower) for i in range(0, TRIES - 2, 3)]
        nr = len(trios) // 2
        right = sum("hot" in found(a, b, "--per", "run") for a, b in zip(trios[:nr], trios[nr:]))
        print(f"diff: --per run, three runs of each: hot() found: {right} of {nr}", flush=True)
