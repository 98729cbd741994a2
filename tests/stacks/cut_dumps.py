#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cut_dumps.py PERF.DATA BYTES: makes every stack dump of the file one of at most BYTES, in place.

The bytes stay; only what the kernel says of how many are valid (dyn_size) becomes less.
"""

import mmap
import struct
import sys

SAMPLE = 9
# Of the sample's fields up to the dump (perf_event_open(2)), those of one word, by their bit.
WORDS_BEFORE_READ = (1 << 16, 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 6, 1 << 9, 1 << 7, 1 << 8)
READ, CALLCHAIN, RAW, BRANCHES, REGS, STACK = 1 << 4, 1 << 5, 1 << 10, 1 << 11, 1 << 12, 1 << 13


def cut_dumps(path, limit):
    """How many dumps were longer than that."""
    nr_cut = 0
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        attributes, _, at, size = struct.unpack_from("<QQQQ", data, 24)
        sample_type, = struct.unpack_from("<Q", data, attributes + 24)
        registers, = struct.unpack_from("<Q", data, attributes + 80)
        if sample_type & (READ | RAW | BRANCHES) or not sample_type & STACK:
            raise ValueError("samples with fields that are not expected here")
        fixed = 8 * sum(bool(sample_type & bit) for bit in WORDS_BEFORE_READ)
        end = at + size
        while at < end:
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if kind == SAMPLE:
                to = at + 8 + fixed
                if sample_type & CALLCHAIN:
                    to += 8 + 8 * struct.unpack_from("<Q", data, to)[0]
                if sample_type & REGS:
                    to += 8 + 8 * bin(registers).count("1") * bool(struct.unpack_from("<Q", data, to)[0])
                asked, = struct.unpack_from("<Q", data, to)
                to += 8 + asked
                if asked and struct.unpack_from("<Q", data, to)[0] > limit:
                    struct.pack_into("<Q", data, to, limit)
                    nr_cut += 1
            at += length
    return nr_cut


if __name__ == "__main__":
    print(cut_dumps(sys.argv[1], int(sys.argv[2])), "dumps cut")
