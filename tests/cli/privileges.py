#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every privilege: the best profile there is, with what is missing said; or one cause and what helps.

Levels 3 and 4 of kernel.perf_event_paranoid are some distributions' own; they are emulated by a seccomp filter that
answers as those kernels do (tests/workloads/refuse.c), and so are containers' filters.
"""

import contextlib
import grp
import os
import shutil
import subprocess

from harness import (BUILD, CTOP, OTHER_USER, PARANOID_IS_2, ROOT, Skip, agree, alone, case, check, check_refused, ctop,
                     directory, doctor, folded, main, need_program, need_root, paranoid, plain_user, readable_ctop, run,
                     sysctl, target, with_function)

REFUSE = os.path.join(BUILD, "workloads", "refuse")


@contextlib.contextmanager
def own_spin(as_user, where):
    """A process of that user's that works."""
    program = os.path.join(where, "spin")
    shutil.copy(os.path.join(BUILD, "workloads", "spin"), program)
    with subprocess.Popen([*as_user, program], stdout=subprocess.PIPE, text=True) as own:
        try:
            own.stdout.readline()
            yield own
        finally:
            own.kill()


def steps(answer):
    """But for what is due to others who want the CPUs now, or make a sample cost more."""
    return "\n".join(step for step in answer["steps_down"] if "want each CPU" not in step and "one costs" not in step)


# ---- users and capabilities ----


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def capabilities_lift_what_paranoid_binds():
    need_root()
    with readable_ctop() as (where, program), target("spin") as roots:
        path = os.path.join(where, "x.ctop")
        for capabilities in (("perfmon",), ("perfmon", "sys_ptrace")):
            as_user = plain_user(*capabilities)
            if run(*as_user, "true").returncode:
                raise Skip("this setpriv knows no CAP_PERFMON")
            with paranoid(2):
                answer = agree(as_user, program, ["-e", "cpu-clock", "-p", roots.pid])
                check(answer["works"] and not answer["user_only"], f"{answer}")
                # Without CAP_SYSLOG the kernel's functions have no names: said.
                check("CAP_SYSLOG" in steps(answer), f"{answer}")
                whole = agree(as_user, program, ["-e", "cpu-clock", "-a"])
                check(whole["works"], f"{whole}")
                check("sys_ptrace" not in capabilities or "CAP_SYS_PTRACE" not in steps(whole), f"{whole}")
                result = run(*as_user, program, "record", "-q", "-e", "cpu-clock", "-p", roots.pid, "--duration",
                             "0.5", "-o", path)
                check(result.returncode == 0, result.stderr)
                found = with_function(folded(path), "spin_loop")
                check(found > 3 or "sys_ptrace" not in capabilities, f"{folded(path)}")


@case
@alone("changes the kernel's settings")
def plain_users_get_what_each_level_allows():
    need_root()
    as_user = plain_user()
    with readable_ctop() as (where, program), target("spin") as roots, own_spin(as_user, where) as own:
        path = os.path.join(where, "x.ctop")
        for level, kernel, cpus in ((-1, True, True), (0, True, True), (1, True, False), (2, False, False)):
            with paranoid(level):
                answer = agree(as_user, program, ["-e", "cpu-clock", "-p", own.pid])
                check(answer["works"] and answer["user_only"] != kernel, f"{level}: {answer}")
                check(kernel or f"perf_event_paranoid = {level}" in steps(answer), f"{level}: {answer}")
                whole = agree(as_user, program, ["-e", "cpu-clock", "-a"])
                check(whole["works"] == cpus, f"{level}: {whole}")
                # Others' stacks cannot be unwound then: said, too.
                check(not cpus or "CAP_SYS_PTRACE" in steps(whole), f"{level}: {whole}")
                other = agree(as_user, program, ["-e", "cpu-clock", "-p", roots.pid])
                check(not other["works"] and "another user" in other["cause"], f"{level}: {other}")
                result = run(*as_user, program, "record", "-q", "-e", "cpu-clock", "-p", own.pid, "--duration",
                             "0.5", "-o", path)
                check(result.returncode == 0, result.stderr)
                check(with_function(folded(path), "spin_loop") > 3, f"{level}: {folded(path)}")
                strict = run(*as_user, program, "record", "--strict", "-e", "cpu-clock", "-p", own.pid, "-m", "8",
                             "--call-graph", "no", "-F", "99", "--duration", "0.1", "-o", "/dev/null")
                check((strict.returncode == 0) == kernel, f"{level}: {strict.stderr}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def what_user_code_shows_nothing_of_is_refused():
    need_root()
    as_user = plain_user()
    with readable_ctop() as (_, program), paranoid(2):
        for words, part in ((["-e", "context-switches:u"], "leave the modifier :u out"),
                            (["-e", "context-switches"], "perf_event_paranoid=1")):
            result = run(*as_user, program, "record", *words, "-o", "/dev/null", "--", "true")
            check_refused(result, 125, "happens in the kernel", part)
    check_refused(ctop("record", "-e", "context-switches:u", "-o", "/dev/null", "--", "true"), 125,
                  "happens in the kernel")


# ---- who refuses ----


@case
@alone("changes the kernel's settings")
def levels_of_other_kernels_are_named():
    need_root()
    as_user = plain_user()
    with readable_ctop() as (_, program):
        for level, name in ((3, "Debian"), (4, "Ubuntu")):
            with paranoid(level):
                for words in (["-p", os.getpid()], ["-a"], ["-e", "page-faults", "--", "true"]):
                    prefix = [REFUSE, "EACCES", *as_user]
                    result = run(*prefix, program, "record", "-o", "/dev/null", *words)
                    check_refused(result, 125 if "--" in words else 1, f"perf_event_paranoid = {level}", name,
                                  "sudo", "perf_event_paranoid=2")
                answer = doctor(REFUSE, "EACCES", *as_user, program, "doctor")
                check(not answer["works"] and name in answer["cause"], f"{answer}")
                kernel = answer["checks"][0]
                check(kernel["state"] == "bad" and "perf_event_paranoid=2" in kernel["remedy"], f"{kernel}")
                # This kernel has no such level: it samples what level 2 allows.
                answer = doctor(*as_user, program, "doctor")
                check(answer["works"] and answer["user_only"], f"{answer}")


@case
@alone("changes the kernel's settings")
def a_containers_filter_is_named():
    need_root()
    with readable_ctop() as (_, program):
        for errno, user, level in (("EPERM", [], 2), ("EPERM", plain_user(), 1), ("EPERM", plain_user(), 3),
                                   ("EACCES", [], 2), ("ENOSYS", [], 2), ("ENOSYS", plain_user(), 2)):
            with paranoid(level):
                prefix = [REFUSE, errno, *user]
                for words in (["-a"], ["-e", "cpu-clock", "-p", os.getpid()]):
                    answer = agree(prefix, program, words)
                    check(not answer["works"], f"{answer}")
                    check("seccomp filter" in answer["cause"] and "container" in answer["remedy"], f"{answer}")
                    check(answer["checks"][0]["state"] == "bad", f"{answer}")
                    seccomp = [item for item in answer["checks"] if item["name"] == "seccomp"]
                    check(seccomp[0]["state"] == "bad", f"{answer}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def root_of_a_user_namespace():
    need_root()
    unshare = need_program("unshare")
    if run(unshare, "--user", "--map-root-user", "true").returncode:
        raise Skip("no user namespaces")
    with readable_ctop() as (where, program), own_spin(plain_user(), where) as own, paranoid(2):
        # It looks like root, but what it has not started itself is no business of its.
        prefix = [*plain_user(), unshare, "--user", "--map-root-user"]
        for words, cause in ((["-p", own.pid], "outside of this user namespace"), (["-a"], "whole CPUs")):
            answer = agree(prefix, program, ["-e", "cpu-clock", *words])
            check(not answer["works"] and cause in answer["cause"], f"{answer}")
            check([item for item in answer["checks"] if item["name"] == "capabilities"][0]["state"] == "note",
                  f"{answer}")
        path = os.path.join(where, "x.ctop")
        result = run(*prefix, program, "record", "-e", "cpu-clock", "-o", path, "--", os.path.join(where, "spin"),
                     "0.5")
        check(result.returncode == 0 and "user code only" in result.stderr, f"{result}")
        check(with_function(folded(path), "spin_loop") > 3, f"{folded(path)}")


# ---- limits ----


@case
@alone("changes the kernel's settings")
def small_limits():
    need_root()
    as_user, prlimit = plain_user(), need_program("prlimit")
    with readable_ctop() as (where, program), own_spin(as_user, where) as own, paranoid(1):
        words = ["-e", "cpu-clock", "-p", own.pid]
        for bytes_ in (0, 65536):
            answer = agree([prlimit, f"--memlock={bytes_}:{bytes_}", *as_user], program, words)
            check(answer["works"] and "RLIMIT_MEMLOCK" in steps(answer), f"{answer}")
            with sysctl("perf_event_mlock_kb", 4):
                answer = agree([prlimit, f"--memlock={bytes_}:{bytes_}", *as_user], program, words)
                check(answer["works"] or ("RLIMIT_MEMLOCK" in answer["cause"] and "ulimit -l" in answer["remedy"]),
                      f"{answer}")
        few = agree([prlimit, "--nofile=24:24", *as_user], program, words)
        check(not few["works"] and "ulimit -n" in few["remedy"], f"{few}")
        # Root raises a limit that is in its way.
        check(agree([prlimit, "--nofile=64:64"], program, words)["works"], "root's limit")


@case
@alone("changes the kernel's settings")
def a_lowered_sample_rate():
    need_root()
    with sysctl("perf_event_max_sample_rate", 250), target("spin") as program:
        for words in ([], ["-F", "2000"]):
            answer = agree([], CTOP, ["-e", "cpu-clock", *words, "-p", program.pid])
            check(answer["works"] and "250 samples per second instead of" in steps(answer), f"{answer}")
            rate = [item for item in answer["checks"] if item["name"] == "sample rate"]
            check(rate[0]["state"] == "note" and "250" in rate[0]["finding"], f"{rate}")
        answer = agree([], CTOP, ["-e", "cpu-clock", "-F", "100", "-p", program.pid])
        check(answer["works"] and not steps(answer), f"{answer}")
        result = ctop("record", "--strict", "-e", "cpu-clock", "-o", "/dev/null", "-p", program.pid)
        check_refused(result, 1, "250 samples per second instead of 999", "--strict")


@case
@alone("changes the kernel's settings")
def kernel_names_that_are_hidden():
    need_root()
    with target("spin") as program:
        for level, prefix, hidden in ((0, [], False), (1, [], False), (2, [], True)):
            with sysctl("kptr_restrict", level):
                answer = agree(prefix, CTOP, ["-e", "cpu-clock", "-p", program.pid])
                check(answer["works"] and ("kptr_restrict" in steps(answer)) == hidden, f"{level}: {answer}")
                names = [item for item in answer["checks"] if item["name"] == "kernel names"]
                check((names[0]["state"] == "note") == hidden, f"{level}: {names}")


# ---- setuid, and file capabilities instead ----


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def installed_with_capabilities_for_a_group():
    need_root()
    need_program("setcap")
    setpriv = need_program("setpriv")
    group = next((entry for entry in grp.getgrall() if entry.gr_gid), None)
    if not group:
        raise Skip("no group but root's")
    with directory() as where, target("spin") as roots:
        os.chmod(where, 0o755)
        result = run("make", "-C", ROOT, "install", f"BUILD={BUILD}", f"DESTDIR={where}", "PREFIX=/usr", "SETCAP=1",
                     f"SETCAP_GROUP={group.gr_name}")
        if "Operation not supported" in result.stderr or os.statvfs(where).f_flag & os.ST_NOSUID:
            raise Skip("no file capabilities on this file system")
        check(result.returncode == 0, result.stderr)
        program = os.path.join(where, "usr/bin/ctop")
        status = os.stat(program)
        check(status.st_mode & 0o7777 == 0o710 and status.st_gid == group.gr_gid, f"{status}")
        member = [setpriv, f"--reuid={OTHER_USER}", f"--regid={group.gr_gid}", "--clear-groups"]
        with paranoid(2):
            answer = agree(member, program, ["-e", "cpu-clock", "-a"])
            # As good as root's: the kernel too, with names, full rings, everybody's processes.
            check(answer["works"] and not answer["user_only"] and answer["ring_pages"] >= 2048, f"{answer}")
            check(not steps(answer), f"{answer}")
            os.makedirs(os.path.join(where, "out"), mode=0o777)
            os.chmod(os.path.join(where, "out"), 0o777)
            path = os.path.join(where, "out", "x.ctop")
            result = run(*member, program, "record", "-q", "-e", "cpu-clock", "-p", roots.pid, "--duration", "0.5",
                         "-o", path)
            check(result.returncode == 0, result.stderr)
            check(with_function(folded(path), "spin_loop") > 3, f"{folded(path)}")
            # Who is not in the group may not run it; setpriv itself still could.
            outsider = run(setpriv, f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups", "sh", "-c",
                           f"{program} list")
            check(outsider.returncode and "ermission denied" in outsider.stderr, f"{outsider}")
            # What it runs has no capabilities of its.
            seen = run(*member, program, "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "--", "grep",
                       "CapEff", "/proc/self/status")
            check(seen.stdout.split() == ["CapEff:", "0" * 16], f"{seen}")
        result = run("make", "-C", ROOT, "install", f"BUILD={BUILD}", f"DESTDIR={where}", "SETCAP=1",
                     "SETCAP_GROUP=no-such-group")
        check(result.returncode and "groupadd no-such-group" in result.stderr, f"{result}")


main()
