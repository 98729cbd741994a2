# SPDX-License-Identifier: MIT
"""
Lines and inlined functions of a large program: ctop's symbolizer beside llvm-symbolizer and eu-addr2line, ctop export beside perf script.

The program is C++ of many templates, with 160 MB of debug information. Compiling that would take minutes: one unit is compiled, and
assembled again and again under other names. It stays in the build directory.
"""

import os
import random
import re
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import threading
import time

UNITS, FUNCTIONS = 12, 20 # which make 160 MB
ADDRESSES = 10000
PATIENCE_S = 120
BASE = 0x555555554000 # where the perf.data file has the program

HEADERS = ("algorithm", "deque", "functional", "map", "memory", "numeric", "regex", "set", "sstream", "string", "unordered_map", "vector")
FUNCTION = """
struct item@ { std::string name; std::vector<int> values; double weight; bool operator<(const item@ &o) const { return weight < o.weight; } };
long work@(long seed)
{
	std::map<std::string, item@> items;
	std::unordered_map<long, std::vector<item@>> buckets;
	std::set<item@> ordered;
	for (long j = 0; j < 20; j++) {
		item@ made{std::to_string(seed * j), std::vector<int>(j, (int)seed), (double)(seed ^ j)};
		items[made.name] = made;
		buckets[j % 7].push_back(made);
		ordered.insert(std::move(made));
	}
	std::vector<item@> all(ordered.begin(), ordered.end());
	std::sort(all.begin(), all.end(), [](const item@ &a, const item@ &b) { return a.name < b.name; });
	std::stable_sort(all.begin(), all.end());
	std::deque<std::unique_ptr<item@>> owned;
	std::transform(all.begin(), all.end(), std::back_inserter(owned), [](const item@ &x) { return std::make_unique<item@>(x); });
	std::function<long(long)> step = [&](long x) { return x + (long)owned.size() + (long)buckets.size(); };
	std::ostringstream out;
	for (auto &[key, value] : items)
		out << key << value.weight;
	return std::accumulate(all.begin(), all.end(), step(seed), [](long sum, const item@ &x) { return sum + (long)x.values.size(); }) + (long)out.str().size();
}
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def build_program(path, units=UNITS, functions=FUNCTIONS):
    """Of units that are called unit10, unit11, ...: names of one length, which mangled names count."""
    first = 10
    with tempfile.TemporaryDirectory(prefix="ctop-bench-", dir=os.path.dirname(path)) as where:
        def at(name):
            return os.path.join(where, name)

        body = "".join(FUNCTION.replace("@", str(i)) for i in range(functions))
        sums = "".join(f"\tsum += work{i}(seed);\n" for i in range(functions))
        write(at("unit.cpp"), "".join(f"#include <{header}>\n" for header in HEADERS) + f"namespace unit{first} {{\n{body}"
              f"long run(long seed)\n{{\n\tlong sum = std::regex_match(\"aab\", std::regex(\"a+b*\"));\n{sums}\treturn sum;\n}}\n}}\n")
        subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-S", "-o", at("unit.s"), at("unit.cpp")], check=True)
        with open(at("unit.s"), encoding="utf-8") as file:
            text = file.read()
        spaces = [f"unit{first + i}" for i in range(units)]
        for space in spaces:
            write(at("renamed.s"), text.replace(f"unit{first}", space))
            subprocess.run(["as", "-o", at(space + ".o"), at("renamed.s")], check=True)
        write(at("main.cpp"), "".join(f"namespace {space} {{ long run(long); }}\n" for space in spaces) +
              "int main(int argc, char **)\n{\n\tlong sum = 0;\n" + "".join(f"\tsum += {space}::run(argc);\n" for space in spaces) +
              "\treturn (int)sum;\n}\n")
        subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id", "-o", at("large"), at("main.cpp"), *(at(space + ".o") for space in spaces)], check=True)
        os.replace(at("large"), path)


def debug_bytes(path):
    """In sections of debug information."""
    shown = subprocess.run(["size", "-A", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(int(words[1]) for words in map(str.split, shown.splitlines()) if words and words[0].startswith(".debug"))


def pick(path):
    """Addresses in any function, in any order."""
    chance, functions, found = random.Random(1), [], set()
    for line in subprocess.run(["nm", "-S", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        words = line.split(" ", 3)
        if len(words) == 4 and words[2] in "tTwW":
            functions.append((int(words[0], 16), int(words[1], 16)))
    while len(found) < ADDRESSES:
        start, size = chance.choice(functions)
        found.add(start + chance.randrange(max(size, 1)))
    found = sorted(found)
    chance.shuffle(found)
    return found


def write_perf_data(path, program, addresses):
    """A sample at each: tools/perf/Documentation/perf.data-file-format.txt, perf_event_open(2)."""
    segments = subprocess.run(["readelf", "-lW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    _, offset, address, _, size, _ = next(line for line in segments.splitlines() if line.split()[:1] == ["LOAD"] and " R E " in line).split()[:6]
    offset, address, size = (int(number, 16) for number in (offset, address, size))
    pid, ip, tid, when, chain = 4242, 1, 2, 4, 0x20
    exclude_kernel, counts_mmap, counts_comm = 1 << 5, 1 << 8, 1 << 9

    def record(kind, misc, body):
        return struct.pack("=IHH", kind, misc, 8 + len(body)) + body

    def text(string):
        return string.encode() + bytes(8 - len(string.encode()) % 8)

    notes = subprocess.run(["readelf", "-n", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    build_id = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes).group(1))
    with_build_id, length = 1 << 14, size + 4095 & ~4095
    data = [record(3, 2, struct.pack("=II", pid, pid) + text("large")),
            record(10, 2 | with_build_id, struct.pack("=IIQQQB3x20sII", pid, pid, BASE + address, length, offset, len(build_id), build_id, 5, 2) + text(program))]
    for i, sampled in enumerate(addresses):
        data.append(record(9, 2, struct.pack("=QIIQQQQ", BASE + sampled, pid, pid, 1000000 * (i + 1), 2, 2**64 - 512, BASE + sampled)))
    data = b"".join(data)
    attr = struct.pack("=IIQQQQQ", 1, 128, 0, 1000000, ip | tid | when | chain, 0, exclude_kernel | counts_mmap | counts_comm).ljust(128, b"\0")
    head = b"PERFILE2" + struct.pack("=QQQQQQQQ", 104, 144, 104, 144, 248, len(data), 0, 0) + bytes(32)
    with open(path, "wb") as file:
        file.write(head + attr + bytes(16) + data)


def took(command, given, patience):
    """(seconds, of CPU, peak bytes of the process, lines written); None: not done in that time."""
    with open(given, encoding="utf-8") as file, tempfile.TemporaryFile() as out:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        program = subprocess.Popen(command, stdin=file, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
        ending = threading.Timer(patience, os.killpg, (program.pid, signal.SIGKILL))
        ending.start()
        _, status, usage = os.wait4(program.pid, 0)
        ending.cancel()
        program.returncode = os.waitstatus_to_exitcode(status)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if program.returncode:
            return None
        out.seek(0)
        written = sum(chunk.count(b"\n") for chunk in iter(lambda: out.read(1 << 20), b""))
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, cpu, usage.ru_maxrss * 1024, written


def in_turn(commands, given, rounds):
    """The medians of each, beside those of the first."""
    results = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            if None not in results[name]:
                results[name].append(took(command, given, PATIENCE_S))
    own = None
    for name, values in results.items():
        if None in values:
            print(f"  {name:28s} failed, or was not done in {PATIENCE_S} s")
            continue
        wall, cpu, rss, written = (statistics.median(column) for column in zip(*values))
        own = own or (wall, cpu)
        print(f"  {name:28s} {wall:7.2f} s, {cpu:6.2f} s of CPU ({wall / own[0]:.1f}, {cpu / own[1]:.1f} times ctop's), "
              f"{rss / 2**20:4.0f} MiB, {written:.0f} lines", flush=True)


def run(build, rounds):
    program = os.path.join(build, "bench", "large")
    missing = [tool for tool in ("g++", "as", "nm", "readelf", "size", "llvm-symbolizer", "eu-addr2line") if not shutil.which(tool)]
    if missing:
        print(f"lines: skipped: there is no {', '.join(missing)}")
        return
    if not os.path.exists(program):
        build_program(program)
    addresses = pick(program)
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        given, data = os.path.join(where, "addresses"), os.path.join(where, "perf.data")
        write(given, "".join(f"{address:#x}\n" for address in addresses))
        write_perf_data(data, program, addresses)
        print(f"lines: {ADDRESSES:,} addresses all over a program with {debug_bytes(program) / 1e6:.0f} MB of debug information, medians of {rounds}")
        in_turn({"ctop's symbolizer": [os.path.join(build, "symbols", "look_up"), "-l", program],
                 "llvm-symbolizer --inlines": ["llvm-symbolizer", f"--obj={program}", "--inlines"],
                 "eu-addr2line -i -f": ["eu-addr2line", "-e", program, "-i", "-f"]}, given, rounds)
        ctop = os.path.join(build, "ctop")
        print("  the same as perf.data:")
        in_turn({"ctop export script": [ctop, "export", "script", data],
                 "perf script -F +srcline": ["perf", "script", "--inline", "-i", data, "-F", "+srcline"]}, given, rounds)
