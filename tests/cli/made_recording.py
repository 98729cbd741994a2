# SPDX-License-Identifier: MIT
"""Writes recordings of what no kernel would sample, byte by byte as docs/recording-format.md has it."""

import struct
import zlib


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def signed(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def string(text):
    return varint(len(text)) + text


class Chunks:
    """A recording, chunk by chunk."""

    def __init__(self, path, version=1):
        self.file = open(path, "wb")
        self.epoch = 1
        self.number = 0
        self.file.write(b"\x8ectop\r\n\x1a" + struct.pack("<HHI", version, 0, 0))

    def store(self, kind, payload, stored=None):
        """`stored`: the payload as a zstd frame, if it is one."""
        self.number += 1
        is_packed = stored is not None
        stored = stored if is_packed else payload
        head = b"ct\xc8\x1c" + kind + struct.pack("<IIIIII", len(stored), len(payload), int(is_packed), 7,
                                                  self.epoch, self.number)
        self.file.write(head + struct.pack("<I", zlib.crc32(head + stored)) + stored)


NO_MODULE, FILE, KERNEL, VDSO, ANON = 0, 1, 2, 3, 4
CFI, KERNEL_CHAIN = 1, 8
COMPLETE, TRUNCATED, BROKEN, KERNEL_ONLY = 0, 3, 4, 5
EVENTS, NANOSECONDS, FAULTS = 0, 1, 2


class MadeRecording:
    """Rows are added once each; names are bytes, or text."""

    def __init__(self):
        self.strings, self.events, self.modules, self.tasks = [], [], [], []
        self.frames, self.names, self.nodes, self.samples, self.facts = [], [], [], [], {}
        self.nr_more = 0  # samples as the last one, 1000 ns apart

    def _row(self, rows, row):
        if row not in rows:
            rows.append(row)
        return rows.index(row) + 1

    def _string(self, text):
        return self._row(self.strings, text.encode() if isinstance(text, str) else text)

    def event(self, name, unit=EVENTS, period=1, hz=0):
        name = self._string(name)
        return self._row(self.events, (name, name, period, hz, unit))

    def module(self, path, kind=FILE, build_id=b"", pid=0):
        return self._row(self.modules, (self._string(path), kind, build_id, pid))

    def task(self, pid, tid, comm):
        return self._row(self.tasks, (pid, tid, self._string(comm)))

    def frame(self, module, address, name=None, offset=0):
        name = name.encode() if isinstance(name, str) else name
        frame = self._row(self.frames, (module, address))
        if len(self.names) < frame:
            self.names.append((name, offset))
        return frame

    def sample(self, time_ns, task, frames, event=1, weight=1, cpu=0, end=COMPLETE, method=CFI):
        """Frames: root first."""
        node = 0
        for frame in frames[:-1]:
            node = self._row(self.nodes, (node, frame, method))
        leaf = frames[-1] if frames else 0
        self.samples.append((time_ns, task, cpu, event, end, weight, node, leaf))

    def _chunks(self):
        yield b"STRS", varint(1) + varint(len(self.strings)) + b"".join(
            varint(i) + string(text) for i, text in enumerate(self.strings))
        yield b"EVNT", varint(1) + varint(len(self.events)) + b"".join(
            b"".join(map(varint, row)) for row in self.events)
        yield b"MODS", varint(1) + varint(len(self.modules)) + b"".join(
            varint(path) + varint(kind) + string(build_id) + varint(pid) + varint(0) * 9
            for path, kind, build_id, pid in self.modules)
        yield b"TASK", varint(1) + varint(len(self.tasks)) + b"".join(
            signed(pid) + signed(tid - pid) + varint(comm) + varint(0) for pid, tid, comm in self.tasks)
        rows, last = [], 0
        for module, address in self.frames:
            rows.append(varint(module) + signed((address - last + (1 << 63)) % (1 << 64) - (1 << 63)))
            last = address
        yield b"FRAM", varint(1) + varint(len(rows)) + b"".join(rows)
        rows, last = [], 0
        for number, (parent, frame, method) in enumerate(self.nodes, 1):
            rows.append(varint(number - parent) + signed(frame - last) + varint(method))
            last = frame
        yield b"NODE", varint(1) + varint(len(rows)) + b"".join(rows)
        yield b"NAME", varint(0) + self._names()
        yield b"SAMP", varint(0) + varint(len(self.samples) + self.nr_more) + self._samples()
        facts = {"duration_ns": "1000000000", **self.facts}
        yield b"INFO", varint(len(facts)) + b"".join(
            string(key.encode()) + string(value if isinstance(value, bytes) else value.encode())
            for key, value in facts.items())
        yield b"END.", varint(len(self.samples) + self.nr_more)

    def _names(self):
        out, known, last = b"", [], 0
        for number, (name, offset) in enumerate(self.names, 1):
            if name is None:
                continue
            out += signed(number - last)
            last = number
            if name in known:
                out += varint(known.index(name) + 1)
            else:
                known.append(name)
                out += varint(len(known)) + string(name)
            out += varint(0) + varint(offset + 1)
        return out

    def _samples(self):
        out, last_time, last_node, last_leaf = b"", 0, 0, 0
        for time_ns, task, cpu, event, end, weight, node, leaf in sorted(self.samples):
            out += varint(0) + signed(time_ns - last_time) + varint(task) + varint(cpu) + varint(event)
            out += varint(end) + varint(0) + varint(weight) + signed(node - last_node) + signed(leaf - last_leaf)
            last_time, last_node, last_leaf = time_ns, node, leaf
        return out + (b"\x7f" + signed(1000)) * self.nr_more

    def write(self, path):
        chunks = Chunks(path, version=3)
        for kind, payload in self._chunks():
            chunks.store(kind, payload)
        chunks.file.close()
        return path
