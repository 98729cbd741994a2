#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""x writes what is shown in every format that has an ending."""

import base64
import csv
import gzip
import json
import os
import shutil
import xml.etree.ElementTree as ElementTree

from tmux import terminal  # first: it finds the others

import exporting
from harness import CTOP, case, check, ctop_ok, main, need_library, need_program, run


def written(window, name):
    window.press("x")
    window.wait_for(" to: ")
    window.press("C-u", *name, "Enter")
    window.wait_for(f"written: {name}, ")
    with open(os.path.join(window.where, name), "rb") as file:
        return file.read()


@case
def every_format_has_what_is_shown():
    with terminal(100, 30) as window:
        shutil.copy(exporting.made().path, os.path.join(window.where, "made.ctop"))
        window.type(f"{CTOP} report made.ctop")
        window.wait_for("vfs_read")
        window.press("\\", *"vfs_read", "Enter")
        window.wait_for("filter: ~vfs_read")
        document = json.loads(written(window, "a.json"))
        check([(thread["tid"], thread["event"]) for thread in document["threads"]] == [(200, 0)], f"{document['threads']}")
        check(sum(stack["weight"] for thread in document["threads"] for stack in thread["stacks"]) == 67 * 1000001, "weight")
        rows = list(csv.DictReader(written(window, "a.csv").decode().splitlines()))
        check({row["function"] for row in rows} >= {"vfs_read"} and {row["tid"] for row in rows} == {"200"}, f"{rows}")
        scope = json.loads(written(window, "a.speedscope.json"))
        check([profile["endValue"] for profile in scope["profiles"]] == [67 * 1000001], f"{scope['profiles']}")
        firefox = json.loads(written(window, "a.firefox.json"))
        check([thread["samples"]["length"] for thread in firefox["threads"]] == [67], "firefox")
        trace = json.loads(written(window, "a.trace.json"))
        check({event["tid"] for event in trace["traceEvents"] if event["ph"] == "B"} == {200}, "chrome")
        check(b"\nsummary: 67000067\n" in written(window, "a.callgrind"), "callgrind")
        ElementTree.fromstring(written(window, "a.svg"))
        check(b"vfs_read" in gzip.decompress(written(window, "a.pb.gz")), "pprof")
        page = gzip.decompress(base64.b64decode(written(window, "a.html").partition(b'id="data">')[2].partition(b"<")[0]))
        check(b"vfs_read" in page and b"libthing" not in page.partition(b"Frames without")[0] and b"67 samples shown" in page, f"{page}")
        window.press("q")
        window.wait_for_prompt()


@case
def a_recording_of_what_is_shown_has_the_code_that_was_kept():
    need_library("capstone")
    with terminal(100, 30) as window:
        source, program, path = (os.path.join(window.where, name) for name in ("busy.c", "busy", "busy.ctop"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("volatile unsigned sum;\nint main(void) { for (unsigned i = 0; i < 200000000; i++) sum += i; return 0; }\n")
        result = run(need_program("gcc"), "-O1", "-o", program, source)
        check(result.returncode == 0, result.stderr)
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", program)
        os.unlink(program)
        wanted = ctop_ok("report", "--annotate", "main", path).stdout.partition("ADDRESS")[2]
        window.type(f"{CTOP} report busy.ctop")
        window.wait_for("[1 Top]", "main")
        written(window, "part.ctop")
        window.press("q")
        window.wait_for_prompt()
        listing = ctop_ok("report", "--annotate", "main", os.path.join(window.where, "part.ctop")).stdout
        check("code kept in the recording" in listing and listing.partition("ADDRESS")[2] == wanted, f"{listing}, not {wanted}")


main()
