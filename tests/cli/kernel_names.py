#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel's names from one run to the next: who has printed them is said by --stats, and what a cache may hold harms nobody."""

import functools
import glob
import itertools
import json
import os
import stat

from harness import (CTOP, NOBODY, OTHER_USER, Skip, alone, case, check, copy_for_all, ctop_ok, directory, main, need_program, need_root, plain_user, run,
                     sysctl)

# enum kernel_names_from
NOT_ASKED, NOT_KEPT, KEPT, CACHED, COMPLETED = range(5)

# Reads of zeros: most of the time goes into a few functions of the kernel.
READS = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=3000", "status=none"]


@functools.cache
def kernel_functions():
    with open("/proc/kallsyms", encoding="utf-8") as file:
        return {line.split()[2] for line in file}


def need_addresses():
    with open("/proc/kallsyms", encoding="utf-8") as file:
        if any(int(line.split()[0], 16) for line in itertools.islice(file, 10000)):
            return
    raise Skip("kernel.kptr_restrict hides the kernel's addresses")


def start(where, *options, env=None, before=(), program=CTOP):
    """One run: where the names came from, and the functions that have samples."""
    path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "x.json")
    result = run(*before, program, "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", path, "--stats", stats, *options, "--", *READS,
                 env={**os.environ, "XDG_CACHE_HOME": where, **(env or {})})
    check(result.returncode == 0, f"ctop record: {result.returncode}: {result.stderr}")
    with open(stats, encoding="utf-8") as file:
        names = json.load(file)["kernel_names"]
    os.remove(stats)
    leaves = [line.rpartition(" ")[0].rpartition(";")[2] for line in ctop_ok("export", "folded", "--no-inline", path).stdout.splitlines()]
    os.remove(path)
    return names, leaves


def is_named(leaves):
    return not kernel_functions().isdisjoint(leaves)


def kept(where):
    return glob.glob(os.path.join(where, "ctop", "kernel-*"))


def fill(where):
    names, leaves = start(where)
    check(names == KEPT and is_named(leaves), f"{names}: {leaves}")
    path, = kept(where)
    return path


@case
def the_second_start_prints_no_names():
    need_addresses()
    with directory() as where:
        path = fill(where)
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
        before = os.stat(path).st_mtime_ns
        names, leaves = start(where)
        check(names == CACHED and is_named(leaves), f"{names}: {leaves}")
        check(os.stat(path).st_mtime_ns == before, "it was written again")
        names, leaves = start(where, "--no-cache")
        check(names == NOT_ASKED and is_named(leaves), f"{names}: {leaves}")


@case
def no_cache_leaves_none():
    with directory() as where:
        names, leaves = start(where, "--no-cache")
        check(names == NOT_ASKED and is_named(leaves), f"{names}: {leaves}")
        check(os.listdir(where) == [], f"{os.listdir(where)}")


@case
def what_is_cut_or_of_another_boot_is_printed_again():
    need_addresses()
    with directory() as where:
        path = fill(where)
        size = os.stat(path).st_size
        os.truncate(path, size - 1)
        names, leaves = start(where)
        check(names == KEPT and is_named(leaves) and os.stat(path).st_size == size, f"{names}: {leaves}")
        with open(path, "r+b") as file:
            text = file.read()
            at = text.index(b"# boot ") + len(b"# boot ")
            file.seek(at)
            file.write(b"f" if text[at:at + 1] == b"0" else b"0")
        names, leaves = start(where)
        check(names == KEPT and is_named(leaves), f"{names}: {leaves}")
        with open(path, "rb") as file:
            check(file.read() == text, "it was not written again")


@case
def what_the_cache_lacks_is_printed_once():
    """As of BPF programs, which are never kept: the whole of the kernel but its first functions, here."""
    need_addresses()
    with directory() as where:
        path = fill(where)
        with open(path, "r+b") as file:
            lines = file.read().splitlines(True)
            functions = next(i for i, line in enumerate(lines) if line == b"# functions\n")
            file.seek(0)
            file.write(b"".join(lines[:functions + 10]) + lines[-1])
            file.truncate()
        names, leaves = start(where)
        check(names == COMPLETED and is_named(leaves), f"{names}: {leaves}")
        # Nothing but the last line: as if there were no kernel.
        with open(path, "wb") as file:
            file.write(b"".join(lines[:functions + 1]) + lines[-1])
        names, leaves = start(where)
        check(names == COMPLETED and is_named(leaves), f"{names}: {leaves}")


@case
def names_that_lie_harm_nobody():
    """Their owner may call the kernel's functions what he likes; they are text for all that."""
    need_addresses()
    with directory() as where:
        path = fill(where)
        with open(path, "r+b") as file:
            head, mark, functions = file.read().partition(b"# functions\n")
            lies = [line.split(b" ")[0] + b" T \x1b]0;owned\x07" + b"A" * 5000 + b"\n" for line in functions.splitlines()[:-1]]
            file.seek(0)
            file.write(head + mark + b"".join(lies[:3000]) + b"\0\xff\n" * 1000 + functions.splitlines(True)[-1])
            file.truncate()
        names, leaves = start(where)
        check(names in (CACHED, COMPLETED), f"{names}")
        check(not any("\x1b" in leaf or "\x07" in leaf for leaf in leaves), f"{leaves}")


@case
def what_others_could_have_written_is_not_read():
    need_addresses()
    with directory() as where:
        path = fill(where)
        os.chmod(path, 0o602)
        check(start(where)[0] == KEPT, "a file that others may write was used")
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
        victim = os.path.join(where, "victim")
        os.rename(path, victim)
        os.symlink(victim, path)
        before = os.stat(victim).st_mtime_ns
        check(start(where)[0] == KEPT, "a link was followed")
        check(not os.path.islink(path) and os.stat(victim).st_mtime_ns == before, "what a link leads to was written")
        os.chmod(os.path.join(where, "ctop"), 0o777)
        names, leaves = start(where)
        check(names == NOT_KEPT and is_named(leaves), f"a directory that others may write was used: {names}: {leaves}")


@case
def what_is_another_users_is_not_read():
    need_root()
    need_addresses()
    with directory() as where:
        path = fill(where)
        os.chown(path, NOBODY, NOBODY)
        check(start(where)[0] == KEPT and os.stat(path).st_uid == 0, "another user's file was used")
        os.chown(os.path.join(where, "ctop"), NOBODY, NOBODY)
        names, leaves = start(where)
        check(names == NOT_KEPT and is_named(leaves), f"another user's directory was used: {names}: {leaves}")


def in_own_mounts(script):
    words = [need_program("unshare"), "-m", "--propagation", "private", "sh", "-c", script + ' && shift && exec "$@"', "sh", ""]
    if run(*words, "true").returncode:
        raise Skip("no mounts of our own")
    return words


@case
def a_full_disk_keeps_nothing():
    need_root()
    need_addresses()
    with directory() as where:
        cache = os.path.join(where, "cache")
        os.mkdir(cache, 0o700)
        full = in_own_mounts(f"mount -t tmpfs -o size=64k none {cache}")
        seen = os.path.join(where, "seen")
        names, leaves = start(where, env={"XDG_CACHE_HOME": cache},
                              before=[*full, "sh", "-c", f'"$@"; status=$?; ls -A {cache}/ctop >{seen}; exit $status', "sh"])
        check(names == NOT_KEPT and is_named(leaves), f"{names}: {leaves}")
        with open(seen, encoding="utf-8") as file:
            check(file.read() == "", "an unfinished file is left")


@case
def root_behind_sudo_uses_nothing_of_the_users():
    need_root()
    need_addresses()
    with directory() as where:
        home = os.path.join(where, "home")
        os.makedirs(os.path.join(home, ".cache"))
        for path in home, os.path.join(home, ".cache"):
            os.chown(path, NOBODY, NOBODY)
        own = in_own_mounts("mount -t tmpfs -o mode=755 none /var/cache")
        seen = os.path.join(where, "seen")
        keeps = [*own, "sh", "-c", f'"$@"; status=$?; ls -A /var/cache/ctop >{seen}; exit $status', "sh"]
        sudo = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "HOME": home}
        for cache in os.path.join(home, ".cache"), os.path.join(home, "none"):
            names, leaves = start(where, env={**sudo, "XDG_CACHE_HOME": cache}, before=keeps)
            check(names == KEPT and is_named(leaves), f"{names}: {leaves}")
            with open(seen, encoding="utf-8") as file:
                check(file.read().startswith("kernel-"), "it is not in root's own directory")
        check(os.listdir(home) == [".cache"] and os.listdir(os.path.join(home, ".cache")) == [], "something was written at the user's")


@case
def what_a_user_may_not_see_is_not_kept():
    """With a capability ctop has the kernel's addresses; its user has not, and a file of the user's would show them."""
    need_root()
    need_addresses()
    with directory() as where:
        copy_for_all(where, CTOP)
        cache = os.path.join(where, "cache")
        os.mkdir(cache)
        os.chown(cache, OTHER_USER, OTHER_USER)
        os.chmod(where, 0o755)
        user = plain_user("perfmon", "syslog", "sys_ptrace")
        with open("/proc/kallsyms", encoding="utf-8") as file:
            first = next(line for line in file if int(line.split()[0], 16))
        plain = run(*plain_user(), "cat", "/proc/kallsyms").stdout
        if first in plain:
            raise Skip("every user may see the kernel's addresses here")
        output = os.path.join(where, "out")
        os.mkdir(output)
        os.chown(output, OTHER_USER, OTHER_USER)
        names, leaves = start(output, env={"XDG_CACHE_HOME": cache}, before=user, program=os.path.join(where, "ctop"))
        check(names == NOT_KEPT and is_named(leaves), f"{names}: {leaves}")
        check(kept(cache) == [], "the kernel's addresses are in a file of the user's")


@case
@alone("changes the kernel's settings")
def what_may_not_be_seen_any_more_does_not_stay():
    need_root()
    need_addresses()
    with directory() as where:
        fill(where)
        with sysctl("kptr_restrict", 2):
            start(where)
        check(kept(where) == [], "the kernel's addresses are still in a file")


if __name__ == "__main__":
    main()
