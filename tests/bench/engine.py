# SPDX-License-Identifier: MIT
"""What unwinding costs, and reading perf.data files beside perf script: the same files, in turn, in the same run."""

import contextlib
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

UNWIND_STACKS = "1500"
WARM_LINE = re.compile(r"^(first pass|warm, best|as one thread's): .*$", re.M)


def show(text):
    print(text)
    sys.stdout.flush()


def written(where, name, text):
    path = os.path.join(where, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


RUST = """use std::collections::{BTreeMap, HashMap};
fn walk(depth: u32, map: &mut HashMap<String, BTreeMap<u64, Vec<u64>>>, seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    let inner = map.entry(format!("key {}", *seed >> 54)).or_default();
    let mut values: Vec<u64> = (0..50).map(|i| seed.rotate_left(i)).collect();
    values.sort_by(|a, b| b.cmp(a));
    inner.entry(*seed >> 50).or_default().extend(values.iter().take(3));
    if depth == 0 { inner.len() as u64 } else { walk(depth - 1, map, seed) + values[0] % 2 }
}
fn main() {
    let (mut map, mut seed, mut sum) = (HashMap::new(), 1u64, 0u64);
    loop { sum = sum.wrapping_add(walk(30, &mut map, &mut seed)); if sum == 7 { println!("{sum}"); } if map.len() > 900 { map.clear(); } }
}
"""
HEADERS = "#include <algorithm>\n#include <iostream>\n#include <map>\n#include <regex>\n"
REGEXES = HEADERS + "\n".join(f"bool g{i}(const std::string &s) {{ return std::regex_match(s, std::regex(s)); }}"
                              for i in range(200))


def loop(build):
    """The warm loop on stopped programs: registers and dumps kept, unwound again and again."""
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        source = written(where, "x.cpp", REGEXES)
        compiling = ["-O2", "-c", source, "-o", f"{where}/x.o"]
        targets = [("C++", [f"{build}/workloads/demo"], 16384),
                   ("C++, deep", [f"{build}/workloads/templates"], 16384)]
        clang = shutil.which("clang++")
        if clang:
            # The driver would only wait for the compiler.
            targets.append(("clang++", [clang, "-fintegrated-cc1", *compiling], 65536))
        gxx = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.strip()
        targets.append(("g++", [gxx, "-quiet", "-imultiarch", "x86_64-linux-gnu", "-D_GNU_SOURCE", "-O2",
                                source, "-o", "/dev/null"], 16384))
        rust = shutil.which("rustc")
        if rust and subprocess.run([rust, "-O", "-C", "panic=abort", written(where, "x.rs", RUST), "-o",
                                    f"{where}/rust"], stderr=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, check=False).returncode == 0:
            targets.append(("Rust", [f"{where}/rust"], 16384))
        else:
            show("engine: Rust: no rustc here")
        for title, command, dump in targets:
            out = subprocess.run([f"{build}/bench/unwind_loop", "-s", UNWIND_STACKS, "-b", str(dump), *command],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 stdin=subprocess.DEVNULL, text=True, check=False).stdout
            lines = out.splitlines()
            show(f"engine: {title}: {lines[0] if lines else 'nothing'}; " +
                 "; ".join(line.group(0) for line in WARM_LINE.finditer(out)))


def rules(build):
    """A rule that was never asked for, of the files that compilers run: without what their pages cost to map."""
    files = [subprocess.run(["gcc", "-print-file-name=libc.so.6"], stdout=subprocess.PIPE, text=True, check=True).stdout,
             subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE, text=True, check=True).stdout]
    clang = shutil.which("clang++")
    if clang:
        listed = subprocess.run(["ldd", clang], stdout=subprocess.PIPE, text=True, check=False).stdout
        files += re.findall(r"=> (\S*libLLVM\S*)", listed)
    for path in files:
        out = subprocess.run([f"{build}/bench/rules", os.path.realpath(path.strip())], stdout=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, text=True, check=False).stdout
        show(f"rules: {out.strip() or 'nothing'}")


def record(data, hz, dump, command, seconds=None):
    """perf record of a program that is stopped after its time. (perf says what was lost in its own words.)"""
    limit = ["timeout", str(seconds)] if seconds else []
    subprocess.run(["perf", "record", "-q", "--no-buildid-cache", "-e", "cpu-clock", "-F", str(hz), "-m", "1024",
                    "--call-graph", f"dwarf,{dump}", "-o", data, "--", *limit, *command],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)


def timed(command, out):
    """Seconds of the clock, CPU seconds, with the output in a file."""
    with open(out, "wb") as file:
        start = time.monotonic()
        program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


def memory(ctop, data):
    """The most anonymous and shared memory that all of ctop's processes had, bytes."""
    most = 0
    program = subprocess.Popen([ctop, "export", "folded", data], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while program.poll() is None:
        pids = [program.pid]
        with contextlib.suppress(OSError):
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as file:
                pids += map(int, file.read().split())
        # What is mapped by several is shown by each of them: counted once, as each one's share.
        total = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                    text = file.read()
                for key in ("Pss_Anon", "Pss_Shmem"):
                    found = re.search(rf"^{key}: +(\d+) kB", text, re.M)
                    total += int(found.group(1)) * 1024 if found else 0
        most = max(most, total)
        time.sleep(0.002)
    return most


def stats_of(ctop, data, where):
    path = os.path.join(where, "stats.json")
    subprocess.run([ctop, "report", "--stats", path, "--stdio", data], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def unwinding(title, ctop, data, where, rounds):
    """CPU of the process that reads and unwinds; names are another's."""
    all_stats = [stats_of(ctop, data, where) for _ in range(rounds)]
    cpu = statistics.median(stats["cpu_seconds_of"]["collector"] for stats in all_stats)
    stats = all_stats[0]
    lookups = stats["rule_cache"]["hits"] + stats["rule_cache"]["misses"]
    share = lambda end: 100 * stats["stacks"][end] / stats["samples"]
    show(f"perfdata: {title}: {os.path.getsize(data) / 2**20:.0f} MiB, {stats['samples']} samples, "
         f"{stats['frames'] / stats['samples']:.1f} frames each; complete {share('complete'):.2f} %, joined "
         f"{share('joined'):.2f} %; reading and unwinding {1e3 * cpu:.0f} ms of CPU, "
         f"{1e9 * cpu / stats['frames']:.0f} ns/frame, cache hits "
         f"{100 * stats['rule_cache']['hits'] / max(lookups, 1):.1f} %; memory "
         f"{memory(ctop, data) / 2**20:.1f} MiB")


def beside_script(title, ctop, data, where, rounds):
    out = os.path.join(where, "out")
    for name, ours, theirs in (
            ("folded", [ctop, "export", "folded", data],
             ["perf", "script", "--no-inline", "-F", "tid,time,ip,sym", "-i", data]),
            ("script", [ctop, "export", "script", data], ["perf", "script", "--no-inline", "-i", data])):
        results = [(timed(ours, out), timed(theirs, out)) for _ in range(rounds)]
        wall, cpu = ([statistics.median(each[who][what] for each in results) for who in (0, 1)]
                     for what in (0, 1))
        show(f"perfdata: {title}: export {name}: {wall[0]:.2f} s, {cpu[0]:.2f} s of CPU; perf script "
             f"{wall[1]:.2f} s, {cpu[1]:.2f} s: {wall[1] / wall[0]:.1f} times faster, "
             f"1/{cpu[1] / cpu[0]:.1f} of the CPU")


def perfdata(ctop, build, rounds):
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        source = written(where, "x.cpp", HEADERS + "int main() { return std::regex_match(\"a\", std::regex(\"a*\")); }\n")
        data = os.path.join(where, "perf.data")
        both = f"{build}/workloads/templates & exec {build}/workloads/templates"
        files = [("C++, four threads", lambda: record(data, 12500, 8192, [f"{build}/workloads/demo"], 10)),
                 ("C++, two deep", lambda: record(data, 12500, 8192, ["sh", "-c", both], 10))]
        if shutil.which("clang++"):
            files.append(("clang++ 64K", lambda: record(data, 999, 65528, ["clang++", "-O2", "-c", source, "-o",
                                                                          f"{where}/x.o"])))
        for title, make in files:
            make()
            unwinding(title, ctop, data, where, rounds)
            beside_script(title, ctop, data, where, rounds)


DEEP = """#include <stdlib.h>
static __attribute__((noipa)) unsigned deep(unsigned left)
{
	if (left)
		return deep(left - 1) + 1;
	unsigned sum = 0;
	for (volatile unsigned i = 0; i < 100000; i++)
		sum += i;
	return sum;
}
int main(int argc, char **argv)
{
	for (;;)
		if (deep((unsigned)atoi(argv[argc - 1])) == 1)
			return 1;
}
"""
EXIT, SAMPLE, FINISHED_ROUND = 4, 9, 68
TIME, BEFORE_TIME = 1 << 2, (1 << 16, 1 << 0, 1 << 1)  # identifier, ip, tid


def grow(small, grown, wanted):
    """Makes a file of so many samples (about) of a small one: its samples over and over, each time later."""
    with open(small, "rb") as file:
        head = bytearray(file.read(104))
        attributes, _, at, size = struct.unpack_from("<QQQQ", head, 24)
        file.seek(0)
        front = bytearray(file.read(at))
        data = file.read(size)
    sample_type, = struct.unpack_from("<Q", front, attributes + 24)
    time_at = 8 + 8 * sum(bool(sample_type & bit) for bit in BEFORE_TIME)
    first, again, times, position = bytearray(), bytearray(), [], 0
    while position < size and len(times) < wanted:
        kind, _, length = struct.unpack_from("<IHH", data, position)
        record = data[position:position + length]
        position += length
        if kind not in (EXIT, FINISHED_ROUND):  # nobody ends before the last sample
            first += record
        if kind == SAMPLE:
            times.append((len(again) + time_at, struct.unpack_from("<Q", record, time_at)[0]))
            again += record
    span = max(time for _, time in times) - min(time for _, time in times) + 1
    round_end = struct.pack("<IHH", FINISHED_ROUND, 0, 8)
    total = len(first) + 8
    with open(grown, "wb") as file:
        front[72:104] = bytes(32)  # no features: they lie behind the data
        file.write(front)
        file.write(first + round_end)
        for i in range(1, max(wanted // len(times), 1)):
            for where, time in times:
                struct.pack_into("<Q", again, where, time + i * span)
            file.write(again + round_end)
            total += len(again) + 8
        file.seek(48)
        file.write(struct.pack("<Q", total))


def growth(ctop, build, rounds):
    """Cost by what there is more of: frames, processes, samples."""
    def row(what, data, where):
        results = [stats_of(ctop, data, where) for _ in range(rounds)]
        stats = results[0]
        cpu = statistics.median(each["cpu_seconds_of"]["collector"] for each in results)
        show(f"growth: {what}: {stats['samples']} samples ({100 * stats['stacks']['complete'] / stats['samples']:.1f} % complete), {stats['frames'] / stats['samples']:.1f} frames each: "
             f"{1e3 * cpu:.0f} ms of CPU, {1e6 * cpu / stats['samples']:.2f} us a sample, "
             f"{1e9 * cpu / stats['frames']:.0f} ns per frame; all processes "
             f"{1e3 * statistics.median(each['cpu_seconds'] for each in results):.0f} ms, "
             f"{stats['peak_rss_bytes'] / 2**20:.0f} MiB")

    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        data, grown = os.path.join(where, "perf.data"), os.path.join(where, "grown.data")
        deep = os.path.join(where, "deep")
        subprocess.run(["cc", "-O2", "-g", "-fno-optimize-sibling-calls", written(where, "deep.c", DEEP), "-o", deep],
                       check=True)
        for depth in (10, 100, 1000):
            record(data, 2000, 65528, [deep, str(depth)], 4)
            row(f"{depth} calls deep", data, where)
        for nr in (1, 10, 100):
            record(data, 5000, 8192, ["sh", "-c", f"i=0; while [ $i -lt {nr} ]; do {build}/workloads/templates 5 "
                                      "& i=$((i + 1)); done; wait"])
            row(f"{nr} processes of one program", data, where)
        record(data, 10000, 512, [f"{build}/workloads/spin"], 2)
        for nr in (1000, 10000, 100000, 1000000):
            grow(data, grown, nr)
            row(f"{nr} samples", grown, where)
