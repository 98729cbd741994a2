#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What an engineer on call asks, of real programs: fifteen tasks. Each names how many keys it takes from ctop's first screen to
the answer, and the answer is on the screen then.
"""

import contextlib
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tui"), os.path.join(HERE, "..", "cli")]

from tmux import terminal  # noqa: E402
from busy_programs import NODE, PYTHON, java, script  # noqa: E402
from harness import (BUILD, CTOP, OTHER_USER, Skip, called, check, child, ctop_ok, directory, long_case,  # noqa: E402
                     main, need_program, need_root, run, target, wait_until)

# A function of its own work with so much of the time, one that has a name: "> 42.0   43.0 ... NAME  MODULE".
HOT = r"^[> ]\s*\d+\.\d\s+\d+\.\d.*\s{name}\s.*{module}"


@contextlib.contextmanager
def asking(*words, cols=80, rows=24):
    """ctop in a terminal, at its first screen."""
    need_root()
    with terminal(cols, rows) as window:
        window.type(" ".join([CTOP, *map(str, words)]))
        yield window
        window.press("q")
        window.wait_for_prompt()


def answer(window, keys, *wanted):
    """After so many keys these patterns are on the screen."""
    for key in keys:
        window.press("Space" if key == " " else key)
    return window.wait_until(lambda screen: all(re.search(one, screen, re.M) for one in wanted),
                             f"after {len(keys)} keys {wanted}")


def printed(program):
    check(program.stdout.readline().startswith("ready"), "did not start")
    return program


# ---- servers ----

@long_case
def redis_which_function():
    """0 keys: functions of redis-server, by name."""
    need_program("redis-server")
    need_program("redis-benchmark")
    with directory() as where:
        socket = os.path.join(where, "socket")
        with child("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", cwd=where,
                   stdout=subprocess.DEVNULL) as server:
            wait_until(lambda: os.path.exists(socket), "redis")
            with child("redis-benchmark", "-s", socket, "-n", "1000000000", "-t", "lrange_600", "-q", "-c", "4",
                       stdout=subprocess.DEVNULL), asking("-p", server.pid) as window:
                answer(window, [], HOT.format(name=r"[a-zA-Z_]\w+", module="redis"), "LIVE")


@contextlib.contextmanager
def postgres():
    """A server of another user's, with one backend that works; the database's directory."""
    need_root()
    initdbs = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not initdbs:
        raise Skip("PostgreSQL's initdb is not installed")
    programs = os.path.dirname(initdbs[-1])
    account = pwd.getpwnam("nobody")  # initdb asks who that is
    user = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    environment = {**os.environ, "HOME": "/tmp", "LC_ALL": "C"}
    with directory() as where:
        os.chown(where, account.pw_uid, account.pw_gid)
        data = os.path.join(where, "data")
        made = run(*user, os.path.join(programs, "initdb"), "-D", data, "-A", "trust", "-U", "bob", "-N", env=environment)
        if made.returncode:
            raise Skip(f"initdb fails here: {made.stderr.splitlines()[-1:]}")
        with child(*user, os.path.join(programs, "postgres"), "-D", data, "-k", where, "-h", "", env=environment,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            query = [os.path.join(programs, "psql"), "-h", where, "-U", "bob", "-d", "postgres", "-c"]
            wait_until(lambda: run(*query, "SELECT 1").returncode == 0, "PostgreSQL")
            with child(*query, "SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 100) b",
                       stdout=subprocess.DEVNULL):
                yield server
            server.send_signal(signal.SIGQUIT)
            server.wait()


@long_case
def postgres_whose_query():
    """4 keys: of the servers of that name, all; which backend works, for whom."""
    with postgres(), asking("postgres") as window:
        window.wait_for("filter: postgres", "checkpointer", "bob postgres")
        answer(window, ["*", "Enter"], "LIVE")
        answer(window, ["6", "p"], r"^> .*postgres: bob postgres", r"^\d+ postgres: bob postgres \[local\] SELECT")


@long_case
def nginx_which_system_call():
    """1 key: system calls, the dearest first."""
    need_program("nginx")
    with directory() as where:
        os.chmod(where, 0o755)
        with open(os.path.join(where, "nginx.conf"), "w", encoding="ascii") as file:
            file.write(f"daemon off; master_process off; pid {where}/pid; error_log {where}/log;\n"
                       f"events {{}} http {{ access_log off; server {{ listen unix:{where}/socket; keepalive_requests 1000000000;\n"
                       "location / { return 200 'fine'; } } }\n")
        with child("nginx", "-p", where, "-c", os.path.join(where, "nginx.conf"), stderr=subprocess.DEVNULL) as server:
            wait_until(lambda: os.path.exists(os.path.join(where, "socket")), "nginx")
            with asking_for(os.path.join(where, "socket")), asking("-p", server.pid) as window:
                window.wait_for("LIVE", "SELF%")
                answer(window, ["S"], r"\d+\.\d  (writev|sendmsg|sendto)\s", r"\d+\.\d  (recvfrom|epoll_wait)\s")


@contextlib.contextmanager
def asking_for(socket):
    """A client that asks and asks."""
    text = ("import socket, sys\n"
            "s = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
            "while True:\n  s.sendall(b'GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n' * 8)\n  s.recv(65536)\n")
    with child(sys.executable, "-c", text, socket):
        yield


# ---- runtimes ----

@long_case
def python_where_are_my_functions():
    """0 keys: how it is to be started."""
    with script("python3", PYTHON) as program, asking("-p", program.pid, cols=120) as window:
        answer(window, [], rf"Python\[{program.pid}\].*restart: python3 -X perf")


@long_case
def node_where_are_my_functions():
    """0 keys: how it is to be started; started so, which function."""
    with script("node", NODE) as program, asking("-p", program.pid, cols=120) as window:
        answer(window, [], rf"Node.js\[{program.pid}\].*restart: node --perf-basic-prof")
    with script("node", NODE, "--perf-basic-prof") as program, asking("-p", program.pid) as window:
        answer(window, [], r"^> .*JS:\*(spin|serve)? ")


@long_case
def java_where_are_my_methods():
    """0 keys: the command that names them; once that has run, they have names without another key."""
    need_program("jcmd")
    with java() as program, asking("-p", program.pid) as window:
        screen = answer(window, [], rf"jcmd {program.pid} Compiler\.perfmap")
        command = re.search(rf"jcmd {program.pid} Compiler\.perfmap", screen).group(0)
        check(run(*command.split()).returncode == 0, command)
        answer(window, [], r"^> .*Busy\.spin")


# ---- other programs ----

@long_case
def gcc_of_a_build():
    """0 keys: a build is its compilers; 1 key: one of them."""
    need_program("gcc")
    with directory() as where:
        path = os.path.join(where, "large.c")
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"int f{i}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * x % {i + 3}; return s; }}\n"
                            for i in range(20000))
        build = f"while :; do gcc -O2 -c -o /dev/null {path} & gcc -O2 -c -o /dev/null {path}; wait; done"
        with child("sh", "-c", build, preexec_fn=os.setsid) as shell:
            try:
                with asking("-p", shell.pid) as window:
                    answer(window, ["6", "p"], r"cc1 .*large\.c|cc1 -quiet")
                with asking("-a") as window:
                    answer(window, [], r"cc1 ×\d|cc1 ")
                    answer(window, ["/", *"cc1", "Enter", "Enter"], r"filter: pro(gram|cess)=.*cc1")
            finally:
                os.killpg(shell.pid, signal.SIGKILL)


@long_case
def ffmpeg_which_function():
    """0 keys: functions of its codecs."""
    need_program("ffmpeg")
    with child("ffmpeg", "-v", "quiet", "-f", "lavfi", "-i", "testsrc2=size=1280x720", "-c:v", "mpeg4", "-f", "null", "-",
               stdout=subprocess.DEVNULL) as program, asking("-p", program.pid) as window:
        answer(window, [], HOT.format(name=r"\S+", module=r"(libav|ffmpeg)"))


@long_case
def deadlock_who_waits():
    """1 key: each thread, in which system call, since when."""
    with target("deadlock", "600", "3") as program, asking("-p", program.pid) as window:
        window.wait_for("sleep")
        answer(window, ["6"], r"deadlock-ab\s+futex ~\d+s", r"deadlock-ba\s+futex ~\d+s", r"(?s)(deadlock-wait\s+futex.*){3}")


@long_case
def page_faults_who():
    """0 keys: whose accesses fault."""
    with target("faults", "1000000000") as program, asking("-e", "page-faults", "-p", program.pid) as window:
        answer(window, [], r"page-faults", HOT.format(name=r"\w*(fault|touch)\w*", module="faults"))


# ---- the machine, the user, the file ----

@long_case
def machine_who():
    """0 keys: which programs; on the row of one 2 keys: which function of it."""
    with called(*["hungry"] * 4), asking("-a") as window:
        answer(window, [], r"\d+\.\d spin ×\d+ ")
        answer(window, ["/", *"spin ", "Enter"], r"^> .*spin ×\d+ ")
        answer(window, ["Enter", "1"], r"^> .*spin_loop", "filter: program=spin")


@long_case
def no_root_why():
    """0 keys: that it may not be sampled, why, and what helps."""
    need_root()
    need_program("setpriv")
    with directory() as where, target("spin", "600") as program:
        os.chmod(where, 0o755)
        copy = shutil.copy(CTOP, where)
        words = f"setpriv --reuid={OTHER_USER} --regid={OTHER_USER} --clear-groups {copy} -p {program.pid}"
        with terminal() as window:
            window.type(words)
            answer(window, [], r"cannot sample", r"Cause: ", r"^.?\s*1 ")
            window.press("q")
            window.wait_for_prompt()


@long_case
def several_of_one_name():
    """2 keys: all of them."""
    with called(*["gathered"] * 7), asking("gathered") as window:
        window.wait_for("filter: gathered")
        answer(window, ["*", "Enter"], "LIVE", r"^> .*spin_loop", r"\+5 more")


WRITES = """import os
fd = os.open(os.devnull, os.O_WRONLY)
pieces = [b'x' * 4096] * 64
print('ready', flush=True)
while True:
    os.writev(fd, pieces)
"""


@long_case
def kernel_which_system_call():
    """1 key: writev, and who calls it."""
    with script("python3", WRITES) as program, asking("-p", program.pid) as window:
        window.wait_for("LIVE", "SELF%")
        answer(window, ["S"], r"^>\s+\d+\.\d  writev\s+\S*writev")


@long_case
def recording_of_when_and_where():
    """0 keys: when it was recorded, for how long, on which machine."""
    need_root()
    with target("spin", "600") as program, directory() as where:
        path = os.path.join(where, "profile.ctop")
        ctop_ok("record", "-q", "-p", program.pid, "--duration", "0.5", "-o", path)
        with asking("report", path) as window:
            answer(window, [], r"\d{4}-\d\d-\d\d \d\d:\d\d, [\d.]+ s, \S+", "FILE")


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
