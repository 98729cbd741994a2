# SPDX-License-Identifier: MIT
"""What exports cost beside perf script, on one profile that was made up: as a recording for ctop, as perf.data for perf."""

import os
import subprocess
import tempfile

# perf.data has 184 bytes a sample, so that both are had of a part of it.
SAMPLES = int(os.environ.get("BENCH_EXPORT_SAMPLES", "10000000"))
STACKS = int(os.environ.get("BENCH_EXPORT_STACKS", "1000000"))
PART = 10
FORMATS = ["pprof", "speedscope", "html", "folded"]


def line(what, result, bytes_written, perf=None):
    _, cpu, rss, status = result
    beside = f"  perf script / ctop: cpu {perf[1] / cpu:5.1f}" if perf and cpu else ""
    print(f"  {what:12s} {cpu:7.2f} s  {rss / 2**20:7.1f} MiB  {bytes_written / 2**20:7.1f} MiB written"
          + (f"  failed: {status}" if status else "") + beside, flush=True)


def part(where, measured, ctop, maker, samples, stacks, with_perf):
    recording, data, out = (os.path.join(where, name) for name in ("x.ctop", "perf.data", "out"))
    subprocess.run([maker, recording, data if with_perf else "-", str(samples), str(stacks)], check=True)
    print(f"exports of {samples:,} samples, {stacks:,} stacks: CPU, peak memory of the process", flush=True)
    perf = None
    if with_perf:
        perf = measured(["sh", "-c", 'exec perf script -i "$0" >"$1"', data, out])
        line("perf script", perf, os.path.getsize(out))
    for form in FORMATS:
        result = measured([ctop, "export", form, recording, "-o", out])
        line(form, result, os.path.getsize(out), perf)


def run(build, measured):
    maker, ctop = os.path.join(build, "bench", "made_profile"), os.path.join(build, "ctop")
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        part(where, measured, ctop, maker, SAMPLES // PART, STACKS // PART, True)
        part(where, measured, ctop, maker, SAMPLES, STACKS, False)
