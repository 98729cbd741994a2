#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--debuginfod: names by debug files from servers, Debian's own and one that lies, both on loopback."""

import contextlib
import http.server
import os
import re
import shutil
import socket
import subprocess
import threading
import urllib.error
import urllib.request

from harness import (CTOP, FAULTY, PATIENCE, Skip, case, check, ctop_ok, directory, falling, folded, main, need_library, need_program,
                     need_root, run, wait_until)
from inlined_program import built, by_llvm, frames, plain

WORK = r"""
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static void hidden_name(volatile unsigned long *sum)
{
	for (int i = 0; i < 1000000; i++)
		*sum += (unsigned long)i;
}
int main(int argc, char **argv)
{
	volatile unsigned long sum = 0;
	struct timespec used = {0};
	while ((double)used.tv_sec + (double)used.tv_nsec * 1e-9 < atof(argv[argc - 1])) {
		hidden_name(&sum);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	}
	return 0;
}
"""


def tool(name, *arguments):
    result = run(need_program(name), *arguments)
    check(result.returncode == 0, f"{name} {arguments}: {result.stderr}")
    return result.stdout


def need_client():
    if "libdebuginfod.so.1" not in run("/sbin/ldconfig", "-p").stdout:
        raise Skip("libdebuginfod.so.1 is not installed")


def stripped(where):
    """A program without names, its debug file and its build-id."""
    path, source, served = (os.path.join(where, name) for name in ("program", "program.c", "served"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(WORK)
    os.mkdir(served)
    tool("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", path, source)
    debug = os.path.join(served, "program.debug")
    tool("objcopy", "--only-keep-debug", path, debug)
    tool("strip", path)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", tool("readelf", "-n", path)).group(1)
    return path, debug, build_id


def recorded(where, url, program):
    """The names that it gets, and what ctop says."""
    path = os.path.join(where, "x.ctop")
    result = run(CTOP, "record", "--debuginfod", "-e", "cpu-clock:u", "-o", path, "--", program, 0.3,
                 env=dict(os.environ, DEBUGINFOD_URLS=url, XDG_CACHE_HOME=os.path.join(where, "cache")), timeout=PATIENCE)
    check(result.returncode == 0, f"{result}")
    return {frame for stack in folded(path) for frame in stack}, ctop_ok("report", "--stdio", path).stdout


@contextlib.contextmanager
def debians_server(where, *build_ids, options=("-F",)):
    """A debuginfod of the package's, once it has found the files; its address, and the file that it writes its log to."""
    program = need_program("debuginfod")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = os.path.join(where, "log")
    url = f"http://127.0.0.1:{port}"
    with open(log, "w", encoding="utf-8") as file:
        server = subprocess.Popen([program, "-p", str(port), "-d", ":memory:", *options, os.path.join(where, "served")],
                                  stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def has_it():
        check(server.poll() is None, "the server ended")
        with contextlib.suppress(urllib.error.URLError, OSError):
            for build_id in build_ids:
                with urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=PATIENCE):
                    pass
            return True
        return False

    try:
        wait_until(has_it, "files that the server has found")
        yield url, log
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def liar(path):
    """A server that answers whatever it is asked for with one file; its address and the paths asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            asked.append(self.path)
            with open(path, "rb") as file:
                body = file.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):  # who asked may have ended
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@case
def names_come_from_a_server():
    need_root()
    need_client()
    with directory() as where:
        program, _, build_id = stripped(where)
        with debians_server(where, build_id) as (url, log):
            names, report = recorded(where, url, program)
            with open(log, encoding="utf-8", errors="replace") as file:
                asked = set(re.findall(r"GET /buildid/([^/ ]*)/debuginfo", file.read()))
        check({"hidden_name", "main"} <= names, f"{names}\n{report}")
        modules = ctop_ok("report", "--stdio", "--modules", os.path.join(where, "x.ctop")).stdout
        check(re.search(r"debug file +" + build_id[:8], modules), modules)
        # Nobody else's build-ids are sent anywhere, nor anything that is none.
        known = set(re.findall(r" ([0-9a-f]{8,40})  ", ctop_ok("report", "--stdio", "--modules", "--min-percent=0",
                                                            os.path.join(where, "x.ctop")).stdout))
        check(asked and all(any(other.startswith(one) for one in known) for other in asked), f"{asked} {known}")
        # The next time it is in the cache that all clients share, and no server is asked.
        names, _ = recorded(where, url, program)
        check("hidden_name" in names, f"not from the cache: {names}")


@case
def what_dwz_has_put_into_a_common_file_comes_from_a_server():
    need_root()
    need_client()
    with directory() as where:
        served = os.path.join(where, "served")
        os.mkdir(served)
        programs = [built(where, name, option) for name, option in (("program", "-DONE"), ("other", "-DTWO"))]
        wholes = [shutil.copy(path, path + ".whole") for path in programs]
        for path in programs:
            tool("objcopy", "--only-keep-debug", path, os.path.join(served, os.path.basename(path) + ".debug"))
            tool("strip", path)
        result = run(need_program("dwz"), "-m", "common", "program.debug", "other.debug", cwd=served)
        check(result.returncode == 0, result.stderr)
        build_ids = [re.search(r"Build ID: ([0-9a-f]+)", tool("readelf", "-n", os.path.join(served, name))).group(1)
                     for name in ("program.debug", "common")]
        with debians_server(where, *build_ids) as (url, _):
            path = os.path.join(where, "x.ctop")
            result = run(CTOP, "record", "--debuginfod", "-e", "cpu-clock:u", "-o", path, "--", programs[0], 0.3,
                         env=dict(os.environ, DEBUGINFOD_URLS=url, XDG_CACHE_HOME=os.path.join(where, "cache")), timeout=PATIENCE)
        check(result.returncode == 0, f"{result}")
        ours = frames(path, programs[0])
        theirs = by_llvm(wholes[0], ours)
        deep = [address for address, chain in theirs.items() if len(chain) >= 4]
        check(deep, f"{theirs}")
        for address in deep:
            check([(plain(name), line) for name, line in ours[address]][:3] == [(plain(name), line) for name, line in theirs[address]][:3],
                  f"{ours[address]}, not {theirs[address]}")


@case
def what_a_server_sends_must_prove_itself():
    need_root()
    need_client()
    with directory() as where:
        program, _, build_id = stripped(where)
        other = os.path.join(where, "other")
        tool("gcc", "-g", "-Wl,--build-id=sha1", "-DOTHER", "-O0", "-o", other, os.path.join(where, "program.c"))
        for lie in other, program + ".c", "/dev/null":
            with liar(lie) as (url, asked):
                names, report = recorded(where, url, program)
            check(f"/buildid/{build_id}/debuginfo" in asked, f"{asked}")
            check("hidden_name" not in names, f"{lie}: {names}")
            check(lie != other or "from debuginfod does not match: build-id mismatch" in report, report)
            shutil.rmtree(os.path.join(where, "cache"))


def annotated(where, url, cache, *options):
    """The listing, with a cache of its own."""
    result = run(CTOP, "report", "--annotate", "hidden_name", *options, os.path.join(where, "x.ctop"), timeout=PATIENCE,
                 env=dict(os.environ, DEBUGINFOD_URLS=url, XDG_CACHE_HOME=os.path.join(where, cache)))
    check(result.returncode == 0, f"{result}")
    return result.stdout


def moved_into_an_archive(where, *paths):
    """As packages have sources: they are nowhere else any more."""
    tool("tar", "-cf", os.path.join(where, "served", "package.tar"), "-C", "/", *(path.lstrip("/") for path in paths))
    for path in paths:
        os.unlink(path)


@case
def sources_come_from_a_server():
    need_root()
    need_client()
    need_library("capstone")
    with directory() as where:
        program, debug, build_id = stripped(where)
        whole = debug + ".whole"
        os.rename(debug, whole)
        source = program + ".c"
        with open(source, encoding="utf-8") as file:
            line = next(nr for nr, text in enumerate(file, 1) if "*sum +=" in text)
        moved_into_an_archive(where, source, whole)
        with debians_server(where, build_id, options=("-Z", ".tar")) as (url, log):
            names, report = recorded(where, url, program)
            check("hidden_name" in names, f"{names}\n{report}")
            # Its lines are in the debug file, which is not in this cache either.
            listing = annotated(where, url, "cache2", "--debuginfod")
            check(f"source     debuginfod:{source}\n" in listing and f"program.c:{line}  " in listing, listing)
            check("*sum += (unsigned long)i;" in listing, listing)
            with open(log, encoding="utf-8", errors="replace") as file:
                check(f"GET /buildid/{build_id}/source{source}" in file.read(), "the server's log")
        # From the cache, without a server; and of what is on this machine nobody is asked.
        listing = annotated(where, "http://127.0.0.1:1", "cache2", "--debuginfod")
        check("*sum += (unsigned long)i;" in listing, listing)
        with open(source, "w", encoding="utf-8") as file:
            file.write("this one\n" * 100)
        listing = annotated(where, "http://127.0.0.1:1", "cache2", "--debuginfod")
        check(f"source     {source} (newer" in listing and "this one" in listing, listing)


@case
def what_a_server_sends_for_a_source_is_shown_as_text_or_not():
    need_root()
    need_client()
    need_library("capstone")
    with directory() as where:
        # A program with its debug information, and a name that means something in addresses.
        program, source, lie = (os.path.join(where, name) for name in ("program", "a b?c#d%41.c", "lie"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(WORK)
        tool("gcc", "-O1", "-g", "-Wl,--build-id=sha1", "-o", program, source)
        build_id = re.search(r"Build ID: ([0-9a-f]+)", tool("readelf", "-n", program)).group(1)
        os.unlink(source)
        recorded(where, "http://127.0.0.1:1", program)
        lies = ((b"\x1b]0;title\x07\x1b[31m\xe2\x80\xae\n" * 40, "\\x1b[31m"), (bytes(range(256)) * 64, "d%41.c: not a text"),
                (b"x" * (17 << 20), "d%41.c: not found, and what debuginfod has is too large"), (b"", "d%41.c: "))
        for nr, (content, words) in enumerate(lies):
            with open(lie, "wb") as file:
                file.write(content)
            with liar(lie) as (url, asked):
                listing = annotated(where, url, f"cache{nr}", "--debuginfod")
            check(words in listing and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", listing), f"{nr}: {listing}")
            check(asked == [f"/buildid/{build_id}/source{where}/a%20b%3Fc%23d%2541.c"], f"{asked}")
        with liar(lie) as (url, asked):
            listing = annotated(where, url, "cache")
        check(not asked and "not found" in listing and "--debuginfod asks servers" in listing, f"{asked} {listing}")


# A line each of files whose names nobody is to be sent, or of which there is none.
NAMES = ("relative/../x.c", "/tab\\tin\\nname.c", "/" + "long/" * 250 + "x.c", "/../../../../../../nowhere/passwd")


@case
def names_that_are_no_sources_are_sent_to_nobody():
    need_root()
    need_client()
    need_library("capstone")
    if os.uname().machine != "x86_64":
        return
    with directory() as where:
        program, source, lie = (os.path.join(where, name) for name in ("program", "x.c", "lie"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("__asm__(" + "".join(f'".file {nr} \\"{name}\\"\\n"\n' for nr, name in enumerate(NAMES, 1)) +
                       '".globl hidden_name\\n.type hidden_name, @function\\nhidden_name:\\nmov $300000000, %ecx\\n1:\\n"\n' +
                       "".join(f'".loc {nr} 1\\nnop\\n"\n' for nr in range(1, len(NAMES) + 1)) +
                       '"dec %ecx\\njnz 1b\\nret\\n.size hidden_name, . - hidden_name\\n");\n'
                       "void hidden_name(void);\nint main(void) { hidden_name(); }\n")
        result = run(need_program("gcc"), "-g0", "-Wl,--build-id=sha1", "-o", program, source, cwd=where)
        check(result.returncode == 0, result.stderr)
        recorded(where, "http://127.0.0.1:1", program)
        with open(lie, "w", encoding="utf-8") as file:
            file.write("what the server says\n")
        with liar(lie) as (url, asked):
            listing = annotated(where, url, "cache", "--debuginfod")
        paths = sorted(path.split("/source", 1)[1] for path in asked)
        check(paths == sorted((f"{where}/relative/../x.c", "/../../../../../../nowhere/passwd")), f"{paths}\n{listing}")
        check(listing.count("its name is none that debuginfod is asked for") == 2, listing)
        # Nor does the cache have anything elsewhere.
        check(os.listdir(os.path.join(where, "cache")) == ["debuginfod_client"], "elsewhere in the cache")


@case
def a_fallen_symbolizer_sends_nothing_to_servers():
    """What it says is the build-id is none that the module has: nobody is asked for that."""
    need_root()
    need_client()
    with directory() as where:
        program, debug, build_id = stripped(where)
        with liar(debug) as (url, asked):
            env = falling(f"symbolizer:demand_debug=x,{'5ec4e7' * 6}aabb:jailed")
            env.update(DEBUGINFOD_URLS=url, XDG_CACHE_HOME=os.path.join(where, "cache"))
            result = run(FAULTY, "record", "--debuginfod", "-e", "cpu-clock:u", "-o", os.path.join(where, "x.ctop"),
                         "--", program, 0.5, env=env, timeout=PATIENCE)
        check("was given" in result.stderr or "was refused" in result.stderr, f"{result}")
        check(not any("5ec4e7" in path for path in asked), f"{asked}")
        check(f"/buildid/{build_id}/debuginfo" in asked, f"{asked} {result}")


@case
def nobody_is_asked_without_the_option():
    need_root()
    with directory() as where:
        program, debug, _ = stripped(where)
        path = os.path.join(where, "x.ctop")
        with liar(debug) as (url, asked):
            env = dict(os.environ, DEBUGINFOD_URLS=url, XDG_CACHE_HOME=os.path.join(where, "cache"))
            result = run(CTOP, "record", "-q", "-e", "cpu-clock:u", "-o", path, "--", program, 0.1, env=env)
        check(result.returncode == 0 and not asked, f"{result} {asked}")
        # Cut off, a long list would name other servers.
        for urls, cause in (("", "names none"), (" ", "names none"), ("http://127.0.0.1:1/ " * 200, "is longer than")):
            result = run(CTOP, "record", "--debuginfod", "--", "true", env=dict(os.environ, DEBUGINFOD_URLS=urls), cwd=where)
            check(result.returncode != 0 and cause in result.stderr, f"{result}")
            check("DEBUGINFOD_URLS=https://" in result.stderr, f"{result}")


@case
def a_server_that_is_not_there():
    need_root()
    need_client()
    with directory() as where:
        program, _, _ = stripped(where)
        names, _ = recorded(where, "http://127.0.0.1:1", program)
        check("hidden_name" not in names and names, f"{names}")


if __name__ == "__main__":
    main()
