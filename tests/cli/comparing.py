# SPDX-License-Identifier: MIT
"""What tests of `ctop diff` share: recordings of known shares, and the text read back."""

import os
import re

from made_recording import FAULTS, NANOSECONDS, MadeRecording

MS = 1000000


def made(where, name, shares, event="cpu-clock", unit=NANOSECONDS, modules=None, weight=MS, facts=None, per=None):
    """A recording of main, which calls each function: {function: samples}, one after the other, a millisecond apart."""
    recording = MadeRecording()
    number = recording.event(event, unit, period=weight)
    second = recording.event("page-faults", FAULTS) if per else None
    recording.task(100, 100, "prog")
    frames = {"main": recording.frame(recording.module(b"/bin/prog"), 0x1000, "main")}
    for i, function in enumerate(shares):
        module = recording.module((modules or {}).get(function, "/bin/prog").encode())
        if function != "main":
            frames[function] = recording.frame(module, 0x2000 + 256 * i, function)
    now = 0
    for function, nr in shares.items():
        for _ in range(nr):
            now += MS
            stack = [frames["main"]] + ([frames[function]] if function != "main" else [])
            recording.sample(now, 1, stack, number, weight)
    for i in range(per or 0):
        recording.sample(now + i, 1, [frames["main"]], second, 1)
    recording.facts = facts or {}
    return recording.write(os.path.join(where, name + ".ctop"))


def rows(text):
    """{function: (self A, self B, change, noise, total change, noise, notes)}; a change within noise ends in ~."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"^ *([\d.]+) +([\d.]+) +([-+][\d.]+~?) +([\d.]+|few) +([-+][\d.]+~?) +([\d.]+|few)  (\S+) +\S+(.*)$",
                         line)
        if match:
            found[match.group(7)] = match.groups()[:6] + (match.group(8).strip(),)
    return found
