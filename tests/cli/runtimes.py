#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of a JVM, Node.js, CPython, Ruby, PHP and LuaJIT: what their functions lack is said, and what is said to help does."""

import json
import platform
import re
import signal
import subprocess

from busy_programs import LUA, NODE, PHP, PYTHON, RUBY, java, running, script
from harness import (CTOP, PATIENCE, case, check, child, children_of, ctop_ok, directory, main, need_program, need_root,
                     record_work, run, wait_for_cpu_time, wait_until)


def report(program):
    """Of so much of its CPU time, however long that takes."""
    with child(CTOP, "--stdio", "-q", "-p", program.pid, stdout=subprocess.PIPE, text=True) as ours:
        wait_until(lambda: "collector" in children_of(ours.pid), "sampling")
        wait_for_cpu_time(program.pid, 0.5)
        ours.send_signal(signal.SIGINT)
        return ours.communicate(timeout=PATIENCE)[0]


def doctor(program):
    """What it says of the runtime: state and remedy."""
    checks = json.loads(ctop_ok("doctor", "--json", "-p", program.pid).stdout)["checks"]
    found = [one for one in checks if one["name"] == "runtime"]
    check(len(found) == 1, f"{checks}")
    return found[0]["state"], found[0]["remedy"]


@case
def a_jvm_gets_names_by_the_command_that_is_named():
    need_root()
    with java() as program:
        remedy = f"jcmd {program.pid} Compiler.perfmap"
        text = report(program)
        check(f"Java[{program.pid}]: no names" in text and remedy in text, text)
        # Where its code is read, its stacks need no option.
        lacks_callers = f"Java[{program.pid}]: no callers" in text and "java -XX:+PreserveFramePointer" in text
        check(lacks_callers != (platform.machine() == "x86_64"), text)
        state, told = doctor(program)
        check(state == "note" and remedy in told and "-XX:+PreserveFramePointer" in told, told)
        need_program("jcmd")
        done = run(*remedy.split())
        check(done.returncode == 0, f"{remedy}: {done.stdout}{done.stderr}")
        text = report(program)
        check("Busy.spin" in text and ": no names" not in text, text)


@case
def a_jvm_with_frame_pointers_has_callers():
    need_root()
    with java("-XX:+PreserveFramePointer") as program:
        text = report(program)
        check(": no names" in text and ": no callers" not in text, text)
        check("PreserveFramePointer" not in doctor(program)[1], f"{doctor(program)}")


@case
def node_gets_names_by_the_option_that_is_named():
    need_root()
    with script("node", NODE) as program:
        text = report(program)
        named = re.search(rf"Node.js\[{program.pid}\]: no names.*\n.*restart: node (--perf-basic-prof) \(and (--[a-z-]+)", text)
        check(named, text)
        check("--perf-basic-prof" in doctor(program)[1], f"{doctor(program)}")
    with script("node", NODE, *named.groups()) as program:
        text = report(program)
        check("JS:*serve" in text and "\nruntime " not in text, text)
        check(doctor(program) == ("ok", ""), f"{doctor(program)}")


@case
def python_is_told_of_its_option():
    need_root()
    with script("python3", PYTHON) as program:
        text = report(program)
        check("_PyEval_EvalFrameDefault" in text, text)
        check(f"Python[{program.pid}]: its functions are not seen" in text and "restart: python3 -X perf" in text, text)
        check("python3 -X perf" in doctor(program)[1], f"{doctor(program)}")


@case
def ruby_is_told_of_its_option():
    need_root()
    with script("ruby", RUBY) as program:
        text = report(program)
        check(f"Ruby[{program.pid}]: its functions are not seen" in text and
              "restart: ruby --yjit --yjit-perf" in text, text)
        check("ruby --yjit --yjit-perf" in doctor(program)[1], f"{doctor(program)}")


@case
def php_gets_names_by_the_options_that_are_named():
    need_root()
    with script("php", PHP) as program:
        text = report(program)
        named = re.search(rf"PHP\[{program.pid}\]: its functions are not seen.*\n.*restart: php ((-d [a-z_.]+=\w+ ?)+)", text)
        check(named, text)
        check(named.group(1).strip() in doctor(program)[1], f"{doctor(program)}")
    # A file that is younger than two seconds would not be compiled.
    with script("php", PHP, *named.group(1).split(), "-d", "opcache.file_update_protection=0") as program:
        text = report(program)
        check("JIT$spin" in text and "\nruntime " not in text, text)
        check(doctor(program) == ("ok", ""), f"{doctor(program)}")


@case
def luajit_is_told_how_it_is_to_be_built():
    need_root()
    with script("luajit", LUA) as program:
        text = report(program)
        check(f"LuaJIT[{program.pid}]: no names" in text and "make XCFLAGS=-DLUAJIT_USE_PERFTOOLS" in text, text)
        check("-DLUAJIT_USE_PERFTOOLS" in doctor(program)[1], f"{doctor(program)}")


@case
def a_recording_says_it_too():
    need_root()
    with script("python3", PYTHON) as program, directory() as where:
        path = record_work(where, [program.pid], 0.5, "-p", program.pid).path
        check("restart: python3 -X perf" in ctop_ok("report", "--stdio", path).stdout, "not said")


@case
def others_are_left_alone():
    need_root()
    need_program("sh")
    with running("sh", "-c", "echo ready; while :; do :; done") as program:
        check("\nruntime " not in report(program), "a shell is a runtime")


if __name__ == "__main__":
    main()
