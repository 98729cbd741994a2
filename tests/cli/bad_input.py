#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: one line of cause, one of remedy, the right exit code; and nothing is lost."""

import os
import signal
import subprocess

from harness import (BUILD, CTOP, PATIENCE, case, check, check_refused, ctop, ctop_ok, directory, main, need_root,
                     plain_user, readable_ctop, run, target, wait_for_samples)


def refused(status, words, *arguments):
    with directory() as where:
        check_refused(ctop("record", "-o", os.path.join(where, "x.ctop"), *arguments), status,
                      *words)


@case
def no_such_pid():
    refused(1, ["4194303"], "-p", "4194303")


@case
def no_such_thread():
    refused(1, ["4194303"], "-t", "4194303")


@case
def no_process_of_that_name():
    refused(1, ["no-such-process-name"], "no-such-process-name")


@case
def a_process_of_another_user():
    need_root()
    with readable_ctop() as (where, ours), target("spin") as program:
        result = run(*plain_user(), ours, "record", "-o", os.path.join(where, "x.ctop"), "-p", program.pid)
        check_refused(result, 1, str(program.pid))


@case
def a_zombie():
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        refused(1, [str(child.pid)], "-p", child.pid)
    finally:
        child.wait()


@case
def a_kernel_thread_without_privilege():
    need_root()
    with readable_ctop() as (where, ours):
        result = run(*plain_user(), ours, "record", "-o", os.path.join(where, "x.ctop"), "-p", "2")
        check_refused(result, 1, "2")


@case
def a_command_that_does_not_exist():
    refused(127, ["no-such-command-anywhere"][:0], "--", "no-such-command-anywhere")


@case
def a_command_that_is_not_executable():
    with directory() as where:
        path = os.path.join(where, "plain")
        with open(path, "w", encoding="utf-8") as file:
            file.write("not a program\n")
        refused(126, [], "--", path)


@case
def a_command_that_cannot_run_takes_no_recordings_place():
    need_root()
    with directory() as where:
        kept = os.path.join(where, "kept.ctop")
        ctop_ok("record", "-q", "-o", kept, "--", "true")
        with open(kept, "rb") as file:
            before = file.read()
        for command, code in ("no-such-command-anywhere", 127), (os.path.join(where, "none"), 127), (kept, 126), (where, 126):
            check_refused(ctop("record", "-o", kept, "--", command), code, f"cannot run '{command}'")
        with open(kept, "rb") as file:
            check(file.read() == before, "another recording is there")
        check(os.listdir(where) == ["kept.ctop"], f"{os.listdir(where)}")


@case
def unknown_event():
    refused(2, ["cpu-clok", "cpu-clock"], "-e", "cpu-clok", "-p", os.getpid())


@case
def count_of_zero():
    refused(2, ["-c"], "-c", "0", "-p", os.getpid())


@case
def negative_count():
    refused(2, ["-c"], "-c", "-1", "-p", os.getpid())


@case
def frequency_beyond_all_limits():
    refused(2, ["-F"], "-F", "1e9", "-p", os.getpid())


@case
def count_and_frequency():
    refused(2, ["-c", "-F"], "-c", "1000", "-F", "99", "-p", os.getpid())


@case
def nothing_to_record():
    refused(2, [])


@case
def output_in_a_directory_that_is_not_there():
    with target("spin") as program:
        check_refused(ctop("record", "-o", "/nonexistent/x.ctop", "-p", program.pid), 1,
                      "/nonexistent/x.ctop")


@case
def output_on_a_full_device():
    with target("spin") as program:
        check_refused(ctop("record", "-q", "-o", "/dev/full", "--duration", "1", "-p",
                           program.pid), 1, "/dev/full")


@case
def output_through_a_symlink():
    with directory() as where, target("spin") as program:
        victim = os.path.join(where, "victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("precious")
        link = os.path.join(where, "link.ctop")
        os.symlink(victim, link)
        check_refused(ctop("record", "-o", link, "-p", program.pid), 1, "link.ctop")
        with open(victim, encoding="utf-8") as file:
            check(file.read() == "precious", "the link's target was written")


@case
def an_existing_recording_is_kept():
    need_root()
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "x.ctop")
        for _ in range(2):
            ctop_ok("record", "-q", "-o", path, "--duration", "0.3", "-p", program.pid)
        check(os.path.getsize(path) > 0 and os.path.getsize(path + ".old") > 0, "no FILE.old")


@case
def output_over_the_recording_that_is_read():
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", "true")
        with open(path, "rb") as file:
            before = file.read()
        os.link(path, os.path.join(where, "y.ctop"))
        for arguments in (["export", "script", path, "-o", path],
                          ["export", "folded", path, "-o", os.path.join(where, "y.ctop")],
                          ["report", "--stdio", path, "--stats", path]):
            check_refused(ctop(*arguments), 2, "is the recording being read")
        with open(path, "rb") as file:
            check(file.read() == before, "it was changed")


@case
def a_recording_into_standard_output_is_not_mixed_with_the_commands():
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        with open(path, "wb") as file:
            result = subprocess.run([CTOP, "record", "-q", "-e", "cpu-clock:u", "-o", "-", "--",
                                     "echo", "said by the command"], stdin=subprocess.DEVNULL,
                                    stdout=file, stderr=subprocess.PIPE, text=True, check=False)
        check(result.returncode == 0 and result.stderr == "said by the command\n", f"{result}")
        ctop_ok("report", "--stdio", path)


@case
def not_a_recording_at_all():
    check_refused(ctop("report", "--stdio", "/etc/passwd"), 1, "/etc/passwd")
    check_refused(ctop("export", "folded", "/bin/true"), 1, "/bin/true")


@case
def no_recording_there():
    check_refused(ctop("report", "--stdio", "/nonexistent.ctop"), 1, "/nonexistent.ctop")


@case
def an_empty_file():
    check_refused(ctop("report", "--stdio", "/dev/null"), 1, "/dev/null")


@case
def a_recording_cut_short():
    need_root()
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-o", path, "--duration", "0.5", "-p", program.pid)
        whole = os.path.getsize(path)
        for size in (whole - 1, whole // 2, 20):
            os.truncate(path, size)
            result = ctop("report", "--stdio", path)
            check(result.returncode in (0, 1), f"{size}: {result.returncode} {result.stderr}")
            check(result.returncode >= 0, f"a crash at {size}")


@case
def interrupt_ends_with_everything_written():
    need_root()
    for number in (signal.SIGINT, signal.SIGTERM):
        with directory() as where, target("spin") as program:
            path = os.path.join(where, "x.ctop")
            recorder = subprocess.Popen([os.path.join(BUILD, "ctop"), "record", "-o", path, "-p",
                                         str(program.pid)], stderr=subprocess.PIPE, text=True)
            wait_for_samples(recorder, path)
            recorder.send_signal(number)
            _, errors = recorder.communicate(timeout=PATIENCE)
            check(recorder.returncode == 0, f"{recorder.returncode}: {errors}")
            check("samples" in errors, f"no summary: {errors}")
            check("spin" in ctop_ok("report", "--stdio", path).stdout, "nothing in the report")


if __name__ == "__main__":
    main()
