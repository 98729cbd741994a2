# SPDX-License-Identifier: MIT
"""What tests of export formats share: profiles to export, and what ctop's own report says of them."""

import atexit
import collections
import functools
import os
import re
import shutil
import tempfile

from harness import BUILD, Skip, check, ctop_ok, need_program, run
from made_recording import (ANON, EVENTS, FAULTS, FILE, KERNEL, KERNEL_CHAIN, KERNEL_ONLY, NANOSECONDS, NO_MODULE, TRUNCATED,
                            MadeRecording)

# Names as those would choose them who want the reader of a file to do something, or to see something else.
HOSTILE = ['quote"back\\slash\'', "</script><script>document.title='taken'</script>", "<img src=x onerror=alert(1)>",
           "line\nbreak\r\n\tand tab", "\x1b]52;c;ZXZpbA==\x07\x1b[2J", "\u202etxet sdrawkcab\u2066", "]]></svg>&amp;",
           "x" * 4096, b"\xff\xfe invalid \xc3(", "=1+cmd|' /C calc'!A0", "semi;colon 12", "fn=(1) other", "{}[],:null",
           "\u2028line\u2029paragraph", "*", "# comment", "a,b\"c\",", "\u00fcn\u00efc\u00f6de \U0001f525"]

Profile = collections.namedtuple("Profile", "name path events")


def where():
    """A directory for as long as the test runs."""
    path = tempfile.mkdtemp(prefix="ctop-test-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def as_text(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


@functools.cache
def hostile():
    """Every hostile name as a function, a file, a thread, an event, and what the recorder says of itself."""
    made = MadeRecording()
    events = [made.event("cpu-clock", NANOSECONDS, period=1000000)]
    events += [made.event(name) for name in HOSTILE[:3]]
    program = made.module("/bin/prog")
    frame = made.frame(program, 0x1000, "main")
    for i, name in enumerate(HOSTILE):
        path = name if isinstance(name, bytes) else name.encode()
        module = made.module(b"/tmp/%d/" % i + path, build_id=bytes([i]) * 20)
        task = made.task(100 + i % 3, 100 + i, path[:200])
        leaf = made.frame(module, 0x2000 + 16 * i, name)
        for event in events:
            made.sample(1000000 * i, task, [frame, made.frame(program, 0x1100, HOSTILE[-1 - i]), leaf], event,
                        weight=1000 + i, cpu=i % 2)
    made.facts = {"command_line": HOSTILE[1], "hostname": HOSTILE[4], "kernel": HOSTILE[8]}
    return Profile("hostile", made.write(os.path.join(where(), "hostile.ctop")), ["cpu-clock"])


@functools.cache
def made():
    """A bit of everything: processes, threads, events, CPUs, kernel frames, generated code, code without a name, stacks without an end."""
    recording = MadeRecording()
    clock = recording.event("cpu-clock", NANOSECONDS, period=0, hz=1000)
    faults = recording.event("page-faults", FAULTS)
    custom = recording.event("sched:sched_switch", EVENTS)
    recording.event("never-sampled")
    program = recording.module("/usr/bin/program", build_id=bytes(range(20)))
    library = recording.module("/usr/lib/libthing.so.1", build_id=b"\xab" * 20)
    kernel = recording.module("[kernel]", KERNEL)
    jit = recording.module("[anon]", ANON, pid=200)
    main = recording.frame(program, 0x1010, "main", 16)
    work = recording.frame(program, 0x1120, "work(int)", 32)
    again = recording.frame(program, 0x1130, "work(int)", 48)
    other = recording.frame(library, 0x5040, "work(int)", 4)
    nameless = recording.frame(library, 0x6000)
    generated = recording.frame(jit, 0x7F0000001234, "LFunction:~run script.js:1", 4)
    entry = recording.frame(kernel, 0xFFFFFFFF81000010, "entry_SYSCALL_64_after_hwframe", 16)
    read = recording.frame(kernel, 0xFFFFFFFF81234560, "vfs_read", 32)
    threads = [recording.task(100, 100, "program"), recording.task(100, 101, "worker"), recording.task(200, 200, "node"),
               recording.task(0, 0, "swapper/0")]
    for i in range(200):
        now = 5000000000 + i * 10000000
        recording.sample(now, threads[0], [main, work, again], clock, 1000000, cpu=i % 2)
        recording.sample(now + 1, threads[1], [main, work, other], clock, 1000000 + i, cpu=1)
        if i % 3 == 0:
            recording.sample(now + 2, threads[1], [main, nameless], clock, 1000000, end=TRUNCATED)
            recording.sample(now + 3, threads[2], [generated, entry, read], clock, 1000001, method=KERNEL_CHAIN)
            recording.sample(now + 4, threads[2], [generated], faults, 7)
        if i % 5 == 0:
            recording.sample(now + 5, threads[0], [main, work], faults, 1)
            recording.sample(now + 6, threads[3], [entry, read], custom, 1, end=KERNEL_ONLY, method=KERNEL_CHAIN)
            recording.sample(now + 7, threads[3], [], custom, 3, end=TRUNCATED)
    recording.facts = {"command_line": "ctop record -- program", "hostname": "elsewhere", "start_ns": "4000000000",
                       "start_wall_ns": "1700000000000000000"}
    return Profile("made", recording.write(os.path.join(where(), "made.ctop")),
                   ["cpu-clock", "page-faults", "sched:sched_switch"])


MS = 1000000


@functools.cache
def waiting():
    """Two threads that compute and wait, one that only waits, some of it told in parts."""
    recording = MadeRecording()
    clock, wait = recording.event("cpu-clock", NANOSECONDS, period=MS), recording.event("wait", NANOSECONDS)
    program = recording.module("/usr/bin/server")
    main, work, take, read = (recording.frame(program, 0x1000 + 16 * i, name)
                              for i, name in enumerate(("main", "work", "take_lock", "read_byte")))
    lock, io = (recording.frame(recording.module(name, NO_MODULE), 0) for name in ("[lock]", "[io]"))
    first, second, idle = (recording.task(100, tid, comm) for tid, comm in ((100, "server"), (101, "second"), (102, "idle")))
    for i in range(100):
        recording.sample((1000 + i) * MS, first, [main, work], clock, MS)
        recording.sample((1300 + i) * MS + 1, second, [main, work], clock, MS)
    # 200 ms in two parts, then 50 ms more after 10 ms.
    for end_ms, ms in ((1200, 100), (1300, 100), (1360, 50)):
        recording.sample(end_ms * MS, first, [main, take, lock], wait, ms * MS)
    recording.sample(1290 * MS, second, [main, read, io], wait, 290 * MS)
    for end_ms in (1100, 1200, 1300, 1400):
        recording.sample(end_ms * MS, idle, [main, read, io], wait, 100 * MS)
    recording.facts = {"command_line": "ctop record --time wall -- server", "start_ns": "1000000000",
                       "start_wall_ns": "1700000000000000000"}
    return Profile("waiting", recording.write(os.path.join(where(), "waiting.ctop")), ["cpu-clock", "wait"])


def _recorded(name, events, *command):
    directory = where()
    path = os.path.join(directory, name + ".ctop")
    ctop_ok("record", "-q", "-e", ",".join(events), "-o", path, "--", *command, cwd=directory)
    return Profile(name, path, events)


@functools.cache
def threads():
    """C++ with threads, and two events."""
    return _recorded("threads", ["cpu-clock", "page-faults"], "sh", "-c",
                     'timeout -s INT 1.5 "$0"; true', os.path.join(BUILD, "workloads", "demo"))


@functools.cache
def node():
    return _recorded("node", ["cpu-clock"], need_program("node"), "--perf-basic-prof", "-e", """
        const fs = require('fs');
        function reads() { for (let i = 0; i < 3000; i++) fs.readFileSync('/proc/self/stat'); }
        function computes() { let s = 0; for (let i = 0; i < 5e7; i++) s += Math.sqrt(i); return s; }
        reads(); computes();
        process.on('exit', () => fs.unlinkSync(`/tmp/perf-${process.pid}.map`));""")


GO = r"""
package main

import "fmt"

type worker struct{ sum int }

//go:noinline
func (w *worker) step(n int) {
	for i := 0; i < n; i++ {
		w.sum += i % 7
	}
}

func main() {
	done := make(chan int)
	for t := 0; t < 2; t++ {
		go func() {
			w := &worker{}
			for i := 0; i < 150; i++ {
				w.step(1000000)
			}
			done <- w.sum
		}()
	}
	fmt.Println(<-done + <-done)
}
"""


@functools.cache
def go():
    directory = where()
    source = os.path.join(directory, "main.go")
    with open(source, "w", encoding="utf-8") as file:
        file.write(GO)
    program = os.path.join(directory, "goprogram")
    result = run(need_program("go"), "build", "-o", program, source,
                 env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off", "GOCACHE": os.path.join(BUILD, "go")})
    if result.returncode:
        raise Skip(f"go builds nothing here: {result.stderr}")
    return _recorded("go", ["cpu-clock"], program)


def profiles():
    """Those that can be had here; what is missing is skipped by recordings_of_other_languages."""
    for make in (made, hostile, waiting, threads, go, node):
        try:
            yield make()
        except Skip as reason:
            print(f"# without {make.__name__}: {reason}")


Row = collections.namedtuple("Row", "self_percent total_percent")


def report(path, event):
    """{(function, module): Row}, all of them."""
    text = ctop_ok("report", "--stdio", "--names", "full", "--limit", 0, "--min-percent", 0, "--event", event, path).stdout
    rows = {}
    for line in text.partition(" SELF%")[2].splitlines()[1:]:
        found = re.match(r" *([\d.]+) +([\d.]+) +[\d,]+  (.*?) +(\S.*|)$", line)
        if not found:
            continue
        name, _, module = found.group(3, 4)[0], None, found.group(4)
        whole = line[found.start(3):]
        name, _, module = whole.rpartition("  ")
        rows[name.strip().removeprefix("[k] "), module.strip()] = Row(float(found.group(1)), float(found.group(2)))
    check(rows, f"no rows in {text}")
    return rows


def total(path, event, *options):
    """What the event's samples stand for, all of them."""
    return sum(int(line.rpartition(" ")[2])
               for line in ctop_ok("export", "folded", path, "--event", event, *options).stdout.splitlines())


def nr_samples(path, event):
    return total(path, event, "--samples")


class Costs:
    """What a consumer found, function by function, as the report counts: recursion once."""

    def __init__(self):
        self.weight = 0
        self.selfs, self.totals = collections.Counter(), collections.Counter()

    def add(self, stack, weight):
        """Stack: (function, module), leaf first."""
        self.weight += weight
        if stack:
            self.selfs[stack[0]] += weight
        for function in set(stack):
            self.totals[function] += weight


def check_costs(what, costs, profile, event, rounding=0.0051):
    """Equal to the report: total and each function's share, rounding aside."""
    whole = total(profile.path, event)
    check(abs(costs.weight - whole) < 0.5 + whole * 1e-12, f"{what} of {profile.name}: {costs.weight} of {event}, not {whole}")
    rows = report(profile.path, event)
    missing = set(rows) ^ set(costs.totals)
    check(not missing, f"{what} of {profile.name}: not in both: {sorted(missing)[:5]}")
    for function, row in rows.items():
        shares = [100 * costs.selfs[function] / whole, 100 * costs.totals[function] / whole]
        check(abs(shares[0] - row.self_percent) < rounding and abs(shares[1] - row.total_percent) < rounding,
              f"{what} of {profile.name}: {function} has {shares}, not {row}")


def export(form, profile, *options):
    """The exported file's path."""
    path = os.path.join(where(), "out." + form)
    ctop_ok("export", form, profile.path, "-o", path, *options)
    return path


def module_of(path):
    """As the report calls it."""
    return {"[kernel.kallsyms]": "[kernel]", "[unknown]": ""}.get(path, path.rpartition("/")[2])


# ---- consumers ----

def npm_package(name):
    """Where tools/deps --all has put it."""
    path = os.path.join(BUILD, "npm", "node_modules", name)
    if not os.path.exists(path):
        raise Skip(f"{name} is not installed: BUILD=build tools/deps --all")
    return path


def check_schema(schema, path):
    """The file is what the schema says, by ajv."""
    script = """
        const [ajv, schema, file] = process.argv.slice(1);
        const fs = require('fs');
        const read = path => JSON.parse(fs.readFileSync(path, 'utf8'));
        const validate = new (require(ajv))({strict: false}).compile(read(schema));
        if (!validate(read(file))) { console.error(validate.errors); process.exit(1); }"""
    result = run(need_program("node"), "-e", script, npm_package("ajv"), schema, path)
    check(result.returncode == 0, f"{path}: {result.stderr}")


def page(url):
    """The document that chromium has of it, once its scripts have nothing more to do."""
    result = run(need_program("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
                 "--window-size=1400,2000", "--allow-file-access-from-files", f"--user-data-dir={where()}", "--dump-dom", url)
    check(result.returncode == 0 and result.stdout, f"chromium: {result.returncode} {result.stderr[-2000:]}")
    return result.stdout
