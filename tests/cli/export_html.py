#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export html` and `ctop record --html`: the page, used in a browser by clicks and keys, beside ctop's report."""

import os
import re

import exporting
from browser import use
from exporting import Costs, check_costs, export, module_of, profiles, total
from harness import BUILD, case, check, check_refused, ctop, ctop_ok, directory, main
from inlined_program import built, hottest_lines, plain, recorded
from made_recording import NANOSECONDS, MadeRecording

READ_ALL = """
    const events = await page.$$eval('#event option', (all) => all.map((option) => [option.value, option.textContent]));
    await page.keyboard.press('1');
    const found = {};
    for (const [value, name] of events) {
        if (events.length > 1)
            await choose('event', value);
        found[name] = {weight: await shown(), rows: await rows('functions')};
    }
    return found;"""


def weight_of(title):
    return int(re.sub(r"\D", "", title))


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        found = use(export("html", profile), READ_ALL)
        check(set(profile.events) <= set(found), f"{profile.name}: {list(found)}")
        for event in profile.events:
            costs = Costs()
            costs.weight = found[event]["weight"]
            for row in found[event]["rows"]:
                function = row["name"][1], module_of(row["module"][1])
                costs.selfs[function] += weight_of(row["self-weight"][1])
                costs.totals[function] += weight_of(row["total-weight"][1])
            check_costs("html", costs, profile, event)


@case
def computing_waiting_or_both():
    """What is chosen among events: a thread of both is one row, and computing is nowhere twice."""
    found = use(export("html", exporting.waiting()), """
        const found = {};
        for (const [value, name] of await page.$$eval('#event option', (all) => all.map((one) => [one.value, one.textContent]))) {
            await choose('event', value);
            await page.click('#view-threads');
            const threads = Object.fromEntries((await rows('threads')).map((row) => [row.name[0], number(row['total-weight'][1])]));
            await page.click('#threads tr:has-text("second")');
            found[name] = {threads, second: await shown()};
            await choose('thread', '');
            found[name].all = await shown();
        }
        return found;""")
    ms = {name: {key: {thread: ns / 1e6 for thread, ns in value.items()} if key == "threads" else value / 1e6
                 for key, value in each.items()} for name, each in found.items()}
    check(ms == {"cpu-clock": {"threads": {"server [100]": 100, "second [101]": 100}, "second": 100, "all": 200},
                 "wait": {"threads": {"server [100]": 250, "second [101]": 290, "idle [102]": 400}, "second": 290, "all": 940},
                 "wall": {"threads": {"server [100]": 350, "second [101]": 390, "idle [102]": 400}, "second": 390, "all": 1140}},
          f"{ms}")


@case
def functions_have_their_hottest_lines():
    with directory() as where:
        program = built(where, "program")
        path = recorded(where, program)
        shown = use(export("html", exporting.Profile("lines", path, ["cpu-clock:u"])), """
            const shown = [];
            await page.keyboard.press('1');
            for (const row of await page.locator('#functions tbody tr').all()) {
                await row.click();
                shown.push(await page.$$eval('#detail h2 > *', (all) => all.map((part) => part.textContent)));
            }
            return shown;""")
        found = {plain(name.removesuffix(" (inlined)")): place for name, module, *place in shown if module == program}
        wanted = {function: [f"hottest at {where}/work.cpp:{line}"] for function, line in hottest_lines(path, program).items()}
        check(len(wanted) >= 4 and wanted.items() <= found.items(), f"{found}, not {wanted}")


@case
def it_is_used_by_clicks_and_keys():
    profile = exporting.made()
    path = profile.path
    found = use(export("html", profile), """
        const found = {};
        const text = (id) => page.locator('#' + id).textContent();
        const canvas = await page.locator('#flame canvas').boundingBox();
        const at = (x, row) => [canvas.x + x * canvas.width, canvas.y + row * 20 + 10];
        await page.mouse.move(...at(0.2, 1));
        found.tooltip = await text('tooltip');
        await page.mouse.click(...at(0.2, 2));
        found.zoomed = await text('detail');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        await page.keyboard.press('ArrowDown');
        found.below = await page.locator('#detail h2 strong').textContent();
        await page.keyboard.press('/');
        await page.keyboard.type('vfs');
        found.search = await text('found');
        await page.keyboard.press('Escape');
        await page.keyboard.press('3');
        await page.keyboard.press('ArrowDown');
        found.leaf = await page.locator('#detail h2 strong').textContent();
        await page.keyboard.press('3');
        await page.click('#view-functions');
        await page.click('#functions tr:has-text("work(int)")');
        await page.keyboard.press('4');
        found.callers = await page.$$eval('#detail .callers .row', (all) => all.map((row) => row.title));
        found.callees = await page.$$eval('#detail .callees .row', (all) => all.map((row) => row.title));
        await page.click('#view-threads');
        await page.click('#threads tr:has-text("worker")');
        found.worker = await shown();
        await page.click('#reset');
        found.all = await shown();
        await drag(0.25, 0.75);
        found.range = await shown();
        found.seconds = await page.evaluate(() => [ctopPage.strip.from, ctopPage.strip.to].map((slice) =>
            slice * ctopPage.profile.slices.lengthNs / 1e9));
        await page.keyboard.press('e');
        found.others = await shown();
        found.faults = await text('quality-lines');
        await page.keyboard.press('r');
        await page.keyboard.press('i');
        found.header = await text('quality-lines');
        return found;""")
    whole = total(path, "cpu-clock")
    check(found["all"] == whole, f"{found['all']}, not {whole}")
    check(found["worker"] == total(path, "cpu-clock", "--tid", "101"), f"{found['worker']}")
    part = ["--from", found["seconds"][0], "--to", found["seconds"][1]]
    check(0.4 < found["range"] / whole < 0.6 and found["range"] == total(path, "cpu-clock", *part), f"{found}")
    check(found["others"] == total(path, "page-faults", *part), f"{found['others']}")
    vfs = 67 * 1000001  # samples and their weight
    check(found["search"] == f"{100 * vfs / whole:.2f} % in 1 function", f"{found['search']}")
    check(found["tooltip"].startswith("main/usr/bin/program") and "samples400, of its own 0" in found["tooltip"], f"{found['tooltip']}")
    check(found["zoomed"].startswith("work(int)") and "of its parent100.00 %" in found["zoomed"], f"{found['zoomed']}")
    check(found["below"] == "main" and found["leaf"] == "work(int)", f"{found['below']}, {found['leaf']}")
    check([row.partition(":")[0] for row in found["callers"]] == ["work(int)"], f"{found['callers']}")
    check([row.partition(":")[0] for row in found["callees"]] == ["[itself]"], f"{found['callees']}")
    check("eventpage-faults" in found["faults"] and "as precise as" not in found["faults"], f"{found['faults']}")
    check("eventcpu-clock" in found["header"] and "534 samples" in found["header"], f"{found['header']}")


@case
def hostile_names_do_nothing():
    path = export("html", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"'taken'" not in content and b"onerror" not in content, "a name stands in the page as it is")
    found = use(path, """
        for (const key of ['1', '4', '6', '5', '3', 'i', '?'])
            await page.keyboard.press(key);
        await page.keyboard.press('Escape');
        await page.keyboard.press('1');
        await page.fill('#search', '<');
        const names = (await rows('functions')).map((row) => row.name[1]);
        return {names, title: await page.title(), tags: await page.$$eval('main *, header *',
            (all) => [...new Set(all.map((one) => one.localName))])};""")
    check(sorted(found["names"]) == sorted(name for name in exporting.HOSTILE if isinstance(name, str) and "<" in name), f"{found}")
    check(found["title"] == f"{exporting.HOSTILE[1]} \u2013 ctop", f"{found['title']}")
    check(not {"img", "script", "b", "iframe"} & set(found["tags"]), f"{found['tags']}")


@case
def its_policy_lets_nothing_in_or_out():
    blocked = use(export("html", exporting.made()), """
        return page.evaluate(async () => {
            const violations = new Set();
            document.addEventListener('securitypolicyviolation', (event) => violations.add(event.effectiveDirective));
            document.body.insertAdjacentHTML('beforeend', '<img src="https://127.0.0.1:9/x"><b style="color: red">b</b>');
            const script = document.createElement('script');
            script.textContent = 'document.title = "taken"';
            document.body.append(script);
            await fetch('https://127.0.0.1:9/y').catch(() => 0);
            while (violations.size < 4)
                await new Promise((resolve) => setTimeout(resolve, 10));
            return [document.title, ...[...violations].sort()];
        });""", refused=True)
    check(blocked[1:] == ["connect-src", "img-src", "script-src-elem", "style-src-attr"] and "taken" not in blocked[0], f"{blocked}")


@case
def a_module_without_a_name_is_said_to_be_unknown():
    recording = MadeRecording()
    clock, task = recording.event("cpu-clock", NANOSECONDS, period=1000000), recording.task(100, 100, "bare")
    recording.sample(1, task, [recording.frame(recording.module(b""), 16, "")], clock, 1000000)
    path = recording.write(os.path.join(exporting.where(), "bare.ctop"))
    lines = use(export("html", exporting.Profile("bare", path, ["cpu-clock"])), """
        await page.keyboard.press('i');
        return page.locator('#quality-lines').textContent();""")
    check("100.00% of [unknown]: " in lines, lines)


@case
def what_is_zoomed_to_stays_where_it_was():
    recording = MadeRecording()
    clock = recording.event("cpu-clock", NANOSECONDS, period=1000000)
    program, task = recording.module("/bin/prog"), recording.task(100, 100, "deep")
    recording.sample(1, task, [recording.frame(program, 16 * i, f"f{i}") for i in range(100)], clock, 1000000)
    path = recording.write(os.path.join(exporting.where(), "deep.ctop"))
    found = use(export("html", exporting.Profile("deep", path, ["cpu-clock"])), """
        const flame = page.locator('#flame');
        const canvas = await flame.locator('canvas').boundingBox();
        const click = (y) => page.mouse.click(canvas.x + 200, canvas.y + y);
        const top = () => flame.evaluate((host) => host.scrollTop);
        const name = () => page.locator('#detail h2 strong').textContent();
        const found = {};
        await flame.evaluate((host) => { host.scrollTop = 1000; });
        await click(110);
        found.zoomed = [await top(), await name()];
        await click(130);
        found.inwards = [await top(), await name()];
        await page.keyboard.press('/');
        await page.keyboard.type('f9');
        found.searched = await top();
        await page.keyboard.press('Escape');
        await page.keyboard.press('/');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        found.out = [await top(), await name()];
        await page.click('#reset');
        found.reset = await top();
        await page.keyboard.press('o');
        found.ground = [await top(), await flame.evaluate((host) => host.scrollHeight - host.clientHeight)];
        await page.setViewportSize({width: 1280, height: 1200});
        await page.waitForFunction(() => document.querySelector('#flame canvas').clientHeight ===
            document.getElementById('flame').clientHeight);
        return found;""")
    check(found["zoomed"] == [1000, "f54"] and found["inwards"] == [1000, "f55"] and found["searched"] == 1000, f"{found}")
    check(found["out"] == [1000, "f54"], f"Escape in an empty field leaves the field alone: {found}")
    check(found["reset"] == 0 and found["ground"][0] == found["ground"][1] > 0, f"{found}")


@case
def it_says_what_it_shows():
    path = export("html", exporting.made())
    found = use(path, """
        const found = {};
        await page.keyboard.press('ArrowDown');
        found.said = await page.locator('#said[role=status]').textContent();
        await drag(0.25, 0.75);
        const slider = page.getByRole('slider');
        found.slider = [await slider.getAttribute('aria-valuetext'), await page.locator('#range').textContent()];
        await page.keyboard.press('?');
        found.help = await page.evaluate(() => document.activeElement.id);
        await page.keyboard.press('Enter');
        found.closed = await page.locator('#help-box').isHidden();
        found.detail = await page.locator('#detail').textContent();
        await page.setViewportSize({width: 360, height: 740});
        found.modules = await page.locator('#legend').evaluate((legend) => legend.querySelector('.module').clientWidth > 0 &&
            legend.scrollHeight <= legend.clientHeight);
        return found;""")
    check(re.fullmatch(r"main: total \d+\.\d\d %, self 0\.00 %", found["said"]), f"{found}")
    check(found["slider"][0] == found["slider"][1], f"{found}")
    check(found["help"] == "help-close" and found["closed"] and found["modules"], f"{found}")
    check(re.search(r"total\d+\.\d+ \w+, \d+\.\d\d % of all", found["detail"]) and "callees, of its total" in found["detail"], f"{found}")


@case
def it_fits_phones_and_paper():
    path = export("html", exporting.threads())
    for width, theme in (360, "light"), (1280, "dark"):
        found = use(path, """
            const wide = async () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            const found = {};
            for (const key of ['5', '1', '4', '6']) {
                await page.keyboard.press(key);
                found[key] = await wide();
            }
            found.paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
            await page.keyboard.press('5');
            found.printed = (await page.pdf({format: 'A4'})).length;
            found.after = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
            return found;""", viewport={"width": width, "height": 740}, colorScheme=theme)
        check(all(found[key] <= 0 for key in "1456"), f"{width}: wider than the screen: {found}")
        check(found["paper"] == found["after"] == ("rgb(255, 255, 255)" if theme == "light" else "rgb(20, 23, 28)"), f"{found}")
        check(found["printed"] > 5000, f"{found}")


@case
def record_writes_it_in_one_step():
    with directory() as where:
        recording, page = os.path.join(where, "x.ctop"), os.path.join(where, "x.html")
        spin = os.path.join(BUILD, "workloads", "spin")
        result = ctop("record", "-e", "cpu-clock", "-o", recording, "--html", page, "--", "sh", "-c", '"$0" 0.3; exit 7', spin)
        check(result.returncode == 7 and f"{page} shows it in a browser" in result.stderr, f"{result}")
        again = os.path.join(where, "again.html")
        ctop_ok("export", "html", recording, "-o", again)
        with open(page, "rb") as one, open(again, "rb") as other:
            check(one.read() == other.read(), "not what ctop export writes")
        check_refused(ctop("record", "-o", "-", "--html", page, "--", "true"), 2, "--html", "-o FILE")


main()
