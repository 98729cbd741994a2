#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Targets that die, multiply, change, hide and lie while they are recorded."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time

from harness import (BUILD, CTOP, NOBODY, PATIENCE, Skip, case, check, check_accounts, check_complete, check_refused, child,
                     child_pids, copy_for_all, ctop, ctop_ok, directory, ended_well, folded, main, need_program,
                     need_root, record, record_work, recording_of, run, share_complete, shown_in_terminal, started,
                     target, wait_for_samples, wait_until, with_function)

CROWD = os.path.join(BUILD, "workloads", "crowd")


def check_printable(what, text):
    """Nothing that a terminal obeys: no controls but line ends; and it is UTF-8."""
    bad = [char for char in text if (ord(char) < 0x20 and char not in "\n") or
           0x7f <= ord(char) < 0xa0 or char == "\ufffd"]
    check(not bad, f"{what} holds {bad[:5]!r}: {text[:400]!r}")


# ---- that die ----


@case
def dying_around_the_attach():
    need_root()
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    refused = recorded = 0
    with directory() as where:
        with target("spin") as program:
            started = time.monotonic()
            ctop_ok("record", "-o", os.path.join(where, "x.ctop"), "--duration", "0.001", "-p",
                    program.pid)
            run_seconds = time.monotonic() - started
        for i in range(50):
            path = os.path.join(where, f"{i}.ctop")
            # From before the attach until after it.
            life = f"{chance.uniform(0.001, run_seconds):.6f}"
            with subprocess.Popen([os.path.join(BUILD, "workloads", "spin"), life],
                                  stdout=subprocess.DEVNULL) as program:
                result = ctop("record", "-o", path, "-p", program.pid)
                program.kill()
            if result.returncode == 0:
                recorded += 1
                check("samples of" in result.stderr, f"seed {seed}, {life}: {result.stderr!r}")
                ctop_ok("export", "folded", path)
            else:
                refused += 1
                check_refused(result, 1, str(program.pid))
                check(not os.path.exists(path), f"seed {seed}, {life}: an empty file is left")
    print(f"# {refused} refused, {recorded} recorded, seed {seed}")


@case
def killed_in_the_middle():
    need_root()
    with directory() as where, target("spin") as program:
        with recording_of(where, "-p", program.pid) as recorder:
            program.kill()
            recorder.wait(PATIENCE)
        stacks, stats = ended_well(where, recorder)
    check_accounts(stats)
    check(with_function(stacks, "spin_loop") > 10, f"{stacks}")


@case
def a_command_that_is_killed_in_the_middle():
    need_root()
    with directory() as where:
        with recording_of(where, "--", CROWD, "comm", "victim") as recorder:
            children = child_pids(recorder.pid)
            victims = [pid for pid in children if name_of(pid) == "victim"]
            check(len(victims) == 1, f"{children}")
            os.kill(victims[0], signal.SIGKILL)
            recorder.wait(PATIENCE)
        check(recorder.returncode == 128 + signal.SIGKILL,
              f"{recorder.returncode}: {recorder.errors}")
        check(with_function(folded(os.path.join(where, "x.ctop")), "crowd_named") > 10, "samples")


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return file.read().rstrip("\n")


@case
def stopped_when_attached():
    need_root()
    with directory() as where, target("spin") as program:
        os.kill(program.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
        path = os.path.join(where, "y.ctop")
        result = ctop_ok("record", "-o", path, "--duration", "0.3", "-p", program.pid)
        check("0 samples" in result.stderr, result.stderr)
        check(folded(path) == {}, "a stopped process was sampled")
        recorder = subprocess.Popen([CTOP, "record", "-o", os.path.join(where, "x.ctop"), "-p",
                                     str(program.pid)], stderr=subprocess.PIPE, text=True)
        # The recorder is through its start when the file is there.
        wait_until(lambda: recorder.poll() is not None or os.path.exists(os.path.join(where, "x.ctop")),
                   "file")
        os.kill(program.pid, signal.SIGCONT)
        wait_for_samples(recorder, os.path.join(where, "x.ctop"))
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate(timeout=PATIENCE)
        check(recorder.returncode == 0, errors)
        check(with_function(folded(os.path.join(where, "x.ctop")), "spin_loop") > 10, errors)


@case
def a_leader_that_is_a_zombie():
    need_root()
    with directory() as where, target("crowd", "leaderless") as program:
        with open(f"/proc/{program.pid}/stat", encoding="utf-8") as file:
            def is_zombie():
                file.seek(0)
                return file.read().rpartition(")")[2].split()[0] == "Z"
            wait_until(is_zombie, "zombie")
        recording = record_work(where, [program.pid], 0.5, "-p", program.pid)
    check(with_function(recording.stacks, "crowd_on") > 50, f"{recording.stacks}")
    check(share_complete(recording.stats) > 0.98, f"{recording.stats}")


@case
def a_thread_instead_of_a_process():
    need_root()
    with directory() as where, target("spin") as program:
        tid = max(map(int, os.listdir(f"/proc/{program.pid}/task")))
        check(tid != program.pid, "spin has no second thread")
        result = ctop("record", "-o", os.path.join(where, "x.ctop"), "-p", tid)
        check_refused(result, 1, str(tid), f"-p {program.pid}", f"-t {tid}")


@case
def a_thread_that_ends():
    need_root()
    release = [int(word) for word in os.uname().release.split("-")[0].split(".")[:2]]
    with directory() as where, target("crowd", "oneshot") as program:
        tid = max(map(int, os.listdir(f"/proc/{program.pid}/task")))
        check(tid != program.pid, "crowd has no second thread")
        with recording_of(where, "-t", tid) as recorder:
            program.send_signal(signal.SIGUSR1)  # ends the thread, not the process
            if release >= [6, 9]:
                recorder.wait(PATIENCE)
        stacks, stats = ended_well(where, recorder)
        check(program.poll() is None, "the process ended, too")
    check(with_function(stacks, "crowd_before") > 10, f"{stacks}")
    check(stats["stacks"]["complete"] >= 0.98 * stats["samples"], f"{stats}")


@case
def too_many_of_one_name():
    need_root()
    with contextlib.ExitStack() as stack:
        pids = {stack.enter_context(target("crowd", "idle", "same-name")).pid for _ in range(30)}
        result = ctop("record", "-o", "/nonexistent/x.ctop", "same-name")
    check_refused(result, 1, "30 processes", "-p ")
    # What does not fit into the line is left out, but no number is cut in two.
    listed = result.stderr.split()[-1].split(",")
    check(listed and {int(pid) for pid in listed} <= pids, result.stderr)


# ---- that change and multiply ----


@case
def execs_in_the_middle():
    need_root()
    with directory() as where, target("crowd", "exec") as program:
        with recording_of(where, "-p", program.pid) as recorder:
            program.send_signal(signal.SIGUSR1)
            path = os.path.join(where, "x.ctop")
            wait_until(lambda: recorder.poll() is not None or with_function(folded(path), "crowd_after"),
                       "sample of what it became")
        stacks, stats = ended_well(where, recorder)
    check_accounts(stats)
    before, after = with_function(stacks, "crowd_before"), with_function(stacks, "crowd_after")
    check(before > 10 and after > 10, f"{before} before, {after} after")
    check(share_complete(stats) > 0.98, f"{stats}")


@case
def a_thousand_threads():
    need_root()
    with directory() as where:
        # Each has 3 ms: no rate that falls where others have the CPUs, and rings that hold all of it.
        recording = record(where, "-q", "-e", "cpu-clock", "-F", "1999", "--max-overhead", "0", "--strict",
                           "--call-graph", "dwarf,1024", "-m", "4096", "--", CROWD, "threads",
                           "1000", seconds=60)
        check_accounts(recording.stats)
        seen = {stack[0] for stack in recording.stacks} & {f"t{i}" for i in range(1000)}
        check(len(seen) == 1000, f"only {len(seen)} threads were seen")
        check(share_complete(recording.stats) > 0.98, f"{recording.stats}")


@case
def a_thousand_children():
    need_root()
    with directory() as where, target("crowd", "children", "1000") as program:
        recording = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=2)
        check(program.poll() is None, "the target died")
        # Right behind a fork the page of the stack is copied when it is written to; that takes long here and there.
        check_complete(recording.path, recording.stats, 0.94)
    check_accounts(recording.stats)
    check(with_function(recording.stacks, "crowd_child") > 50, f"{recording.stats}")


@case
def a_storm_of_vforks():
    need_root()
    with directory() as where:
        # The children are too short for a clock; each has page faults at its start.
        recording = record(where, "-e", "page-faults", "-c", "20", "--call-graph", "dwarf,4096",
                           "-m", "1024", "--", CROWD, "vforks", "200", seconds=60)
    stats, stacks = recording.stats, recording.stacks
    check(sum(stats["stacks"].values()) == stats["samples"], f"{stats}")
    check(not any(stats["dropped"].values()), f"{stats}")
    check(with_function(stacks, "dl_main") + stats["lost"] >= 100, f"{stats}")
    # A fault of the kernel's own, between two programs, has no user stack to speak of.
    between = with_function(stacks, "load_elf_binary")
    check(stats["stacks"]["broken"] - between <= 0.02 * stats["samples"] + stats["lost"],
          f"{stats}")


# ---- that lie about their names ----


EVIL = b"\x1b[31m\xff;a b\n"


@case
def a_comm_that_is_not_a_name():
    need_root()
    with directory() as where, target("crowd", "comm", EVIL) as program:
        recording = record_work(where, [program.pid], 0.2, "-p", program.pid)
        status, with_progress = shown_in_terminal(80, 24, CTOP, "record", "-o", os.path.join(where, "y.ctop"),
                                                  "--duration", "1.2", "-p", program.pid)
        check(status == 0, f"{status}: {with_progress}")
        report = ctop_ok("report", "--stdio", recording.path).stdout
        tree = ctop_ok("report", "--stdio", "--tree", recording.path).stdout
        lines = ctop_ok("export", "folded", recording.path).stdout
    for what, text in ("stderr", recording.stderr), ("report", report), ("tree", tree), \
            ("folded", lines):
        check_printable(what, text)
    check(b"\x1b[31m" not in with_progress and b"\xff" not in with_progress, f"{with_progress}")
    check("\\x1b[31m\\xff" in recording.stderr, recording.stderr)
    check({stack[0] for stack in recording.stacks} == {"\\x1b[31m\\xff:a_b\\x0a"},
          f"{recording.stacks}")


@case
def a_program_whose_file_name_is_not_a_name():
    need_root()
    with directory() as where:
        path = os.path.join(where, os.fsdecode(b"x; \x1b[2Jy\xff\n(deleted) \xe2\x80\xae.so 7"))
        shutil.copy(CROWD, path)
        subprocess.run(["strip", path], check=True)
        with started(path, "comm", "plain") as program:
            recording = record_work(where, [program.pid], 0.2, "-p", program.pid)
        command = record(where, "-e", "cpu-clock", "--", path, "threads", "100", seconds=60)
        for what in (recording, command):
            report = ctop_ok("report", "--stdio", what.path).stdout
            check_printable("report", report)
            check_printable("stderr", what.stderr)
            check_printable("folded", ctop_ok("export", "folded", what.path).stdout)
            check(share_complete(what.stats) > 0.98, report[:1500])
            # The kernel writes line ends as \\012 in maps, and as they are in records.
            check("y\\xff\\x0a(deleted) \\xe2\\x80\\xae.so 7" in report, report)


# ---- that live elsewhere ----


@case
def a_mount_namespace_of_its_own():
    need_root()
    unshare = need_program("unshare")
    with directory() as where:
        inner = os.path.join(where, "in")
        os.mkdir(inner)
        script = (f"mount -t tmpfs none {inner} && cp {CROWD} {inner}/hidden && "
                  f"exec {inner}/hidden comm x")
        with started(unshare, "-m", "sh", "-c", script) as program:
            check(not os.path.exists(os.path.join(inner, "hidden")), "not hidden")
            recording = record_work(where, [program.pid], 0.2, "-p", program.pid)
    check(with_function(recording.stacks, "crowd_named") > 10, f"{recording.stacks}")
    check(share_complete(recording.stats) > 0.98, f"{recording.stats}")


def copy_with_libraries(program, root):
    """A program and the libraries it needs, below another root."""
    files = [word for word in run("ldd", program).stdout.split() if word.startswith("/")]
    for path in files:
        inside = root + path
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        shutil.copy(path, inside)
    shutil.copy(program, os.path.join(root, "program"))


@case
def a_root_of_its_own():
    need_root()
    chroot = need_program("chroot")
    with directory() as where:
        copy_with_libraries(CROWD, where)
        # What is at the same path outside is another program.
        with started(chroot, where, "/program", "comm", "x") as program:
            recording = record_work(where, [program.pid], 0.2, "-p", program.pid)
    check(with_function(recording.stacks, "crowd_named") > 10, f"{recording.stacks}")
    check(share_complete(recording.stats) > 0.98, f"{recording.stats}")


@case
def a_pid_namespace_of_its_own():
    need_root()
    unshare = need_program("unshare")
    with directory() as where, started(unshare, "-p", "-f", "--kill-child", "--mount-proc", CROWD,
                                    "children", "10") as program:
        check(program.words[1] == "1", f"{program.words}")
        inner = child_pids(program.pid)[0]
        recording = record_work(where, [inner], 0.2, "-p", inner)
        # Right behind a fork the page of the stack is copied when it is written to; that takes long here and there.
        check_complete(recording.path, recording.stats, 0.94)
    check(with_function(recording.stacks, "crowd_child") > 10, f"{recording.stacks}")


# ---- that one may not look into ----


def as_nobody(where, *command, **options):
    """Runs a program as an unprivileged user; what it reads and writes is in a directory for all."""
    setpriv = need_program("setpriv")
    return run(setpriv, f"--reuid={NOBODY}", "--clear-groups", *command, cwd=where, **options)


def need_paranoid_at_most(level):
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
        if int(file.read()) > level:
            raise Skip("plain users may not sample here")


@case
def an_undumpable_process():
    need_root()
    need_paranoid_at_most(2)
    setpriv = need_program("setpriv")
    with directory() as where:
        copy_for_all(where, CTOP, CROWD)
        with started(setpriv, f"--reuid={NOBODY}", "--clear-groups",
                     os.path.join(where, "crowd"), "undumpable") as program:
            result = as_nobody(where, "./ctop", "record", "-o", "x.ctop", "-p", program.pid)
            check_refused(result, 1, str(program.pid), "dumpable")
            check(not os.path.exists(os.path.join(where, "x.ctop")), "an empty file is left")
            recording = record_work(where, [program.pid], 0.2, "-p", program.pid)
    check(with_function(recording.stacks, "crowd_named") > 10, f"{recording.stacks}")


@case
def a_setuid_program():
    need_root()
    need_paranoid_at_most(2)
    setpriv = need_program("setpriv")
    with directory() as where:
        copy_for_all(where, CTOP, CROWD)
        os.chmod(os.path.join(where, "crowd"), 0o4755)
        if os.statvfs(where).f_flag & os.ST_NOSUID:
            raise Skip("no setuid programs on this file system")
        with started(setpriv, f"--reuid={NOBODY}", "--clear-groups",
                     os.path.join(where, "crowd"), "comm", "x") as program:
            result = as_nobody(where, "./ctop", "record", "-o", "x.ctop", "-p", program.pid)
            check_refused(result, 1, str(program.pid), "setuid")
        # As a command of ctop's: its privileges, or nothing; never a hang or a crash.
        result = as_nobody(where, "./ctop", "record", "-o", "x.ctop", "--duration", "0.5", "--",
                           "./crowd", "exit")
        check(result.returncode == 0, f"{result}")


@case
def a_32_bit_process():
    need_root()
    with directory() as where:
        source, path = os.path.join(where, "x.c"), os.path.join(where, "x")
        with open(source, "w", encoding="utf-8") as file:
            file.write("void _start(void) { for (volatile int i = 0;; i++); }")
        # Without a libc: a compiler that has none of 32 bits makes the program all the same.
        if run("cc", "-m32", "-nostdlib", "-static", "-o", path, source).returncode:
            raise Skip("no 32-bit compiler here")
        try:
            program = subprocess.Popen([path])
        except OSError as error:
            raise Skip(f"this kernel starts no 32-bit program: {error}") from error
        try:
            recording = record_work(where, [program.pid], 0.2, "-p", program.pid)
        finally:
            program.kill()
            program.wait()
        report = ctop_ok("report", recording.path).stdout
    stats = recording.stats
    check(stats["samples"] > 50, f"{stats}")
    # Refused one by one, not guessed.
    check(stats["stacks"]["broken"] + stats["stacks"]["kernel_only"] == stats["samples"], f"{stats}")
    check("abi32" in report, report)


# ---- that are none, or do nothing ----


@case
def a_file_in_the_place_of_a_target():
    """By its name, or by what is in it."""
    need_root()
    with directory() as where, target("spin") as program:
        recorded = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=1).path
        wanted = ctop_ok("report", recorded).stdout
        os.link(recorded, os.path.join(where, "profile-of-today"))
        for word in recorded, "test.ctop", "profile-of-today", "./test.ctop":
            result = ctop(word, cwd=where)
            check(result.returncode == 0 and result.stdout == wanted, f"{word}: {result}")
        check("CALL TREE" in ctop_ok(recorded, "--tree", "--stdio").stdout, "--tree")
        check_refused(ctop(os.path.join(where, "gone.ctop")), 1, "cannot open")
        check_refused(ctop("-F", "99", recorded), 2, "nothing to sample")
        # What only has the name of a process is one.
        with open(os.path.join(where, "nobody-is-called-so"), "w", encoding="ascii") as file:
            file.write("text")
        os.mkfifo(os.path.join(where, "fifo-called-so"))
        for word in "nobody-is-called-so", "fifo-called-so":
            check_refused(ctop(word, cwd=where), 1, "no process named")


@case
def no_samples_of_an_event():
    """What is said of it fits the event."""
    need_root()
    with directory() as where, child("sleep", "1000") as program:
        for event, right, wrong in ("page-faults", "page-faults", "CPU time"), ("cpu-clock", "CPU time", "there was no"):
            path = os.path.join(where, "x.ctop")
            ctop_ok("record", "-q", "-e", event, "-o", path, "--duration", "0.1", "-p", program.pid)
            for text in ctop_ok("report", path).stdout, ctop_ok("--stdio", "-q", "-e", event, "--duration", "0.1", "-p",
                                                                program.pid).stdout:
                said = text.partition("No samples")[2]
                check(said and right in said and wrong not in said, text)


if __name__ == "__main__":
    main()
