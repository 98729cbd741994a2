# SPDX-License-Identifier: MIT
"""A program whose functions are inlined into one another, and what ctop and llvm-symbolizer say of its addresses."""

import collections
import json
import os
import re

from harness import check, ctop_ok, need_program, run

# Inlined into one another and into a loop, with templates, a static function, and one that is inlined at one call and not at another.
SOURCE = """
#include <cstdlib>
#include <ctime>
namespace space {
template <typename T> static inline T mix(T a, T b)
{
	for (int i = 0; i < 16; i++)
		a = a * 31 + (b ^ (a >> 7));
	return a;
}
struct sum {
	unsigned long total = 0;
	inline void add(unsigned long number) { total = mix(total, number); }
};
}
static inline void all(space::sum &sum, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		sum.add(i);
}
__attribute__((noinline)) unsigned long work(unsigned long nr)
{
	space::sum sum;
	all(sum, nr);
	return sum.total;
}
int main(int argc, char **argv)
{
	unsigned long total = 0;
	const double seconds = argc > 1 ? atof(argv[1]) : 1;
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		total += work(1000);
	return total == 1;
}
"""

def built(where, name, *options, compiler="g++"):
    path = os.path.join(where, name)
    source = os.path.join(where, "work.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    result = run(need_program(compiler), "-O2", "-g", *options, "-o", path, source)
    check(result.returncode == 0, result.stderr)
    return path


def recorded(where, program, seconds=0.3, **options):
    path = os.path.join(where, "inlines.ctop")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", program, seconds, **options)
    return path


def frames(path, program, *options):
    """{address: [(function, line)], the innermost first} of a program's frames."""
    found = {}
    for sample in ctop_ok("export", "frames", path, *options).stdout.split("\n\n"):
        inlined = []
        for line in sample.splitlines()[1:]:
            part = re.match(r"^\s+([0-9a-f]+) (\w+) +(.*?)(?:\+0x[0-9a-f]+)? "
                            r"\((.*?)(?:\+0x([0-9a-f]+))?\)(?: (\S+):(\d+))?$", line)
            check(part, f"{line!r}")
            inlined.append((part.group(3), int(part.group(7) or 0)))
            if part.group(2) == "inlined":
                continue
            if part.group(4) == program:
                found[int(part.group(5), 16)] = inlined
            inlined = []
    return found


def leaves(path, program):
    """{address: weight} of where samples were taken in a program."""
    found = collections.Counter()
    for sample in ctop_ok("export", "frames", path).stdout.split("\n\n"):
        part = re.match(rf"(?s).*?: +(\d+) .*?\n(?:[^\n]* inlined [^\n]*\n)*[^\n]* leaf [^\n]*\({re.escape(program)}\+0x([0-9a-f]+)\)", sample)
        if part:
            found[int(part.group(2), 16)] += int(part.group(1))
    return found


def by_llvm(program, addresses):
    """The same, of llvm-symbolizer."""
    text = run(need_program("llvm-symbolizer"), f"--obj={program}", "--functions=linkage", "--demangle", "--inlines", "--output-style=JSON",
               *map(hex, addresses)).stdout
    return {int(answer["Address"], 16): [(frame["FunctionName"], frame["Line"]) for frame in answer["Symbol"]]
            for line in text.splitlines() for answer in json.loads(line)}


def plain(function):
    """Without what demanglers differ in."""
    return re.sub(r"<.*|\(.*", "", function)


def hottest_lines(path, program):
    """{function: line}, by llvm-symbolizer, of the functions that samples were taken in, and those that these were put into; without main, which calls."""
    weights = collections.defaultdict(collections.Counter)
    sampled = leaves(path, program)
    chains = by_llvm(program, sampled)
    for address, weight in sampled.items():
        for function, line in chains[address]:
            weights[plain(function)][line] += weight
    weights.pop("main", None)
    return {function: min(lines, key=lambda line: (-lines[line], line)) for function, lines in weights.items()}
