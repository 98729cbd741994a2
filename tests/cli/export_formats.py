#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What holds for every export format: little or nothing to write, no room for it, nobody who reads it."""

import base64
import gzip
import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree as ElementTree
import zlib

import exporting
from harness import CTOP, Skip, case, check, ctop_ok, directory, main, run
from recorded_by_perf import recorded


def formats():
    """Those that `ctop help export` lists."""
    text = ctop_ok("help", "export").stdout
    found = re.findall(r"^  (\w+) +\S", text.partition("Formats:\n")[2].partition("\n\n")[0], re.MULTILINE)
    check(len(found) > 8 and "folded" in found, f"{found}")
    return found


def recording(where, name, frames):
    made = exporting.MadeRecording()
    clock = made.event("cpu-clock", exporting.NANOSECONDS)
    program = made.module("/bin/program")
    task = made.task(1, 1, "program")
    made.sample(1000000000, task, [made.frame(program, 0x1000 + i, frame) for i, frame in enumerate(frames)], clock, 1000000)
    return made.write(os.path.join(where, name + ".ctop"))


def check_whole(form, content):
    """As far as it says so itself."""
    if form == "pprof":
        zlib.decompress(content, 31)
    elif form in ("speedscope", "firefox", "chrome", "json"):
        json.loads(content)
    elif form == "svg":
        ElementTree.fromstring(content)
    elif form == "html":
        zlib.decompress(base64.b64decode(re.search(rb'id="data">\n(.*?)\n</script>', content, re.DOTALL).group(1)), 31)
        check(content.endswith(b"</html>\n"), "no end")
    check(content, f"{form}: nothing")


@case
def little_is_written_as_well():
    with directory() as where:
        for name, frames in ("one", ["main", "work"]), ("nameless", [None, None]), ("frameless", []):
            path = recording(where, name, frames)
            for form in formats():
                out = os.path.join(where, "out")
                ctop_ok("export", form, path, "-o", out)
                with open(out, "rb") as file:
                    check_whole(form, file.read())
                os.unlink(out)


@case
def what_no_sample_passes_leaves_no_file():
    for form in formats():
        with directory() as where:
            out = os.path.join(where, "out")
            result = run(CTOP, "export", form, exporting.made().path, "--comm", "nobody", "-o", out)
            check(result.returncode == 1 and "no samples of a thread named" in result.stderr, f"{form}: {result}")
            check(not os.listdir(where), f"{form}: {os.listdir(where)}")


@case
def an_old_file_stays_where_the_new_one_fails():
    for form in formats():
        with directory() as where:
            out = os.path.join(where, "out")
            with open(out, "w", encoding="utf-8") as file:
                file.write("old")
            result = run("sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh", CTOP, "export", form, exporting.made().path,
                         "-o", out)
            check(result.returncode == 1 and "File too large" in result.stderr, f"{form}: {result}")
            with open(out, encoding="utf-8") as file:
                check(file.read() == "old" and os.listdir(where) == ["out"], f"{form}: {os.listdir(where)}")


@case
def what_is_killed_leaves_no_file():
    # The kernel kills it in its middle, where the file would grow beyond the limit.
    with directory() as where:
        try:
            os.close(os.open(where, os.O_WRONLY | os.O_TMPFILE))
        except OSError as error:
            raise Skip(f"every file has a name here: {error}") from error
        result = run("sh", "-c", 'ulimit -c 0; ulimit -f 1; exec "$@"', "sh", CTOP, "export", "script", exporting.made().path, "-o",
                     os.path.join(where, "out"))
        check(result.returncode == -signal.SIGXFSZ, f"{result}")
        check(not os.listdir(where), f"{os.listdir(where)}")


@case
def no_room_is_said():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    for form in formats():
        result = run(CTOP, "export", form, exporting.made().path, "-o", "/dev/full")
        check(result.returncode == 1 and "No space left" in result.stderr, f"{form}: {result}")


@case
def a_reader_that_goes_away_ends_it():
    for form in formats():
        reading, writing = os.pipe()
        os.close(reading)
        try:
            result = subprocess.run([CTOP, "export", form, exporting.made().path], stdout=writing, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, text=True, check=False, timeout=60)
        finally:
            os.close(writing)
        check(result.returncode == -signal.SIGPIPE, f"{form}: {result}")


@case
def more_samples_than_are_kept():
    # Of more than 2 Mi single samples none is kept: some formats read them again, others have stacks.
    nr = (2 << 20) + 1000
    with directory() as where:
        made = exporting.MadeRecording()
        clock, task = made.event("cpu-clock", exporting.NANOSECONDS), made.task(1, 1, "program")
        program = made.module("/bin/program")
        made.sample(1000000000, task, [made.frame(program, 0x1000, "main"), made.frame(program, 0x2000, "work")], clock, 1000)
        made.nr_more = nr - 1
        path, out = made.write(os.path.join(where, "many.ctop")), os.path.join(where, "out")

        def exported(form):
            ctop_ok("export", form, path, "-o", out)
            with open(out, "rb") as file:
                return file.read()

        scope, = json.loads(exported("speedscope"))["profiles"]
        check(scope["weights"] == [nr * 1000], f"{scope['weights'][:5]}")
        firefox, = json.loads(exported("firefox"))["threads"]
        check(firefox["samples"]["weight"] == [nr / 1000], f"{firefox['samples']}")
        slices = [event["args"] for event in json.loads(exported("chrome"))["traceEvents"] if event["ph"] == "E"]
        check(slices == [{"samples": nr, "weight": nr * 1000}] * 2, f"{slices[:5]}")
        profile = gzip.decompress(exported("pprof"))
        check(b"work" in profile and len(profile) < 2000, f"{len(profile)} bytes")
        page = exported("html")
        check(len(page) < 200000, f"{len(page)} bytes")
        rows = exported("csv").decode().splitlines()
        check(rows[1].endswith(f",{nr * 1000},{nr * 1000},{nr},{nr},100.0000,100.0000"), f"{rows}")


@case
def perf_data_feeds_them_all():
    with recorded() as data:
        with directory() as where:
            for form in formats():
                out = os.path.join(where, "out")
                ctop_ok("export", form, data, "-o", out)
                with open(out, "rb") as file:
                    check_whole(form, file.read())


main()
