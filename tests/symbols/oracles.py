#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The function at an address, by ctop, by llvm-symbolizer and by eu-addr2line, which read DWARF: where those two agree, ctop says the same
of at least 999 in 1,000 addresses; what differs is printed. At every address that was sampled, and at many others.
"""

import glob
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stacks"))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from everyday import building_go, building_rust  # noqa: E402
from languages import GO  # noqa: E402
from lines import build_program  # noqa: E402
from harness import (BUILD, CTOP, Skip, check, ctop_ok, directory, long_case, main, need_program, need_root, run)  # noqa: E402

LOOK_UP = os.path.join(BUILD, "symbols", "look_up")
AT_MOST = 20000
DIFFERENT_MAX = 0.001


def answers(where, addresses, *command):
    """What a program says that reads addresses, a line each."""
    path = os.path.join(where, "addresses")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{address:#x}\n" for address in addresses)
    result = run("sh", "-c", 'exec "$@" <"$0"', path, *command, timeout=280)
    check(result.stdout, f"{command}: {result.returncode}, {result.stderr[-500:]}")
    return result.stdout


def by_ctop(where, path, debug, addresses):
    """{address: (where its function begins, the symbol)}"""
    found = {}
    for line in answers(where, addresses, LOOK_UP, "-m", path, *([debug] if debug else [])).splitlines():
        address, start, name = line.split(" ", 2)
        found[int(address, 16)] = (None if start == "-" else int(start, 16), name)
    return found


def by_llvm(where, path, addresses):
    """{address: the function that the code belongs to}, the last of what was inlined."""
    text = answers(where, addresses, need_program("llvm-symbolizer"), f"--obj={path}", "--functions=linkage", "--no-demangle",
                   "--inlines", "--output-style=JSON")
    found = {}
    for line in text.splitlines():
        answer = json.loads(line)
        name = answer["Symbol"][-1]["FunctionName"] if answer.get("Symbol") else ""
        found[int(answer["Address"], 16)] = name or None
    return found


def by_elfutils(where, path, addresses):
    found, address = {}, None
    lines = answers(where, addresses, need_program("eu-addr2line"), "-e", path, "-a", "-f", "-i").splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            address, first = int(line, 16), number
        elif (number - first) % 2: # a function, and the next line says where
            name = line.split(" inlined at ")[0]
            found[address] = None if name == "??" else name
    return found


def plain(name):
    """The function that a part of it belongs to; without the version."""
    return re.sub(r"(\.(cold|part|constprop|isra|lto_priv|llvm|abi0|abiinternal)(\.\d+)*)+$", "", name.split("@")[0]) if name else name


def places(path):
    """{symbol: addresses}"""
    found = {}
    for line in run(need_program("nm"), "--defined-only", path).stdout.splitlines():
        words = line.split(" ", 2)
        if len(words) == 3:
            found.setdefault(plain(words[2]), set()).add(int(words[0], 16))
    return found


def all_over(path, debug=None):
    """Addresses in all functions: first, last, and between."""
    found = set()
    for line in run(need_program("nm"), "-S", "--defined-only", debug or path).stdout.splitlines():
        words = line.split(" ", 3)
        if len(words) == 4 and words[2] in "tTwW":
            start, size = int(words[0], 16), int(words[1], 16)
            found.update((start, start + size // 3, start + 2 * size // 3, start + size - 1) if size else (start,))
    step = max(1, len(found) // AT_MOST)
    return sorted(found)[::step]


def source_names(where, symbols):
    """{symbol: its function as the source has it, without parameters and around it}: what eu-addr2line says of functions of one file."""
    path = os.path.join(where, "symbols")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{symbol}\n" for symbol in symbols)
    shown = run("sh", "-c", 'exec "$1" -p <"$0"', path, need_program("c++filt")).stdout.splitlines()
    return {symbol: re.sub(r".*::", "", re.sub(r"\(anonymous namespace\)", "", name)).strip() for symbol, name in zip(symbols, shown)}


def compared(where, what, path, addresses, debug=None):
    of_ctop, of_llvm = by_ctop(where, path, debug, addresses), by_llvm(where, debug or path, addresses)
    of_elfutils, known = by_elfutils(where, debug or path, addresses), places(debug or path)
    agreed, different = 0, []
    sources = source_names(where, sorted({plain(name) for name in of_llvm.values() if name}))
    for address in addresses:
        first, second = plain(of_llvm.get(address)), plain(of_elfutils.get(address))
        # A function may have several names.
        if not first or not second or (second not in (first, sources[first]) and not known.get(first, set()) & known.get(second, set())):
            continue
        agreed += 1
        start, name = of_ctop[address]
        if plain(name) not in (first, second) and start not in known.get(first, ()):
            different.append((f"{address:#x}", name, first))
    print(f"# {what}: {len(addresses)} addresses, {agreed} where the two agree, {len(different)} different", flush=True)
    for entry in different[:20]:
        print(f"#   {entry}")
    check(agreed * 2 > len(addresses), f"{what}: they agree at {agreed} of {len(addresses)}")
    check(len(different) <= agreed * DIFFERENT_MAX, f"{what}: {len(different)} of {agreed} are different")


def sampled(where, path, *command):
    """The addresses of a file at which it was sampled, and the functions there, as the profile has them."""
    recording = os.path.join(where, "sampled.ctop")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", recording, "--", *command, timeout=280, cwd=where)
    text = ctop_ok("export", "frames", "--no-inline", recording).stdout
    found = {}
    for name, address in re.findall(rf" (\S.*?)(?:\+0x[0-9a-f]+)? \({re.escape(os.path.realpath(path))}\+(0x[0-9a-f]+)\)", text):
        found[int(address, 16)] = re.split(r" {2,}", name)[-1]
    check(len(found) > 5, f"{len(found)} addresses of {path}: {text[:2000]}")
    return found


def check_program(where, what, path, *command, other="eu-addr2line", least=3):
    """The two agree at one of so many addresses at least."""
    path = os.path.realpath(path)
    seen = sampled(where, path, *command)
    shown = {}
    for line in answers(where, sorted(seen), LOOK_UP, path).splitlines():
        address, _, name = line.split(" ", 2)
        shown[int(address, 16)] = name
    wrong = [(f"{address:#x}", name, shown[address]) for address, name in seen.items()
             if shown[address] not in (name, "?") and "+0x" not in name and not name.startswith("[")]
    check(not wrong, f"{what}: the profile has other names than the symbolizer: {wrong[:5]}")
    compared(where, what + ", sampled", path, sorted(seen))
    compared(where, what + ", all over", path, all_over(path))
    compare_chains(where, what + ", sampled", path, addresses=sorted(seen), other=other, least=least)


@long_case
def ctop_itself():
    need_root()
    with directory() as where:
        profile = os.path.join(where, "profile.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", profile, "--", os.path.join(BUILD, "workloads", "templates"), 1)
        script = f'for i in 1 2 3 4 5 6 7 8 9 10; do "{CTOP}" report --stdio --tree "{profile}"; "{CTOP}" list; "{CTOP}" export script "{profile}"; done >/dev/null'
        check_program(where, "ctop", CTOP, "sh", "-c", script)


@long_case
def cplus():
    need_root()
    with directory() as where:
        for name in "templates", "demo":
            path = os.path.join(BUILD, "workloads", name)
            check_program(where, name, path, path, 1)


RUST = """use std::collections::{BTreeMap, HashMap};
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
struct Circle(f64);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Circle { fn area(&self) -> f64 { self.0 * 3.14 } }
fn work<T: Ord + Clone + std::fmt::Display>(items: &mut Vec<T>) -> usize {
    items.sort();
    items.dedup();
    items.iter().map(|item| format!("{item}")).filter(|text| text.len() % 2 == 0).map(|text| text.len()).sum()
}
fn main() {
    let end = std::time::Instant::now() + std::time::Duration::from_millis(1500);
    let (mut total, mut map, mut tree) = (0usize, HashMap::new(), BTreeMap::new());
    while std::time::Instant::now() < end {
        let mut numbers: Vec<u64> = (0..2000u64).map(|i| i.wrapping_mul(2654435761) % 997).collect();
        let mut words: Vec<String> = numbers.iter().map(|n| n.to_string()).collect();
        total += work(&mut numbers) + work(&mut words);
        for word in words { *map.entry(word.clone()).or_insert(0) += 1; tree.insert(word, total); }
        let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle(total as f64))];
        total += shapes.iter().map(|shape| shape.area()).sum::<f64>() as usize % 7;
    }
    println!("{total} {} {}", map.len(), tree.len());
}
"""


@long_case
def rust():
    need_root()
    with directory() as where:
        program, = building_rust(RUST)(where)
        check("17h" in run("nm", program).stdout, "its names are not mangled in the legacy way")
        check_program(where, "Rust", program, program, least=10)
        built = run("rustc", "-O", "-g", "-C", "symbol-mangling-version=v0", "-o", program, os.path.join(where, "busy.rs"))
        check(built.returncode == 0, built.stderr)
        check_program(where, "Rust, v0", program, program, least=10)


@long_case
def go():
    need_root()
    with directory() as where:
        program, = building_go(GO)(where)
        check_program(where, "Go", program, program, 1, other="addr2line")


def glibc():
    """It, and the debug file of its package."""
    path = next((word for word in run("ldd", CTOP).stdout.split() if "/libc.so" in word), None)
    if not path:
        raise Skip("no glibc here")
    path = os.path.realpath(path)
    build_id = re.search("Build ID: ([0-9a-f]+)", run(need_program("readelf"), "-n", path).stdout).group(1)
    debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    if not os.path.exists(debug):
        raise Skip("glibc's debug package is not installed")
    return path, debug


@long_case
def glibc_by_its_debug_file():
    path, debug = glibc()
    with directory() as where:
        compared(where, "glibc", path, all_over(path, debug), debug)


# ---- what was put in, and lines ----


def chains_by_llvm(where, path, addresses):
    """{address: [(function, file, line)]}, the innermost first."""
    text = answers(where, addresses, need_program("llvm-symbolizer"), f"--obj={path}", "--functions=linkage", "--no-demangle",
                   "--inlines", "--output-style=JSON")
    found = {}
    for line in text.splitlines():
        answer = json.loads(line)
        found[int(answer["Address"], 16)] = [(plain(one["FunctionName"]), os.path.basename(one["FileName"]), one["Line"])
                                             for one in answer.get("Symbol", ())]
    return found


def chains_by_addr2line(where, path, addresses, tool):
    """elfutils' or binutils'."""
    found, chain, name = {}, [], None
    for line in answers(where, addresses, need_program(tool), "-e", path, "-a", "-f", "-i").splitlines():
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            chain = found[int(line, 16)] = []
            name = None
        elif name is None:
            name = plain(line.split(" inlined at ")[0])
        else:
            file, _, rest = line.partition(":")
            chain.append((name, os.path.basename(file), int(re.match(r"\d+", rest).group() if rest[:1].isdigit() else 0)))
            name = None
    return found


def chains_by_ctop(where, path, debug, addresses, *splits):
    found = {}
    for line in answers(where, addresses, LOOK_UP, "-l", path, *([debug] if debug else []), *splits).splitlines():
        address, *words = line.split("\t")
        found[int(address, 16)] = [(plain(name), os.path.basename(place.rpartition(":")[0]), int(place.rpartition(":")[2]))
                                   for name, place in zip(words[::2], words[1::2])]
    return found


def places_of(chain):
    return [(file, line) for _, file, line in chain]


def compare_chains(where, what, path, most=AT_MOST, debug=None, other="eu-addr2line", addresses=None, least=3):
    """At all those addresses, or at so many all over the file."""
    if addresses is None:
        addresses = all_over(path, debug)
        addresses = addresses[::-(-len(addresses) // most)]
    of_llvm, of_other = chains_by_llvm(where, debug or path, addresses), chains_by_addr2line(where, debug or path, addresses, other)
    of_ctop = chains_by_ctop(where, path, debug, addresses)
    agreed, different, longest = 0, [], 0
    for address in addresses:
        chain = of_llvm.get(address, [])
        if not chain or not chain[0][2] or places_of(chain) != places_of(of_other.get(address, [])):
            continue
        agreed += 1
        longest = max(longest, len(chain))
        ours = of_ctop.get(address, [])
        # The outermost llvm-symbolizer takes from the symbol table, which may have another of several names.
        if places_of(ours) != places_of(chain) or [name for name, _, _ in ours[:-1]] != [name for name, _, _ in chain[:-1]]:
            different.append((f"{address:#x}", ours, chain))
    print(f"# {what}: {len(addresses)} addresses, {agreed} where the two agree, up to {longest} functions in one, "
          f"{len(different)} different", flush=True)
    for entry in different[:10]:
        print(f"#   {entry}")
    check(agreed * least > len(addresses), f"{what}: they agree at {agreed} of {len(addresses)}")
    check(len(different) <= agreed * DIFFERENT_MAX, f"{what}: {len(different)} of {agreed} are different")


@long_case
def inlined_functions_and_lines():
    with directory() as where:
        compare_chains(where, "ctop", CTOP)
        compare_chains(where, "C++", os.path.join(BUILD, "workloads", "demo"))
        program, = building_rust(RUST)(where)
        compare_chains(where, "Rust", program)


@long_case
def inlined_functions_and_lines_of_many_templates():
    """16 MB of debug information: up to 18 functions in one."""
    need_program("g++")
    with directory() as where:
        path = os.path.join(where, "large")
        build_program(path, 3, 6)
        compare_chains(where, "C++ of many templates", path, 1700)
        compared(where, "C++ of many templates, all over", path, all_over(path)[::4])


@long_case
def inlined_functions_and_lines_of_go():
    """Go makes no table of ranges, without which eu-addr2line finds no units."""
    with directory() as where:
        program, = building_go(GO)(where)
        compare_chains(where, "Go", program, other="addr2line")


@long_case
def inlined_functions_and_lines_of_glibc():
    path, debug = glibc()
    with directory() as where:
        compare_chains(where, "glibc", path, debug=debug)


@long_case
def functions_and_lines_of_a_kernel():
    """Of any kernel whose debug package is installed, the running one or not."""
    kernels = sorted(glob.glob("/usr/lib/debug/boot/vmlinux-*") + glob.glob("/usr/lib/debug/lib/modules/*/vmlinux"))
    if not kernels:
        raise Skip("no debug package of a kernel is installed (linux-image-*-dbg: 280 MB)")
    with directory() as where:
        compared(where, "kernel", kernels[0], all_over(kernels[0])[::40])
        compare_chains(where, "kernel", kernels[0], 500)


# It is compiled eight times.
TEMPLATES = """#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
struct record { std::string host; unsigned status; double ms; };
static std::vector<record> records(unsigned nr)
{
	std::vector<record> made;
	for (unsigned i = 0; i < nr; i++)
		made.push_back({"host" + std::to_string(i % 17), i * 2654435761u % 600, i * 0.25});
	return made;
}
template <class Items> __attribute__((noinline)) static double ranked(Items items)
{
	std::partial_sort(items.begin(), items.begin() + (long)items.size() / 3, items.end());
	std::rotate(items.begin(), items.begin() + (long)items.size() / 2, items.end());
	std::set<typename Items::value_type> once(items.begin(), items.end());
	std::multimap<typename Items::value_type, size_t> places;
	for (size_t i = 0; i < items.size(); i++)
		places.emplace(items[i], i);
	once.erase(once.begin(), once.lower_bound(items.front()));
	return (double)(once.size() + places.count(items.back()));
}
int main(int argc, char **)
{
	std::vector<record> all = records(1000 * (unsigned)argc);
	double sum = ranked(std::vector<int>{3, argc, 2, 9}) + ranked(std::deque<double>{0.5, (double)argc, 7, 2}) +
		     ranked(std::vector<std::string>{"b", std::to_string(argc), "a", "c"}) +
		     ranked(std::deque<std::string>{"b", std::to_string(argc), "a", "c"}) + ranked(std::vector<unsigned char>{3, 4, 1});
	std::unordered_map<std::string, std::vector<double>> by_host;
	std::map<unsigned, unsigned> by_status;
	for (const record &one : all) {
		by_host[one.host].push_back(one.ms);
		by_status[one.status]++;
	}
	std::stable_sort(all.begin(), all.end(), [](const record &a, const record &b) { return a.status != b.status ? a.status < b.status : a.host < b.host; });
	for (auto &[host, times] : by_host) {
		std::nth_element(times.begin(), times.begin() + (long)times.size() / 2, times.end());
		sum += std::accumulate(times.begin(), times.end(), times[times.size() / 2]);
	}
	return by_status.size() + all.front().host.size() > sum;
}
"""


@long_case
def inlined_functions_of_other_compilers():
    """DWARF 2 to 5, compressed, by gcc and clang."""
    with directory() as where:
        source = os.path.join(where, "templates.cpp")
        with open(source, "w", encoding="ascii") as file:
            file.write(TEMPLATES)
        for compiler in need_program("g++"), need_program("clang++"):
            # Without a table of ranges eu-addr2line finds no units.
            ranges = ["-gdwarf-aranges"] if "clang" in compiler else []
            for options in ["-gdwarf-2"], ["-gdwarf-3"], ["-gdwarf-4"], ["-gdwarf-5", "-gz"]:
                path = os.path.join(where, "templates")
                built = run(compiler, "-std=c++17", "-O2", *options, *ranges, "-o", path, source)
                check(built.returncode == 0, built.stderr)
                compare_chains(where, f"{os.path.basename(compiler)} {' '.join(options)}", path, 600)


# Two units: one whose code is in several parts, one whose code is in one, whose ranges are counted from its beginning.
SPLIT_UNITS = {"several.cpp": """#include <cstdlib>
unsigned long one(unsigned long);
static inline __attribute__((always_inline)) unsigned long turn(unsigned long x) { for (int i = 0; i < 10; i++) x = x * 2654435761u ^ (x >> 7); return x; }
template <int N> static inline __attribute__((always_inline)) unsigned long mix(unsigned long x) { return turn(x + N) * N; }
__attribute__((noinline)) unsigned long work(unsigned long nr)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < nr; i++) {
		if (i & 1)
			sum += mix<3>(i);
		else
			sum ^= mix<5>(sum);
		if (sum == 42)
			abort();
	}
	return sum;
}
int main(int argc, char **) { return work(argc * 1000ul) + one(argc) == 1; }
""", "one.cpp": """namespace space { struct sum { unsigned long total; inline __attribute__((always_inline)) unsigned long add(unsigned long x) { return total += x * x; } }; }
static inline __attribute__((always_inline)) unsigned long twice(space::sum &sum, unsigned long x) { return sum.add(x) + sum.add(x + 1); }
unsigned long one(unsigned long x)
{
	space::sum sum{x};
	unsigned long all = 0;
	for (unsigned long i = 0; i < 100; i++)
		all ^= twice(sum, i);
	return all;
}
"""}


def built_of_units(where, name, compiler, options):
    path = os.path.join(where, name)
    for unit, source in SPLIT_UNITS.items():
        with open(os.path.join(where, unit), "w", encoding="utf-8") as file:
            file.write(source)
    for step in *(["-c", "-o", f"{path}-{unit}.o", unit] for unit in SPLIT_UNITS), ["-o", path, *(f"{path}-{unit}.o" for unit in SPLIT_UNITS)]:
        built = run(compiler, "-O2", "-g", *options, *step, cwd=where)
        check(built.returncode == 0, built.stderr)
    return path


def all_of(path, *functions):
    """The address of each of their bytes."""
    found = []
    for line in run(need_program("nm"), "-S", "--defined-only", path).stdout.splitlines():
        words = line.split(" ", 3)
        if len(words) == 4 and words[3] in functions:
            found += range(int(words[0], 16), int(words[0], 16) + int(words[1], 16))
    return found


def compare_split(where, what, path, whole, splits):
    """With the same program in one piece, of whose units llvm-symbolizer needs to know nothing."""
    addresses = all_of(path, "_Z4workm", "_Z3onem", "main")
    of_llvm = chains_by_llvm(where, whole, addresses)
    of_ctop, without = chains_by_ctop(where, path, "-", addresses, *splits), chains_by_ctop(where, path, "-", addresses)
    different = [(f"{address:#x}", of_ctop[address], chain) for address, chain in of_llvm.items() if of_ctop[address] != chain]
    print(f"# {what}: {len(addresses)} addresses, up to {max(map(len, of_llvm.values()))} functions in one, {len(different)} different", flush=True)
    for entry in different[:10]:
        print(f"#   {entry}")
    check(len(addresses) > 100 and not different, f"{what}: {len(different)} of {len(addresses)} are different")
    check(max(map(len, of_llvm.values())) == 3 and max(map(len, without.values())) == 1, f"{what}: inlined functions without the files")


def compare_split_of(compiler, packed):
    """packed: of which its .dwo files llvm-dwp makes a package."""
    dwp = need_program("llvm-dwp")
    with directory() as where:
        for options in ("-gdwarf-4",), ("-gdwarf-4", "-gz"), ("-gdwarf-5",), ("-gdwarf-5", "-gz", "-ffunction-sections"):
            what = f"{os.path.basename(compiler)} {' '.join(options)}"
            whole = built_of_units(where, "whole", compiler, options)
            path = built_of_units(where, "split", compiler, (*options, "-gsplit-dwarf"))
            check(run("nm", path).stdout == run("nm", whole).stdout, "the two programs differ in more than debug information")
            compare_split(where, what + ", .dwo", path, whole, [f"{path}-{unit}.dwo" for unit in SPLIT_UNITS])
            if options in packed:
                made = run(dwp, "-e", path, "-o", path + ".dwp", cwd=where)
                check(made.returncode == 0, made.stderr)
                compare_split(where, what + ", .dwp", path, whole, [path + ".dwp"])


@long_case
def inlined_functions_in_files_of_their_own():
    """-gsplit-dwarf of gcc. LLVM 14's llvm-dwp never ends with what gcc 12 makes of DWARF 5, and reads nothing that is compressed."""
    compare_split_of(need_program("g++"), [("-gdwarf-4",)])


@long_case
def inlined_functions_in_files_of_their_own_by_clang():
    compare_split_of(need_program("clang++"), [("-gdwarf-4",), ("-gdwarf-5",)])


def one_spelling(name):
    """Without what one prints and the other does not: hashes of Rust's crates, names of ABIs, the short names of std."""
    name = re.sub(r"\[abi:\w+\]|(?<=\bf16)\[0\]|(?<=\bf128)\[0\]|\[[0-9a-f]{13,16}\]|::h[0-9a-f]{16}$|@plt$|(?<=\d): [iu](size|\d+)", "", name)
    for word in "istream", "ostream", "iostream":
        name = re.sub(rf"\bstd::{word}\b", f"std::basic_{word}<char, std::char_traits<char> >", name)
    name = re.sub(r"\bstd::string\b", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >", name)
    return name.replace(" ", "")


def check_names(where, path, *options):
    """All names of a file: the same but for the type before it."""
    lines = run(need_program("nm"), "--defined-only", *options, path).stdout.splitlines()
    addresses = sorted({int(line.split(" ")[0], 16) for line in lines if line.split(" ")[1] in "tTwW"})
    third = lambda text: [line.split(" ", 2)[2] for line in text.splitlines()]
    mangled = [name.split("@")[0] for name in third(answers(where, addresses, LOOK_UP, "-m", path))]
    shown = third(answers(where, addresses, LOOK_UP, path))
    source = os.path.join(where, "mangled")
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(name + "\n" for name in mangled)
    for tool, most in ("c++filt", 0), ("llvm-cxxfilt", 0.01):
        theirs = run("sh", "-c", 'exec "$1" <"$0"', source, need_program(tool)).stdout.splitlines()
        # LLVM's knows no names of old Rust: it takes them for C++.
        different = [(ours, other) for name, ours, other in zip(mangled, shown, theirs)
                     if other != name and not re.search(r"::h[0-9a-f]{16}", other) and not one_spelling(other).endswith(one_spelling(ours)) and " [clone" not in ours]
        print(f"# {os.path.basename(path)}: {len(shown)} names, {len(different)} are others by {tool}")
        for ours, other in different[:5]:
            print(f"#   {ours[:200]}\n#   {other[:200]}")
        check(len(shown) > 100 and len(different) <= most * len(shown), f"{path}: {len(different)} of {len(shown)}")


@long_case
def demanglers():
    libraries = set()
    for program in os.path.join(BUILD, "workloads", "templates"), need_program("llvm-symbolizer"):
        libraries.update(re.findall(r"=> (/\S*/lib(?:stdc\+\+|LLVM)\S*)", run("ldd", program).stdout))
    check(libraries, "no libstdc++")
    with directory() as where:
        for library in sorted(libraries):
            check_names(where, library, "-D")
        program, = building_rust(RUST)(where)
        check_names(where, program)
        found = glob.glob(os.path.join(run("rustc", "--print", "target-libdir").stdout.strip(), "libstd-*.so"))
        check(len(found) == 1, f"Rust's std: {found}")
        check_names(where, found[0], "-D")


if __name__ == "__main__":
    main()
