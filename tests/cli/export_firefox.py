#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export firefox`, read by the Firefox Profiler's own code (profiler-cli)."""

import contextlib
import json
import os

import exporting
from exporting import Costs, check_costs, export, module_of, npm_package, profiles
from harness import case, check, child, directory, main, need_program, run, wait_until
from inlined_program import built, hottest_lines, plain, recorded


class Reader:
    """A profile that profiler-cli has loaded."""

    def __init__(self, where):
        self.command = [need_program("node"), os.path.join(npm_package("@firefox-devtools/profiler-cli"), "dist", "profiler-cli.js")]
        self.where = where
        self.environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": where, "PROFILER_CLI_NO_SYMBOLICATE": "1"}

    def says(self, *words):
        return run(*self.command, *words, "--session", "test", env=self.environment)

    def is_ready(self):
        with contextlib.suppress(OSError), open(os.path.join(self.where, "test.log"), encoding="utf-8") as log:
            return "Profile loaded" in log.read()
        return False

    def functions(self, thread):
        result = self.says("thread", "functions", "--thread", f"t-{thread}", "--limit", "0", "--include-idle", "--json")
        check(result.returncode == 0, f"{result.stderr}")
        return json.loads(result.stdout)


@contextlib.contextmanager
def loaded(path):
    reader = Reader(exporting.where())
    with child(*reader.command, "--daemon", path, "--session", "test", env=reader.environment) as daemon:
        # To ask before it answers would make the asker take it for dead, and remove its socket.
        wait_until(lambda: daemon.poll() is not None or reader.is_ready(), "loaded profile")
        check(daemon.poll() is None, f"it does not load {path}")
        yield reader


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def event_of(thread, profile_has_more):
    return thread["name"].rpartition(", ")[2] if profile_has_more else None


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        if profile.name == "hostile":  # by the hundred
            continue
        path = export("firefox", profile)
        document = read(path)
        costs = {event: Costs() for event in profile.events}
        with loaded(path) as reader:
            for number, thread in enumerate(document["threads"]):
                found = costs[event_of(thread, len(profile.events) > 1) or profile.events[0]]
                scale = 1e6 if thread["samples"]["weightType"] == "tracing-ms" else 1
                for row in reader.functions(number)["functions"]:
                    # A library that is called as the function is left out: code that a process made, and that has no name.
                    library = row.get("library") or (row["name"] if row["name"].startswith("[") else "")
                    function = row["name"], module_of(library)
                    found.selfs[function] += round(row["selfSamples"] * scale)
                    found.totals[function] += round(row["totalSamples"] * scale)
                    found.weight += round(row["selfSamples"] * scale)
        for event in profile.events:
            for function in [function for function, cost in costs[event].totals.items() if not cost]:
                del costs[event].totals[function]
            check_costs("firefox", costs[event], profile, event)


@case
def threads_times_categories_and_modules():
    document = read(export("firefox", exporting.made()))
    threads = document["threads"]
    check([(thread["name"], thread["processName"], thread["pid"], thread["tid"], thread["isMainThread"]) for thread in threads] ==
          [("worker, cpu-clock", "program", "100", 101, False), ("program, cpu-clock", "program", "100", 100, True),
           ("node, cpu-clock", "node", "200", 200, True), ("node, page-faults", "node", "200", 200, False),
           ("program, page-faults", "program", "100", 100, False),
           ("swapper/0, sched:sched_switch", "swapper/0", "0", 0, False)], f"{[t['name'] for t in threads]}")
    check(threads[1]["samples"]["time"] == [10.0 * i for i in range(200)], f"{threads[1]['samples']['time'][:5]}")
    check(document["meta"]["startTime"] == 1700000001000.0, f"{document['meta']}")
    shared = document["shared"]
    names = {}
    for func, category, address in zip(*(shared["frameTable"][key] for key in ("func", "category", "address"))):
        names[shared["stringArray"][shared["funcTable"]["name"][func]]] = \
            document["meta"]["categories"][category]["name"], address
    check(names["vfs_read"] == ("Kernel", -1) and names["main"] == ("User", 0x1010) and
          names["LFunction:~run script.js:1"] == ("Generated", -1), f"{names}")
    libs = {lib["path"]: (lib["codeId"], lib["breakpadId"]) for lib in document["libs"]}
    check(libs["/usr/bin/program"] == (bytes(range(20)).hex(), "030201000504070608090A0B0C0D0E0F0"), f"{libs}")
    for table in ("stackTable", "frameTable", "funcTable", "resourceTable"):
        check({len(column) for column in shared[table].values() if isinstance(column, list)} == {shared[table]["length"]}, table)


@case
def waits_are_markers_and_a_category():
    path = export("firefox", exporting.waiting())
    document = read(path)
    names = {thread["tid"]: thread["name"] for thread in document["threads"] if thread["name"].endswith(", wait")}
    check(names == {100: "server, wait", 101: "second, wait", 102: "idle, wait"}, f"{names}")
    found = {}
    with loaded(path) as reader:
        for number, thread in enumerate(document["threads"]):
            result = reader.says("thread", "markers", "--thread", f"t-{number}", "--list", "--json")
            check(result.returncode == 0, result.stderr)
            found[thread["name"]] = [(one["name"], round(one["start"]), round(one["duration"]), one["hasStack"])
                                     for one in json.loads(result.stdout)["flatMarkers"]]
    check(found == {"server, cpu-clock": [], "second, cpu-clock": [], "idle, wait": [("[io]", 0, 400, True)],
                    "second, wait": [("[io]", 0, 290, True)],
                    "server, wait": [("[lock]", 100, 200, True), ("[lock]", 310, 50, True)]}, f"{found}")
    shared, categories = document["shared"], document["meta"]["categories"]
    waiting = {shared["stringArray"][shared["funcTable"]["name"][func]]
               for func, category in zip(shared["frameTable"]["func"], shared["frameTable"]["category"])
               if categories[category]["name"] == "Waiting"}
    check(waiting == {"[lock]", "[io]"}, f"{waiting}")
    # Each is what the stack says, which ends there.
    for thread in document["threads"]:
        for name, data in zip(thread["markers"]["name"], thread["markers"]["data"]):
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][data["cause"]["stack"]]]
            check(shared["funcTable"]["name"][func] == name, f"{data} of {name}")


@case
def frames_have_lines_in_their_functions_sources():
    with directory() as where:
        program = built(where, "program")
        profile = exporting.Profile("lines", recorded(where, program), ["cpu-clock:u"])
        path = export("firefox", profile)
        with loaded(path) as reader:
            check({row["name"] for row in reader.functions(0)["functions"]} >= {"main", "all (inlined)"}, "functions")
        shared = read(path)["shared"]
        strings, functions, sources = shared["stringArray"], shared["funcTable"], shared["sources"]
        files = {strings[functions["name"][row]]: source if source is None else strings[sources["filename"][source]]
                 for row, source in enumerate(functions["source"])}
        wanted = hottest_lines(profile.path, program)
        lines = {}
        for func, line in zip(shared["frameTable"]["func"], shared["frameTable"]["line"]):
            lines.setdefault(strings[functions["name"][func]], set()).add(line)
        for name, file in files.items():
            function = plain(name.removesuffix(" (inlined)"))
            if function in wanted:
                check(file == os.path.join(where, "work.cpp") and wanted[function] in lines[name], f"{name}: {file}, {lines[name]}")
        check(len(wanted) >= 4, f"{files}")
        check(len(set(sources["filename"])) == sources["length"], f"{sources}")


@case
def hostile_names_are_spelled_out():
    path = export("firefox", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    with loaded(path) as reader:
        check(reader.functions(0)["totalFunctionCount"] >= 3, "functions")
        names = {row["name"] for number in range(20) for row in reader.functions(number)["functions"]}
    check("x" * 4096 in names and "\\x1b]52;c;ZXZpbA==\\x07\\x1b[2J" in names, f"{names}")


main()
