#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where output goes, in a directory that somebody else may change meanwhile; and that it still goes wherever it may."""

import contextlib
import ctypes
import os
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from harness import (CTOP, NOBODY, OTHER_USER, PATIENCE, case, check, check_refused, child, children_of, ctop, ctop_ok,
                     directory, folded, main, need_program, need_root, open_to_all, record_work, recording_of, run, target,
                     wait_for_cpu_time, wait_until)

PRECIOUS = b"what root alone may read and write\n" * 100
QUICK = ("-q", "-e", "cpu-clock:u", "--duration", "0.2")


# ---- an attacker ----

def exchange_for_ever(one, other):
    """As the attacker: one name and the other change places as fast as they can."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    one, other = one.encode(), other.encode()
    here, exchange = -100, 2
    if libc.renameat2(here, one, here, other, exchange):
        os._exit(1)
    os.write(1, b"ready\n")
    while not libc.renameat2(here, one, here, other, exchange):
        pass
    os._exit(0)


@contextlib.contextmanager
def exchanged(one, other):
    """While the attacker is at work."""
    begun, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(said, 1)
        try:
            exchange_for_ever(one, other)
        finally:
            os._exit(2)
    os.close(said)
    try:
        check(os.read(begun, 6) == b"ready\n", "the attacker cannot exchange files")
        yield
    finally:
        os.close(begun)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextlib.contextmanager
def hostile_directory():
    """A directory of the attacker's, and a file of root's, elsewhere."""
    need_root()
    with directory() as where:
        open_to_all(where)
        theirs, victim = os.path.join(where, "theirs"), os.path.join(where, "victim")
        os.mkdir(theirs)
        os.chown(theirs, NOBODY, NOBODY)
        with open(victim, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(PRECIOUS)
        yield theirs, victim
        with open(victim, "rb") as file:
            check(file.read() == PRECIOUS, "root's file was written")
        check(sorted(os.listdir(where)) == ["theirs", "victim"], f"{os.listdir(where)}")


def make_fifo(path, owner=NOBODY):
    os.mkfifo(path)
    os.chown(path, owner, owner)
    os.chmod(path, 0o666)


def end(process):
    """^C as often as it takes; what it said."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    return process.communicate(timeout=PATIENCE)[1]


def start_recorder(program, *arguments, **options):
    return subprocess.Popen([CTOP, "record", *QUICK, "-p", str(program.pid), *arguments], stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, **options)


def wait_for_children(recorder):
    """It starts them just before it opens its output."""
    wait_until(lambda: len(children_of(recorder.pid)) >= 2 or recorder.poll() is not None, "children")


# ---- what an attacker gains: nothing ----

@case
def the_default_name_is_a_fifo_and_then_a_link():
    with hostile_directory() as (theirs, victim), target("spin") as program:
        path, link = (os.path.join(theirs, name) for name in ("profile.ctop", "link"))
        make_fifo(path)
        os.symlink(victim, link)
        for _ in range(5):
            recorder = start_recorder(program, cwd=theirs)
            wait_for_children(recorder)
            with exchanged(path, link), contextlib.suppress(subprocess.TimeoutExpired):
                recorder.wait(1)
            errors = end(recorder)
            check(recorder.returncode == 1 and len(errors.splitlines()) == 2, f"{recorder.returncode}: {errors}")
        if os.path.islink(path):
            os.rename(link, path)
        check_refused(ctop("record", *QUICK, "-p", program.pid, cwd=theirs), 1, "profile.ctop", "not a regular file")


@case
def a_fifo_of_roots_is_exchanged_for_a_link():
    """Each time it looks whether there is a reader, it may find the other one."""
    with hostile_directory() as (theirs, victim), target("spin") as program:
        path, link = (os.path.join(theirs, name) for name in ("named", "link"))
        make_fifo(path, 0)
        os.symlink(victim, link)
        for _ in range(5):
            recorder = start_recorder(program, "-o", path)
            wait_for_children(recorder)
            with exchanged(path, link), contextlib.suppress(subprocess.TimeoutExpired):
                recorder.wait(1)
            errors = end(recorder)
            check(recorder.returncode == 1 and len(errors.splitlines()) == 2, f"{recorder.returncode}: {errors}")


@case
def a_file_is_exchanged_for_a_link():
    with hostile_directory() as (theirs, victim), target("spin") as program:
        recording = os.path.join(theirs, "source")
        ctop_ok("record", *QUICK, "-o", recording, "-p", program.pid)
        path, link = (os.path.join(theirs, name) for name in ("x", "link"))
        for words in (("export", "script", recording, "-o", path), ("report", "--stdio", recording, "--stats", path)):
            for _ in range(10):
                for name in path, link:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name)
                with open(path, "w", encoding="ascii"):
                    os.symlink(victim, link)
                with exchanged(path, link):
                    ctop(*words)


@case
def a_fifo_of_another_user_is_refused():
    with hostile_directory() as (theirs, _), target("spin") as program:
        recording = os.path.join(theirs, "source")
        ctop_ok("record", *QUICK, "-o", recording, "-p", program.pid)
        path = os.path.join(theirs, "fifo")
        make_fifo(path)
        for words in (("record", *QUICK, "-p", program.pid, "-o", path), ("export", "script", recording, "-o", path),
                      ("report", "--stdio", recording, "--stats", path)):
            result = ctop(*words)
            check(result.returncode == 1 and "belongs to another user" in result.stderr, f"{words}: {result}")


@case
def a_link_to_a_device_is_refused():
    with hostile_directory() as (theirs, _), target("spin") as program:
        recording = os.path.join(theirs, "source")
        ctop_ok("record", *QUICK, "-o", recording, "-p", program.pid)
        path = os.path.join(theirs, "link")
        os.symlink("/dev/null", path)
        for words in (("record", *QUICK, "-p", program.pid, "-o", path), ("export", "script", recording, "-o", path),
                      ("report", "--stdio", recording, "--stats", path)):
            result = ctop(*words)
            check(result.returncode == 1 and "symbolic link" in result.stderr, f"{words}: {result}")
            check(os.path.islink(path), f"{words}: the link is gone")


# ---- what works ----

@case
def descriptors_that_it_was_started_with():
    bash = need_program("bash")
    with directory() as where, target("spin") as program:
        record = f"{CTOP} record {' '.join(QUICK)} -p {program.pid} -o"
        for name, script in {"substitution": f"{record} >(cat > $0; echo end >&3) 3>&1",
                             "number": f"{record} /dev/fd/7 7> $0", "proc": f"{record} /proc/self/fd/7 7> $0",
                             "stdout": f"{record} /dev/stdout > $0", "dash": f"{record} - > $0",
                             "stderr": f"{record} /dev/stderr 2> $0"}.items():
            path = os.path.join(where, name)
            result = run(bash, "-c", script, path)
            check(result.returncode == 0, f"{name}: {result}")
            check(folded(path), f"{name}: nothing was recorded")
        for name in "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
            result = run(bash, "-c", f"{CTOP} record -q -e cpu-clock:u -o {name} -- sh -c 'echo said' > $0", path)
            check(result.returncode == 0 and result.stderr == "said\n", f"{name}: {result}")
            ctop_ok("report", "--stdio", path, "--stats", "/dev/null")
        path = os.path.join(where, "number")
        export = f"{CTOP} export script {path} -o"
        check("spin" in run(bash, "-c", f"{export} >(cat)").stdout, "export into a process")
        check("spin" in run(bash, "-c", f"{export} /dev/stderr").stderr, "export to stderr")


@case
def descriptors_that_are_none():
    bash = need_program("bash")
    with target("spin") as program:
        for name, words in {"9": "no such descriptor", "4294967296": "4294967296", "0": "not open for writing"}.items():
            for of in "/dev/fd", "/proc/self/fd":
                result = run(bash, "-c", f"{CTOP} record {' '.join(QUICK)} -p {program.pid} -o {of}/{name} 9>&- 0< /dev/null")
                check_refused(result, 1, words)
        # Its own rings have numbers, too.
        for number in range(3, 24):
            result = ctop("record", *QUICK, "-p", program.pid, "-o", f"/dev/fd/{number}")
            check_refused(result, 1, "no such descriptor")


@case
def a_fifo_with_a_reader():
    with directory() as where, target("spin") as program:
        path, copy = (os.path.join(where, name) for name in ("fifo", "copy"))
        os.mkfifo(path)
        with child("cp", path, copy) as reader:
            ctop_ok("record", *QUICK, "-o", path, "-p", program.pid)
            check(reader.wait(PATIENCE) == 0, "the reader failed")
        check(folded(copy), "nothing was recorded")
        with child("cat", path, stdout=subprocess.PIPE, text=True) as reader:
            ctop_ok("export", "script", copy, "-o", path)
            check("spin" in reader.communicate(timeout=PATIENCE)[0], "nothing was exported")


@case
def a_fifo_for_statistics_that_nobody_reads():
    """Or that nobody reads on: the recording is there, and one signal is enough."""
    with directory() as where, target("spin") as program:
        fifo = os.path.join(where, "fifo")
        os.mkfifo(fifo)
        for number, reads in ((signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGINT, True)):
            path = os.path.join(where, f"{number}-{reads}.ctop")
            reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK) if reads else None
            with contextlib.suppress(BlockingIOError):
                while reads:  # until it is full
                    os.write(reader, b"x" * 4096)
            recorder = subprocess.Popen([CTOP, "record", "-q", "-e", "cpu-clock:u", "-p", str(program.pid), "-o", path,
                                         "--stats", fifo], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                wait_until(lambda: "writer" in children_of(recorder.pid) or recorder.poll() is not None, "writer")
                wait_for_cpu_time(program.pid, 0.3)
                recorder.send_signal(signal.SIGINT)
                # Then the recording is through, and what is left is the statistics.
                wait_until(lambda: "writer" not in children_of(recorder.pid), "end of the writer")
                check(recorder.poll() is None, "it waited for nobody")
                recorder.send_signal(number)
                errors = recorder.communicate(timeout=PATIENCE)[1]
            finally:
                recorder.kill()
                recorder.communicate()
                if reads:
                    os.close(reader)
            check(recorder.returncode == 1 and "interrupted before" in errors and len(errors.splitlines()) == 2,
                  f"{recorder.returncode}: {errors}")
            check(folded(path), "nothing was recorded")


@case
def a_fifo_of_the_one_who_called_sudo():
    with hostile_directory() as (theirs, _), target("spin") as program:
        path, copy = (os.path.join(theirs, name) for name in ("fifo", "copy"))
        make_fifo(path)
        for caller, works in ((str(NOBODY), True), (str(OTHER_USER), False), ("", False), ("0x fffe", False),
                              (str(NOBODY + (1 << 32)), False), (f" {NOBODY}", False), ("-1", False)):
            with child("cp", path, copy) as reader:
                result = ctop("record", *QUICK, "-o", path, "-p", program.pid, env={**os.environ, "SUDO_UID": caller})
                check((result.returncode == 0) == works, f"SUDO_UID={caller!r}: {result}")
                if works:
                    check(reader.wait(PATIENCE) == 0 and folded(copy), "nothing was recorded")
        # Anybody may set that variable: it is root's word alone.
        os.mkdir(os.path.join(theirs, "root"))
        other = os.path.join(theirs, "root", "fifo")
        make_fifo(other, OTHER_USER)
        with open(os.path.join(theirs, "ctop"), "wb") as file, open(CTOP, "rb") as source:
            os.fchmod(file.fileno(), 0o755)
            file.write(source.read())
        result = run(file.name, "export", "folded", copy, "-o", other, user=NOBODY, group=NOBODY, extra_groups=[],
                     env={**os.environ, "SUDO_UID": str(OTHER_USER)})
        check(result.returncode == 1 and "belongs to another user" in result.stderr, f"{result}")


@case
def files_are_new_or_replaced():
    with directory() as where, target("spin") as program:
        os.symlink(".", os.path.join(where, "here"))
        ctop_ok("record", *QUICK, "-p", program.pid, cwd=where)
        path = os.path.join(where, "here", "profile.ctop")
        before = os.stat(path)
        check(stat.S_IMODE(before.st_mode) == 0o600, f"mode {before.st_mode:o}")
        ctop_ok("record", *QUICK, "-o", path, "-p", program.pid)
        check(os.stat(path + ".old").st_ino == before.st_ino != os.stat(path).st_ino, "the old one is not kept")
        text = os.path.join(where, "text")
        for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
            ctop_ok("export", "folded", path, "-o", text, "--stats", "stats", cwd=where, umask=umask)
            for name in text, os.path.join(where, "stats"):
                check(stat.S_IMODE(os.stat(name).st_mode) == mode, f"{name}: mode {os.stat(name).st_mode:o}")
        long_name = os.path.join(where, "n" * 255)
        ctop_ok("export", "folded", path, "-o", long_name)
        check(sorted(os.listdir(where)) == sorted(["here", "n" * 255, "profile.ctop", "profile.ctop.old", "stats", "text"]),
              f"{os.listdir(where)}")


@case
def what_cannot_be_written():
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "x.ctop")
        with recording_of(where, "-p", program.pid):
            pass  # it has samples, however busy the machine is: else there would be nothing to write
        before = sorted(os.listdir(where))
        for name, word in ((where, "Is a directory"), (where + "/", "Is a directory"),
                           (where + "/..", "Is a directory"), (where + "/no/x", "No such file"), (path + "/x", "Not a directory"),
                           (where + "/" + "n" * 256, "too long")):
            check_refused(ctop("record", *QUICK, "-p", program.pid, "-o", name), 1, word)
            check_refused(ctop("export", "folded", path, "-o", name), 1, word)
        ctop_ok("record", *QUICK, "-p", program.pid, "-o", "/dev/null")
        ctop_ok("export", "folded", path, "-o", "/dev/null")
        for words in (("record", *QUICK, "-p", program.pid), ("export", "folded", path)):
            check_refused(ctop(*words, "-o", "/dev/full"), 1, "/dev/full", "No space left")
        check(sorted(os.listdir(where)) == before, f"{os.listdir(where)}")


@case
def disks_that_are_full_or_not_to_be_written():
    need_root()
    unshare, mount = need_program("unshare"), need_program("mount")
    with directory() as where, target("spin") as program:
        path, disk = os.path.join(where, "x.ctop"), os.path.join(where, "disk")
        record_work(where, [program.pid], 0.3, "-p", program.pid)
        os.mkdir(disk)
        script = f"{mount} -t tmpfs -o $1 none {disk} && $2; shift 2; \"$@\"; status=$?; ls -A {disk}; exit $status"
        fill = f"dd if=/dev/zero of={disk}/fill bs=4k count=1 status=none"
        for options, before, cause in (("size=4k", fill, "No space left"), ("ro", "true", "Read-only")):
            for words in (("record", *QUICK, "-p", program.pid, "-o", f"{disk}/out"),
                          ("export", "script", path, "-o", f"{disk}/out")):
                result = run(unshare, "-m", "sh", "-c", script, "sh", options, before, CTOP, *words)
                check(result.returncode == 1 and cause in result.stderr and len(result.stderr.splitlines()) == 2,
                      f"{options} {words}: {result}")
                # A recording keeps what came until then.
                left = {"fill"} | ({"out"} if words[0] == "record" else set())
                check(set(result.stdout.split()) <= left, f"{options} {words}: {result.stdout}")


main()
