# SPDX-License-Identifier: MIT
"""Programs of every day, what is given to them, and the functions at which their stacks begin."""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import BUILD, check, java_class, need_program, run, written  # noqa: E402

# The outermost functions there can be, and no others: what makes a stack complete.
ROOTS = {"_start", "_dl_start_user", "clone", "clone3", "__clone", "__clone3", "thread_start",
         "ret_from_fork", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
         "runtime.mstart.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0",
         "__sanitizer::internal_clone(int (*)(void*), void*, int, void*, int*, void*, int*)"}
# Of Go: nothing returns to what these call on another stack, and Go's own tracebacks end there (runtime.topofstack()).
SWITCHES_FOR_GOOD = {"runtime.mcall", "runtime.morestack", "runtime.morestack.abi0"}
ROOTS |= SWITCHES_FOR_GOOD
# Functions of Go that run another on a stack that is not their caller's.
SWITCHES = {f"{name}{abi}" for abi in ("", ".abi0") for name in (
    "runtime.systemstack", "runtime.asmcgocall",
    "runtime.nanotime1", "runtime.walltime", "time.now")}

BIG_CXX = """#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <variant>
#include <vector>
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<std::variant<int, double, std::string>>> map;
	std::regex regex("a(b|c)*d");
	for (int i = 0; i < argc; i++)
		map[argv[i]].push_back(i);
	std::vector<std::function<int(int)>> functions(argc, [](int i) { return i + 1; });
	std::cout << std::regex_match("abcbcd", regex) << map.size() << functions[0](1);
}
"""
BUSY_PYTHON = """import json, re, time
end = time.time() + %f
while time.time() < end:
    json.loads(json.dumps([dict(a=i, b=[str(i)] * 3) for i in range(200)]))
    re.findall("(a|b)+c", "abab" * 50 + "c")
"""
BUSY_JAVA = """import java.util.*;
public class Busy {
	interface Shape { double area(); }
	record Circle(double r) implements Shape { public double area() { return 3 * r * r; } }
	record Square(double a) implements Shape { public double area() { return a * a; } }
	static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	static long counts(int n) {
		Map<String, Integer> map = new HashMap<>();
		for (int i = 0; i < n; i++) map.merge("k" + i %% 1000, 1, Integer::sum);
		return map.get("k1");
	}
	static long sorts(Random random) {
		List<Integer> list = new ArrayList<>();
		for (int i = 0; i < 20000; i++) list.add(random.nextInt());
		Collections.sort(list, (a, b) -> Integer.compare(a %% 1000, b %% 1000));
		return list.get(7);
	}
	public static void main(String[] arguments) {
		long end = System.nanoTime() + (long) (%f * 1e9), all = 0;
		Random random = new Random(1);
		List<Shape> shapes = new ArrayList<>();
		for (int i = 0; i < 1000; i++) { shapes.add(new Circle(i)); shapes.add(new Square(i)); }
		while (System.nanoTime() < end) {
			all += fib(24) + counts(20000) + sorts(random);
			for (Shape shape : shapes) all += (long) shape.area();
		}
		System.out.println(all);
	}
}
"""
BUSY_C = """#include <stdlib.h>
#include <time.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int numbers[10000];
	clock_t end = clock() + (clock_t)(%f * CLOCKS_PER_SEC);
	while (clock() < end) {
		for (int i = 0; i < 10000; i++)
			numbers[i] = rand();
		qsort(numbers, 10000, sizeof(*numbers), compare);
	}
}
"""
BUSY_NODE = """const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
const end = Date.now() + %f * 1000;
while (Date.now() < end) {
	fib(20);
	JSON.stringify([...Array(500)].map((_, i) => ({i, s: String(i)})));
	[..."abcdef".repeat(50)].sort();
}
"""
BUSY_GO = """package main

import ("fmt"; "sort"; "strings"; "time")

func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }

func work(done chan int, end time.Time) {
	all := 0
	for time.Now().Before(end) {
		words := strings.Fields(strings.Repeat("d c b a ", 100))
		sort.Strings(words)
		all += fib(18) + len(fmt.Sprint(words))
	}
	done <- all
}

func main() {
	done, end := make(chan int), time.Now().Add(%d * time.Millisecond)
	for i := 0; i < 3; i++ { go work(done, end) }
	fmt.Println(<-done + <-done + <-done)
}
"""
# It uses its stacks before anything: the kernel copies none beyond a page that was never used, as within musl's printf().
BUSY_MUSL = r"""#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pthread.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static __attribute__((noinline)) void use_stack(void)
{
	volatile char room[65536];
	for (unsigned i = 0; i < sizeof(room); i += 4096) room[i] = 1;
}
static void *work(void *unused)
{
	(void)unused;
	use_stack();
	const time_t end = time(NULL) + %d;
	volatile double sum = 0;
	FILE *null = fopen("/dev/null", "w");
	regex_t regex;
	regcomp(&regex, "^(a|b)*c[0-9]+(x|y)$", REG_EXTENDED);
	while (time(NULL) < end) {
		char text[256];
		int numbers[512], i, a;
		for (i = 0; i < 512; i++) numbers[i] = (i * 7919) %% 1009;
		qsort(numbers, 512, sizeof(numbers[0]), compare);
		for (i = 0; i < 50; i++) {
			double d;
			snprintf(text, sizeof(text), "%%d %%s %%g %%a %%llx", i, "hello", i * 1.2345, 3.25 * i, 1ULL << i);
			sum += strtod(text + 3, NULL);
			fprintf(null, "%%s %%5.3f %%-10d\n", text, sum, i);
			free(realloc(malloc(i * 37 + 1), i * 90 + 5));
			regexec(&regex, "ababababc12345x", 0, NULL, 0);
			sum += sscanf("123 4.5 abc", "%%d %%lf", &a, &d);
		}
	}
	return (void *)(long)(sum < 0);
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
}
"""
BUSY_RUST = """use std::collections::HashMap;
use std::time::{Duration, Instant};
fn fib(n: u32) -> u64 { if n < 2 { n as u64 } else { fib(n - 1) + fib(n - 2) } }
fn work(millis: u64) -> u64 {
    let end = Instant::now() + Duration::from_millis(millis);
    let mut all = 0;
    while Instant::now() < end {
        let mut counts: HashMap<String, u64> = HashMap::new();
        for i in 0..500u64 { *counts.entry(format!("{}", i %% 97)).or_default() += i; }
        let mut words: Vec<_> = counts.into_iter().collect();
        words.sort();
        all += words.len() as u64 + fib(15);
    }
    all
}
fn main() {
    let other = std::thread::spawn(|| work(%d));
    println!("{}", work(%d) + other.join().unwrap());
}
"""


def compiling(compiler):
    need_program(compiler)
    return lambda where: (compiler, "-O2", "-std=c++17", "-c", written(where, "big.cpp", BIG_CXX),
                          "-o", "/dev/null")


def building_go(source):
    """Makes a command for a directory: the program, built there."""
    need_program("go")

    def build(where):
        program = os.path.join(where, "busy")
        built = run("go", "build", "-o", program, written(where, "busy.go", source),
                    env={**os.environ, "HOME": where, "GOFLAGS": "-mod=mod"})
        check(built.returncode == 0, built.stderr)
        return (program,)
    return build


def building_with_musl(seconds, *options):
    need_program("musl-gcc")

    def build(where):
        program = os.path.join(where, "busy")
        built = run("musl-gcc", "-O2", *options, "-o", program, written(where, "busy.c", BUSY_MUSL % seconds))
        check(built.returncode == 0, built.stderr)
        return (program,)
    return build


def building_rust(source):
    need_program("rustc")

    def build(where):
        program = os.path.join(where, "busy")
        built = run("rustc", "-O", "-g", "-C", "panic=abort", "-o", program,
                    written(where, "busy.rs", source))
        check(built.returncode == 0, built.stderr)
        return (program,)
    return build


def running_java(seconds, *options):
    need_program("java")
    need_program("javac")

    def command(where):
        java_class(where, "Busy", BUSY_JAVA % seconds)
        return ("java", *options, "-cp", where, "Busy")
    return command


def emulating(seconds):
    """A program of this machine's, translated by qemu all the same."""
    need_program("qemu-x86_64")

    def command(where):
        program = os.path.join(where, "busy")
        built = run("gcc", "-O2", "-static", "-o", program, written(where, "busy.c", BUSY_C % seconds))
        check(built.returncode == 0, built.stderr)
        return ("qemu-x86_64", program)
    return command


def running_node(seconds):
    """Node, which writes the names of its code to a perf map."""
    need_program("node")

    def command(where):
        written(where, "busy.js", BUSY_NODE % seconds)
        return ("sh", "-c", "echo $$ >pid; exec node --perf-basic-prof busy.js")
    return command


@contextlib.contextmanager
def without_the_map(where):
    """Removes the perf map that running_node() left behind."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            with open(os.path.join(where, "pid"), encoding="ascii") as file:
                os.unlink(f"/tmp/perf-{int(file.read())}.map")


def speeding_openssl():
    need_program("openssl")
    return lambda where: ("openssl", "speed", "-seconds", "1", "-bytes", "1024", "sha256",
                          "aes-128-cbc", "rsa2048")


def running_python(seconds):
    path = need_program("/usr/bin/python3")
    return lambda where: (path, "-c", BUSY_PYTHON % seconds)


def running_demo(seconds):
    return lambda where: ("timeout", str(seconds), os.path.join(BUILD, "workloads", "demo"))
