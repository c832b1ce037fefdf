#!/usr/bin/env python3
"""The page of runs in headless Chromium: charts, zoom, search, clicks, keys, colours, names with HTML, no network.

    tests/cli/report_page.py PATH_OF_VICINAL
    tests/cli/report_page.py PATH_OF_VICINAL --large 182   the size and the first chart of Cholesky of so many tiles

Exit status 0 if all is well, 77 if there is no browser; every failure is printed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from browser import Browser, missing
from vicinal import VICINAL, check, expect_refusal, finish, run

JOB = ["simulate", "cholesky", "--machine", "v100", "--gpus", "2", "--memory", "60MiB", "--tiles", "12"]
EVIL = '<img src=x onerror="window.hacked=1">'
RANGE = "document.getElementById('range').textContent"
TITLE = "(document.querySelector('#explanation h3') || {textContent: ''}).textContent"


def made(*arguments):
    result = run(*arguments)
    check(result.returncode == 0, f"{' '.join(arguments)}: {result.stderr}")
    return result


def complaints(browser):
    # That this test looks at pixels is not the page's fault.
    return [text for text in browser.log() if "willReadFrequently" not in text]


def opened(browser, page, what):
    """The page has been read whole, without a complaint of the browser and without a request but for itself."""
    check(browser.open(page), f"{what}: has not been read whole")
    log = complaints(browser)
    check(not log, f"{what}: the console says {log}")
    asked = [url for url in browser.requests() if not url.startswith(("data:", "blob:")) and url != "file://" + page]
    check(not asked, f"{what}: asked for {asked}")


def colours(browser, selector):
    """How many colours the canvas has: one that was not drawn has one."""
    return browser.run(f"""
        const canvas = document.querySelector({json.dumps(selector)});
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(data.buffer)).size;""")


def box(browser, selector="canvas.gantt"):
    browser.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
    return browser.run(f"const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                       "return {x: b.x, y: b.y, width: b.width, height: b.height};")


def settled(browser):
    browser.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))));")


def test_charts(browser):
    check(colours(browser, "canvas.gantt") > 4, "the Gantt chart is drawn")
    charts = browser.run("return [...document.querySelectorAll('.chart figcaption strong')].map((e) => e.textContent)")
    for part in ("Memory", "Links", "Ready tasks", "Idle workers"):
        check(any(part in title for title in charts), f"no chart of {part}: {charts}")
    drawn = browser.run("""return [...document.querySelectorAll('.chart canvas')].map((canvas) => new Set(new Uint32Array(
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size);""")
    check(len(drawn) == len(charts) and min(drawn) > 3, f"charts are drawn: {drawn}")
    check(colours(browser, "#matrix canvas") > 4, "the tiles of the matrix are drawn")
    # Results that come home are no step: of 12 x 12 tiles each is written 12 times at most, the last in the last step.
    steps = browser.run("return document.querySelector('#matrix .toolbar').textContent")
    check("of 12" in steps, f"steps of the matrix: {steps}")
    sections = browser.run("return [...document.querySelectorAll('main section')].map((e) => e.id)")
    for part in ("result", "timeline", "idle", "path", "advice", "codelets", "links", "data", "matrix"):
        check(part in sections, f"no part {part}: {sections}")
    text = browser.run("return document.getElementById('result').textContent")
    for part in ("its bound", "vicinal simulate cholesky", "darts", "60"):
        check(part in text, f"the result does not say {part}: {text}")
    check(browser.run("return document.querySelectorAll('#advice li').length") > 0, "advice")
    verdict = browser.run("return document.querySelector('#verdict p.verdict').textContent")
    check(verdict.endswith(".") and "bind" in verdict, f"what binds stands at the head: {verdict}")
    legend = browser.run("return [...document.querySelectorAll('#timeline ul[aria-label] li')].map((e) => e.textContent)")
    check("data" in legend, f"the causes of idle times have their legend beside them: {legend}")
    check("rounded" not in browser.run("return document.getElementById('result').textContent"), "rounded times are no news")


def test_zoom(browser):
    whole = browser.run(f"return {RANGE}")
    where = box(browser)
    x, y = where["x"] + 128, where["y"] + 40
    browser.mouse(("move", x + 100, y), "down", ("move", x + 150, y), ("move", x + 200, y), "up")
    settled(browser)
    dragged = browser.run(f"return {RANGE}")
    check(dragged != whole, "a drag zooms")
    before = browser.run("return scrollY")
    browser.run("document.querySelector('canvas.gantt').focus()")
    browser.wheel(x + 100, y, -200)
    settled(browser)
    check(browser.run(f"return {RANGE}") != dragged, "the wheel zooms")
    check(browser.run("return scrollY") == before, "the wheel does not scroll then")
    browser.press("0")
    settled(browser)
    check(browser.run(f"return {RANGE}") == whole, "0 shows all")
    browser.press("+")
    settled(browser)
    zoomed = browser.run(f"return {RANGE}")
    check(zoomed != whole, "+ zooms in")
    browser.press("-")
    settled(browser)
    check(browser.run(f"return {RANGE}") == whole, "- zooms out")
    browser.click('button[aria-label="Zoom in"]')
    settled(browser)
    check(browser.run(f"return {RANGE}") == zoomed, "a button zooms")
    browser.click('button[aria-label="Show all"]')
    settled(browser)


def test_click(browser):
    where = box(browser)
    found = False
    for step in range(40):  # somewhere in the row of the first GPU is a task
        browser.mouse(("move", where["x"] + 140 + 15 * step, where["y"] + 38), "down", "up")
        if "gemm" in browser.run(f"return {TITLE}") or "trsm" in browser.run(f"return {TITLE}"):
            found = True
            break
    check(found, "a click explains a task")
    text = browser.run("return document.getElementById('explanation').textContent")
    for part in ("It ran on", "It was submitted at", "reads", "It is task"):
        check(part in text, f"the explanation does not say {part}: {text}")
    browser.run("[...document.querySelectorAll('#explanation .ref')].find((e) => /^A\\d+_\\d+$/.test(e.textContent)).click()")
    text = browser.run("return document.getElementById('explanation').textContent")
    check("It was copied" in text, f"a datum of an explanation is explained: {text}")
    address = browser.run("return location.hash")
    check(address.startswith("#datum=1:"), f"what is chosen is in the address: {address}")


def test_search(browser):
    browser.run("document.activeElement.blur()")
    browser.press("/")
    check(browser.run("return document.activeElement.id") == "search", "/ goes to the search")
    plain = browser.run(f"return {RANGE}")
    browser.type("#search", "17")
    check(browser.run("return document.querySelectorAll('#found li').length") > 0, "something is found")
    browser.press("Enter")
    settled(browser)
    check(browser.run(f"return {TITLE}") != "", "what was found is explained")
    check(browser.run(f"return {RANGE}") != plain, "and zoomed to")
    browser.run("document.querySelector('button[aria-label=\"Show all\"]').click()")
    browser.run("document.getElementById('search').value = ''")
    browser.type("#search", "gemm", "Enter")
    settled(browser)
    few = colours(browser, "canvas.gantt")
    browser.press("Escape")
    settled(browser)
    check(colours(browser, "canvas.gantt") != few, "what is not sought is pale until Escape")
    browser.run("document.getElementById('search').value = ''")
    browser.type("#search", "no such thing")
    check("Nothing" in browser.run("return document.getElementById('found').textContent"), "nothing is found")
    browser.press("Escape")


def test_keys(browser):
    browser.run("document.querySelector('.skip').focus(); scrollTo(0, 0)")
    reached = []
    for _ in range(40):
        browser.press("Tab")
        reached.append(browser.run("return document.activeElement.id || document.activeElement.className || document.activeElement.tagName"))
    for part in ("theme", "search", "gantt", "explanation"):
        check(part in reached, f"Tab does not reach {part}: {reached}")
    browser.run("document.querySelector('canvas.gantt').focus()")
    check(browser.run("return document.querySelector('canvas.gantt').matches(':focus-visible')"), "the focus is visible")
    browser.press("Right", "Right", "Enter")
    first = browser.run(f"return {TITLE}")
    check(first != "", "Enter explains what the arrows went to")
    browser.press("Down", "Enter")
    check(browser.run(f"return {TITLE}") != first, "arrows go to another row")
    check(browser.run("return document.getElementById('spoken').textContent") != "", "it is told to who does not see it")
    browser.click(".path-toggle")
    check(browser.run("return document.querySelector('.path-toggle').getAttribute('aria-pressed')") == "true",
          "the critical path is highlighted")
    browser.click(".path-toggle")


def test_colours(browser):
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "return getComputedStyle(document.body).color"
    light = browser.run(ground)
    browser.prefer("dark")
    settled(browser)
    check(browser.run(ground) != light, "dark where the system is dark")
    dark = browser.run(ground)
    check(sum(map(int, browser.run(ink)[4:-1].split(","))) > 500, "the text is light there")
    browser.click("#theme")
    settled(browser)
    check(browser.run(ground) == light, "the button changes it")
    browser.prefer("light")
    browser.click("#theme")
    check(browser.run(ground) == dark, "and back")
    browser.click("#theme")


def test_widths(browser, page):
    """In three widths and both colours: no wider than the window, a name for each control, table and picture."""
    for width in (390, 900, 1680):
        browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            opened(browser, page, f"{width} pixels, {scheme}")
            what = f"{os.path.basename(page)}, {width} pixels, {scheme}"
            is_wide = browser.run("return document.documentElement.scrollWidth")
            check(is_wide <= width, f"{what}: no wider than the window: {is_wide}")
            check(not browser.unnamed(), f"{what}: without a name: {browser.unnamed()}")
    browser.prefer("light")
    browser.devtools("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)


def test_narrow(browser):
    browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=False)
    settled(browser)
    width = browser.run("return document.documentElement.scrollWidth")
    check(width <= 390, f"no wider than a narrow window: {width}")
    check(colours(browser, "canvas.gantt") > 4, "the Gantt chart is drawn there, too")
    browser.devtools("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    settled(browser)


def test_recording(browser, folder):
    trace, page = os.path.join(folder, "darts.vtrace"), os.path.join(folder, "darts.html")
    made(*JOB, "--policy", "darts", "--trace", trace, "--trace-events", "all")
    made("report", trace, "-o", page)
    opened(browser, page, "a recording")
    test_charts(browser)
    test_zoom(browser)
    test_click(browser)
    test_search(browser)
    test_keys(browser)
    test_colours(browser)
    test_narrow(browser)
    log = complaints(browser)
    check(not log, f"after all that the console says {log}")
    check(browser.open(page + "#task=1:17"), "a page with a task in its address")
    check(browser.run("return location.hash") == "#task=1:17" and "17" in browser.run(f"return {TITLE}"),
          f"the task of the address is explained: {browser.run(f'return {TITLE}')}")
    test_widths(browser, page)


def test_comparison(browser, folder):
    other, page = os.path.join(folder, "dmdas.vtrace"), os.path.join(folder, "two.html")
    made(*JOB, "--policy", "dmdas", "--trace", other)
    made("report", os.path.join(folder, "darts.vtrace"), other, "-o", page)
    opened(browser, page, "two recordings")
    check(browser.run("return document.querySelectorAll('canvas.gantt').length") == 2, "a Gantt chart of each")
    text = browser.run("return document.getElementById('difference').textContent")
    for part in ("darts.vtrace", "dmdas.vtrace", "policy", "evictions", "time"):
        check(part in text, f"the difference does not say {part}: {text}")
    verdict = browser.run("return document.querySelector('#verdict p.verdict').textContent")
    check("dmdas.vtrace is " in verdict and "policy dmdas instead of darts" in verdict, f"what differs: {verdict}")
    rows = browser.run("""return [...document.querySelectorAll('#difference table')].slice(1).map((table) => [
        ...table.querySelectorAll('tbody tr')].map((row) => row.classList.contains('small')));""")
    check(len(rows) == 2 and all(row == sorted(row) for row in rows) and any(map(any, rows)),
          f"what is small is grey and comes last: {rows}")
    browser.run("const e = document.getElementById('align'); e.value = 'start'; e.dispatchEvent(new Event('change'))")
    settled(browser)
    check(colours(browser, "canvas.gantt") > 4, "aligned otherwise, it is drawn again")
    test_widths(browser, page)


def test_names(browser, folder):
    graph = os.path.join(folder, "graph.json")
    evil = EVIL + "</script><script>window.hacked=2</script>"
    with open(graph, "w", encoding="utf-8") as file:
        json.dump({"format": "vicinal-graph-1", "name": evil,
                   "data": {f"{evil}({i},{j})": {"bytes": 1 << 20, "home": "ram"} for i in range(2) for j in range(2)},
                   "kernels": {evil: {"seconds": {"gpu": 0.001}}},
                   "tasks": [{"kernel": evil, "name": evil + str(k), "accesses": [[f"{evil}({k % 2},{k // 2 % 2})", "RW"]]}
                             for k in range(8)]}, file)
    trace, page = os.path.join(folder, "names.vtrace"), os.path.join(folder, "names.html")
    made("simulate", "--graph", graph, "--machine", "v100", "--policy", "eager", "--trace", trace, "--report", page)
    opened(browser, page, "names with HTML")
    browser.type("#search", "3", "Enter")
    settled(browser)
    check(EVIL in browser.run(f"return {TITLE}"), f"a name is shown as text: {browser.run(f'return {TITLE}')}")
    check(browser.run("return document.querySelectorAll('img').length") == 0, "no name becomes an element")
    check(browser.run("return typeof window.hacked") == "undefined", "no name is run")
    check(EVIL in browser.run("return document.getElementById('codelets').textContent"), "in tables, too")


def test_without_recording(browser, folder):
    page = os.path.join(folder, "policies.html")
    made(*JOB, "--policy", "all", "--report", page)
    opened(browser, page, "a ranking")
    rows = browser.run("return document.querySelectorAll('#policies tbody tr').length")
    check(rows >= 15, f"a row for each policy: {rows}")
    check(colours(browser, "#policies canvas") > 3, "time over bytes is drawn")
    first = "return document.querySelector('#policies tbody td').textContent"
    before = browser.run(first)
    browser.run("document.querySelectorAll('#policies th button')[1].click()")
    check(browser.run(first) != before, "a head sorts")
    test_widths(browser, page)
    page = os.path.join(folder, "bounds.html")
    made("bounds", "cholesky", "--tiles", "12", "--report", page)
    opened(browser, page, "bounds")
    check("No schedule is faster" in browser.run("return document.getElementById('bounds').textContent"), "bounds are shown")
    test_widths(browser, page)


def test_refusals(folder):
    expect_refusal(run("report", os.path.join(folder, "none.vtrace"), "-o", os.path.join(folder, "x.html")), 2,
                   ["none.vtrace"], "a recording that is not there")
    expect_refusal(run("report", "a", "b", "c", "-o", "x.html"), 2, ["cannot read the recording", "\"a\""], "three recordings")
    expect_refusal(run("report", "a"), 2, ["-o"], "no place for the page")
    expect_refusal(run("report", "a", "-o", os.path.join(folder, "none", "x.html")), 2, ["-o"], "a folder that is not there")
    expect_refusal(run(*JOB, "--report", "-", "--json", "-"), 2, ["--report"], "both to the output")


def measure_large(browser, folder, tiles):
    trace, page = os.path.join(folder, "large.vtrace"), os.path.join(folder, "large.html")
    # Longer than the other commands are given.
    begin = time.monotonic()
    job = ["simulate", "cholesky", "--machine", "v100", "--gpus", "4", "--memory", "4GiB", "--vary", "20", "--tiles", tiles, "--policy", "dmdas", "--trace", trace,
           "--trace-events", "tasks,transfers,memory,scheduler,submission"]
    subprocess.run([VICINAL, *job], check=True, stdout=subprocess.DEVNULL)
    recorded = time.monotonic()
    subprocess.run([VICINAL, "report", trace, "-o", page], check=True)
    print(f"recorded in {recorded - begin:.1f} s, {os.path.getsize(trace) / 1e6:.1f} MB; page in {time.monotonic() - recorded:.1f} s")
    opened(browser, page, "a large recording")
    marks = dict(browser.run("return performance.getEntriesByType('mark').map((one) => [one.name, one.startTime])"))
    size = os.path.getsize(page) / 1e6
    print(f"page {size:.2f} MB, first chart after {marks['first-chart'] / 1000:.2f} s, all after {marks['complete'] / 1000:.2f} s")
    print(browser.run("return document.getElementById('lead').textContent"))
    check(size < 30, f"the page has {size:.2f} MB, more than 30")
    check(marks["first-chart"] < 5000, "the first chart takes more than 5 s")


if __name__ == "__main__":
    lacks = missing()
    if lacks:
        print(f"skipped: there is no {lacks}; scripts/setup --ci installs it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        window = Browser(work)
        try:
            if "--large" in sys.argv:
                measure_large(window, work, sys.argv[sys.argv.index("--large") + 1])
            else:
                test_recording(window, work)
                test_comparison(window, work)
                test_names(window, work)
                test_without_recording(window, work)
                test_refusals(work)
        finally:
            window.close()
    finish()
