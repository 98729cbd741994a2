#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The interface in a real terminal: that it shows a live profile, and leaves the terminal as it was."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import (BUILD, CTOP, Skip, called, case, check, ctop_ok, directory, main, need_program, need_root, target, wait_for_cpu_time,
                     wait_until)


@contextlib.contextmanager
def live(*options, cols=80, rows=24):
    """ctop on a spinning workload; its first functions are on the screen."""
    need_root()
    with target("spin", "600") as program, terminal(cols, rows) as window:
        before = window.modes()
        window.type(" ".join([CTOP, "-p", str(program.pid), *options]))
        window.wait_for("LIVE", "spin_loop")
        yield window, program
        window.wait_for_prompt()
        # Behind its prompt the shell may still set them.
        wait_until(lambda: window.modes() == before, f"the terminal as it was: {before}")


@case
def q_leaves_and_the_terminal_is_as_before():
    with live() as (window, _):
        window.press("q")


@case
def interrupt_leaves():
    with live() as (window, _):
        window.press("C-c")


@case
def views_follow_their_keys():
    with live() as (window, _):
        window.wait_for("[1 Top]", "FUNCTION", "MODULE")
        for key, words in (("2", "CALL TREE"), ("3", "CALLERS"), ("5", "[5 Flame]"),
                           ("6", "SHARE%"), ("?", "Keys in the view Threads"),
                           ("Escape", "[6 Threads]"), ("Tab", "[1 Top]"),
                           ("b", "CALLED FUNCTION"), ("b", "LINE"), ("4", "CALLEES of"), ("i", "How this profile is made")):
            window.press(key)
            window.wait_for(words)
        window.press("q")


@case
def suspended_and_back():
    with live() as (window, _):
        window.press("C-z")
        window.wait_for("Stopped")
        window.wait_for_prompt()
        window.type("fg")
        window.wait_for("LIVE", "[1 Top]")
        window.press("2")
        window.wait_for("CALL TREE")
        window.press("q")


@case
def nothing_makes_it_deaf_for_suspending():
    """Curses ignores the signal while it draws, unless it is told not to: one that is pending then is gone."""
    need_root()
    with directory() as where, target("spin", "600") as program, terminal() as window:
        said = os.path.join(where, "actions")
        window.type(f"{need_program('strace')} -e trace=rt_sigaction -o {said} {CTOP} -p {program.pid}")
        window.wait_for("LIVE", "spin_loop")
        window.press("2")
        window.wait_for("CALL TREE")
        window.press("q")
        window.wait_for_prompt()
        with open(said, encoding="ascii") as file:
            actions = [line for line in file if "(SIGTSTP, {" in line]
    check(actions and not any("(SIGTSTP, {sa_handler=SIG_IGN" in line for line in actions), f"{actions}")


@case
def a_storm_of_sizes():
    with live() as (window, _):
        sizes = (40, 10), (120, 40), (1, 1), (2, 5), (200, 3), (30, 60), (300, 100), (80, 24)
        for i in range(104):
            window.resize(*sizes[i % len(sizes)])
            if i % 13 == 0:
                window.press("Tab")
        window.press("1")
        window.wait_for("[1 Top]", "quit")
        window.resize(120, 40)
        window.wait_for("THREADS", "CALLEES")
        window.press("q")


@case
def ended_by_a_signal():
    with live() as (window, _):
        os.kill(window.child(), signal.SIGTERM)


@case
def killed_by_a_fatal_signal():
    for number in signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT:
        with live() as (window, _):
            window.press("m")
            os.kill(window.child(), number)


def own_processes(window):
    """ctop's own: {name: pid}."""
    main_pid, own = window.child(), {}
    with open(f"/proc/{main_pid}/task/{main_pid}/children", encoding="ascii") as children:
        for pid in children.read().split():
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                own[comm.read().strip().removeprefix("ctop-")] = int(pid)
    return own


@case
def a_process_of_its_own_dies_and_the_session_goes_on():
    for name in "collector", "symbolizer":
        with live() as (window, _):
            os.kill(own_processes(window)[name], signal.SIGSEGV)
            window.wait_for("restarts 1!", "LIVE", "spin_loop")
            wait_until(lambda: name in own_processes(window), f"another {name}")
            window.press("r")
            window.wait_for(" all", "spin_loop")
            window.press("q")


def count(text):
    """18.6k as a number."""
    scale = {"k": 1e3, "M": 1e6}.get(text[-1], 1)
    return float(text.rstrip("kM")) * scale


def counted(screen):
    """Samples since the start: shown, lost by the kernel, missed by main."""
    found = [re.search(pattern, screen) for pattern in (r"([\d.,]+[kM]?) samples", r"lost ([\d.]+[kM]?)", r"dropped ([\d.]+[kM]?)")]
    return [count(one.group(1).replace(",", "")) if one else 0 for one in found]


@case
def the_terminal_is_stopped_for_seconds():
    with live("-F", "10000", "--max-overhead", "0", cols=120) as (window, program):
        window.press("w")
        window.wait_for(" all")
        before = counted(window.screen())
        window.press("C-s")
        wait_for_cpu_time(program.pid, 2)
        window.press("C-q", "2")
        screen = window.wait_until(lambda screen: "CALL TREE" in screen and
                                   sum(counted(screen)) > sum(before) + 5000, "the samples of that time")
        window.press("q")
        if counted(screen)[1]:
            raise Skip(f"the machine is too busy for 10 kHz: {screen.splitlines()[1]}")


@case
def continued_after_a_stop_from_outside():
    with live() as (window, _):
        os.kill(window.child(), signal.SIGSTOP)
        window.wait_for("Stopped")
        window.type("fg")
        window.wait_for("LIVE", "[1 Top]")
        window.press("q")


@case
def paused_and_on_again():
    with live() as (window, _):
        window.press("Space")
        window.wait_for("PAUSED")
        window.wait_until(lambda screen: "PAUSED" in screen and "+" in screen.splitlines()[0],
                          "samples that came meanwhile")
        window.press("Space")
        window.wait_for("LIVE")
        window.press("q")


@case
def the_target_ends():
    with live() as (window, program):
        program.kill()
        window.wait_for("EXITED", "spin")
        window.press("2")
        window.wait_for("CALL TREE", "spin_loop")
        window.press("q")


@case
def the_duration_is_over():
    with live("--duration", "1") as (window, program):
        window.wait_for("STOPPED", "spin_loop")
        check(program.poll() is None, "the target has ended")
        window.press("q")


@case
def switched_off_and_on_by_a_signal():
    with live() as (window, _):
        os.kill(window.child(), signal.SIGUSR1)
        window.wait_for("SAMPLING OFF")
        os.kill(window.child(), signal.SIGUSR1)
        window.wait_for("LIVE")
        window.press("q")


@case
def an_idle_target_is_said_to_sleep():
    need_root()
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        with terminal() as window:
            window.type(f"{CTOP} -p {sleeper.pid}")
            window.wait_for("LIVE", "1 thread sleeps")
            window.press("2", "Right", "E", "b", "Enter", "5", "Down", "6", "Enter")
            window.wait_for("[6 Threads]")
            window.press("q")
            window.wait_for_prompt()
    finally:
        sleeper.kill()
        sleeper.wait()


@case
def filters_stack_and_are_taken_back():
    with live() as (window, _):
        for key in "\\", *"spin_thread":
            window.press(key)
        window.press("Enter")
        window.wait_for("filter: ~spin_thread", "% of time shown")
        window.press("f")
        window.wait_for("~spin_thread > in spin_loop")
        window.press("Escape", "Escape")
        window.wait_until(lambda screen: "filter:" not in screen, "no filter")
        window.press("q")


@case
def a_key_samples_with_less():
    with live() as (window, _):
        # Of smaller copies and a lower rate there are a few; some may be in use already.
        window.wait_until(lambda screen: window.press("<") or "this is the least" in screen, "the last of them")
        window.press("i")
        window.wait_for("copies of ")
        window.press("q")


@case
def thirteen_processes_leave_room_on_the_first_line():
    need_root()
    with called(*["many"] * 13) as programs, terminal() as window:
        window.type(f"{CTOP} -p {','.join(str(program.pid) for program in programs)}")
        screen = window.wait_for("LIVE", "spin_loop")
        check("+11 more" in screen.splitlines()[0] and "cpu-clock" in screen.splitlines()[0], screen)
        window.press("q")
        window.wait_for_prompt()


@case
def what_is_shown_is_written():
    with live() as (window, _):
        window.press("\\", *"spin_thread", "Enter")
        window.wait_for("filter: ~spin_thread")
        window.press("x")
        window.wait_for("to: ctop.folded")
        window.press("Enter")
        window.wait_for("written: ctop.folded")
        with open(os.path.join(window.where, "ctop.folded"), encoding="utf-8") as file:
            lines = file.readlines()
        # A sample may be of the function itself, between two of its calls.
        check(lines and all("spin_thread" in line.rpartition(" ")[0].split(";")[1:] and line.rsplit(" ", 1)[1].strip().isdigit()
                            for line in lines), f"not the folded stacks shown: {lines}")
        window.press("x")
        window.wait_for("to: ctop-1.folded")
        window.press("C-u", *"ctop.folded", "Enter")
        window.wait_for("not written: ctop.folded is there already")
        with open(os.path.join(window.where, "ctop.folded"), encoding="utf-8") as file:
            check(file.readlines() == lines, "written over")
        window.press("q")


@case
def what_is_shown_is_written_as_a_recording_and_as_text():
    with live() as (window, _):
        window.press("\\", *"spin_thread", "Enter", "Space", "x", "Tab")
        window.wait_for("to: ctop.txt")
        window.press("Enter")
        window.wait_for("written: ctop.txt")
        window.press("x", "Tab", "Tab")
        window.wait_for("to: ctop.ctop")
        window.press("Enter")
        screen = window.wait_for("written: ctop.ctop, a recording of ")
        samples = re.search(r"recording of ([\d,]+) samples", screen).group(1)
        path = os.path.join(window.where, "ctop.ctop")
        window.press("q")
        text = ctop_ok("report", "--stdio", path).stdout
        check(f", {samples} samples, " in text and "filter ~spin_thread" in text and
              "spin_loop" in text, f"{samples} samples are\n{text}")
        folded = ctop_ok("export", "folded", path).stdout.splitlines()
        check(folded and all(";spin_thread;" in line for line in folded), f"{folded}")
        with open(os.path.join(window.where, "ctop.txt"), encoding="utf-8") as file:
            script = file.read()
        times = [float(time) for time in re.findall(r" (\d+\.\d{6}): ", script)]
        check(times and times == sorted(times), "samples are not in the order of time")
        check(script.count("cpu-clock") == int(samples.replace(",", "")) and
              ctop_ok("export", "script", path).stdout.count("spin_loop") == script.count("spin_loop"),
              "the text has other samples")


@case
def ascii_and_no_colours():
    with live("--ascii", "--theme", "mono") as (window, _):
        window.press("2")
        screen = window.wait_for("CALL TREE", "spin_loop")
        check(screen.isascii(), screen)
        coloured = window.tmux("capture-pane", "-p", "-e", "-t", "test")
        found = re.findall(r"\x1b\[[0-9;]*\b(?:[34][0-8]|9[0-7])[0-9;]*m", coloured)
        check(not found, f"colours in {coloured!r}")
        window.press("q")


@case
def a_process_is_picked():
    need_root()
    with target("spin", "600") as program, terminal() as window:
        window.type(CTOP)
        window.wait_for("which process?", "COMMAND")
        window.press(*str(program.pid))
        window.wait_for(f"filter: {program.pid}", "spin")
        window.press("Enter")
        window.wait_for("LIVE", f"spin[{program.pid}]")
        window.press("q")
        window.wait_for_prompt()


@case
def a_process_that_cannot_be_profiled_leaves_the_picker_open():
    need_root()
    ended = subprocess.Popen(["true"])  # listed until it is waited for
    try:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        with target("spin", "600") as program, terminal() as window:
            window.type(CTOP)
            window.wait_for("which process?", "COMMAND")
            window.press(*str(ended.pid))
            window.wait_for(f"filter: {ended.pid}", "[true]")
            window.press("Enter")
            window.wait_for("which process?", "is a zombie", f"filter: {ended.pid}",
                            f"ctop doctor -p {ended.pid}")
            window.press("Escape", *str(program.pid))
            window.wait_for(f"filter: {program.pid}", "spin")
            window.press("Enter")
            window.wait_for("LIVE", f"spin[{program.pid}]")
            window.press("q")
            window.wait_for_prompt()
    finally:
        ended.wait()


@case
def threads_say_what_they_do():
    with live() as (window, _):
        window.press("6")
        window.wait_for("CPU%", "NOW", "runs")
        window.press("q")


@case
def what_has_no_names_is_told_by_module():
    need_root()
    with target("demo") as program, terminal() as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE", "[1 Top]", "demo")
        window.press("i")
        # What is told grows with what is known: its end is looked for until it is there.
        window.wait_until(lambda screen: window.press("G") or all(text in screen for text in ("by module:", "% of ", "8 shows the modules")),
                          "names by module")
        window.press("q")
        window.wait_for_prompt()


@case
def a_whole_machine_is_shown_by_process():
    need_root()
    with target("spin", "600") as program, terminal(120) as window:
        window.type(f"{CTOP} -a")
        window.wait_for("LIVE", "busy", f"% of {os.cpu_count()}", "spin_loop")
        window.wait_for("PROGRAM", "[6 Threads]")
        window.press("p", "p")
        window.wait_for("PROCESS", "THR")
        window.select(f"{program.pid} spin")
        window.press("Enter", "2")
        window.wait_for(f"filter: process={program.pid} spin", "CALL TREE", "spin_loop")
        window.press("q")
        window.wait_for_prompt()


def descends(screen, *names):
    """Whether rows of the tree have these names, one after the other, each deeper than the one before."""
    depth, left = -1, list(names)
    for line in screen.splitlines():
        row = re.fullmatch(r"[> ] +[\d.]+ +[\d.]+ +(?:[▾▸] )?(\S.*?) *", line)
        if left and row and row.group(1) == left[0] and row.start(1) > depth:
            depth = row.start(1)
            del left[0]
    return not left


@contextlib.contextmanager
def two_workloads():
    """[(process's row, path of functions)]"""
    with target("spin", "600") as spin, target("threads", "600") as threads:
        yield [(f"spin {spin.pid}", ("main", "spin_main", "spin_loop")),
               # Its main thread only waits; the process goes by it all the same.
               (f"threads {threads.pid}", ("root_40", "spend_40", "work_40"))]


def check_tree_of_processes(window, workloads):
    """Each workload has its row, found by name and pid, alone when Enter is pressed; its stacks are below it."""
    rows = [row for row, _ in workloads]
    window.press("2", "C")
    window.wait_for("CALL TREE, by process")
    for row, path in workloads:
        name, pid = row.split()
        window.select(row)
        window.press("Enter", "E")
        screen = window.wait_until(
            lambda screen, row=row, path=path: "filter: process=" in screen and
            descends(screen, row, *path), f"{path} below {row}")
        check(f"filter: process={pid} {name}" in screen, screen)
        check(not any(other in screen for other in rows if other != row), screen)
        window.press("Escape", "C")
        window.wait_until(lambda screen: "filter:" not in screen, "no filter")


@case
def the_tree_of_a_whole_machine_begins_with_its_processes():
    need_root()
    with two_workloads() as workloads, terminal(100, 60) as window:
        window.type(f"{CTOP} -a -F 199")
        window.wait_for("LIVE", "busy", f"% of {os.cpu_count()}", "spin_loop")
        check_tree_of_processes(window, workloads)
        window.press("p")
        window.wait_until(lambda screen: "CALL TREE" in screen and ", by process" not in screen,
                          "the stacks of all together")
        window.press("E")
        window.select("spin_loop")
        window.press("q")
        window.wait_for_prompt()


@case
def a_whole_machine_is_busy_whatever_the_event_is():
    need_root()
    with target("spin", "600"), terminal(100) as window:
        window.type(f"{CTOP} -a -e context-switches")
        window.wait_until(lambda screen: re.search(rf"busy [1-9]\d*% of {os.cpu_count()} CPUs", screen),
                          "how busy it is")
        window.press("q")
        window.wait_for_prompt()


@case
def so_does_that_of_a_recording():
    need_root()
    with two_workloads() as workloads, directory() as where, terminal(100, 60) as window:
        path = os.path.join(where, "profile.ctop")
        ctop_ok("record", "-q", "-a", "-F", "199", "--duration", "2", "-o", path)
        window.type(f"{CTOP} report {path}")
        window.wait_for("FILE", "busy", f"% of {os.cpu_count()}", "spin_loop")
        check_tree_of_processes(window, workloads)
        row, path = workloads[0]
        window.press("5")
        window.wait_for("[5 Flame]", "[all]")
        window.press("/", *(letter.replace(" ", "Space") for letter in row), "Enter", "Enter")
        window.wait_for("[5 Flame]", row, path[-1])
        window.press("q")
        window.wait_for_prompt()


@case
def another_program_is_run():
    """A shell that becomes the workload: what is shown is the workload's."""
    need_root()
    shell = subprocess.Popen(["sh", "-c", f"read line; exec {BUILD}/workloads/spin 600"],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        with terminal() as window:
            window.type(f"{CTOP} -p {shell.pid}")
            window.wait_for("LIVE", f"[{shell.pid}]")
            shell.stdin.write(b"\n")
            shell.stdin.flush()
            window.wait_for("EXEC", f"the target now runs spin[{shell.pid}]", "spin_loop", "LIVE")
            window.press("q")
            window.wait_for_prompt()
    finally:
        shell.kill()
        shell.wait()
        shell.stdin.close()


@case
def a_command_runs_another_program():
    need_root()
    with terminal() as window:
        window.type(f"{CTOP} -- sh -c 'sleep 3; exec {BUILD}/workloads/spin 600'")
        window.wait_for("LIVE", "sh[")
        screen = window.wait_for("EXEC", "the target now runs spin[", "spin_loop")
        os.kill(int(re.search(r"now runs spin\[(\d+)\]", screen).group(1)), signal.SIGKILL)
        window.wait_for("EXITED signal 9")
        window.press("q")
        window.wait_for_prompt()


@case
def one_of_several_events_is_shown():
    need_root()
    with target("spin", "600") as program, terminal(100) as window:
        window.type(f"{CTOP} -e cpu-clock,context-switches -F 500 -p {program.pid}")
        window.wait_for("1/2 cpu-clock", "spin_loop")
        window.press("e")
        window.wait_for("2/2 context-switches", "[k] schedule")
        window.press("e")
        window.wait_for("1/2 cpu-clock", "spin_loop")
        window.press("q")
        window.wait_for_prompt()


@case
def the_target_ends_in_a_pause():
    with live() as (window, program):
        window.press("Space")
        window.wait_for("PAUSED")
        program.kill()
        window.wait_for("EXITED", "PAUSED", "spin_loop")
        window.press("q")


@case
def a_recording_is_shown():
    need_root()
    with target("spin", "600") as program, directory() as where, terminal() as window:
        path = os.path.join(where, "profile.ctop")
        ctop_ok("record", "-q", "-p", program.pid, "--duration", "0.5", "-o", path)
        window.type(f"{CTOP} report {path}")
        screen = window.wait_for("FILE", "[1 Top]", "spin")
        check(re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d, [\d.]+ s, ", screen.splitlines()[0]), screen)
        window.press("w")
        window.wait_for("last 10 s")
        window.press("2")
        window.wait_for("CALL TREE", "spin_loop")
        window.press("q")
        window.wait_for_prompt()
        window.type(f"{CTOP} report --stdio {path} | head -3")
        window.wait_for("target ")


@case
def a_recording_is_shown_before_it_is_read():
    """Through a pipe that gives its last bytes late."""
    need_root()
    with target("spin", "600") as program, directory() as where, terminal() as window:
        path, pipe = os.path.join(where, "profile.ctop"), os.path.join(where, "pipe")
        ctop_ok("record", "-q", "-p", program.pid, "--duration", "2.5", "-o", path)
        with open(path, "rb") as file:
            recording = file.read()
        os.mkfifo(pipe)
        with open(pipe, "r+b", buffering=0) as late:
            window.type(f"{CTOP} report {pipe}")
            late.write(recording[:-16])
            window.wait_for("LOADING", "[1 Top]", "spin_loop")
            window.press("2")
            window.wait_for("LOADING", "CALL TREE", "spin_loop")
            late.write(recording[-16:])
        window.wait_for("FILE", "CALL TREE", "spin_loop")
        window.press("q")
        window.wait_for_prompt()


@case
def a_file_that_fails_in_its_middle_gives_the_terminal_back():
    need_root()
    with directory() as where, terminal() as window:
        pipe = os.path.join(where, "pipe")
        os.mkfifo(pipe)
        with open(pipe, "r+b", buffering=0) as late:
            window.type(f"{CTOP} report {pipe}; echo status $?")
            late.write(b"\x8ectop\r\n\x1a")
            window.wait_for("LOADING", "Reading the recording")
            late.write(b"\xff" * 8)  # of a version that there will never be
        window.wait_for("status 1", "ctop: ")
        window.wait_for_prompt()


@case
def a_command_does_not_write_over_the_interface():
    need_root()
    with terminal() as window:
        window.type(f"{CTOP} -- sh -c 'echo spoken; exec {BUILD}/workloads/spin 3; echo $?'; echo status $?")
        screen = window.wait_for("EXITED", "status 0")
        check("spoken" not in screen and "ready" not in screen, screen)
        window.press("q")
        window.wait_for_prompt()
        window.wait_for("spoken", "ready", "status 0")


@case
def the_terminal_goes_away():
    """Without a signal: whoever started ctop has made it a session of its own."""
    need_root()
    master, slave = pty.openpty()
    with target("spin", "600") as program:
        environment = os.environ | {"TERM": "xterm"}
        command = subprocess.Popen([CTOP, "-p", str(program.pid)], stdin=slave, stdout=slave,
                                   stderr=slave, start_new_session=True, env=environment)
        os.close(slave)
        try:
            written = b""
            while b"spin_loop" not in written:
                written += os.read(master, 65536)
            os.close(master)
            command.wait(60)
        finally:
            command.kill()
            command.wait()


@case
def terminals_and_sizes_of_all_kinds():
    need_root()
    with target("spin", "600") as program:
        for name, cols, rows, setting in (("xterm-256color", 40, 10, ""), ("screen", 300, 100, ""),
                                          ("tmux", 80, 24, "NO_COLOR=1"),
                                          ("linux", 120, 40, "LC_ALL=C"),
                                          ("vt100", 80, 24, "")):
            with terminal(cols, rows) as window:
                before = window.modes()
                window.type(f"{setting} TERM={name} {CTOP} -p {program.pid}")
                window.wait_for("LIVE", "[1 Top]", "spin_loop")
                for key, word in ("2", "CALL TREE"), ("5", "spin_loop"), ("6", "SHARE%"):
                    window.press(key)
                    screen = window.wait_for(word)
                check("LC_ALL" not in setting or screen.isascii(), f"TERM={name}: {screen}")
                window.press("q")
                # Nothing of it is left, where there is no other screen as well.
                screen = window.wait_for_prompt()
                check(not any(word in screen for word in ("Top", "SELF%", "spin[", "quit", "names")), f"TERM={name}: {screen}")
                wait_until(lambda: window.modes() == before, f"modes as before, TERM={name}: {before}")


@case
def no_interface_on_a_dumb_terminal():
    need_root()
    with target("spin", "600") as program, terminal(120, 50) as window:
        for setting in "TERM=dumb", "TERM=":
            window.type(f"clear; {setting} {CTOP} -p {program.pid} --duration 0.3")
            window.wait_for("cannot show the interface", "SELF%  TOTAL%", "duration")
            window.wait_for_prompt()
        window.type(f"clear; TERM=no-such-terminal {CTOP} -p {program.pid}; echo status $?")
        window.wait_for("unknown terminal type", "status 1")


@case
def the_cause_stands_on_the_screen_when_it_cannot_begin():
    with terminal() as window:
        window.type(f"{CTOP} -p 2147483647; echo status $?")
        screen = window.wait_for("status 1")
        check("ctop: " in screen and "2147483647" in screen, screen)


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
