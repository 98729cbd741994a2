# SPDX-License-Identifier: MIT
"""What the command-line tests share: a target, a recording, its stacks; TAP out."""

import collections
import contextlib
import ctypes.util
import fcntl
import functools
import json
import math
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

import hung

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
CTOP = os.path.join(BUILD, "ctop")
# The same with places to fall at: see tests/faults/fault.c.
FAULTY = os.path.join(BUILD, "faulty", "ctop")
NOBODY = 65534
# For what is a matter of seconds on any machine that is not overwhelmed.
PATIENCE = 120
# A case that takes longer than this hangs.
CASE_SECONDS = 300

# What others may have of the CPUs without being in the way.
DISTURBED = 0.02

_cases = []
_case_start = None


class Skip(Exception):
    """A case that cannot be decided here; its text is the reason."""


def case(function):
    """Registers a function as a test case; its name is the case's."""
    _cases.append(function)
    return function


def long_case(function):
    """A case that takes long, for what it may find: `make check-all` has the time."""
    @functools.wraps(function)
    def run_or_skip():
        if "CHECK_ALL" not in os.environ and not sys.argv[1:]:
            raise Skip("make check-all runs it")
        function()
    return case(run_or_skip)


def alone(reason, unless=False):
    """
    A case that no other program is to run beside, or that is not to run beside others; the reason is for who reads it.
    tests/run leaves it to the end (TEST_CASES=alone), when the others are done (TEST_CASES=beside).
    """
    def register(function):
        function.alone = not unless and reason
        return function
    return register


def _is_of(half, function):
    return not half or bool(getattr(function, "alone", False)) == (half == "alone")


class Hangs(Exception):
    """A case did not come to its end."""


def _hangs(*_):
    signal.alarm(CASE_SECONDS // 5)  # for what tidies up; it may hang, too
    raise Hangs(f"not done after {CASE_SECONDS} s")


def _is_ended(number, frame):
    """Whoever ends us learns where, and lets us tidy up; SystemExit is no failed case."""
    for line in "".join(traceback.format_stack(frame)).splitlines():
        print(f"# {line}", flush=True)
    sys.exit(128 + number)


def child_pids(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def _end_children():
    """What a case that ended early has not ended is not to disturb the next one."""
    with contextlib.suppress(OSError):
        for pid in child_pids(os.getpid()):
            os.kill(pid, signal.SIGKILL)


def _try(function):
    """What a case has to say: None when it is fine, an exception otherwise."""
    global _case_start
    print(f"# running {function.__name__}", flush=True)
    _case_start = moment()
    try:
        signal.alarm(CASE_SECONDS)
        function()
    except Exception as failure:  # a failed check, or a program that did not do its part
        return failure
    finally:
        signal.alarm(0)
        _end_children()
    return None


def _run(function):
    """One case. False: it failed."""
    name = function.__name__
    failure = _try(function)
    if isinstance(failure, Skip):
        print(f"ok - {name} # SKIP {' '.join(str(failure).split())}", flush=True)
    elif failure is None:
        print(f"ok - {name}", flush=True)
    else:
        for line in "".join(traceback.format_exception(failure)).splitlines():
            print(f"# {line}")
        print(f"not ok - {name}", flush=True)
        return False
    return True


def main():
    """Runs the file's cases, or those that are named on its command line, or one half of them: alone()."""
    signal.signal(signal.SIGTERM, _is_ended)
    signal.signal(signal.SIGALRM, _hangs)
    # A shell in the background and nohup have these ignored, and all that we start would inherit that; what is caught is not.
    for number in signal.SIGINT, signal.SIGHUP, signal.SIGQUIT:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    wanted, half = sys.argv[1:], os.environ.get("TEST_CASES")
    # What a file imports from another one, with whose cases it came, runs there.
    own = [function for function in _cases if function.__module__ == "__main__"]
    results = [_run(function) for function in own
               if function.__name__ in wanted or not wanted and _is_of(half, function)]
    sys.exit(0 if (results or half) and all(results) else 1)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def need_program(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"{name} is not installed")
    return path


def need_library(name):
    if not ctypes.util.find_library(name):
        raise Skip(f"lib{name} is not installed")


def open_to_all(where):
    """A directory that plain users reach: what they start lies in there, as a home may keep them from the build."""
    os.chmod(where, 0o755)
    if run("sh", "-c", 'cd "$0"', where, user=NOBODY, group=NOBODY, extra_groups=[]).returncode:
        raise Skip(f"plain users cannot reach {where}")


def run(*command, **options):
    """Runs a program to its end; text in and out."""
    timeout, words = options.pop("timeout", PATIENCE), [str(word) for word in command]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", **options)
    try:
        output, errors = process.communicate(timeout=timeout)
    except BaseException as reason:
        if isinstance(reason, subprocess.TimeoutExpired):
            print(*hung.describe(process.pid), sep="\n", flush=True)
        process.kill()
        process.wait()
        raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def ctop(*arguments, **options):
    return run(CTOP, *arguments, **options)


def falling(fault):
    """The environment for FAULTY: which child falls where, and how."""
    return {**os.environ, "CTOP_FAULT": fault}


def falling_with_little_room(nr_bytes):
    """The environment for FAULTY: no more than that waits for the writer."""
    return {**os.environ, "CTOP_FAULT_WAITING": str(nr_bytes)}


def falling_too_often(fault=None):
    """The same, and three deaths are too many, however far apart a slow machine makes them."""
    return {**(falling(fault) if fault else os.environ), "CTOP_FAULT_DEATHS": "all"}


def falling_once(fault):
    """The same, and one death is too many."""
    return {**falling(fault), "CTOP_FAULT_DEATHS": "first"}


def catches(pid, number):
    """Whether a process has a handler for that signal."""
    return int(status_of(pid, "SigCgt"), 16) >> (number - 1) & 1


def tell(pid):
    """A child whose fault waits (told-) is to have it now."""
    wait_until(lambda: catches(pid, signal.SIGUSR2), "fault that waits")
    os.kill(pid, signal.SIGUSR2)


def ctop_ok(*arguments, **options):
    result = ctop(*arguments, **options)
    check(result.returncode == 0, f"ctop {arguments}: {result.returncode}\n{result.stderr}")
    return result


def check_refused(result, status, *words):
    """Exactly two lines on stderr: `ctop: CAUSE` and an indented remedy."""
    lines = result.stderr.splitlines()
    check(result.returncode == status, f"exit code {result.returncode}: {result.stderr}")
    check(len(lines) == 2 and lines[0].startswith("ctop: ") and lines[1].startswith("  "),
          f"not a cause and a remedy: {result.stderr!r}")
    for word in words:
        check(word in result.stderr, f"{word!r} is not in {result.stderr!r}")
    check(result.stdout == "", f"stdout: {result.stdout!r}")


@contextlib.contextmanager
def directory():
    path = tempfile.mkdtemp(prefix="ctop-test-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def written(where, name, text):
    """The path of a file with that text."""
    path = os.path.join(where, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def java_class(where, name, text):
    """Compiled there, to be run with -cp."""
    need_program("java")
    compiled = run(need_program("javac"), "-d", where, written(where, f"{name}.java", text))
    check(compiled.returncode == 0, compiled.stderr)


def wait_until(condition, what):
    """Looks until it is true, or fails: for what has no event to wait for."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < deadline, f"no {what} within {PATIENCE} s")
        time.sleep(0.01)


@contextlib.contextmanager
def child(*command, **options):
    """A process that ends here at the latest."""
    options.setdefault("stdin", subprocess.DEVNULL)
    words = [word if isinstance(word, bytes) else str(word) for word in command]
    process = subprocess.Popen(words, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in process.stdin, process.stdout, process.stderr:
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


@contextlib.contextmanager
def started(*command, **options):
    """A workload from anywhere, or behind another command, that has said that it is ready; all of it ends at the end."""
    with child(*command, stdout=subprocess.PIPE, text=True, start_new_session=True, **options) as program:
        try:
            line = program.stdout.readline()
            check(line.startswith("ready"), f"{command} said {line!r}")
            program.words = line.split()
            yield program
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)


def shown_in_terminal(columns, rows, *command):
    """What a command writes to a terminal of that size, in bytes, and its exit code."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with child(*command, stdin=follower, stdout=follower, stderr=follower, start_new_session=True) as program:
        os.close(follower)
        written = b""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while chunk := os.read(leader, 65536):
                written += chunk
        os.close(leader)
        return program.wait(PATIENCE), written


PARKED_GO = "package main\nimport \"time\"\nfunc main() { c := make(chan int); go func() { <-c }(); for { time.Sleep(100 * time.Millisecond) } }\n"


@contextlib.contextmanager
def parked_goroutine(*options):
    """A program of Go's that hardly computes, whose runtime has its threads: one goroutine is parked for ever. Built with these options."""
    need_program("go")
    with directory() as where:
        source, program = os.path.join(where, "parked.go"), os.path.join(where, "parked")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PARKED_GO)
        built = run("go", "build", *options, "-o", program, source, cwd=where, env={**os.environ, "GOCACHE": os.path.join(BUILD, "go"), "GO111MODULE": "off"})
        check(built.returncode == 0, built.stderr)
        with child(program) as parked:
            wait_until(lambda: len(os.listdir(f"/proc/{parked.pid}/task")) > 2, "threads of its runtime")
            yield parked


def target(name, *arguments):
    return started(os.path.join(BUILD, "workloads", name), *arguments)


@contextlib.contextmanager
def called(*names, executable=os.path.join(BUILD, "workloads", "spin")):
    """Processes of the workload spin, or of a copy of it, that call themselves otherwise; names may be bytes."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(child(name, "600", executable=executable, stdout=subprocess.DEVNULL))
               for name in names]


Recording = collections.namedtuple("Recording", "path stats stacks stderr")


def weighed(path, *options):
    """{(comm, frame, ..., leaf): weight, of clocks in ns} of a recording, of functions that are called."""
    stacks = collections.Counter()
    for line in ctop_ok("export", "folded", path, "--no-inline", *options).stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] += int(count)
    return stacks


def folded(path, *options):
    """{(comm, frame, ..., leaf): samples} of a recording."""
    return weighed(path, "--samples", *options)


def record(where, *arguments, seconds=2):
    """Records with --stats, and reads back what was written."""
    path = os.path.join(where, "test.ctop")
    stats_path = os.path.join(where, "stats.json")
    result = ctop_ok("record", "-o", path, "--stats", stats_path, "--duration", seconds,
                     *arguments)
    with open(stats_path, encoding="utf-8") as file:
        stats = json.load(file)
    return Recording(path, stats, folded(path), result.stderr)


def cpu_seconds(pid, children=False):
    """
    CPU time that a process has used, with children those that it has waited for, too: what a clock event counts,
    however busy the machine is.
    """
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15 if children else 13])) / os.sysconf("SC_CLK_TCK")


def _family_cpu_seconds(pid):
    """Of a process and all that has come from it, and is there yet or has been waited for."""
    total = 0
    with contextlib.suppress(OSError):
        total = cpu_seconds(pid, children=True)
        total += sum(map(_family_cpu_seconds, child_pids(pid)))
    return total


def moment():
    """The time, and how much of the CPUs others than this test have had, what a virtual machine's host took included."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    everybody = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return time.monotonic(), everybody - _family_cpu_seconds(os.getpid())


def disturbance(start):
    """The share of the CPUs that others have had since then."""
    (began, before), (now, after) = start, moment()
    return (after - before) / ((now - began) * os.cpu_count()) if now > began else 0


def wait_for_cpu_time(pid, seconds, or_until=lambda: False, children=False):
    """Returns when a process has used that much from now on. What gives it none, leaves nothing to be seen."""
    until = cpu_seconds(pid, children) + seconds
    deadline = time.monotonic() + PATIENCE
    while cpu_seconds(pid, children) < until and not or_until():
        if time.monotonic() > deadline:
            raise Skip(f"the machine had no {seconds} s for the workload within {PATIENCE} s")
        time.sleep(0.01)


def record_cpu_time(path, events, commands, seconds):
    """Records commands that go on, side by side below a shell, until each has used so much CPU time."""
    recorder = subprocess.Popen([CTOP, "record", "-q", "-e", events, "-o", path, "--", "sh", "-c", " & ".join(commands) + " & wait"],
                                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def targets():
        for pid in child_pids(recorder.pid):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read() == "sh\n" and len(child_pids(pid)) == len(commands):
                    return child_pids(pid)
        return []

    pids = []
    try:
        wait_until(targets, "targets")
        pids = targets()
        for pid in pids:
            wait_for_cpu_time(pid, seconds, children=True)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
    check(recorder.wait(PATIENCE) == 0, f"ctop record: {recorder.returncode}")


def children_of(pid):
    """{role: pid} of ctop's own children: "collector", "symbolizer", "writer", "reader"."""
    found = {}
    with contextlib.suppress(OSError):  # one that ended meanwhile
        for child in child_pids(pid):
            with open(f"/proc/{child}/cmdline", encoding="utf-8", errors="replace") as file:
                for word in file.read().split("\0"):
                    if word.startswith("--child="):
                        found[word.removeprefix("--child=")] = child
    return found


def status_of(pid, key):
    """What /proc says of a process under that key."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return re.search(rf"^{key}:\s+(.*)$", file.read(), re.MULTILINE).group(1)


def anonymous_bytes(pid):
    """A process's own memory; what is shared with others, as rings and tables are, aside."""
    return int(status_of(pid, "RssAnon").removesuffix(" kB")) << 10


def wait_for_samples(recorder, path, least=1):
    """Returns once so many samples are in the file (it is written once a second), or the recorder has ended."""
    deadline = time.monotonic() + PATIENCE
    read = None
    while recorder.poll() is None:
        written = None
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(path)
            written = status.st_ino, status.st_size, status.st_mtime_ns
        if written != read:  # to read it takes as much of a CPU as to record it
            read = written
            counts = ctop("export", "folded", "--samples", path).stdout.splitlines()
            if sum(int(line.rpartition(" ")[2]) for line in counts) >= least:
                return
        check(time.monotonic() < deadline, f"no {least} samples in {path} within {PATIENCE} s")
        time.sleep(0.02)


@contextlib.contextmanager
def recording_of(where, *arguments, **options):
    """A recorder that has written its first samples; interrupted at the end, if it is there yet."""
    path = os.path.join(where, "x.ctop")
    event = [] if "-e" in arguments else ["-e", "cpu-clock"]
    recorder = subprocess.Popen([CTOP, "record", *event, "-o", path, "--stats",
                                 os.path.join(where, "s.json"), *map(str, arguments)],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                errors="replace", **options)
    try:
        wait_for_samples(recorder, path)
        yield recorder
    finally:
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        try:
            _, recorder.errors = recorder.communicate(timeout=PATIENCE)
        finally:
            recorder.kill()
            recorder.wait()


def ended_well(where, recorder):
    """What was recorded: its stacks and its stats."""
    check(recorder.returncode == 0, f"{recorder.returncode}: {recorder.errors}")
    with open(os.path.join(where, "s.json"), encoding="utf-8") as file:
        stats = json.load(file)
    return folded(os.path.join(where, "x.ctop")), stats


def record_work(where, pids, seconds, *arguments):
    """Records until each of the processes has used that much CPU time, however busy the machine is."""
    with recording_of(where, *arguments) as recorder:
        for pid in pids:
            wait_for_cpu_time(pid, seconds, lambda: recorder.poll() is not None)
    stacks, stats = ended_well(where, recorder)
    return Recording(os.path.join(where, "x.ctop"), stats, stacks, recorder.errors)


def cgroup2():
    """Where it is mounted, if a cgroup can be made there."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split() for line in file]
    places = [words[1] for words in mounts if words[2] == "cgroup2"]
    if not places:
        raise Skip("cgroup2 is not mounted")
    return places[0]


def _is_inhabited(path):
    with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as file:
        return file.read() != ""


@contextlib.contextmanager
def cgroup():
    """(mount, name) of a cgroup that has one below it."""
    mount, name = cgroup2(), f"ctop-test-{os.getpid()}"
    path = os.path.join(mount, name)
    try:
        os.makedirs(os.path.join(path, "below"))
    except OSError as error:
        raise Skip(f"no cgroup can be made in {mount}: {error.strerror}") from error
    try:
        yield mount, name
    finally:
        for place in os.path.join(path, "below"), path:
            # Children of those that were ended end by themselves.
            wait_until(lambda place=place: not _is_inhabited(place), f"end of those in {place}")
            os.rmdir(place)


def check_complete(path, stats, least):
    """So many stacks reach their roots; the others the kernel has cut: it copies nothing of a page that is not there just then."""
    cut = re.findall(r": (?:truncated|broken|switched) *(.*)$", ctop_ok("export", "frames", path).stdout, re.M)
    check(set(cut) <= {"(dump_end)"}, f"{collections.Counter(cut)}")
    check(share_complete(stats) > least, f"{stats['stacks']}")


def with_function(stacks, name):
    return sum(count for stack, count in stacks.items() if name in stack[1:])


def with_leaf(stacks, name):
    """Samples whose innermost user function it is: kernel frames on top do not matter here."""
    return sum(count for stack, count in stacks.items() if name in stack[-1:])


def check_share(what, part, whole, expected, systematic=0.02):
    """A share within four standard deviations of a binomial, and a stated systematic part."""
    check(whole > 100, f"{what}: only {whole} samples")
    share = part / whole
    allowed = 4 * math.sqrt(expected * (1 - expected) / whole) + systematic
    check(abs(share - expected) <= allowed,
          f"{what}: {share:.3f} of {whole} samples, not {expected:.3f} +- {allowed:.3f}")


def check_accounts(stats, unwanted=()):
    """
    Endings sum to samples, and nothing was dropped but for these reasons, nor lost; but rings may overflow where others
    have the CPUs. Doubles are no loss: a child may be attached that inherits as well, and while sets of events are
    switched both may sample.
    """
    check(sum(stats["stacks"].values()) == stats["samples"], f"endings do not sum up: {stats}")
    lost, overrun = stats["lost"], stats["dropped"]["overrun"]
    dropped = {why: nr for why, nr in stats["dropped"].items() if nr and why not in ("overrun", "double", *unwanted)}
    check(not dropped, f"dropped: {dropped}")
    if lost or overrun:
        check(disturbance(_case_start) > DISTURBED, f"lost: {lost}, overrun: {overrun}, and nobody was in the way")


def sampled_seconds(stats, dropped=0):
    """
    What samples and losses of a clock stand for, at least and at most: what was lost is of one set of the events or of
    another, with fewer samples.
    """
    gone = (dropped + stats["lost"]) * stats["event"]["period"] / 1e9
    least = stats["events_sampled"] / 1e9 + gone
    fewer = max((each["fewer"] for each in stats["sets"] if each["seconds"] > 0), default=1)
    return least, least + (fewer - 1) * gone


def share_complete(stats):
    """
    Where others had the CPUs and the rings filled, copies became smaller: what these cut is not held against stacks, nor
    what could not wait until main had a CPU to fetch files and maps.
    """
    complete = stats["stacks"]["complete"] + stats["stacks"]["joined"]
    largest = max((each["dump_bytes"] for each in stats.get("sets", ())), default=0)
    if any(each["seconds"] and each["dump_bytes"] < largest for each in stats.get("sets", ())) and \
            disturbance(_case_start) > DISTURBED:
        complete += stats["stacks"]["truncated"]
    if disturbance(_case_start) > DISTURBED:
        complete += stats["hurried"]
    return complete / stats["samples"] if stats["samples"] else 0


# ---- users, settings, and what the doctor says of them ----

# Nobody's locked memory is charged for the rings of every jailed child, this one's for nobody else's: each program that
# runs beside others has a user of its own, and the next number.
OTHER_USER = 100000 + 2 * os.getpid()


def setting(name):
    """A setting of the kernel's; None: it has none of that name."""
    try:
        with open(os.path.join("/proc/sys/kernel", name), encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


# A case that wants perf_event_paranoid to be 2, as kernels have it, changes nothing there.
PARANOID_IS_2 = setting("perf_event_paranoid") == "2"


@contextlib.contextmanager
def sysctl(name, value):
    """A setting of the kernel's, put back at the end. Cases that change it are alone()."""
    path = os.path.join("/proc/sys/kernel", name)
    before = setting(name)
    if before == str(value):
        yield
        return
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)


def paranoid(value):
    return sysctl("perf_event_paranoid", value)


def plain_user(*capabilities):
    """Words in front of a command that run it as a user with no other privilege than these."""
    words = [need_program("setpriv"), f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
    names = "".join(f",+{name}" for name in capabilities)
    words += [f"--bounding-set=-all{names}", f"--inh-caps=-all{names}"]
    return words + [f"--ambient-caps=-all{names}"] if capabilities else words


def copy_for_all(where, *paths):
    """Files that plain users may run, in a directory that they may write to."""
    os.chmod(where, 0o777)
    for path in paths:
        copy = os.path.join(where, os.path.basename(path))
        shutil.copy(path, copy)
        os.chmod(copy, 0o755)


@contextlib.contextmanager
def readable_ctop():
    """A directory that everybody may write, with a ctop that everybody may run."""
    with directory() as where:
        copy_for_all(where, CTOP)
        yield where, os.path.join(where, "ctop")


def doctor(*prefix_and_arguments):
    result = run(*prefix_and_arguments, "--json")
    answer = json.loads(result.stdout)
    check(result.returncode == (0 if answer["works"] else 1), f"{result.returncode}: {result.stdout}")
    check(len(answer["checks"]) > 8, f"{answer}")
    return answer


def agree(prefix, program, target_words):
    """What the doctor says, and what recording then does; returns the answer."""
    answer = doctor(*prefix, program, "doctor", *target_words)
    result = run(*prefix, program, "record", "-o", "/dev/null", "--duration", "0.1", *target_words)
    what = f"{prefix} {target_words}: {answer}\n{result.stderr}"
    check(answer["works"] == (result.returncode == 0), what)
    if answer["works"]:
        for step in answer["steps_down"]:
            # Measured each time, what a sample costs and who wants the CPUs: at the limit once so and once otherwise.
            if "one costs" in step or "want each CPU" in step:
                continue
            # Figures may differ from one measurement to the next.
            words = re.sub(r"[0-9.]+", "0", step)
            check(words in re.sub(r"[0-9.]+", "0", result.stderr), what)
    else:
        check(answer["cause"] in result.stderr and answer["remedy"] in result.stderr, what)
    return answer
