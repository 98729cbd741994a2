#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop serve`: profiles over HTTP, for those who may have them, and nobody else."""

import base64
import contextlib
import gzip
import http.client
import http.server
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import urllib.parse

from browser import use
from flight_recorder import recorder_of
from harness import (CASE_SECONDS, CTOP, FAULTY, NOBODY, PATIENCE, ROOT, Skip, case, check, check_refused, child, child_pids, ctop, directory, falling, main,
                     need_library, need_program, need_root, open_to_all, plain_user, readable_ctop, run, status_of, target, tell, wait_until)

TOKEN = "0123456789abcdef0123456789abcdef"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PROFILE = "/debug/pprof/profile"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def text(self):
        return self.body.decode()


def name_of(pid):
    """A process's; that of one that has ended is empty."""
    with contextlib.suppress(OSError):
        return status_of(pid, "Name")
    return ""


class Server:
    """One that has said where it listens."""

    def __init__(self, process, place):
        self.process, self.place = process, place

    def connection(self):
        if self.place.startswith("unix:"):
            return UnixConnection(self.place[len("unix:"):])
        return http.client.HTTPConnection(self.place, timeout=PATIENCE)

    def socket(self):
        """Connected, for what no client of HTTP says."""
        connection = self.connection()
        connection.connect()
        return connection.sock

    def get(self, path, method="GET", **headers):
        connection = self.connection()
        with contextlib.closing(connection):
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            return Answer(connection.getresponse())

    def metric(self, name, **headers):
        """The sum of its lines."""
        found = re.findall(rf"^{re.escape(name)} (\S+)$", self.get("/metrics", **headers).text(), re.M)
        check(found, f"no {name}")
        return sum(map(float, found))

    def http_pid(self):
        """The child that speaks HTTP."""
        return next(pid for pid in child_pids(self.process.pid) if name_of(pid) == "ctop-http")

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        words = self.process.stderr.read()
        return self.process.wait(PATIENCE), words


@contextlib.contextmanager
def server_at(listen, *arguments, program=(CTOP,), **options):
    need_library("microhttpd")
    with child(*program, "serve", "--listen", listen, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options) as process:
        line = process.stderr.readline()
        found = re.match(r"ctop: listens at (\S+)$", line)
        check(found, f"{line}{process.stderr.read() if not found else ''}")
        yield Server(process, found[1])


@contextlib.contextmanager
def server(*arguments, **options):
    """At a unix socket, of a program that computes."""
    with directory() as where, target("spin") as program:
        with server_at(f"unix:{where}/s", "-p", program.pid, *arguments, **options) as one:
            one.where, one.target = where, program.pid
            yield one


@contextlib.contextmanager
def server_with_token():
    with directory() as where, target("spin") as program:
        path = token_file(where)
        with server_at("127.0.0.1:0", "--token-file", path, "-p", program.pid) as one:
            yield one


def token_file(where, text=TOKEN + "\n", mode=0o600):
    path = os.path.join(where, "token")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def check_status(answer, status, *words):
    check(answer.status == status, f"{answer.status} and not {status}: {answer.body[:300]}")
    for word in words:
        check(word in answer.text(), f"{word!r} is not in {answer.body[:300]}")


@case
def each_endpoint_answers():
    with server() as one:
        check_status(one.get("/healthz"), 200, "ok")
        profile = one.get(f"{PROFILE}?seconds=1&hz=499")
        check_status(profile, 200)
        check(b"spin_loop" in gzip.decompress(profile.body), "no function of the target's")
        check(profile.headers["Content-Type"] == "application/octet-stream", str(profile.headers))
        check_status(one.get("/debug/fgprof?seconds=1&format=folded"), 200, "spin")
        check(gzip.decompress(one.get(f"/debug/fgprof?seconds=0.5&pid={one.target}").body), "nothing")
        check(json.loads(one.get("/debug/fgtrace?seconds=0.5").body)["traceEvents"], "no slices")
        page = one.get("/flame?seconds=0.5")
        check_status(page, 200, "<!doctype html>")
        check(page.headers["Content-Type"].startswith("text/html"), str(page.headers))
        check_status(one.get("/metrics"), 200, "ctop_memory_bytes{process=\"http\"}")
        for name in "profile", "fgtrace", "flame":
            check(one.metric(f'ctop_captures_total{{endpoint="{name}",outcome="done"}}') == 1, name)
        check(one.metric("ctop_samples_total") > 0 and one.metric("ctop_samples_lost_total") == 0, "counts")


@case
def others_read_its_answers():
    curl, go = need_program("curl"), need_program("go")
    with server() as one:
        path = os.path.join(one.where, "profile.pb.gz")
        fetched = run(curl, "-sSf", "--unix-socket", one.place[len("unix:"):], "-o", path, f"http://localhost{PROFILE}?seconds=1")
        check(fetched.returncode == 0, fetched.stderr)
        raw = run(go, "tool", "pprof", "-raw", path, env={**os.environ, "HOME": one.where})
        check(raw.returncode == 0 and "spin_loop" in raw.stdout, f"{raw.stdout[:500]}{raw.stderr}")


@case
def its_page_opens_in_a_browser():
    """Which sends the token because it was told to: an address alone opens nothing."""
    with server_with_token() as one:
        script = "await page.keyboard.press('1'); return (await rows('functions')).map((row) => Object.values(row).map(([text]) => text).join(' '))"
        functions = use(f"http://{one.place}/flame?seconds=1", script, extraHTTPHeaders=BEARER)
    check(any("spin_loop" in function for function in functions), f"{functions}")


@case
def metrics_are_what_prometheus_reads():
    """Each line is a comment of a known kind or a number; each metric has one HELP and one TYPE, before it."""
    with server() as one:
        known = {}
        for line in one.get("/metrics").text().splitlines():
            if found := re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line):
                check(found[1] not in known.setdefault(found[2], {}), line)
                known[found[2]][found[1]] = found[3]
                continue
            found = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[a-z0-9._]+"(,[a-z]+="[a-z_]+")*\})? [0-9.]+', line)
            check(found and set(known.get(found[1], ())) == {"HELP", "TYPE"}, line)
            check(known[found[1]]["TYPE"] == ("counter" if found[1].endswith("_total") else "gauge"), line)


@case
def metrics_are_what_promtool_accepts():
    """Prometheus' own check of names, units and types."""
    promtool = need_program("promtool")
    need_library("curl")
    with server("--budget", "1%", "--push", "http://127.0.0.1:9") as one:
        one.get(f"{PROFILE}?seconds=0.1")
        metrics = one.get("/metrics").text()
    check("ctop_budget_ratio 0.01\n" in metrics and "ctop_pushes_total{" in metrics, metrics)
    result = subprocess.run([promtool, "check", "metrics"], input=metrics, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    check(result.returncode == 0 and not result.stdout + result.stderr, result.stdout + result.stderr)


@case
def a_budget_is_held_by_less_of_a_capture_and_fewer_of_them():
    unpaid = 'ctop_captures_total{endpoint="profile",outcome="unpaid"}'
    with server("--budget", "0.0001%") as one:
        check(one.metric("ctop_budget_ratio") == 1e-6 and one.metric("ctop_captures_lowered_total") == 0, "before")
        check_status(one.get(f"{PROFILE}?seconds=1&hz=4999"), 200)
        check(one.metric("ctop_captures_lowered_total") == 1, "it was not lowered")
        check(one.metric("ctop_sampling_cpu_seconds_total") > 0, "samples took nothing")
        check(one.metric("ctop_budget_spent_ratio") > 1e-6 and one.metric("ctop_budget_balance_seconds") < 0, "nothing was spent")
        again = one.get(f"{PROFILE}?seconds=1")
        check_status(again, 429, "--budget")
        check(int(again.headers["Retry-After"]) > 60, again.headers["Retry-After"])
        check(one.metric(unpaid) == 1, "it was not counted")
        check_status(one.get("/healthz"), 200, "ok")
    with server() as one:
        check("budget" not in one.get("/metrics").text(), "without one")
    check_refused(ctop("serve", "-a", "--budget", "1"), 2, "--budget requires a percentage, not '1'")


@case
def a_port_takes_a_token():
    with server_with_token() as one:
        check_status(one.get("/healthz"), 200)
        check_status(one.get("/metrics", **BEARER), 200)
        for wrong in "", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}0", f"Bearer {TOKEN[:-1]}x", "Bearer " + "x" * 4000, f"Basic {TOKEN}", TOKEN:
            for path in "/metrics", PROFILE, "/nothing":
                answer = one.get(path, **({"Authorization": wrong} if wrong else {}))
                check_status(answer, 401, "Bearer")
                check(answer.headers["WWW-Authenticate"] == "Bearer", f"{answer.headers}")
        check(one.metric('ctop_requests_refused_total{reason="no_token"}', **BEARER) == 27, "counts")
        # As a password, whoever's: what http://USER:TOKEN@HOST makes of it.
        for user, password, status in (("x", TOKEN, 200), ("", TOKEN, 200), ("x:y", TOKEN, 401), ("x", TOKEN[:-1], 401), ("x", "", 401)):
            said = base64.b64encode(f"{user}:{password}".encode()).decode()
            check_status(one.get("/metrics", Authorization=f"Basic {said}"), status)
        for wrong in "x", "====", base64.b64encode(TOKEN.encode()).decode(), "eDow" * 1000, "eDow\u00e9":
            check_status(one.get("/metrics", Authorization=f"Basic {wrong}"), 401)


@case
def go_tool_pprof_asks_it():
    need_program("go")
    with directory() as where, server_with_token() as one:
        path = os.path.join(where, "x.pb.gz")
        address = f"http://ctop:{TOKEN}@{one.place}/debug/pprof/profile?seconds=1"
        result = run("go", "tool", "pprof", "-proto", "-output", path, address, env={**os.environ, "PPROF_TMPDIR": where, "HOME": where})
        check(result.returncode == 0, result.stderr)
        check("spin_loop" in run("go", "tool", "pprof", "-top", path, env={**os.environ, "HOME": where}).stdout, "nothing in it")


@case
def a_port_without_a_token_is_refused():
    check_refused(ctop("serve", "-p", os.getpid(), "--listen", "127.0.0.1:0"), 2, "--token-file")


@case
def a_token_that_others_know_is_refused():
    with directory() as where:
        def refused(path, *words):
            check_refused(ctop("serve", "-p", os.getpid(), "--listen", "127.0.0.1:0", "--token-file", path), 1, *words)

        refused(token_file(where, mode=0o644), "others may read it")
        refused(token_file(where, mode=0o602), "others may read it")
        refused(token_file(where, "short\n"), "fewer than 16")
        refused(token_file(where, "x" * 256), "more than 255")
        refused(token_file(where, "with space and more of it\n"), "printable")
        refused(token_file(where, ""), "fewer than 16")
        refused(where, "no regular file")
        refused(os.path.join(where, "none"), "No such file")
        if os.geteuid() == 0:
            path = token_file(where)
            os.chown(path, NOBODY, NOBODY)
            refused(path, "another user's")


@case
def only_addresses_of_this_machine():
    with directory() as where:
        token = token_file(where)
        for place in "0.0.0.0:80", "[::]:80", "192.168.1.1:80", "example.org:80", ":80", "127.0.0.2:80", "127.0.0.1.example.org:80":
            check_refused(ctop("serve", "-p", 1, "--listen", place, "--token-file", token), 2, "this machine alone")
        for place in "80", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:http", "unix:", "unix:" + "x" * 108:
            check_refused(ctop("serve", "-p", 1, "--listen", place, "--token-file", token), 2, "--listen")


@case
def bad_requests_name_what_is_wrong():
    with server() as one:
        for query, word in (("seconds=0", "seconds"), ("seconds=301", "seconds"), ("seconds=-1", "seconds"), ("seconds=1e3", "seconds"),
                            ("seconds=", "seconds"), ("seconds=0.05", "seconds"), ("seconds=1&seconds=2", "seconds"), ("seconds=99999999999", "seconds"),
                            ("hz=0", "hz"), ("hz=5000", "hz"), ("hz=1.5", "hz"), ("hz=x%0Ay", "hz=x?y"), ("pid=0", "pid"), ("pid=x", "pid"),
                            ("pid=1", "pid"), ("pid=-1", "pid"), ("format=folded", "format"), ("second=1", "second"), ("seconds", "seconds"), ("&&=", "seconds")):
            check_status(one.get(f"{PROFILE}?{query}"), 400, word)
        check_status(one.get("/debug/fgprof?format=svg"), 400, "format")
        check_status(one.get("/metrics?seconds=1"), 400, "/metrics")
        for path in "/", "/debug/pprof/", "/debug/pprof/heap", "//metrics", "/metrics/", "/../etc/passwd":
            check_status(one.get(path), 404, "/healthz")
        for method in "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "NONSENSE":
            check(one.get("/healthz", method=method).status == 405, method)
        check(one.metric("ctop_capture_running") == 0, "one was begun")


@case
def pages_of_other_sites_are_refused():
    with server_with_token() as one:
        port = one.place.rpartition(":")[2]
        for headers in ({"Host": "example.org"}, {"Host": f"example.org:{port}"}, {"Host": "127.0.0.1:1"}, {"Host": "localhost.example.org"}, {"Host": ""},
                        {"Origin": "http://example.org"}, {"Origin": "null"}, {"Origin": f"https://{one.place}"}, {"Origin": "http://127.0.0.1:1"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            check_status(one.get("/metrics", **headers, **BEARER), 403)
        for headers in ({}, {"Origin": f"http://{one.place}"}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "same-origin"}, {"Host": f"localhost:{port}"}):
            check_status(one.get("/metrics", **headers, **BEARER), 200)
        with one.socket() as raw:
            raw.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: example.org\r\n\r\n")
            check(b" 400 " in raw.recv(4096), "two names")


@case
def its_socket_is_its_users():
    need_root()
    with server() as one:
        path = one.place[len("unix:"):]
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
        open_to_all(one.where)
        ask = ["python3", "-c", f"""
import socket
s = socket.socket(socket.AF_UNIX)
s.connect({path!r})
s.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
print(s.recv(4096).decode())"""]
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        check("PermissionError" in run(*ask, **as_nobody).stderr, "another user connects")
        # And if somebody opens it to all, who connects is still asked for.
        os.chmod(path, 0o666)
        check(" 403 " in run(*ask, **as_nobody).stdout, "another user is answered")
        check(" 200 " in run(*ask).stdout, "root is not")
        check(one.metric('ctop_requests_refused_total{reason="other_user"}') == 1, "counts")


@case
def a_flight_recorder_is_asked():
    """On a unix socket, by POST; what ctop dump would say of others is answered."""
    with server() as one:
        check_status(one.get("/debug/dump"), 405, "only POST")
        check(one.get("/debug/dump").headers["Allow"] == "POST", "Allow")
        check_status(one.get("/debug/dump?seconds=1", "POST"), 400, "takes no seconds")
        check_status(one.get(f"/debug/dump?pid={one.target}", "POST"), 404, "is no flight recorder")
        with recorder_of(one.where, "--last", "5s", "-p", one.target) as recorder:
            # Others of this user may run beside it.
            check(one.get("/debug/dump", "POST").status in (200, 409), "the only one, or several")
            path = f"/debug/dump?pid={recorder.process.pid}"
            check_status(one.get(path, "POST"), 200, f"asked process {recorder.process.pid}")
            # One that has no samples yet refuses.
            wait_until(lambda: one.get(path, "POST").status == 200 and recorder.slices(), "a slice")
        check(one.metric("ctop_dumps_total") >= 1, "counts")
    with server_with_token() as one:
        check_status(one.get("/debug/dump", "POST"), 401)
        check_status(one.get("/debug/dump", "POST", **BEARER), 403, "through a unix socket alone")


@case
def one_capture_at_a_time_that_ends_with_its_client():
    with server() as one:
        with one.socket() as first:
            first.sendall(f"GET {PROFILE}?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            wait_until(lambda: one.metric("ctop_capture_running") == 1, "capture")
            second = one.get("/flame?seconds=1")
            check_status(second, 429, "another capture")
            check(1 <= int(second.headers["Retry-After"]) <= 301, f"{second.headers}")
        wait_until(lambda: one.metric("ctop_capture_running") == 0, "end of the capture of a client that has gone")
        check(one.metric('ctop_captures_total{endpoint="profile",outcome="abandoned"}') == 1, "counts")
        check(one.metric('ctop_captures_total{endpoint="flame",outcome="busy"}') == 1, "counts")
        check_status(one.get("/flame?seconds=0.5"), 200)


@case
def only_its_targets():
    with target("spin") as other, server() as one:
        check_status(one.get(f"{PROFILE}?seconds=0.5&pid={other.pid}"), 400, "none of those")
        os.kill(one.target, signal.SIGKILL)
        wait_until(lambda: one.metric("ctop_targets_running") == 0, "end of the target")
        check_status(one.get(f"{PROFILE}?seconds=0.5&pid={one.target}"), 404, "ended")
        check_status(one.get(f"{PROFILE}?seconds=0.5"), 404, "ended")


@case
def a_target_that_ends_ends_the_capture():
    with server() as one:
        with one.socket() as client:
            client.sendall(f"GET {PROFILE}?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            wait_until(lambda: one.metric("ctop_capture_running") == 1, "capture")
            recorder = next(pid for pid in child_pids(one.process.pid) if name_of(pid) in ("ctop", "exe"))
            wait_until(lambda: "ctop-writer" in map(name_of, child_pids(recorder)), "recording")
            os.kill(one.target, signal.SIGKILL)
            check(client.recv(64).startswith(b"HTTP/1.1 "), "no answer")


@case
def without_targets_it_is_refused():
    with directory() as where:
        check_refused(ctop("serve", "--listen", f"unix:{where}/s"), 2, "no target", "-a")
        check_refused(ctop("serve", "-a", "-p", 1, "--listen", f"unix:{where}/s"), 2, "-p and -a")
        with child("true") as ended:
            ended.wait()
            check_refused(ctop("serve", "-p", ended.pid, "--listen", f"unix:{where}/s"), 1, str(ended.pid))


@case
def a_hundred_clients_beside_slow_ones_and_garbage():
    with server() as one, contextlib.ExitStack() as stack:
        half_open = [stack.enter_context(one.socket()) for _ in range(40)]
        for client in half_open[::2]:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHo")
        slow = [stack.enter_context(one.socket()) for _ in range(20)]
        for client in slow:  # that do not read
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        answers, failures = [], []

        def ask():
            try:
                for path in "/healthz", "/metrics", "/nothing":
                    answers.append(one.get(path).status)
            except OSError as failure:
                failures.append(failure)
        threads = [threading.Thread(target=ask) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        check(not failures and sorted(answers) == [200] * 200 + [404] * 100, f"{failures} {len(answers)}")
        check(one.metric("ctop_http_restarts_total") == 0, "the child fell")


@case
def who_says_nothing_is_hung_up_on():
    with server() as one, one.socket() as silent, one.socket() as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        for client in silent, slow:
            client.settimeout(PATIENCE)
            with contextlib.suppress(ConnectionError):
                check(not client.recv(1), "an answer")


@case
def garbage_does_no_harm():
    with server() as one:
        for bytes_ in (b"\0" * 5000, b"\r\n" * 5000, b"GET", b"GET /\n\n", b"\x16\x03\x01\x02\x00\x01\x00", os.urandom(3000), b"GET / HTTP/9.9\r\n\r\n",
                       b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                       b"GET /healthz?" + b"a&" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /healthz?%00%ff%zz=%0d%0a HTTP/1.1\r\nHost: localhost\r\n\r\n",
                       b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
                       b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                       b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                       b"GET http://example.org/metrics HTTP/1.1\r\nHost: example.org\r\n\r\n", b"GET /metrics HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n"):
            with one.socket() as client, contextlib.suppress(OSError):
                client.sendall(bytes_)
                client.shutdown(socket.SHUT_WR)
                answer = client.recv(4096)
                check(not answer.startswith(b"HTTP/1.1 2"), f"{bytes_[:60]}: {answer[:100]}")
        check(one.metric("ctop_http_restarts_total") == 0, "the child fell")
        check_status(one.get("/healthz"), 200)


@case
def a_child_that_falls_is_replaced():
    for fault in "kill", "noise=1", "noise=96", "say=1", "segv":
        with server(program=[FAULTY], env=falling(f"http:{fault}:told-turn")) as one:
            fallen = one.http_pid()
            tell(fallen)
            with contextlib.suppress(OSError, http.client.HTTPException):
                one.get("/healthz")  # its turn
            wait_until(lambda: not os.path.exists(f"/proc/{fallen}"), f"end of one that fell by {fault}")
            check_status(one.get("/healthz"), 200)
            check(one.metric("ctop_http_restarts_total") == 1, fault)


@case
def a_child_that_has_fallen_gets_no_other_process():
    with target("spin") as other, directory() as where, target("spin") as program:
        for asked in other.pid, 1, os.getpid():
            with server_at(f"unix:{where}/{asked}", "-p", program.pid, program=[FAULTY], env=falling(f"http:ask_profile={asked}:told-turn")) as one:
                tell(one.http_pid())
                one.get("/healthz")
                wait_until(lambda: one.metric('ctop_captures_total{endpoint="profile",outcome="refused"}') == 1, "refusal")
                check(one.metric("ctop_capture_running") == 0, "it is captured")


def answers(one):
    """Whether anybody listens there."""
    try:
        one.socket().close()
    except ConnectionRefusedError:
        return False
    return True


@case
def what_a_killed_one_has_left_is_no_hindrance():
    with directory() as where, target("spin") as program:
        place = f"unix:{where}/s"
        with server_at(place, "-p", program.pid) as first:
            check_refused(ctop("serve", "-p", program.pid, "--listen", place), 1, "another listens there")
            first.process.kill()
            first.process.wait()
            wait_until(lambda: not answers(first), "end of its child")
        check(os.path.exists(f"{where}/s"), "it was not killed")
        with server_at(place, "-p", program.pid) as second:
            check_status(second.get("/healthz"), 200)
            check(second.end() == (0, ""), "its end")
        check(not os.path.exists(f"{where}/s"), "the socket is left")
        with open(f"{where}/s", "w", encoding="ascii") as file:
            file.write("mine")
        check_refused(ctop("serve", "-p", program.pid, "--listen", place), 1, "--listen")
        with open(f"{where}/s", encoding="ascii") as file:
            check(file.read() == "mine", "the file is gone")


@case
def its_end_is_its_captures():
    with server() as one, one.socket() as client:
        client.sendall(f"GET {PROFILE}?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: one.metric("ctop_capture_running") == 1, "capture")
        started = child_pids(one.process.pid)
        check(one.end(signal.SIGTERM)[0] == 0, "its end")
        wait_until(lambda: not [pid for pid in started if os.path.exists(f"/proc/{pid}")], "end of its processes")


@case
def without_the_library_it_says_so():
    need_library("microhttpd")
    with directory() as where, target("spin") as program:
        with open(os.path.join(where, "libmicrohttpd.so.12"), "w", encoding="ascii"):
            pass
        check_refused(ctop("serve", "-p", program.pid, "--listen", f"unix:{where}/s", env={**os.environ, "LD_LIBRARY_PATH": where}), 1,
                      "libmicrohttpd", "apt-get install")
        check(not os.path.exists(f"{where}/s"), "the socket is left")


@case
def a_user_with_capabilities_serves_others_processes():
    """As the unit does it: of a user of its own, by capabilities that go on through exec."""
    need_root()
    need_library("microhttpd")
    words = plain_user("perfmon", "sys_ptrace", "syslog", "ipc_lock")
    if run(*words, "true").returncode:
        raise Skip("no ambient capabilities here")
    with target("spin") as program, readable_ctop() as (where, copy):
        with server_at(f"unix:{where}/s", "-p", program.pid, program=[*words, copy]) as one:
            answer = one.get("/debug/fgprof?seconds=1&format=folded")
            check_status(answer, 200, "spin")


@contextlib.contextmanager
def pyroscope(*statuses):
    """A server that takes profiles, after it has answered with these; what it was sent: (path, type, body)."""
    got, left = [], list(statuses)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = left.pop(0) if left else 200
            got.append((status, self.path, self.headers["Content-Type"], body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{one.server_port}", got
        finally:
            one.shutdown()


def pushes(one, outcome):
    return one.metric(f'ctop_pushes_total{{outcome="{outcome}"}}')


@case
def profiles_are_pushed():
    need_library("curl")
    with pyroscope() as (url, got), server("--push", url, "--push-every", "2s") as one:
        wait_until(lambda: pushes(one, "sent") >= 2, "two profiles")
        for _, path, kind, body in got:
            where = urllib.parse.urlsplit(path)
            query = urllib.parse.parse_qs(where.query)
            check(where.path == "/ingest" and query["format"] == ["pprof"], path)
            check(re.fullmatch(r"ctop\{hostname=[\w.-]+\}", query["name"][0]), path)
            check(0 < int(query["until"][0]) - int(query["from"][0]) < CASE_SECONDS, path)
            parts = body.split(b"--" + kind.partition("boundary=")[2].encode())
            check(len(parts) == 4 and parts[3] == b"--\r\n" and b'name="sample_type_config"' in parts[1] and b'name="profile"' in parts[2], f"{parts}")
            check(json.loads(parts[1].partition(b"\r\n\r\n")[2])["samples"]["sampled"], f"{parts[1]}")
        profile = gzip.decompress(parts[2].partition(b"\r\n\r\n")[2][:-2])
        check(b"spin_loop" in profile or b"samples" in profile, "no profile")


@case
def what_a_server_does_not_take_is_sent_again():
    need_library("curl")
    with pyroscope(503, 429) as (url, got), server("--push", url + "/ingest", "--push-every", "2s") as one:
        wait_until(lambda: pushes(one, "sent") >= 1, "profile")
        check(pushes(one, "retried") == 2 and pushes(one, "dropped") == 0, "counts")
        check(len({body for _, _, _, body in got[:3]}) == 1, "not the same one again")
        status, words = one.end()
        check(status == 0 and "cannot push" in words and "status 503" in words and "takes profiles again" in words, words)


@case
def what_a_server_refuses_is_said():
    need_library("curl")
    with pyroscope(*[400] * 1000) as (url, _), server("--push", url, "--push-every", "2s") as one:
        wait_until(lambda: pushes(one, "refused") >= 2, "refusals")
        words = one.end()[1]
        check(words.count("refuses profiles with status 400") == 1, words)


@case
def what_was_not_pushed_is_said_at_the_end():
    need_library("curl")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # where nobody listens
        with server("--push", f"http://127.0.0.1:{taken.getsockname()[1]}", "--push-every", "2s") as one:
            wait_until(lambda: one.metric("ctop_push_waiting") >= 2, "profiles that wait")
            words = one.end()[1]
            check("cannot push" in words and re.search(r"\d+ profiles were not pushed", words), words)


@case
def places_to_push_to_that_are_none():
    for url in "127.0.0.1:4040", "file:///etc/passwd", "http://x y", "http://x?y", "ftp://x", "http://" + "x" * 1100:
        check_refused(ctop("serve", "-p", 1, "--push", url), 2, "--push")
    check_refused(ctop("serve", "-p", 1, "--push-every", "1m"), 2, "--push-every requires --push")


@case
def its_unit_is_one():
    need_program("systemd-analyze")
    with directory() as where:
        with open(os.path.join(ROOT, "packaging", "ctop-serve.service"), encoding="utf-8") as file:
            text = file.read()
        path = os.path.join(where, "ctop-serve.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("/usr/local/bin/ctop", CTOP))
        scored = run("systemd-analyze", "security", "--offline=yes", "--no-pager", path)
        score = re.search(r"exposure level for ctop-serve.service: ([\d.]+)", scored.stdout)
        if not score:
            raise Skip(f"this systemd-analyze does not look at files: {scored.stderr}")
        check(float(score[1]) < 4, scored.stdout[-300:])
        verified = run("systemd-analyze", "verify", path)
        check("ctop-serve.service:" not in verified.stderr, verified.stderr)


if __name__ == "__main__":
    main()
