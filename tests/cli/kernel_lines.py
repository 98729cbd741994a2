#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of the kernel, from a vmlinux that proves to be its own: one that the test makes, of one function."""

import collections
import contextlib
import os
import re
import shutil
import struct
import sys

from harness import (CTOP, PATIENCE, Skip, case, check, child, ctop, ctop_ok, directory, main, need_program, need_root, run, wait_for_cpu_time)

# Reads of zeros: most of the time goes into a few functions of the kernel.
READS = "import os\nf = os.open('/dev/zero', os.O_RDONLY)\nb = bytearray(1 << 20)\nwhile True: os.readv(f, [b])\n"


def own_build_id():
    with contextlib.suppress(OSError), open("/sys/kernel/notes", "rb") as file:
        notes = file.read()
        at = 0
        while at + 12 <= len(notes):
            name_size, size, kind = struct.unpack_from("<III", notes, at)
            name = notes[at + 12:at + 12 + name_size]
            start = at + 12 + (name_size + 3 & ~3)
            if kind == 3 and name == b"GNU\0":
                return notes[start:start + size].hex()
            at = start + (size + 3 & ~3)
    raise Skip("the kernel tells no build-id")


def kernel_symbols():
    with open("/proc/kallsyms", encoding="utf-8") as file:
        symbols = [line.split() for line in file]
    found = {words[2]: int(words[0], 16) for words in symbols if len(words) == 3}
    if not found.get("_text") or not found.get("_etext"):
        raise Skip("the kernel does not say where it is")
    return found


def record(where, *options):
    """Some of it, in a recording."""
    path = os.path.join(where, "x.ctop")
    with child(sys.executable, "-c", READS) as program:
        with child(CTOP, "record", "-q", "-e", "cpu-clock", "-o", path, *options, "-p", program.pid) as recorder:
            wait_for_cpu_time(program.pid, 1)
            recorder.terminate()
            check(recorder.wait(PATIENCE) == 0, "ctop record")
    return path


def hottest_in_the_kernel(path):
    """The function of the kernel itself that most samples are in."""
    leaves = collections.Counter(re.findall(r"cpu-clock:? *\n\s+[0-9a-f]+ (\w+)\+0x[0-9a-f]+ \(\[kernel\.kallsyms\]\)",
                                            ctop_ok("export", "script", "--no-inline", path).stdout))
    symbols = kernel_symbols()
    for name, _ in leaves.most_common():
        if symbols["_text"] <= symbols.get(name, 0) < symbols["_etext"]:
            return name
    raise Skip(f"no function of the kernel was sampled: {leaves}")


LINKED_AT = 0xffffffff80200000  # elsewhere than any kernel runs: the difference is to be found

SOURCE = """
__attribute__((section(".text.fn"))) void {name}(void)
{{
#line 4242 "/made/by/test.c"
	__asm__ volatile(".rept 4096; nop; .endr");
}}
"""


def make_vmlinux(where, name, build_id):
    symbols = kernel_symbols()
    with open(os.path.join(where, "fn.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE.format(name=name))
    with open(os.path.join(where, "script"), "w", encoding="utf-8") as file:
        file.write(f"SECTIONS {{ . = {LINKED_AT:#x}; _text = .; .notes : {{ *(.note.gnu.build-id) }}\n"
                   f". = {LINKED_AT + symbols[name] - symbols['_text']:#x}; .text : {{ *(.text.fn) }} }}\n")
    path = os.path.join(where, "vmlinux")
    for command in (["gcc", "-g", "-O1", "-mcmodel=kernel", "-fno-pic", "-fcf-protection=none", "-c", "-o", where + "/fn.o", where + "/fn.c"],
                    ["ld", "-T", where + "/script", f"--build-id=0x{build_id}", "-o", path, where + "/fn.o"]):
        need_program(command[0])
        result = run(*command)
        check(result.returncode == 0, result.stderr)
    return path


@case
def lines_come_from_a_vmlinux_with_the_kernels_build_id():
    need_root()
    build_id = own_build_id()
    with directory() as where:
        path = record(where)
        name = hottest_in_the_kernel(path)
        check("test.c:4242" not in ctop_ok("report", "--stdio", "--group", "line", path).stdout, "before there is one")
        vmlinux = make_vmlinux(where, name, build_id)
        path = record(where, "--vmlinux", vmlinux)
        lines = ctop_ok("report", "--stdio", "--group", "line", "--names", "full", path).stdout
        check(re.search(rf"test\.c:4242 .*{re.escape(name)}", lines), f"{name}: {lines}")
        check("vmlinux" not in ctop_ok("report", "--stdio", path).stdout, "what fits is no problem")


@case
def another_kernels_is_refused():
    need_root()
    build_id = own_build_id()
    with directory() as where:
        path = record(where)
        name = hottest_in_the_kernel(path)
        other = make_vmlinux(where, name, ("0" if build_id[0] != "0" else "1") + build_id[1:])
        path = record(where, "--vmlinux", other)
        report = ctop_ok("report", "--stdio", path).stdout
        check("does not match: build-id mismatch" in report, report)
        check("test.c" not in ctop_ok("report", "--stdio", "--group", "line", path).stdout, "another's lines")
        path = record(where, "--vmlinux", os.path.join(where, "absent"))
        check("could not be opened" in ctop_ok("report", "--stdio", path).stdout, "nothing is said of a file that is not there")
        check(name in ctop_ok("export", "folded", "--no-inline", path).stdout, "names do not need it")


@case
def hostile_files_are_none():
    """With the right build-id, and nothing else right: no table of symbols, no lines, rubbish, cut in the middle."""
    need_root()
    build_id = own_build_id()
    with directory() as where:
        path = record(where)
        name = hottest_in_the_kernel(path)
        vmlinux, copy, rubbish = make_vmlinux(where, name, build_id), os.path.join(where, "changed"), os.path.join(where, "rubbish")
        with open(rubbish, "wb") as file:
            file.write(bytes(range(255, -1, -1)) * 16)
        for options in (["--strip-all"], ["--remove-section", ".debug_line"], ["--update-section", f".debug_info={rubbish}"],
                        ["--update-section", f".debug_line={rubbish}"]):
            result = run("objcopy", *options, vmlinux, copy)
            check(result.returncode == 0, result.stderr)
            path = record(where, "--vmlinux", copy)
            check("test.c:4242" not in ctop_ok("report", "--stdio", "--group", "line", path).stdout, f"{options}")
            check(name in ctop_ok("export", "folded", "--no-inline", path).stdout, f"{options}: the kernel's names are gone")
        shutil.copy(vmlinux, copy)
        os.truncate(copy, os.path.getsize(copy) // 2)
        path = record(where, "--vmlinux", copy)
        check(name in ctop_ok("export", "folded", "--no-inline", path).stdout, "cut: the kernel's names are gone")
        result = ctop("record", "--vmlinux", "", "--", "true")
        check(result.returncode == 2 and "--vmlinux" in result.stderr, f"{result}")


main()
