#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Perf maps (/tmp/perf-PID.map) that lie, hide, block or are too much; each beside running code."""

import contextlib
import os
import shutil
import signal
import subprocess

from harness import (BUILD, NOBODY, Skip, case, check, child, child_pids, ctop_ok, directory, ended_well, folded, main,
                     need_program, need_root, open_to_all, record, record_work, recording_of, share_complete,
                     wait_for_cpu_time, wait_until, with_function)

JIT = os.path.join(BUILD, "workloads", "jit")


class Code:
    """A running jit: its process, where its code is, and where its map belongs."""

    def __init__(self, process):
        words = process.stdout.readline().split()
        check(words[:1] == ["ready"], f"jit said {words}")
        self.process = process
        self.pid = process.pid
        self.start = int(words[2], 16)
        self.map = f"/tmp/perf-{self.pid}.map"

    def line(self, name, start=None, size=4096):
        return b"%x %x %s\n" % (self.start if start is None else start, size, name)


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)


@contextlib.contextmanager
def codes(where, *names, user=None):
    """Running jits, one per name, which is its comm."""
    with contextlib.ExitStack() as stack:
        running = {}
        for name in names:
            path = os.path.join(where, name)
            shutil.copy(JIT, path)
            process = subprocess.Popen([path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       text=True, user=user)
            stack.callback(process.stdout.close)
            stack.callback(process.wait)
            stack.callback(process.kill)
            running[name] = Code(process)
            # A process that had this number before may have left one.
            remove(running[name].map)
            stack.callback(remove, running[name].map)
            stack.callback(remove, running[name].map + ".link")
        yield running


def write(path, *parts):
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)


def leaves(stacks, comm):
    """{innermost frame: samples} of one comm, of user code alone; the code is called by run_code."""
    found = {}
    for stack, nr in stacks.items():
        if stack[0] == comm and "run_code" in stack:
            at = stack.index("run_code") + 1
            name = stack[at] if at < len(stack) else "run_code"
            found[name] = found.get(name, 0) + nr
    return found


def check_named(stacks, comm, name):
    found = leaves(stacks, comm)
    check(found.get(name, 0) > 10 and set(found) <= {name, "run_code"}, f"{comm}: {found}")


def check_unnamed(stacks, comm):
    found = leaves(stacks, comm)
    names = set(found) - {"run_code"}
    check(sum(found.values()) > 10 and names and all(name[0] == "[" for name in names),
          f"{comm}: {found} of {stacks}")


# ---- makers of maps ----


def good(code, _):
    write(code.map, code.line(b"jit code"))


def through_a_symlink(code, where):
    path = os.path.join(where, f"{code.pid}.real")
    write(path, code.line(b"forged"))
    os.symlink(path, code.map)


def hard_link(code, _):
    write(code.map, code.line(b"forged"))
    os.link(code.map, code.map + ".link")


def fifo(code, _):
    os.mkfifo(code.map)


def a_directory(code, _):
    os.mkdir(code.map)


def of_another_user(code, _):
    write(code.map, code.line(b"forged"))
    os.chown(code.map, NOBODY, -1)


def a_gib(code, _):
    write(code.map, code.line(b"forged"))
    os.truncate(code.map, 1 << 30)


def many_lines(code, _):
    other = b"".join(b"%x 8 other_%d\n" % (16 * i, i) for i in range(200000))
    write(code.map, code.line(b"jit code"), *[other] * 40)


def no_line_end(code, _):
    write(code.map, code.line(b"jit code"))
    os.truncate(code.map, 200 << 20)


def rubbish(code, _):
    write(code.map, os.urandom(1 << 20), b"\n", code.line(b"jit code"), os.urandom(1 << 20))


def overflows(code, _):
    huge = b"f" * 16
    write(code.map, code.line(b"jit code"), huge + b" " + huge + b" evil\n",
          b"%x %s evil\n" % (code.start, huge), b"%s %x evil\n" % (b"1" * 40, 1 << 40),
          b"-1 7fffffffffffffff evil\n", b"0 -1 evil\n", b"%x 0 evil\n" % code.start,
          b"%x\n" % code.start, b"%x  \n" % code.start, b"\n" * 1000)


def overlaps(code, _):
    write(code.map, code.line(b"all", 0, (1 << 64) - 1),
          *[code.line(b"nested", code.start - i, 8192 + 2 * i) for i in range(3000)],
          code.line(b"jit code"))


def escapes(code, _):
    write(code.map, code.line(b"\x1b[31m;a\r\xff\xe2\x80\xae b"))


MAKERS = {function.__name__[:15]: function for function in (
    good, through_a_symlink, hard_link, fifo, a_directory, of_another_user, a_gib, many_lines,
    no_line_end, rubbish, overflows, overlaps, escapes)}


@case
def maps_of_every_kind():
    need_root()
    with directory() as where, codes(where, *MAKERS) as running:
        for name, make in MAKERS.items():
            make(running[name], where)
        pids = [code.pid for code in running.values()]
        recording = record_work(where, pids, 0.1, "-e", "cpu-clock:u", "-p", ",".join(map(str, pids)))
        report = ctop_ok("report", "--stdio", recording.path).stdout
    stacks, stats = recording.stacks, recording.stats
    check(stats["restarts"] == 0, f"{stats}")
    for name in "good", "no_line_end", "rubbish", "overflows", "overlaps", "many_lines":
        check_named(stacks, name, "jit code")
    for name in ("through_a_symli", "hard_link", "fifo", "a_directory", "of_another_user", "a_gib"):
        check_unnamed(stacks, name)
    check_named(stacks, "escapes", "\\x1b[31m:a")
    for text in report, recording.stderr:
        check("\x1b" not in text and "\r" not in text and "\u202e" not in text, f"{text!r}")
    check("forged" not in report and "evil" not in report, report)


@case
def a_map_that_grows_and_is_rewritten():
    need_root()
    with directory() as where, codes(where, "grows", "rewritten") as running:
        grows, rewritten = running["grows"], running["rewritten"]
        write(grows.map, b"1 1 other\n", grows.line(b"half")[:10])
        write(rewritten.map, rewritten.line(b"elsewhere", 0x1000) * 1000)
        pids = f"{grows.pid},{rewritten.pid}"
        with recording_of(where, "-e", "cpu-clock:u", "-p", pids) as recorder:
            path = os.path.join(where, "x.ctop")
            check_unnamed(folded(path), "grows")
            check_unnamed(folded(path), "rewritten")
            with open(grows.map, "ab") as file:
                file.write(grows.line(b"jit code")[10:])
            write(rewritten.map, rewritten.line(b"jit code"))
            def are_named():
                stacks = folded(path)
                return all(leaves(stacks, comm).get("jit code") for comm in running)
            wait_until(lambda: recorder.poll() is not None or are_named(), "names")
        stacks, stats = ended_well(where, recorder)
    check(stats["restarts"] == 0, f"{stats}")
    # A frame's name holds for all of its samples, those of before too.
    check_named(stacks, "grows", "jit code")
    check_named(stacks, "rewritten", "jit code")


@case
def refusals_are_told_once():
    need_root()
    with directory() as where, codes(where, "links", "links2") as running:
        for code in running.values():
            through_a_symlink(code, where)
        pids = ",".join(str(code.pid) for code in running.values())
        recording = record(where, "-e", "cpu-clock", "-p", pids, seconds=1.5)
    told = [line for line in recording.stderr.splitlines() if "perf map" in line]
    check(len(told) == 1 and "not a regular file" in told[0], recording.stderr)


@case
def maps_and_users():
    need_root()
    with directory() as where:
        open_to_all(where)
        with codes(where, "by_root", "by_other", user=NOBODY) as running:
            for code in running.values():
                write(code.map, code.line(b"jit code"))
            os.chown(running["by_other"].map, NOBODY - 1, -1)
            pids = [code.pid for code in running.values()]
            stacks = record_work(where, pids, 0.2, "-e", "cpu-clock:u", "-p", ",".join(map(str, pids))).stacks
    check_named(stacks, "by_root", "jit code")
    check_unnamed(stacks, "by_other")


@case
def in_namespaces_of_its_own():
    need_root()
    unshare = need_program("unshare")
    # Its user, its processes' numbers, its /tmp: nothing of it is at the same place outside. The program goes along, opened
    # here: the build may lie below what is covered, or in a home that is closed to root of that namespace.
    words = [unshare, "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
             "sh", "-c", "mount -t tmpfs none /tmp && cat >/tmp/jit && chmod +x /tmp/jit && exec /tmp/jit </dev/null"]
    with directory() as where, open(JIT, "rb") as program, \
            subprocess.Popen(words, stdin=program, stdout=subprocess.PIPE, text=True) as outer:
        try:
            ready = outer.stdout.readline().split()
            check(ready[:2] == ["ready", "1"], f"jit said {ready}")
            inner = child_pids(outer.pid)[0]
            with open(f"/proc/{inner}/root/tmp/perf-1.map", "w", encoding="ascii") as file:
                file.write(f"{ready[2]} 1000 within_namespaces\n")
            check(not os.path.exists("/tmp/perf-1.map"), "there is one outside")
            recording = record_work(where, [inner], 0.2, "-p", inner)
        finally:
            outer.kill()
            outer.wait()
    named = sum(count for stack, count in recording.stacks.items() if "within_namespaces" in stack)
    check(named > 3 and any("run_code" in stack for stack in recording.stacks), f"{recording.stacks}")
    check(share_complete(recording.stats) > 0.95, f"{recording.stats['stacks']}")


@contextlib.contextmanager
def two_recorded(where, **options):
    """Two running jits and a recorder of both, from the first samples on: one may end before the other."""
    with codes(where, "first", "second", **options) as running:
        pids = ",".join(str(code.pid) for code in running.values())
        with recording_of(where, "-e", "cpu-clock:u", "-p", pids) as recorder:
            yield running["first"], running["second"], recorder
    # recording_of() has ended it: what it wrote is read by who asks.


def end(code):
    code.process.kill()
    code.process.wait()


@case
def a_map_that_is_written_at_last():
    need_root()
    with directory() as where:
        with two_recorded(where) as (first, second, recorder):
            wait_for_cpu_time(first.pid, 0.2)
            wait_for_cpu_time(second.pid, 0.2)
            good(first, where)
            good(second, where)
        stacks, _ = ended_well(where, recorder)
        check_named(stacks, "first", "jit code")
        check_named(stacks, "second", "jit code")


@case
def a_map_that_is_left_behind():
    need_root()
    with directory() as where:
        with two_recorded(where) as (first, second, recorder):
            wait_for_cpu_time(first.pid, 0.2)
            end(first)
            good(first, where)
        stacks, _ = ended_well(where, recorder)
        check_named(stacks, "first", "jit code")
        check_unnamed(stacks, "second")


@case
def what_others_left_behind_is_no_map():
    need_root()

    def of_before(code, where):
        good(code, where)
        os.utime(code.map, (1, 1))

    for make in of_another_user, of_before, hard_link, fifo, through_a_symlink:
        with directory() as where:
            with two_recorded(where) as (first, _, recorder):
                wait_for_cpu_time(first.pid, 0.2)
                end(first)
                make(first, where)
            stacks, _ = ended_well(where, recorder)
            check_unnamed(stacks, "first")


def names_of(path):
    """The functions that run_code calls, in a perf.data file, and what is said of it."""
    result = ctop_ok("export", "folded", "--samples", path)
    names = {words[words.index("run_code") + 1] for words in
             (line.rpartition(" ")[0].split(";") for line in result.stdout.splitlines())
             if "run_code" in words[:-1]}
    return names, result.stderr


def touched(path, seconds):
    os.utime(path, (seconds, seconds))


@case
def maps_for_what_perf_recorded():
    need_root()
    with directory() as where:
        path = os.path.join(where, "perf.data")
        with child(need_program("perf"), "record", "-q", "-o", path, "-e", "cpu-clock:u", "--call-graph", "dwarf,4096",
                   "--", JIT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as recorder:
            words = recorder.stdout.readline().split()
            if words[:1] != ["ready"]:
                raise Skip("perf records nothing here")
            pid, start = int(words[1]), int(words[2], 16)
            made = f"/tmp/perf-{pid}.map"
            try:
                write(made, b"%x 1000 jit code\n" % start)
                wait_for_cpu_time(pid, 0.3)
                os.kill(pid, signal.SIGTERM)
                recorder.wait()
                check_recorded_maps(where, path, made)
            finally:
                remove(made)


def check_recorded_maps(where, path, made):
    names, told = names_of(path)
    check(names == {"jit code"} and made in told, f"{names}: {told}")
    written, ended = os.stat(made).st_mtime, os.stat(path).st_mtime

    def is_refused(what):
        seen, _ = names_of(path)
        check(seen == {"[anon]"}, f"{what}: {seen}")

    touched(made, written - 3600)
    is_refused("a map of before")
    touched(made, ended + 3600)
    is_refused("a map of later")
    touched(made, written)
    os.chown(made, NOBODY, -1)
    is_refused("another user's")
    os.chown(made, 0, -1)
    touched(path, 1)
    is_refused("another boot's")
    touched(path, ended)
    with open(path, "rb") as file:
        content = file.read()
    host = os.uname().nodename.encode()
    with open(path, "wb") as file:
        file.write(content.replace(b"\0" + host + b"\0", b"\0" + bytes(len(host) * [120]) + b"\0"))
    touched(path, ended)
    is_refused("another machine's")
    with open(path, "wb") as file:
        file.write(content)
    touched(path, ended)
    names, _ = names_of(path)
    check(names == {"jit code"}, f"not proved any more: {names}")


@case
def another_program_in_the_same_process():
    """After an exec the same addresses are other code: what was sampled keeps its names."""
    need_root()
    setarch = need_program("setarch")
    with directory() as where:
        process = subprocess.Popen([setarch, "-R", JIT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            code = Code(process)
            write(code.map, code.line(b"code_of_the_first"))
            path = os.path.join(where, "x.ctop")
            with recording_of(where, "-p", code.pid) as recorder:
                def is_named(name):
                    return recorder.poll() is not None or with_function(folded(path), name)
                wait_until(lambda: is_named("code_of_the_first"), "name")
                remove(code.map)
                process.send_signal(signal.SIGUSR1)
                start = int(process.stdout.readline().split()[2], 16)
                write(code.map, code.line(b"code_of_the_second", start))
                wait_until(lambda: is_named("code_of_the_second"), "name")
            stacks, _ = ended_well(where, recorder)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            remove(code.map)
        if start != code.start:
            raise Skip("programs do not lie at the same addresses here")
    check(with_function(stacks, "code_of_the_first") > 10 and with_function(stacks, "code_of_the_second") > 10, f"{stacks}")


if __name__ == "__main__":
    main()
