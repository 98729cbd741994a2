#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop diff`: profiles of known shares, the same twice, functions that moved, and pprof's differences beside ours."""

import os
import random
import re

import exporting
from comparing import MS, made, rows
from exporting import HOSTILE, export
from harness import BUILD, CTOP, Skip, case, check, check_refused, ctop, ctop_ok, directory, main, need_program, run
from made_recording import EVENTS


@case
def known_shares_are_shown_with_their_noise():
    with directory() as where:
        a = made(where, "a", {"hot": 4000, "warm": 3000, "cool": 2990, "rare": 5})
        b = made(where, "b", {"hot": 5000, "warm": 3000, "cool": 1990, "rare": 8})
        text = ctop_ok("diff", a, b).stdout
        found = rows(text)
        check(list(found)[:2] in (["hot", "cool"], ["cool", "hot"]), text)
        check(found["hot"][:3] == ("40.02", "50.01", "+9.99"), found["hot"])
        check(found["cool"][:3] == ("29.91", "19.90", "-10.01"), found["cool"])
        # Two shares of about 0.45 of 10,000 samples each: 0.7 % off by chance, some three times that for six tests of 95 %.
        check(1.5 < float(found["hot"][3]) < 2.5, found["hot"])
        check(found["warm"][2].endswith("~") and "rare" not in found, text)
        check("2 of 5 functions differ by more than noise" in text, text)
        rare = rows(ctop_ok("diff", a, b, "--min-percent", 0).stdout)["rare"]
        check(rare[2:4] == ("+0.03~", "few") or rare[2].endswith("~"), rare)
        tree = ctop_ok("diff", a, b, "--tree").stdout
        check(re.search(r"^ +40.02 +50.01 +\+9.99 +\d.\d\d    hot$", tree, re.M), tree)


@case
def the_same_twice_shows_nothing():
    with directory() as where:
        a = made(where, "a", {"hot": 4000, "warm": 3000, "cool": 2990, "rare": 5})
        text = ctop_ok("diff", a, a, "--fail-above", 0).stdout
        check("Nothing differs" in text and all(row[2] == "+0.00~" for row in rows(text).values()), text)
        # By chance alone: 40 and 41 of 100 are no more than that.
        b, c = made(where, "b", {"hot": 40, "warm": 60}), made(where, "c", {"hot": 45, "warm": 55})
        check("Nothing differs" in ctop_ok("diff", b, c).stdout, "5 of 100")


@case
def several_runs_tell_how_far_runs_differ():
    with directory() as where:
        runs = [made(where, f"r{i}", {"hot": 5000 + i * 300, "warm": 5000 - i * 300, "third": 2000, "fourth": 1000})
                for i in range(-1, 3)]
        alone = ctop_ok("diff", runs[0], runs[2]).stdout
        check("2 of 5 functions differ" in alone, alone)
        together = ctop_ok("diff", ",".join(runs[0::2]), ",".join(runs[1::2])).stdout
        check("Nothing differs" in together and re.search(r"runs, which differ [2-9]\.\d times", together), together)
        # A file whose name has commas is one.
        odd = made(where, "a,b", {"hot": 1})
        check(odd in ctop_ok("diff", odd, runs[0]).stdout, "a name with a comma")


@case
def functions_are_matched_by_name_and_what_was_not_is_said():
    with directory() as where:
        a = made(where, "a", {"parse.constprop.0": 4000, "moved": 3000, "gone": 2000, "two": 500},
                 modules={"moved": "/usr/lib/libold.so"})
        b = made(where, "b", {"two": 500, "parse": 4000, "moved": 3000, "fresh": 2000},
                 modules={"moved": "/opt/libnew.so", "two": "/elsewhere/prog"})
        text = ctop_ok("diff", a, b).stdout
        found = rows(text)
        check(found["parse"][2] == "+0.00~" and found["parse"][6] == "(A: parse.constprop.0)", text)
        check(found["moved"][2] == "+0.00~" and found["moved"][6] == "(A: in libold.so)", text)
        check(found["two"][2] == "+0.00~" and found["two"][6] == "", text)
        check(found["gone"][1:3] == ("0.00", "-21.05") and found["gone"][6] == "(only in A)", text)
        check(found["fresh"][0] == "0.00" and found["fresh"][6] == "(only in B)", text)
        check(re.search(r"^functions +4 in both, 1 under another name, 1 in another module, 1 only in A, 1 only in B$", text, re.M),
              text)


@case
def pprof_finds_the_same_differences():
    need_program("go")
    chance = random.Random(15)
    names = [f"f{i}" for i in range(20)]
    with directory() as where:
        paths = []
        for name in "ab":
            shares = {function: chance.randrange(1, 1000) for function in names}
            shares["main"] = 10000 - sum(shares.values())
            paths.append(made(where, name, shares))
        profiles = [path + ".pb.gz" for path in paths]
        for path, profile in zip(paths, profiles):
            ctop_ok("export", "pprof", path, "-o", profile)
        top = run("go", "tool", "pprof", "-symbolize=none", "-top", "-unit=ns", "-nodecount=1000", "-nodefraction=0",
                  "-sample_index=cpu-clock", "-diff_base", profiles[0], profiles[1], env={**os.environ, "PPROF_TMPDIR": where})
        check(top.returncode == 0, top.stderr)
        theirs = {name: (int(flat), int(cum)) for flat, cum, name in
                  re.findall(r"^ *(-?\d+)(?:ns)? +\S+ +\S+ +(-?\d+)(?:ns)? +\S+ +(\S+)$", top.stdout, re.M)}
        ours = {}
        for name, row in rows(ctop_ok("diff", *paths, "--limit", 0, "--min-percent", 0, "--per", "second").stdout).items():
            ours[name] = tuple(round(float(row[i].rstrip("~")) / 100 * 10000) * MS for i in (2, 4))
        check(len(ours) == 21 and sum(map(abs, theirs["main"])) >= 0, ours)
        for name, (flat, cum) in ours.items():
            check(theirs.get(name, (0, 0)) == (flat, cum), f"{name}: {theirs.get(name)}, not {flat, cum}")


@case
def perf_finds_the_same_differences_in_its_files():
    perf = need_program("perf")
    with directory() as where:
        paths = [os.path.join(where, name) for name in ("a.data", "b.data")]
        for path, percent in zip(paths, (0, 100)):
            result = run(perf, "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-g", "-o", path, "--",
                         os.path.join(BUILD, "workloads", "slower"), "300", percent)
            if result.returncode:
                raise Skip(f"perf record: {result.stderr}")
        theirs = {name: float(change) for change, name in
                  re.findall(r"([-+]\d+\.\d\d)% +\S+ +\[\.\] (\w+)", run(perf, "diff", *paths, cwd=where).stdout)}
        ours = rows(ctop_ok("diff", *paths, "--limit", 0, "--min-percent", 0).stdout)
        for name in "hot", "warm", "cool":
            check(name in theirs and abs(float(ours[name][2].rstrip("~")) - theirs[name]) < 0.015, f"{name}: {ours}, {theirs}")


@case
def folded_has_both_columns():
    with directory() as where:
        a = made(where, "a", {"hot": 100, "warm": 100})
        b = made(where, "b", {"hot": 300, "fresh": 100})
        path = os.path.join(where, "two.folded")
        ctop_ok("diff", a, b, "--folded", "-o", path)
        with open(path, encoding="utf-8") as file:
            check(file.read() == f"main;fresh 0 {100 * MS}\nmain;hot {200 * MS} {300 * MS}\nmain;warm {200 * MS} 0\n", "by share")
        text = ctop_ok("diff", a, b, "--folded", "--per", "second").stdout
        check(f"main;hot {100 * MS} {300 * MS}\n" in text, text)


@case
def amounts_by_the_second_and_by_a_counter():
    with directory() as where:
        a = made(where, "a", {"hot": 1000, "warm": 1000}, facts={"duration_ns": "4000000000"}, per=1000)
        b = made(where, "b", {"hot": 1500, "warm": 1000}, facts={"duration_ns": "4000000000"}, per=500)
        text = ctop_ok("diff", a, b, "--per", "second").stdout
        check(rows(text)["hot"][:3] == ("50.00", "75.00", "+25.00") and "500 ms; B's is 625 ms, 125.0 %" in text, text)
        check(rows(text)["warm"][2] == "+0.00~", text)
        text = ctop_ok("diff", f"{a},{a}", b, "--per", "run").stdout
        check(rows(text)["hot"][:3] == ("50.00", "75.00", "+25.00") and "run: 2.00 s; B's is 2.50 s" in text, text)
        text = ctop_ok("diff", a, b, "--per", "page-faults", "--event", "cpu-clock").stdout
        check(rows(text)["hot"][:3] == ("50.00", "150.00", "+100.00"), text)
        # Of 1,000 and 500 faults nobody knows more than that: some 5 % of each value, three times that for all rows.
        known, divided = (float(rows(ctop_ok("diff", a, b, *per).stdout)["hot"][3]) for per in (("--per", "run"), ("--per", "page-faults")))
        check(divided > 2 * known and 10 < divided < 40, f"{known}, {divided}")
        check_refused(ctop("diff", a, b, "--per", "instructions"), 1, "no samples of instructions", "-e cpu-clock,instructions")


@case
def growth_fails_for_who_asks():
    with directory() as where:
        a, b = made(where, "a", {"hot": 4000, "warm": 6000}), made(where, "b", {"hot": 5000, "warm": 5000})
        result = ctop("diff", a, b, "--fail-above", 5)
        check(result.returncode == 1 and "hot" in result.stdout and "hot grew by 10.00 %" in result.stderr, result.stderr)
        for arguments in (b, a, "--fail-above", "11"), (a, a, "--fail-above", "0"):
            ctop_ok("diff", *arguments)
        check("warm" in ctop("diff", b, a, "--fail-above", 5).stderr, "the other way")


@case
def what_cannot_be_compared_is_refused():
    with directory() as where:
        a = made(where, "a", {"hot": 10})
        cycles = made(where, "cycles", {"hot": 10}, event="cycles", unit=EVENTS)
        empty = made(where, "empty", {})
        check_refused(ctop("diff", a), 2, "two profiles")
        check_refused(ctop("diff", a, a, a), 2, "unexpected argument")
        check_refused(ctop("diff", a, ","), 2, "no file is named")
        check_refused(ctop("diff", a, cycles), 1, "no samples of cpu-clock, but of cycles")
        check_refused(ctop("diff", a, empty), 1, "has no samples")
        check_refused(ctop("diff", empty, a), 1, "has no samples")
        check_refused(ctop("diff", a, os.path.join(where, "none")), 1, "none")
        check_refused(ctop("diff", a, a, "--comm", "nobody"), 1, "nobody")
        check_refused(ctop("diff", a, a, "--event", "cycles"), 1, "no samples of cycles")
        check_refused(ctop("diff", a, a, "-o", a), 2, "is the recording being read")
        check_refused(ctop("diff", a, a, "-o", "/dev/full"), 1, "/dev/full")
        check_refused(ctop("diff", a, a, "--tree", "--folded"), 2, "mutually exclusive")
        nothing = made(where, "nothing", {"hot": 100}, weight=0)
        check_refused(ctop("diff", nothing, a), 1, "all samples of cpu-clock in", "have the weight 0")
        check_refused(ctop("diff", a, nothing, "--per", "run"), 1, "have the weight 0", "(-F)")
        one = made(where, "one", {"hot": 1})
        check("few" in ctop_ok("diff", one, one).stdout, "one sample")
        closed = run("sh", "-c", '"$0" diff "$1" "$1" | true; exit 0', CTOP, a)
        check("ctop" not in closed.stderr or len(closed.stderr.splitlines()) <= 2, closed.stderr)


@case
def hostile_names_do_no_harm():
    hostile = exporting.hostile().path
    with directory() as where:
        for options in (), ("--tree",), ("--folded",), ("--names", "full"):
            text = ctop_ok("diff", hostile, hostile, "--min-percent", 0, "--limit", 0, *options).stdout
            check(not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffd]", text), options)
        fine = made(where, "fine", {name if isinstance(name, str) else name.decode("latin-1"): 1000 for name in HOSTILE})
        result = ctop("diff", hostile, fine, "--fail-above", 0)
        check("\x1b" not in result.stderr and "\u202e" not in result.stderr, result.stderr)


main()
