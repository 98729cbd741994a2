#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf.data files that are not whole, are none, or change while they are read; readers that die."""

import contextlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from harness import (CTOP, PATIENCE, Skip, case, check, check_refused, child, children_of, ctop, directory, main,
                     need_program, need_root, share_complete, target, wait_until)
from recorded_by_perf import ctop_samples, home_of_its_own, need_samples, recorded, small_recording


def data_section(path):
    """Where the records are: offset and size."""
    with open(path, "rb") as file:
        return struct.unpack_from("<QQ", file.read(104), 40)


def keys_without_names(samples):
    """What events are called stands at the end of a file."""
    return {(sample.tid, sample.time, sample.period) for sample in samples}


@case
def a_cut_file_gives_what_is_there():
    with directory() as where:
        path = small_recording(where)
        whole, _ = ctop_samples(path)
        data, size = data_section(path)
        os.truncate(path, data + size // 2)
        part, errors = ctop_samples(path)
        check(0 < len(part) < len(whole), f"{len(part)} of {len(whole)}")
        check("is cut at byte" in errors, errors)
        check(keys_without_names(part) < keys_without_names(whole),
              "other samples than those of the whole")


@case
def a_damaged_file_gives_what_was_before():
    with directory() as where:
        path = small_recording(where)
        whole, _ = ctop_samples(path)
        data, size = data_section(path)
        # More than a record, so that there is a header among it; nothing of what follows the records.
        nr_zeros = min(200000, size // 4)
        check(nr_zeros > 65536, f"only {size} bytes of records")
        with open(path, "r+b") as file:
            file.seek(data + size // 2 & ~7)
            file.write(bytes(nr_zeros))
        part, errors = ctop_samples(path)
        check("damaged" in errors and len(errors.splitlines()) <= 2, errors)
        check(0 < len(part) < len(whole), f"{len(part)} of {len(whole)}")
        check(keys_without_names(part) < keys_without_names(whole),
              "other samples than those of the whole")


@case
def a_recorder_that_was_killed():
    with directory() as where, target("threads") as program:
        path = os.path.join(where, "perf.data")
        # With the four threads' copies a ring is written out long before it is full.
        with child(need_program("perf"), "record", "-q", "-o", path, "-e", "cpu-clock:u", "-F", "500",
                   "--call-graph", "dwarf", "-p", str(program.pid), stderr=subprocess.DEVNULL) as recorder:
            try:
                wait_until(lambda: recorder.poll() is not None or (
                    os.path.exists(path) and os.path.getsize(path) > 1 << 20), "samples in perf's file")
            finally:
                recorder.kill()
                recorder.wait()
        if recorder.returncode != -signal.SIGKILL:
            raise Skip(f"perf record ended with {recorder.returncode} before it could be killed")
        samples, errors = ctop_samples(path)
        check(samples, "nothing was read")
        check("perf record" in errors, errors)


@case
def a_directory_is_refused():
    with directory() as where:
        check_refused(ctop("report", where), 1, "is a directory")


@case
def other_files_are_refused():
    with directory() as where:
        path = os.path.join(where, "x")
        for content, words in ((b"2ELIFREP" + bytes(96), "byte order"),
                               (b"PERFILE2" + bytes(96), "damaged"),
                               (b"PERFILE2" + struct.pack("<Q", 200) + bytes(300), "newer"),
                               (b"PERFILE2", "damaged"),
                               (b"PERFFILE" + bytes(96), "Linux 3.0"),
                               (b"PERFILE3" + bytes(96), "neither a ctop recording nor a perf.data")):
            with open(path, "wb") as file:
                file.write(content)
            check_refused(ctop("report", path), 1, words)
            check_refused(ctop("export", "folded", path), 1, words)


# ---- who may read, and what dies ----

def bytes_read(pid):
    """How far it is in its file, which is mapped: it leaves that at the descriptor."""
    most = 0
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                most = max(most, int(re.search(r"pos:\s*(\d+)", file.read()).group(1)))
    return most


def export_and_kill(path, stats_path, when):
    """Kills the collector once it has read that much. Its output, or None when it was faster."""
    with child(CTOP, "export", "folded", "--samples", path, "--stats", stats_path, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, text=True) as process:
        # No wait between two looks: it must be met at its work.
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            reader = children_of(process.pid).get("collector")
            if reader and bytes_read(reader) > when:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(reader, signal.SIGKILL)
                break
        output, errors = process.communicate(timeout=PATIENCE)
    check(process.returncode == 0, errors)
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    return (output, stats) if stats["restarts"] else None


@case
def a_collector_that_dies_is_replaced_and_goes_on():
    need_root()
    with recorded("-e", "cpu-clock:u", "-F", "2000", "--call-graph", "dwarf,65528",
                  workload="threads", seconds=2) as path, directory() as where:
        whole, _ = ctop_samples(path)
        need_samples(whole, 20)
        size = os.path.getsize(path)
        deaths = 0
        for share in (0.2, 0.5, 0.8) * 3:
            killed = export_and_kill(path, os.path.join(where, "stats.json"), share * size)
            if not killed:
                continue
            deaths += 1
            output, stats = killed
            dropped = stats["dropped"]["crash"]
            shown = sum(int(line.rpartition(" ")[2]) for line in output.splitlines())
            # Its successor takes what it had in hand: that is not what killed it.
            check(shown == len(whole) and not dropped, f"{shown} and {dropped} of {len(whole)} samples")
            check(share_complete(stats) > 0.99, f"stacks: {stats['stacks']}")
        if not deaths:
            raise Skip("the collector was done before it could be killed")


def export_of_a_shrinking_file(path, when, size):
    """Cuts the file to a size once that much was read. What is said, or None when the collector was faster."""
    with child(CTOP, "export", "folded", "--samples", path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        cut = False
        while process.poll() is None and not cut:
            reader = children_of(process.pid).get("collector")
            if reader and bytes_read(reader) > when:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(reader, signal.SIGSTOP)
                    cut = when < bytes_read(reader) < size
                    if cut:
                        os.truncate(path, size)
                    os.kill(reader, signal.SIGCONT)
                break
        output, errors = process.communicate(timeout=PATIENCE)
    check(process.returncode == 0, errors)
    return (output, errors) if cut else None


@case
def a_file_that_shrinks_meanwhile_is_said_to():
    need_root()
    with recorded("-e", "cpu-clock:u", "-F", "2000", "--call-graph", "dwarf,65528",
                  workload="threads", seconds=2) as path:
        whole, _ = ctop_samples(path)
        size = os.path.getsize(path)
        copy = path + ".copy"
        for _ in range(5):
            shutil.copy(path, copy)
            shrunk = export_of_a_shrinking_file(copy, 0.1 * size, int(0.7 * size))
            if shrunk:
                break
        else:
            raise Skip("the file was read before it could be cut")
        output, errors = shrunk
        shown = sum(int(line.rpartition(" ")[2]) for line in output.splitlines())
        check("was cut while it was read" in errors, errors)
        check(0 < shown < len(whole), f"{shown} of {len(whole)} samples")


with home_of_its_own():
    main()
