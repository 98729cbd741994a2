#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which file a module is: rebuilds, copied build-ids, other mount namespaces, pids that come again."""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from fuse import file_system
from harness import (NOBODY, ROOT, Skip, case, check, ctop, ctop_ok, directory, folded, main, need_program, need_root,
                     open_to_all, run, with_function)

# Says that it runs, and uses CPU time in a function whose name tells the build.
SOURCE = r"""
#include <stdio.h>
#include <time.h>
static double used(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
__attribute__((noinline)) void WORK(void)
{
	static volatile unsigned long sum;
	double until = used() + 0.3;
	while (used() < until)
		for (int i = 0; i < 100000; i++)
			sum += (unsigned long)i;
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	WORK();
	return 0;
}
"""


def build(where, name, function, *options):
    need_program("cc")
    source = os.path.join(where, "app.c")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    path = os.path.join(where, name)
    result = run("cc", "-O1", "-g", f"-DWORK={function}", *options, "-o", path, source)
    check(result.returncode == 0, result.stderr)
    return path


def record_script(where, script, *options):
    """What a shell script's programs did; `started PROGRAM...` in it returns once the program runs. {stack: samples}."""
    path = os.path.join(where, "go.sh")
    with open(path, "w", encoding="ascii") as file:
        file.write('set -e\ncd "$(dirname "$0")"\nmkfifo pipe\n'
                   'started() { "$@" >pipe & read line <pipe; [ "$line" = ready ]; }\n' + script)
    recording = os.path.join(where, "x.ctop")
    ctop_ok("record", "-e", "cpu-clock", "-F", "499", "-o", recording, *options, "--", "sh", path)
    return folded(recording)


def check_both(where, stacks, first="old_build", second="new_build"):
    """Each build has used as much as the other, and nobody's functions have the other's name."""
    counts = [with_function(stacks, name) for name in (first, second)]
    check(min(counts) > 30 and max(counts) < 2 * min(counts), f"{first}, {second}: {counts}")
    report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
    rows = [line for line in report.splitlines() if first in line or second in line]
    check(any(first in row for row in rows) and any(second in row for row in rows),
          f"not both in the report:\n{report}")
    return rows


def build_id(path):
    notes = run(need_program("readelf"), "-n", path).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)


@case
def two_builds_at_one_path():
    """The second is not called by the first one's names, and the two are distinguished, and chosen, by their build-ids."""
    with directory() as where:
        ids = [build_id(build(where, name, f"{name}_build")) for name in ("old", "new")]
        stacks = record_script(where, "cp old app; started ./app; rm app; cp new app; ./app >/dev/null; wait\n")
        rows = check_both(where, stacks)
        for name, known in zip(("old", "new"), ids):
            label = f"app ({known[:8]})"
            check(any(f"{name}_build" in row and label in row for row in rows), f"no {label}: {rows}")
            chosen = folded(os.path.join(where, "x.ctop"), "--module", label)
            both = [with_function(chosen, f"{other}_build") > 0 for other in ("old", "new")]
            check(both == [name == "old", name == "new"], f"{label} chooses {both}")
        chosen = folded(os.path.join(where, "x.ctop"), "--module", "app")
        check_both(where, chosen)


@case
def a_build_written_over_another():
    """The inode stays."""
    with directory() as where:
        build(where, "old", "old_build")
        build(where, "new", "new_build")
        check_both(where, record_script(
            where, "cp old app; ./app >/dev/null; cp new app; ./app >/dev/null\n"))


@case
def builds_without_build_ids():
    with directory() as where:
        build(where, "old", "old_build", "-Wl,--build-id=none")
        build(where, "new", "new_build", "-Wl,--build-id=none")
        rows = check_both(where, record_script(
            where, "cp old app; started ./app; rm app; cp new app; ./app >/dev/null; wait\n"))
        check(all("(inode " in row for row in rows), f"not distinguished: {rows}")


@case
def the_same_build_twice_is_one():
    """A deployment of what was there already: nothing is to be distinguished, whoever owns it."""
    with directory() as where:
        build(where, "old", "old_build")
        record_script(where, "cp old app; started ./app; mv app gone; cp old app; ./app >/dev/null; wait\n")
        report = ctop_ok("report", os.path.join(where, "x.ctop")).stdout
        rows = [line for line in report.splitlines() if "old_build" in line]
        check(len(rows) == 1 and "(" not in rows[0], f"distinguished:\n{report}")


def as_nobody(command):
    return f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups {command}"


@case
def a_copied_build_id_renames_nothing():
    """A user's program with the build-id of root's, sampled first; the other way round; with the same path, too."""
    need_root()
    need_program("setpriv")
    same = "-Wl,--build-id=0x" + "5a" * 20
    with directory() as where:
        open_to_all(where)
        for path in build(where, "honest", "honest_work", same), build(where, "evil", "evil_work", same):
            os.chmod(path, 0o755)
        os.chown(os.path.join(where, "evil"), NOBODY, NOBODY)
        for script in (f"started {as_nobody('./evil')}; wait; ./honest >/dev/null\n",
                       f"started ./honest; {as_nobody('./evil')} >/dev/null; wait\n",
                       f"cp -p evil app; started {as_nobody('./app')}; rm app; cp -p honest app; ./app >/dev/null; wait\n"):
            stacks = record_script(where, script)
            check_both(where, stacks, "honest_work", "evil_work")
            os.unlink(os.path.join(where, "pipe"))


@case
def an_owner_of_ones_own_making_is_nobodys_word():
    """
    An overlay that a user mounts over a file system of his own says that a file is root's, is not FUSE, nor mounted
    nosuid: with the build-id of root's program it is another program all the same.
    """
    need_root()
    need_program("setpriv")
    own_namespaces = as_nobody("unshare --user --map-root-user --mount --propagation private")
    if run("sh", "-c", f"{own_namespaces} mount -t overlay -o lowerdir=/usr:/etc none /mnt").returncode:
        raise Skip("plain users may mount no overlay in namespaces of their own")
    same = "-Wl,--build-id=0x" + "5b" * 20
    with directory() as where:
        open_to_all(where)
        paths = [build(where, name, f"{name}_work", same) for name in ("root", "evil")]
        for path in paths:
            os.chmod(path, 0o755)
        for name in "own", "empty", "mnt":
            os.mkdir(os.path.join(where, name))
        with open(paths[1], "rb") as file:
            content = file.read()
        check(len(content) == os.path.getsize(paths[0]), "not of one size")
        with file_system(os.path.join(where, "own"), "evil", content, 0, NOBODY):
            stacks = record_script(where, "started ./root; "
                                   f"{own_namespaces} sh -c 'mount -t overlay -o lowerdir=own:empty none mnt && "
                                   "test \"$(stat -c %u mnt/evil)\" != \"$(id -u)\" && exec mnt/evil' >/dev/null; wait\n")
        check_both(where, stacks, "root_work", "evil_work")


@case
def a_debug_file_of_a_users_names_nothing_of_roots():
    """A user runs root's program where he has mounted a debug file of his own, with its build-id, into /usr/lib/debug."""
    need_root()
    objcopy = need_program("objcopy")
    own_namespaces = as_nobody("unshare --user --map-root-user --mount --propagation private")
    with directory() as where:
        open_to_all(where)
        same = "5c" * 20
        program, evil = (build(where, name, f"{name}_work", f"-Wl,--build-id=0x{same}") for name in ("root", "evil"))
        files = os.path.join(where, "lib", "debug", ".build-id", same[:2])
        os.makedirs(files)
        debug = os.path.join(files, same[2:] + ".debug")
        for command in ["--only-keep-debug", evil, debug], ["--strip-all", program]:
            result = run(objcopy, *command)
            check(result.returncode == 0, result.stderr)
        os.chmod(program, 0o755)
        os.chown(debug, NOBODY, NOBODY)
        mount = "mount -t overlay -o lowerdir=lib:/usr/lib none /usr/lib"
        if run("sh", "-c", f"{own_namespaces} {mount}", cwd=where).returncode:
            raise Skip("plain users may mount no overlay in namespaces of their own")
        stacks = record_script(where, f"started {own_namespaces} sh -c '{mount} && exec ./root'; ./root >/dev/null; wait\n")
        names = {frame for stack in stacks for frame in stack}
        check(sum(stacks.values()) > 0 and "evil_work" not in names, f"{names}")


@case
def one_path_in_two_mount_namespaces():
    need_root()
    need_program("unshare")
    if run("unshare", "-m", "true").returncode:
        raise Skip("no mount namespace may be made")
    with directory() as where:
        for name in "old", "new", "mnt":
            os.mkdir(os.path.join(where, name))
        for name in "old", "new":
            shutil.move(build(where, f"{name}.bin", f"{name}_build"), os.path.join(where, name, "app"))
        inside = "unshare -m --propagation private sh -c 'mount --bind %s mnt && exec mnt/app'"
        stacks = record_script(where, f"started {inside % 'old'}; {inside % 'new'} >/dev/null; wait\n")
        check_both(where, stacks)


# Two processes of one pid, one after the other; each writes a perf map for its generated code, which is one loop.
TWICE = r"""
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double used(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void live(const char *name)
{
	/* mov $10000000, %rdi; 1: dec %rdi; jnz 1b; ret */
	static const unsigned char loop[] = {0x48, 0xc7, 0xc7, 0x80, 0x96, 0x98, 0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
	char path[64];
	unsigned char *code = mmap((void *)0x70000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(code, loop, sizeof(loop));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 1000 %s\n", (unsigned long)(uintptr_t)code, name);
	fclose(map);
	prctl(PR_SET_NAME, name);
	while (used() < 1.5)
		((void (*)(void))(uintptr_t)code)();
	_exit(0);
}
int main(void)
{
	pid_t pid = 0;
	for (int i = 0; i < 2; i++) {
		struct clone_args args = {.exit_signal = SIGCHLD};
		if (i) {
			args.set_tid = (uintptr_t)&pid;
			args.set_tid_size = 1;
		}
		long child = syscall(SYS_clone3, &args, sizeof(args));
		if (child == 0)
			live(i ? "second_life" : "first_life");
		if (child < 0)
			return 3;
		pid = (pid_t)child;
		waitpid(pid, NULL, 0);
	}
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	unlink(path);
	return 0;
}
"""


@case
def a_pid_used_again_is_another_process():
    """Generated code of the first is not called by the names of the second, and the other way round."""
    need_root()
    need_program("cc")
    if os.uname().machine != "x86_64":
        raise Skip("its generated code is x86-64's")
    with directory() as where:
        source, program = os.path.join(where, "twice.c"), os.path.join(where, "twice")
        with open(source, "w", encoding="ascii") as file:
            file.write(TWICE)
        result = run("cc", "-O1", "-o", program, source)
        check(result.returncode == 0, result.stderr)
        recording = os.path.join(where, "x.ctop")
        result = ctop("record", "-e", "cpu-clock:u", "-F", "499", "-o", recording, "--", program)
        if result.returncode == 3:
            raise Skip("the kernel gives no process a chosen pid (clone3, set_tid)")
        check(result.returncode == 0, result.stderr)
        stacks = folded(recording)
        for comm, other in ("first_life", "second_life"), ("second_life", "first_life"):
            own = {stack: count for stack, count in stacks.items() if stack[0] == comm}
            check(sum(own.values()) > 30, f"{comm} was not seen: {stacks}")
            check(with_function(own, comm) > 0.5 * sum(own.values()), f"{comm} has no name: {own}")
            check(not with_function(own, other), f"{comm} has the other's name: {own}")


@case
def an_older_recording_is_read():
    """Version 1 had neither owners nor starts of processes."""
    path = os.path.join(ROOT, "tests", "golden", "recordings", "version-1")
    stacks = folded(path)
    check(sum(stacks.values()) == 39 and with_function(stacks, "recorded_by_version_one") == 39, f"{stacks}")
    report = ctop_ok("report", path).stdout
    check("recorded_by_version_one  w\n" in report and "__libc_start_main" in report, report)


if __name__ == "__main__":
    main()
