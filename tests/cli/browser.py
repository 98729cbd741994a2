# SPDX-License-Identifier: MIT
"""Pages used in a browser by clicks and keys."""

import json
import os
import re

from exporting import npm_package
from harness import check, need_program, run

# What each script may use beside the page: all that went wrong or out, the numbers in a table's titles, and a drag over time.
DRIVER = r"""
const {chromium} = require(process.argv[1]);
(async () => {
  const browser = await chromium.launch({executablePath: process.argv[2], args: ['--no-sandbox', '--disable-gpu']});
  const page = await browser.newPage({viewport: {width: 1280, height: 800}, ...JSON.parse(process.argv[5])});
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(String(error.stack)));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  const place = new URL(process.argv[3]);
  const isAllowed = (url) => url.protocol === place.protocol && url.host === place.host;
  page.on('request', (request) => isAllowed(new URL(request.url())) || wrong.push('asked for ' + request.url()));
  page.on('dialog', (dialog) => { wrong.push('a dialog'); dialog.dismiss(); });
  await page.goto(process.argv[3], {timeout: 120000});
  await page.waitForSelector('#page:not([hidden])', {timeout: 120000});
  const number = (text) => Number(text.replace(/[^\d]/g, ''));
  const rows = async (table) => {
    while (await page.locator(`#${table} .more`).count())
      await page.locator(`#${table} .more`).click();
    return page.$$eval(`#${table} tbody tr`, (all) => all.map((row) => Object.fromEntries([...row.cells].map((cell) => {
      const span = cell.querySelector('span:not(.bar)');
      return [cell.classList[0], [span.textContent, span.title]];
    }))));
  };
  const choose = (what, value) => page.selectOption('#' + what, value);
  const shown = async () => number((await page.locator('#quality-summary .chip').first().getAttribute('title')));
  const drag = async (from, to) => {
    const box = await page.locator('#strip').boundingBox();
    await page.mouse.move(box.x + from * box.width, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + to * box.width, box.y + 10, {steps: 3});
    await page.mouse.up();
  };
  const result = await (new Function('page', 'rows', 'number', 'choose', 'shown', 'drag',
    `return (async () => {${process.argv[4]}})()`))(page, rows, number, choose, shown, drag);
  console.log(JSON.stringify({result, wrong}));
  await browser.close();
})().catch((error) => { console.error(error); process.exit(1); });
"""


def use(page, script, refused=False, **options):
    """What a script returns that uses the page, a file or an address. refused: the browser says of something that it is not allowed."""
    path = page if page.startswith("http:") else f"file://{os.path.abspath(page)}"
    result = run(need_program("node"), "-e", DRIVER, npm_package("playwright-core"), need_program("chromium"), path,
                 script, json.dumps(options))
    check(result.returncode == 0, f"{path}: {result.stderr[-2000:]}")
    answer = json.loads(result.stdout)
    wrong = [what for what in answer["wrong"] if not (refused and re.search("Content Security Policy|^asked for", what))]
    check(not wrong, f"{path}: {wrong[:3]}")
    return answer["result"]
