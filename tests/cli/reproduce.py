#!/usr/bin/env python3
"""vicinal reproduce: figures of papers, their files, and runs that are stopped.

    tests/cli/reproduce.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time

from vicinal import CACHE, VICINAL, check, expect_refusal, finish, run

SHORT = ["reproduce", "000-16", "--quick"]
LONG = ["reproduce", "003-2", "--quick"]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def rows(text):
    return [line for line in text.splitlines() if not line.startswith("#")][1:]


def test_list():
    listed = run("reproduce")
    check(listed.returncode == 0, f"the list: {listed.stderr}")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    for name in ("000-6", "000-8", "000-10", "000-16", "001-3", "001-4", "002-1", "002-2", "002-3", "003-2", "003-3",
                 "003-4", "003-5", "004-4.3", "004-4.16"):
        check(names.count(name) == 1, f"{name} is not in the list: {names}")
    check(names.index("000-6") < names.index("000-10"), f"numbers are not in their order: {names}")
    check(names.index("004-4.9") < names.index("004-4.10"), f"numbers are not in their order: {names}")
    check("4.7, 4.8 and 4.13 are left out" in " ".join(listed.stdout.split()), "what is left out")
    lines = listed.stdout.splitlines()
    check(all(len(line.split()) > 4 for line in lines if line[:4] == "  00"), "each has a sentence")
    check(all(len(line) <= 80 for line in lines), "the list is wider than 80 columns")
    papers = [line for line in lines if line[:2] == "00"]
    check(len(papers) == 5 and "000: A generic scheduler" in papers[0], f"papers by their titles: {papers}")
    check("(Gonthier, Thibault, Marchal, 2024)" in " ".join(listed.stdout.split()), "authors and year")


def test_refusals():
    expect_refusal(run("reproduce", "000-17"), 2, ["000-17", "did you mean 000-1"], "an unknown figure")
    expect_refusal(run(*SHORT, "--full"), 2, ["--quick", "--full"], "both efforts")
    expect_refusal(run(*SHORT, "--output", "/dev/null/x"), 2, ["--output", "/dev/null/x"], "a folder that cannot be")


def has_matplotlib():
    return any(shutil.which(python) and subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL,
                                                       check=False).returncode == 0
               for python in ("python3", "/usr/bin/python3"))


def test_files(folder):
    result = run(*SHORT, "--output", folder)
    check(result.returncode == 0, f"a quick figure: {result.stderr}")
    check("points" in result.stderr, f"progress is on the standard error: {result.stderr}")
    csv, table = read(folder, "000-16.csv"), read(folder, "000-16.txt")
    check(csv.startswith("# vicinal ") and "# figure 000-16, effort quick\n" in csv, f"the head: {csv[:200]}")
    check(len(rows(csv)) == 10, f"two sizes under five policies: {len(rows(csv))} rows")
    check(table in result.stdout and "DARTS" in table and "holds: " in table, f"the table: {table}")
    if has_matplotlib():
        with open(os.path.join(folder, "000-16.png"), "rb") as file:
            check(file.read(8) == b"\x89PNG\r\n\x1a\n", "the PNG is one")
        check("<svg" in read(folder, "000-16.svg"), "the SVG is one")
    else:
        print("skipped: the picture (there is no matplotlib)")
        check("python3-matplotlib" in result.stderr, f"what to install: {result.stderr}")


def test_without_matplotlib(folder):
    os.makedirs(os.path.join(folder, "modules", "matplotlib"))
    with open(os.path.join(folder, "modules", "matplotlib", "__init__.py"), "w", encoding="utf-8") as file:
        file.write("raise ImportError('as if it were not there')\n")
    result = run(*SHORT, "--output", folder, environment={"PYTHONPATH": os.path.join(folder, "modules")})
    check(result.returncode == 0, f"without matplotlib: {result.returncode} {result.stderr}")
    check("no picture is drawn" in result.stderr and "python3-matplotlib" in result.stderr,
          f"without matplotlib: {result.stderr}")
    check(os.path.exists(os.path.join(folder, "000-16.txt")), "the table is written all the same")
    check(not os.path.exists(os.path.join(folder, "000-16.png")), "and no picture")


# A run that is stopped when three points are there.
def stopped(folder, which):
    path = os.path.join(folder, "003-2.csv")
    process = subprocess.Popen([VICINAL, *LONG, "--output", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
    while process.poll() is None and (not os.path.exists(path) or len(rows(read(path))) < 3):
        time.sleep(0.005)
    process.send_signal(which)
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr, rows(read(path))


def test_stopped(folder):
    whole = os.path.join(folder, "whole")
    result = run(*LONG, "--output", whole)
    check(result.returncode == 0, f"a whole run: {result.stderr}")
    expected = read(whole, "003-2.csv")
    for which, status in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
        part = os.path.join(folder, f"part{status}")
        code, stderr, there = stopped(part, which)
        check(code == status, f"stopped: exit status {code}, not {status}")
        check(3 <= len(there) < len(rows(expected)), f"stopped with {len(there)} rows")
        if status == 143:
            check("interrupted: " in stderr and "of 003-2 are measured" in stderr, f"SIGTERM: {stderr}")
        result = run(*LONG, "--output", part)
        check(result.returncode == 0 and "going on with" in result.stderr, f"going on: {result.stderr}")
        check(read(part, "003-2.csv") == expected, "a run that went on gives the same CSV")
    # What was cut off in the middle of a line is measured again.
    with open(os.path.join(whole, "003-2.csv"), "w", encoding="utf-8") as file:
        file.write(expected[:-30])
    result = run(*LONG, "--output", whole)
    check(result.returncode == 0 and read(whole, "003-2.csv") == expected, f"a line cut off: {result.stderr}")


def test_made_by_another(folder):
    path = os.path.join(folder, "000-16.csv")
    expected = read(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(expected.replace("# vicinal ", "# vicinal 0.0.1, not ", 1))
    result = run(*SHORT, "--output", folder)
    check("is not gone on with" in result.stderr and "0.0.1" in result.stderr, f"another program: {result.stderr}")
    check(read(path) == expected, "all points are measured anew")


def test_document(folder):
    page = os.path.join(folder, "page.md")
    for figure in ("000-16", "000-8", "000-16"):
        result = run("reproduce", figure, "--quick", "--output", folder, "--document", page)
        check(result.returncode == 0, f"--document: {result.stderr}")
    text = read(page)
    check(text.startswith("# Figures"), f"an introduction: {text[:80]}")
    check(text.count("## 000-16: ") == 1 and text.count("## 000-8: ") == 1, "a section per figure, once")
    check(text.index("## 000-8: ") < text.index("## 000-16: "), "sections are in the order of the figures")
    check("`vicinal reproduce 000-16 --quick`" in text, "it says which command wrote it")
    changed = text.replace("| the paper |", "| old |")
    with open(page, "w", encoding="utf-8") as file:
        file.write(changed + "\nA last word.\n")
    run("reproduce", "000-16", "--quick", "--output", folder, "--document", page)
    text = read(page)
    check(text.count("| the paper |") == 1 and text.count("| old |") == 1, "only this section is written anew")
    check(text.endswith("\nA last word.\n"), "what stands behind it stays")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_list()
    test_refusals()
    test_files(os.path.join(temporary, "files"))
    test_made_by_another(os.path.join(temporary, "files"))
    test_without_matplotlib(os.path.join(temporary, "bare"))
    test_stopped(os.path.join(temporary, "stopped"))
    test_document(os.path.join(temporary, "files"))
finish()
