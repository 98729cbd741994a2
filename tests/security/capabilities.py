#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ctop with file capabilities: none is effective but around the calls that need it, and no file is opened because
the caller's environment names it. As root: no more than files and limits take."""

import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from harness import (CTOP, NOBODY, OTHER_USER, PARANOID_IS_2, PATIENCE, Skip, alone, case, check, child, children_of,
                     ctop_ok, directory, folded, main, need_program, need_root, open_to_all, paranoid, run, status_of,
                     target, wait_for_cpu_time, wait_for_samples, wait_until, with_function)

CAPABILITIES = "cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock"
ENOUGH = 1 << 38 | 1 << 19 | 1 << 34 | 1 << 14
# What root keeps: chown, dac_override, dac_read_search, fowner, fsetid, kill, sys_resource.
FILES_AND_LIMITS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 24
# A terminal's description with words of its own where xterm's has none.
MARK = b"FROM-THE-CALLER"
PLAIN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TERM": "xterm", "LANG": "C.UTF-8"}


@contextlib.contextmanager
def installed(how="p"):
    """A directory that everybody may write, with a ctop that has the capabilities."""
    need_root()
    setcap = need_program("setcap")
    with directory() as where:
        open_to_all(where)
        os.chmod(where, 0o777)
        program = os.path.join(where, "ctop")
        shutil.copy(CTOP, program)
        result = run(setcap, f"{CAPABILITIES}={how}", program)
        if result.returncode or os.statvfs(where).f_flag & os.ST_NOSUID:
            raise Skip(f"no file capabilities here: {result.stderr.strip() or 'nosuid'}")
        yield where, program


def as_nobody():
    return [need_program("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def describe_terminal(where, name):
    """A directory of terminal descriptions that a caller may name: xterm's own, but the screen begins with MARK."""
    tic, infocmp = need_program("tic"), need_program("infocmp")
    source = run(infocmp, "-1", "xterm").stdout
    check("\tsmcup=" in source, source)
    lines = [f"{name}|a caller's," if line.startswith("xterm|") else line for line in source.splitlines()]
    lines = [f"\tsmcup={MARK.decode()}\\E[?1049h," if line.startswith("\tsmcup=") else line for line in lines]
    text = os.path.join(where, f"{name}.ti")
    with open(text, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    descriptions = os.path.join(where, "home", ".terminfo")
    os.makedirs(descriptions, exist_ok=True)
    result = run(tic, "-x", "-o", descriptions, text)
    check(result.returncode == 0, result.stderr)
    run("chmod", "-R", "a+rX", os.path.join(where, "home"))
    return os.path.join(where, "home"), descriptions


class Interface:
    """ctop's interface on a terminal of its own, what it wrote there, and its end."""

    def __init__(self, command, environment):
        self.master, slave = pty.openpty()
        self.written = b""
        self.process = subprocess.Popen([str(word) for word in command], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment, start_new_session=True)
        os.close(slave)

    def read_until(self, condition):
        """True when it came to that; false when the program ended before."""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while not condition():
                chunk = os.read(self.master, 65536)
                if not chunk:
                    return False
                self.written += chunk
            return True
        return False

    def shows(self, word):
        return self.read_until(lambda: word in self.written)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


# ---- capabilities ----


def recorded(path, pid, *program):
    """The stacks of a process while it uses CPU time, as that program records them."""
    with child(*program, "record", "-q", "-e", "cpu-clock", "-p", pid, "-o", path, stderr=subprocess.PIPE,
               text=True) as recorder:
        wait_for_samples(recorder, path)
        wait_for_cpu_time(pid, 0.5, lambda: recorder.poll() is not None)
        recorder.send_signal(signal.SIGINT)
        errors = recorder.communicate(timeout=PATIENCE)[1]
    check(recorder.returncode == 0, errors)
    return folded(path)


def effective(pid):
    return int(status_of(pid, "CapEff"), 16)


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def none_is_effective_while_the_interface_runs():
    for how in ("p", "ep"):
        with installed(how) as (_, program), target("spin") as roots, paranoid(2):
            command = [*as_nobody(), program, "-e", "cpu-clock", "-p", roots.pid]
            with Interface(command, PLAIN) as interface:
                check(interface.shows(b"spin_loop"), f"{how}: {interface.written}")
                pid = interface.process.pid
                check(int(status_of(pid, "CapPrm"), 16) == ENOUGH, f"{how}: {status_of(pid, 'CapPrm')}")
                # Raised for the moment of a call only.
                wait_until(lambda pid=pid: effective(pid) == 0, f"moment without effective capabilities ({how})")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def they_are_raised_for_what_needs_them():
    with installed() as (where, program), paranoid(2), target("spin") as spins, \
            child("dd", "if=/dev/zero", "of=/dev/null", "bs=1", stderr=subprocess.DEVNULL) as reads:
        for process, function in ((spins, "spin_loop"), (reads, "read_zero")):
            # Others' mappings, and the kernel's names.
            stacks = recorded(os.path.join(where, f"{function}.ctop"), process.pid, *as_nobody(), program)
            check(with_function(stacks, function) > 3, f"{function}: {stacks}")
        result = run(*as_nobody(), program, "doctor", "--json")
        check('"works": true' in result.stdout or '"works":true' in result.stdout, result.stdout)


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def they_see_what_is_hidden_from_users():
    with installed() as (where, program), paranoid(2), target("spin") as spins:
        path = os.path.join(where, "x.ctop")
        hide = f"mount -t proc -o hidepid=invisible proc {where}/proc && mount --bind {where}/proc /proc"
        os.mkdir(os.path.join(where, "proc"))
        if run(need_program("unshare"), "--mount", "sh", "-c", hide).returncode:
            raise Skip("no /proc with hidepid")
        stacks = recorded(path, spins.pid, "unshare", "--mount", "sh", "-c", f'{hide} && exec "$@"', "sh", *as_nobody(), program)
        check(with_function(stacks, "spin_loop") > 3, f"{stacks}")


@case
def root_has_no_more_than_files_and_limits_take():
    need_root()
    with target("spin") as program, Interface([CTOP, "-e", "cpu-clock", "-p", program.pid], PLAIN) as interface:
        check(interface.shows(b"spin_loop"), f"{interface.written}")
        pid = interface.process.pid
        wait_until(lambda: effective(pid) & ~FILES_AND_LIMITS == 0, "moment without root's other capabilities")


@case
def a_command_of_roots_has_all_that_root_has():
    need_root()
    seen = ctop_ok("record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "--", "grep", "CapEff", "/proc/self/status")
    check(seen.stdout.split()[1] == status_of("self", "CapEff"), f"{seen}")


# ---- the environment ----


def callers_words(home, descriptions):
    """Every way to name a terminal's description."""
    return {"TERMINFO": descriptions, "TERMINFO_DIRS": descriptions, "HOME": home}


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def no_terminal_is_described_by_the_caller():
    with installed() as (where, program):
        plain = os.path.join(where, "plain")
        shutil.copyfile(program, plain)
        os.chmod(plain, 0o755)
        home, descriptions = describe_terminal(where, "callers-own")
        for name, value in callers_words(home, descriptions).items():
            environment = {**PLAIN, "TERM": "callers-own", name: value}
            with target("spin") as roots, child(*as_nobody(), "sleep", 600) as own, paranoid(2):
                # The description is one: without privileges it is used.
                with Interface([*as_nobody(), plain, "-e", "cpu-clock", "-p", own.pid], environment) as interface:
                    check(interface.shows(MARK), f"{name}: {interface.written}")
                with Interface([*as_nobody(), program, "-e", "cpu-clock", "-p", roots.pid], environment) as interface:
                    interface.read_until(lambda: b"unknown terminal type" in interface.written or MARK in
                                         interface.written)
                    check(MARK not in interface.written, f"{name}: {interface.written}")
                    check(b"unknown terminal type 'callers-own'" in interface.written, f"{name}: {interface.written}")
                # Nor with sudo, if that lets the variables through.
                with Interface([CTOP, "-e", "cpu-clock", "-p", roots.pid], {**environment, "SUDO_UID": str(OTHER_USER)}) \
                        as interface:
                    interface.read_until(lambda: b"unknown terminal type" in interface.written or MARK in
                                         interface.written)
                    check(MARK not in interface.written, f"sudo, {name}: {interface.written}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def a_description_that_never_opens_holds_nobody():
    with installed() as (where, program), target("spin") as roots, paranoid(2):
        directories = os.path.join(where, "t", "x")
        os.makedirs(directories)
        os.mkfifo(os.path.join(directories, "xterm"), 0o666)
        for name in ("TERMINFO", "TERMINFO_DIRS"):
            environment = {**PLAIN, name: os.path.join(where, "t")}
            with Interface([*as_nobody(), program, "-e", "cpu-clock", "-p", roots.pid], environment) as interface:
                check(interface.shows(b"spin_loop"), f"{name}: {interface.written}")


def environment_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return dict(line.split(b"=", 1) for line in file.read().split(b"\0") if b"=" in line)


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def nothing_for_a_loader_is_passed_on():
    """Not where ctop has more than its caller. No loader takes a sanitizer's options away by itself."""
    with installed() as (where, program), paranoid(2), target("spin") as spins:
        callers = {**PLAIN, "LD_LIBRARY_PATH": where, "LD_PRELOAD": "", "ASAN_OPTIONS": "color=never"}
        for command, environment, expected in (
                ([CTOP], callers, {b"LD_LIBRARY_PATH", b"LD_PRELOAD", b"ASAN_OPTIONS"}),
                ([CTOP], {**callers, "SUDO_UID": "1000"}, set()),
                ([*as_nobody(), program], callers, set())):
            with child(*command, "record", "-q", "-e", "cpu-clock", "-p", spins.pid, "-o", os.path.join(where, "x.ctop"),
                       env=environment) as recorder:
                wait_until(lambda: {"collector", "symbolizer", "writer"} <= set(children_of(recorder.pid)), "children")
                for role, pid in children_of(recorder.pid).items():
                    check(set(environment_of(pid)) == expected, f"{command} {role}: {environment_of(pid)}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def a_command_has_its_callers_environment():
    with installed() as (_, program), paranoid(2):
        for prefix, more in ((as_nobody(), {}), ([], {"SUDO_UID": str(OTHER_USER)})):
            environment = {**PLAIN, **more, "HOME": "/here", "TERMINFO": "/there", "XDG_CONFIG_HOME": "/elsewhere"}
            seen = run(*prefix, program, "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "--", "env",
                       env=environment)
            check(seen.returncode == 0, seen.stderr)
            check(dict(line.split("=", 1) for line in seen.stdout.splitlines()).items() >= environment.items(),
                  seen.stdout)


main()
