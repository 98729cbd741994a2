#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What other languages than C and C++ call their functions, by their own tools' word; stripped, where that leaves names."""

import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import (BUILD, Skip, case, check, ctop_ok, directory, main, need_program, need_root, record, record_cpu_time, run, written)  # noqa: E402

LOOK_UP = os.path.join(BUILD, "symbols", "look_up")


def built(*command, **options):
    result = run(*command, **options)
    check(result.returncode == 0, f"{command}: {result.stderr}")


def looked_up(path, addresses):
    """{address: (start, name)} as the symbolizer has them."""
    result = run("sh", "-c", '"$0" "$1" <"$2"', LOOK_UP, path,
                 written(os.path.dirname(path), "addresses", "".join(f"{address:x}\n" for address in addresses)))
    check(result.returncode == 0, result.stderr)
    found = {}
    for line in result.stdout.splitlines():
        address, start, name = line.split(" ", 2)
        found[int(address, 16)] = (None if start == "-" else int(start, 16), name)
    return found


def functions_by_nm(path, *options):
    """{address: names} of all functions."""
    found = {}
    for line in run(need_program("nm"), "--defined-only", *options, path).stdout.splitlines():
        words = line.split(" ", 2)
        if len(words) == 3 and words[1] in "tTwW":
            found.setdefault(int(words[0], 16), set()).add(words[2])
    return found


# ---- Go ----

GO = """package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

type shape[V any] struct{ v V }

//go:noinline
func (t *shape[V]) Work(end time.Time) (n int) {
	bytes, numbers := make([]byte, 4096), make([]int, 1000)
	for time.Now().Before(end) {
		sum := sha256.Sum256(bytes)
		bytes[0] = sum[0]
		for i := range numbers {
			numbers[i] = int(sum[i%32]) * i % 777
		}
		sort.Ints(numbers)
		n += numbers[5]
	}
	return n
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	var group sync.WaitGroup
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			fmt.Println((&shape[string]{}).Work(end))
		}()
	}
	group.Wait()
}
"""
GO_WAYS = {"static": (), "pie": ("-buildmode=pie",), "external": ("-ldflags=-linkmode=external",),
           "external_pie": ("-buildmode=pie", "-ldflags=-linkmode=external")}


def go_built(where, name, *options):
    need_program("go")
    path = os.path.join(where, name)
    built("go", "build", *options, "-o", path, written(where, "busy.go", GO), cwd=where,
          env={**os.environ, "HOME": where, "GOFLAGS": "-mod=mod"})
    return path


def go_name(name):
    """What the runtime's table has of a symbol: without its convention, and with dots for types."""
    name = name.removesuffix(".abi0")
    depth, out = 0, ""
    for letter in name:
        depth -= letter == "]" and depth > 0
        out += letter if not depth else ""
        if letter == "[":
            out += "..." if not depth else ""
            depth += 1
    return out


@case
def functions_of_stripped_go_programs():
    with directory() as where:
        for way, options in GO_WAYS.items():
            whole = functions_by_nm(go_built(where, way, *options))
            stripped = os.path.join(where, way + "-stripped")
            built(need_program("strip"), "-o", stripped, os.path.join(where, way))
            found = looked_up(stripped, whole)
            of_go = {address: names for address, names in whole.items()
                     if any("." in name and not name.startswith("_") and not name.endswith((".cold", ".etext")) for name in names)}
            wrong = [(f"{address:x}", names, found[address]) for address, names in of_go.items()
                     if found[address][0] != address or found[address][1] not in set(map(go_name, names))]
            check(len(of_go) > 1000, f"{way}: {len(of_go)} functions")
            check(len(wrong) * 1000 < len(of_go), f"{way}: {len(wrong)} of {len(of_go)}: {wrong[:20]}")


@case
def stacks_of_stripped_go_programs():
    need_root()
    with directory() as where:
        for way, options in GO_WAYS.items():
            program = go_built(where, way, *options)
            built(need_program("strip"), program)
            recording = record(where, "-e", "cpu-clock:u", "--", program, 0.5, seconds=60)
            ends = recording.stats["stacks"]
            check(ends["broken"] * 20 <= sum(ends.values()), f"{way}: {ends}")
            works = [stack for stack in recording.stacks if "main.(*shape[...]).Work" in stack]
            check(works, f"{way}: {list(recording.stacks)[:5]}")
            # From the goroutine's start on, through assembly as well.
            check(any(stack[1:4] == ("runtime.goexit", "main.main.func1", "main.(*shape[...]).Work") and
                      stack[-1].startswith("crypto/sha256.block") for stack in works), f"{way}: {works[:5]}")
            # Not all of the vdso's code has names.
            check(not any(frame.startswith("[") and frame != "[switched]" or "+0x" in frame for stack in works for frame in stack[1:]
                          if not frame.startswith("[vdso]")),
                  f"{way}: {works}")
            # What a switch of stacks left out stands before the switch, and nowhere else.
            behind = {after for stack in works for frame, after in zip(stack, stack[1:]) if frame == "[switched]"}
            check(behind <= {"[switched]", "runtime.systemstack", "runtime.mcall", "runtime.asmcgocall"}, f"{way}: {behind}")


def four_in_each(functions):
    """Addresses: each function's first, its last, and two between."""
    starts = sorted(functions)
    return sorted({start + (end - start - 1) * part // 3 for start, end in zip(starts, starts[1:])
                   if end - start < 100000 for part in range(4)})


def told(where, addresses, *command):
    """The lines that a program prints that reads addresses."""
    result = run("sh", "-c", 'exec "$@" <"$0"', written(where, "told", "".join(f"{address:#x}\n" for address in addresses)), *command)
    check(result.returncode == 0, f"{command}: {result.stderr}")
    return result.stdout.splitlines()


def chains_by_llvm(where, program, addresses):
    """{address: [(function, "file:line")]}, the innermost first."""
    found = {}
    for line in told(where, addresses, need_program("llvm-symbolizer"), f"--obj={program}", "--functions=linkage", "--no-demangle",
                     "--inlines", "--output-style=JSON"):
        answer = json.loads(line)
        found[int(answer["Address"], 16)] = [(go_name(one["FunctionName"]), f"{one['FileName'].removeprefix('./')}:{one['Line']}")
                                             for one in answer.get("Symbol", ())]
    return found


def is_of_wrapper(chain, other):
    """What was inlined into functions that the compiler made itself its DWARF does not tell."""
    return len(chain) == 1 and len(other) > 1 and other[0][1] == chain[0][1] and other[-1] == (chain[0][0], "<autogenerated>:1")


@case
def lines_of_stripped_go_programs():
    """Without DWARF the same lines and inlined functions as with it; and of each instruction what Go's own tool says."""
    with directory() as where:
        for way, options in GO_WAYS.items():
            whole, bare = os.path.join(where, way), os.path.join(where, way + "-bare")
            functions = functions_by_nm(go_built(where, way, *options))
            flags = " ".join(option.removeprefix("-ldflags=") for option in options if option.startswith("-ldflags="))
            others = [option for option in options if not option.startswith("-ldflags=")]
            go_built(where, way + "-bare", *others, f"-ldflags=-s -w {flags}")
            check(not functions_by_nm(bare), f"{way}: it has symbols")
            addresses = four_in_each(functions)
            of_llvm = chains_by_llvm(where, whole, addresses)
            nr, longest, wrong = 0, 0, []
            for line in told(where, addresses, LOOK_UP, "-l", bare):
                address, *words = line.split("\t")
                chain, ours = of_llvm[int(address, 16)], list(zip(words[::2], words[1::2]))
                # Of C's functions nothing is known without DWARF.
                if not chain or not chain[0][1].split(":")[0].endswith((".go", ".s", "<autogenerated>")):
                    continue
                nr += 1
                longest = max(longest, len(ours))
                if ours != chain and not is_of_wrapper(chain, ours):
                    wrong.append((address, ours, chain))
            check(nr > 4000 and longest > 3, f"{way}: {nr} addresses, {longest} functions in one")
            check(len(wrong) * 1000 < nr, f"{way}: {len(wrong)} of {nr}: {wrong[:10]}")
            if "pie" in way: # Go's own tool has no lines of it
                continue
            by_go = told(where, addresses, "go", "tool", "addr2line", whole)[1::2]
            rows = [line.split("\t")[1] for line in told(where, addresses, LOOK_UP, "-r", bare)]
            wrong = [(f"{address:x}", ours, theirs) for address, ours, theirs in zip(addresses, rows, by_go)
                     if ours != theirs and (ours, theirs) not in ((":0", "?:0"), (":0", ":-1"))]
            check(len(by_go) == len(addresses) and sum(row != ":0" for row in rows) > 4000, f"{way}: {rows[:10]}")
            check(not wrong, f"{way}: {len(wrong)} of {len(by_go)}: {wrong[:10]}")


@case
def source_of_stripped_go_programs():
    """Annotate has their lines, and stacks what was inlined."""
    need_root()
    with directory() as where:
        program, recording = go_built(where, "busy", "-ldflags=-s -w"), os.path.join(where, "x.ctop")
        record_cpu_time(recording, "cpu-clock:u", [f"{program} 60"], 1)
        stacks = ctop_ok("export", "folded", recording).stdout
        check(re.search(r";main\.\(\*shape\[\.\.\.\]\)\.Work;sort\.Ints_\[i\];", stacks), stacks[:2000])
        text = ctop_ok("report", "--annotate", "main.(*shape[...]).Work", recording).stdout
        check(f"source     {where}/busy.go" in text, text[:3000])
        for number, line in enumerate(GO.splitlines(), 1):
            if "sha256.Sum256" in line or "sort.Ints" in line or "i % 777" in line:
                check(re.search(rf"\bbusy\.go:{number} +{re.escape(line.strip())}", text), f"{line}: {text[:3000]}")


OLD_GO = """package main

import (
	"debug/gosym"
	"fmt"
	"os"
)

func main() {
	bytes, _ := os.ReadFile(os.Args[1])
	table, err := gosym.NewTable(nil, gosym.NewLineTable(bytes, 0))
	if err != nil {
		panic(err)
	}
	for _, function := range table.Funcs {
		fmt.Printf("%x %s\\n", function.Entry, function.Name)
	}
}
"""


@case
def functions_of_go_1_15():
    """The table of a program of then, which Go's own tests keep, put into another program."""
    need_program("go")
    root = run("go", "env", "GOROOT").stdout.strip()
    packed = os.path.join(root, "src", "debug", "gosym", "testdata", "pcln115.gz")
    if not os.path.exists(packed):
        raise Skip("Go's own tests are not installed")
    with directory() as where:
        table = os.path.join(where, "table")
        with gzip.open(packed) as source, open(table, "wb") as out:
            out.write(source.read())
        listing = run("go", "run", written(where, "list.go", OLD_GO), table, cwd=where,
                      env={**os.environ, "HOME": where, "GOFLAGS": "-mod=mod"})
        check(listing.returncode == 0, listing.stderr)
        known = {int(address, 16): name for address, name in
                 (line.split(" ", 1) for line in listing.stdout.splitlines())}
        program = os.path.join(where, "old")
        built("gcc", "-s", "-o", program, "-x", "c", written(where, "old.c", "int main(void) { return 0; }"))
        built(need_program("objcopy"), f"--add-section=.gopclntab={table}", program)
        found = looked_up(program, known)
        wrong = [(name, found[address]) for address, name in known.items() if found[address] != (address, name)]
        check(len(known) > 1000 and not wrong, f"{len(known)}: {wrong[:10]}")


# ---- D, Ada, OCaml ----

D = """import std.stdio, std.algorithm, std.conv, std.range;

struct Shape(T)
{
	T side;
	this(T side) { this.side = side; }
	T work(T n) const { T sum = 0; foreach (i; 0 .. n) sum += i * side % 7; return sum; }
}

ulong spin(alias f)(ulong n) { ulong sum; foreach (i; 0 .. n) sum += f(i); return sum; }

void main(string[] words)
{
	auto squares = iota(words.length.to!int).map!(x => x * x).filter!(x => x % 2 == 0).array.sort!"a > b";
	writeln(Shape!ulong(3).work(1000) + spin!(x => x * x)(1000), squares);
}
"""
D_LIST = """import core.demangle, std.stdio;
void main() { foreach (line; stdin.byLine) writeln(demangle(line)); }
"""


def path_in_d(name):
    """The path of a function of D alone: no parameters, no attributes, no type before it. Modifiers stand before it or behind."""
    name, before = name.split(" [clone ")[0], None
    while name != before:
        before, name = name, re.sub(r"\([^()]*\)", "", name)
    name = re.sub(r" (const|inout|immutable|shared|pure|nothrow|return|scope|@\w+)(?=[. ]|$)", "", name)
    return name.split(" ")[-1].replace(".__ctor", ".this").replace(".__dtor", ".~this").replace(".__postblit", ".this")


@case
def functions_of_d():
    gdc = need_program("gdc")
    with directory() as where:
        program, lister = os.path.join(where, "program"), os.path.join(where, "lister")
        built(gdc, "-O1", "-g", "-fno-inline", "-static-libphobos", "-o", program, written(where, "program.d", D))
        built(gdc, "-O1", "-o", lister, written(where, "lister.d", D_LIST))
        symbols = {address: names for address, names in functions_by_nm(program).items()
                   if all(name.startswith("_D") and "." not in name for name in names)}
        found = looked_up(program, symbols)
        mangled = [(found[address][1], name) for address, names in symbols.items() for name in names if len(names) == 1]
        listing = run("sh", "-c", '"$0" <"$1"', lister, written(where, "names", "".join(f"{name}\n" for _, name in mangled)))
        pairs = [(ours, name, theirs) for (ours, name), theirs in zip(mangled, listing.stdout.splitlines()) if theirs != name]
        # Newer attributes of parameters are unknown to old versions of libiberty: such names are left alone.
        unknown = [name for ours, name, _ in pairs if ours == name]
        wrong = [pair for pair in pairs if pair[0] != pair[1] and path_in_d(pair[0]) != path_in_d(pair[2])]
        check(len(pairs) > 1000 and len(unknown) * 10 < len(pairs), f"{len(unknown)} of {len(pairs)}: {unknown[:5]}")
        check(len(wrong) * 100 < len(pairs), f"{len(wrong)} of {len(pairs)}: {wrong[:10]}")
        names = {ours for ours, _, _ in pairs}
        check("program.Shape!(ulong).Shape.work(ulong) const" in names, f"{[name for name in names if 'Shape' in name]}")


ADA = {"shapes.ads": """package Shapes is
   type Point is record X, Y : Long_Integer; end record;
   function "+" (A, B : Point) return Point;
   function Work (N : Long_Integer) return Long_Integer;
   function Work (N : Long_Integer; P : Point) return Point;
end Shapes;
""", "shapes.adb": """package body Shapes is
   function "+" (A, B : Point) return Point is ((A.X + B.X, A.Y + B.Y));
   function Work (N : Long_Integer) return Long_Integer is
      S : Long_Integer := 0;
   begin
      for I in 1 .. N loop S := (S * 31 + I) mod 65537; end loop;
      return S;
   end Work;
   function Work (N : Long_Integer; P : Point) return Point is
      R : Point := P;
   begin
      for I in 1 .. N loop R := R + (I mod 3, I mod 5); end loop;
      return R;
   end Work;
end Shapes;
""", "busy.adb": """with Ada.Text_IO; with Shapes; use Shapes;
procedure Busy is
   P : Point := (1, 2);
begin
   P := Work (1000, P);
   Ada.Text_IO.Put_Line (P.X'Image & Work (1000)'Image);
end Busy;
"""}


@case
def functions_of_ada():
    gnatmake = need_program("gnatmake")
    with directory() as where:
        for name, text in ADA.items():
            written(where, name, text)
        built(gnatmake, "-q", "-O1", "-g", "busy.adb", "-bargs", "-static", cwd=where)
        program = os.path.join(where, "busy")
        symbols = functions_by_nm(program)
        found = {name for _, name in looked_up(program, symbols).values()}
        for name in ("busy", 'shapes."+"', "shapes.work", "ada.text_io.put_line", "ada.text_io'Elab_Body", "main"):
            check(name in found, f"{name}: {sorted(found)[:200]}")
        # What C calls alike is left alone in files of others' compilers.
        program = os.path.join(where, "other")
        built("gcc", "-o", program, "-x", "c", written(where, "other.c", "void a__b(void) {}\nint main(void) { a__b(); return 0; }\n"))
        symbols = functions_by_nm(program)
        check("a__b" in {name for _, name in looked_up(program, symbols).values()}, "a name of C's is another now")


OCAML = """let rec work n acc = if n = 0 then acc else work (n - 1) ((acc * 31 + n) mod 65537)
let ( +: ) a b = a + b
module Inner = struct let spin n = work n 1 +: List.length (List.map succ [1; 2; 3]) end
let () = print_int (Inner.spin (10 * Array.length Sys.argv))
"""


@case
def functions_of_ocaml():
    compiler = need_program("ocamlopt")
    with directory() as where:
        program = os.path.join(where, "program")
        built(compiler, "-g", "-o", program, written(where, "shapes.ml", OCAML))
        found = {name for _, name in looked_up(program, functions_by_nm(program)).values()}
        for name in "Shapes.work_", "Shapes.+:_", "Stdlib.List.map_", "Stdlib.print_int_":
            check(any(other.startswith(name) for other in found), f"{name}: {sorted(found)[:100]}")
        check(any(re.fullmatch(r"Shapes\.(Inner\.)?spin_\d+", name) for name in found), f"{sorted(found)[:100]}")


if __name__ == "__main__":
    main()
