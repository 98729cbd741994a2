# SPDX-License-Identifier: MIT
"""What `ctop report --annotate` lists, and what others list of the same bytes."""

import collections
import os
import re

from harness import check, ctop_ok, need_library, need_program, run

Row = collections.namedtuple("Row", "address samples percent mark text")


def recorded(where, *command, options=(), **others):
    need_library("capstone")
    path = os.path.join(where, "annotate.ctop")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", *options, "-o", path, "--", *command, **others)
    return path


def rows_of(listing):
    rows = []
    for line in listing.splitlines():
        part = re.match(r"^(?: *([\d.]+) (\S*) +([\d,]+) )? +([0-9a-f]+): [> ] (.*)$", line)
        if part:
            rows.append(Row(int(part.group(4), 16), int((part.group(3) or "0").replace(",", "")),
                            float(part.group(1) or 0), part.group(2) or "", part.group(5)))
    return rows


def own_samples(path):
    """{(function, module): self samples} where nothing is inlined."""
    found = {}
    for line in ctop_ok("report", "--stdio", "--no-inline", "--limit", "0", "--min-percent", "0", path).stdout.splitlines():
        part = re.match(r"^ *[\d.]+ +[\d.]+ +([\d,]+)  (\S.*?)  +(\S+)$", line)
        if part:
            found[part.group(2), part.group(3)] = int(part.group(1).replace(",", ""))
    return found


def annotated(path, function, *arguments, **options):
    return ctop_ok("report", "--annotate", function, *arguments, path, **options).stdout


def check_samples(path, function, listing, module=None):
    wanted = sum(samples for (name, where), samples in own_samples(path).items() if name == function and module in (None, where))
    got = sum(row.samples for row in rows_of(listing))
    check(got == wanted and "not listed" not in listing, f"{function}: {got} samples, not {wanted}:\n{listing}")


def check_sum(path, function, listing, module=None):
    """Of a function that is in one place."""
    check_samples(path, function, listing, module)
    rows = rows_of(listing)
    percent = sum(row.percent for row in rows)
    check(not percent or abs(percent - 100) < 0.01 * len(rows), f"{percent} % in all")


def plain(text):
    """A mnemonic without prefixes that disassemblers write as they like, nor an operand's size that they spell out or not."""
    words = [word for word in text.split() if word not in
             ("rep", "repz", "repnz", "repne", "repe", "lock", "bnd", "notrack", "cs", "ds", "es", "ss", "fs", "gs", "data16", "rex.W")]
    word = words[0] if words else text.split()[-1]
    word = {"fwait": "wait", "sal": "shl", "xlatb": "xlat"}.get(word, word)
    if word == "xchg" and re.fullmatch(r"xchg +(\w+), ?\1", " ".join(words)):
        word = "nop"
    return re.sub(r"^(movs|cmps|stos|lods|scas|ins|outs)[bwdq]$", r"\1", word)


def by_objdump(start, end, *how):
    text = run(need_program("objdump"), "-M", "intel", "--no-show-raw-insn", f"--start-address={start:#x}",
               f"--stop-address={end:#x}", *how).stdout
    return {int(part.group(1), 16): plain(part.group(2))
            for part in re.finditer(r"^ +([0-9a-f]+):\t(.+)$", text, re.M)}


def check_like_objdump(listing, program):
    return check_like(listing, "-d", program)


def check_like_bytes(listing, where, start, code):
    """The same of bytes that stand at an address and are in no file that says what they are."""
    path = os.path.join(where, "code.bin")
    with open(path, "wb") as file:
        file.write(code)
    return check_like(listing, "-D", "-b", "binary", "-m", "i386:x86-64", f"--adjust-vma={start:#x}", path)


def check_like(listing, *how):
    part = re.search(r"^code +0x([0-9a-f]+) to 0x([0-9a-f]+), ([\d,]+) instructions", listing, re.M)
    start, end = int(part.group(1), 16), int(part.group(2), 16)
    wanted = by_objdump(start, end, *how)
    got = {row.address: plain(row.text) for row in rows_of(listing)}
    check(len(got) == int(part.group(3).replace(",", "")), f"{len(got)} rows, not {part.group(3)}")
    check(list(got) == list(wanted), f"addresses differ: {sorted(set(got) ^ set(wanted))[:8]}")
    # Not in the library yet: AVX-512's byte and word instructions are shown as their bytes.
    wrong = [(hex(at), got[at], wanted[at]) for at in got if got[at] not in (wanted[at], ".byte")]
    check(not wrong, f"mnemonics: {wrong[:8]}")
    return len(got)


# Four functions, one in the other, the innermost in two places; and nine more of which each is put into the next.
NESTED = """#include <time.h>
#define INLINE static inline __attribute__((always_inline))
INLINE unsigned inner(unsigned x)
{
	return x / 7 * 3 + (x >> 3);
}
INLINE unsigned middle(unsigned x)
{
	return inner(x ^ 5) + 1;
}
INLINE unsigned outer(unsigned x)
{
	x = middle(x) / 11;
	return x + inner(x | 1);
}
#define DEEPER(NAME, BELOW) INLINE unsigned NAME(unsigned x) { return BELOW(x + 1) * 5; }
DEEPER(d1, inner) DEEPER(d2, d1) DEEPER(d3, d2) DEEPER(d4, d3) DEEPER(d5, d4)
DEEPER(d6, d5) DEEPER(d7, d6) DEEPER(d8, d7) DEEPER(d9, d8)
__attribute__((noinline)) unsigned nest(unsigned sum)
{
	for (unsigned i = 0; i < 100000; i++)
		sum = outer(sum + i) / 3;
	return sum;
}
__attribute__((noinline)) unsigned deep(unsigned sum)
{
	for (unsigned i = 0; i < 100000; i++)
		sum = d9(sum + i) / 3;
	return sum;
}
int main(void)
{
	unsigned sum = 0;
	while ((double)clock() / CLOCKS_PER_SEC < 0.6)
		sum += nest(sum) + deep(sum);
	return sum == 1;
}
"""


def chains_of(listing):
    """{address: its chain as shown} of all instructions, [] where nothing was inlined: (name, place) each."""
    chain, chains = None, {}
    for line in listing.splitlines():
        words = re.match(r" +inlined: (.*)$", line)
        instruction = re.match(r"^(?: *[\d.]+ \S* +[\d,]+ )? +([0-9a-f]+): (?:.*# in (\w+) \(inlined\)$)?", line)
        if words:
            check(words.group(1) != chain, f"{chain} twice in turn:\n{listing}")
            chain = words.group(1)
        elif instruction and not instruction.group(2):
            chains[int(instruction.group(1), 16)] = []
        elif instruction:
            chains[int(instruction.group(1), 16)] = [tuple(step.split(" ")) for step in chain.split(" > ")]
            check(chain.split(" > ")[-1].split(" ")[0] == instruction.group(2), f"{line} below {chain}")
    return chains


def by_addr2line(program, addresses):
    """The same from its debug information: the outermost first, each with its call's place."""
    text = run(need_program("addr2line"), "-a", "-f", "-i", "-e", program, *map(hex, addresses)).stdout
    found = {}
    for part in re.split(r"^(?=0x)", text, flags=re.M)[1:]:
        address, *words = part.splitlines()
        names, places = words[::2], [re.sub(r" \(discriminator.*", "", os.path.basename(place)) for place in words[1::2]]
        found[int(address, 16)] = [(name, place) for name, place in reversed(list(zip(names[:-1], places[1:])))]
    return found


def check_chains(chains, program, by=by_addr2line):
    theirs = by(program, chains)
    check(len(theirs) == len(chains) > 0, f"{len(theirs)} of {len(chains)} addresses")
    wrong = {hex(at): (chain, theirs[at]) for at, chain in chains.items() if chain != theirs[at]}
    check(not wrong, f"{wrong}")
