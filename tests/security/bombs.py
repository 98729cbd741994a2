#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small files that hold a lot: what reading them costs is bounded, and what holds more than it can is damaged."""

import ctypes
import importlib.machinery
import importlib.util
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from harness import CTOP, ROOT, Skip, case, check, directory, folded, long_case, main
from made_recording import Chunks, signed, string, varint

MIB = 1 << 20
# docs/recording-format.md
RAW_FREE, RAW_A_BYTE, RAW_MOST = MIB, 256, 64 * MIB
HEAD_BYTES, CHUNK_BYTES = 16, 36
SAME_ALL = b"\x7f"  # flags of a sample that is as the one before


def packed(content):
    """As one zstd frame, by the library that ctop needs anyway."""
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError as problem:
        raise Skip(f"no libzstd: {problem}") from problem
    zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress.restype = ctypes.c_size_t
    zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    zstd.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(content)))
    size = zstd.ZSTD_compress(room, len(room), content, len(content), 3)
    return room.raw[:size]


class Recording(Chunks):
    """Written chunk by chunk, as docs/recording-format.md has it."""

    def __init__(self, path):
        super().__init__(path)
        self.samples = self.raw_bytes = 0
        self.is_honest = False  # does not pack what would look like a lie
        self.begin_epoch(1)

    def begin_epoch(self, epoch):
        """With one row of each kind, but two frames."""
        self.epoch = epoch
        rows = [b"cpu-clock", b"prog", b"/bin/prog"]
        self.chunk(b"STRS", varint(1) + varint(len(rows)) + b"".join(varint(i) + string(row) for i, row in enumerate(rows)))
        self.chunk(b"EVNT", varint(1) + varint(1) + b"".join(map(varint, (1, 1, 0, 1000, 1))))
        self.chunk(b"MODS", varint(1) + varint(1) + varint(3) + varint(1) + string(b"") + varint(0) * 8)
        self.chunk(b"TASK", varint(1) + varint(1) + signed(10) + signed(0) + varint(2))
        self.chunk(b"FRAM", varint(1) + varint(2) + varint(1) + signed(0x1000) + varint(1) + signed(0x100))
        self.chunk(b"NODE", varint(1) + varint(1) + varint(1) + signed(1) + varint(1))
        self.chunk(b"NAME", varint(0) + signed(1) + varint(1) + string(b"main") + varint(0) + varint(1))

    def chunk(self, kind, payload, pack=False):
        stored = packed(payload) if pack else None
        self.raw_bytes += len(payload)
        if self.is_honest and stored is not None and \
                self.raw_bytes > RAW_FREE + RAW_A_BYTE * (self.file.tell() + CHUNK_BYTES + len(stored)):
            stored = None
        self.store(kind, payload, stored)

    def add_samples(self, nr, pack=True, later_ns=1000):
        """The first stands for itself, the others are as short as samples can be, or nearly so."""
        first = b"\x1a" + signed(self.samples * later_ns) + varint(1) + varint(1) + signed(1) + signed(2)
        self.chunk(b"SAMP", varint(self.samples) + varint(nr) + first + (SAME_ALL + signed(later_ns)) * (nr - 1), pack)
        self.samples += nr

    def end(self):
        self.chunk(b"END.", varint(self.samples))
        self.file.close()


def in_another_process(function):
    """What a child has used at most begins with what this process has: let that be little."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except Skip:
            status = 2
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 2:
        raise Skip("there is no libzstd")
    check(status == 0, "the file was not made")


def made(path, write):
    """A recording; returns its size."""
    def make():
        recording = Recording(path)
        write(recording)
        recording.end()
    in_another_process(make)
    return os.path.getsize(path)


def cost(*arguments, output=subprocess.DEVNULL, stdin=subprocess.DEVNULL):
    """Runs ctop to its end: exit code, what it said, and the most memory that it or a child of it had."""
    process = subprocess.Popen([CTOP, *map(str, arguments)], stdin=stdin, stdout=output, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said, usage.ru_maxrss << 10


def every_way(path):
    return [("export", "folded", path), ("export", "script", path), ("report", "--stdio", path)]


# ---- bombs ----

def harmless(recording):
    recording.add_samples(10)


@case
def one_chunk_that_is_all_samples():
    def bomb(recording):
        recording.add_samples(10)
        recording.add_samples((RAW_MOST - 100) // 3, later_ns=10)
    with directory() as where:
        small, path = (os.path.join(where, name) for name in ("small", "bomb"))
        made(small, harmless)
        check(made(path, bomb) < 20000, f"{os.path.getsize(path)} bytes are no bomb")
        for words, least in zip(every_way(path), every_way(small)):
            status, said, bytes_used = cost(*words)
            least_bytes = cost(*least)[2]
            check(bytes_used < least_bytes + 16 * MIB, f"{words}: {bytes_used >> 20} MiB, {least_bytes >> 20} of a small one")
            check(status == 0 and "is damaged: " in said and "1 part missing" in said and "samples lost" in said,
                  f"{words}: {status} {said}")
        check(sum(folded(path).values()) == 10, "what is sound is not shown")


@case
def many_chunks_that_are_all_samples():
    """Each is as one that ctop writes; together they are not."""
    nr, of_samples = 100, 1 << 16
    def bomb(recording):
        for _ in range(nr):
            recording.add_samples(of_samples)
    with directory() as where:
        path = os.path.join(where, "bomb")
        most = (RAW_FREE + RAW_A_BYTE * made(path, bomb)) // 3
        check(nr * of_samples > 1.5 * most, f"{os.path.getsize(path)} bytes are no bomb")
        for words in every_way(path):
            status, said, bytes_used = cost(*words)
            check(bytes_used < 200 * MIB, f"{words}: {bytes_used >> 20} MiB")
            check(status == 0 and "is damaged" in said and "samples lost" in said, f"{words}: {status} {said}")
        shown = sum(folded(path).values())
        check(0 < shown <= most, f"{shown} samples of {os.path.getsize(path)} bytes")


@case
def nothing_but_a_bomb():
    def bomb(recording):
        recording.file.seek(HEAD_BYTES)
        recording.file.truncate()
        recording.number = 0
        recording.chunk(b"SAMP", bytes(RAW_MOST), True)
        recording.end = recording.file.close
    with directory() as where:
        path = os.path.join(where, "bomb")
        made(path, bomb)
        for words in every_way(path):
            status, said, bytes_used = cost(*words)
            check(status == 1 and "nothing in it can be read" in said, f"{words}: {status} {said}")
            check(bytes_used < 100 * MIB, f"{words}: {bytes_used >> 20} MiB")


@case
def endless_new_stacks():
    """Rows cost more in memory than in the file: what is kept of them is bounded as live, and said."""
    of_frames, of_chains, nr_epochs = 4000, 30, 20
    def bomb(recording):
        recording.is_honest = True
        for epoch in range(2, 2 + nr_epochs):
            recording.begin_epoch(epoch)
            nr = of_frames * of_chains
            recording.chunk(b"FRAM", varint(3) + varint(nr) + varint(1) + signed(epoch << 32) + (varint(1) + signed(16)) * (nr - 1),
                            True)
            recording.chunk(b"NODE", varint(2) + varint(nr) + varint(2) + signed(3) + varint(1) + b"".join(
                (varint(at) + signed(1) + varint(1) if at > 2 else b"") + (varint(1) + signed(1) + varint(1)) * (of_frames - 1)
                for at in range(2, nr, of_frames)), True)
            samples = b"\x1a" + signed(1) + varint(1) + varint(1) + signed(of_frames + 1) + signed(2)
            samples += (b"\x5f" + signed(1) + signed(of_frames)) * (of_chains - 1)
            recording.chunk(b"SAMP", varint(recording.samples) + varint(of_chains) + samples)
            recording.samples += of_chains
    with directory() as where:
        path = os.path.join(where, "bomb")
        check(made(path, bomb) < MIB, f"{os.path.getsize(path)} bytes are no bomb")
        for words in every_way(path):
            status, said, bytes_used = cost(*words)
            check(status == 0, f"{words}: {status} {said}")
            check("report" in words or re.fullmatch(r"ctop: [0-9,]+ samples are on stacks beyond the memory bound.*\n", said),
                  f"{words}: {said}")
            check(bytes_used < 256 * MIB, f"{words}: {bytes_used >> 20} MiB")


# ---- what is no bomb ----

def long(recording, nr):
    """As a writer has it that keeps to the bound."""
    recording.is_honest = True
    while recording.samples < nr:
        recording.add_samples(min(100_000, nr - recording.samples))


@long_case
def ten_million_samples_that_lie_evenly():
    """Too many to be kept: they are read twice. Memory is that of two million."""
    with directory() as where:
        path, nr = os.path.join(where, "long"), 10_000_000
        made(path, lambda recording: long(recording, nr))
        for words in ("export", "frames", path), ("report", "--stdio", path):
            status, said, bytes_used = cost(*words)
            check(status == 0 and not said, f"{words}: {status} {said}")
            check(bytes_used < 160 * MIB, f"{words}: {bytes_used >> 20} MiB")
        check(sum(folded(path).values()) == nr, "samples are missing")


def distinct(recording, nr_epochs, nr):
    """So many stacks per epoch, none of them twice, and none that follows from another."""
    nr_frames, any_number = 1000, random.Random(1)
    recording.is_honest = True
    for epoch in range(2, 2 + nr_epochs):
        recording.begin_epoch(epoch)
        recording.chunk(b"FRAM", varint(3) + varint(nr_frames) + (varint(1) + signed(16)) * nr_frames)
        frame, rows = 0, bytearray(varint(2) + varint(nr))
        for at in range(2, 2 + nr):
            before, frame = frame, any_number.randint(1, nr_frames)
            rows += varint(any_number.randint(1, at)) + signed(frame - before) + varint(1)
        recording.chunk(b"NODE", bytes(rows), True)
        samples = b"\x1a" + signed(1) + varint(1) + varint(1) + signed(2) + signed(2)
        recording.chunk(b"SAMP", varint(recording.samples) + varint(nr) + samples + (b"\x5f" + signed(1) + signed(1)) * (nr - 1))
        recording.samples += nr


@case
def as_many_stacks_as_a_file_has_bytes_for_are_all_kept():
    with directory() as where:
        path, nr_epochs, nr = os.path.join(where, "distinct"), 5, 200_000
        made(path, lambda recording: distinct(recording, nr_epochs, nr))
        words = "export", "folded", "-o", "/dev/null", path
        status, said, _ = cost(*words)
        check(status == 0 and not said, f"{status} {said}")
        status, said, _ = cost(*words, "--memory", "64")
        check(status == 0 and "samples are on stacks beyond the memory bound" in said, f"{status} {said}")


@case
def samples_that_are_read_twice_come_in_order():
    with directory() as where:
        path, nr = os.path.join(where, "long"), 2_200_000
        made(path, lambda recording: long(recording, nr))
        with subprocess.Popen([CTOP, "export", "script", path], stdout=subprocess.PIPE) as export:
            count, last = 0, b""
            for line in export.stdout:
                if line.startswith(b"prog"):
                    time = line.split(None, 4)[3].rjust(20)
                    check(time > last, f"{time} behind {last}")
                    count, last = count + 1, time
        check(export.returncode == 0 and count == nr, f"{count} samples")


@case
def a_pipe_is_not_read_twice():
    with directory() as where:
        path = os.path.join(where, "long")
        made(path, lambda recording: long(recording, 2_200_000))
        with open(path, "rb") as file:
            status, said, _ = cost("export", "script", "-", stdin=file)
            check(status == 0, f"a file as standard input: {status} {said}")
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            status, said, bytes_used = cost("export", "script", "-", stdin=cat.stdout)
            cat.stdout.close()
        check(status == 1 and re.search("cannot be read twice.*\n  write it to a file", said), f"{status}: {said}")
        check(bytes_used < 160 * MIB, f"{bytes_used >> 20} MiB")


# ---- perf.data files ----

def perfdata_with(records, where):
    """One whose records are compressed, as perf record -z makes them; by a process of its own, as made() has it."""
    loader = importlib.machinery.SourceFileLoader("make_corpus", os.path.join(ROOT, "tests", "fuzz", "make-corpus"))
    corpus = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_corpus", loader))
    loader.exec_module(corpus)
    content, stored = records(corpus), b""
    frame = packed(content)
    for at in range(0, len(frame), 60000):
        stored += corpus.header(81, frame[at:at + 60000])
    with open(where, "wb") as file:
        file.write(corpus.perfdata_file(stored, ((27, struct.pack("<5I", 1, 1, 1, 100, 1 << 20)),)))


@case
def compressed_perf_data():
    """More samples than are kept, in some kilobytes: they are read, but not held."""
    nr = 2_200_000
    def records(corpus):
        return corpus.header(9, corpus.u64(7) + corpus.u64(0x401000) + corpus.i32(10) + corpus.i32(11) + corpus.u64(5), 2) * nr
    with directory() as where:
        path = os.path.join(where, "perf.data")
        in_another_process(lambda: perfdata_with(records, path))
        check(os.path.getsize(path) < MIB, f"{os.path.getsize(path)} bytes are no bomb")
        for words in ("export", "script", path), ("report", "--stdio", path):
            status, said, bytes_used = cost(*words)
            check(bytes_used < 256 * MIB, f"{words}: {bytes_used >> 20} MiB")
            check(status == 0, f"{words}: {status} {said}")


main()
