# SPDX-License-Identifier: MIT
"""Programs of a JVM, Node.js, CPython, Ruby, PHP and LuaJIT that keep a CPU busy in functions whose names are known."""

import contextlib
import os
import subprocess

from harness import check, child, directory, java_class, need_program

JAVA = """public class Busy {
  static int spin(int n) { int x = 0; for (int i = 0; i < n; i++) { x = x * 31 + i; x ^= x >>> 3; } return x; }
  static int serve(int n) { return spin(n) + spin(n / 2); }
  public static void main(String[] a) {
    for (int i = 0; i < 20000; i++) serve(200);
    System.out.println("ready");
    for (int x = 0; ; ) { x += serve(20000); if (x == 42) System.out.println(x); }
  }
}
"""
NODE = """function spin(n) { let x = 0; for (let i = 0; i < n; i++) { x = (x * 31 + i) | 0; x ^= x >>> 3; } return x; }
function serve(n) { return spin(n) + spin(n / 2); }
for (let i = 0; i < 20000; i++) serve(200);
console.log('ready');
for (let x = 0; ;) x += serve(20000);
"""
PYTHON = """def spin(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) & 0xffffff
print('ready', flush=True)
while True:
    spin(20000)
"""
RUBY = """def spin(n)
  x = 0
  i = 0
  while i < n
    x = (x * 31 + i) & 0xffffff
    i += 1
  end
  x
end
puts 'ready'
$stdout.flush
loop { spin(20000) }
"""
PHP = """<?php
function spin($n) { $x = 0; for ($i = 0; $i < $n; $i++) $x = ($x * 31 + $i) & 0xffffff; return $x; }
spin(2000000);
echo "ready\\n";
while (true) spin(20000);
"""
LUA = """local function spin(n) local x = 0 for i = 1, n do x = (x * 31 + i) % 16777216 end return x end
spin(20000)
print("ready") io.stdout:flush()
while true do spin(20000) end
"""


@contextlib.contextmanager
def running(*command, **options):
    """A program that has said that it works."""
    with child(*command, stdout=subprocess.PIPE, text=True, **options) as program:
        check(program.stdout.readline().startswith("ready"), f"{command} did not start")
        try:
            yield program
        finally:
            with contextlib.suppress(OSError):
                os.unlink(f"/tmp/perf-{program.pid}.map")


@contextlib.contextmanager
def java(*options):
    with directory() as where:
        java_class(where, "Busy", JAVA)
        # Compiled once and at once: what is compiled after the names were written has none.
        with running("java", "-XX:-TieredCompilation", "-Xbatch", "-XX:CompileCommand=quiet",
                     "-XX:CompileCommand=dontinline,Busy::*", *options, "-cp", where, "Busy") as program:
            yield program


@contextlib.contextmanager
def script(interpreter, text, *options):
    need_program(interpreter)
    with directory() as where:
        path = os.path.join(where, "busy")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        with running(interpreter, *options, path, cwd=where) as program:
            yield program
