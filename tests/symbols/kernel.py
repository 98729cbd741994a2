#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel's functions, those of its modules, and those that it puts into every process: by /proc/kallsyms, and by nm."""

import bisect
import ctypes
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Skip, case, check, ctop_ok, directory, main, need_program, need_root, run  # noqa: E402

WORKS = """
import os, time
end = time.process_time() + 0.6
while time.process_time() < end:
    for _ in range(200):
        os.stat("/proc/self/status"); os.getppid(); time.monotonic(); open("/dev/null").close()
"""


def frames_of(where, event, *command):
    """{(address, function)} of a recording, as `ctop export frames` prints them."""
    path = os.path.join(where, "x.ctop")
    ctop_ok("record", "-q", "-e", event, "-o", path, "--", *command)
    return {(int(address, 16), name, module) for address, name, module in
            re.findall(r"^\s+([0-9a-f]+) \w+\s+(\S+?)(?:\+0x[0-9a-f]+)? \((\[[^)+]*\])", ctop_ok("export", "frames", path).stdout,
                       re.MULTILINE)}


@case
def functions_of_the_kernel():
    need_root()
    symbols = []
    with open("/proc/kallsyms", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[1] in "tTwW":
                symbols.append((int(words[0], 16), words[2]))
    if not symbols or not symbols[-1][0]:
        raise Skip("the kernel hides its addresses")
    symbols.sort()
    starts = [address for address, _ in symbols]
    with directory() as where:
        seen = {(address, name) for address, name, module in frames_of(where, "cpu-clock:k", sys.executable, "-c", WORKS)
                if address >> 63}
        wrong = []
        for address, name in seen:
            # The last symbol before it, or another one at the same place; a return address may be its callee's last.
            start = starts[bisect.bisect_right(starts, address) - 1]
            names = {symbols[i][1] for i in range(bisect.bisect_left(starts, start), bisect.bisect_right(starts, start))}
            if name not in names:
                wrong.append((f"{address:#x}", name, names))
        check(len(seen) > 20 and not wrong, f"{len(wrong)} of {len(seen)}: {wrong[:5]}")


@case
def functions_of_the_vdso():
    need_root()
    nm = need_program("nm")
    with open("/proc/self/maps", encoding="ascii") as file:
        span = re.search(r"^([0-9a-f]+)-([0-9a-f]+) .*\[vdso\]$", file.read(), re.MULTILINE)
    if not span:
        raise Skip("no vdso here")
    start, end = (int(number, 16) for number in span.groups())
    with directory() as where:
        image = os.path.join(where, "vdso.so")
        with open(image, "wb") as file:
            file.write(ctypes.string_at(start, end - start))
        known = {line.split()[2].split("@")[0] for line in run(nm, "-D", "--defined-only", image).stdout.splitlines()
                 if line.split()[1] in "tTwWi"}
        clock = os.path.join(where, "clock")
        with open(clock + ".c", "w", encoding="utf-8") as file:
            file.write("#include <time.h>\nint main(void) { struct timespec t; for (int i = 0; i < 20000000; i++) "
                       "clock_gettime(CLOCK_MONOTONIC, &t); return 0; }\n")
        check(run(need_program("gcc"), "-O1", "-o", clock, clock + ".c").returncode == 0, "not built")
        inside = {name for _, name, module in frames_of(where, "cpu-clock:u", clock) if module == "[vdso]"}
        named = inside & known
        check(named and all(name in known or "vdso" in name for name in inside), f"{inside} {known}")


if __name__ == "__main__":
    main()
