#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where servers of CPython, Node.js, a JVM and Go wait, idle and asked: each answer sleeps, and the server says how long that took it in all."""

import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

from goroutines import build as build_goroutines, stacks_of
from harness import CTOP, case, check, child, directory, java_class, main, need_program, need_root, written
from thread_times import check_adds_up
from waits import check_sum, waits_of

ASKED = 20
SLEEP_MS = 45
IDLE_SECONDS = 1

PYTHON = f"""
import http.server, threading, time
slept = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global slept
        if self.path != "/end":
            before = time.monotonic()
            time.sleep({SLEEP_MS / 1e3})
            slept += time.monotonic() - before
        self.send_response(200)
        self.end_headers()
        self.is_last = self.path == "/end"
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print("ready", server.server_port, threading.get_native_id(), flush=True)
class Last(Handler):
    def do_GET(self):
        super().do_GET()
        if self.is_last:
            threading.Thread(target=server.shutdown).start()
server.RequestHandlerClass = Last
server.serve_forever(poll_interval=60)
print("slept", slept)
"""

NODE = f"""
let slept = 0;
const cell = new Int32Array(new SharedArrayBuffer(4));
function rest() {{ Atomics.wait(cell, 0, 0, {SLEEP_MS}); }}
const server = require('http').createServer((request, response) => {{
  if (request.url != '/end') {{
    const before = process.hrtime.bigint();
    rest();
    slept += Number(process.hrtime.bigint() - before) / 1e9;
  }}
  response.setHeader('Connection', 'close');
  response.end('fine');
  if (request.url == '/end') {{ console.log('slept', slept); server.close(); }}
}});
server.listen(0, '127.0.0.1', () => console.log('ready', server.address().port, process.pid));
"""

JAVA = f"""
import com.sun.net.httpserver.*;
public class Server {{
  static long slept = 0;
  static void rest() {{ try {{ Thread.sleep({SLEEP_MS}); }} catch (InterruptedException e) {{ }} }}
  public static void main(String[] arguments) throws Exception {{
    HttpServer server = HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/", exchange -> {{
      boolean isLast = exchange.getRequestURI().getPath().equals("/end");
      if (!isLast) {{
        long before = System.nanoTime();
        rest();
        slept += System.nanoTime() - before;
      }}
      exchange.sendResponseHeaders(200, -1);
      exchange.close();
      if (isLast) {{ System.out.println("slept " + slept / 1e9); System.exit(0); }}
    }});
    server.start();
    System.out.println("ready " + server.getAddress().getPort() + " -");
  }}
}}
"""


GO = f"""
package main
import ("fmt"; "net"; "net/http"; "os"; "time")
var slept time.Duration
//go:noinline
func rest() {{ time.Sleep({SLEEP_MS} * time.Millisecond) }}
func main() {{
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {{
		if r.URL.Path == "/end" {{
			fmt.Println("slept", slept.Seconds())
			os.Exit(0)
		}}
		before := time.Now()
		rest()
		slept += time.Since(before)
	}})
	fmt.Println("ready", listener.Addr().(*net.TCPAddr).Port, "-")
	http.Serve(listener, nil)
}}
"""


def ask(port, path):
    with contextlib.suppress(OSError) if path == "/end" else contextlib.nullcontext():  # it may end before it answers
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            answer.read()


def served(where, *command):
    """What was recorded of a server that was idle, asked, and ended; how many seconds it slept, and the thread that it says does that."""
    path, stats = os.path.join(where, "s.ctop"), os.path.join(where, "stats.json")
    with child(CTOP, "record", "-q", "--time", "wall", "-o", path, "--stats", stats, "--", *command, stdout=subprocess.PIPE, text=True) as recorder:
        _, port, tid = recorder.stdout.readline().split()
        time.sleep(IDLE_SECONDS)  # nobody asks it
        for _ in range(ASKED):
            ask(port, "/")
        ask(port, "/end")
        slept = float(re.search(r"slept ([\d.]+)", recorder.stdout.read()).group(1))
        check(recorder.wait() == 0, f"{recorder.returncode}")
    check(slept > ASKED * SLEEP_MS / 1e3 * 0.99, f"{slept}")
    with open(stats, encoding="utf-8") as file:
        return path, json.load(file), slept, tid


def seconds_of(stacks, kind, function=None):
    return sum(ns for stack, ns in stacks.items() if stack[-1] == kind and (not function or function in stack)) / 1e9


def check_server(where, command, sleeps, idles, comm=None):
    """A thread, which the server or its name tells, sleeps for that kind, below such a function, and between requests it waits for another one."""
    path, stats, slept, tid = served(where, *command)
    check_adds_up(stats)
    check_sum(stats, waits_of(path))
    stacks = waits_of(path)[comm] if comm else collections.Counter({stack: ns for stacks in waits_of(path, "--tid", tid).values()
                                                                    for stack, ns in stacks.items()})
    # By its own clock it sleeps until it has a CPU again; of a busy machine not all is seen, and some is shared out.
    queued, unseen = seconds_of(stacks, "[run queue]"), seconds_of(stacks, "[wait, not seen]")
    unsure = unseen + stats.get("waits_estimated_seconds", 0)
    found, idle = seconds_of(stacks, *sleeps), seconds_of(stacks, *idles)
    what = f"slept {slept}, {found} here; idle for {IDLE_SECONDS}, {idle} here; {queued} queued, {unseen} not seen, {unsure} unsure: {stats}, {stacks}"
    check(0.99 * slept - queued - unsure <= found <= 1.01 * slept + 0.01 + unsure, what)
    check(idle >= 0.99 * IDLE_SECONDS - queued - unsure, what)
    check(found > 0.1 * slept and idle > 0.5 * IDLE_SECONDS, what)
    if queued < 0.01 * slept:
        check(unsure < 0.1 * slept, f"nobody wanted the CPUs: {what}")


@case
def of_python():
    need_root()
    with directory() as where:
        check_server(where, [sys.executable, written(where, "server.py", PYTHON)], ("[sleep]",), ("[poll]",))


@case
def of_node():
    need_root()
    with directory() as where:
        check_server(where, [need_program("node"), "-e", NODE], ("[lock]",), ("[poll]",))


@case
def of_a_jvm():
    need_root()
    with directory() as where:
        java_class(where, "Server", JAVA)
        check_server(where, [need_program("java"), "-cp", where, "Server"], ("[lock]", "JVM_Sleep"), ("[poll]", "Java_sun_nio_ch_EPoll_wait"), comm="HTTP-Dispatcher")


@case
def of_go():
    """Its threads wait for work; of its goroutines the one that listens waits all the time, and those that answer sleep, by looks about each 100 ms."""
    need_root()
    with directory() as where:
        path, stats, slept, _ = served(where, build_goroutines(where, source=written(where, "server.go", GO)))
        check_adds_up(stats)
        check_sum(stats, waits_of(path))
        parked = collections.Counter()
        for stacks in stacks_of(path).values():
            parked.update(stacks)
        idle = sum(ns for (reason, functions, _), ns in parked.items() if reason == "IO wait" and "main.main" in functions) / 1e9
        asleep = sum(ns for (reason, functions, creator), ns in parked.items()
                     if reason == "sleep" and "main.rest" in functions and creator.startswith("net/http.(*Server).Serve")) / 1e9
    # From when it is known where they are.
    check(0.5 * (IDLE_SECONDS + slept) <= idle, f"idle {idle}, slept {slept}: {parked}")
    check(0.3 * slept < asleep < 1.5 * slept, f"{slept}, {asleep} here: {parked}")


if __name__ == "__main__":
    main()
