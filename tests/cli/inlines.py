#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions that the compiler put into others, and lines: as llvm-symbolizer has them, from wherever the debug information is."""

import collections
import functools
import glob
import json
import os
import random
import re
import shutil
import tempfile

from harness import FAULTY, case, check, ctop_ok, directory, falling, folded, main, need_library, need_program, run
from inlined_program import built, by_llvm, frames, plain, recorded

def check_chains(path, program, *options):
    """At every address that was sampled: the functions and the line of each."""
    ours = frames(path, program, *options)
    theirs = by_llvm(program, ours)
    check(any(len(chain) >= 4 for chain in theirs.values()), f"{theirs}: nothing was inlined")
    for address, chain in ours.items():
        wanted = theirs[address]
        if not wanted[0][1]: # crt1.o has no lines
            continue
        check([(plain(name), line) for name, line in chain] == [(plain(name), line) for name, line in wanted],
              f"{address:#x} of {program}: {chain}, not {wanted}")


@functools.lru_cache(None)
def kept():
    where = tempfile.TemporaryDirectory()
    program = built(where.name, "program")
    return where, program, recorded(where.name, program)


@case
def chains_and_lines_are_those_of_llvm():
    check_chains(kept()[2], kept()[1])


@case
def debug_information_of_each_kind():
    kinds = {"dwarf4": ("-gdwarf-4",), "packed": ("-gz",), "packed4": ("-gz", "-gdwarf-4"), "packed the old way": ("-gz=zlib-gnu",), "ranges": ("-gdwarf-5", "-ffunction-sections")}
    for name, options in kinds.items():
        with directory() as where:
            program = built(where, name, *options)
            check_chains(recorded(where, program, 0.1), program)


@case
def compressed_sections_without_libdeflate():
    with directory() as where:
        result = run(need_program("gcc"), "-shared", "-o", os.path.join(where, "libdeflate.so.0"), "-x", "c", "/dev/null")
        check(result.returncode == 0, result.stderr)
        program = built(where, "packed", "-gz")
        check_chains(recorded(where, program, 0.1, env={**os.environ, "LD_LIBRARY_PATH": where}), program)


def section_of(program, name):
    """Where in a file a section's bytes are, and how many."""
    listed = run("readelf", "-SW", program).stdout
    found = re.search(rf" {re.escape(name)} +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) ", listed)
    check(found, listed)
    return int(found[1], 16), int(found[2], 16)


@case
def damaged_compressed_sections_have_no_lines():
    """In the middle, at the end, and one that unpacks to more, or less, than it says."""
    for section, place, bytes_ in ((".debug_info", 0.5, b"\xff" * 8), (".debug_info", 1.0, b"\0" * 4), (".debug_line", 0.6, b"\xff" * 8),
                                   (".debug_info", "size", 17), (".debug_info", "size", -17), (".debug_abbrev", "size", 1 << 27)):
        with directory() as where:
            program = built(where, "damaged", "-gz")
            at, size = section_of(program, section)
            with open(program, "r+b") as file:
                if place == "size":
                    file.seek(at + 8)
                    claimed = int.from_bytes(file.read(8), "little") + bytes_
                    file.seek(at + 8)
                    file.write(claimed.to_bytes(8, "little"))
                else:
                    file.seek(at + int(place * (size - len(bytes_))))
                    file.write(bytes_)
            path = recorded(where, program, 0.1)
            check(any("work" in stack for stack in folded(path)), f"{section}, {place}: {folded(path)}")
            stats = ctop_ok("report", "--modules", path).stdout
            check("damaged" in stats, stats)


@case
def sections_that_claim_to_unpack_to_gigabytes_have_no_lines():
    with directory() as where:
        program = built(where, "bomb", "-gz=zlib-gnu")
        with open(program, "r+b") as file:
            content = file.read()
            places = [match.start() for match in re.finditer(b"ZLIB\0\0", content)]
            check(len(places) >= 4, f"{places}")
            for at in places:
                file.seek(at + len("ZLIB"))
                file.write((1 << 50).to_bytes(8, "big"))
        path = recorded(where, program, 0.1)
        check(any("work" in stack for stack in folded(path)), f"{folded(path)}")
        lines = [line for chain in frames(path, program).values() for _, line in chain]
        check(not any(lines), f"{lines}")


def built_apart(where, name, *options):
    """A program of -gsplit-dwarf's, its .dwo file, and the same program in one piece."""
    for path, split in (name, ("-gsplit-dwarf",)), ("whole", ()):
        built(where, path + ".o", "-c", *options, *split)
        result = run(need_program("g++"), "-o", os.path.join(where, path), os.path.join(where, path + ".o"))
        check(result.returncode == 0, result.stderr)
    program, whole = os.path.join(where, name), os.path.join(where, "whole")
    dwo = program + ".dwo"
    check(os.path.exists(dwo), os.listdir(where))
    check(run(need_program("nm"), program).stdout == run(need_program("nm"), whole).stdout, "they differ in more than debug information")
    return program, dwo, whole


@case
def what_is_in_dwo_files():
    for version in 4, 5:
        with directory() as where:
            program, _, whole = built_apart(where, "split", f"-gdwarf-{version}")
            check_as_llvm_has(whole, recorded(where, program, 0.1), program)


@case
def what_is_in_a_package_of_dwo_files():
    dwp = need_program("llvm-dwp")
    with directory() as where:
        program, dwo, whole = built_apart(where, "split", "-gdwarf-4")
        result = run(dwp, "-e", program, "-o", program + ".dwp", cwd=where)
        check(result.returncode == 0, result.stderr)
        os.unlink(dwo)
        check_as_llvm_has(whole, recorded(where, program, 0.1), program)


@case
def what_is_in_dwo_files_that_were_moved_beside_the_program():
    with directory() as where, directory() as elsewhere:
        program, dwo, whole = built_apart(where, "split", "-gdwarf-5")
        moved = shutil.copy(program, elsewhere)
        os.rename(dwo, os.path.join(elsewhere, os.path.basename(dwo)))
        check_as_llvm_has(whole, recorded(elsewhere, moved, 0.1), moved)


@case
def what_is_in_dwo_files_that_a_debug_file_names():
    with directory() as where:
        program, _, whole = built_apart(where, "split", "-gdwarf-5")
        split_off(where, program, "--strip-debug")
        check_as_llvm_has(whole, recorded(where, program, 0.1), program)


def told(path):
    """What a report says of functions that could not be known."""
    return "".join(line for line in ctop_ok("report", "--stdio", path).stdout.splitlines() if "inlined functions:" in line)


@case
def dwo_files_that_are_not_used_are_told():
    def absent(dwo):
        os.unlink(dwo)

    def of_another_build(dwo):
        with directory() as other:
            shutil.copy(built_apart(other, os.path.basename(dwo).removesuffix(".dwo"), "-gdwarf-5", "-O1", "-DOTHER")[1], dwo)

    def a_fifo(dwo):
        os.unlink(dwo)
        os.mkfifo(dwo)

    def cut(dwo):
        os.truncate(dwo, os.path.getsize(dwo) // 2)

    def of_somebody_else(dwo):
        os.chown(dwo, 65534, 65534)

    for change, word in (absent, "was not found"), (of_another_build, "is of another build, or damaged"), (a_fifo, "is not a regular file"), \
            (cut, "is of another build, or damaged"), (of_somebody_else, "is of an owner who is not believed here"):
        if change is of_somebody_else and os.geteuid() != 0:
            continue
        with directory() as where:
            program, dwo, _ = built_apart(where, "split", "-gdwarf-5")
            change(dwo)
            path = recorded(where, program, 0.1)
            found = {name for chain in frames(path, program).values() for name, _ in chain}
            check("work(unsigned long)" in found and not any("mix" in name for name in found), f"{change.__name__}: {found}")
            check(f"{dwo} {word}" in told(path), f"{change.__name__}: {ctop_ok('report', '--stdio', path).stdout}")
            modules = ctop_ok("report", "--modules", path).stdout
            check("inlined functions are in .dwo files" in modules, modules)


@case
def what_is_in_dwo_files_has_lines_without_them():
    """llvm-symbolizer, too, has no inlined functions when these files are gone."""
    for version in 4, 5:
        with directory() as where:
            program = built(where, "split", "-gsplit-dwarf", f"-gdwarf-{version}")
            for name in glob.glob(os.path.join(where, "*.dwo")) + glob.glob("*.dwo"):
                os.unlink(name)
            path = recorded(where, program, 0.1)
            ours = frames(path, program)
            theirs = by_llvm(program, ours)
            check(len(theirs) > 2 and {len(chain) for chain in theirs.values()} == {1}, f"{theirs}")
            for address, chain in ours.items():
                wanted = theirs[address][0]
                check(not wanted[1] or [(plain(name), line) for name, line in chain] == [(plain(wanted[0]), wanted[1])],
                      f"{address:#x}: {chain}, not {wanted}")


def objcopy(*words):
    result = run(need_program("objcopy"), *words)
    check(result.returncode == 0, result.stderr)


def split_off(where, program, strip, link=True):
    """The debug file beside a program that was stripped; returns it as it was."""
    whole = os.path.join(where, "whole-" + os.path.basename(program))
    os.rename(program, whole)
    objcopy("--only-keep-debug", whole, program + ".debug")
    objcopy(strip, whole, program)
    if link:
        objcopy(f"--add-gnu-debuglink={program}.debug", program)
    return whole


@case
def debug_information_beside_the_program():
    with directory() as where:
        program = built(where, "apart")
        # Without a symbol table, as distributions have them: it is in the debug file, too.
        whole = split_off(where, program, "--strip-all")
        path = recorded(where, program, 0.1)
        ours, theirs = frames(path, program), by_llvm(whole, frames(path, program))
        deep = [address for address, chain in theirs.items() if len(chain) >= 4]
        check(deep, f"{theirs}")
        for address in deep:
            check([line for _, line in ours[address]] == [line for _, line in theirs[address]], f"{ours[address]}")


@case
def debug_information_beside_a_program_that_has_its_symbols():
    for build_id in "sha1", "none":
        with directory() as where:
            program = built(where, "apart", f"-Wl,--build-id={build_id}")
            whole = split_off(where, program, "--strip-debug")
            check_as_llvm_has(whole, recorded(where, program, 0.1), program)


def dwz(where, *programs):
    """Puts into a file "common" beside them what they have in common."""
    result = run(need_program("dwz"), "-m", "common", *map(os.path.basename, programs), cwd=where)
    check(result.returncode == 0 and os.path.exists(os.path.join(where, "common")), result.stderr)


def check_as_llvm_has(whole, path, program):
    """As of the program before anything was taken out of it."""
    ours, theirs = frames(path, program), by_llvm(whole, frames(path, program))
    check(any(len(chain) >= 4 for chain in theirs.values()), f"{theirs}")
    for address, chain in theirs.items():
        wanted = [(plain(name), line) for name, line in chain]
        found = [(plain(name), line) for name, line in ours[address]]
        check(not chain[0][1] or found == wanted, f"{found}, not {wanted}")


@case
def what_dwz_has_put_into_a_common_file():
    with directory() as where:
        program, other = built(where, "program"), built(where, "other", "-DOTHER")
        whole = os.path.join(where, "whole")
        shutil.copy(program, whole)
        dwz(where, program, other)
        check_as_llvm_has(whole, recorded(where, program, 0.1), program)
        # Not by its name: by the build-id that it is known by.
        common = os.path.join(where, "common")
        with open(common, "rb") as file:
            content = file.read()
        build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", run(need_program("readelf"), "-n", common).stdout).group(1))
        check(content.count(build_id) == 1, "its build-id is somewhere else")
        with open(common, "wb") as file:
            file.write(content.replace(build_id, build_id[::-1]))
        names = {name for chain in frames(recorded(where, program, 0.1), program).values() for name, _ in chain}
        check("work(unsigned long)" in names and not any("mix" in name for name in names), f"{names}")


@case
def what_dwz_has_put_into_a_common_file_of_debug_files():
    with directory() as where:
        program, other = built(where, "program"), built(where, "other", "-DOTHER")
        wholes = [split_off(where, path, "--strip-all", False) for path in (program, other)]
        dwz(where, program + ".debug", other + ".debug")
        for path in program, other:
            objcopy(f"--add-gnu-debuglink={path}.debug", path)
        path = recorded(where, program, 0.1)
        ours, theirs = frames(path, program), by_llvm(wholes[0], frames(path, program))
        deep = [address for address, chain in theirs.items() if len(chain) >= 4]
        check(deep, f"{theirs}")
        for address in deep:
            check([(plain(name), line) for name, line in ours[address]][:3] == [(plain(name), line) for name, line in theirs[address]][:3],
                  f"{ours[address]}")


def annotated(path):
    text = ctop_ok("report", "--annotate", "work(unsigned long)", path).stdout
    return re.findall(r"^(?: *[\d.]+ \S* +[\d,]+ )? +([0-9a-f]+: .*|inlined: .*)$", text, re.M)


@case
def annotating_names_what_dwz_has_put_into_a_common_file():
    """Of instructions without samples, too: of these the disassembler alone knows."""
    need_library("capstone")
    with directory() as where:
        program, other = built(where, "program"), built(where, "other", "-DOTHER")
        path = recorded(where, program, 0.1)
        wanted = annotated(path)
        check(sum("# in mix<" in row for row in wanted) > 2 and any(row.startswith("inlined: ") for row in wanted), f"{wanted}")
        dwz(where, program, other)
        check(annotated(path) == wanted, f"{annotated(path)}, not {wanted}")
        os.unlink(os.path.join(where, "common"))
        check(annotated(path) != wanted, "without the common file")


@case
def the_debug_file_of_another_build_has_no_lines_of_this_one():
    for build_id in "sha1", "none":
        with directory() as where:
            program = built(where, "apart", f"-Wl,--build-id={build_id}")
            split_off(where, program, "--strip-debug")
            other = built(where, "other", f"-Wl,--build-id={build_id}", "-O1")
            objcopy("--only-keep-debug", other, program + ".debug")
            path = recorded(where, program, 0.1)
            check(any("work" in stack for stack in folded(path)), f"{folded(path)}")
            lines = [line for chain in frames(path, program).values() for _, line in chain]
            check(not any(lines), f"{lines}")


@case
def views_of_functions_have_them_marked():
    path = kept()[2]
    top = ctop_ok("report", "--stdio", path).stdout
    rows = {match.group(3): float(match.group(1))
            for match in re.finditer(r"^ *([\d.]+) +([\d.]+) +[\d,]+  (.*?) {2,}program$", top, re.MULTILINE)}
    mixed = [share for name, share in rows.items() if name.startswith("mix<") and name.endswith(" (inlined)")]
    check(mixed and mixed[0] > 50, f"{top}")
    check(rows["work(unsigned long)"] < 50, f"{rows}")
    tree = ctop_ok("report", "--stdio", "--tree", "--names", "full", path).stdout
    check(re.search(r"( +)work\(unsigned long\)\n.*all \(inlined\)\n.*space::sum::add\(unsigned long\) \(inlined\)\n"
                    r".*mix<.*\(inlined\)", tree), tree)


@case
def without_them_stacks_are_those_of_the_calls():
    path = kept()[2]
    # tests/cli/harness.py leaves them out.
    calls = folded(path)
    check(not any(frame.endswith("_[i]") for stack in calls for frame in stack), f"{calls}")
    merged = collections.Counter()
    for line in ctop_ok("export", "folded", "--samples", path).stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        merged[tuple(frame for frame in stack.split(";") if not frame.endswith("_[i]"))] += int(count)
    check(merged == calls, f"{merged - calls}, {calls - merged}")
    check("(inlined)" not in ctop_ok("report", "--stdio", "--no-inline", path).stdout, "inlined functions in a report without")


@case
def nobody_looks_for_them_where_they_are_not_wanted():
    with directory() as where:
        path = os.path.join(where, "none.ctop")
        ctop_ok("record", "-q", "--no-inline", "-e", "cpu-clock:u", "-o", path, "--", kept()[1], 0.1)
        check("(inlined)" not in ctop_ok("report", "--stdio", path).stdout, "it has them all the same")


@case
def a_recording_has_them_inside():
    with directory() as where:
        program = built(where, "moved")
        path = recorded(where, program, 0.1)
        before = ctop_ok("report", "--stdio", path).stdout
        check("(inlined)" in before, before)
        os.rename(program, program + ".elsewhere")
        check(ctop_ok("report", "--stdio", path).stdout == before, "another report without the file")


@case
def a_file_of_perf_has_them_from_the_program_and_from_no_other():
    with directory() as where:
        program = built(where, "mine")
        data = os.path.join(where, "perf.data")
        result = run(need_program("perf"), "record", "-q", "-N", "-e", "cpu-clock:u", "--call-graph", "dwarf,8192", "-o", data, "--", program, "0.1")
        check(result.returncode == 0, result.stderr)
        check_chains(data, program)
        # Other code in its place is no source of lines.
        os.rename(program, program + ".old")
        built(where, "mine", "-O1", "-DOTHER")
        check("mix<" not in ctop_ok("report", "--stdio", data).stdout, "lines of another file")


def damage(path, numbers, least=4):
    """Bytes of the debug sections become others; where these are, readelf says."""
    text = run(need_program("readelf"), "-SW", path).stdout
    sections = [(int(offset, 16), int(size, 16)) for offset, size in
                re.findall(r"\.debug_[\w.]+ +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text)]
    check(len(sections) > least, text)
    with open(path, "r+b") as file:
        for offset, size in sections:
            for _ in range(1 + size // 50):
                file.seek(offset + numbers.randrange(size))
                file.write(bytes([numbers.randrange(256)]))


@case
def damaged_debug_information_costs_no_names():
    numbers = random.Random(14)
    with directory() as where:
        for number in range(8):
            program = built(where, f"damaged{number}")
            damage(program, numbers)
            path = recorded(where, program, 0.05)
            stacks = folded(path)
            check(any("work" in stack for stack in stacks), f"{number}: {stacks}")


@case
def damaged_dwo_files_cost_no_names():
    numbers = random.Random(15)
    with directory() as where:
        program, dwo, _ = built_apart(where, "split", "-gdwarf-5")
        with open(dwo, "rb") as file:
            whole = file.read()
        for number in range(4):
            with open(dwo, "wb") as file:
                file.write(whole)
            damage(dwo, numbers, 3)
            stacks = folded(recorded(where, program, 0.05))
            check(any("work" in stack for stack in stacks), f"{number}: {stacks}")


@case
def who_falls_on_lines_leaves_names():
    with directory() as where:
        program = built(where, "fallen")
        path = os.path.join(where, "fallen.ctop")
        stats_path = os.path.join(where, "stats.json")
        result = run(FAULTY, "record", "-q", "-e", "cpu-clock:u", "-o", path, "--stats", stats_path, "--", program, "0.3",
                     env=falling("symbolizer:abort:lines"))
        check(result.returncode == 0, result.stderr)
        with open(stats_path, encoding="utf-8") as file:
            check(json.load(file)["restarts"] > 0, "nobody fell")
        check(any("work" in stack for stack in folded(path)), f"{folded(path)}")


if __name__ == "__main__":
    main()
