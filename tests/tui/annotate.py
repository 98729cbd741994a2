#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A function's code in the interface: the hottest instruction first, then from hot spot to hot spot."""

import os
import re
import subprocess

from tmux import terminal  # first: it finds the others

from generating import dump_with, generating, memory_of
from harness import CTOP, case, check, child, ctop_ok, directory, main, need_library, need_program, need_root, run, target

SOURCE = """#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) unsigned crunch(unsigned sum)
{
	for (unsigned i = 0; i < 100000; i++)
		sum = sum / (i | 1) + sum * 31; /* slow */
	return sum;
}
int main(int argc, char **argv)
{
	unsigned sum = 1;
	const double seconds = argc > 1 ? atof(argv[1]) : 0.4;
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		sum = crunch(sum);
	return sum == 42;
}
"""


def recorded(where, *options, text=SOURCE):
    need_library("capstone")
    source, program, path = (os.path.join(where, name) for name in ("slow.c", "slow", "slow.ctop"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    result = run(need_program("gcc"), "-O2", "-g", "-o", program, source)
    check(result.returncode == 0, result.stderr)
    ctop_ok("record", "-q", "-e", "cpu-clock:u", *options, "-o", path, "--", program)
    return path, program


def hottest_first(path):
    """Addresses of the instructions that have samples, as the text report has them."""
    listing = ctop_ok("report", "--annotate", "crunch", path).stdout
    rows = re.findall(r"^ *[\d.]+ \S* +([\d,]+) +([0-9a-f]+): ", listing, re.M)
    return sorted(((int(samples.replace(",", "")), address) for samples, address in rows), key=lambda row: -row[0])


def selected(window):
    """The address of the selected row, if it is an instruction."""
    part = re.search(r"^>(?: +[\d.]+ +\d+)? +(?:[>+│|] +)?([0-9a-f]+)  ", window.screen(), re.M)
    return part and part.group(1)


@case
def from_hot_spot_to_hot_spot():
    with directory() as where, terminal(100, 40) as window:
        path, program = recorded(where, "--no-keep-code")
        spots = hottest_first(path)
        samples = dict((address, count) for count, address in spots)
        window.type(f"{CTOP} report {path}")
        window.wait_for("[1 Top]", "crunch")
        window.press("a")
        window.wait_for("CODE OF crunch", "[7 Annotate]", "/* slow */")
        for key in (None, "H", "Tab", "S-Tab")[:2 + (len(spots) > 2) * 2]:
            if key:
                before = selected(window)
                window.press({"S-Tab": "BTab"}.get(key, key))
                window.wait_until(lambda _: selected(window) != before, "another hot spot")
            rank = {None: 0, "H": 1, "Tab": 2, "S-Tab": 1}[key]
            window.wait_until(lambda _: samples.get(selected(window)) == spots[rank][0], f"hot spot {rank} of {spots}")
        window.press("7")
        window.wait_for("[1 Top]")
        window.press("q")
        window.wait_for_prompt()
        os.unlink(program)
        window.type(f"{CTOP} report {path}")
        window.wait_for("[1 Top]", "crunch")
        window.press("7")
        window.wait_for("is not here", "put the file with build-id")
        window.press("Escape")
        window.wait_for("[1 Top]")
        window.press("q")


@case
def code_that_was_kept_is_shown_without_the_program():
    with directory() as where, terminal(100, 40) as window:
        path, program = recorded(where)
        spots = hottest_first(path)
        os.unlink(program)
        window.type(f"{CTOP} report {path}")
        window.wait_for("[1 Top]", "crunch")
        window.press("a")
        window.wait_for("CODE OF crunch", "[7 Annotate]", f"code kept in the recording: '{program}' is not here")
        samples = dict((address, count) for count, address in spots)
        window.wait_until(lambda _: samples.get(selected(window)) == spots[0][0], f"the hottest of {spots}")
        window.wait_for("slow.c:6  ", "/* slow */") # its lines the recording knows
        window.press("q")


@case
def a_source_line_shows_its_text_before_its_indentation():
    with directory() as where, terminal(80, 24) as window:
        window.type(f"{CTOP} report {recorded(where)[0]}")
        window.wait_for("[1 Top]", "crunch")
        window.press("a")
        window.wait_for("slow.c:6  ", "/* slow */")
        window.press("q")


@case
def several_events_stand_beside_each_other():
    need_library("capstone")
    with directory() as where, terminal(80, 24) as window:
        program = recorded(where)[1]
        path = os.path.join(where, "events.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u,page-faults:u,context-switches", "-o", path, "--", program)
        window.type(f"{CTOP} report {path}")
        window.wait_for("[1 Top]", "crunch", "page-faults:u%")
        window.press("a")
        screen = window.wait_for("CODE%   SAMPLES page-faults:u%    ADDRESS     CODE OF crunch", "sum / (i | 1)")
        check("context-switches%" not in screen, screen)
        # The line's numbers are those of its instructions, which may stand in several places.
        check(re.search(r"^[> ] +[\d.]+ +\d+ +0\.0 +slow\.c:6  ", screen, re.M), screen)
        window.resize(120, 24)
        window.wait_for("SAMPLES page-faults:u% context-switches%    ADDRESS")
        window.press("q")
        window.wait_for_prompt()


INLINED = """#include <time.h>
#define INLINE static inline __attribute__((always_inline))
INLINE unsigned inner(unsigned x) { return x / 7 * 3 + (x >> 3); }
INLINE unsigned middle(unsigned x) { return inner(x ^ 5) / 11; }
__attribute__((noinline)) unsigned crunch(unsigned sum)
{
	for (unsigned i = 0; i < 100000; i++)
		sum = middle(sum + i);
	return sum;
}
int main(void)
{
	unsigned sum = 1;
	while ((double)clock() / CLOCKS_PER_SEC < 0.4)
		sum = crunch(sum + 1);
	return sum == 42;
}
"""


@case
def the_chain_of_inlined_functions_stands_below():
    with directory() as where, terminal(100, 24) as window:
        path = recorded(where, text=INLINED)[0]
        window.type(f"{CTOP} report {path}")
        window.wait_for("[1 Top]", "crunch")
        window.select("inner")
        window.press("a")
        window.wait_for("CODE OF crunch", "[7 Annotate]")
        for _ in range(40):
            screen = window.wait_until(lambda _: selected(window), "a hot spot")
            if "# in [i] inner" in re.search("^>.*$", screen, re.M).group():
                break
            before = selected(window)
            window.press("H")
            window.wait_until(lambda _: selected(window) != before, "another hot spot")
        screen = window.wait_for("inlined: middle slow.c:8 > inner slow.c:4: ", "slow.c:3")
        # Of an instruction without samples it is known, too.
        check(re.search(r"^ {20,}[0-9a-f]+  .*# in \[i\] (inner|middle)", screen, re.M), screen)
        window.press("q")
        window.wait_for_prompt()


@case
def the_code_of_a_process_that_runs():
    need_root()
    need_library("capstone")
    with target("spin", "600") as program, terminal(100, 30) as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE", "spin_loop")
        window.press("a")
        window.wait_for("CODE OF spin_loop", "[7 Annotate]")
        window.wait_until(lambda _: selected(window), "a hot instruction")
        window.press("q")
        window.wait_for_prompt()


@case
def generated_code_that_a_dump_tells_of_has_its_lines():
    with directory() as where, terminal(120, 40) as window:
        dump = os.path.join(where, "jit-1.dump")
        with open(dump, "wb") as file:
            file.write(bytes(4096))
        with generating(where, "f", dump) as (process, start):
            # Its dump tells of other code than is there now: that of the dump is shown.
            code = memory_of(process, start, 15) + b"\x0f\xa2"
            with open(dump, "wb") as file:
                file.write(dump_with(start, b"dumped", code, [(0, 71), (9, 72)]))
            window.type(f"{CTOP} -p {process.pid}")
            window.wait_for("LIVE", "dumped")
            window.press("a")
            window.wait_for("CODE OF dumped", "[7 Annotate]", "cpuid", "made.js:71")
            window.wait_until(lambda screen: re.search(r"^ +[\d.]+ +\d+ +made\.js:72$", screen, re.M), "a line with samples")
            window.wait_until(lambda _: selected(window), "a hot instruction")
            window.press("q")
            window.wait_for_prompt()


@case
def generated_code_that_a_map_tells_of_is_read_in_memory():
    with directory() as where, terminal(120, 40) as window, generating(where, "f") as (process, start):
        window.type(f"{CTOP} -p {process.pid}")
        window.wait_for("LIVE", "first")
        window.press("a")
        window.wait_for("CODE OF first", "[7 Annotate]", "generated code, read in the process's memory at", "may have been there",
                        f"{start + 4:x}", "0xf4240")
        window.wait_until(lambda _: selected(window), "a hot instruction")
        window.press("q")
        window.wait_for_prompt()


@case
def generated_code_of_a_process_that_has_ended_is_told_to_be_gone():
    with directory() as where, terminal(120, 40) as window, generating(where, "f") as (process, _):
        window.type(f"{CTOP} -p {process.pid}")
        window.wait_for("LIVE", "first")
        process.kill()
        process.wait()
        window.wait_for("EXITED")
        window.press("a")
        window.wait_for("and with it the code that it generated", "let its JIT write a dump")
        window.press("q")
        window.wait_for_prompt()


@case
def the_kernels_code_is_listed_or_it_is_said_why_not():
    need_root()
    need_library("capstone")
    # Reads all the time, a byte at a time: in the kernel.
    with child("dd", "if=/dev/zero", "of=/dev/null", "bs=1", stderr=subprocess.DEVNULL) as program, terminal(120, 40) as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE", "vfs_read")
        window.select("vfs_read")
        window.press("a")
        try:
            with open("/proc/kcore", "rb"):
                window.wait_for("CODE OF vfs_read", "the kernel's code, with what was patched by then, read in its memory at")
        except FileNotFoundError:
            window.wait_for("this kernel has no /proc/kcore", "CONFIG_PROC_KCORE")
        except PermissionError:
            window.wait_for("(/proc/kcore) may not be read", "run ctop as root")
        window.press("q")
        window.wait_for_prompt()


main()
