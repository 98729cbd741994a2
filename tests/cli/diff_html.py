#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop diff --html`: the page's figures beside the text's, the shapes of both sides, hostile names, and outputs that fail."""

import os
import re

import exporting
from browser import use
from comparing import made, rows
from exporting import HOSTILE
from harness import case, check, check_refused, ctop, ctop_ok, directory, main

EVERYTHING = ["--limit", 0, "--min-percent", 0, "--names", "full"]
FUNCTIONS = "await page.keyboard.press('1'); return rows('functions');"
# Every path with its numbers, as the boxes of a shape have them.
TREE = """
    return page.evaluate(() => {
        const found = {}, waiting = [ctopPage.flame.root];
        while (waiting.length) {
            const box = waiting.pop(), {profile} = box.counts;
            found[box.path.map((fn) => profile.functions[fn].name).join(';')] = [box.change.a, box.change.b].map((share) =>
                (100 * share).toFixed(2)).concat(ctopPage.colours.ofBox(box).split(' ')[1] !== '0');
            waiting.push(...box.children);
        }
        return found;
    });"""


def compared(where, a, b, *options):
    """The page, and what the text has beside it."""
    path = os.path.join(where, "diff.html")
    text = ctop_ok("diff", a, b, *EVERYTHING, *options, "--html", path).stdout
    return path, text


def two(where):
    return (made(where, "a", {"hot": 4000, "warm": 3000, "cool": 2990, "gone": 300, "rare": 5, "old.constprop.0": 500, "moved": 400},
                 modules={"moved": "/usr/lib/libold.so"}, facts={"hostname": "alpha"}),
            made(where, "b", {"hot": 5000, "warm": 3000, "cool": 1990, "fresh": 300, "rare": 8, "old": 500, "moved": 400},
                 modules={"moved": "/usr/lib/libnew.so"}, facts={"hostname": "beta"}))


def check_functions(path, text, what):
    columns = "self-a", "self-b", "change", "noise", "total-change", "total-noise"
    found = use(path, FUNCTIONS)
    theirs = {row["name"][1]: tuple(row[column][0] for column in columns) for row in found}
    ours = {name: row[:6] for name, row in rows(text).items()}
    check(theirs == ours and len(ours) > 5, f"{what}: {theirs} instead of {ours}")
    return {row["name"][1]: row["note"][0] for row in found}


@case
def its_figures_are_those_of_the_text():
    with directory() as where:
        a, b = two(where)
        path, text = compared(where, a, b)
        notes = check_functions(path, text, "shares")
        check({name: note for name, note in notes.items() if note} == {
            "gone": "only in A", "fresh": "only in B", "old": "in A old.constprop.0", "moved": "in A in libold.so"}, f"{notes}")
        check_functions(*compared(where, f"{a},{a}", f"{b},{b}"), "several runs")
        check_functions(*compared(where, a, b, "--per", "run"), "by the run")
        page = use(path, """
            await page.keyboard.press('i');
            return Object.fromEntries(await Promise.all(['command', 'quality-summary', 'quality-lines', 'measured-a', 'measured-b']
                .map(async (id) => [id, await page.locator('#' + id).textContent()])));""")
        header = re.search(r"^functions +(.*)$", text, re.M).group(1)
        check(header in page["quality-lines"] and a in page["quality-lines"] and b in page["command"], f"{page}")
        check("4 of 9 functions differ" in page["quality-summary"] and "1 only in A" in page["quality-summary"], f"{page}")
        check("hostalpha" in page["measured-a"] and "eventcpu-clock" in page["measured-b"] and "hostbeta" in page["measured-b"], f"{page}")


@case
def both_shapes_have_the_paths_of_their_side():
    with directory() as where:
        a, b = two(where)
        path, _ = compared(where, a, b)
        tree = ctop_ok("diff", a, b, "--tree", "--min-percent", 0).stdout
        ours = {("main;" if name != "main" else "") + name: [of_a, of_b, not change.endswith("~")]
                for of_a, of_b, change, name in re.findall(r"^ *([\d.]+) +([\d.]+) +(\S+) +\S+ +(\w+)", tree, re.M)}
        shapes = [use(path, f"await page.click('#shape-{side}');{TREE}") for side in "ba"]
        for shape, missing in zip(shapes, ("main;gone", "main;fresh")):
            check(shape.pop("") == ["100.00", "100.00", False], "all of it")
            check(shape == {name: row for name, row in ours.items() if name != missing}, f"{shape} instead of {ours}")
        picked = use(path, """
            const box = await page.locator('#flame canvas').boundingBox();
            await page.mouse.move(box.x + 20, box.y + 50);
            const tooltip = await page.locator('#tooltip').textContent();
            await page.mouse.click(box.x + 20, box.y + 50);
            await page.keyboard.press('s');
            const zoomed = await page.evaluate(() => ctopPage.flame.zoomed.path.length);
            return [tooltip, zoomed, await page.locator('#detail h2 strong').textContent()];""")
        check(picked[0].startswith("hotprogtotal A") and picked[1:] == [2, "hot"], f"{picked}")


@case
def hostile_names_do_nothing():
    hostile = exporting.hostile().path
    with directory() as where:
        fine = made(where, "fine", {name if isinstance(name, str) else name.decode("latin-1"): 1000 for name in HOSTILE})
        evil = os.path.join(where, "<img src=x onerror=alert(1)>.ctop")
        os.rename(fine, evil)
        path, _ = compared(where, hostile, evil)
        with open(path, "rb") as file:
            content = file.read()
        check(b"\x1b" not in content and b"'taken'" not in content and b"onerror" not in content, "a name stands in the page as it is")
        found = use(path, """
            for (const key of ['s', 'o', 'i', '?'])
                await page.keyboard.press(key);
            await page.keyboard.press('Escape');
            await page.keyboard.press('1');
            await page.click('#functions tbody tr');
            await page.fill('#search', '<');
            const names = (await rows('functions')).map((row) => row.name[1]);
            return {names, title: await page.title(), tags: await page.$$eval('main *, header *',
                (all) => [...new Set(all.map((one) => one.localName))])};""")
        wanted = {name for name in HOSTILE if isinstance(name, str) and "<" in name}
        check(set(found["names"]) == wanted and not {"img", "script", "b", "iframe"} & set(found["tags"]), f"{found}")
        check("<img src=x onerror=alert(1)>.ctop" in found["title"], f"{found['title']}")


@case
def it_is_whole_or_absent():
    with directory() as where:
        a, b = two(where)
        for input_file in a, b:
            check_refused(ctop("diff", a, b, "--html", input_file), 2, "is the recording being read")
        check_refused(ctop("diff", a, b, "--html", "/dev/full"), 1, "/dev/full")
        missing = os.path.join(where, "none", "x.html")
        check_refused(ctop("diff", a, b, "--html", missing), 1, missing)
        path = os.path.join(where, "kept.html")
        check_refused(ctop("diff", a, b, "--html", "-"), 2, "both go to standard output", "--html FILE")
        check_refused(ctop("diff", a, b, "--html", path, "-o", path), 2, "both go to")
        check(ctop("diff", a, b, "--html", "-", "-o", path).stdout.startswith("<!doctype html>"), "the page alone")
        os.unlink(path)
        check(ctop("diff", a, b, "--fail-above", 1, "--html", path).returncode == 1 and os.path.getsize(path) > 10000, "it is kept")


main()
