#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which functions were inlined at each instruction where -gsplit-dwarf has put that into files of its own: as others have it of the same program
in one piece."""

import os
import random
import shutil

from harness import case, check, ctop_ok, directory, main, need_program, run
from inlined_program import by_llvm
from listings import NESTED, annotated, by_addr2line, chains_of, check_chains, recorded, rows_of

NOT_HERE = "functions are in a .dwo file that is not here: at most"


def built(where, compiler, version):
    """A program of -gsplit-dwarf's, its .dwo file, and the same program in one piece."""
    source = os.path.join(where, "work.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(NESTED)
    program, whole = os.path.join(where, "apart"), os.path.join(where, "whole")
    for path, options in (program, ("-gsplit-dwarf",)), (whole, ()):
        for words in ("-O2", "-g", f"-gdwarf-{version}", *options, "-c", source, "-o", path + ".o"), (path + ".o", "-o", path):
            result = run(need_program(compiler), *words, cwd=where)
            check(result.returncode == 0, result.stderr)
    dwo = program + ".dwo"
    check(os.path.exists(dwo), os.listdir(where))
    check(run(need_program("nm"), program).stdout == run(need_program("nm"), whole).stdout, "they differ in more than debug information")
    return program, dwo, whole


def packed(dwp, program, dwo):
    """The .dwo file goes into a package beside the program."""
    result = run(need_program(dwp), "-e", program, "-o", program + ".dwp", cwd=os.path.dirname(program))
    check(result.returncode == 0, result.stderr)
    os.unlink(dwo)


def by_llvm_symbolizer(program, addresses):
    """As by_addr2line()."""
    return {address: [(name, f"work.c:{line}") for (name, _), (_, line) in reversed(list(zip(chain[:-1], chain[1:])))]
            for address, chain in by_llvm(program, addresses).items()}


def check_all(path, whole, compiler="gcc"):
    """Of three functions in each other; of ten, in each other, too, the longest chains are shown shortened: see annotate.py."""
    listing = annotated(path, "nest")
    chains = chains_of(listing)
    check(len(chains) == len(rows_of(listing)) and NOT_HERE not in listing, listing)
    check(max(map(len, chains.values())) == 3 and [] in chains.values(), f"{chains}")
    # Binutils' of version 2.40 do not read the lists of ranges that clang writes.
    check_chains(chains, whole, by_addr2line if compiler == "gcc" else by_llvm_symbolizer)
    check(7 in map(len, chains_of(annotated(path, "deep")).values()), "ten in each other")


@case
def what_is_in_dwo_files():
    for compiler in "gcc", "clang":
        for version in 4, 5:
            with directory() as where:
                program, _, whole = built(where, compiler, version)
                check_all(recorded(where, program), whole, compiler)


@case
def what_is_in_packages():
    for compiler, version, dwp in ("gcc", 4, "dwp"), ("gcc", 4, "llvm-dwp"), ("clang", 4, "llvm-dwp"), ("clang", 5, "llvm-dwp"):
        with directory() as where:
            program, dwo, whole = built(where, compiler, version)
            packed(dwp, program, dwo)
            check_all(recorded(where, program), whole, compiler)


@case
def what_a_debug_file_says_is_in_a_dwo_file():
    with directory() as where:
        program, _, whole = built(where, "gcc", 5)
        for words in ("--only-keep-debug", program, program + ".debug"), ("--strip-debug", f"--add-gnu-debuglink={program}.debug", program):
            result = run(need_program("objcopy"), *words)
            check(result.returncode == 0, result.stderr)
        check_all(recorded(where, program), whole)


@case
def what_was_moved_beside_the_program():
    with directory() as where, directory() as elsewhere:
        program, dwo, whole = built(where, "gcc", 5)
        moved = shutil.copy(program, elsewhere)
        os.rename(dwo, os.path.join(elsewhere, os.path.basename(dwo)))
        check_all(recorded(elsewhere, moved), whole)


def leb(data, at):
    """Where a number of LEB128 ends, and what it is."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return at, value


def put_units_kind_first(dwo):
    """In the table of kinds of entries, whose order says nothing. LLVM's packagers up to 22 do not know gcc's constants in it (DW_FORM_implicit_const,
    llvm/llvm-project issue 203625), and search for ever if some stand before the unit's own kind."""
    unit, constant, table = 0x11, 0x21, dwo + ".abbrev"
    result = run(need_program("objcopy"), "-O", "binary", "--only-section=.debug_abbrev.dwo", "--set-section-flags", ".debug_abbrev.dwo=alloc", dwo, table)
    check(result.returncode == 0, result.stderr)
    with open(table, "rb") as file:
        data = file.read()
    kinds, at = [], 0
    while data[at]:
        start = at
        at, tag = leb(data, leb(data, at)[0])
        at += 1
        form = name = None
        while (name, form) != (0, 0):
            at, name = leb(data, at)
            at, form = leb(data, at)
            at = leb(data, at)[0] if form == constant else at
        kinds.append((tag != unit, data[start:at]))
    with open(table, "wb") as file:
        file.write(b"".join(kind for _, kind in sorted(kinds, key=lambda kind: kind[0])) + data[at:])
    result = run("objcopy", f"--update-section=.debug_abbrev.dwo={table}", dwo)
    check(result.returncode == 0, result.stderr)


@case
def what_is_in_a_package_of_gccs_dwarf_5():
    with directory() as where:
        program, dwo, whole = built(where, "gcc", 5)
        put_units_kind_first(dwo)
        packed("llvm-dwp", program, dwo)
        check_all(recorded(where, program), whole)


@case
def a_package_without_the_unit_is_as_none():
    """As dwp of binutils 2.40 makes one of gcc's DWARF 5: it leaves the unit out."""
    with directory() as where:
        program, dwo, _ = built(where, "gcc", 5)
        with directory() as other:
            other_program, other_dwo, _ = built(other, "gcc", 4)
            packed("llvm-dwp", other_program, other_dwo)
            shutil.copy(other_program + ".dwp", program + ".dwp")
        path = recorded(where, program)
        check(NOT_HERE not in annotated(path, "nest"), "its .dwo file is here")
        os.unlink(dwo)
        path = recorded(where, program)
        check_without(path)
        said = "".join(ctop_ok("report", "--modules", path).stdout.split())
        check(f"no package {program}.dwp has them".replace(" ", "") in said, said)


def check_without(path):
    """All but these functions is there, and it is said."""
    listing = annotated(path, "nest")
    check(len(chains_of(listing)) == len(rows_of(listing)) > 10 and "work.c:" in listing, listing)
    check(NOT_HERE in listing and "(inlined)" not in listing, listing)
    check(NOT_HERE not in annotated(path, "nest", "--no-inline"), "--no-inline")


@case
def what_is_not_here_is_said():
    with directory() as where:
        program, dwo, whole = built(where, "gcc", 5)
        path = recorded(where, program)
        check_all(path, whole)
        kept = dwo + ".kept"
        os.rename(dwo, kept)
        check(NOT_HERE in annotated(path, "nest"), "it is of a recording, too, that was made with it")
        path = recorded(where, program)
        check_without(path)
        os.mkfifo(dwo)
        check_without(path)
        os.unlink(dwo)
        if os.geteuid() == 0:
            shutil.copy(kept, dwo)
            os.chown(dwo, 65534, 65534)
            check_without(path)
            os.unlink(dwo)
        # One of another unit, and what is none.
        with directory() as other:
            shutil.copy(built(other, "gcc", 4)[1], dwo)
        check_without(path)
        os.truncate(dwo, 0)
        check_without(path)


@case
def damaged_files_cost_nothing_else():
    numbers = random.Random(7)
    with directory() as where:
        program, dwo, _ = built(where, "gcc", 5)
        path = recorded(where, program)
        wanted = [row.text.split("  #")[0] for row in rows_of(annotated(path, "nest"))]
        with open(dwo, "rb") as file:
            whole = file.read()
        for _ in range(12):
            with open(dwo, "wb") as file:
                bad = bytearray(whole)
                for _ in range(numbers.choice((1, 4, 40))):
                    bad[numbers.randrange(len(bad))] = numbers.randrange(256)
                file.write(bad if numbers.random() < 0.8 else bad[:numbers.randrange(len(bad))])
            got = [row.text.split("  #")[0] for row in rows_of(annotated(path, "nest"))]
            check(got == wanted, f"{got}, not {wanted}")


main()
