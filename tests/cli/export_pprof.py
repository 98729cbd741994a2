#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export pprof`, read back by go tool pprof."""

import collections
import gzip
import os
import re
import shutil

import exporting
from exporting import Costs, check_costs, export, module_of, nr_samples, profiles, total
from harness import Skip, case, check, ctop_ok, directory, main, need_program, run

Read = collections.namedtuple("Read", "types period samples locations mappings comments")


def pprof(path, *options, **environment):
    words = ("-symbolize=none",) if "-symbolize=local" not in options else ()
    result = run(need_program("go"), "tool", "pprof", *words, *options, path,
                 env={**os.environ, "PPROF_TMPDIR": os.path.dirname(path), **environment})
    check(result.returncode == 0, f"pprof {options}: {result.stderr}")
    return result.stdout


def raw(path):
    """What -raw prints, as tuples: types, samples (values, locations, labels), locations, mappings."""
    text = pprof(path, "-raw")
    head, _, rest = text.partition("\nSamples:\n")
    samples_text, _, rest = rest.partition("\nLocations\n")
    locations_text, _, mappings_text = rest.partition("\nMappings\n")
    lines = samples_text.splitlines()
    samples = []
    for line in lines[1:]:
        found = re.match(r"^([ \d]+):((?: \d+)*) *$", line)
        if found:
            samples.append(([int(n) for n in found.group(1).split()], [int(n) for n in found.group(2).split()], {}))
        elif samples:
            samples[-1][2].update(re.findall(r"(\w+):\[(.*?)\](?= \w+:\[|$)", line.strip()))
    locations, number = {}, None
    for line in locations_text.splitlines():
        first = re.match(r"^ *(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?", line)
        name = re.match(r"(.*?) [^ ]*:\d+(?::\d+)? s=0(?:\(.*\))?$", line[first.end() if first else 0:].strip())
        if first:
            number = int(first.group(1))
            locations[number] = int(first.group(2), 16), int(first.group(3) or 0), []
        if name:
            locations[number][2].append(name.group(1))
    mappings = {int(number): (file, build_id, "FN" in rest) for number, file, build_id, rest in
                re.findall(r"^ *(\d+): 0x0/0xffffffffffffffff/0x0 (.*) ([0-9a-f]{40}|) ((?:\[\w+\])*)$", mappings_text, re.MULTILINE)}
    return Read(lines[0].replace("[dflt]", "").split(), head, samples, locations, mappings,
                re.findall("^Comment: (.*)$", head, re.MULTILINE))


def costs_of(read, value):
    costs = Costs()
    for values, path, _ in read.samples:
        if values[value]:
            frames = [read.locations[location] for location in path]
            # Of the functions of a location the last one is called, the others are inside.
            costs.add([(name + " (inlined)" * (depth + 1 < len(names)), module_of(read.mappings.get(mapping, [""])[0]))
                       for _, mapping, names in frames for depth, name in enumerate(names)], values[value])
    return costs


def unit_of(event):
    return {"cpu-clock": "nanoseconds", "wait": "nanoseconds", "page-faults": "faults"}.get(event, "events")


@case
def each_event_as_the_report_has_it():
    need_program("go")
    for profile in profiles():
        path = export("pprof", profile)
        read = raw(path)
        for event in profile.events:
            value = read.types.index(f"{event}/{unit_of(event)}")
            check_costs("pprof", costs_of(read, value), profile, event)
            samples = sum(values[value - 1] for values, _, _ in read.samples)
            check(samples == nr_samples(profile.path, event), f"{profile.name}: {samples} samples of {event}")


@case
def top_and_traces_show_it():
    for profile in profiles():
        path = export("pprof", profile)
        for event in profile.events:
            text = pprof(path, "-top", "-unit=ns", f"-sample_index={event}", "-nodecount=0", "-nodefraction=0")
            shown = re.search(r"of (\d+)(\w*) total", text)
            check(int(shown.group(1)) == total(profile.path, event), f"{profile.name}: {text[:2000]}")
            traces = pprof(path, "-traces", "-unit=ns", f"-sample_index={event}")
            weight = sum(int(n) for n in re.findall(r"^ *(\d+)(?:ns|faults|events)?   \S", traces, re.MULTILINE))
            check(weight == total(profile.path, event), f"{profile.name}: {weight} of {event} in {traces[:2000]}")


@case
def labels_mappings_and_what_was_recorded():
    profile = exporting.made()
    read = raw(export("pprof", profile))
    check(read.types == ["samples:cpu-clock/count", "cpu-clock/nanoseconds", "samples:page-faults/count", "page-faults/faults",
                         "samples:sched:sched_switch/count", "sched:sched_switch/events"], f"{read.types}")
    check("PeriodType: cpu-clock nanoseconds\nPeriod: 1000000\n" in read.period, read.period)
    check("Time: 2023-11-14 22:13:21" in read.period and "Duration: 1.99" in read.period, read.period)
    check("command line: ctop record -- program" in read.comments and "host: elsewhere" in read.comments, f"{read.comments}")
    threads = collections.Counter()
    for values, _, labels in read.samples:
        threads[labels["pid"], labels["tid"], labels["comm"], labels["thread_comm"], labels["cpu"],
                labels.get("stack_end", "")] += values[1]
    check(threads["100", "100", "program", "program", "0", ""] == 100 * 1000000, f"{threads}")
    check(threads["100", "100", "program", "program", "1", ""] == 100 * 1000000, f"{threads}")
    check(threads["100", "101", "program", "worker", "0", "truncated"] == 67 * 1000000, f"{threads}")
    check(threads["200", "200", "node", "node", "0", ""] == 67 * 1000001, f"{threads}")
    check(read.mappings[min(read.mappings)] is not None, "no mapping")
    by_file = {file: (build_id, named) for file, build_id, named in read.mappings.values()}
    check(by_file["/usr/bin/program"] == (bytes(range(20)).hex(), True), f"{by_file}")
    check(by_file["/usr/lib/libthing.so.1"] == ("ab" * 20, False), f"{by_file}")
    check(by_file["[kernel.kallsyms]"] == ("", True) and by_file["[anon]"] == ("", True), f"{by_file}")
    check(re.search(r"^File: program\n", pprof(export("pprof", profile), "-top")), "another program comes first")


@case
def filters_hold():
    profile = exporting.made()
    read = raw(export("pprof", profile, "--tid", 101, "--event", "cpu-clock"))
    check({labels["tid"] for _, _, labels in read.samples} == {"101"}, "other threads")
    check(read.types == ["samples/count", "cpu-clock/nanoseconds"], f"{read.types}")


@case
def pprof_names_what_ctop_could_not():
    need_program("addr2line")
    with directory() as where:
        source, program, whole = (os.path.join(where, name) for name in ("p.c", "program", "whole"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("__attribute__((noinline)) static void hidden(unsigned long n) { while (n--) __asm__ volatile(\"\"); }\n"
                       "int main(void) { for (int i = 0; i < 400; i++) hidden(1000000); return 0; }\n")
        check(run(need_program("gcc"), "-g", "-O1", "-Wl,--build-id", "-o", whole, source).returncode == 0, "gcc failed")
        check(run(need_program("strip"), "-o", program, whole).returncode == 0, "strip failed")
        recording, out = os.path.join(where, "r.ctop"), os.path.join(where, "out.pb.gz")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", recording, "--", program)
        ctop_ok("export", "pprof", recording, "-o", out)
        check("hidden" not in pprof(out, "-top"), "it has a name already")
        shutil.copy(whole, program)
        text = pprof(out, "-symbolize=local", "-list=hidden")
        check(re.search(r"^ROUTINE =+ hidden in .*p\.c$", text, re.MULTILINE), text)


@case
def hostile_names_are_spelled_out():
    path = export("pprof", exporting.hostile())
    with gzip.open(path) as file:
        content = file.read()
    text = content.decode("utf-8", "replace")
    check(b"\x1b]52" not in content, "an escape sequence")
    check("\u202e" not in text and b"\xff\xfe invalid" not in content, "bidi or invalid UTF-8")
    check(b"x" * 4096 in content and b"\\x1b]52;c;" in content, "a name is missing")
    for way in "-top", "-traces", "-tree", "-tags", "-comments", "-proto":
        pprof(path, way, *(["-output=" + path + ".again"] if way == "-proto" else []))


@case
def nothing_and_no_room():
    profile = exporting.made()
    with directory() as where:
        out = os.path.join(where, "out.pb.gz")
        result = run(os.path.join(exporting.BUILD, "ctop"), "export", "pprof", profile.path, "--comm", "nobody", "-o", out)
        check(result.returncode != 0 and not os.listdir(where), f"{result} {os.listdir(where)}")
        if not os.path.exists("/dev/full"):
            raise Skip("no /dev/full")
        result = run(os.path.join(exporting.BUILD, "ctop"), "export", "pprof", profile.path, "-o", "/dev/full")
        check(result.returncode != 0 and "No space left" in result.stderr, f"{result}")


@case
def recordings_of_other_languages():
    exporting.go()
    exporting.node()


main()
