#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Modules: where the names of each come from, by programs that are made so; why they are missing, and what would help."""

import lzma
import os
import re

from harness import BUILD, case, check, ctop, ctop_ok, directory, main, need_program, need_root, run

WORK = r"""
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static void spin(volatile unsigned long *sum)
{
	for (int i = 0; i < 1000000; i++)
		*sum += (unsigned long)i;
}
int main(int argc, char **argv)
{
	volatile unsigned long sum = 0;
	struct timespec used = {0};
	while ((double)used.tv_sec + (double)used.tv_nsec * 1e-9 < atof(argv[argc - 1])) {
		spin(&sum);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	}
	return 0;
}
"""


def tool(name, *arguments):
    result = run(need_program(name), *arguments)
    check(result.returncode == 0, f"{name} {arguments}: {result.stderr}")


def built(where, name, *options):
    path, source = os.path.join(where, name), os.path.join(where, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(WORK)
    tool("gcc", "-O1", "-g", "-fno-omit-frame-pointer", *options, "-o", path, source)
    return path


def separated(where, name, *options):
    """Stripped, with a debug file beside it that its debug link names."""
    path = built(where, name, *options)
    tool("objcopy", "--only-keep-debug", path, path + ".debug")
    tool("strip", path)
    tool("objcopy", "--add-gnu-debuglink=" + path + ".debug", path)
    return path


def with_mini_debug(where, name):
    path = built(where, name)
    symbols = os.path.join(where, "symbols")
    tool("objcopy", "--only-keep-debug", "--strip-debug", path, symbols)
    with open(symbols, "rb") as file:
        packed = lzma.compress(file.read())
    with open(symbols + ".xz", "wb") as file:
        file.write(packed)
    tool("strip", path)
    tool("objcopy", "--add-section", ".gnu_debugdata=" + symbols + ".xz", path)
    return path


def modules_of(path):
    """{file: (names from, the lines that hang below)} of a recording."""
    text, found, name = ctop_ok("report", "--stdio", "--modules", "--min-percent=0", "--limit=0", path).stdout, {}, None
    for line in text[text.index(" SELF%"):].splitlines()[1:]:
        row = re.fullmatch(r" *[0-9.]+ +[0-9.]+  (.{14})  (?:[0-9a-f]* +)?(\S.*)", line)
        if row:
            name = os.path.basename(row.group(2))
            found[name] = row.group(1).strip(), []
        elif line.startswith(" ") and name:
            found[name][1].append(line.strip())
    return found


@case
def where_names_come_from():
    need_root()
    with directory() as where:
        programs = [
            built(where, "whole"),
            separated(where, "by-build-id"),
            separated(where, "by-link", "-Wl,--build-id=none"),
            with_mini_debug(where, "mini"),
        ]
        for name in "stripped", "damaged-link":
            programs.append(separated(where, name, "-Wl,--build-id=none"))
        os.remove(os.path.join(where, "stripped.debug"))
        with open(os.path.join(where, "damaged-link.debug"), "ab") as file:
            file.write(b"another CRC")
        path = os.path.join(where, "x.ctop")
        script = "; ".join(f"{program} 0.3" for program in programs)
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", "sh", "-c", script)
        found = modules_of(path)
        for name, source in (("whole", ".symtab"), ("by-build-id", "debug file"), ("by-link", "debug link"),
                             ("mini", ".gnu_debugdata")):
            check(found.get(name) == (source, []), f"{name}: {found}")
        # No package has them: no command would help.
        for name in "stripped", "damaged-link":
            check(found.get(name) == ("nothing", ["stripped, and no debug file is here"]), f"{name}: {found}")


def section_of(path, name):
    """Where in a file a section lies: (offset, size)."""
    listed = run("readelf", "-SW", path).stdout
    offset, size = re.search(rf" {re.escape(name)} +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", listed).groups()
    return int(offset, 16), int(size, 16)


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


@case
def what_is_damaged_is_said():
    """And neither called stripped, nor whole."""
    need_root()
    with directory() as where:
        cut, headers, cut_debug, cut_lines, no_units = (built(where, "cut"), built(where, "headers"), separated(where, "cut-debug"),
                                                        built(where, "cut-lines"), built(where, "no-units"))
        os.truncate(cut, os.path.getsize(cut) * 2 // 3)
        overwrite(headers, 0x28, (1 << 60).to_bytes(8, "little"))  # e_shoff
        os.truncate(cut_debug + ".debug", os.path.getsize(cut_debug + ".debug") * 6 // 10)
        tool("objcopy", "--only-keep-debug", cut_lines, cut_lines + ".debug")
        tool("strip", "-g", cut_lines)
        tool("objcopy", "--add-gnu-debuglink=" + cut_lines + ".debug", cut_lines)
        os.truncate(cut_lines + ".debug", os.path.getsize(cut_lines + ".debug") * 6 // 10)
        offset, size = section_of(no_units, ".debug_info")
        overwrite(no_units, offset, b"\xa5" * size)
        no_lines, no_ranges = built(where, "no-lines"), built(where, "no-ranges", "-O2", "-fno-inline")
        for program, section in (no_lines, ".debug_line"), (no_ranges, ".debug_rnglists"):
            offset, size = section_of(program, section)
            overwrite(program, offset, b"\xff" * size)
        path = os.path.join(where, "x.ctop")
        script = "; ".join(f"{program} 0.3" for program in (cut, headers, cut_debug, cut_lines, no_units, no_lines, no_ranges))
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", "sh", "-c", script)
        found = modules_of(path)
        damaged = ["its debug information is damaged, or of an unknown kind"]
        file, debug_file = ["the file is damaged, or no ELF file"], ["its debug file is damaged"]
        for name, (source, texts) in {"cut": ("nothing", file), "headers": ("nothing", file), "cut-debug": ("nothing", debug_file),
                                      "cut-lines": (".symtab", debug_file),
                                      **dict.fromkeys(("no-units", "no-lines", "no-ranges"), (".symtab", damaged))}.items():
            check(found.get(name) == (source, texts), f"{name}: {found}")
        listing = ctop("report", "--annotate", "spin", "--module", "no-lines", path).stdout
        check("source     " + damaged[0] in listing, listing)


@case
def generated_code_and_a_recording_elsewhere():
    """The jitdump's names are told as such; all of it is in the recording, whatever becomes of the files."""
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--",
                os.path.join(BUILD, "workloads", "jitdump"), where, 5, 200)
        found = modules_of(path)
        generated = {source for name, (source, _) in found.items() if name.startswith("[anon]") or name.startswith("jit-")}
        check("jitdump" in generated, f"{found}")
        for name in os.listdir(where):
            if name.endswith(".dump"):
                os.remove(os.path.join(where, name))
        check(modules_of(path) == found, "changed with the files")


if __name__ == "__main__":
    main()
