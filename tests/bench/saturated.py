# SPDX-License-Identifier: MIT
"""Each CPU has 150 threads that want it: what is lost, and how late ctop begins and ends, with privilege and without."""

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

SECONDS = 2
OTHER_USER = 65534
SETPRIV = ("setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")


def first_sample(ctop, recording):
    """When the first one was taken, in the seconds of time.monotonic()."""
    script = subprocess.run([ctop, "export", "script", recording], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    return min(float(seconds) for seconds in re.findall(r" (\d+\.\d+): ", script))


def record(ctop, where, prefix, options, pid, **session):
    """(samples, lost, seconds to the first sample, from the end of the time asked for to the exit)"""
    recording, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
    start = time.monotonic()
    subprocess.run([*prefix, ctop, "record", "-q", *options, "-p", str(pid), "-o", recording, "--stats", stats_path, "--duration",
                    str(SECONDS)], stdin=subprocess.DEVNULL, check=True, **session)
    end = time.monotonic()
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    begin = first_sample(ctop, recording)
    os.unlink(recording)
    os.unlink(stats_path)
    return stats["samples"], stats["lost"], begin - start, end - begin - SECONDS


@contextlib.contextmanager
def busy(crowd, prefix, nr):
    program = subprocess.Popen([*prefix, crowd, "busy", str(nr)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        program.stdout.readline()
        yield program.pid
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def late_ends(ctop, crowd, rounds):
    nr = 150 * (os.cpu_count() or 1)
    ways = [("root" if os.geteuid() == 0 else "user", (), ("-e", "cpu-clock"), {}), ("one set", (), ("-e", "cpu-clock", "--strict"), {})]
    if os.geteuid() == 0:
        # With autogroups (sched(7)) a session has its share of the CPUs, however many threads the others have.
        ways += [("user", SETPRIV, ("-e", "cpu-clock:u"), {}),
                 ("user, in another session", SETPRIV, ("-e", "cpu-clock:u"), {"start_new_session": True})]
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        os.chmod(where, 0o777)
        ctop, crowd = shutil.copy(ctop, where), shutil.copy(crowd, where)
        for name, prefix, options, session in ways:
            with busy(crowd, prefix, nr) as pid:
                runs = [record(ctop, where, prefix, options, pid, **session) for _ in range(rounds)]
            samples, lost, starts, ends = zip(*runs)
            print(f"saturated, {name}: {nr} threads: {sum(samples)} samples, {sum(lost)} lost; begins after "
                  f"{statistics.median(starts):.2f} s, ends {statistics.median(ends):.2f} s late (median and worst of {rounds}: "
                  f"{max(starts):.2f} and {max(ends):.2f} s)", flush=True)
