# SPDX-License-Identifier: MIT
"""What the tests of perf.data files share: recordings that perf makes, and what perf script shows of them."""

import collections
import contextlib
import os
import re
import subprocess

from harness import (BUILD, PATIENCE, Skip, check, child, ctop_ok, directory, need_program, run, started, target,
                     wait_for_cpu_time)

HEADER = re.compile(r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?:\[\d+\]\s+)?(?P<seconds>\d+)\.(?P<micros>\d+):"
                    r"\s+(?P<period>\d+)\s+(?P<event>[^ ]+):\s*(?P<leaf>[0-9a-f]+ .*)?$")
FRAME = re.compile(r"^\s+(?P<address>[0-9a-f]+) (?P<symbol>.*) \((?P<dso>.*)\)$")

Sample = collections.namedtuple("Sample", "tid time event period frames")


def parse(text):
    samples = []
    for line in text.splitlines():
        header = HEADER.match(line)
        if header:
            samples.append(Sample(int(header["tid"]),
                                  (int(header["seconds"]), int(header["micros"])),
                                  header["event"], int(header["period"]), []))
            line = f" {header['leaf']}"  # beside it, where there is no chain
        frame = FRAME.match(line)
        if frame and samples:
            symbol = re.sub(r"\+0x[0-9a-f]+$", "", frame["symbol"])
            samples[-1].frames.append((int(frame["address"], 16), symbol))
    return samples


def check_was_recorded(path, recorder, errors):
    """Skips with perf's own words when it could not."""
    if recorder.returncode != 0 or not os.path.exists(path):
        raise Skip(f"perf record: {errors.strip().splitlines()[-1:]}")


def perf_record(path, *arguments):
    """Records with the perf that is installed."""
    result = run(need_program("perf"), "record", "-q", "-o", path, *arguments)
    check_was_recorded(path, result, result.stderr)


def perf_record_process(path, pid, *options, seconds=0.5):
    """
    Records while a process uses so much CPU time, with its children: clock events give as many samples
    on a busy machine as on an idle one.
    """
    whom = [] if "-a" in options else ["-p", str(pid)]
    # The command says when perf has started it: then the events are on. Its end is perf's.
    with child(need_program("perf"), "record", "-q", "-o", path, *options, *whom, "--", "sh", "-c",
               "echo started; read _ || :", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, text=True) as recorder:
        if recorder.stdout.readline():
            wait_for_cpu_time(pid, seconds, lambda: recorder.poll() is not None, children=True)
        _, errors = recorder.communicate(timeout=PATIENCE)
    check_was_recorded(path, recorder, errors)


# Half of its time is the kernel's.
READS = r"""
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	char bytes[4096];
	int fd = open("/dev/zero", O_RDONLY);
	struct timespec used;
	do {
		for (int i = 0; i < 1000; i++)
			if (read(fd, bytes, sizeof(bytes)) < 0)
				return 1;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 10 + used.tv_nsec / 100000000 < 3);
	return 0;
}
"""


def reads(where):
    path = os.path.join(where, "reads")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(READS)
    result = run(need_program("gcc"), "-O1", "-o", path, path + ".c")
    check(result.returncode == 0, result.stderr)
    return path


@contextlib.contextmanager
def recorded(*options, workload="templates", seconds=0.5):
    """A file of a workload that runs already."""
    with directory() as where, target(workload) as program:
        path = os.path.join(where, "perf.data")
        perf_record_process(path, program.pid, *options, seconds=seconds)
        yield path


def perf_samples(path):
    result = run(need_program("perf"), "script", "-i", path, "--no-inline", "--ns", "-F",
                 "comm,pid,tid,time,period,event,ip,sym,dso,symoff")
    if result.returncode != 0:
        raise Skip(f"perf script: {result.stderr.strip()}")
    # Ours are in microseconds.
    text = re.sub(r"(\d+\.\d{6})\d{3}:", r"\1:", result.stdout)
    return [sample for sample in parse(text) if not sample.event.startswith("dummy")]


def perf_lost(path):
    """True when perf's rings had no room for some."""
    result = run(need_program("perf"), "script", "-i", path, "--show-lost-events", "-F", "comm,pid,time,event")
    return "PERF_RECORD_LOST" in result.stdout


def ctop_samples(path, *options):
    result = ctop_ok("export", "script", "--no-inline", path, *options)
    return parse(result.stdout), result.stderr


def key(sample):
    return sample.tid, sample.time, sample.event, sample.period


def need_samples(samples, nr=1):
    """perf drops what its rings have no room for."""
    if len(samples) < nr:
        raise Skip(f"perf recorded {len(samples)} samples")


def check_same_samples(ours, theirs):
    if not theirs:
        check(not ours, f"{len(ours)} samples where perf has none")
    need_samples(theirs)
    mine, others = collections.Counter(map(key, ours)), collections.Counter(map(key, theirs))
    check(mine == others,
          f"{len(ours)} samples, not {len(theirs)}: ours alone {list((mine - others))[:5]}, "
          f"theirs alone {list((others - mine))[:5]}")
    times = [sample.time for sample in ours]
    check(times == sorted(times), "not in the order of time")


def compare(path, *options):
    ours, errors = ctop_samples(path, *options)
    theirs = perf_samples(path)
    check_same_samples(ours, theirs)
    return ours, theirs, errors


def check_same_stacks(ours, theirs, root="_start"):
    """Where perf reached the root, ctop has the same addresses."""
    by_key = {key(sample): sample for sample in ours}
    compared = different = 0
    for sample in theirs:
        if root not in [name for _, name in sample.frames[-1:]]:
            continue
        compared += 1
        addresses = [address for address, _ in by_key[key(sample)].frames]
        different += addresses != [address for address, _ in sample.frames]
    check(compared > 20, f"only {compared} of perf's stacks are complete")
    check(different <= compared // 50, f"{different} of {compared} stacks differ from perf's")


def complete(ours, root="_start"):
    users = [sample for sample in ours if sample.frames]
    return sum(sample.frames[-1][1] == root for sample in users) / len(users)


@contextlib.contextmanager
def home_of_its_own():
    """perf keeps copies of what it recorded in the home: here is one without."""
    before = os.environ.get("HOME", "/")
    with directory() as where:
        os.environ["HOME"] = where
        try:
            yield where
        finally:
            os.environ["HOME"] = before


def small_recording(where, program=None):
    """Of four threads; program is a copy of theirs."""
    path = os.path.join(where, "perf.data")
    with started(program or os.path.join(BUILD, "workloads", "threads")) as process:
        perf_record_process(path, process.pid, "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                            "dwarf")
    need_samples(perf_samples(path), 40)
    return path
