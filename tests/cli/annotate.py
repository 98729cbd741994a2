#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A function's instructions: those that objdump lists, each with its samples, and the source beside them."""

import os
import re
import shutil
import stat

from fuse import mounted
from harness import (FAULTY, NOBODY, case, check, check_refused, ctop, ctop_ok, directory, falling, main, need_program,
                     need_root, open_to_all, run)
from listings import (NESTED, annotated, by_addr2line, chains_of, check_chains, check_like_objdump, check_sum, own_samples, recorded,
                      rows_of)

SOURCE = """#include <stdlib.h>
#include <time.h>

static inline unsigned mix(unsigned x)
{
	x ^= x << 13;
	return x ^ (x >> 17);
}

__attribute__((noinline)) unsigned crunch(unsigned *values, int nr)
{
	unsigned sum = 1;
	for (int i = 0; i < nr; i++) {
		sum = mix(sum + values[i]);
		if (sum % 7 == 3)
			sum /= 3;
		values[i] = sum;
	}
	return sum;
}

int main(int argc, char **argv)
{
	static unsigned values[5000];
	unsigned sum = 0;
	const double seconds = argc > 1 ? atof(argv[1]) : 1;
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		sum += crunch(values, 5000);
	return sum == 1;
}
"""

# Bytes that are no instructions, jumps over them, and one into the middle of an instruction.
GARBAGE = """
__asm__(".globl garbage\\n.type garbage, @function\\ngarbage:\\n"
	"mov $100000, %ecx\\n"
	"1: jmp 2f\\n.byte 0x06, 0x07, 0x62, 0xff, 0xff, 0xff, 0xff\\n"
	"2: .byte 0xeb, 0x01, 0xb8\\n" /* jumps behind what looks like the first byte of a mov */
	"3: dec %ecx\\n.byte 0xeb, 0x02, 0x0f, 0xff\\n"
	"test %ecx, %ecx\\njnz 1b\\nret\\n.byte 0x0f\\n.size garbage, . - garbage\\n");
void garbage(void);
int main(void)
{
	for (int i = 0; i < 4000; i++)
		garbage();
	return 0;
}
"""


def built(where, text=SOURCE, name="work", options=("-O2", "-g")):
    source = os.path.join(where, name + ".c")
    program = os.path.join(where, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    result = run(need_program("gcc"), *options, "-o", program, source, cwd=where)
    check(result.returncode == 0, result.stderr)
    return program


@case
def every_instruction_is_objdumps_and_has_its_samples():
    with directory() as where:
        program = built(where)
        path = recorded(where, program, 0.5)
        listing = annotated(path, "crunch")
        check_sum(path, "crunch", listing)
        check_like_objdump(listing, program)
        rows = rows_of(listing)
        check(any(row.mark == "**" for row in rows), f"nothing is hot:\n{listing}")
        for words in (f"source     {program}.c\n", "work.c:14  ", "sum = mix(sum + values[i]);", "# in mix (inlined)", "  ^"):
            check(words in listing, f"{words!r} is not in\n{listing}")


@case
def five_functions_of_a_real_program_are_objdumps():
    python = os.path.realpath(need_program("python3"))
    with directory() as where:
        path = recorded(where, python, "-c", "import re, json, time\nend = time.process_time() + 1.2\n"
                        "while time.process_time() < end: json.loads(json.dumps([{'a': [i, str(i)] for i in range(9)}] * 50));"
                        " re.findall(r'(\\w+)-(\\d+)', 'ab-12 ' * 50); sorted(str(i) for i in range(500))")
        functions = sorted((samples, name, module) for (name, module), samples in own_samples(path).items()
                           if samples and re.fullmatch(r"\w+", name) and module != "[vdso]")[-5:]
        check(len(functions) == 5, f"{len(functions)} functions")
        for _, name, module in functions:
            listing = annotated(path, name, "--module", module)
            check_sum(path, name, listing, module)
            check_like_objdump(listing, re.search(r"^function +\S+ of ([^\s,]+)", listing, re.M).group(1))


@case
def bytes_that_are_no_instructions_keep_their_samples():
    if os.uname().machine != "x86_64":
        return
    with directory() as where:
        path = recorded(where, built(where, GARBAGE))
        listing = annotated(path, "garbage")
        check(".byte" in listing, listing)
        check_sum(path, "garbage", listing)


@case
def another_file_is_refused():
    with directory() as where:
        program = built(where)
        path = recorded(where, program, 0.2, options=("--no-keep-code",))
        kept = os.path.join(where, "kept")
        os.rename(program, kept)
        check_refused(ctop("report", "--annotate", "crunch", path), 1, program, "is not here", "build-id")
        built(where, SOURCE.replace("% 7", "% 5"))
        check_refused(ctop("report", "--annotate", "crunch", path), 1, program, "is not the file that was profiled")
        os.rename(kept, program)
        annotated(path, "crunch")
        check_refused(ctop("report", "--annotate", "crunhc", path), 1, "crunhc", "did you mean 'crunch'")
        check_refused(ctop("report", "--annotate", "main", path, "--kernel"), 1)


def instructions(listing):
    """With all that does not come from symbols or lines."""
    return [row._replace(text=row.text.split("  #")[0]) for row in rows_of(listing)]


def check_kept(listing, wanted, why):
    kept = " ".join(listing.split())
    check("code kept in the recording: " in kept and why in kept, f"not told, or not {why!r}:\n{listing}")
    check(instructions(listing) == instructions(wanted), f"other instructions:\n{listing}")


@case
def code_that_was_kept_is_shown_where_the_file_is_not():
    with directory() as where:
        program = built(where)
        path = recorded(where, program, 0.5)
        wanted = annotated(path, "crunch")
        check("kept in the recording" not in wanted, f"of a file that is there:\n{wanted}")
        moved = os.path.join(where, "moved")
        os.rename(program, moved)
        listing = annotated(path, "crunch")
        check_kept(listing, wanted, f"'{program}' is not here")
        check_sum(path, "crunch", listing)
        check_like_objdump(listing, moved)
        # Another build in its place, and one that is no program.
        built(where, SOURCE.replace("% 7", "% 5"))
        check_kept(annotated(path, "crunch"), wanted, f"'{program}' is not the file that was profiled")
        with open(program, "w", encoding="utf-8") as file:
            file.write("not a program")
        check_kept(annotated(path, "crunch"), wanted, "code kept")
        os.rename(moved, program)
        listing = annotated(path, "crunch")
        check(rows_of(listing) == rows_of(wanted) and "kept in" not in listing, f"the file is there again:\n{listing}")


CALLS = """#include <time.h>
__attribute__((noinline)) unsigned helper(unsigned x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 31 + (x >> 3);
	return x;
}
__attribute__((noinline)) unsigned crunch(unsigned sum)
{
	for (int i = 0; i < 1000; i++) {
		sum = sum / 7 * 3 + i;
		sum ^= sum / 11;
	}
	return helper(sum) + sum;
}
int main(void)
{
	unsigned sum = 1;
	while ((double)clock() / CLOCKS_PER_SEC < 0.6)
		sum = crunch(sum);
	return sum == 1;
}
"""


def lines_of(listing):
    """{address: "work.c:14"} of sampled instructions."""
    line, found = None, {}
    for text in listing.splitlines():
        source = re.match(r"^(?: *[\d.]+ +[\d,]+)? +(\w+\.c:\d+)  ", text)
        line = source.group(1) if source else line
        instruction = re.match(r"^ *[\d.]+ \S* +[\d,]+ +([0-9a-f]+): ", text)
        if instruction:
            found[int(instruction.group(1), 16)] = line
    return found


@case
def code_that_was_kept_has_the_lines_and_names_of_what_was_in_stacks():
    with directory() as where:
        program = built(where, CALLS)
        path = recorded(where, program)
        wanted = annotated(path, "crunch")
        os.unlink(program)
        listing = annotated(path, "crunch")
        check("code kept in the recording" in listing and "lines are those of instructions that were in stacks" in listing, listing)
        check(lines_of(listing) == lines_of(wanted) and len(set(lines_of(wanted).values())) >= 2, f"{wanted}\n{listing}")
        check("sum = sum / 7 * 3 + i;" in listing and re.search("call .*# helper$", listing, re.M), listing)
        check("newer" not in listing, listing)
        # Of the call itself, too, which no sample fell on: it is in stacks of what it calls.
        check("work.c:14  " in listing, listing)
        os.utime(program + ".c")
        check("newer than the program" in annotated(path, "crunch"), "not told that the source is newer")
        listing = annotated(path, "crunch", "--no-inline")
        check("work.c:" not in listing and "no debug information" in listing, listing)


@case
def every_sampled_function_of_a_real_program_is_kept():
    python = os.path.realpath(need_program("python3"))
    with directory() as where:
        shared = re.search(r"=> (\S*/libpython\S+)", run(need_program("ldd"), python).stdout)
        copy = os.path.join(where, os.path.basename(shared.group(1) if shared else python))
        shutil.copy(shared.group(1) if shared else python, copy)
        program = ("env", f"LD_PRELOAD={copy}", python) if shared else (copy,)
        path = recorded(where, *program, "-c", "import re, json, time\nend = time.process_time() + 1.2\n"
                        "while time.process_time() < end: json.loads(json.dumps([{'a': [i, str(i)] for i in range(9)}] * 50));"
                        " re.findall(r'(\\w+)-(\\d+)', 'ab-12 ' * 50); sorted(str(i) for i in range(500))")
        functions = sorted((samples, name) for (name, module), samples in own_samples(path).items()
                           if samples and re.fullmatch(r"\w+", name) and module == os.path.basename(copy))[-6:]
        check(len(functions) == 6, f"{len(functions)} functions")
        wanted = {name: annotated(path, name, "--module", copy) for _, name in functions}
        os.unlink(copy)
        at_home = {**os.environ, "HOME": where}  # perf may have kept the library's own copy in ~/.debug
        for _, name in functions:
            listing = annotated(path, name, "--module", copy, env=at_home)
            check_kept(listing, wanted[name], "is not here")
            check_sum(path, name, listing, os.path.basename(copy))


# 200 KiB in a row, most of the time in the last ones.
LARGE = """
__asm__(".globl large\\n.type large, @function\\nlarge:\\n"
	".rept 51200\\nadd $1, %eax\\nnop\\n.endr\\n"
	"mov $2000, %ecx\\n1: dec %ecx\\njnz 1b\\nret\\n.size large, . - large\\n");
void large(void);
int main(void)
{
	for (int i = 0; i < 4000; i++)
		large();
	return 0;
}
"""


@case
def of_a_large_function_the_beginning_is_kept():
    if os.uname().machine != "x86_64":
        return
    with directory() as where:
        program = built(where, LARGE)
        path = recorded(where, program)
        wanted = rows_of(annotated(path, "large"))
        os.unlink(program)
        listing = annotated(path, "large")
        rows = rows_of(listing)
        check("it goes on, and is cut here" in listing, listing[:2000])
        size = rows[-1].address - rows[0].address + 1
        check(128 * 1024 - 8 <= size <= 128 * 1024, f"{size} bytes")
        # Of an instruction that is cut, one byte is left.
        check([row[:2] for row in rows[:-1]] == [row[:2] for row in wanted[:len(rows) - 1]], "other samples")
        shown = sum(row.samples for row in rows)
        apart = int(re.search(r"([\d,]+) at addresses that are not listed", listing).group(1).replace(",", ""))
        check(shown + apart == sum(row.samples for row in wanted), f"{shown} and {apart} samples")


@case
def code_that_was_kept_is_merged_once():
    with directory() as where:
        program = built(where)
        path = recorded(where, program, 0.3)
        wanted = [row.text for row in instructions(annotated(path, "crunch"))]
        both = os.path.join(where, "both.ctop")
        ctop_ok("merge", both, path, path)
        os.unlink(program)
        listing = annotated(both, "crunch")
        check("code kept in the recording" in listing, listing)
        check([row.text for row in instructions(listing)] == wanted, listing)


@case
def sources_are_found_where_they_are_said_to_be():
    with directory() as where:
        place = os.path.join(where, "built")
        moved = os.path.join(where, "moved")
        os.mkdir(place)
        program = built(place)
        path = recorded(where, program, 0.2)
        os.mkdir(moved)
        os.rename(program + ".c", os.path.join(moved, "work.c"))
        listing = annotated(path, "crunch")
        check("work.c: not found" in listing and "mix(sum" not in listing and "--source-dir OLD=NEW" in listing, listing)
        listing = annotated(path, "crunch", "--source-dir", f"{place}/={moved}//")
        check(f"source     {moved}/work.c" in listing and "mix(sum" in listing and "--source-dir" not in listing, listing)
        listing = ctop_ok("report", "--annotate", "crunch", path, cwd=moved).stdout
        check("source     work.c" in listing and "mix(sum" in listing, listing)
        os.utime(os.path.join(moved, "work.c"))
        check("newer than the program" in annotated(path, "crunch", "--source-dir", f"{place}={moved}"), "not told")
        check_refused(ctop("report", "--annotate", "crunch", "--source-dir", "nowhere", path), 2, "nowhere", "OLD=NEW")


@case
def a_source_that_is_not_found_is_named_as_source_dir_takes_it():
    with directory() as where:
        built(where)
        os.mkdir(os.path.join(where, "sub"))
        os.rename(os.path.join(where, "work.c"), os.path.join(where, "sub", "work.c"))
        result = run(need_program("gcc"), "-O2", "-g", "-gdwarf-4", "-o", "work", "sub/work.c", cwd=where)
        check(result.returncode == 0, result.stderr)
        path = recorded(where, os.path.join(where, "work"), 0.2)
        os.rename(os.path.join(where, "sub"), os.path.join(where, "moved"))
        listing = annotated(path, "crunch")
        check(f"source     {where}/sub/work.c: not found" in listing, listing)
        check("mix(sum" in annotated(path, "crunch", "--source-dir", f"{where}/sub={where}/moved"), "not found")


@case
def hostile_sources_do_no_harm():
    with directory() as where:
        program = built(where)
        source = program + ".c"
        path = recorded(where, program, 0.2)
        with open(source, "w", encoding="utf-8", newline="") as file:
            file.write("\x1b]0;title\x07\x1b[31m\u202e\x9b1m\n" * 9 + "x" * (1 << 20) + "\n" + "\x1b[2J\r\n" * 40)
        listing = annotated(path, "crunch")
        check("\\x1b[2J" in listing and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", listing), repr(listing))
        check(max(map(len, listing.splitlines())) < 600, "a long line is not cut")
        with open(source, "wb") as file:
            file.write(bytes(range(256)) * 64)
        listing = annotated(path, "crunch")
        check("work.c: not a text" in listing and "--source-dir" not in listing, "binary rubbish")
        os.truncate(source, 100 << 20)
        check("work.c: too large" in annotated(path, "crunch"), "100 MB")
        for make in os.mkfifo, os.mkdir, lambda name: os.symlink("/dev/zero", name), lambda name: os.symlink("/proc/kmsg", name):
            if os.path.isdir(source):
                os.rmdir(source)
            else:
                os.unlink(source)
            make(source)
            check("work.c: not a regular file" in annotated(path, "crunch"), f"{make}")


# A function of 64 instructions, a line for each, of one file by 64 names.
def one_file_by_many_names(path):
    names = [path[:path.rindex("/")] + "/." * nr + path[path.rindex("/"):] for nr in range(64)]
    return "__asm__(" + "".join(f'".file {nr + 1} \\"{name}\\"\\n"\n' for nr, name in enumerate(names)) + \
        '".globl hostile\\n.type hostile, @function\\nhostile:\\nmov $50000000, %ecx\\n1:\\n"\n' + \
        "".join(f'".loc {nr + 1} 1\\nnop\\n"\n' for nr in range(64)) + \
        '"dec %ecx\\njnz 1b\\nret\\n.size hostile, . - hostile\\n");\nvoid hostile(void);\nint main(void) { hostile(); }\n'


def hostile_listing(where, path):
    program = built(where, one_file_by_many_names(path), name="hostile", options=("-g0",))
    return annotated(recorded(where, program), "hostile")


@case
def sources_have_an_end_in_memory():
    if os.uname().machine != "x86_64":
        return
    with directory() as where:
        big = os.path.join(where, "big.c")
        with open(big, "w", encoding="utf-8") as file:
            file.write("line\n" * (1 << 20))
        listing = hostile_listing(where, big)
        check("1  line" in listing and "big.c: too much source text" in listing, listing)


@case
def sources_that_hang_are_given_up():
    need_root()
    if os.uname().machine != "x86_64":
        return
    with directory() as where:
        hung = os.path.join(where, "hung")
        os.mkdir(hung)
        with mounted(hung, stat.S_IFDIR):
            listing = hostile_listing(where, os.path.join(hung, "slow.c"))
        check(listing.count("slow.c: not opened in time") == 16 and "more files" in listing, listing)


@case
def names_of_files_have_an_end():
    if os.uname().machine != "x86_64":
        return
    with directory() as where:
        listing = hostile_listing(where, "/" + "long" * 900 + "/" + "x" * 250 + ".c")
        check("xx.c:1  " in listing and max(map(len, listing.splitlines())) < 600 * 8, "a long name")
        listing = hostile_listing(where, "/" + "long" * 25000 + ".c")
        check("x.c:1" not in listing and len(listing) < 200000, f"{len(listing)} characters, with a name that none can have")


@case
def sources_are_read_as_the_user_who_called():
    need_root()
    with directory() as where:
        open_to_all(where)
        program = built(where)
        path = recorded(where, program, 0.2)
        os.chmod(program + ".c", 0o600)
        invoked = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
        listing = ctop_ok("report", "--annotate", "crunch", path, env=invoked).stdout
        check("work.c: may not be read" in listing and "mix(sum" not in listing, listing)
        check("mix(sum" in annotated(path, "crunch"), "root's own")
        os.chmod(program + ".c", 0o640)
        del invoked["SUDO_GID"]
        listing = ctop_ok("report", "--annotate", "crunch", path, env=invoked).stdout
        check("work.c: may not be read" in listing and "mix(sum" not in listing, "by root's group")


@case
def without_the_library_one_line_says_so():
    with directory() as where:
        path = recorded(where, built(where), 0.2)
        for major in 4, 5, 6:
            result = run(need_program("gcc"), "-shared", "-o", os.path.join(where, f"libcapstone.so.{major}"), "-x", "c", "/dev/null")
            check(result.returncode == 0, result.stderr)
        result = ctop("report", "--annotate", "crunch", path, env={**os.environ, "LD_LIBRARY_PATH": where})
        check_refused(result, 1, "libcapstone", "install")


@case
def a_disassembler_that_falls_is_told_of():
    with directory() as where:
        path = recorded(where, built(where), 0.2)
        for fault in "segv", "exit=0":
            result = run(FAULTY, "report", "--annotate", "crunch", path, env=falling(f"disassembler:{fault}:listing"))
            check_refused(result, 1, "cannot be listed")
            check(where not in result.stderr.splitlines()[-1], f"a command with a name that may be another: {result.stderr}")


@case
def a_stripped_program_has_its_lines_from_the_debug_file():
    with directory() as where:
        program = built(where)
        path = recorded(where, program, 0.2)
        debug = program + ".debug"
        for words in (("--only-keep-debug", program, debug), ("--strip-all", program),
                      ("--add-gnu-debuglink=" + debug, program)):
            result = run(need_program("objcopy"), *words)
            check(result.returncode == 0, result.stderr)
        listing = annotated(path, "crunch")
        check_sum(path, "crunch", listing)
        check("work.c:14" in listing, listing)
        shutil.rmtree(where, ignore_errors=True)


@case
def a_function_whose_name_the_file_has_no_more_is_listed():
    with directory() as where:
        program = built(where)
        path = recorded(where, program, 0.2)
        wanted = annotated(path, "crunch")
        # Without debug information, what was inlined is known of sampled instructions alone.
        for same, *words in (rows_of, "--redefine-sym", "crunch=another"), (instructions, "--strip-all"):
            result = run(need_program("objcopy"), *words, program)
            check(result.returncode == 0, result.stderr)
            listing = annotated(path, "crunch")
            check(same(listing) == same(wanted), f"{words}:\n{listing}")
            sampled = [row for row in rows_of(listing) if row.samples]
            check(sampled == [row for row in rows_of(wanted) if row.samples], f"{words}:\n{listing}")
            check_sum(path, "crunch", listing)


# Two functions, one of which has the other's name in its own and is hotter; and one that a compiler cloned.
ALIKE = """
#define WORK(NAME, TURNS) __attribute__((noinline)) void NAME(void) { for (int i = 0; i < (TURNS); i++) __asm__ volatile("" ::: "memory"); }
void clone(void) __asm__("step.constprop.0");
WORK(clone, 20000000)
WORK(step_by_step, 60000000)
int main(void)
{
	for (int i = 0; i < 4; i++)
		clone(), step_by_step();
	return 0;
}
"""


@case
def of_several_that_are_meant_the_others_are_named():
    with directory() as where:
        path = recorded(where, built(where, ALIKE))
        listing = annotated(path, "ste")
        check("function   step_by_step of" in listing and "others     1 more matches 'ste': step.constprop.0\n" in listing, listing)
        listing = annotated(path, "step")
        check("function   step.constprop.0 of" in listing and "others" not in listing, listing)


@case
def the_same_function_of_another_program_is_named_with_it():
    with directory() as where:
        one, other = built(where, ALIKE), os.path.join(where, "other")
        shutil.copy(one, other)
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", "sh", "-c", f"{one}; {other}; {one}")
        name = os.path.basename(one)
        for hottest, less in (name, "other"), ("other", name):
            options = ("--module", hottest) if hottest == "other" else ()
            listing = annotated(path, "step_by_step", *options)
            check(f"function   step_by_step of {os.path.join(where, hottest)}" in listing, listing)
            check(options or f"others     1 more matches 'step_by_step': step_by_step of {less}\n" in listing, listing)


@case
def functions_of_the_kernel_are_meant_by_what_stands_in_a_report():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-o", path, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=40000")
        row = re.search(r"(\[k\] \w+)", ctop_ok("report", "--stdio", path).stdout)
        check(row, "no row of the kernel's")
        result = ctop("report", "--annotate", row.group(1), path)
        check("no sample was taken in" not in result.stderr, result.stderr)


@case
def chains_of_inlined_functions_are_addr2lines():
    with directory() as where:
        program = built(where, NESTED)
        path = recorded(where, program)
        listing = annotated(path, "nest")
        chains = chains_of(listing)
        check(len(chains) == len(rows_of(listing)) and [] in chains.values(), f"{chains}")
        check(any(chains[row.address] and not row.samples for row in rows_of(listing)), f"only where samples are:\n{listing}")
        check("inlined" not in annotated(path, "nest", "--no-inline"), "--no-inline")
        check(len(set(map(str, chains.values()))) >= 2 and max(map(len, chains.values())) == 3, f"{chains}")
        check_chains(chains, program)
        # Of ten the first and the last three are shown.
        chains = chains_of(annotated(path, "deep"))
        long = [chain for chain in chains.values() if len(chain) == 7]
        check(long, f"{chains}")
        for at, wanted in by_addr2line(program, chains).items():
            if len(wanted) > 6:
                wanted[3:-3] = [("...", str(len(wanted) - 6), "more")]
            check(chains[at] == wanted, f"{at:x}: {chains[at]}, not {wanted}")


@case
def what_makes_no_sense_is_refused():
    with directory() as where:
        path = recorded(where, built(where), 0.2)
        for option in ("--tree",), ("--modules",), ("--group", "line"):
            check_refused(ctop("report", "--annotate", "crunch", *option, path), 2, f"--annotate and {option[0]} are mutually exclusive",
                          f"leave out {option[0]}")
        check_refused(ctop("report", "--annotate", "nosuch", path), 1, "'nosuch'", "--limit 0 --min-percent 0")
        idle = os.path.join(where, "idle.ctop")
        ctop_ok("record", "-q", "-e", "page-faults:u", "-c", "1000000", "-o", idle, "--", "true")
        check_refused(ctop("report", "--annotate", "crunch", idle), 1, "there are no samples", "ctop report")


main()
