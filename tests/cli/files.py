#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Program files that lie, are cut, replaced or gone while their code runs."""

import contextlib
import os
import random
import shutil
import signal
import struct

from harness import (BUILD, CTOP, NOBODY, Skip, case, check, copy_for_all, ctop_ok, directory, ended_well, folded, main,
                     need_program, need_root, record, recording_of, run, share_complete, started, wait_until,
                     with_function)

WORKLOADS = os.path.join(BUILD, "workloads")
CROWD = os.path.join(WORKLOADS, "crowd")
SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workloads")

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
PHDR = struct.Struct("<IIQQQQQQ")
SHDR = struct.Struct("<IIQQQQIIQQ")
PT_LOAD, SHT_SYMTAB, SHT_STRTAB = 1, 2, 3


class Elf:
    """The bytes of an ELF file, and where its headers are; to be spoiled."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        header = EHDR.unpack_from(self.bytes)
        self.shoff, self.shnum = header[6], header[12]
        loads = [PHDR.unpack_from(self.bytes, header[5] + i * PHDR.size)
                 for i in range(header[10])]
        self.loaded_bytes = max(load[2] + load[5] for load in loads if load[0] == PT_LOAD)
        self.sections = [list(SHDR.unpack_from(self.bytes, self.shoff + i * SHDR.size))
                         for i in range(self.shnum)]

    def set_header(self, offset, form, value):
        struct.pack_into(form, self.bytes, offset, value)

    def write_sections(self):
        for i, section in enumerate(self.sections):
            SHDR.pack_into(self.bytes, self.shoff + i * SHDR.size, *section)

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes)
        os.chmod(path, 0o755)


def without_sections(elf):
    elf.set_header(0x28, "<Q", 0)
    elf.set_header(0x3c, "<HH"[:2], 0)
    elf.set_header(0x3e, "<H", 0)


def sections_beyond(elf):
    elf.set_header(0x28, "<Q", 1 << 60)


def too_many(elf):
    elf.set_header(0x3c, "<H", 0xfeff)
    elf.set_header(0x3e, "<H", 0xfefe)


def odd_entries(elf):
    elf.set_header(0x3a, "<H", 7)


def rubbish(elf):
    size = elf.shnum * SHDR.size
    elf.bytes[elf.shoff:elf.shoff + size] = random.Random(1).randbytes(size)


def absurd_sizes(elf):
    for section in elf.sections[1:]:
        section[5] = 1 << 62  # size
        section[6] = 0xffffffff  # link
        section[9] = 1  # size of entries
    elf.write_sections()


def far_offsets(elf):
    for section in elf.sections[1:]:
        section[4] = (1 << 64) - 8
    elf.write_sections()


def bad_symbols(elf):
    for section in elf.sections:
        if section[1] in (SHT_SYMTAB, SHT_STRTAB) and section[4] >= elf.loaded_bytes:
            at, size = section[4], section[5]
            elf.bytes[at:at + size] = random.Random(2).randbytes(size).replace(b"\0", b"\xff")


def packed_lies(elf):
    """Sections that say they are compressed, to 2^60 bytes."""
    for section in elf.sections[1:]:
        if section[4] >= elf.loaded_bytes and section[5] > 24:
            section[2] |= 0x800  # SHF_COMPRESSED
            struct.pack_into("<IIQQ", elf.bytes, section[4], 1, 0, 1 << 60, 8)
    elf.write_sections()


def cut(elf):
    del elf.bytes[elf.loaded_bytes:]


def cut_in_sections(elf):
    del elf.bytes[elf.shoff + SHDR.size * 3 // 2:]


SPOILERS = (without_sections, sections_beyond, too_many, odd_entries, rubbish, absurd_sizes,
            far_offsets, bad_symbols, packed_lies, cut, cut_in_sections)


def record_all(where, programs, seconds):
    pids = ",".join(str(program.pid) for program in programs)
    return record(where, "-e", "cpu-clock", "-p", pids, seconds=seconds)


def own_frames(stacks, comm):
    """Names of the program's own frames below its leaf, by comm: what main calls, unnamed or not."""
    names = set()
    for stack in stacks:
        if stack[0] == comm:
            names |= set(stack[1:])
    return names


@case
def headers_that_lie():
    need_root()
    with directory() as where, contextlib.ExitStack() as stack:
        programs = []
        for spoil in SPOILERS:
            elf = Elf(CROWD)
            spoil(elf)
            path = os.path.join(where, spoil.__name__)
            elf.save(path)
            programs.append(stack.enter_context(started(path, "comm", spoil.__name__)))
        recording = record_all(where, programs, 2)
        ctop_ok("report", "--stdio", recording.path)
    check(recording.stats["restarts"] == 0, f"{recording.stats}")
    comms = {spoil.__name__[:15] for spoil in SPOILERS}
    check({line[0] for line in recording.stacks} == comms, f"{recording.stacks}")
    # The kernel mapped what the program headers say, and so do the unwind tables: stacks are whole.
    check(share_complete(recording.stats) > 0.95, f"{recording.stats['stacks']}")
    for comm in comms:
        frames = own_frames(recording.stacks, comm)
        check("__libc_start_main" in frames, f"{comm}: {frames}")
        named = {name for name in frames if name.startswith("crowd_")}
        check(named <= {"crowd_named"}, f"{comm}: {named}")


# ---- how programs are built ----


def build(where, name, *flags, source="crowd.c"):
    path = os.path.join(where, name)
    result = run("cc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", path,
                 os.path.join(SOURCES, source), *flags, "-ldl")
    if result.returncode:
        raise Skip(f"cannot build with {flags}: {result.stderr.splitlines()[0]}")
    return path


def strip(path):
    check(run("strip", path).returncode == 0, "strip")
    return path


@case
def builds_of_every_kind():
    need_root()
    need_program("cc")
    with directory() as where, contextlib.ExitStack() as stack:
        no_header = ("-fPIE", "-pie", "-Wl,--no-eh-frame-hdr")
        paths = {
            "static": build(where, "static", "-static"),
            "stripped": strip(build(where, "stripped")),
            "stripped_static": strip(build(where, "stripped_static", "-static")),
            "fixed": build(where, "fixed", "-no-pie"),
            "no_header": build(where, "no_header", *no_header),
            "no_header_strip": strip(build(where, "no_header_strip", *no_header)),
        }
        programs = [stack.enter_context(started(path, "comm", name))
                    for name, path in paths.items()]
        recording = record_all(where, programs, 1.5)
    check(share_complete(recording.stats) > 0.97, f"{recording.stats['stacks']}")
    for name in paths:
        frames = own_frames(recording.stacks, name[:15])
        check(frames, f"{name} was not seen")
        # Without symbols a function has no name, and gets none from a neighbour.
        stripped = "strip" in name
        check(("crowd_named" in frames) != stripped, f"{name}: {frames}")
        check(stripped or "main" in frames, f"{name}: {frames}")


@case
def a_program_without_unwind_tables():
    need_root()
    need_program("cc")
    with directory() as where:
        path = build(where, "bare", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                     "-fomit-frame-pointer", "-s")
        with started(path, "comm", "bare") as program:
            recording = record_all(where, [program], 0.5)
    stats = recording.stats
    check(stats["samples"] > 50, f"{stats}")
    check(sum(stats["stacks"].values()) == stats["samples"], f"{stats}")
    check(not own_frames(recording.stacks, "bare") & {"crowd_named", "main"}, f"{recording.stacks}")


@case
def a_big_program():
    need_root()
    need_program("cc")
    with directory() as where:
        symbols = os.path.join(where, "many.s")
        with open(symbols, "w", encoding="utf-8") as file:
            file.write(".text\n" + "".join(
                f".type f{i},@function\nf{i}: nop\n.size f{i},1\n" for i in range(50000)) +
                '.section .note.GNU-stack,"",@progbits\n')
        path = build(where, "big", symbols)
        pad = os.path.join(where, "pad")
        with open(pad, "wb") as file:
            file.truncate(200 << 20)
        check(run("objcopy", "--add-section", f".pad={pad}", path).returncode == 0, "objcopy")
        os.unlink(pad)
        with started(path, "comm", "big") as program:
            recording = record_all(where, [program], 1)
    check(recording.stats["restarts"] == 0, f"{recording.stats}")
    check(with_function(recording.stacks, "crowd_named") > 50, f"{recording.stacks}")
    check(recording.stats["peak_rss_bytes"] < 200 << 20, f"{recording.stats}")


@case
def code_in_a_file_that_is_no_program():
    need_root()
    with directory() as where:
        with started(os.path.join(WORKLOADS, "jit"), os.path.join(where, "rubbish.so")) as program:
            recording = record_all(where, [program], 0.5)
            report = ctop_ok("report", "--stdio", recording.path).stdout
    check(recording.stats["samples"] > 50 and recording.stats["restarts"] == 0,
          f"{recording.stats}")
    check("rubbish.so" in report, report)


# ---- that are no longer what they were ----


@case
def replaced_deleted_and_gone():
    """The code that runs is of a file that has no name any more; the kernel's own links lead to it."""
    need_root()
    with directory() as where, contextlib.ExitStack() as stack:
        programs = []
        for name in "replaced", "deleted", "fifo", "device", "directory":
            path = os.path.join(where, name)
            shutil.copy(CROWD, path)
            programs.append(stack.enter_context(started(path, "comm", name)))
            if name == "replaced":
                shutil.copy(os.path.join(WORKLOADS, "recursion"), path + ".new")
                os.rename(path + ".new", path)
                continue
            os.unlink(path)
            if name == "fifo":
                os.mkfifo(path)
            elif name == "device":
                os.mknod(path, 0o20666, os.makedev(1, 5))  # /dev/zero
            elif name == "directory":
                os.mkdir(path)
        inner = os.path.join(where, "in")
        os.mkdir(inner)
        script = (f"mount -t tmpfs none {inner} && cp {CROWD} {inner}/gone && "
                  f"{inner}/gone comm unmounted & sleep 0.2; umount -l {inner}; wait")
        programs.append(stack.enter_context(started(need_program("unshare"), "-m", "sh", "-c",
                                                    script)))
        recording = record_all(where, programs[:-1] + children_of(programs[-1]), 1.5)
    check(share_complete(recording.stats) > 0.97, f"{recording.stats['stacks']}")
    for name in "replaced", "deleted", "fifo", "device", "directory", "unmounted":
        frames = own_frames(recording.stacks, name)
        check({"crowd_named", "main"} <= frames, f"{name}: {frames}")
        check("bottom" not in frames, f"{name}: {frames}")


@case
def a_target_unmounts_what_it_ran_from():
    """Files that ctop holds are on mounts of its own."""
    need_root()
    if run("unshare", "-m", "true").returncode:
        raise Skip("no mount namespaces here")
    with directory() as where:
        mounted, path = os.path.join(where, "mounted"), os.path.join(where, "x.ctop")
        os.mkdir(mounted)
        script = 'mount -t tmpfs none "$1" && cp "$0" "$1/spin" && timeout 0.5 "$1/spin"; umount "$1" && echo unmounted'
        result = run("unshare", "-m", CTOP, "record", "-q", "-e", "cpu-clock:u", "-o", path,
                     "--", "sh", "-c", script, os.path.join(WORKLOADS, "spin"), mounted)
        check(result.stdout.endswith("unmounted\n"), f"{result}")
        stacks = folded(path)
        check(with_function(stacks, "spin_loop") > sum(stacks.values()) / 2, f"{stacks}")


def children_of(program):
    """The processes below a shell, as programs."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read() == "unmounted\n" and os.getpgid(pid) == program.pid:
                    found.append(Process(pid))
    check(len(found) == 1, f"{found}")
    return found


class Process:
    def __init__(self, pid):
        self.pid = pid


@case
def a_library_replaced_where_one_may_not_look():
    """A plain user has only the path: what is there now must not explain the code of before."""
    need_root()
    setpriv = need_program("setpriv")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
        if int(file.read()) > 2:
            raise Skip("plain users may not sample here")
    as_nobody = [setpriv, f"--reuid={NOBODY}", "--clear-groups"]
    one, two = (os.path.join(WORKLOADS, f"plugin_{name}.so") for name in ("one", "two"))
    for replacement in "other", "fifo", "nothing", "rubbish", "same":
        with directory() as where:
            copy_for_all(where, CTOP, CROWD, one, two)
            path = os.path.join(where, "plugin_one.so")
            with started(*as_nobody, os.path.join(where, "crowd"), "plugin", path) as program:
                if replacement != "same":
                    os.unlink(path)
                if replacement == "other":
                    os.rename(os.path.join(where, "plugin_two.so"), path)
                elif replacement == "fifo":
                    os.mkfifo(path)
                elif replacement == "rubbish":
                    with open(path, "wb") as file:
                        file.write(random.Random(3).randbytes(100000))
                result = run(*as_nobody, "./ctop", "record", "-o", "x.ctop", "--duration", "0.3",
                             "-p", program.pid, cwd=where)
            check(result.returncode == 0, f"{replacement}: {result}")
            stacks = folded(os.path.join(where, "x.ctop"))
            frames = own_frames(stacks, "crowd")
            check(sum(stacks.values()) > 5, f"{replacement}: {stacks}")
            check(not {"hot_two", "enter_two"} & frames, f"{replacement}: {frames}")
            check(("hot_one" in frames) == (replacement == "same"), f"{replacement}: {frames}")


@case
def cut_while_it_is_read():
    """What ctop had mapped goes away; the code itself stays, and so does every sample."""
    need_root()
    need_program("objcopy")
    with directory() as where:
        path, pad = os.path.join(where, "cut"), os.path.join(where, "pad")
        with open(pad, "wb") as file:
            file.truncate(1 << 20)
        plugin = os.path.join(WORKLOADS, "plugin_one.so")
        check(run("objcopy", "--add-section", f".pad={pad}", plugin, path).returncode == 0, "")
        loaded = Elf(path).loaded_bytes
        check(Elf(path).shoff > loaded + (1 << 20), "the sections do not lie behind the padding")
        with started(CROWD, "plugin", path) as program:
            with recording_of(where, "-p", program.pid) as recorder:
                before = folded(os.path.join(where, "x.ctop"))
                os.truncate(path, loaded)
                program.send_signal(signal.SIGUSR1)
                wait_until(lambda: recorder.poll() is not None or new_leaf(
                    before, folded(os.path.join(where, "x.ctop"))), "sample of what it calls then")
            stacks, stats = ended_well(where, recorder)
            check(program.poll() is None, "the target died")
    check(stats["restarts"] == 0, f"{stats}")
    check(share_complete(stats) > 0.97, f"{stats['stacks']}")
    check(with_function(stacks, "hot_one") > 10, f"{stacks}")
    check(all(all(stack) for stack in stacks), f"a frame has an empty name: {stacks}")


def new_leaf(before, after):
    """Whether main calls something that it did not call."""
    def callees(stacks):
        return {stack[stack.index("main") + 1] for stack in stacks
                if "main" in stack[:-1]}
    return len(callees(after)) > len(callees(before))


if __name__ == "__main__":
    main()
