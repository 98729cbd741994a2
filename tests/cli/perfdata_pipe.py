#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What perf writes into a pipe, as pipes bring it: in pieces of any size, records in any order, on a machine that hides its kernel."""

import fcntl
import os
import random
import struct
import subprocess
import termios

from harness import (case, check, child, CTOP, ctop_ok, directory, main, need_program, need_root, PATIENCE, run, Skip,
                     wait_until)
from recorded_by_perf import home_of_its_own, reads

MARK_BYTES = 16
MMAP2, TRACING_DATA, BUILD_ID, FEATURE = 10, 66, 67, 80
INODE_AT = 8 + 8 + 24 + 8


def piped(where, *options):
    """What perf record -o - wrote."""
    with open(os.path.join(where, "piped.data"), "w+b") as file:
        result = subprocess.run([need_program("perf"), "record", "-e", "cpu-clock", "-F", "1000", "-g", *options, "-o", "-",
                                 "--", reads(where)], stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL,
                                check=False, timeout=PATIENCE)
        file.seek(0)
        content = file.read()
    if result.returncode or not content:
        raise Skip("perf record writes into no pipe here")
    return content


def records_of(content):
    """(type, bytes) of each."""
    at = MARK_BYTES
    while at < len(content):
        kind, _, size = struct.unpack_from("<IHH", content, at)
        if kind == TRACING_DATA:
            size += (struct.unpack_from("<I", content, at + 8)[0] + 7) & ~7
        yield kind, content[at:at + size]
        at += size


def report(content):
    result = subprocess.run([CTOP, "export", "folded", "-"], input=content, capture_output=True, check=False, timeout=PATIENCE)
    check(result.returncode == 0, result.stderr)
    return result.stdout.decode(), result.stderr.decode()


def report_of_pieces(content, sizes):
    """Each piece is written when the reader has taken the one before."""
    with child(CTOP, "export", "folded", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        at = 0
        for size in sizes:
            os.write(reader.stdin.fileno(), content[at:at + size])
            wait_until(lambda: not struct.unpack("i", fcntl.ioctl(reader.stdin, termios.FIONREAD, b"1234"))[0], "read")
            at += size
        out, errors = reader.communicate(content[at:], timeout=PATIENCE)
    check(reader.returncode == 0, errors)
    return out.decode(), errors.decode()


@case
def in_pieces_of_any_size():
    need_root()
    with directory() as where:
        content = piped(where)
        whole = report(content)
        check("[kernel]" not in whole[1] and "do_syscall" in whole[0], f"the kernel has no names: {whole[1]}")
        dice = random.Random(11)
        for sizes in ([1] * 40, [7, 1, 8, 9, 3], [8], [15], [16], [17], [dice.randrange(1, 300) for _ in range(100)],
                      [dice.randrange(1, 60000) for _ in range(20)]):
            check(report_of_pieces(content, sizes) == whole, f"another outcome: {sizes}")


@case
def build_ids_between_the_records_of_the_kernel():
    """As perf inject -b writes them: each before the first sample of its file. By inode these files are not to be found."""
    need_root()
    with directory() as where:
        injected = subprocess.run([need_program("perf"), "inject", "-b", "-i", "-", "-o", "-"], input=piped(where),
                                  capture_output=True, check=False, timeout=PATIENCE).stdout
        parts = [[kind, bytearray(part)] for kind, part in records_of(injected)]
        kinds = [kind for kind, _ in parts]
        if BUILD_ID not in kinds or kinds.index(BUILD_ID) < kinds.index(MMAP2):
            raise Skip("perf inject adds no build-ids")
        for kind, part in parts:
            if kind == MMAP2:
                struct.pack_into("<Q", part, INODE_AT, 1)
        content = injected[:MARK_BYTES] + b"".join(part for _, part in parts)
        stacks, _ = report(content)
        check("main" in stacks and "read" in stacks, f"without names: {stacks[:500]}")
        # Where they stand is all the same, and so it is for what else perf says for itself.
        for moved in [BUILD_ID], [BUILD_ID, FEATURE]:
            behind = [part for kind, part in parts if kind not in moved] + [part for kind, part in parts if kind in moved]
            check(report(injected[:MARK_BYTES] + b"".join(behind))[0] == stacks, f"another outcome with {moved} behind")


@case
def a_kernel_that_hides_its_symbols_is_not_called_another():
    """kernel.kptr_restrict may change any moment: whether it is the kernel that was recorded is then not to be told."""
    need_root()
    unshare = need_program("unshare")
    with directory() as where:
        path, symbols = os.path.join(where, "perf.data"), os.path.join(where, "kallsyms")
        with open(path, "wb") as file:
            file.write(piped(where))
        check("[kernel]" not in ctop_ok("export", "folded", path).stderr, "no names where nothing is hidden")
        with open("/proc/kallsyms", encoding="ascii") as theirs, open(symbols, "w", encoding="ascii") as file:
            for line in theirs:
                file.write(f"{0:016x} {line.split(None, 1)[1]}")
        result = run(unshare, "-m", "sh", "-c", 'mount --bind "$1" /proc/kallsyms && exec "$2" report --stdio "$3"', "sh",
                     symbols, CTOP, path)
        check(result.returncode == 0 and "kptr_restrict hides the kernel's addresses ([" in result.stderr and
              "not proved" not in result.stderr, f"{result.stderr}")


with home_of_its_own():
    main()
