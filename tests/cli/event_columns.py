#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several events in one report: each column beside the report of that event alone."""

from collections import Counter
import functools
import os
import re
import tempfile

from harness import (BUILD, CTOP, case, check, ctop_ok, directory, main, need_library, need_program, run,
                     shown_in_terminal)
from made_recording import MadeRecording

EVENTS = ("cpu-clock", "page-faults", "context-switches")
GROUPS = ("inline", "function", "line", "address", "module", "thread", "process")


@functools.lru_cache(None)
def recorded():
    """Computing, page faults and waiting in several processes; and the directory that goes with it."""
    where = tempfile.TemporaryDirectory()
    path = os.path.join(where.name, "columns.ctop")
    work = os.path.join(BUILD, "workloads")
    ctop_ok("record", "-q", "-e", ",".join(EVENTS), "-o", path, "--", "sh", "-c",
            f"{work}/templates 0.3; {work}/faults 0.3; {work}/sleepwork 0.3")
    return where, path


def table(*options):
    """The columns' names, and {row: its cells}."""
    text = ctop_ok("report", "--stdio", "--limit=0", "--min-percent=0", "--names=full", *options, recorded()[1]).stdout
    heading, *lines = text[text.index(" SELF%"):].splitlines()
    names = re.match(r" SELF%  TOTAL%    SAMPLES((?:  +\S+%)*)", heading).group(1).split()
    rows = {}
    seconds = r" *[\d.]+ +[\d.]+ +[\d.]+  .{10}  " if "waited s" in heading else ""
    for line in lines:
        # Threads are listed without samples, too.
        if seconds and re.match(r" *0\.00 +0\.00 +0 ", line):
            continue
        cells = re.match(r" *([\d.]+) +([\d.]+) +([\d,]+)" + r" +([\d.]+)" * len(names) + "  " + seconds + r"(.*)$", line).groups()
        row = re.sub(r"  +", "  ", cells[-1].strip())
        check(row not in rows, f"{row} twice")
        rows[row] = cells[:-1]
    return names, rows


@case
def columns_are_the_events_reports():
    for group in GROUPS:
        names, rows = table("--group", group)
        check(names == ["page-faults%", "context-switches%"], f"{names}")
        alone = {event: table("--group", group, "--event", event) for event in EVENTS}
        check(all(not others for others, _ in alone.values()), f"a column beside --event: {alone}")
        check({row: cells[:3] for row, cells in rows.items()} == alone[EVENTS[0]][1], f"--group {group}: other rows than alone")
        for i, event in enumerate(EVENTS[1:]):
            single = {row: cells[0] for row, cells in alone[event][1].items()}
            wrong = {row: (cells[3 + i], single.get(row)) for row, cells in rows.items() if cells[3 + i] != single.get(row, "0.00")}
            check(not wrong, f"--group {group}: {event}: {wrong}")
            check(group not in ("module", "process") or any(float(cells[3 + i]) for cells in rows.values()), f"{event} is nowhere")


def tree(*options, path=None):
    """The columns' names, and {way from the root: the cells of its rows}: functions of several modules may go by one name."""
    text = ctop_ok("report", "--stdio", "--tree", "--min-percent=0", "--names=full", *options, path or recorded()[1]).stdout
    heading, *lines = text[text.index("TOTAL%"):].splitlines()
    names = re.match(r"TOTAL%   SELF%((?:  +\S+)*)   CALL TREE$", heading).group(1).split()
    rows, way = {}, []
    for line in lines:
        cells = re.match(r" *([\d.]+) +([\d.]+)" + r" +(~?[\d.]+|-)?" * len(names) + "   ", line)
        check(cells, f"{line!r} of {names}")
        name = line[cells.end():]
        depth = (len(name) - len(name.lstrip())) // 2
        way[depth:] = [name.strip()]
        rows.setdefault(tuple(way), []).append(cells.groups())
    return names, rows


@case
def columns_of_the_tree_are_the_events_trees():
    names, rows = tree()
    check(names == ["page-faults%", "context-switches%"], f"{names}")
    alone = {event: tree("--event", event) for event in EVENTS}
    check({way: [cells[:2] for cells in each] for way, each in rows.items()} == alone[EVENTS[0]][1], "other rows than alone")
    for i, event in enumerate(EVENTS[1:]):
        costs = {way: Counter(cells[2 + i] for cells in each if cells[2 + i] != "0.00") for way, each in rows.items()}
        single = {way: Counter(cells[0] for cells in each if cells[0] != "0.00") for way, each in alone[event][1].items()}
        wrong = {way: (cost, single.get(way)) for way, cost in costs.items() if cost - single.get(way, Counter())}
        check(not wrong and any(costs.values()), f"{event}: {wrong}")
    chained = ctop_ok("report", "--stdio", "--tree", recorded()[1]).stdout
    check(re.search(r"^TOTAL%   SELF%  page-faults%  context-switches%   CALL TREE$", chained, re.M) and " · " in chained, chained)


CYCLES, INSTRUCTIONS, MISSES = 5, 6, 8


def counted(where):
    """What hardware would count: main calls fast (IPC 2, hardly a miss) and slow (IPC 0.25, 20 misses per 1,000)."""
    made = MadeRecording()
    task = made.task(7, 7, "made")
    module = made.module("/bin/made", build_id=b"\1" * 20)
    at = {name: made.frame(module, 0x1000 + 0x100 * i, name) for i, name in enumerate(("main", "fast", "slow", "rare"))}
    cycles, instructions, misses = (made.event(name, unit) for name, unit in (
        ("cycles", CYCLES), ("instructions", INSTRUCTIONS), ("cache-misses", MISSES)))
    for event, weight, counts in ((cycles, 1000, {"fast": 100, "slow": 400, "rare": 3}),
                                  (instructions, 1000, {"fast": 200, "slow": 100, "rare": 3}),
                                  (misses, 10, {"slow": 200, "rare": 1})):
        for name, count in counts.items():
            for i in range(count):
                made.sample(1000 * len(made.samples), task, [at["main"], at[name]], event=event, weight=weight)
    return made.write(os.path.join(where, "counted.ctop"))


@case
def ratios_stand_with_the_samples_behind_them():
    with directory() as where:
        path = counted(where)
        names, rows = tree(path=path)
        check(names == ["instructions%", "cache-misses%", "IPC", "n", "misses/1k", "n"], f"{names}")
        check(rows["main",] == [("100.00", "0.00", "100.00", "100.00", "0.60", "303", "6.6", "201")], f"{rows}")
        check(rows["main", "fast"][0][2:] == ("66.01", "0.00", "2.00", "100", "~0.0", "0"), f"{rows}")
        check(rows["main", "slow"][0][2:] == ("33.00", "99.50", "0.25", "100", "20.0", "100"), f"{rows}")
        check(rows["main", "rare"][0][2:] == ("0.99", "0.50", "~1.00", "3", "~3.3", "1"), f"{rows}")
        text = ctop_ok("report", "--stdio", path).stdout
        check(re.search(r"^ SELF%  TOTAL%    SAMPLES  instructions%  cache-misses%     IPC     n  misses/1k     n  FUNCTION", text, re.M), text)
        check(re.search(r"^ 79\.52   79\.52        400          33\.00          99\.50    0\.25   100       20\.0   100  slow ", text, re.M), text)
        for columns, wanted in (64, "IPC"), (72, "IPC  misses/1k"), (82, "IPC     n  misses/1k     n"):
            text = shown_in_terminal(columns, 24, CTOP, "report", "--stdio", "--tree", path)[1].decode().replace("\r", "")
            check(re.search(rf"^TOTAL%   SELF% +{wanted}   CALL TREE$", text, re.M), f"{columns}: {text}")
            check(all(len(line.rstrip()) <= columns for line in text[text.index("TOTAL%"):].splitlines()), text)


SOURCE = """#include <sys/mman.h>
#include <time.h>
static inline unsigned mix(unsigned x) { return x ^ (x >> 17) ^ (x << 5); }
__attribute__((noinline)) unsigned crunch(unsigned *values, int nr)
{
	unsigned sum = 1;
	for (int i = 0; i < nr; i++) {
		sum = mix(sum + values[i]);
		values[i] = sum;
	}
	return sum;
}
int main(void)
{
	enum { NR = 1 << 18 };
	unsigned sum = 0;
	while ((double)clock() / CLOCKS_PER_SEC < 0.4) {
		unsigned *values = mmap(0, NR * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sum += crunch(values, NR);
		munmap(values, NR * 4);
	}
	return sum == 42;
}
"""


def built(where):
    need_library("capstone")
    source, program = os.path.join(where, "work.c"), os.path.join(where, "work")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    result = run(need_program("gcc"), "-O2", "-g", "-Wl,--build-id", "-o", program, source)
    check(result.returncode == 0, result.stderr)
    return program


def code(path, *options):
    """The columns' names, {address: cells} of crunch's instructions and {line: cells} of its source; "": no samples."""
    text = ctop_ok("report", "--annotate", "crunch", "--names=full", *options, path).stdout
    heading, *lines = text[text.index(" CODE%"):].splitlines()
    names = re.match(r" CODE%        SAMPLES((?:  +\S+)*)   ADDRESS    INSTRUCTION$", heading).group(1).split()
    width = heading.index("   ADDRESS")
    rows, source = {}, {}
    for line in lines:
        if line[width:].startswith("  inlined: "):
            continue
        cells = line[:width].replace("*", " ").split()
        instruction = re.match(r" +([0-9a-f]+): [ >] ", line[width:])
        place = re.match(r" +(\S+:\d+)  ", line[width:])
        check(instruction or place, f"{line!r} of {heading!r}")
        if instruction:
            rows[int(instruction.group(1), 16)] = cells
        elif cells:
            check(place.group(1) not in source, f"{place.group(1)} has numbers twice: {text}")
            source[place.group(1)] = cells
    return names, rows, source


def samples_of(cells):
    return sum(int(each[1].replace(",", "")) for each in cells.values() if each)


def near(got, wanted, nr):
    """Shares that were rounded, so many of them."""
    return abs(got - wanted) <= 0.005 * nr + 0.001


@case
def columns_of_code_are_the_events_code():
    with directory() as where:
        path = os.path.join(where, "code.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u,page-faults:u", "-o", path, "--", built(where))
        names, rows, source = code(path)
        check(names == ["page-faults:u%"], f"{names}")
        alone = {event: code(path, "--event", event) for event in ("cpu-clock:u", "page-faults:u")}
        check(not alone["cpu-clock:u"][0] and not alone["page-faults:u"][0], "columns beside --event")
        for at, cells in rows.items():
            one, other = (alone[event][1][at] for event in ("cpu-clock:u", "page-faults:u"))
            check(cells[:2] == (one or ["0.00", "0"][:len(cells)]), f"{at:x}: {cells}, alone {one}")
            check((cells[2] if cells else "0.00") == (other[0] if other else "0.00"), f"{at:x}: {cells}, alone {other}")
        for event, column in ("cpu-clock:u", 0), ("page-faults:u", 2):
            whole = sum(float(cells[column]) for cells in rows.values() if cells)
            lines = sum(float(cells[column]) for cells in source.values())
            check(near(whole, 100, len(rows)) and near(lines, 100, len(source)), f"{event}: {whole}, {lines}")
            listed = ctop_ok("report", "--stdio", "--no-inline", "--limit=0", "--min-percent=0", "--event", event, path).stdout
            self = re.search(r"^ *[\d.]+ +[\d.]+ +([\d,]+)  crunch ", listed, re.M).group(1)
            check(samples_of(alone[event][1]) == samples_of(alone[event][2]) == int(self.replace(",", "")), f"{event}: not {self}")
        # What a line has is what its group has.
        grouped = ctop_ok("report", "--stdio", "--group=line", "--limit=0", "--min-percent=0", path).stdout
        for place, cells in source.items():
            nr = sum(int(found.replace(",", "")) for found in
                     re.findall(rf"^ *[\d.]+ +[\d.]+ +([\d,]+) +[\d.]+  {re.escape(place)} (?:crunch|mix \(inlined\)) ", grouped, re.M))
            check(nr == int(cells[1].replace(",", "")), f"{place}: {cells}, of its group {nr}\n{grouped}")


@case
def code_has_its_ratios():
    with directory() as where:
        program = built(where)
        build_id = bytes.fromhex(re.search(r"Build ID: (\w+)", run(need_program("readelf"), "-n", program).stdout).group(1))
        start = int(re.search(r"^(\w+) T crunch$", run(need_program("nm"), program).stdout, re.M).group(1), 16)
        listed = run(need_program("objdump"), "-d", f"--start-address={start:#x}", f"--stop-address={start + 24:#x}", program).stdout
        first, second, third = [int(at, 16) for at in re.findall(r"^ +([0-9a-f]+):\t", listed, re.M)][:3]
        made = MadeRecording()
        task = made.task(7, 7, "work")
        module = made.module(program, build_id=build_id)
        at = {address: made.frame(module, address, "crunch", address - start) for address in (first, second, third)}
        for name, unit, weight, counts in (("cycles", CYCLES, 1000, {first: 100, second: 300}),
                                           ("instructions", INSTRUCTIONS, 1000, {first: 300, second: 75}),
                                           ("cache-misses", MISSES, 10, {second: 150, third: 2})):
            event = made.event(name, unit)
            for address, count in counts.items():
                for _ in range(count):
                    made.sample(1000 * len(made.samples), task, [at[address]], event=event, weight=weight)
        path = made.write(os.path.join(where, "made.ctop"))
        names, rows, source = code(path)
        check(names == ["instructions%", "cache-misses%", "IPC", "n", "misses/1k", "n"], f"{names}")
        check(rows[first] == ["25.00", "100", "80.00", "0.00", "3.00", "100", "~0.0", "0"], f"{rows[first]}")
        check(rows[second] == ["75.00", "300", "20.00", "98.68", "0.25", "75", "20.0", "75"], f"{rows[second]}")
        # No cycle was sampled there, nor an instruction.
        check(rows[third] == ["0.00", "0", "0.00", "1.32", "-", "-"], f"{rows[third]}")
        check(samples_of(source) == 400, f"{source}")
        narrow = shown_in_terminal(80, 24, CTOP, "report", "--annotate", "crunch", path)[1].decode().replace("\r", "")
        check(" CODE%        SAMPLES     IPC     n  misses/1k   ADDRESS    INSTRUCTION" in narrow, narrow)


@case
def the_header_is_of_the_first_alone():
    report = ctop_ok("report", "--stdio", recorded()[1])
    alone = ctop_ok("report", "--stdio", "--event", EVENTS[0], recorded()[1]).stdout
    for line in "duration", "weight", "stacks", "unnamed":
        found = [re.findall(rf"^{line} .*$", text, re.M) for text in (report.stdout, alone)]
        check(found[0] == found[1], f"{found}")
    check("others     beside it: page-faults, context-switches (choose with --event)\n" in report.stdout, report.stdout)
    check(not report.stderr, report.stderr)


@case
def on_narrow_lines_what_has_no_room_is_left_out():
    for columns, wanted in (74, []), (80, ["page-faults%"]), (94, ["page-faults%", "context-switches%"]):
        text = shown_in_terminal(columns, 24, CTOP, "report", "--stdio", recorded()[1])[1].decode().replace("\r", "")
        heading = next(line for line in text.splitlines() if line.startswith(" SELF%"))
        check([name for name in heading.split() if name.endswith("%")][2:] == wanted, f"{columns}: {heading}")
        check(all(len(line.rstrip()) <= columns for line in text[text.index(" SELF%"):].splitlines() if not line.startswith("...")), text)


@case
def a_run_without_a_recording_has_them_too():
    text = ctop_ok("-q", "-e", "cpu-clock,page-faults", "--stdio", "--", os.path.join(BUILD, "workloads", "templates"), "1").stdout
    check(re.search(r"^ SELF%  TOTAL%    SAMPLES  page-faults%  FUNCTION", text, re.M), text)
    modules = ctop_ok("report", "--stdio", "--modules", recorded()[1])
    check("page-faults%" not in modules.stdout and "choose with --event" in modules.stderr, f"{modules}")


main()
